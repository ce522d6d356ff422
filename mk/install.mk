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

# The package is installed by pip, and runs the command that is installed apart from it.
.PHONY: python-wheel
python-wheel: ## build the Python package's wheel into build/python
	$(Q)mk/deps wheel
	$(say) WHEEL lull
	$(Q)rm -f build/python/lull-*.whl
	$(Q)cd tools/python && log=$(ROOT)/build/wheel/log && \
		{ $(ROOT)/build/wheel/bin/hatchling build -t wheel -d $(ROOT)/build/python \
		> $$log 2>&1 || { cat $$log >&2; exit 1; }; }
