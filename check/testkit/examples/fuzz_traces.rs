// SPDX-License-Identifier: MIT
//! Writes the first inputs of the fuzzer's `read_trace`: `fuzz_traces FOLDER`.
//!
//! Place in the flow: run by check/fuzz/run before libFuzzer.

use std::path::PathBuf;

const INPUTS: u64 = 60;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("corpus".into()));
    std::fs::create_dir_all(&folder)?;
    for seed in 0..INPUTS {
        let spec = testkit::Spec::random(seed);
        let (stream, _) = testkit::random_stream(&spec, 0, seed, 2);
        for (version, metadata) in [(1, spec.metadata()), (2, spec.metadata_json())] {
            let Ok(length) = u16::try_from(metadata.len()) else { continue };
            let input = [&length.to_le_bytes()[..], metadata.as_bytes(), &stream].concat();
            std::fs::write(folder.join(format!("seed-{seed}-{version}")), input)?;
        }
    }
    Ok(())
}
