// SPDX-License-Identifier: MIT
//! How soon a ring wants to be looked at again: from how fast it fills, and how much is free.
//!
//! Place in the flow: `consumer` notes each ring's write count at every look, and comes back when
//! the first ring asks for it. Probes do not wake the recorder (B 4.3.3), so this alone keeps it
//! ahead of them. The counts come from shared memory: any value gives a bounded pause.

use std::time::Duration;

/// What one thread that does nothing but record can write, in bytes per nanosecond: the rate that
/// is assumed for a ring as long as no better one is known.
const FULL_SPEED: f64 = 1.0;
/// More than memory takes: a rate beyond it was not measured but made up by a hostile writer.
const RATE_MAX: f64 = 64.0;
/// A ring that fills more slowly than this, a byte per second, counts as idle.
const RATE_LEAST: f64 = 1e-9;
/// A rate that was seen once is forgotten after this long without it.
const MEMORY_NS: f64 = 2e6;
/// Looks closer to each other than this say nothing about the rate.
const LOOK_LEAST_NS: u64 = 20_000;
/// A sleep may last this much longer than was asked for.
const OVERSHOOT_NS: f64 = 60_000.0;
/// The longest pause, and the shortest that an idle ring may ask for.
const IDLE_MAX: Duration = Duration::from_millis(10);
const IDLE_LEAST: Duration = Duration::from_millis(1);

/// How far a ring is filled.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    pub subbuf_bytes: u64,
    pub subbuf_count: u32,
    /// Bytes reserved since the beginning.
    pub written_bytes: u64,
    /// Those of them that are not read yet.
    pub pending_bytes: u64,
}

impl Level {
    fn buffer_bytes(&self) -> u64 {
        self.subbuf_bytes.saturating_mul(self.subbuf_count.into())
    }

    fn free_bytes(&self) -> u64 {
        self.buffer_bytes().saturating_sub(self.pending_bytes)
    }

    /// Whether there is so little room that writers may have had to drop events.
    fn is_full(&self) -> bool {
        self.free_bytes() < self.subbuf_bytes / 8
    }

    /// What is left of the sub-buffer that is being written.
    fn rest_bytes(&self) -> u64 {
        self.subbuf_bytes - self.written_bytes % self.subbuf_bytes.max(1)
    }

    /// The pause for a ring that nobody writes to: a thread that begins to record at full speed
    /// right after a look has filled half of the buffer by the next.
    fn idle(&self) -> Duration {
        let half_ns = (self.buffer_bytes() / 2) as f64 / FULL_SPEED;
        Duration::from_nanos(half_ns as u64).clamp(IDLE_LEAST, IDLE_MAX)
    }
}

/// How fast one ring fills.
#[derive(Debug, Default)]
pub struct Pace {
    /// When it was looked at, and how much was written then.
    last: Option<(u64, u64)>,
    /// Bytes per nanosecond.
    rate: f64,
}

impl Pace {
    /// Notes what a look at `now_ns` found, before anything is read.
    pub fn note(&mut self, now_ns: u64, level: &Level) {
        let Some((then_ns, written_bytes)) = self.last else {
            self.last = Some((now_ns, level.written_bytes));
            return;
        };
        let passed_ns = now_ns.saturating_sub(then_ns);
        if passed_ns < LOOK_LEAST_NS && !level.is_full() {
            return;
        }
        self.last = Some((now_ns, level.written_bytes));
        // A full ring tells how much it holds, not how much would have come.
        if level.is_full() {
            self.rate = self.rate.max(FULL_SPEED);
            return;
        }
        let new_bytes = level.written_bytes.wrapping_sub(written_bytes);
        let rate = (new_bytes as f64 / passed_ns as f64).min(RATE_MAX);
        let kept = 1.0 - (passed_ns as f64 / MEMORY_NS).min(1.0);
        self.rate = rate.max(self.rate * kept);
    }

    /// How long until no byte is free, in nanoseconds.
    pub fn until_full_ns(&self, level: &Level) -> f64 {
        level.free_bytes() as f64 / self.rate.max(RATE_LEAST)
    }

    /// How long the ring can wait, from what is left in it after reading.
    ///
    /// Nothing can be read before the open sub-buffer is full. To come back then leaves the rest
    /// of the buffer for the time in which the scheduler runs others; an eighth of the buffer at a
    /// time bounds what looking costs. But the next look must come before all is full.
    pub fn pause(&self, level: &Level) -> Duration {
        let idle = level.idle();
        let wait_ns =
            level.rest_bytes().max(level.buffer_bytes() / 8) as f64 / self.rate.max(RATE_LEAST);
        let latest_ns = (self.until_full_ns(level) - OVERSHOOT_NS).max(0.0);
        let pause_ns = wait_ns.min(latest_ns).min(idle.as_nanos() as f64);
        Duration::from_nanos(pause_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Level =
        Level { subbuf_bytes: 65536, subbuf_count: 2, written_bytes: 0, pending_bytes: 0 };

    fn level(written_bytes: u64, pending_bytes: u64) -> Level {
        Level { written_bytes, pending_bytes, ..SMALL }
    }

    /// A pace that has seen this many bytes a look, 40 us apart, with room in the ring.
    fn steady(bytes: u64) -> Pace {
        let mut pace = Pace::default();
        for look in 0..10 {
            pace.note(look * 40_000, &level(look * bytes, 0));
        }
        pace
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn idle_pause_follows_the_size_of_the_buffer_between_its_limits() {
        let of = |subbuf_bytes, subbuf_count| {
            Pace::default().pause(&Level { subbuf_bytes, subbuf_count, ..SMALL })
        };
        assert_eq!(of(65536, 2), IDLE_LEAST);
        assert_eq!(of(1 << 20, 8), Duration::from_nanos(4 << 20));
        assert_eq!(of(1 << 26, 8), IDLE_MAX);
    }

    #[test]
    fn ring_that_fills_is_looked_at_when_its_open_sub_buffer_is_full() {
        // A byte a nanosecond; 16384 of the sub-buffer's 65536 bytes are written.
        let pause = steady(40_000).pause(&level(65536 + 16384, 16384));
        assert_eq!(pause, Duration::from_nanos(65536 - 16384));
    }

    #[test]
    fn pause_is_an_eighth_of_the_buffer_where_sub_buffers_are_smaller() {
        let many = Level { subbuf_count: 1024, ..SMALL };
        assert_eq!(steady(40_000).pause(&many), Duration::from_nanos(65536 * 1024 / 8));
    }

    #[test]
    fn look_comes_before_all_is_full_whatever_a_sleep_lasts_longer() {
        // 70 us are left of the whole buffer, a sleep may be 60 us too long.
        let pause = steady(40_000).pause(&level(2 * 65536 - 70_000, 2 * 65536 - 70_000));
        assert_eq!(pause, micros(10));
        assert_eq!(steady(40_000).pause(&level(2 * 65536, 2 * 65536)), Duration::ZERO);
    }

    #[test]
    fn ring_found_full_is_taken_to_fill_at_full_speed() {
        let mut pace = Pace::default();
        pace.note(0, &level(0, 0));
        // All that it holds, in ten milliseconds: a slow rate, but how much was dropped is not
        // known.
        pace.note(10_000_000, &level(2 * 65536, 2 * 65536));
        assert_eq!(pace.pause(&level(2 * 65536, 0)), Duration::from_nanos(65536));
    }

    #[test]
    fn rate_falls_when_writers_stop_and_the_pause_becomes_the_idle_one() {
        let mut pace = steady(40_000);
        let last = level(9 * 40_000, 0);
        pace.note(9 * 40_000 + 1_000_000, &last);
        assert!(pace.rate > 0.4 && pace.rate < 0.6, "half is forgotten: {}", pace.rate);
        pace.note(9 * 40_000 + 9_000_000, &last);
        assert_eq!(pace.pause(&last), IDLE_LEAST);
    }

    #[test]
    fn ring_is_full_when_less_than_an_eighth_of_a_sub_buffer_is_free() {
        let free = |bytes: u64| level(0, 2 * 65536 - bytes);
        assert!(!free(8192).is_full() && free(8191).is_full());
        assert_eq!((free(8192).free_bytes(), level(0, u64::MAX).free_bytes()), (8192, 0));
        assert_eq!(
            [0, 1, 65535, 65536].map(|at| level(at, 0).rest_bytes()),
            [65536, 65535, 1, 65536]
        );
    }

    #[test]
    fn looks_that_are_far_enough_apart_tell_the_rate() {
        let rate_after = |passed_ns: u64, full: bool| {
            let mut pace = Pace::default();
            pace.note(1000, &level(500, 0));
            pace.note(1000 + passed_ns, &level(500 + 10_000, if full { 2 * 65536 } else { 0 }));
            pace.rate
        };
        assert_eq!(rate_after(19_999, false), 0.0);
        assert_eq!(rate_after(20_000, false), 0.5);
        assert_eq!(rate_after(10, true), FULL_SPEED);
        assert_eq!(rate_after(1_000_000, true), FULL_SPEED);
        let mut fast = Pace { last: Some((0, 0)), rate: 5.0 };
        fast.note(30_000, &level(0, 2 * 65536));
        assert_eq!(fast.rate, 5.0, "a full ring was filled no more slowly than it had been");
    }

    #[test]
    fn looks_in_quick_succession_are_one() {
        let mut pace = steady(40_000);
        pace.note(9 * 40_000 + 10, &level(9 * 40_000 + 4096, 4096));
        assert_eq!(pace.rate, 1.0, "4096 bytes in 10 ns were not written in 10 ns");
    }

    #[test]
    fn counts_that_make_no_sense_give_a_bounded_pause() {
        let words = [0, 1, 65535, 1 << 31, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        for written in words {
            for pending in words {
                for earlier in words {
                    for (now_ns, then_ns) in [(0, 0), (1 << 40, 5), (5, 1 << 40)] {
                        let mut pace = Pace::default();
                        pace.note(then_ns, &level(earlier, 0));
                        pace.note(now_ns, &level(written, pending));
                        assert!(pace.pause(&level(written, pending)) <= IDLE_MAX);
                        assert!(pace.rate <= RATE_MAX, "{}", pace.rate);
                        assert!(!pace.until_full_ns(&level(written, pending)).is_nan());
                    }
                }
            }
        }
    }
}
