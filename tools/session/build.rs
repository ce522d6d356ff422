// SPDX-License-Identifier: MIT
//! Compiles the pattern matcher that liblull ships, so that recorder and probes agree on what
//! a pattern means.

use std::path::Path;

fn main() {
    let root =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let source = root.join("core/site/pattern.c");
    println!("cargo:rerun-if-changed={}", source.display());
    println!("cargo:rerun-if-changed={}", root.join("core/site/pattern.h").display());
    cc::Build::new()
        .std("gnu11")
        .opt_level(2)
        .pic(true)
        .include(root.join("core/include"))
        .include(root.join("core"))
        .include(root.join("core/site"))
        .file(source)
        .compile("lull_pattern");
}
