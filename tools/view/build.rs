// SPDX-License-Identifier: MIT
//! Puts the page into the program: the files that `make viewer` leaves in `build/viewer/page`.
//! Without them the program is built all the same, and `lull view` says what is missing.

use std::path::Path;

const FILES: [&str; 2] = ["page.html", "policy.txt"];

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let page = Path::new(&root).join("../../build/viewer/page");
    // The folder's own entry makes cargo look again when files come or go.
    println!("cargo:rerun-if-changed={}", page.display());
    let paths = FILES.map(|name| page.join(name));
    let built = match paths.iter().all(|path| path.is_file()) {
        true => {
            let [page, policy] = paths.map(|path| {
                let path = path.canonicalize().expect("it is a file");
                println!("cargo:rerun-if-changed={}", path.display());
                format!("include_str!({path:?})")
            });
            format!("Some(({page}, {policy}))")
        }
        false => "None".into(),
    };
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("page.rs"), built).expect("cargo's folder can be written");
}
