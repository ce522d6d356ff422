// SPDX-License-Identifier: MIT
//! libFuzzer's way into the reader: two bytes of metadata length, the metadata, one stream.
//!
//! Place in the flow: `run` builds it with coverage instrumentation on stable Rust and starts it
//! from testkit's traces.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../tools/trace/tests/exercise/mod.rs"]
mod exercise;

fuzz_target!(|input: &[u8]| {
    let Some((length, rest)) = input.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (metadata, stream) = rest.split_at(length);
    exercise::exercise(metadata, stream);
});
