# SPDX-License-Identifier: MIT
# The kernel's selftest, core as a module, with the kernel headers of KERNEL_BUILD.
#
# Kbuild writes beside its sources, so it works on links in build/kernel.

KERNEL_HEADERS := $(sort $(wildcard /usr/src/linux-headers-*-amd64 /usr/src/linux-headers-*-arm64))
KERNEL_BUILD ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build) \
	$(lastword $(KERNEL_HEADERS)))

.PHONY: kernel-module
kernel-module: ## build the kernel's selftest, core as a module, with the installed kernel headers
	$(Q)mk/module "$(KERNEL_BUILD)" build/kernel
