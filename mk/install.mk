# SPDX-License-Identifier: MIT
# Installation under DESTDIR and PREFIX, and its exact reverse.

.PHONY: install uninstall
install: all ## install under PREFIX (/usr/local), DESTDIR before it
	$(Q)mk/install "$(DESTDIR)" "$(PREFIX)"

uninstall: ## remove what install put there
	$(Q)mk/install --remove "$(DESTDIR)" "$(PREFIX)"

.PHONY: install-module uninstall-module
install-module: ## install the kernel's module by DKMS, and a group that may use it
	$(Q)mk/install_module "$(DESTDIR)"

uninstall-module: ## remove what install-module put there
	$(Q)mk/install_module --remove "$(DESTDIR)"
