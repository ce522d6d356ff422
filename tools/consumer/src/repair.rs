// SPDX-License-Identifier: MIT
//! What dead writers leave in a sub-buffer, and how it becomes a packet again.
//!
//! Place in the flow: `drain` comes here when a walk did not reach the end of a packet. All
//! repair is done in a private copy. A hole becomes `lull:lost` or `lull:lost_bytes`, so that
//! a reader sees where an event is missing; its time is that of the event before it.
//! docs/adr/0003; the ring's part is `lull_ring_take()`.

use crate::clock::now_cycles;
use crate::process::Owner;
use crate::ring::Ring;
use crate::stream::PRELUDE_BYTES;
use crate::view::{Copy, View};
use crate::walk::{closer, thread_record, Stop, Thread, Walk, Walker};
use session::abi::*;
use std::collections::HashSet;

/// By how much the clocks of two CPUs may differ, at the very most.
const CLOCK_SLACK_CYCLES: u64 = 1 << 20;

/// A slot that was reserved and is not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    pub at: usize,
    pub bytes: usize,
    pub owner: Owner,
}

/// What a look at an incomplete sub-buffer found.
#[derive(Debug, Default)]
pub struct Holes {
    pub holes: Vec<Hole>,
    /// Zeros between slots, in a plain ring: a writer that may come to write its mark.
    pub gaps: bool,
    /// Threads that have events here.
    pub threads: HashSet<u32>,
    /// The thread that closed the sub-buffer, if it is closed and names that thread.
    pub closer: Option<u32>,
}

impl Holes {
    pub fn bytes(&self) -> u64 {
        self.holes.iter().map(|hole| hole.bytes as u64).sum()
    }

    pub fn owners(&self) -> Vec<Owner> {
        self.holes.iter().map(|hole| hole.owner).collect()
    }

    /// All threads that may have to commit some of `missing_bytes` in a closed sub-buffer that
    /// `opener` opened; None when that may be a thread that nothing here names. A thread that died
    /// after it wrote its event's header and before it counted the slot left no hole; so all
    /// threads that have events here are among the result.
    pub fn debtors(&self, missing_bytes: u64, opener: Option<u32>) -> Option<Vec<Owner>> {
        let mut owners = self.owners();
        if self.gaps {
            return None;
        }
        if missing_bytes == self.bytes() {
            return Some(owners);
        }
        let others = self.threads.iter().copied().chain([self.closer?, opener?]);
        owners.extend(others.map(Owner::Thread));
        Some(owners)
    }

    /// Whether no thread that has a slot open can still commit it.
    pub fn all_dead(&self, ring: &Ring) -> bool {
        !self.gaps && self.holes.iter().all(|hole| ring.is_dead(&hole.owner))
    }

    /// Only those at `from` and after it.
    pub fn since(mut self, from: usize) -> Self {
        self.holes.retain(|hole| hole.at >= from);
        self
    }

    /// Puts the marks back into a copy made later, so that an event whose header was not
    /// there at the look is not believed now: its payload need not be visible yet. Between the
    /// look and the copy stands the barrier `[ring.walk:A]` of `drain.rs`.
    pub fn restore(&self, copy: &mut Copy) {
        for hole in &self.holes {
            copy.set_word(hole.at, u32::from(TAG_HOLE) | (hole.bytes as u32) << 8);
        }
    }
}

/// The holes of a sub-buffer up to `limit`; looks only.
pub fn find_holes(walker: &mut Walker, view: View, limit: usize, plain: bool) -> Holes {
    let recorded = std::mem::take(&mut walker.threads);
    let mut found = look(walker, view, limit, plain);
    found.threads = std::mem::replace(&mut walker.threads, recorded).tids();
    found
}

fn look(walker: &mut Walker, view: View, limit: usize, plain: bool) -> Holes {
    let mut found = Holes::default();
    let mut state = Walk::new(PACKET_HEADER_BYTES, 0, None);
    // Bound: each round moves forward in the view.
    loop {
        match walker.walk(view, limit, &mut state, u64::MAX) {
            Stop::Hole { bytes, tid: mark } => {
                let (at, opener) = (state.at, run_opener(view, &state, bytes));
                let owner = match (opener, state.thread) {
                    (Some(thread), _) => Owner::Thread(thread.tid),
                    (None, _) if plain => Owner::Thread(mark),
                    (None, None) if mark == EVENT_THREAD => Owner::Unknown,
                    (None, None) => Owner::Thread(mark),
                    (None, Some(run)) if run.tid == mark => Owner::Thread(mark),
                    (None, Some(run)) => Owner::Either { run: run.tid, mark },
                };
                found.holes.push(Hole { at, bytes, owner });
                state.thread = opener.or(state.thread);
                state.at += bytes;
            }
            Stop::Empty => {
                let Some(until) = gap_until(view, state.at, limit) else { return found };
                found.gaps = true;
                state.at = until;
            }
            Stop::Backward => {
                let Some(cycles) = view.double_word(state.at + 8) else { return found };
                if cycles >= state.cycles {
                    return found;
                }
                state.cycles = cycles;
            }
            Stop::Limit | Stop::End { .. } | Stop::Unknown { .. } | Stop::Damaged { .. } => {
                found.closer = closer(view, state.at);
                return found;
            }
        }
    }
}

/// The thread that says in a hole that it begins a run, if its slot is that far: an extended
/// header without its first word, and a thread record. What an older lap left there is told
/// from it by its time.
fn run_opener(view: View, state: &Walk, bytes: usize) -> Option<Thread> {
    if bytes < PRELUDE_BYTES + COMPACT_HEADER_BYTES || view.word(state.at + 4)? != EVENT_THREAD {
        return None;
    }
    let cycles = view.double_word(state.at + 8)?;
    let plausible = state.cycles.saturating_sub(CLOCK_SLACK_CYCLES)..=now_cycles();
    let record = thread_record(view, state.at + EXTENDED_HEADER_BYTES)?;
    plausible.contains(&cycles).then_some(record)
}

/// Where zeros that begin at `at` end; None when nothing follows them.
fn gap_until(view: View, at: usize, limit: usize) -> Option<usize> {
    (at..limit.min(view.len()))
        .step_by(SLOT_ALIGN)
        .find(|at| view.word(*at).is_some_and(|w| w != 0))
}

/// What a repair did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Slots whose writers never finished.
    pub lost_count: u64,
    /// Why the rest of the packet was given up.
    pub damage: Option<&'static str>,
}

/// Takes `state` to the end of the packet, rewriting in `copy` what stands in the way.
pub fn repair(
    walker: &mut Walker,
    copy: &mut Copy,
    limit: usize,
    state: &mut Walk,
    horizon_cycles: u64,
    plain: bool,
) -> Repaired {
    let mut repaired = Repaired::default();
    // Bound: each round makes the slot at state.at one that the walk passes.
    loop {
        match walker.walk(copy.view(), limit, state, horizon_cycles) {
            Stop::Limit | Stop::End { .. } => return repaired,
            Stop::Hole { bytes, .. } => {
                lose_slot(copy, state.at, bytes, state.cycles);
                repaired.lost_count += 1;
            }
            Stop::Empty if plain => {
                let Some(until) = gap_until(copy.view(), state.at, limit) else { return repaired };
                lose_slot(copy, state.at, until - state.at, state.cycles);
                repaired.lost_count += 1;
            }
            Stop::Empty => {
                repaired.damage = Some("there are zeros where a slot should be");
                return repaired;
            }
            Stop::Backward => raise(copy, state.at, state.cycles),
            Stop::Unknown { .. } => {
                repaired.damage = Some("an event is not known");
                return repaired;
            }
            Stop::Damaged { reason } => {
                repaired.damage = Some(reason);
                return repaired;
            }
        }
    }
}

/// Raises the time of an extended event, for CPUs' clocks may differ by a few cycles; only plain
/// rings mix them. If it is a thread record, the event behind it is of the same slot and time.
fn raise(copy: &mut Copy, at: usize, cycles: u64) {
    let time_bits = |cycles: u64| (cycles as u32) << 8;
    let tag = |header: u32| header & !time_bits(u64::MAX);
    let view = copy.view();
    let old_bits = view.double_word(at + 8).map(time_bits);
    let behind = at + PRELUDE_BYTES;
    let is_same_slot = |header: &u32| {
        view.word(at + 4) == Some(EVENT_THREAD)
            && (EVENT_FIRST..=u32::from(TAG_COMPACT_MAX)).contains(&tag(*header))
            && Some(header & time_bits(u64::MAX)) == old_bits
    };
    if let Some(header) = view.word(behind).filter(is_same_slot) {
        copy.set_word(behind, tag(header) | time_bits(cycles));
    }
    copy.set_double_word(at + 8, cycles);
}

/// Writes a lost event over a slot.
fn lose_slot(copy: &mut Copy, at: usize, bytes: usize, cycles: u64) {
    let header = |id: u32| id | (cycles as u32) << 8;
    if bytes < 2 * SLOT_ALIGN {
        copy.set_word(at, header(EVENT_LOST));
        return;
    }
    copy.set_word(at, header(EVENT_LOST_BYTES));
    copy.set_word(at + 4, (bytes - 2 * SLOT_ALIGN) as u32);
    for word in (at + 8..at + bytes).step_by(4) {
        copy.set_word(word, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Events;

    fn walker() -> Walker {
        let mut events = Events::default();
        let description = session::description::Description::parse(b"a:b\n6\nf:1\nu32 x\n");
        events.add(9, description.unwrap());
        Walker::with_events(events)
    }

    fn copy_of(words: &[u32]) -> Copy {
        // SAFETY: the words outlive the view.
        unsafe { View::new(words.as_ptr().cast(), words.len() * 4) }.copy(words.len() * 4)
    }

    fn words_of(copy: &Copy) -> Vec<u32> {
        (0..copy.view().len()).step_by(4).map(|at| copy.view().word(at).unwrap()).collect()
    }

    const HOLE_12: u32 = 254 | 12 << 8;

    #[test]
    fn hole_becomes_a_lost_event_at_the_time_before_it_and_the_rest_is_kept() {
        let mut copy = copy_of(&[9 | 5 << 8, 1, HOLE_12, 77, 0xdead, 9 | 8 << 8, 2]);
        let mut state = Walk::new(0, 0, None);
        let repaired = repair(&mut walker(), &mut copy, 28, &mut state, 100, false);
        assert_eq!(repaired, Repaired { lost_count: 1, damage: None });
        assert_eq!(words_of(&copy), [9 | 5 << 8, 1, 3 | 5 << 8, 4, 0, 9 | 8 << 8, 2]);
        assert_eq!((state.events, state.content_until, state.cycles), (2, 28, 8));
    }

    #[test]
    fn zeros_are_a_lost_event_in_a_plain_ring_and_damage_in_another() {
        let words = [9 | 5 << 8, 1, 0, 9 | 6 << 8, 2, 0, 0];
        let mut copy = copy_of(&words);
        let mut state = Walk::new(0, 0, None);
        let repaired = repair(&mut walker(), &mut copy, 28, &mut state, 100, true);
        assert_eq!(repaired, Repaired { lost_count: 1, damage: None });
        assert_eq!((state.events, state.content_until), (2, 20));
        let mut copy = copy_of(&words);
        let mut state = Walk::new(0, 0, None);
        let repaired = repair(&mut walker(), &mut copy, 28, &mut state, 100, false);
        assert!(repaired.damage.is_some());
        assert_eq!((state.events, state.content_until), (1, 8));
    }

    #[test]
    fn time_that_steps_back_is_raised_to_the_time_before_it() {
        let mut copy = copy_of(&[9 | 50 << 8, 1, 253, 9, 48, 0, 7]);
        let mut state = Walk::new(0, 0, None);
        repair(&mut walker(), &mut copy, 28, &mut state, 100, true);
        assert_eq!(words_of(&copy)[4], 50);
        assert_eq!((state.events, state.cycles), (2, 50));
    }

    #[test]
    fn event_behind_a_thread_record_that_steps_back_is_raised_with_it() {
        let mut words = vec![9 | 50 << 8, 1];
        words.extend(record(253, 48, 700));
        words.extend([9 | 48 << 8, 2, 9 | 60 << 8, 3]);
        let mut copy = copy_of(&words);
        let mut state = Walk::new(0, 0, None);
        repair(&mut walker(), &mut copy, words.len() * 4, &mut state, u64::MAX, true);
        assert_eq!((state.events, state.cycles), (3, 60), "{:?}", words_of(&copy));
    }

    /// A sub-buffer: room for its header, then these words.
    fn subbuf(words: &[u32]) -> Copy {
        let mut all = vec![0; PACKET_HEADER_BYTES / 4];
        all.extend(words);
        copy_of(&all)
    }

    #[test]
    fn holes_found_before_the_barrier_stay_holes_in_the_copy_made_after_it() {
        let before = subbuf(&[HOLE_12, 77, 0, HOLE_12, 78, 0, 9, 1]);
        let found = find_holes(&mut walker(), before.view(), 144, true);
        assert_eq!(found.owners(), [Owner::Thread(77), Owner::Thread(78)]);
        assert_eq!((found.bytes(), found.gaps), (24, false));
        let mut after = subbuf(&[9 | 5 << 8, 1, 0, HOLE_12, 78, 0, 9, 1]);
        found.restore(&mut after);
        assert_eq!(after.view().word(112), Some(HOLE_12));
        assert_eq!(found.since(113).holes.len(), 1);
    }

    /// A thread record as `reserve` writes it: extended header, pid, tid, name.
    fn record(first: u32, cycles: u32, tid: u32) -> Vec<u32> {
        vec![first, 1, cycles, 0, 5, tid, 0, 0, 0, 0]
    }

    #[test]
    fn owner_of_a_hole_is_found_though_its_payload_overwrote_the_mark() {
        let hole_48 = 254 | 48 << 8;
        let mut words = record(253, 5, 700);
        words.extend([HOLE_12, 3, 0]); // goes on with the run; 3 is payload
        words.extend([HOLE_12, 700, 0]); // the mark as it was published
        words.extend(record(hole_48, 6, 800)); // begins a run, record written
        words.extend([0, 0]);
        words.extend([HOLE_12, 3, 0]); // the signal handler of 800
        let copy = subbuf(&words);
        let found = find_holes(&mut walker(), copy.view(), copy.view().len(), false);
        let run = |run| Owner::Either { run, mark: 3 };
        assert_eq!(found.owners(), [run(700), Owner::Thread(700), Owner::Thread(800), run(800)]);
    }

    #[test]
    fn record_of_an_older_lap_in_a_hole_is_not_believed() {
        let hole_48 = 254 | 48 << 8;
        let mut words = record(253, 5 << 24, 700);
        words.extend(record(hole_48, 4 << 24, 800));
        words.extend([0, 0]);
        let copy = subbuf(&words);
        let found = find_holes(&mut walker(), copy.view(), copy.view().len(), false);
        assert_eq!(found.owners(), [Owner::Either { run: 700, mark: 1 }]);
    }
}
