// SPDX-License-Identifier: MIT
//! Deterministic draws: the same seed gives the same trace everywhere.
//!
//! Place in the flow: random specifications, random values and random damage draw from it.

use fastrand::Rng;

#[derive(Debug, Clone)]
pub struct Random(Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    pub fn word(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.u64(..limit)
    }

    /// True once in `n` draws.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.0.usize(..choices.len())]
    }
}
