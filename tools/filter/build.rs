// SPDX-License-Identifier: MIT
//! Compiles the C that links programs for events, the check that the kernel and liblull hold
//! programs to, and the code that runs them there.

use std::path::Path;

const SOURCES: [&str; 7] = [
    "core/filter/check.c",
    "core/filter/compute.c",
    "core/filter/description.c",
    "core/filter/link.c",
    "core/filter/number.c",
    "core/filter/run.c",
    "core/filter/unlinked.c",
];
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
