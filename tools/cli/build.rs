// SPDX-License-Identifier: MIT
//! Compiles what liblull knows of executable files into the command: whether a program can load
//! liblull is answered once, for what `lull record` starts and for what its descendants execute.

use std::path::Path;

const SOURCE: &str = "user/interpose/target.c";
const INCLUDES: [&str; 4] = ["user/interpose", "port/user", "core/ring", "core/include"];

/// What unwinds the stack becomes part of the command, and the linker then leaves out libgcc_s:
/// to load a shared library takes longer than most of what `lull record` does to start a program.
/// The C library stays shared: a static command could not be recorded.
const UNWINDER: &str = "gcc_eh";

fn main() {
    let root =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut build = cc::Build::new();
    build.std("gnu11").warnings(true).extra_warnings(true).opt_level(2).pic(true);
    for include in INCLUDES {
        build.include(root.join(include));
        println!("cargo:rerun-if-changed={}", root.join(include).display());
    }
    build.file(root.join(SOURCE));
    build.compile("lull_target");
    println!("cargo:rustc-link-lib=static:-bundle={UNWINDER}");
}
