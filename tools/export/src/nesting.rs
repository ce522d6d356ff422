// SPDX-License-Identifier: MIT
//! The calls of each thread as a stack, as viewers want them: each inside of the one around it.
//!
//! Place in the flow: `follow` opens and closes calls here. Where an outer call ends before an
//! inner one, the inner one is cut there: its exit was lost or never came, or the two overlap. If
//! its exit comes after all, the part behind the cut is written as a slice of its own.

use rustc_hash::FxHashMap;
use state::{PairIndex, ThreadIndex};
use trace::Ns;

/// Calls open at once, in all threads; beyond, calls are written when they end.
const OPEN: usize = 1 << 20;
/// How many calls an exit is looked for behind.
const CROSSED: usize = 256;
/// Cut calls whose exits may come.
const CUTS: usize = 1 << 16;

/// A call that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Open {
    pub pair: PairIndex,
    pub begin: Ns,
}

/// What an exit ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A call of the stack, and those inside of it, innermost first, which are cut.
    Nested(Vec<Open>),
    /// A call that was cut then.
    Cut(Ns),
    /// A call that is not on the stack.
    Unknown,
}

#[derive(Debug, Default)]
pub(crate) struct Nesting {
    stacks: Vec<Vec<Open>>,
    count: usize,
    cuts: FxHashMap<(ThreadIndex, Open), Ns>,
}

impl Nesting {
    /// A call begins. Return: whether there is space for it.
    pub fn begin(&mut self, thread: ThreadIndex, open: Open) -> bool {
        if thread == ThreadIndex::OTHERS || self.count >= OPEN {
            return false;
        }
        let position = thread.0 as usize;
        if self.stacks.len() <= position {
            self.stacks.resize_with(position + 1, Vec::new);
        }
        let Some(stack) = self.stacks.get_mut(position) else { return false };
        stack.push(open);
        self.count += 1;
        true
    }

    /// A call ends at a time.
    pub fn end(&mut self, thread: ThreadIndex, open: Open, at: Ns) -> Ended {
        let stack = self.stacks.get_mut(thread.0 as usize);
        let found = stack.and_then(|stack| {
            let behind = stack.iter().rev().take(CROSSED + 1).position(|other| *other == open)?;
            let inside = stack.split_off(stack.len() - behind);
            stack.pop();
            Some(inside)
        });
        let Some(mut inside) = found else {
            return self.cuts.remove(&(thread, open)).map_or(Ended::Unknown, Ended::Cut);
        };
        self.count = self.count.saturating_sub(inside.len() + 1);
        inside.reverse();
        for cut in &inside {
            if self.cuts.len() < CUTS {
                self.cuts.insert((thread, *cut), at);
            }
        }
        Ended::Nested(inside)
    }

    /// The thread is in no call any more. Return: those whose ends were not seen, innermost first.
    pub fn over(&mut self, thread: ThreadIndex) -> Vec<Open> {
        let Some(stack) = self.stacks.get_mut(thread.0 as usize) else { return Vec::new() };
        let mut open = std::mem::take(stack);
        self.count = self.count.saturating_sub(open.len());
        open.reverse();
        open
    }

    /// Whether a thread is in any call.
    pub fn is_in_any(&self, thread: ThreadIndex) -> bool {
        self.stacks.get(thread.0 as usize).is_some_and(|stack| !stack.is_empty())
    }

    /// The threads that are in calls.
    pub fn threads(&self) -> Vec<ThreadIndex> {
        let numbers = (0..self.stacks.len() as u32).map(ThreadIndex);
        numbers.filter(|thread| self.is_in_any(*thread)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadIndex = ThreadIndex(3);

    fn call(pair: u32, begin: i64) -> Open {
        Open { pair: PairIndex(pair), begin: Ns(begin) }
    }

    #[test]
    fn inner_call_is_cut_where_the_outer_one_ends_and_its_exit_finds_the_cut() {
        let mut nesting = Nesting::default();
        for open in [call(1, 10), call(2, 20), call(3, 30)] {
            assert!(nesting.begin(THREAD, open));
        }
        let cut = vec![call(3, 30), call(2, 20)];
        assert_eq!(nesting.end(THREAD, call(1, 10), Ns(40)), Ended::Nested(cut));
        assert!(!nesting.is_in_any(THREAD));
        assert_eq!(nesting.end(THREAD, call(2, 20), Ns(50)), Ended::Cut(Ns(40)));
        assert_eq!(nesting.end(THREAD, call(2, 20), Ns(50)), Ended::Unknown);
    }

    #[test]
    fn calls_that_begin_again_are_told_apart_by_their_begin() {
        let mut nesting = Nesting::default();
        nesting.begin(THREAD, call(1, 10));
        nesting.begin(THREAD, call(1, 20));
        assert_eq!(nesting.end(THREAD, call(1, 20), Ns(30)), Ended::Nested(Vec::new()));
        assert_eq!(nesting.over(THREAD), [call(1, 10)]);
        assert_eq!(nesting.threads(), []);
    }

    #[test]
    fn threads_without_a_number_of_their_own_have_no_stack() {
        let mut nesting = Nesting::default();
        assert!(!nesting.begin(ThreadIndex::OTHERS, call(1, 1)));
        assert_eq!(nesting.end(ThreadIndex::OTHERS, call(1, 1), Ns(2)), Ended::Unknown);
    }
}
