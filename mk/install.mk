# SPDX-License-Identifier: MIT
# Installation under DESTDIR and PREFIX, and its exact reverse.

.PHONY: install uninstall
install: all ## install under PREFIX (/usr/local), DESTDIR before it
	$(Q)mk/install "$(DESTDIR)" "$(PREFIX)"

uninstall: ## remove what install put there
	$(Q)mk/install --remove "$(DESTDIR)" "$(PREFIX)"
