// SPDX-License-Identifier: MIT
//! The walk from the end of a span to its beginning, along what the end had to wait for.
//!
//! Place in the flow: `critical` asks for the path of a thread over a span. While the thread ran or
//! waited for a CPU, the path is its own. Where it was blocked and another thread woke it, the path
//! during that time is the waker's, found in the same way; then the thread's own goes on. So the
//! segments lie side by side and add up to the span.

use state::{About, PairIndex, Place, Source, ThreadIndex, Waker};
use trace::Ns;

use super::edges::{Edges, Line, Stay};
use crate::analyses::since;

/// Wakers of wakers that are followed.
const DEPTH_MAX: u32 = 64;
/// Segments of a path; the rest of its time is told as one.
pub(super) const SEGMENTS_MAX: usize = 1 << 18;

/// What the path is at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum What {
    Running,
    WaitingForCpu,
    /// By a thread that is not followed further, or by something of which no event tells.
    Blocked,
    Device,
    Network,
    Timer,
    Interrupt,
    /// In no wait that the trace tells of; whether it is on a CPU, no event says.
    Active,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    pub begin: Ns,
    pub end: Ns,
    pub what: What,
    pub thread: ThreadIndex,
    pub by: Option<Waker>,
    pub call: Option<PairIndex>,
    pub about: About,
    /// How many waits lie between the thread and the one that was asked for.
    pub depth: u32,
}

/// The path of a thread over a span, in the order of time.
pub(super) fn path(edges: &Edges, thread: ThreadIndex, begin: Ns, end: Ns) -> Vec<Segment> {
    let mut walk = Walk { edges, found: Vec::new() };
    walk.back(thread, (begin, end), 0);
    walk.found.reverse();
    walk.found
}

struct Walk<'a> {
    edges: &'a Edges,
    /// The latest first.
    found: Vec<Segment>,
}

impl Walk<'_> {
    /// Adds the path from `end` back to `begin`. Recursion is bounded by `DEPTH_MAX`; each round
    /// goes back in time.
    fn back(&mut self, thread: ThreadIndex, (begin, end): (Ns, Ns), depth: u32) {
        let mut at = end;
        while at > begin {
            if self.found.len() >= SEGMENTS_MAX {
                return self.add(Segment::of(What::Unknown, thread, (begin, at), depth));
            }
            let from = match self.edges.of(thread) {
                Some(line) => self.step(line, thread, (begin, at), depth),
                None => {
                    self.add(Segment::of(What::Unknown, thread, (begin, at), depth));
                    begin
                }
            };
            at = from.max(begin);
        }
    }

    /// Adds what a thread did until `at`. Return: from when on.
    fn step(&mut self, line: &Line, thread: ThreadIndex, (begin, at): (Ns, Ns), depth: u32) -> Ns {
        let known = line.stays.partition_point(|stay| stay.since < at);
        let Some(index) = known.checked_sub(1) else {
            return self.before_the_first(line, thread, (begin, at), depth);
        };
        let Some(stay) = line.stays.get(index) else { return begin };
        let from = stay.since.max(begin);
        let segment = |what| Segment::of(what, thread, (from, at), depth);
        match stay.place {
            Place::Running(_) => self.add(segment(What::Running)),
            Place::Waiting => self.add(segment(What::WaitingForCpu)),
            Place::Off(_) => {
                let next = line.stays.get(index + 1).filter(|next| next.since == at);
                self.blocked(thread, stay, next.and_then(|next| next.waker), (from, at), depth);
            }
            Place::Over => self.add(segment(What::Unknown)),
            Place::Unknown => return self.unscheduled(line, thread, (from, at), depth),
        }
        from
    }

    fn blocked(
        &mut self,
        thread: ThreadIndex,
        stay: &Stay,
        waker: Option<Waker>,
        span: (Ns, Ns),
        depth: u32,
    ) {
        let what = match waker {
            Some(Waker::Thread(by)) if by != thread && depth < DEPTH_MAX => {
                return self.back(by, span, depth + 1);
            }
            Some(Waker::Interrupt { source: Source::Device, .. }) => What::Device,
            Some(Waker::Interrupt { source: Source::Network, .. }) => What::Network,
            Some(Waker::Interrupt { source: Source::Timer, .. }) => What::Timer,
            Some(Waker::Interrupt { source: Source::Other, .. }) => What::Interrupt,
            Some(Waker::Thread(_) | Waker::Idle) | None => What::Blocked,
        };
        let segment = Segment::of(what, thread, span, depth);
        self.add(Segment { by: waker, call: stay.call, about: stay.about, ..segment });
    }

    /// A thread that another one made goes on in that one.
    fn before_the_first(
        &mut self,
        line: &Line,
        thread: ThreadIndex,
        (begin, at): (Ns, Ns),
        depth: u32,
    ) -> Ns {
        let first = line.stays.first().filter(|first| first.since == at);
        if let Some(Waker::Thread(by)) = first.and_then(|first| first.waker) {
            if by != thread && depth < DEPTH_MAX {
                self.back(by, (begin, at), depth + 1);
                return begin;
            }
        }
        self.unscheduled(line, thread, (begin, at), depth)
    }

    /// What a thread did of which the scheduler does not tell: its waits, if they are known.
    fn unscheduled(
        &mut self,
        line: &Line,
        thread: ThreadIndex,
        (begin, at): (Ns, Ns),
        depth: u32,
    ) -> Ns {
        let until = line.waits.partition_point(|wait| wait.end < at);
        if let Some(wait) = line.waits.get(until).filter(|wait| wait.begin < at) {
            let from = wait.begin.max(begin);
            match wait.by {
                Some(by) if by != thread && depth < DEPTH_MAX => {
                    self.back(by, (from, at), depth + 1);
                }
                by => {
                    let segment = Segment::of(What::Blocked, thread, (from, at), depth);
                    let (by, call) = (by.map(Waker::Thread), Some(wait.call));
                    self.add(Segment { by, call, about: wait.about, ..segment });
                }
            }
            return from;
        }
        let waited = until.checked_sub(1).and_then(|before| line.waits.get(before));
        let from = waited.map_or(begin, |wait| wait.end.max(begin));
        let Some((born, last)) = line.life else {
            self.add(Segment::of(What::Unknown, thread, (from, at), depth));
            return from;
        };
        // Between its first and its last event it was there.
        let (late, early) = (last.min(at).max(from), born.max(from).min(at));
        self.add(Segment::of(What::Unknown, thread, (late, at), depth));
        self.add(Segment::of(What::Active, thread, (early.min(late), late), depth));
        self.add(Segment::of(What::Unknown, thread, (from, early.min(late)), depth));
        from
    }

    fn add(&mut self, segment: Segment) {
        if segment.end <= segment.begin {
            return;
        }
        if let Some(later) = self.found.last_mut() {
            let as_long = Segment { begin: later.begin, end: later.end, ..segment };
            if later.begin == segment.end && *later == as_long {
                later.begin = segment.begin;
                return;
            }
        }
        self.found.push(segment);
    }
}

impl Segment {
    fn of(what: What, thread: ThreadIndex, (begin, end): (Ns, Ns), depth: u32) -> Self {
        let (by, call, about) = (None, None, About::Nothing);
        Self { begin, end, what, thread, by, call, about, depth }
    }

    pub fn ns(&self) -> u64 {
        since(self.begin, self.end)
    }
}

impl What {
    pub fn name(self) -> &'static str {
        match self {
            What::Running => "running",
            What::WaitingForCpu => "waiting for CPU",
            What::Blocked => "blocked",
            What::Device => "device",
            What::Network => "network",
            What::Timer => "timer",
            What::Interrupt => "interrupt",
            What::Active => "in no known wait",
            What::Unknown => "unknown",
        }
    }
}
