# SPDX-License-Identifier: MIT
# The only entry point. `make help` lists the targets; V=1 shows the commands.
#
# mk/library.mk builds liblull and its tests, mk/rcu.mk liblull-rcu, rcu/compat/compat.mk what
# programs written for liburcu need, mk/tools.mk the Rust half, mk/module.mk the kernel selftest,
# mk/install.mk installs. What is built lies in build/ and target/.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec

ROOT := $(CURDIR)
export CARGO_TARGET_DIR := $(ROOT)/target
export PATH := $(PATH):$(HOME)/.cargo/bin

PREFIX ?= /usr/local
DESTDIR ?=
V ?= 0

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n'
endif

include mk/library.mk mk/rcu.mk rcu/compat/compat.mk mk/tools.mk mk/module.mk mk/install.mk

.PHONY: help all demo test check bench tidy format deps deps-test fuzz models models-full barriers \
	mutants sched-long attach-long foreign-traces foreign-lttng ballista \
	boot-all boot-long guest clean FORCE

help: ## list the targets
	@printf 'make TARGET [V=1]\n\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

all: library examples tools ## build the libraries, the command and the examples

demo: ## install what is missing, build, record two programs, print their reports
	$(Q)$(MAKE) deps
	$(Q)$(MAKE) library examples build/bin/lull
	$(Q)mk/demo

test: ## install what tests need, build, run every test
	$(Q)$(MAKE) deps-test
	$(Q)$(MAKE) all test-programs kernel-module
	$(Q)TEST_PROGRAMS='$(TEST_PROGRAMS)' mk/suites all

check: ## the fast part of the tests: under a minute once built
	$(Q)$(MAKE) all test-programs
	$(Q)TEST_PROGRAMS='$(TEST_PROGRAMS)' mk/suites fast

bench: ## measure against published figures and peers; writes bench/runs
	$(Q)$(MAKE) deps-bench
	$(Q)$(MAKE) all
	-$(Q)bench/fetch_peers
	$(Q)bench/run

tidy: ## check the rules that STYLE.md marks [checked]
	$(Q)$(CARGO) run --quiet --release -p tidy -- $(ROOT)
	$(Q)mk/format --check

format: ## rewrite C and Rust files in the project's format
	$(Q)mk/format

deps: ## install what building and the demonstration need, if it is missing
	$(Q)mk/deps build

deps-test: ## install what the tests need, if it is missing
	$(Q)mk/deps build test boot

.PHONY: deps-bench
deps-bench: ## install what the benchmarks need, peers included, if it is missing
	$(Q)mk/deps build test bench

fuzz: ## fuzz the reader, filters, --probe and the control socket for FUZZ_SECONDS (600) in all
	$(Q)check/fuzz/run $${FUZZ_SECONDS:-600}

models: ## prove the models on every machine that fits ten minutes; needs spin
	$(Q)models/run

models-full: ## the rest of the models too: hours and 8 GiB
	$(Q)models/run --full

barriers: ## take away each barrier of core and rcu and see what catches that; up to an hour
	$(Q)models/barriers

mutants: ## change the code line by line and see which tests notice; FOLDER=core/ring SAMPLE=40
	$(Q)mk/deps build test mutants
	$(Q)check/mutants/mutants --sample $(or $(SAMPLE),1) $(FOLDER)

sched-long: ## explore the ring's interleavings with larger bounds; minutes
	$(Q)port/sched/run --long

attach-long: ## attach to redis, postgres, a JVM, python3 and node under load, 500 times each
	$(Q)mk/deps build attach
	$(Q)$(MAKE) library build/bin/lull
	$(Q)bench/attach/run

foreign-traces: ## compare what is read with Babeltrace 2.1, on CTF 2 and on its tests' traces
	$(Q)tests/foreign/ctf2
	$(Q)tests/foreign/collection

foreign-lttng: ## record one load with Lull and LTTng in a guest, compare what is answered of both
	$(Q)mk/deps build test boot bench
	$(Q)$(MAKE) all kernel-module
	$(Q)bench/fetch_peers lttng-modules
	$(Q)tests/foreign/lttng/run

ballista: ## ask datasets of several hosts in SQL on Apache Ballista, which is built first: an hour
	$(Q)$(MAKE) tools
	$(say) CARGO ballista
	$(Q)CARGO_TARGET_DIR=$(ROOT)/build/ballista $(CARGO) build --quiet --release --locked \
		--manifest-path tests/ballista/Cargo.toml --bins \
		-p ask -p ballista-scheduler -p ballista-executor
	$(Q)tests/ballista/run

boot-all: ## build the modules for each kernel, rt, 6.12 and arm64 too, load them, record
	$(Q)mk/deps build test boot kernels
	$(Q)tests/boot/run --every-kernel

boot-long: ## lull.ko comes and goes 200 times under load, 20,000 NMIs come in each recording; hours
	$(Q)$(MAKE) all kernel-module
	$(Q)LOADS=200 NMIS=20000 LULL_BOOT_LIMIT_S=14400 tests/boot/run $(LONG_BOOT_TESTS)

LONG_BOOT_TESTS := module_loads_and_unloads_while_threads_switch \
	module_goes_when_its_last_recorder_is_dead \
	interrupts_that_no_one_masks_are_recorded_in_the_middle_of_everything

guest: ## a shell in a virtual machine with Lull in it; KERNEL=6.12, SMP=4, MEMORY=2048 (MiB)
	$(Q)mk/deps build boot
	$(Q)tests/boot/guest --kernel $(or $(KERNEL),6.1) --smp $(or $(SMP),2) \
		--memory $(or $(MEMORY),1024)

clean: ## remove everything that was built
	$(Q)rm -rf build target
