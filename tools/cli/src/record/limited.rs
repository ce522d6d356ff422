// SPDX-License-Identifier: MIT
//! What is not seen of a program because of how it was linked, as limits of the verdict.
//!
//! Place in the flow: `judge` asks for the programs that it knows by name. A static program has
//! none of liblull's interposers: what it calls and starts is not known, so nothing that it started
//! is missed. A program that defines malloc() itself is not heard of by `liblull-malloc.so`.

use super::program::executed_file;
use crate::elf::{self, Kind};
use session::pattern::Patterns;
use std::path::{Path, PathBuf};
use verdict::shown::shown;

/// The level of the events of allocations: debug.
const ALLOCATION: (&str, u8) = ("malloc:malloc", 7);

/// A sentence for each program of which less is seen than of others.
pub fn sentences(programs: &[PathBuf], patterns: &Patterns) -> Vec<String> {
    programs.iter().filter_map(|program| sentence(&executed_file(program), patterns)).collect()
}

fn sentence(file: &Path, patterns: &Patterns) -> Option<String> {
    let object = elf::read(file).ok()?;
    let name = shown(&file.to_string_lossy()).into_owned();
    match object.kind {
        Kind::Static if object.has_liblull() => Some(format!(
            "of the events in its own code: {name} is linked statically, so its calls of the C \
             library are not known, nor the programs that it starts"
        )),
        Kind::Dynamic { .. } if is_asked(patterns) && elf::defines(file, "malloc") => {
            Some(format!(
                "of the allocations that its libraries do not make: {name} has a malloc() of its \
                 own, whose calls are not seen"
            ))
        }
        _ => None,
    }
}

fn is_asked(patterns: &Patterns) -> bool {
    patterns.matches(ALLOCATION.0, ALLOCATION.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_program_has_no_limit() {
        let patterns = Patterns::new(&["malloc:*".to_string()]).unwrap();
        let programs = ["/bin/sh", "/nowhere", "/dev/zero"].map(PathBuf::from);
        assert!(sentences(&programs, &patterns).is_empty());
        assert!(is_asked(&patterns) && !is_asked(&Patterns::default()));
    }
}
