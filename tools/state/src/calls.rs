// SPDX-License-Identifier: MIT
//! Which calls each thread is in: entries whose exits have not come.
//!
//! Place in the flow: `moment` enters and leaves. Each thread has a stack in which an exit takes
//! the latest entry of its own name, so nesting and recursion match, and pairs of different names
//! may overlap. What is left at the end is still running, or ended with its thread or process.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use trace::Ns;

use crate::changes::{Change, Notes};
use crate::classes::PairIndex;
use crate::descriptors::File;
use crate::operation::{LockKind, Values};
use crate::texts::Texts;
use crate::threads::ThreadIndex;

/// Entries open at once in one thread, and in all; beyond, the oldest is forgotten.
const MOST_OPEN: usize = 1 << 16;
/// How many later entries of other pairs an exit is looked for behind.
const MOST_CROSSED: usize = 256;
const MOST_OPEN_IN_ALL: usize = 1 << 20;
/// Threads and pairs whose events without a partner are told apart.
const MOST_UNMATCHED: usize = 1 << 18;

/// An entry whose exit has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCall {
    /// What it is an entry of.
    pub pair: PairIndex,
    /// When it came.
    pub begin: Ns,
    /// The operands, as far as the entry tells them.
    pub values: Values,
    /// What it is about, as that was when it began.
    pub about: About,
    /// Its exit may not be recorded: events of its machine were lost since, or only some of its
    /// pair's are recorded.
    pub may_be_over: bool,
}

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum About {
    /// That is not known, or it is about none of these.
    #[default]
    Nothing,
    /// A lock, by its address.
    Lock(LockKind, u64),
    /// A file.
    File(File),
}

impl About {
    /// What to call it.
    pub fn label(self, texts: &Texts) -> Option<String> {
        match self {
            About::Nothing => None,
            About::Lock(kind, address) => Some(format!("{} {address:#x}", kind.name())),
            About::File(file) => Some(file.label(texts)),
        }
    }
}

/// How many events of a pair have no partner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Exits whose entries came before the trace, or were lost.
    pub exits: u64,
    /// Entries whose thread ended, or became another program, inside.
    pub ended: u64,
    /// Entries given up because too many were open.
    pub forgotten: u64,
    /// Exits that may be another call's than the entry before them is of, since events were lost
    /// in between, or only some of the pair's were recorded; and entries of such pairs that others
    /// came after.
    pub unsure: u64,
}

impl Unmatched {
    fn add(&mut self, other: &Self) {
        self.exits += other.exits;
        self.ended += other.ended;
        self.forgotten += other.forgotten;
        self.unsure += other.unsure;
    }
}

/// The open calls of all threads: at most 2^16 of a thread, and 2^20 together.
#[derive(Debug)]
pub struct Calls {
    stacks: Vec<VecDeque<OpenCall>>,
    open_count: usize,
    /// Of threads that found no space.
    without_room: u64,
    /// What the latest event cut off.
    cut: Vec<(ThreadIndex, OpenCall)>,
    /// Beyond so many of threads and pairs, those of all other threads are in one.
    unmatched: FxHashMap<(ThreadIndex, PairIndex), Unmatched>,
    /// Pairs of which only some events are recorded.
    partial: Vec<bool>,
    /// Threads of each machine with calls that no loss came after.
    sure: Vec<Vec<ThreadIndex>>,
    is_listed: Vec<bool>,
    pub(crate) notes: Notes<Change>,
}

impl Calls {
    /// `partial`: by number of a pair, whether only some of its events are recorded.
    pub(crate) fn new(partial: Vec<bool>) -> Self {
        Self {
            stacks: Vec::new(),
            open_count: 0,
            without_room: 0,
            cut: Vec::new(),
            unmatched: FxHashMap::default(),
            partial,
            sure: Vec::new(),
            is_listed: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// There are more pairs by now.
    pub(crate) fn describe_again(&mut self, partial: Vec<bool>) {
        self.partial = partial;
    }

    /// Whether only some events of a pair are recorded: then no call of it is measured.
    pub fn is_partial(&self, pair: PairIndex) -> bool {
        self.partial.get(pair.0 as usize).copied().unwrap_or(false)
    }

    /// Calls of threads that found no space, which are not followed.
    pub fn without_room(&self) -> u64 {
        self.without_room
    }

    /// What has found no partner of the threads that are asked for, pair by pair in the order of
    /// their numbers.
    pub fn unmatched(&self, is_asked: impl Fn(ThreadIndex) -> bool) -> Vec<Unmatched> {
        let mut by_pair = vec![Unmatched::default(); self.partial.len()];
        for ((thread, pair), unmatched) in &self.unmatched {
            if let Some(sum) = by_pair.get_mut(pair.0 as usize).filter(|_| is_asked(*thread)) {
                sum.add(unmatched);
            }
        }
        by_pair
    }

    /// What has found no partner until now is in no count.
    pub(crate) fn count_anew(&mut self) {
        self.unmatched.clear();
    }

    fn unmatched_of(&mut self, thread: ThreadIndex, pair: PairIndex) -> &mut Unmatched {
        let has_room = self.unmatched.len() < MOST_UNMATCHED;
        let is_known = has_room || self.unmatched.contains_key(&(thread, pair));
        let thread = if is_known { thread } else { ThreadIndex::OTHERS };
        self.unmatched.entry((thread, pair)).or_default()
    }

    #[inline]
    pub(crate) fn enter(&mut self, thread: ThreadIndex, mut open: OpenCall) {
        if thread == ThreadIndex::OTHERS {
            // Several threads in one: their entries and exits would match at random.
            self.without_room = self.without_room.saturating_add(1);
            return;
        }
        self.notes.add(Change::Calls(thread));
        let position = thread.0 as usize;
        if self.stacks.len() <= position {
            self.stacks.resize_with(position + 1, VecDeque::new);
        }
        if self.is_partial(open.pair) {
            open.may_be_over = true;
            self.give_up(thread, open.pair);
        }
        let Some(stack) = self.stacks.get_mut(position) else { return };
        let no_more = self.open_count >= MOST_OPEN_IN_ALL;
        let forgotten = if stack.len() >= MOST_OPEN || (no_more && !stack.is_empty()) {
            let oldest = stack.pop_front().map_or(open.pair, |oldest| oldest.pair);
            stack.push_back(open);
            oldest
        } else if no_more {
            open.pair
        } else {
            stack.push_back(open);
            self.open_count += 1;
            return;
        };
        self.unmatched_of(thread, forgotten).forgotten += 1;
    }

    /// Of a pair of which only some events are recorded, the entry before tells no more than that
    /// there was one: only the latest is kept, or those without an exit would never end.
    #[cold]
    fn give_up(&mut self, thread: ThreadIndex, pair: PairIndex) {
        let stack = self.stacks.get_mut(thread.0 as usize);
        let Some((stack, at)) = stack.and_then(|stack| {
            let behind = latest(stack, pair)?;
            Some((stack, behind))
        }) else {
            return;
        };
        stack.remove(at);
        self.open_count = self.open_count.saturating_sub(1);
        self.unmatched_of(thread, pair).unsure += 1;
    }

    /// The entry that an exit belongs to.
    #[inline]
    pub(crate) fn leave(&mut self, thread: ThreadIndex, pair: PairIndex) -> Option<OpenCall> {
        let stack = self.stacks.get_mut(thread.0 as usize);
        let found = stack.and_then(|stack| {
            let at = latest(stack, pair)?;
            stack.remove(at)
        });
        match found {
            Some(call) => {
                self.open_count = self.open_count.saturating_sub(1);
                self.notes.add(Change::Calls(thread));
                if call.may_be_over {
                    self.unmatched_of(thread, pair).unsure += 1;
                }
            }
            // Its entry was counted as that of a thread without space.
            None if thread == ThreadIndex::OTHERS => {}
            None => self.unmatched_of(thread, pair).exits += 1,
        }
        found
    }

    /// A thread of a machine entered a call, and no event of that machine was lost since.
    pub(crate) fn is_sure(&mut self, host: u32, thread: ThreadIndex) {
        let (host, position) = (host as usize, thread.0 as usize);
        if self.is_listed.len() <= position {
            self.is_listed.resize(position + 1, false);
        }
        if self.is_listed.get(position) == Some(&false) {
            self.is_listed[position] = true;
            if self.sure.len() <= host {
                self.sure.resize_with(host + 1, Vec::new);
            }
            self.sure[host].push(thread);
        }
    }

    /// Exits of calls of a machine's threads may be lost. Bound: the entries since the loss before
    /// and the threads that made them.
    pub(crate) fn loss(&mut self, host: u32) {
        let Some(sure) = self.sure.get_mut(host as usize) else { return };
        for thread in std::mem::take(sure) {
            self.is_listed[thread.0 as usize] = false;
            self.doubt(thread);
        }
    }

    /// Exits of a thread's calls may not be recorded. Bound: the entries since it was doubted
    /// before, and one of each pair of which only some events are recorded.
    pub(crate) fn doubt(&mut self, thread: ThreadIndex) {
        let Self { stacks, partial, .. } = self;
        let Some(stack) = stacks.get_mut(thread.0 as usize) else { return };
        let is_partial = |pair: PairIndex| partial.get(pair.0 as usize) == Some(&true);
        let entered = stack.iter_mut().rev();
        let entered = entered.take_while(|call| !call.may_be_over || is_partial(call.pair));
        entered.for_each(|call| call.may_be_over = true);
        self.notes.add(Change::Calls(thread));
    }

    /// The calls that a thread is in, the outermost first.
    pub fn of(&self, thread: ThreadIndex) -> impl Iterator<Item = &OpenCall> {
        self.stacks.get(thread.0 as usize).into_iter().flatten()
    }

    /// The call that a thread is in, and in no other inside of it.
    pub fn innermost(&self, thread: ThreadIndex) -> Option<OpenCall> {
        self.stacks.get(thread.0 as usize)?.back().copied()
    }

    /// What one thread was thought to be in, another one is in.
    pub(crate) fn hand_over(&mut self, from: ThreadIndex, to: ThreadIndex) {
        let Some(stack) = self.stacks.get_mut(from.0 as usize).filter(|_| from != to) else {
            return;
        };
        let open = std::mem::take(stack);
        self.open_count = self.open_count.saturating_sub(open.len());
        self.notes.add(Change::Calls(from));
        for open in open {
            self.enter(to, open);
        }
    }

    /// Another event comes.
    pub(crate) fn next(&mut self) {
        self.cut.clear();
    }

    /// Calls that the latest event cut off, the outermost of a thread first: it told that their
    /// thread is over, or the program in it.
    pub fn cut(&self) -> &[(ThreadIndex, OpenCall)] {
        &self.cut
    }

    /// The thread is over: nothing it is in will be left.
    pub(crate) fn thread_ended(&mut self, thread: ThreadIndex) {
        let Some(stack) = self.stacks.get_mut(thread.0 as usize) else { return };
        let open = std::mem::take(stack);
        self.open_count = self.open_count.saturating_sub(open.len());
        self.notes.add(Change::Calls(thread));
        for open in open {
            self.unmatched_of(thread, open.pair).ended += 1;
            self.cut.push((thread, open));
        }
    }

    /// Every call that has not returned, oldest first.
    pub fn still_open(&self) -> Vec<(ThreadIndex, OpenCall)> {
        let threads = self.stacks.iter().enumerate();
        let mut open: Vec<(ThreadIndex, OpenCall)> = threads
            .flat_map(|(index, stack)| {
                stack.iter().map(move |open| (ThreadIndex(index as u32), *open))
            })
            .collect();
        open.sort_by_key(|(thread, open)| (open.begin, thread.0));
        open
    }
}

/// Where the latest entry of a pair is in a stack.
#[inline]
fn latest(stack: &VecDeque<OpenCall>, pair: PairIndex) -> Option<usize> {
    let mut latest = stack.iter().rev().take(MOST_CROSSED + 1);
    let behind = latest.position(|open| open.pair == pair)?;
    Some(stack.len() - 1 - behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PairIndex = PairIndex(0);
    const B: PairIndex = PairIndex(1);

    fn open(pair: PairIndex, begin: i64) -> OpenCall {
        let (values, about) = (Values::default(), About::Nothing);
        OpenCall { pair, begin: Ns(begin), values, about, may_be_over: false }
    }

    fn begin(open: Option<OpenCall>) -> Option<i64> {
        open.map(|open| open.begin.0)
    }

    #[test]
    fn recursion_matches_inside_out_and_threads_do_not_mix() {
        let mut calls = Calls::new(vec![false; 2]);
        let (one, two) = (ThreadIndex(1), ThreadIndex(2));
        calls.enter(one, open(A, 10));
        calls.enter(two, open(A, 11));
        calls.enter(one, open(A, 12));
        assert_eq!(begin(calls.innermost(one)), Some(12));
        assert_eq!(begin(calls.leave(one, A)), Some(12));
        assert_eq!(begin(calls.leave(one, A)), Some(10));
        assert_eq!(begin(calls.leave(two, A)), Some(11));
        assert_eq!(calls.leave(two, A), None);
        assert_eq!(calls.unmatched(|_| true)[0], Unmatched { exits: 1, ..Unmatched::default() });
    }

    #[test]
    fn pairs_of_different_names_may_overlap() {
        let mut calls = Calls::new(vec![false; 2]);
        let thread = ThreadIndex(1);
        calls.enter(thread, open(A, 1));
        calls.enter(thread, open(B, 2));
        assert_eq!(begin(calls.leave(thread, A)), Some(1));
        assert_eq!(begin(calls.leave(thread, B)), Some(2));
        assert!(calls.still_open().is_empty());
    }

    #[test]
    fn what_is_open_at_the_end_is_told_oldest_first_unless_its_thread_ended() {
        let mut calls = Calls::new(vec![false; 2]);
        calls.enter(ThreadIndex(2), open(A, 5));
        calls.enter(ThreadIndex(1), open(B, 3));
        calls.enter(ThreadIndex(3), open(B, 1));
        calls.thread_ended(ThreadIndex(3));
        let left: Vec<_> = calls.still_open().iter().map(|(t, o)| (t.0, o.begin.0)).collect();
        assert_eq!(left, [(1, 3), (2, 5)]);
        assert_eq!(calls.unmatched(|_| true)[1].ended, 1);
        assert_eq!(calls.cut(), [(ThreadIndex(3), open(B, 1))]);
        calls.next();
        assert_eq!(calls.cut(), []);
    }

    #[test]
    fn entries_without_exits_do_not_grow_without_bound() {
        let mut calls = Calls::new(vec![false; 1]);
        let count = MOST_OPEN as i64 + 1000;
        for at in 0..count {
            calls.enter(ThreadIndex(1), open(A, at));
        }
        assert_eq!(calls.still_open().len(), MOST_OPEN);
        assert_eq!(calls.unmatched(|_| true)[0].forgotten, 1000);
        assert_eq!(begin(calls.leave(ThreadIndex(1), A)), Some(count - 1));
    }

    #[test]
    fn an_exit_is_not_looked_for_without_bound() {
        for (crossed, is_found) in [(MOST_CROSSED, true), (MOST_CROSSED + 1, false)] {
            let mut calls = Calls::new(vec![false; 2]);
            calls.enter(ThreadIndex(1), open(B, 0));
            (0..crossed).for_each(|at| calls.enter(ThreadIndex(1), open(A, at as i64)));
            assert_eq!(calls.leave(ThreadIndex(1), B).is_some(), is_found);
        }
    }
}
