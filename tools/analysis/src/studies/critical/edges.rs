// SPDX-License-Identifier: MIT
//! Where threads were, and what made them go on: the edges of the graph that the walk follows.
//!
//! Place in the flow: `critical` adds edges while the trace is read, `walk` follows them backwards.
//! Memory is bounded: when there are too many edges, the older half of the time is forgotten,
//! because the walk begins at the end.

use state::{About, PairIndex, Place, ThreadIndex, Waker};
use trace::Ns;

/// Edges of all threads together; each takes 64 bytes or so.
pub(super) const EDGES_MAX: usize = 1 << 22;
/// How often time is halved at once.
const HALVINGS_MAX: usize = 64;

/// A place of a thread, until the next one begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stay {
    pub place: Place,
    pub since: Ns,
    /// What brought the thread here, where that is a wake-up.
    pub waker: Option<Waker>,
    /// Of a thread that is off: the call that it is in, and what that is about.
    pub call: Option<PairIndex>,
    pub about: About,
}

/// A call that waits, for threads of which the scheduler does not tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub begin: Ns,
    pub end: Ns,
    pub call: PairIndex,
    pub about: About,
    pub by: Option<ThreadIndex>,
}

/// What is known of a thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub stays: Vec<Stay>,
    pub waits: Vec<Wait>,
    /// Its first and its last event.
    pub life: Option<(Ns, Ns)>,
}

#[derive(Debug, Default)]
pub(super) struct Edges {
    lines: Vec<Line>,
    count: usize,
    /// What ended before is forgotten.
    pub kept_from: Option<Ns>,
    begin: Option<Ns>,
}

impl Edges {
    /// A thread wrote an event.
    pub fn lives(&mut self, thread: ThreadIndex, at: Ns) {
        if let Some(line) = self.line(thread) {
            let first = line.life.map_or(at, |(first, _)| first);
            line.life = Some((first, at));
        }
    }

    fn line(&mut self, thread: ThreadIndex) -> Option<&mut Line> {
        if thread == ThreadIndex::OTHERS {
            return None;
        }
        let index = thread.0 as usize;
        if self.lines.len() <= index {
            self.lines.resize(index + 1, Line::default());
        }
        self.lines.get_mut(index)
    }

    pub fn of(&self, thread: ThreadIndex) -> Option<&Line> {
        self.lines.get(thread.0 as usize)
    }

    pub fn stays(&mut self, thread: ThreadIndex, stay: Stay) {
        self.makes_room(stay.since);
        let Some(line) = self.line(thread) else { return };
        line.stays.push(stay);
        self.count += 1;
    }

    pub fn waited(&mut self, thread: ThreadIndex, wait: Wait) {
        self.makes_room(wait.end);
        let Some(line) = self.line(thread) else { return };
        line.waits.push(wait);
        self.count += 1;
    }

    fn makes_room(&mut self, now: Ns) {
        let begin = *self.begin.get_or_insert(now);
        if self.count < EDGES_MAX {
            return;
        }
        let mut from = self.kept_from.unwrap_or(begin);
        for _ in 0..HALVINGS_MAX {
            from = Ns(from.0 + now.0.saturating_sub(from.0).max(2) / 2);
            self.forget(from);
            if self.count <= EDGES_MAX / 4 * 3 {
                break;
            }
        }
        self.kept_from = Some(from);
    }

    fn forget(&mut self, before: Ns) {
        self.count = 0;
        for line in &mut self.lines {
            // The last that began before is there at the time.
            let past = line.stays.partition_point(|stay| stay.since < before).saturating_sub(1);
            line.stays.drain(..past);
            let past = line.waits.partition_point(|wait| wait.end < before);
            line.waits.drain(..past);
            self.count += line.stays.len() + line.waits.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_edges_the_older_are_forgotten_and_that_is_known() {
        let mut edges = Edges::default();
        let thread = ThreadIndex(1);
        let end = (EDGES_MAX + 10) as i64;
        for at in 0..end {
            let (waker, call) = (None, None);
            let (since, about) = (Ns(at), About::Nothing);
            edges.stays(thread, Stay { place: Place::Waiting, since, waker, call, about });
        }
        let stays = &edges.of(thread).unwrap().stays;
        assert!(stays.len() <= EDGES_MAX && stays.len() > EDGES_MAX / 4, "{}", stays.len());
        assert_eq!(stays.last().unwrap().since, Ns(end - 1));
        let from = edges.kept_from.unwrap();
        assert!(stays[0].since < from && stays[1].since >= from);
    }
}
