// SPDX-License-Identifier: MIT
//! Which addresses the kernel's call stacks hold, so that the functions around them can be named.
//!
//! Place in the flow: `walk` hands over the stack of each event whose session records one. At the
//! end the consumer finds the functions (`kernel::symbols`) and leaves them beside the trace. Most
//! addresses come again soon, so a small table of recent ones answers for the set.

use crate::view::View;
use session::abi::KERNEL_FRAMES_MAX;
use std::collections::HashSet;

/// Different addresses that are remembered. The kernel has fewer places that call.
const ADDRESSES_MAX: usize = 1 << 20;
/// Recent ones; a power of two.
const RECENT: usize = 1 << 12;

/// The addresses met so far.
#[derive(Debug, Default)]
pub struct Addresses {
    seen: HashSet<u64>,
    recent: Vec<u64>,
    /// Whether there were more than can be remembered.
    pub is_full: bool,
}

impl Addresses {
    /// Takes the stack at `at`: a count, and as many addresses, before `until`.
    pub fn note(&mut self, view: View, at: usize, until: usize) {
        let Some(count) = view.bytes(at).map(u32::from_ne_bytes) else { return };
        // Another process may have changed the count since the event was measured.
        for index in 0..count.min(KERNEL_FRAMES_MAX) as usize {
            let at = at + 4 + index * 8;
            if at + 8 > until {
                return;
            }
            if let Some(bytes) = view.bytes(at) {
                self.add(u64::from_ne_bytes(bytes));
            }
        }
    }

    pub fn add(&mut self, address: u64) {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, 0);
        }
        let place = (address ^ address >> 12) as usize % RECENT;
        if self.recent[place] == address {
            return;
        }
        self.recent[place] = address;
        if self.seen.len() < ADDRESSES_MAX {
            self.seen.insert(address);
        } else {
            self.is_full |= !self.seen.contains(&address);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.seen.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(addresses: &mut Addresses, words: &[u64], at: usize, until: usize) -> Vec<u64> {
        // SAFETY: the words outlive the view and cover its length.
        let view = unsafe { View::new(words.as_ptr().cast(), words.len() * 8) };
        addresses.note(view, at, until);
        let mut seen: Vec<u64> = addresses.iter().collect();
        seen.sort_unstable();
        seen
    }

    #[test]
    fn addresses_of_a_stack_are_remembered_once_and_none_behind_its_event() {
        let words = [2 << 32, 0x1000, 0x2000, 0x3000];
        let mut addresses = Addresses::default();
        assert!(addresses.is_empty());
        assert_eq!(noted(&mut addresses, &words, 4, 24), [0x1000, 0x2000]);
        assert_eq!(noted(&mut addresses, &words, 4, 32), [0x1000, 0x2000]);
        let many = [u64::from(u32::MAX) << 32, 0x5000, 0x6000, 0x7000];
        assert_eq!(noted(&mut addresses, &many, 4, 16), [0x1000, 0x2000, 0x5000]);
        assert_eq!(noted(&mut addresses, &many, 32, 64), [0x1000, 0x2000, 0x5000]);
    }

    #[test]
    fn there_is_a_bound_and_what_is_beyond_it_is_known_to_be_missing() {
        let mut addresses = Addresses::default();
        (0..ADDRESSES_MAX as u64).for_each(|address| addresses.add(address + 1));
        assert!(!addresses.is_full);
        addresses.add(7);
        assert!(!addresses.is_full, "it is there");
        addresses.add(u64::MAX);
        assert!(addresses.is_full && addresses.iter().count() == ADDRESSES_MAX);
    }
}
