// SPDX-License-Identifier: MIT
//! Puts the page into the program: the files that `make viewer` leaves in `build/viewer/page`.
//! Without them the program is built all the same, and `lull view` says what is missing.

use std::path::Path;

const FILES: [(&str, &str); 4] = [
    ("index.html", "text/html; charset=utf-8"),
    ("page.js", "text/javascript; charset=utf-8"),
    ("page.css", "text/css; charset=utf-8"),
    ("single.html", "text/html; charset=utf-8"),
];

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let page = Path::new(&root).join("../../build/viewer/page");
    // The folder's own entry makes cargo look again when files come or go.
    println!("cargo:rerun-if-changed={}", page.display());
    let mut table = String::from("&[");
    if FILES.iter().all(|(name, _)| page.join(name).is_file()) {
        for (name, kind) in FILES {
            let path = page.join(name).canonicalize().expect("it is a file");
            println!("cargo:rerun-if-changed={}", path.display());
            table += &format!(
                "Asset {{ name: {name:?}, kind: {kind:?}, bytes: include_bytes!({path:?}) }},"
            );
        }
    }
    table += "]";
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("assets.rs"), table)
        .expect("cargo's folder can be written");
}
