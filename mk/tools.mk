# SPDX-License-Identifier: MIT
# The Rust half: the workspace of Cargo.toml, one binary. Cargo decides what is out of date.

CARGO ?= cargo

.PHONY: tools clippy
tools: build/bin/lull ## build the lull command

# The recorder's ring reader is core's C, which its build script compiles (docs/adr/0007).
build/bin/lull: FORCE
	$(say) CARGO lull
	$(Q)$(CARGO) build --quiet --release --bin lull
	$(Q)mkdir -p $(@D)
	$(Q)cmp -s target/release/lull $@ || install -m 755 target/release/lull $@

clippy: ## check the Rust code with clippy, warnings as errors
	$(Q)$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings

FORCE:
