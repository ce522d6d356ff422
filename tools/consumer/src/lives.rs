// SPDX-License-Identifier: MIT
//! The lives of recorded processes: which programs they started that never recorded anything.
//!
//! Place in the flow: `walk` hands over the events that tell of starts, executions, forks and
//! ends; the verdict names the programs whose start is not among them. Rings are read one after
//! the other, so the events are kept for a while and taken in the order of time.
//!
//! An execution, or a spawn that gave a process number, is missed until the process says that it
//! started, that the execution failed, or records anything else. A forked child that records
//! nothing is not missed: it shares its parent's sites, so there was nothing to record. Nor is a
//! program that a process executes which ran already when it joined: its environment has no
//! session. Events are anyone's claims: what is kept of them is bounded, and a claim is repeated,
//! not acted on.

use crate::dumps::Part;
use crate::events::{fixed_bytes, Event};
use crate::view::View;
use crate::walk::Thread;
use session::description::FieldKind;
use std::collections::HashMap;

/// Events that wait to be taken in order.
const PENDING_MAX: usize = 1 << 14;
/// Processes, and calls of spawn, that are watched at a time.
const WATCHED_MAX: usize = 1 << 15;
/// Ended processes remembered to know their number again.
const ENDED_MAX: usize = 1 << 17;
/// Absent processes that are listed; more are counted.
const ABSENT_MAX: usize = 100;
/// A path is kept up to here.
const PATH_BYTES: usize = 512;

/// What an event says of its process's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Of the kernel's dump of its state, not of a process: `dumps` takes these.
    Dump(Part),
    Start,
    /// A process that ran already has joined.
    Join,
    Forked,
    /// The recorder knows of a program that is about to run; no event says it.
    Expected,
    ExecEntry,
    ExecExit,
    SpawnEntry,
    SpawnExit,
    Exit,
}

impl Sign {
    /// By the event's name. `session::pattern` keeps these events enabled.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "process:start" => Self::Start,
            "process:join" => Self::Join,
            "process:forked" => Self::Forked,
            "process:exec_entry" => Self::ExecEntry,
            "process:exec_exit" => Self::ExecExit,
            "process:spawn_entry" => Self::SpawnEntry,
            "process:spawn_exit" => Self::SpawnExit,
            "process:exit" | "process:quick_exit" => Self::Exit,
            _ => return Part::of(name).map(Self::Dump),
        })
    }
}

/// A process that was started and never recorded anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// 0 where it is not known.
    pub pid: u32,
    /// The path that the starting process gave; empty where that is not known.
    pub path: String,
    /// What liblull found, when the program was started, of whether it can be recorded: the field
    /// `recorded`, 0 where that is not known.
    pub recorded: u32,
}

/// An event, read.
#[derive(Debug)]
struct Moment {
    cycles: u64,
    pid: u32,
    tid: u32,
    sign: Sign,
    path: Option<Box<str>>,
    recorded: u32,
    /// The child of a spawn that succeeded, 0 where its number is not known; or the parent of a
    /// forked process.
    other: Option<u32>,
}

/// A program that has to start before it is not missed.
#[derive(Debug)]
struct Missed {
    path: Box<str>,
    recorded: u32,
    since_cycles: u64,
    /// The thread whose later events prove that the process goes on recorded.
    tid: u32,
}

#[derive(Debug, Default)]
struct Life {
    missed: Option<Missed>,
    started_cycles: Option<u64>,
    /// It ran already when it joined, or when a process did that forked it.
    ran_before: bool,
}

#[derive(Debug, Default)]
pub struct Lives {
    pending: Vec<Moment>,
    lives: HashMap<u32, Life>,
    /// Calls of spawn that have not returned, by process and thread.
    spawns: HashMap<(u32, u32), Missed>,
    /// When processes ended.
    ended: HashMap<u32, u64>,
    absent: Vec<Absent>,
    absent_more: u64,
    /// Starts of processes that could not be watched.
    unwatched_count: u64,
    /// Starts by processes whose number is 0: liblull does not know which process they are.
    unnumbered_count: u64,
    /// Process numbers that were given out again.
    pub reused_count: u64,
}

impl Lives {
    /// A program is about to run, started by the recorder.
    pub fn expect(&mut self, pid: u32, path: &str, cycles: u64) {
        let sign = Sign::Expected;
        let path = Some(cut(path));
        self.add(Moment { cycles, pid, tid: pid, sign, path, recorded: 0, other: None });
    }

    /// Takes an event with a sign: its payload is the bytes `at..until` of `view`.
    pub fn note(
        &mut self,
        (view, at, until): (View, usize, usize),
        event: &Event,
        thread: &Thread,
        cycles: u64,
    ) {
        let Some(sign) = event.sign else { return };
        let field = |name| field(view, (at, until), event, name);
        let number = |name| match field(name) {
            Some(Field::Number(number)) => u32::try_from(number).ok(),
            _ => None,
        };
        let path = match (sign, field("path")) {
            (Sign::ExecEntry | Sign::SpawnEntry, Some(Field::Text(text))) => Some(text),
            _ => None,
        };
        let recorded = number("recorded").unwrap_or(0);
        let other = match sign {
            Sign::SpawnExit if number("result") == Some(0) => number("child_pid"),
            Sign::Forked => number("parent_pid").filter(|pid| *pid != 0),
            _ => None,
        };
        let Thread { pid, tid, .. } = *thread;
        self.add(Moment { cycles, pid, tid, sign, path, recorded, other });
    }

    fn add(&mut self, moment: Moment) {
        self.pending.push(moment);
        if self.pending.len() >= PENDING_MAX {
            self.settle(PENDING_MAX / 2);
        }
    }

    /// Takes the oldest events.
    fn settle(&mut self, count: usize) {
        self.pending.sort_by_key(|moment| moment.cycles);
        let rest = self.pending.split_off(count);
        for moment in std::mem::replace(&mut self.pending, rest) {
            self.take(moment);
        }
    }

    fn take(&mut self, moment: Moment) {
        let Moment { cycles, pid, tid, sign, path, recorded, other } = moment;
        if pid == 0 {
            // The program that it executes starts under a number that nothing here leads to.
            let is_start = matches!(sign, Sign::ExecEntry | Sign::SpawnEntry);
            self.unnumbered_count += u64::from(is_start);
            return;
        }
        let missed = |path: Option<Box<str>>, tid| Missed {
            path: path.unwrap_or_default(),
            recorded,
            since_cycles: cycles,
            tid,
        };
        match sign {
            Sign::Start => {
                self.reused_count += u64::from(self.ended.remove(&pid).is_some());
                if let Some(life) = self.life(pid) {
                    *life = Life { started_cycles: Some(cycles), ..Life::default() };
                }
            }
            Sign::Join => {
                if let Some(life) = self.life(pid) {
                    life.ran_before = life.started_cycles.is_none();
                }
            }
            Sign::Forked => {
                let before = self.lives.remove(&pid);
                let has_ended = self.ended.remove(&pid).is_some();
                self.reused_count += u64::from(before.is_some() || has_ended);
                self.lose(pid, before.and_then(|life| life.missed));
                let ran_before = other.is_some_and(|parent| self.ran_before(parent));
                if let Some(life) = self.life(pid) {
                    life.ran_before = ran_before;
                }
            }
            Sign::ExecEntry | Sign::SpawnEntry if self.ran_before(pid) => {}
            Sign::Expected | Sign::ExecEntry => {
                let missed = missed(path, tid);
                if let Some(life) = self.life(pid) {
                    // An event that came late, after the start that follows it.
                    let is_late = life.started_cycles.is_some_and(|at| at > cycles);
                    life.missed = Some(missed).filter(|_| !is_late);
                }
            }
            Sign::ExecExit => {
                if let Some(life) = self.lives.get_mut(&pid) {
                    life.missed = None;
                }
            }
            Sign::SpawnEntry if self.spawns.len() < WATCHED_MAX => {
                drop(self.spawns.insert((pid, tid), missed(path, tid)));
            }
            Sign::SpawnEntry => self.unwatched_count += 1,
            Sign::SpawnExit => {
                let spawn = self.spawns.remove(&(pid, tid));
                let (Some(spawn), Some(child)) = (spawn, other) else { return };
                self.spawned(child, Missed { tid: child, ..spawn });
            }
            Sign::Exit => {
                self.lives.remove(&pid);
                if self.ended.len() < ENDED_MAX {
                    self.ended.insert(pid, cycles);
                }
            }
            Sign::Dump(_) => {}
        }
    }

    fn ran_before(&self, pid: u32) -> bool {
        self.lives.get(&pid).is_some_and(|life| life.ran_before)
    }

    /// A spawn has returned. Its child may have started already, and ended.
    fn spawned(&mut self, child: u32, spawn: Missed) {
        if child == 0 {
            // A shell of the C library's: the process that started it knew that it is missed.
            return self.lose(child, Some(spawn));
        }
        if self.ended.get(&child).is_some_and(|at| *at > spawn.since_cycles) {
            return;
        }
        let Some(life) = self.life(child) else { return };
        if life.started_cycles.is_none_or(|at| at < spawn.since_cycles) {
            let before = life.missed.replace(spawn);
            self.lose(child, before);
        }
    }

    fn life(&mut self, pid: u32) -> Option<&mut Life> {
        if !self.lives.contains_key(&pid) && self.lives.len() >= WATCHED_MAX {
            self.unwatched_count += 1;
            return None;
        }
        Some(self.lives.entry(pid).or_default())
    }

    fn lose(&mut self, pid: u32, missed: Option<Missed>) {
        let Some(Missed { path, recorded, .. }) = missed else { return };
        if self.absent.len() < ABSENT_MAX {
            self.absent.push(Absent { pid, path: path.into(), recorded });
        } else {
            self.absent_more += 1;
        }
    }

    /// How many starts were not watched, because too many processes lived at a time.
    pub fn unwatched_count(&self) -> u64 {
        self.unwatched_count
    }

    /// How many starts were not watched, because the process that made them has no number.
    pub fn unnumbered_count(&self) -> u64 {
        self.unnumbered_count
    }

    /// Ends the watch: processes that are still missed, and how many more there are.
    /// `active_cycles` tells when a process and thread wrote their last event.
    pub fn absent(
        &mut self,
        active_cycles: impl Fn(u32, u32) -> Option<u64>,
    ) -> (Vec<Absent>, u64) {
        self.settle(self.pending.len());
        let mut missed: Vec<(u32, Missed)> = std::mem::take(&mut self.lives)
            .into_iter()
            .filter_map(|(pid, life)| Some((pid, life.missed?)))
            .collect();
        missed.retain(|(pid, missed)| {
            active_cycles(*pid, missed.tid).is_none_or(|at| at <= missed.since_cycles)
        });
        missed.sort_by_key(|(pid, missed)| (missed.since_cycles, *pid));
        for (pid, missed) in missed {
            self.lose(pid, Some(missed));
        }
        (std::mem::take(&mut self.absent), std::mem::take(&mut self.absent_more))
    }
}

/// What a field of an event holds.
pub enum Field {
    Number(u64),
    Text(Box<str>),
}

/// A field of an event, if it has one of that name that is a text or has 1, 4 or 8 bytes.
pub(crate) fn field(
    view: View,
    (at, until): (usize, usize),
    event: &Event,
    name: &str,
) -> Option<Field> {
    let mut at = at;
    let context = event.context.iter().map(|field| (field, true));
    let own = event.description.fields.iter().map(|field| (field, false));
    for (field, is_context) in context.chain(own) {
        let bytes = match (fixed_bytes(&field.kind), &field.kind) {
            (Some(bytes), _) => bytes,
            (None, FieldKind::Text) => view.text_bytes(at, until)? + 1,
            (None, FieldKind::Addresses) => {
                let count = view.bytes(at).map(u32::from_ne_bytes)? as usize;
                count.checked_mul(8)?.checked_add(4)?
            }
            // None of the events with a sign has another sequence.
            _ => return None,
        };
        let end = at.checked_add(bytes).filter(|end| *end <= until)?;
        if field.name == name && !is_context {
            return match field.kind {
                FieldKind::Text => Some(Field::Text(text(view, at, bytes - 1)?)),
                _ => number(view, at, bytes).map(Field::Number),
            };
        }
        at = end;
    }
    None
}

fn number(view: View, at: usize, bytes: usize) -> Option<u64> {
    match bytes {
        1 => view.bytes(at).map(|[byte]| byte.into()),
        4 => view.bytes(at).map(|bytes| u32::from_ne_bytes(bytes).into()),
        8 => view.bytes(at).map(u64::from_ne_bytes),
        _ => None,
    }
}

/// The text at `at`, as far as it is kept. Each byte is fetched once.
fn text(view: View, at: usize, length: usize) -> Option<Box<str>> {
    let mut bytes = Vec::with_capacity(length.min(PATH_BYTES));
    for index in 0..length.min(PATH_BYTES) {
        let [byte] = view.bytes(at + index)?;
        bytes.push(byte);
    }
    Some(String::from_utf8_lossy(&bytes).into())
}

fn cut(path: &str) -> Box<str> {
    String::from_utf8_lossy(&path.as_bytes()[..path.len().min(PATH_BYTES)]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(cycles: u64, pid: u32, sign: Sign) -> Moment {
        let path = matches!(sign, Sign::ExecEntry | Sign::SpawnEntry).then(|| "/p".into());
        Moment { cycles, pid, tid: pid, sign, path, recorded: 0, other: None }
    }

    fn spawned(cycles: u64, pid: u32, child: u32) -> Moment {
        Moment { other: Some(child), ..moment(cycles, pid, Sign::SpawnExit) }
    }

    /// The processes that are missed after these events, in whatever order they are met.
    fn missed(moments: &[fn() -> Moment]) -> Vec<u32> {
        let forward = pids(moments.iter().map(|moment| moment()));
        let backward = pids(moments.iter().rev().map(|moment| moment()));
        assert_eq!(forward, backward, "the order of reading is not that of time");
        forward
    }

    fn pids(moments: impl Iterator<Item = Moment>) -> Vec<u32> {
        let mut lives = Lives::default();
        moments.for_each(|moment| lives.add(moment));
        let (absent, more) = lives.absent(|_, _| None);
        assert_eq!(more, 0);
        absent.into_iter().map(|process| process.pid).collect()
    }

    #[test]
    fn execution_is_missed_until_it_starts_or_fails() {
        assert_eq!(missed(&[|| moment(1, 7, Sign::ExecEntry)]), [7]);
        assert!(
            missed(&[|| moment(1, 7, Sign::ExecEntry), || moment(2, 7, Sign::Start)]).is_empty()
        );
        let failed: [fn() -> Moment; 2] =
            [|| moment(1, 7, Sign::ExecEntry), || moment(2, 7, Sign::ExecExit)];
        assert!(missed(&failed).is_empty());
        let again: [fn() -> Moment; 4] = [
            || moment(1, 7, Sign::Start),
            || moment(2, 7, Sign::ExecEntry),
            || moment(3, 7, Sign::Start),
            || moment(4, 7, Sign::ExecEntry),
        ];
        assert_eq!(missed(&again), [7]);
    }

    #[test]
    fn spawned_child_may_start_before_and_after_the_call_returns() {
        assert_eq!(missed(&[|| moment(1, 7, Sign::SpawnEntry), || spawned(3, 7, 8)]), [8]);
        assert_eq!(missed(&[|| moment(1, 7, Sign::SpawnEntry), || spawned(3, 7, 0)]), [0]);
        let early: [fn() -> Moment; 3] =
            [|| moment(1, 7, Sign::SpawnEntry), || moment(2, 8, Sign::Start), || spawned(3, 7, 8)];
        assert!(missed(&early).is_empty());
        let over: [fn() -> Moment; 4] = [
            || moment(1, 7, Sign::SpawnEntry),
            || moment(2, 8, Sign::Start),
            || moment(3, 8, Sign::Exit),
            || spawned(4, 7, 8),
        ];
        assert!(missed(&over).is_empty());
        let late: [fn() -> Moment; 3] =
            [|| moment(1, 7, Sign::SpawnEntry), || spawned(2, 7, 8), || moment(3, 8, Sign::Start)];
        assert!(missed(&late).is_empty());
        let failed: [fn() -> Moment; 2] =
            [|| moment(1, 7, Sign::SpawnEntry), || moment(2, 7, Sign::SpawnExit)];
        assert!(missed(&failed).is_empty());
    }

    #[test]
    fn forked_child_is_not_missed_and_begins_a_life_of_its_own() {
        assert!(missed(&[|| moment(1, 7, Sign::Forked)]).is_empty());
        let reused: [fn() -> Moment; 4] = [
            || moment(1, 7, Sign::Forked),
            || moment(2, 7, Sign::ExecEntry),
            || moment(3, 7, Sign::Forked),
            || moment(4, 7, Sign::Exit),
        ];
        assert_eq!(missed(&reused), [7]);
        let mut lives = Lives::default();
        reused.iter().for_each(|moment| lives.add(moment()));
        lives.absent(|_, _| None);
        assert_eq!(lives.reused_count, 1);
    }

    #[test]
    fn programs_of_a_process_that_ran_before_it_joined_are_not_missed() {
        let of_its_child: [fn() -> Moment; 3] = [
            || moment(1, 7, Sign::Join),
            || Moment { other: Some(7), ..moment(2, 8, Sign::Forked) },
            || moment(3, 8, Sign::ExecEntry),
        ];
        assert!(missed(&of_its_child).is_empty());
        let spawn: [fn() -> Moment; 3] =
            [|| moment(1, 7, Sign::Join), || moment(2, 7, Sign::SpawnEntry), || spawned(3, 7, 8)];
        assert!(missed(&spawn).is_empty());
        let of_the_session: [fn() -> Moment; 3] = [
            || moment(1, 7, Sign::Start),
            || moment(2, 7, Sign::Join),
            || moment(3, 7, Sign::ExecEntry),
        ];
        assert_eq!(missed(&of_the_session), [7], "its environment has the session");
        let expected: [fn() -> Moment; 2] =
            [|| moment(1, 7, Sign::Join), || moment(2, 7, Sign::Expected)];
        assert_eq!(missed(&expected), [7]);
    }

    #[test]
    fn starts_by_a_process_without_a_number_are_counted_and_not_missed() {
        let mut lives = Lives::default();
        let signs = [Sign::ExecEntry, Sign::ExecExit, Sign::SpawnEntry, Sign::SpawnExit];
        for (cycles, sign) in signs.into_iter().enumerate() {
            lives.add(Moment { other: Some(8), ..moment(cycles as u64, 0, sign) });
        }
        lives.add(moment(9, 0, Sign::ExecEntry));
        assert_eq!(lives.absent(|_, _| None), (Vec::new(), 0));
        assert_eq!((lives.unnumbered_count(), lives.unwatched_count()), (3, 0));
    }

    #[test]
    fn process_that_records_after_an_execution_is_not_missed_though_its_start_was_lost() {
        for (active_cycles, count) in [(9, 1), (10, 1), (11, 0)] {
            let mut lives = Lives::default();
            lives.expect(7, "/p", 10);
            assert_eq!(lives.absent(|_, _| Some(active_cycles)).0.len(), count);
        }
    }

    #[test]
    fn memory_is_bounded_and_what_was_not_watched_is_counted() {
        let mut lives = Lives::default();
        let count = WATCHED_MAX as u32 + 10;
        for pid in 1..=count {
            lives.add(moment(u64::from(pid), pid, Sign::ExecEntry));
            assert!(lives.pending.len() < PENDING_MAX && lives.lives.len() <= WATCHED_MAX);
        }
        let (absent, more) = lives.absent(|_, _| None);
        assert_eq!(absent.len(), ABSENT_MAX);
        assert_eq!(more as usize, WATCHED_MAX - ABSENT_MAX);
        assert_eq!(lives.unwatched_count(), 10);
    }

    #[test]
    fn fields_are_found_by_name_whatever_a_program_describes() {
        use session::description::Description;
        let mut events = crate::events::Events::default();
        let text = b"process:spawn_exit\n6\nf:1\nstr odd\ni32 child_pid\ni32 result\nbytes rest\n";
        events.add(9, Description::parse(text).unwrap());
        let event = events.get(9).unwrap();
        let words = [u32::from_ne_bytes(*b"abc\0"), 8, 0, 0];
        // SAFETY: the words outlive the view.
        let view = unsafe { View::new(words.as_ptr().cast(), 16) };
        let number = |name, until| match field(view, (0, until), event, name) {
            Some(Field::Number(number)) => Some(number),
            _ => None,
        };
        assert_eq!((number("child_pid", 16), number("result", 16)), (Some(8), Some(0)));
        assert_eq!(
            (number("child_pid", 7), number("rest", 16), number("no", 16)),
            (None, None, None)
        );
        assert!(
            matches!(field(view, (0, 16), event, "odd"), Some(Field::Text(text)) if &*text == "abc")
        );
    }

    #[test]
    fn fields_stand_behind_the_context_that_a_session_records() {
        use session::description::Description;
        let parse = |text: &[u8]| Description::parse(text).unwrap();
        let context = parse(b"lull:context\n6\n:\nu32 number\naptr kernel_stack\n");
        let mut events = crate::events::Events::with_context(context);
        events.add(9, parse(b"state:end\n6\nf:1\nu32 number\nbool is_whole\n"));
        let event = events.get(9).unwrap();
        let words = [7, 1, 0x11, 0x22, 5, 1];
        // SAFETY: the words outlive the view.
        let view = unsafe { View::new(words.as_ptr().cast::<u32>().cast(), 24) };
        let number = |name, until| match field(view, (0, until), event, name) {
            Some(Field::Number(number)) => Some(number),
            _ => None,
        };
        assert_eq!((number("number", 24), number("is_whole", 24)), (Some(5), Some(1)));
        assert_eq!((number("number", 16), number("kernel_stack", 24)), (None, None));
        assert!(event.sign.is_some());
    }
}
