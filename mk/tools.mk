# SPDX-License-Identifier: MIT
# The Rust half: the workspace of Cargo.toml, one binary, and the query engine's, another. Cargo
# decides what is out of date.

CARGO ?= cargo
# The engine's 250 crates are built once, for the command and for its tests (docs/adr/0014).
QUERY_TARGET ?= $(ROOT)/target/query
QUERY := CARGO_TARGET_DIR=$(QUERY_TARGET) $(CARGO)
IN_QUERY := --manifest-path tools/query/Cargo.toml --locked

# VIEWER=no builds the command without the page that `lull view` serves, and without Node.js.
VIEWER ?= yes

.PHONY: tools query-engine test-query clippy viewer
tools: build/bin/lull query-engine ## build the lull command and the query engine
query-engine: build/bin/lull-query ## build what `lull query` runs: minutes the first time

viewer: ## build the page that `lull view` serves; needs Node.js 18 and npm
ifeq ($(VIEWER),no)
	$(Q)rm -rf build/viewer/page
else
	$(say) VIEWER page
	$(Q)viewer/build
endif

# The recorder's ring reader is core's C, which its build script compiles (docs/adr/0007).
build/bin/lull: viewer FORCE
	$(say) CARGO lull
	$(Q)$(CARGO) build --quiet --release --bin lull
	$(Q)mkdir -p $(@D)
	$(Q)cmp -s target/release/lull $@ || install -m 755 target/release/lull $@

build/bin/lull-query: FORCE
	$(say) CARGO lull-query
	$(Q)$(QUERY) build --quiet --release --bin lull-query $(IN_QUERY)
	$(Q)mkdir -p $(@D)
	$(Q)[ $@ -nt $(QUERY_TARGET)/release/lull-query ] || \
		install -s -m 755 $(QUERY_TARGET)/release/lull-query $@

test-query: tools ## run the tests of the query engine
	$(Q)$(QUERY) test --release --no-fail-fast $(IN_QUERY)

clippy: ## check the Rust code with clippy, warnings as errors
	$(Q)$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	$(Q)$(QUERY) clippy --quiet --all-targets $(IN_QUERY) -- -D warnings

FORCE:
