// SPDX-License-Identifier: MIT
//! Compiles the check that the kernel holds programs to, and the code that runs them there: what
//! this crate compiles is what they take.

use std::path::Path;

const SOURCES: [&str; 2] = ["core/filter/check.c", "core/filter/run.c"];
const INCLUDES: [&str; 2] = ["core/include", "core/filter"];

fn main() {
    let root =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut build = cc::Build::new();
    build.std("gnu11").warnings(true).extra_warnings(true).opt_level(2).pic(true);
    for include in INCLUDES {
        build.include(root.join(include));
        println!("cargo:rerun-if-changed={}", root.join(include).display());
    }
    build.files(SOURCES.map(|source| root.join(source)));
    build.compile("lull_filter");
}
