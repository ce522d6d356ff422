// SPDX-License-Identifier: MIT
//! One turn over all rings: which closed sub-buffer to read next, and what can wait.
//!
//! Place in the flow: `consumer` takes a turn at every tick. A ring that would soon be full gets
//! its memory back before anything is walked or written: its closed sub-buffers are copied to
//! spare ones and handed back, and the copies written when no ring presses any more. All of that
//! lies in shared memory until it is on disk, so that it outlives a recorder that is killed.

use super::{note, Channel, Consumer, CALM_PAUSE};
use crate::ring::{Held, Readiness};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A ring that would be full this soon presses: about as long as it takes to walk and write a
/// large sub-buffer, or to be back from a turn of another program.
const PRESSING_NS: f64 = 1e6;
/// Copies take at most this much memory.
const HELD_BYTES_MAX: usize = 16 << 20;

/// How soon to look again at a ring whose oldest sub-buffer waits for its writers.
const STUCK_PAUSE: Duration = Duration::from_millis(1);
/// How long to come back without a pause while no ring has a sub-buffer to read.
const VAIN_MAX: Duration = Duration::from_micros(500);
/// The shortest pause after that.
const VAIN_PAUSE: Duration = Duration::from_micros(50);

/// Copies of sub-buffers that were handed back, to be written in this order; none between turns.
#[derive(Default)]
pub struct Queue {
    /// Each with the channel that it came from.
    held: VecDeque<(usize, Held)>,
    held_bytes: usize,
}

impl Consumer {
    /// Reads closed sub-buffers one by one, each from the ring that would be full first.
    pub(super) fn take_turn(&mut self) {
        let mut open: Vec<usize> = (0..self.channels.len())
            .filter(|index| self.channels[*index].drain.ring.poll() > Readiness::Empty)
            .collect();
        // Bound: writers that are as fast as we are do not keep us from all else that is due.
        let mut rounds: u32 =
            open.iter().map(|i| self.channels[*i].drain.ring.subbuf_count()).sum();
        while rounds > 0 && !open.is_empty() {
            let first = self.first_full(&open);
            let (at, until_full_ns) = first;
            if until_full_ns < PRESSING_NS && self.hold(open[at]) {
                rounds -= 1;
            } else if self.write_held() {
            } else if self.drain_one(open[at]) {
                rounds -= 1;
            } else {
                open.swap_remove(at);
                continue;
            }
            self.moved = Instant::now();
        }
        // Bound: what was held in this turn.
        while self.write_held() {}
    }

    /// Which of some rings would be full first, and how soon.
    fn first_full(&self, open: &[usize]) -> (usize, f64) {
        let until_full_ns = |index: &usize| {
            let Channel { drain, pace, .. } = &self.channels[*index];
            pace.until_full_ns(&drain.ring.level())
        };
        let times = open.iter().map(until_full_ns).enumerate();
        times.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY))
    }

    /// Copies a full sub-buffer of a ring and hands it back. Return: whether there was one.
    fn hold(&mut self, index: usize) -> bool {
        let drain = &mut self.channels[index].drain;
        let bytes = drain.ring.subbuf_size_bytes();
        if self.queue.held_bytes.saturating_add(bytes) > HELD_BYTES_MAX || self.tools.limit_reached
        {
            return false;
        }
        let Some(held) = drain.ring.hold() else { return false };
        self.queue.held_bytes += bytes;
        self.queue.held.push_back((index, held));
        true
    }

    /// Writes the oldest copy. Return: whether there was one.
    fn write_held(&mut self) -> bool {
        let Some((index, held)) = self.queue.held.pop_front() else { return false };
        let Channel { drain, stream, .. } = &mut self.channels[index];
        self.queue.held_bytes -= drain.ring.subbuf_size_bytes();
        drain.write_held(&mut self.tools, stream, held);
        true
    }

    /// Reads one sub-buffer of a ring. Return: whether there was one.
    fn drain_one(&mut self, index: usize) -> bool {
        let Self { channels, tools, problems, .. } = self;
        let Channel { drain, stream, .. } = &mut channels[index];
        if drain.drain_full(tools, stream, 1) > 0 {
            return true;
        }
        drain.rescue(tools, Some(&mut *stream), true).unwrap_or_else(|problem| {
            note(problems, problem);
            false
        })
    }

    /// How long the ring that fills first can wait.
    pub(super) fn pause(&self) -> Duration {
        let of = |channel: &Channel| {
            let pause = channel.pace.pause(&channel.drain.ring.level());
            if channel.drain.is_stuck() {
                pause.min(STUCK_PAUSE)
            } else {
                pause
            }
        };
        let pause = self.channels.iter().map(of).min().unwrap_or(CALM_PAUSE);
        let in_vain = self.moved.elapsed() > VAIN_MAX;
        if in_vain {
            pause.max(VAIN_PAUSE)
        } else {
            pause
        }
    }
}
