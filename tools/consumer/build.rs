// SPDX-License-Identifier: MIT
//! Compiles the ring that liblull ships, reader and writer, into this crate: the reader that
//! the model checks is the reader that runs, and tests write with the shipped writer.

use std::path::Path;

const SOURCES: [&str; 5] = [
    "core/ring/layout.c",
    "core/ring/ring.c",
    "core/ring/reader.c",
    "core/clock/clock.c",
    "port/user/clock_user.c",
];
/// Of rings that programs write to; `src/ffi.c` has the one that the ring's code calls.
const BARRIER: &str = "port/user/barrier_user.c";
const INCLUDES: [&str; 4] = ["core/include", "core", "core/ring", "port/user"];

fn main() {
    let root =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut build = cc::Build::new();
    build.std("gnu11").warnings(true).extra_warnings(true).opt_level(2).pic(true);
    for include in INCLUDES {
        build.include(root.join(include));
        println!("cargo:rerun-if-changed={}", root.join(include).display());
    }
    let mut barrier = build.clone();
    barrier.define("lull_barrier_heavy", "lull_barrier_programs").file(root.join(BARRIER));
    barrier.compile("lull_barrier");
    build.files(SOURCES.map(|source| root.join(source)));
    for own in ["src/ffi.c", "src/cost.c"] {
        build.file(own);
        println!("cargo:rerun-if-changed={own}");
    }
    build.compile("lull_ring");
}
