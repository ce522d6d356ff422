// SPDX-License-Identifier: MIT
//! Where each thread is, as the scheduler's events tell: on a processor, waiting for one, or off.
//!
//! Place in the flow: `running` reads the scheduler's events and tells which thread goes, comes or
//! wakes up; here are the threads' places and how one follows from the other. A loss may have been
//! of any wake-up and of any switch of its processor, so that after it the place of every thread is
//! unknown that is not seen on another processor.

use serde::Serialize;
use trace::{CpuId, Ns};

use crate::classes::PairIndex;
use crate::threads::ThreadIndex;

/// Bits of a thread's state when it stops running that say why; without one it could go on.
const WHY_MASK: i64 = 0xff;
const UNINTERRUPTIBLE: i64 = 2;
const STOPPED: i64 = 4 | 8;
const DEAD: i64 = 0x10 | 0x20;
const OWN_MASK: i64 = 0x3ff;
const OWN_DEAD: i64 = DEAD | 0x40;
const OWN_PARKED: i64 = 0x200;

/// How the kernel calls a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OffKind {
    /// A signal ends it, too.
    Sleep,
    /// Nothing but what it waits for ends it: most often a disk.
    Uninterruptible,
    /// By a signal or a debugger.
    Stopped,
    /// In another way.
    Other,
}

/// Where a thread is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// No event told it, or events were lost since.
    #[default]
    Unknown,
    /// On a processor.
    Running(CpuId),
    /// Ready to run, on none.
    Waiting,
    /// It gave its processor up itself and has not been woken.
    Off(OffKind),
    /// It has run for the last time.
    Over,
}

/// How long a thread has been at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// Where.
    pub place: Place,
    /// From when on.
    pub since: Ns,
    /// Of a thread that is off: the call that it was in when it stopped.
    pub call: Option<PairIndex>,
}

const NOWHERE: Stay = Stay { place: Place::Unknown, since: Ns(0), call: None };

/// A thread has left a place for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The thread.
    pub thread: ThreadIndex,
    /// Where it was until the moment of the event.
    pub was: Stay,
}

/// What the numbers of states mean that the scheduler's events have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Those that the kernel makes for its events.
    #[default]
    Reported,
    /// Those that it has itself, which were in the events before Linux 4.14.
    Own {
        /// Whether the highest of them is that of parked threads, since 3.9; before, it was that
        /// of threads that were preempted.
        has_parked: bool,
    },
}

impl Numbers {
    /// Those of a kernel, by its release as `uname -r` tells it.
    pub fn of(release: &str) -> Self {
        let mut parts = release.split(['.', '-']).map(str::parse::<u32>);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (4, 14) => {
                Self::Own { has_parked: (major, minor) >= (3, 9) }
            }
            _ => Self::Reported,
        }
    }

    /// Why a thread stops in a state of a number.
    pub fn stopped_in(self, state: i64) -> Place {
        match self {
            Self::Own { .. } if state & OWN_DEAD != 0 => Place::Over,
            Self::Own { has_parked: true } if state & OWN_MASK == OWN_PARKED => {
                Place::Off(OffKind::Other)
            }
            _ => stopped_in(state),
        }
    }
}

/// Why a thread stops in a state as the kernel's events number it.
fn stopped_in(state: i64) -> Place {
    match state & WHY_MASK {
        0 => Place::Waiting,
        why if why & DEAD != 0 => Place::Over,
        why if why & STOPPED != 0 => Place::Off(OffKind::Stopped),
        why if why & UNINTERRUPTIBLE != 0 => Place::Off(OffKind::Uninterruptible),
        1 => Place::Off(OffKind::Sleep),
        _ => Place::Off(OffKind::Other),
    }
}

/// The places of all threads.
#[derive(Debug, Default)]
pub(crate) struct Places {
    stays: Vec<Stay>,
    /// Threads of each machine whose place may change on any processor, each once.
    elsewhere: Vec<Vec<ThreadIndex>>,
    is_listed: Vec<bool>,
    /// What the latest event changed.
    moves: Vec<Move>,
}

impl Places {
    pub fn of(&self, thread: ThreadIndex) -> Stay {
        self.stays.get(thread.0 as usize).copied().unwrap_or(NOWHERE)
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Another event comes.
    pub fn next(&mut self) {
        self.moves.clear();
    }

    /// A thread of a machine is at a place from now on.
    pub fn moved(&mut self, (host, thread): (u32, ThreadIndex), now: Stay) {
        if thread == ThreadIndex::OTHERS {
            return;
        }
        let index = thread.0 as usize;
        if self.stays.len() <= index {
            self.stays.resize(index + 1, NOWHERE);
            self.is_listed.resize(index + 1, false);
        }
        let (Some(stay), Some(is_listed)) =
            (self.stays.get_mut(index), self.is_listed.get_mut(index))
        else {
            return;
        };
        self.moves.push(Move { thread, was: *stay });
        *stay = now;
        if matches!(now.place, Place::Waiting | Place::Off(_)) && !*is_listed {
            *is_listed = true;
            let host = host as usize;
            if self.elsewhere.len() <= host {
                self.elsewhere.resize_with(host + 1, Vec::new);
            }
            if let Some(elsewhere) = self.elsewhere.get_mut(host) {
                elsewhere.push(thread);
            }
        }
    }

    /// It is told that a thread wakes up. One that has not stopped yet goes on.
    pub fn woken(&mut self, thread: (u32, ThreadIndex), at: Ns) {
        if !matches!(self.of(thread.1).place, Place::Running(_) | Place::Waiting) {
            self.moved(thread, Stay { place: Place::Waiting, since: at, call: None });
        }
    }

    /// Nothing is known any more of where a thread is.
    pub fn unknown(&mut self, thread: (u32, ThreadIndex), at: Ns) {
        if self.of(thread.1).place != Place::Unknown {
            self.moved(thread, Stay { since: at, ..NOWHERE });
        }
    }

    /// Wake-ups were lost, or the switches of a processor, which any thread may have come to that
    /// ran on none. Bound: what came to the list since the loss before.
    pub fn loss(&mut self, host: u32, at: Ns) {
        let Some(elsewhere) = self.elsewhere.get_mut(host as usize) else { return };
        for thread in std::mem::take(elsewhere) {
            if let Some(is_listed) = self.is_listed.get_mut(thread.0 as usize) {
                *is_listed = false;
            }
            if matches!(self.of(thread).place, Place::Waiting | Place::Off(_)) {
                self.unknown((host, thread), at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: (u32, ThreadIndex) = (0, ThreadIndex(3));
    const CPU: Place = Place::Running(CpuId(1));

    fn stay(place: Place, since: i64) -> Stay {
        Stay { place, since: Ns(since), call: None }
    }

    #[test]
    fn states_are_the_kernels_and_a_thread_that_was_preempted_could_go_on() {
        assert_eq!([0, 0x100, 0x20].map(stopped_in), [Place::Waiting, Place::Waiting, Place::Over]);
        assert_eq!(stopped_in(1), Place::Off(OffKind::Sleep));
        assert_eq!(stopped_in(2 | 0x80), Place::Off(OffKind::Uninterruptible));
        assert_eq!(stopped_in(4), Place::Off(OffKind::Stopped));
        assert_eq!(stopped_in(0x40), Place::Off(OffKind::Other));
    }

    #[test]
    fn states_of_old_kernels_are_their_own_numbers() {
        let [old, older] = ["4.9.0-19-amd64", "3.2.0"].map(Numbers::of);
        assert_eq!([old, older].map(|n| n.stopped_in(0x40)), [Place::Over; 2]);
        assert_eq!(old.stopped_in(0x82), Place::Off(OffKind::Uninterruptible));
        assert_eq!([0, 0x1000].map(|state| old.stopped_in(state)), [Place::Waiting; 2]);
        assert_eq!(old.stopped_in(0x200), Place::Off(OffKind::Other));
        assert_eq!(older.stopped_in(0x200), Place::Waiting);
        for other in ["4.14.0", "6.1.0-56-amd64", "", "4", "x.y", "99999999999.1"] {
            assert_eq!(Numbers::of(other), Numbers::Reported, "{other}");
        }
        assert_eq!(Numbers::Reported.stopped_in(0x40), Place::Off(OffKind::Other));
    }

    #[test]
    fn wakeup_of_a_thread_that_has_not_stopped_changes_nothing() {
        let mut places = Places::default();
        places.moved(T, stay(CPU, 5));
        places.woken(T, Ns(7));
        assert_eq!(places.of(T.1), stay(CPU, 5));
        places.moved(T, stay(Place::Off(OffKind::Sleep), 8));
        places.next();
        places.woken(T, Ns(9));
        let was = stay(Place::Off(OffKind::Sleep), 8);
        assert_eq!(places.moves(), [Move { thread: T.1, was }]);
        assert_eq!(places.of(T.1), stay(Place::Waiting, 9));
    }

    #[test]
    fn after_a_loss_only_threads_on_other_processors_have_a_place() {
        let mut places = Places::default();
        let (running, other_host) = ((0, ThreadIndex(4)), (1, ThreadIndex(5)));
        places.moved(T, stay(Place::Waiting, 1));
        places.moved(running, stay(CPU, 1));
        places.moved(other_host, stay(Place::Off(OffKind::Sleep), 1));
        places.next();
        places.loss(0, Ns(6));
        assert_eq!(places.of(T.1), stay(Place::Unknown, 6));
        assert_eq!(places.of(running.1), stay(CPU, 1));
        assert_eq!(places.of(other_host.1), stay(Place::Off(OffKind::Sleep), 1));
        assert_eq!(places.moves().len(), 1);
        places.next();
        places.loss(0, Ns(7));
        assert_eq!(places.moves(), []);
    }

    #[test]
    fn threads_that_found_no_space_have_no_place() {
        let mut places = Places::default();
        places.moved((0, ThreadIndex::OTHERS), stay(CPU, 1));
        assert_eq!(places.of(ThreadIndex::OTHERS).place, Place::Unknown);
    }
}
