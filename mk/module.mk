# SPDX-License-Identifier: MIT
# lull.ko and the selftest, with the kernel headers of KERNEL_BUILD, and what tests lull.ko.
#
# Kbuild writes beside its sources, so it works on links in build/kernel.

KERNEL_HEADERS := $(sort $(wildcard /usr/src/linux-headers-*-amd64 /usr/src/linux-headers-*-arm64))
KERNEL_BUILD ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build) \
	$(lastword $(KERNEL_HEADERS)))

.PHONY: kernel-module
kernel-module: ## build the kernel modules, with the installed kernel headers
	$(Q)mk/module "$(KERNEL_BUILD)" build/kernel

# What tests/boot runs in guests that have loaded lull.ko; for another architecture, with its CC, in
# another folder.
KERNEL_TEST_FOLDER ?= build/kernel
KERNEL_TESTS := $(addprefix $(KERNEL_TEST_FOLDER)/, \
	$(basename $(notdir $(wildcard kernel/test/*_test.c))))
KERNEL_TEST_SOURCES := kernel/test/session.c kernel/test/switches.c kernel/layout.c \
	core/ring/reader.c core/ring/ring.c core/ring/layout.c core/clock/clock.c \
	port/user/clock_user.c
KERNEL_TEST_FLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -fno-omit-frame-pointer -g -Wall -Wextra \
	-Werror -static \
	-Icore/include -Icore -Icore/ring -Icore/clock -Iport/user

.PHONY: kernel-tests
kernel-tests: $(KERNEL_TESTS)

kernel-module: kernel-tests

$(KERNEL_TEST_FOLDER)/%_test: kernel/test/%_test.c $(KERNEL_TEST_SOURCES) \
		$(wildcard kernel/test/*.h)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(KERNEL_TEST_FLAGS) -o $@ $< $(KERNEL_TEST_SOURCES) -lpthread

# What of lull.ko needs no kernel is tested on the host.
LEFT_TEST := build/test/kernel/left_test
LEFT_TEST_SOURCES := kernel/left_test.c kernel/left.c kernel/layout.c core/ring/layout.c
TEST_PROGRAMS += $(LEFT_TEST)
test-programs: $(LEFT_TEST)

$(LEFT_TEST): $(LEFT_TEST_SOURCES) $(wildcard kernel/l*.h core/include/lull/abi/*.h)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -static,$(KERNEL_TEST_FLAGS)) -fsanitize=address,undefined \
		-fno-sanitize-recover=all -Ikernel -Icore/site -o $@ $(LEFT_TEST_SOURCES)
