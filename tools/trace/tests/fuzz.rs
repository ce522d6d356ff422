// SPDX-License-Identifier: MIT
//! A short, fixed run of the fuzzer in every test run; `examples/fuzz.rs` runs for longer.

#[path = "exercise/mod.rs"]
mod exercise;
#[path = "exercise/mutate.rs"]
mod mutate;

#[test]
fn thousands_of_damaged_traces_neither_panic_nor_hang() {
    let mut events = 0;
    for seed in 0..3000 {
        let (metadata, stream) = mutate::damaged(seed);
        events += exercise::exercise(&metadata, &stream);
    }
    assert!(events > 10_000, "only {events} events were readable: the damage is too great");
}
