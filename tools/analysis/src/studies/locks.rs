// SPDX-License-Identifier: MIT
//! `locks`: which locks were waited for, who waited for whom and when, and circles of threads that
//! wait for each other.
//!
//! Place in the flow: the state joins waits and knows who held or let go. A lock that is
//! free is taken without an event, so the holder is known only where it had to wait itself, and
//! whoever let go only where unlocks were recorded.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use state::{event_name, Lock, Operation, Part, ThreadIndex};
use trace::Ns;

use super::{End, Moment, Start, Study};
use crate::analyses::since;
use crate::by_class::ByClass;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::names::Namer;
use crate::pending::Pending;
use crate::rows::Rows;
use crate::sheet::{number, text, Cell, Column, Sheet, Table};

/// Locks, and pairs of threads at a lock, that are told apart.
const LOCKS_MAX: usize = 1 << 12;
const MEETINGS_MAX: usize = 1 << 14;
/// Circles that are kept.
const CIRCLES_MAX: usize = 64;
/// Kernel locks that are waited for at once.
const KERNEL_WAITS_MAX: usize = 1 << 12;

const LOCKS: [Column; 11] = [
    text("kind", "kind", 0),
    text("name", "name", 1),
    text("address", "address", 0),
    text("process", "in", 1),
    number("waits", "waits", 0),
    number("wait_ns", "total", 0),
    number("p50_ns", "p50", 3),
    number("p99_ns", "p99", 2),
    number("max_ns", "max", 0),
    number("max_at_ns", "when", 1),
    text("max_thread", "who", 1),
];

const MEETINGS: [Column; 10] = [
    text("kind", "kind", 0),
    text("name", "name", 1),
    text("address", "address", 0),
    text("waiter", "waited", 0),
    text("holder", "for", 0),
    text("told_by", "known from", 2),
    number("waits", "waits", 0),
    number("wait_ns", "total", 0),
    number("max_ns", "max", 1),
    number("max_at_ns", "when", 1),
];

const CIRCLES: [Column; 4] = [
    text("circle", "each waits for what the next holds", 0),
    number("threads", "threads", 1),
    number("count", "times", 0),
    number("first_ns", "first", 0),
];

/// Whom a wait was for, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Known {
    /// It let the lock go during the wait.
    Handed(ThreadIndex),
    /// It had waited for the lock and not let it go when the wait began.
    Held(ThreadIndex),
    /// It had waited for the lock; whether it had let it go when the wait began is not recorded.
    Last(ThreadIndex),
    Nobody,
}

#[derive(Debug, Default)]
struct Waits {
    durations: Distribution<2>,
    longest: Option<(u64, Ns, ThreadIndex)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Meeting {
    waits: u64,
    ns: u64,
    longest_ns: u64,
    longest_at: i64,
}

struct Locks<'t> {
    locks: Rows<Lock, Waits>,
    namer: Namer<'t>,
    /// What locks are called, of those that have a row.
    names: FxHashMap<Lock, Option<String>>,
    meetings: Rows<(Lock, ThreadIndex, Known), Meeting>,
    /// By the threads and locks, the smallest first.
    circles: BTreeMap<Vec<(ThreadIndex, Lock)>, (u64, Ns)>,
    circles_left_out: u64,
    /// Begin (`true`) and end of waits for locks of the kernel's, with the position of the address.
    kernel: ByClass<(bool, usize)>,
    kernel_waits: Pending<(ThreadIndex, u64), Ns>,
    kernel_locks: Rows<u64, Waits>,
}

pub(super) fn make<'t>(start: &Start<'t>) -> Result<Box<dyn Study + 't>, Error> {
    let kernel = ByClass::new(start.traces, |class| match event_name(class) {
        "lock:contention_begin" | "lock_contention_begin" => {
            Some((true, class.field_index("lock_addr")?))
        }
        "lock:contention_end" | "lock_contention_end" => {
            Some((false, class.field_index("lock_addr")?))
        }
        _ => None,
    });
    Ok(Box::new(Locks {
        locks: Rows::new(LOCKS_MAX),
        namer: start.namer(),
        names: FxHashMap::default(),
        meetings: Rows::new(MEETINGS_MAX),
        circles: BTreeMap::new(),
        circles_left_out: 0,
        kernel,
        kernel_waits: Pending::new(KERNEL_WAITS_MAX),
        kernel_locks: Rows::new(LOCKS_MAX),
    }))
}

impl Study for Locks<'_> {
    fn event(&mut self, moment: &Moment<'_>) {
        let (thread, at) = (moment.step.thread, moment.event.time_ns());
        if begins_to_wait(moment) {
            self.look_for_circle(moment, at);
        }
        self.kernel_event(moment);
        let Some(done) = moment.step.done else { return };
        let (Operation::Lock(kind), Some(begin)) = (done.operation, done.begin) else { return };
        let process = moment.state.threads().process_of(thread);
        let lock = Lock { process, kind, address: done.values.subject as u64 };
        let holder = done.waited_for;
        if !moment.is_taken {
            return;
        }
        let ns = since(begin, at);
        self.locks.row(lock).add(ns, begin, thread);
        if self.locks.get(&lock).is_some() {
            let of = (moment.state, process);
            let variable = || self.namer.variable(of, lock.address, at);
            self.names.entry(lock).or_insert_with(variable);
        }
        let known = None
            .or(holder.handed_by.map(Known::Handed))
            .or(holder.held_by.map(Known::Held))
            .or(holder.last_got_by.map(Known::Last))
            .unwrap_or(Known::Nobody);
        let meeting = self.meetings.row((lock, thread, known));
        meeting.waits += 1;
        meeting.ns = meeting.ns.saturating_add(ns);
        if ns > meeting.longest_ns || meeting.waits == 1 {
            (meeting.longest_ns, meeting.longest_at) = (ns, begin.0);
        }
    }

    fn finish(&mut self, end: &End<'_>) -> Sheet {
        let tables = vec![self.locks(end), self.meetings(end), self.circles(end)];
        let mut notes = vec![
            "A lock that is free is taken without an event: whom a wait was for is known where an \
             unlock was recorded during it (`lull record -e mutex:unlock`). Otherwise the thread \
             is told that had waited for the lock and got it last; it may have let it go since."
                .to_string(),
        ];
        notes.extend(self.namer.notes());
        let left_out = end.state.locks().left_out();
        if left_out > 0 {
            notes.push(format!("Of {left_out} waits the holders found no room to be followed."));
        }
        if self.circles_left_out > 0 {
            notes.push(format!("{} further circles have no row.", self.circles_left_out));
        }
        Sheet { tables, notes, ..Sheet::default() }
    }
}

/// Whether an event is the begin of a wait for a lock.
fn begins_to_wait(moment: &Moment<'_>) -> bool {
    let Part::Entry(pair) = moment.step.part else { return false };
    let pair = moment.state.classes().pair(pair);
    pair.is_some_and(|pair| matches!(pair.operation, Operation::Lock(_)))
}

impl Locks<'_> {
    /// The variable that a lock is, as where it was allocated it has none.
    fn name(&self, lock: Lock) -> Cell {
        self.names.get(&lock).and_then(Option::as_ref).map_or(Cell::None, Cell::text)
    }

    fn look_for_circle(&mut self, moment: &Moment<'_>, at: Ns) {
        let mut circle = moment.state.circle(moment.step.thread);
        let Some(first) = (0..circle.len()).min_by_key(|index| circle[*index]) else { return };
        circle.rotate_left(first);
        if let Some((count, _)) = self.circles.get_mut(&circle) {
            *count += 1;
        } else if self.circles.len() < CIRCLES_MAX {
            self.circles.insert(circle, (1, at));
        } else {
            self.circles_left_out += 1;
        }
    }

    fn kernel_event(&mut self, moment: &Moment<'_>) {
        let Some((is_begin, field)) = self.kernel.get(moment.event) else { return };
        let address = moment.event.value(*field).and_then(|value| value.as_u64());
        let (Some(address), at) = (address, moment.event.time_ns()) else { return };
        let thread = moment.step.thread;
        if *is_begin {
            self.kernel_waits.begin((thread, address), at);
        } else if let Some(begin) = self.kernel_waits.end(&(thread, address)) {
            if moment.is_taken {
                self.kernel_locks.row(address).add(since(begin, at), begin, thread);
            }
        }
    }

    fn locks(&self, end: &End<'_>) -> Table {
        let users = self.locks.iter().map(|(lock, waits)| {
            let name = lock.map_or_else(others, |lock| {
                let process = end.state.threads().process_label(lock.process, end.state.texts());
                [kind(lock), self.name(lock), address(lock.address), Cell::Text(process)]
            });
            (name, waits)
        });
        let kernels = self.kernel_locks.iter().map(|(lock, waits)| {
            let name = lock.map_or_else(others, |lock| {
                [Cell::text("kernel"), Cell::None, address(lock), Cell::None]
            });
            (name, waits)
        });
        let mut rows: Vec<_> =
            users.chain(kernels).filter(|(_, waits)| waits.durations.count() > 0).collect();
        rows.sort_by_key(|(_, waits)| Reverse(waits.durations.report().total_ns));
        let row = |(name, waits): ([Cell; 4], &Waits)| {
            let report = waits.durations.report();
            let label = |thread| Cell::text(end.state.threads().label(thread));
            let numbers = [
                Cell::Count(report.count),
                Cell::Ns(report.total_ns),
                Cell::Ns(report.p50_ns),
                Cell::Ns(report.p99_ns),
                Cell::Ns(report.max_ns),
                waits.longest.map_or(Cell::None, |(_, at, _)| Cell::At(at.0)),
                waits.longest.map_or(Cell::None, |(_, _, thread)| label(thread)),
            ];
            name.into_iter().chain(numbers).collect()
        };
        Table {
            key: "locks",
            title: "Waits for locks and conditions",
            when_empty: "The trace has no finished waits for locks.",
            columns: &LOCKS,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn meetings(&self, end: &End<'_>) -> Table {
        let mut rows: Vec<_> = self.meetings.iter().filter(|(_, m)| m.waits > 0).collect();
        rows.sort_by_key(|(key, meeting)| (Reverse(meeting.ns), *key));
        let label = |thread| Cell::text(end.state.threads().label(thread));
        let row = |(key, meeting): (Option<(Lock, ThreadIndex, Known)>, &Meeting)| {
            let mut cells = match key {
                None => others::<6>().into(),
                Some((lock, waiter, known)) => {
                    let (holder, told_by) = match known {
                        Known::Handed(by) => (label(by), Cell::text("let it go")),
                        Known::Held(by) => (label(by), Cell::text("held it")),
                        Known::Last(by) => (label(by), Cell::text("got it last")),
                        Known::Nobody => (Cell::None, Cell::None),
                    };
                    let (name, address) = (self.name(lock), address(lock.address));
                    vec![kind(lock), name, address, label(waiter), holder, told_by]
                }
            };
            cells.extend([
                Cell::Count(meeting.waits),
                Cell::Ns(meeting.ns),
                Cell::Ns(meeting.longest_ns),
                Cell::At(meeting.longest_at),
            ]);
            cells
        };
        Table {
            key: "meetings",
            title: "Who waited for whom",
            when_empty: "",
            columns: &MEETINGS,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn circles(&self, end: &End<'_>) -> Table {
        let mut rows: Vec<_> = self.circles.iter().collect();
        rows.sort_by_key(|(_, (_, first))| *first);
        let row = |(circle, (count, first)): (&Vec<(ThreadIndex, Lock)>, &(u64, Ns))| {
            let part = |(thread, lock): &(ThreadIndex, Lock)| {
                let thread = end.state.threads().label(*thread);
                match self.names.get(lock) {
                    Some(Some(name)) => format!("{thread} for {} {name}", lock.kind.name()),
                    _ => format!("{thread} for {} {:#x}", lock.kind.name(), lock.address),
                }
            };
            let parts: Vec<String> = circle.iter().map(part).collect();
            vec![
                Cell::Text(parts.join(", ")),
                Cell::Count(circle.len() as u64),
                Cell::Count(*count),
                Cell::At(first.0),
            ]
        };
        Table {
            key: "circles",
            title: "Circles of threads that waited for each other",
            when_empty: "",
            columns: &CIRCLES,
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

/// The cells of a row that stands for all that found no room.
fn others<const CELLS: usize>() -> [Cell; CELLS] {
    std::array::from_fn(|column| if column == 0 { Cell::Others } else { Cell::None })
}

fn kind(lock: Lock) -> Cell {
    Cell::text(lock.kind.name())
}

/// Hexadecimal; a JSON number would lose digits.
fn address(address: u64) -> Cell {
    Cell::Text(format!("{address:#x}"))
}

impl Waits {
    fn add(&mut self, ns: u64, begin: Ns, thread: ThreadIndex) {
        self.durations.record(ns);
        if self.longest.is_none_or(|(longest, ..)| ns > longest) {
            self.longest = Some((ns, begin, thread));
        }
    }
}
