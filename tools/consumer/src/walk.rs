// SPDX-License-Identifier: MIT
//! From slot to slot through a sub-buffer: the chain that invariant I5 of `core/ring/ring.c`
//! promises, checked at every step because a writer may have broken it.
//!
//! Place in the flow: `drain` walks every packet before it is written, to know where its last
//! event ends (CTF's content size has no room for padding), its time, how many events it
//! holds and which threads wrote them. What that costs bounds how fast programs can record without
//! loss while they use all CPUs.

use crate::dumps::Dumps;
use crate::events::{Event, Events, Unmeasured};
use crate::lives::{Absent, Lives, Sign};
use crate::metadata::Class;
use crate::stacks::Addresses;
use crate::view::View;
use session::abi::*;
use session::description::Description;
use session::Memory;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Above the thread's identifier a writer keeps a number of its own.
const TID_MASK: u32 = (1 << TID_BITS) - 1;

/// Threads remembered in one recording; more are traced but not counted.
const THREADS_MAX: usize = 1 << 20;

/// Payload of `lull:thread`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    pub pid: u32,
    pub tid: u32,
    pub name: [u8; THREAD_NAME_BYTES],
}

/// A thread's last event: when, and what the thread was called.
#[derive(Debug, Clone, Copy)]
struct Met {
    cycles: u64,
    name: [u8; THREAD_NAME_BYTES],
}

/// A process that recorded events, as these say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub threads: u64,
    /// Of its first thread, or of another that recorded events.
    name: [u8; THREAD_NAME_BYTES],
}

impl Process {
    pub fn name(&self) -> String {
        let name = self.name.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }
}

/// The threads that wrote events, and what is known of the lives of their processes.
#[derive(Debug, Default)]
pub struct Threads {
    /// By process and thread, what is known of the last event.
    seen: HashMap<(u32, u32), Met>,
    pub lives: Lives,
    /// Of the kernel's state.
    pub dumps: Dumps,
    /// In the kernel's call stacks.
    addresses: Addresses,
}

impl Threads {
    /// The thread wrote its last event, as far as is known, at this time.
    fn meet(&mut self, thread: &Thread, cycles: u64) {
        let key = (thread.pid, thread.tid);
        let met = Met { cycles, name: thread.name };
        if let Some(last) = self.seen.get_mut(&key) {
            // Rings are read one after the other, and an earlier event may come later.
            if cycles >= last.cycles {
                *last = met;
            }
        } else if self.seen.len() < THREADS_MAX {
            self.seen.insert(key, met);
        }
    }

    /// Takes an event with a sign.
    fn note(&mut self, payload: (View, usize, usize), event: &Event, thread: &Thread, cycles: u64) {
        match event.sign {
            Some(Sign::Dump(part)) => self.dumps.note(part, payload, event, cycles),
            _ => self.lives.note(payload, event, thread, cycles),
        }
    }

    pub fn thread_count(&self) -> u64 {
        self.seen.len() as u64
    }

    pub fn tids(&self) -> HashSet<u32> {
        self.seen.keys().map(|(_, tid)| *tid).collect()
    }

    pub fn pids(&self) -> HashSet<u32> {
        self.seen.keys().map(|(pid, _)| *pid).collect()
    }

    /// Processes that recorded events, by number.
    pub fn processes(&self) -> Vec<Process> {
        let mut processes = BTreeMap::new();
        for ((pid, tid), Met { name, .. }) in &self.seen {
            let new = Process { pid: *pid, threads: 0, name: *name };
            let process = processes.entry(*pid).or_insert(new);
            process.threads += 1;
            if tid == pid {
                process.name = *name;
            }
        }
        processes.into_values().collect()
    }

    /// Processes that recorded events; those of one number are told apart where it is known.
    pub fn process_count(&self) -> u64 {
        (self.pids().len() as u64).saturating_add(self.lives.reused_count)
    }

    /// Processes that were started and recorded nothing, and how many more there are.
    pub fn absent(&mut self) -> (Vec<Absent>, u64) {
        let Self { seen, lives, .. } = self;
        lives.absent(|pid, tid| seen.get(&(pid, tid)).map(|met| met.cycles))
    }
}

/// How far a walk has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walk {
    /// The next slot.
    pub at: usize,
    /// Where the last event ends, without its padding.
    pub content_until: usize,
    /// Time stamp of the last event.
    pub cycles: u64,
    /// Events for people: without Lull's own.
    pub events: u64,
    /// The thread that the next events are of.
    pub thread: Option<Thread>,
}

impl Walk {
    pub fn new(at: usize, cycles: u64, thread: Option<Thread>) -> Self {
        Self { at, content_until: at, cycles, events: 0, thread }
    }
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// At the limit, exactly.
    Limit,
    /// At an end mark, left by this thread; 0 if the mark names none.
    End { closer: u32 },
    /// A slot reserved and not committed.
    Hole { bytes: usize, tid: u32 },
    /// Zeros where a slot should be.
    Empty,
    /// An event of this identifier is not known.
    Unknown { id: u32 },
    /// An extended header whose time stamp is before the event before it.
    Backward,
    /// At bytes that none of Lull's writers leaves behind.
    Damaged { reason: &'static str },
}

const OVERLONG: Stop = Stop::Damaged { reason: "an event does not end before its packet does" };
const FUTURE: Stop = Stop::Damaged { reason: "a time stamp lies in the future" };

/// The full time of 24 low bits, not before `last`.
#[inline]
fn extend(last: u64, low: u32) -> u64 {
    const MASK: u64 = (1 << COMPACT_TIMESTAMP_BITS) - 1;
    last.wrapping_add(u64::from(low).wrapping_sub(last) & MASK)
}

/// Goes on with `walk` until `limit` or until something needs a decision; `walk` then stands at
/// that slot. No event may be later than `horizon_cycles`.
pub fn walk(
    view: View,
    limit: usize,
    walk: &mut Walk,
    events: &Events,
    threads: &mut Threads,
    horizon_cycles: u64,
) -> Stop {
    let limit = limit.min(view.len());
    // Bound: every round that goes on moves `at` forward by at least a header.
    loop {
        let at = walk.at;
        if at >= limit {
            return Stop::Limit;
        }
        let Some(word) = view.word(at) else { return OVERLONG };
        let tag = word.to_le_bytes()[0];
        let (id, cycles, payload) = match tag {
            TAG_EMPTY if word == 0 => return Stop::Empty,
            TAG_EMPTY => return Stop::Damaged { reason: "a slot has no identifier" },
            1..=TAG_COMPACT_MAX => {
                (u32::from(tag), extend(walk.cycles, word >> 8), at + COMPACT_HEADER_BYTES)
            }
            TAG_EXTENDED => {
                let Some(cycles) = view.double_word(at + 8) else { return OVERLONG };
                let Some(id) = view.word(at + 4) else { return OVERLONG };
                if cycles < walk.cycles {
                    return Stop::Backward;
                }
                (id, cycles, at + EXTENDED_HEADER_BYTES)
            }
            TAG_HOLE => return hole(view, at, limit, word),
            _ => return Stop::End { closer: word >> 8 },
        };
        if cycles > horizon_cycles {
            return FUTURE;
        }
        let until = match events.payload_until(view, id, payload, limit) {
            Ok(until) => until,
            Err(Unmeasured::Unknown) => return Stop::Unknown { id },
            Err(Unmeasured::TooLong) => return OVERLONG,
        };
        if id == EVENT_THREAD {
            let Some(thread) = thread_record(view, payload) else { return OVERLONG };
            threads.meet(&thread, cycles);
            if let Some(before) = walk.thread.replace(thread) {
                threads.meet(&before, walk.cycles);
            }
        } else if events.tells_of_life(id) {
            if let (Some(thread), Some(event)) = (&walk.thread, events.get(id)) {
                threads.note((view, payload, until), event, thread, cycles);
            }
        }
        if let Some(stack_at) = events.stack_at().filter(|_| id >= EVENT_FIRST) {
            threads.addresses.note(view, payload + stack_at, until);
        }
        walk.events += u64::from(id >= EVENT_FIRST);
        walk.cycles = cycles;
        walk.content_until = until;
        walk.at = until.next_multiple_of(SLOT_ALIGN);
        if let Some(bytes) = events.plain_bytes(id).filter(|_| tag <= TAG_COMPACT_MAX) {
            walk_alike(view, limit, walk, (tag, bytes), horizon_cycles);
        }
    }
}

/// Goes over the events that follow and are like the last one: of the same identifier and size,
/// with a compact header. Each is where the one before it ends, whatever that holds, so that the
/// processor need not wait for one to find the next: a loop that records fills a packet with them.
/// What is not like that, or not in order, is left to [`walk`].
#[inline]
fn walk_alike(view: View, limit: usize, walk: &mut Walk, alike: (u8, usize), horizon_cycles: u64) {
    let (tag, payload_bytes) = alike;
    // Bound: as in walk().
    while let Some(word) = view.word(walk.at) {
        let until = walk.at + COMPACT_HEADER_BYTES + payload_bytes;
        let cycles = extend(walk.cycles, word >> 8);
        if word.to_le_bytes()[0] != tag || until > limit || cycles > horizon_cycles {
            return;
        }
        walk.events += 1;
        walk.cycles = cycles;
        walk.content_until = until;
        walk.at = until.next_multiple_of(SLOT_ALIGN);
    }
}

fn hole(view: View, at: usize, limit: usize, word: u32) -> Stop {
    let bytes = (word >> 8) as usize;
    if bytes < 2 * SLOT_ALIGN || bytes % SLOT_ALIGN != 0 || bytes > limit - at {
        return Stop::Damaged { reason: "a hole has a length that no slot has" };
    }
    Stop::Hole { bytes, tid: view.word(at + 4).unwrap_or(0) & TID_MASK }
}

/// The thread that closed the sub-buffer at `at`, if an end mark names it.
pub fn closer(view: View, at: usize) -> Option<u32> {
    let word = view.word(at).filter(|word| word.to_le_bytes()[0] == TAG_END)?;
    Some(word >> 8).filter(|tid| *tid != 0)
}

/// Whether the slot at `at` is a thread record, as in every slot that starts a run.
pub fn starts_with_thread_record(view: View, at: usize) -> bool {
    let tag = view.word(at).map(|word| word.to_le_bytes()[0]);
    match tag {
        Some(TAG_EXTENDED) => view.word(at + 4) == Some(EVENT_THREAD),
        Some(tag) => u32::from(tag) == EVENT_THREAD,
        None => false,
    }
}

pub fn thread_record(view: View, at: usize) -> Option<Thread> {
    Some(Thread { pid: view.word(at)?, tid: view.word(at + 4)?, name: view.bytes(at + 8)? })
}

/// One user's memory, and the events that its table describes; or the kernel's events.
struct Source {
    class: u32,
    memory: Option<Arc<Memory>>,
    events: Events,
}

/// Walks with all that is known of a session, and learns what is not. Each user's processes give
/// their events identifiers of their own, so a walk is in the memory selected before it.
pub struct Walker {
    sources: Vec<Source>,
    selected: usize,
    pub threads: Threads,
    /// Those of the kernel's events: that a thread ran does not mean that it was recorded.
    machine: Threads,
}

impl Walker {
    pub fn new(memory: Arc<Memory>) -> Self {
        let (threads, machine) = Default::default();
        let mut walker = Self { sources: Vec::new(), selected: 0, threads, machine };
        walker.add(memory);
        walker
    }

    /// Adds another user's memory; [`Walker::next_source`] told what to select for it.
    pub fn add(&mut self, memory: Arc<Memory>) {
        let events = Events::of(&memory);
        let class = memory.fixed().stream_id;
        self.sources.push(Source { class, memory: Some(memory), events });
    }

    /// What is to be selected for what is added next.
    pub fn next_source(&self) -> usize {
        self.sources.len()
    }

    /// Adds a stream class whose events are told with [`Walker::describe`]. Return: what to select.
    pub fn add_class(&mut self, class: u32) -> usize {
        let source = self.next_source();
        self.sources.push(Source { class, memory: None, events: Events::default() });
        source
    }

    /// Tells of an event that no packet has had before.
    pub fn describe(&mut self, source: usize, id: u32, description: Description) {
        if let Some(Source { events, .. }) = self.sources.get_mut(source) {
            events.add(id, description);
        }
    }

    #[cfg(test)]
    pub fn with_events(events: Events) -> Self {
        let sources = vec![Source { class: 0, memory: None, events }];
        let (threads, machine) = Default::default();
        Self { sources, selected: 0, threads, machine }
    }

    /// Nothing was walked: who wrote events, and what they told, is learnt anew.
    pub fn forget(&mut self) {
        (self.threads, self.machine) = Default::default();
    }

    /// What follows is in the memory of this number.
    pub fn select(&mut self, source: usize) {
        debug_assert!(source < self.sources.len());
        self.selected = source;
    }

    /// What was read of the kernel's dumps of its state.
    pub fn dumps(&self) -> &Dumps {
        &self.machine.dumps
    }

    /// Whether any events have the kernel's call stack.
    pub fn records_stacks(&self) -> bool {
        self.sources.iter().any(|source| source.events.stack_at().is_some())
    }

    /// The addresses in the kernel's call stacks.
    pub fn addresses(&self) -> &Addresses {
        &self.machine.addresses
    }

    /// The stream classes, each with its events.
    pub fn classes(&self) -> Vec<Class<'_>> {
        let sources = self.sources.iter();
        sources.map(|Source { class, events, .. }| Class { number: *class, events }).collect()
    }

    /// Names and levels of the events that some process had enabled, met or not.
    pub fn enabled_events(&mut self) -> Vec<(String, u8)> {
        for Source { memory, events, .. } in &mut self.sources {
            if let Some(memory) = memory {
                events.learn_all(memory);
            }
        }
        self.sources.iter().flat_map(|source| source.events.names()).collect()
    }

    /// As [`walk`]; an event that even its table does not describe is damage.
    pub fn walk(&mut self, view: View, limit: usize, state: &mut Walk, horizon: u64) -> Stop {
        // Bound: each round follows an event learned.
        let Source { memory, events, .. } = &mut self.sources[self.selected];
        let is_kernels = memory.as_ref().is_some_and(|memory| memory.is_kernels());
        let threads = if is_kernels { &mut self.machine } else { &mut self.threads };
        loop {
            let stop = walk(view, limit, state, events, threads, horizon);
            if let Some(thread) = &state.thread {
                threads.meet(thread, state.cycles);
            }
            let Stop::Unknown { id } = stop else { return stop };
            if !memory.as_ref().is_some_and(|memory| events.learn(memory, id)) {
                return Stop::Damaged { reason: "an event is not in the session's table" };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: u32 = 9;

    fn events() -> Events {
        let mut events = Events::default();
        for (id, text) in session::description::SYSTEM_EVENTS {
            events.add(id, Description::parse(text.as_bytes()).unwrap());
        }
        events.add(EVENT, Description::parse(b"a:b\n6\nf:1\nstr text\n").unwrap());
        events
    }

    fn compact(cycles: u64) -> u32 {
        EVENT | (cycles as u32) << 8
    }

    fn run(words: &[u32], limit: usize, start: u64) -> (Stop, Walk) {
        let mut state = Walk::new(0, start, None);
        // SAFETY: the words outlive the view.
        let view = unsafe { View::new(words.as_ptr().cast(), words.len() * 4) };
        let threads = &mut Threads::default();
        let stop = walk(view, limit, &mut state, &events(), threads, 1 << 40);
        (stop, state)
    }

    #[test]
    fn content_ends_with_the_last_event_and_not_with_its_padding() {
        let words = [compact(5), u32::from_ne_bytes(*b"ab\0\0"), compact(6), 0];
        let (stop, state) = run(&words, 16, 0);
        assert_eq!((stop, state.at, state.content_until), (Stop::Limit, 16, 13));
        assert_eq!((state.events, state.cycles), (2, 6));
    }

    #[test]
    fn compact_time_wraps_once_past_24_bits_and_extended_time_is_taken_as_it_is() {
        let words = [compact(3), 0, 253, EVENT, 0, 1, 0, compact(7), 0];
        let (stop, state) = run(&words, 36, 0xff_fff0);
        assert_eq!((stop, state.cycles), (Stop::Limit, (1 << 32) + 7));
        let (stop, state) = run(&words[..2], 8, 0xff_fff0);
        assert_eq!((stop, state.cycles), (Stop::Limit, 0x100_0003));
    }

    /// The tag of extended headers is a number that an event may have, too.
    #[test]
    fn extended_slots_of_an_event_with_the_number_of_their_tag_are_not_walked_as_compact_ones() {
        let id = u32::from(TAG_EXTENDED);
        let mut events = events();
        events.add(id, Description::parse(b"a:fixed\n6\nf:1\nu32 number\n").unwrap());
        let words = [253, id, 5, 0, 1, 253, id, 6, 0, 2];
        // SAFETY: the words outlive the view.
        let view = unsafe { View::new(words.as_ptr().cast(), words.len() * 4) };
        let (mut state, threads) = (Walk::new(0, 0, None), &mut Threads::default());
        let stop = walk(view, words.len() * 4, &mut state, &events, threads, 1 << 40);
        assert_eq!((stop, state.events, state.cycles), (Stop::Limit, 2, 6));
    }

    /// A walk that stops at each event finds what one that runs through finds.
    #[test]
    fn events_alike_are_walked_as_if_each_was_the_only_one() {
        const OTHER: u32 = 10;
        let mut events = events();
        let text = b"a:fixed\n6\nf:1\nu32 number\nu8 small\n";
        events.add(OTHER, Description::parse(text).unwrap());
        let fixed = |cycles: u32| [OTHER | cycles << 8, u32::MAX, 0xff];
        let mut words = Vec::new();
        for cycles in [5, 6, 0xff_ffff, 4, 4, 3] {
            words.extend(fixed(cycles));
        }
        words.extend([compact(9), 0]);
        words.extend([fixed(10), fixed(11)].concat());
        words.extend([253, OTHER, 1 << 27, 0, 1, 2]);
        words.extend([fixed(1), fixed(2)].concat());
        let bytes = words.len() * 4;
        let horizon = |horizon: u64, limits: &[usize]| {
            // SAFETY: the words outlive the view.
            let view = unsafe { View::new(words.as_ptr().cast(), bytes) };
            let (mut state, mut stop) = (Walk::new(0, 0, None), Stop::Limit);
            for limit in limits {
                let threads = &mut Threads::default();
                stop = walk(view, *limit, &mut state, &events, threads, horizon);
                if stop != Stop::Limit {
                    break;
                }
            }
            (stop, state)
        };
        let lengths = [12; 6].into_iter().chain([8, 12, 12, 24, 12, 12]);
        let mut at = 0;
        let each: Vec<usize> = lengths.map(|length| (at, at += length).0 + length).collect();
        assert_eq!(each.last(), Some(&bytes));
        for last in [6, 0xff_ffff, 0x100_0004, 0x200_0003, 0x200_000b, 1 << 27, 1 << 40] {
            assert_eq!(horizon(last, &each), horizon(last, &[bytes]), "horizon {last:x}");
        }
        let (stop, state) = horizon(1 << 40, &[bytes]);
        assert_eq!((stop, state.at, state.content_until), (Stop::Limit, bytes, bytes - 3));
        assert_eq!((state.events, state.cycles), (12, (1 << 27) + 2));
        let (stop, state) = horizon(1 << 40, &[bytes - 4]);
        assert_eq!((stop, state.events), (OVERLONG, 11), "the last one is cut");
        let (stop, state) = horizon(0xff_ffff, &[bytes]);
        assert_eq!((stop, state.events), (FUTURE, 3));
    }

    #[test]
    fn hole_stops_the_walk_with_its_length_and_owner() {
        let words = [compact(1), 0, 254 | 8 << 8, 4711, compact(2), 0];
        let (stop, state) = run(&words, 24, 0);
        assert_eq!((stop, state.at), (Stop::Hole { bytes: 8, tid: 4711 }, 8));
    }

    #[test]
    fn damage_is_named_and_never_followed() {
        let damaged = |words: &[u32]| {
            let (stop, _) = run(words, words.len() * 4, 100);
            matches!(stop, Stop::Damaged { .. })
        };
        assert!(damaged(&[254 | 4 << 8, 0]), "a hole too short for its owner");
        assert!(damaged(&[254 | 400 << 8, 0]), "a hole beyond the packet");
        assert!(damaged(&[254 | 9 << 8, 0, 0, 0]), "a hole that ends between words");
        assert!(damaged(&[compact(101), 0x6161_6161]), "a text without its end");
        assert!(damaged(&[253, EVENT, 0]), "half an extended header");
        assert!(damaged(&[253, EVENT, 0, 0x7fff_ffff, 0]), "a time in the future");
        assert!(damaged(&[1, 0, 0]), "half a thread record");
        assert!(damaged(&[7 << 8]), "a header without an identifier");
        assert_eq!(run(&[253, EVENT, 99, 0, 0], 20, 100).0, Stop::Backward);
        assert_eq!(run(&[200], 4, 0).0, Stop::Unknown { id: 200 });
        assert_eq!(run(&[0], 4, 0).0, Stop::Empty);
        assert_eq!(run(&[255 | 77 << 8], 4, 0).0, Stop::End { closer: 77 });
    }

    #[test]
    fn walk_ends_on_any_bytes() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let words: Vec<u32> =
                (0..32).map(|_| if random.u8(..4) == 0 { EVENT } else { random.u32(..) }).collect();
            let (_, state) = run(&words, 128, random.u64(..4096));
            assert!(state.at <= 128 && state.content_until <= 128);
        }
    }

    #[test]
    fn thread_records_name_the_writer_and_are_no_events_for_people() {
        let mut words = vec![253, 1, 50, 0, 11, 12];
        words.extend([u32::from_ne_bytes(*b"main"), 0, 0, 0]);
        words.extend([compact(60), 0]);
        let (stop, state) = run(&words, words.len() * 4, 0);
        let mut name = [0; 16];
        name[..4].copy_from_slice(b"main");
        assert_eq!(stop, Stop::Limit);
        assert_eq!(state.thread, Some(Thread { pid: 11, tid: 12, name }));
        assert_eq!(state.events, 1);
    }
}
