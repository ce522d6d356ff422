// SPDX-License-Identifier: MIT
//! Fuzzes the reader on stable Rust: `cargo run --release -p trace --example fuzz -- --seconds 60`.
//!
//! Place in the flow: run by CI for a minute. Every case has a number, printed when it fails, and
//! `--seed NUMBER --cases 1` runs it again; its bytes are left in files beside it. A case that
//! takes longer than ten seconds is a failure too.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[path = "../tests/exercise/mod.rs"]
mod exercise;
#[path = "../tests/exercise/mutate.rs"]
mod mutate;

const CASE_LIMIT: Duration = Duration::from_secs(10);

struct Options {
    seconds: u64,
    seed: u64,
    cases: u64,
}

fn options() -> Option<Options> {
    let mut options = Options { seconds: 10, seed: 1, cases: u64::MAX };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seconds" => options.seconds = value,
            "--seed" => options.seed = value,
            "--cases" => options.cases = value,
            _ => return None,
        }
    }
    Some(options)
}

/// Leaves a case's bytes behind and ends the run.
fn fail(case: u64, what: &str) -> ! {
    let (metadata, stream) = mutate::damaged(case);
    let folder = std::env::temp_dir().join(format!("lull-fuzz-{case}"));
    let saved = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("metadata"), metadata))
        .and_then(|()| std::fs::write(folder.join("stream"), stream));
    eprintln!("case {case} {what}; run it again with --seed {case} --cases 1");
    match saved {
        Ok(()) => eprintln!("its bytes are in {}", folder.display()),
        Err(error) => eprintln!("its bytes could not be saved: {error}"),
    }
    exit(1)
}

/// Fails the run when the same case has been running for too long.
fn watch(current: Arc<AtomicU64>) {
    let (mut last, mut since) = (0, Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let case = current.load(Ordering::Relaxed);
        if case != last {
            (last, since) = (case, Instant::now());
        } else if since.elapsed() > CASE_LIMIT {
            fail(case, "does not end");
        }
    }
}

fn main() {
    let Some(options) = options() else {
        eprintln!("usage: fuzz [--seconds N] [--seed N] [--cases N]");
        exit(2)
    };
    println!("fuzzing from seed {} for {} s", options.seed, options.seconds);
    let current = Arc::new(AtomicU64::new(options.seed));
    let watched = Arc::clone(&current);
    std::thread::spawn(move || watch(watched));
    let begin = Instant::now();
    let (mut cases, mut events) = (0, 0);
    while cases < options.cases && begin.elapsed().as_secs() < options.seconds {
        let case = options.seed + cases;
        current.store(case, Ordering::Relaxed);
        let (metadata, stream) = mutate::damaged(case);
        let run = AssertUnwindSafe(|| exercise::exercise(&metadata, &stream));
        match catch_unwind(run) {
            Ok(read) => events += read,
            Err(_) => fail(case, "panicked"),
        }
        cases += 1;
    }
    println!("{cases} cases, {events} events read, no failure");
}
