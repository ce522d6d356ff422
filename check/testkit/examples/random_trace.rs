// SPDX-License-Identifier: MIT
//! Writes a random trace into a folder: `random_trace FOLDER SEED`.
//!
//! Place in the flow: to look at, with any reader, what a failing seed made.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or("random-trace".into()));
    let seed = arguments.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let spec = testkit::Spec::random(seed);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), spec.metadata())?;
    for cpu in 0..2 {
        let (bytes, _) = testkit::random_stream(&spec, cpu, seed + u64::from(cpu), 4);
        std::fs::write(folder.join(format!("stream_{cpu}")), bytes)?;
    }
    println!("{}: seed {seed}, header {:?}, {:?}", folder.display(), spec.header, spec.order);
    Ok(())
}
