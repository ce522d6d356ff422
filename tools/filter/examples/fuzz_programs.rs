// SPDX-License-Identifier: MIT
//! Writes the first inputs of the fuzzer's `run_filter` and `link_filter`: `fuzz_programs FOLDER
//! FOLDER`. Reads filters from standard input, a line each.
//!
//! Place in the flow: run by check/fuzz/run before libFuzzer.

use filter::Filter;
use session::description::Description;
use std::path::PathBuf;

/// The inputs that `run_filter` has.
const EVENT: &str = "a:b\n6\n:\ni32 pid\nstr name\nau8 list\nu64 count\nstr path\n";
/// Of which it makes the values.
const SEEDS: [u8; 8] = [2, 3, 5, 7, 11, 44, 1, 0];

fn main() -> std::io::Result<()> {
    let mut folders = std::env::args().skip(1).map(PathBuf::from);
    let folder = folders.next().unwrap_or("corpus".into());
    let of_unlinked = folders.next().unwrap_or("corpus".into());
    let event = Description::parse(EVENT.as_bytes()).expect("a description");
    for (number, line) in std::io::stdin().lines().enumerate() {
        let filter = Filter::parse(&line?);
        if let Ok(filter) = &filter {
            let input = [filter.unlinked(), EVENT.as_bytes()].concat();
            std::fs::write(of_unlinked.join(format!("seed-{number}")), input)?;
        }
        let compiled = filter.and_then(|filter| filter.compile(&[&event]));
        let Some(compiled) = compiled.ok().and_then(|all| all.into_iter().next()) else { continue };
        let program = compiled.into_program().unwrap_or_default();
        std::fs::write(folder.join(format!("seed-{number}")), [&SEEDS[..], &program].concat())?;
    }
    Ok(())
}
