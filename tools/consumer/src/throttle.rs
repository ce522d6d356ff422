// SPDX-License-Identifier: MIT
//! How far each event has to be throttled so that a budget of time is kept.
//!
//! Place in the flow: `consumer` counts what occurred between two looks and asks this for
//! throttles:
//! one in 2^throttle occurrences is recorded, and above `THROTTLE_MAX` none. Nothing here reads
//! shared memory or a clock. Paper: T 2 (a tracer that disturbs little), B 3.1.

use session::abi::THROTTLE_MAX;
use std::collections::BinaryHeap;

/// Nothing of an event is recorded.
pub const OFF: u32 = THROTTLE_MAX + 1;
/// How long less throttling has to be enough before there is less.
const CALM_NS: u64 = 1_000_000_000;
/// What is left for recording where to count takes all of a budget: its eighth part.
const LEAST_PART: u64 = 8;
/// To count an occurrence costs this part of recording it, as `bench/event_enabled` measures.
const COUNTING_PART: u64 = 8;

/// What events cost, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// To record one.
    pub event_ps: u64,
    /// To count one that is not recorded.
    pub counting_ps: u64,
}

impl Costs {
    pub fn of_event(event_ps: u64) -> Self {
        Self { event_ps, counting_ps: event_ps / COUNTING_PART }
    }

    /// What so many occurrences cost under a throttle.
    pub fn of(&self, count: u64, throttle: u32) -> u64 {
        let recorded = if throttle < OFF { count >> throttle } else { 0 };
        let counting = count.saturating_mul(self.counting_ps);
        counting.saturating_add(recorded.saturating_mul(self.event_ps))
    }
}

/// The least throttles by which events that occurred so often cost no more than is allowed. The
/// hottest event is throttled first, by half, until all fit.
pub fn needed(counts: &[u64], allowed_ps: u64, costs: Costs) -> Vec<u32> {
    let mut throttles = vec![0; counts.len()];
    let record = |count: u64, throttle: u32| costs.of(count, throttle) - costs.of(count, OFF);
    let counting = counts.iter().fold(0u64, |sum, count| sum.saturating_add(costs.of(*count, OFF)));
    let allowed = allowed_ps.saturating_sub(counting).max(allowed_ps / LEAST_PART);
    let mut sum = counts.iter().fold(0u64, |sum, count| sum.saturating_add(record(*count, 0)));
    let mut hottest: BinaryHeap<(u64, usize)> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(index, count)| (record(*count, 0), index))
        .collect();
    // Bound: each event is throttled OFF times at most.
    while sum > allowed {
        let Some((cost, index)) = hottest.pop() else { break };
        throttles[index] += 1;
        let less = record(counts[index], throttles[index]);
        sum = sum.saturating_sub(cost - less);
        if throttles[index] < OFF {
            hottest.push((less, index));
        }
    }
    throttles
}

/// The throttle of one event, from look to look: it rises at once, and falls when less has been
/// enough for a while.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttle {
    pub value: u32,
    /// Since when less would do, and how much of it.
    calm: Option<(u64, u32)>,
}

impl Throttle {
    pub fn of(value: u32) -> Self {
        Self { value, calm: None }
    }

    /// Return: whether the value is another now.
    pub fn look(&mut self, needed: u32, now_ns: u64) -> bool {
        if needed >= self.value {
            self.calm = None;
            let rises = needed > self.value;
            self.value = needed;
            return rises;
        }
        let (since, most) = self.calm.unwrap_or((now_ns, 0));
        let most = most.max(needed);
        self.calm = Some((since, most));
        if now_ns.saturating_sub(since) < CALM_NS {
            return false;
        }
        self.value = most;
        self.calm = None;
        true
    }
}

/// Of a budget, what counting may take before the hottest events are taken out of the code.
const COUNTING_SHARE: u64 = 2;
/// Of a budget, what may be spent on finding out whether an event is still too hot.
const TRYING_SHARE: u64 = 2;
/// How long an event is out of the code at least, the first time and at most.
const OUT_NS: u64 = 1_000_000_000;
const OUT_MAX_NS: u64 = 60_000_000_000;

/// Events that are to be taken out of the code, for to count them costs too much: the hottest,
/// until what is left takes no more than a half of what is allowed.
pub fn excess(counts: &[u64], allowed_ps: u64, costs: Costs) -> Vec<usize> {
    let mut sum = counts.iter().fold(0u64, |sum, count| sum.saturating_add(costs.of(*count, OFF)));
    let mut hottest: Vec<usize> = (0..counts.len()).filter(|index| counts[*index] > 0).collect();
    hottest.sort_unstable_by_key(|index| std::cmp::Reverse(counts[*index]));
    let mut out = Vec::new();
    for index in hottest {
        if sum <= allowed_ps / COUNTING_SHARE {
            break;
        }
        sum = sum.saturating_sub(costs.of(counts[index], OFF));
        out.push(index);
    }
    out
}

/// Whether an event's sites are in the code. They are taken out when to count occurrences costs too
/// much, and put back after a while, to see whether that is still so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// None: they are in the code.
    out_until_ns: Option<u64>,
    /// How often they were put back and were too much again.
    failures: u32,
    /// What the event has cost since it was put back.
    spent_ps: u64,
}

impl Place {
    pub fn is_out(&self) -> bool {
        self.out_until_ns.is_some()
    }

    /// Adds what the event cost. While it is out, processes that were not asked yet still count it.
    pub fn spend(&mut self, cost_ps: u64, ppm: u32) {
        self.spent_ps = self.spent_ps.saturating_add(cost_ps);
        if let Some(until_ns) = &mut self.out_until_ns {
            *until_ns = until_ns.saturating_add(pause_ns(cost_ps, ppm));
        }
    }

    /// Takes it out. Each failure doubles for how long; and what was spent to find out stays in its
    /// share of the budget, on one CPU.
    pub fn take_out(&mut self, now_ns: u64, ppm: u32) {
        let least = (OUT_NS << self.failures.min(6)).min(OUT_MAX_NS);
        let pause = pause_ns(self.spent_ps, ppm).max(least);
        self.out_until_ns = Some(now_ns.saturating_add(pause));
        self.failures = self.failures.saturating_add(1);
        self.spent_ps = 0;
    }

    /// Whether it is time to put it back.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.out_until_ns.is_some_and(|until_ns| now_ns >= until_ns)
    }

    pub fn put_back(&mut self) {
        self.out_until_ns = None;
    }

    /// It was put back, and is no longer too much.
    pub fn recover(&mut self) {
        *self = Self::default();
    }
}

/// How long nothing may be spent after this was.
fn pause_ns(spent_ps: u64, ppm: u32) -> u64 {
    const PPM: u128 = 1_000_000;
    let ns = u128::from(spent_ps) * PPM * u128::from(TRYING_SHARE) / u128::from(ppm.max(1)) / 1000;
    u64::try_from(ns).unwrap_or(u64::MAX).min(OUT_MAX_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { event_ps: 40_000, counting_ps: 5_000 };

    fn cost(counts: &[u64], throttles: &[u32]) -> u64 {
        counts.iter().zip(throttles).map(|(count, throttle)| COSTS.of(*count, *throttle)).sum()
    }

    #[test]
    fn what_fits_is_not_throttled() {
        assert_eq!(needed(&[100, 0, 7], 107 * 45_000, COSTS), [0, 0, 0]);
        assert!(needed(&[], 0, COSTS).is_empty());
        assert_eq!(needed(&[0, 0], 0, COSTS), [0, 0]);
    }

    #[test]
    fn hottest_event_is_throttled_first_and_others_only_where_that_is_not_enough() {
        let counts = [100_000, 1000, 10];
        let found = needed(&counts, 1_000_000_000, COSTS);
        assert_eq!(found, [4, 0, 0], "half a millisecond of counting, and as much of events");
        assert!(cost(&counts, &found) <= 1_000_000_000);
        let found = needed(&[1000, 1000], 50_000_000, COSTS);
        assert_eq!(found, [1, 1], "40 of 80 us are for events");
    }

    #[test]
    fn where_counting_takes_all_an_eighth_is_left_and_what_is_hotter_is_off() {
        let found = needed(&[50_000_000], 20_000_000_000, COSTS);
        assert_eq!(found, [10], "2.5 ms of a second are for events");
        let found = needed(&[1 << 40], 20_000_000_000, COSTS);
        assert_eq!(found, [OFF]);
        assert_eq!(needed(&[1 << 38, 1 << 38], 1, COSTS), [OFF, OFF], "all that rows can count");
        assert_eq!(needed(&[5, 0], 0, COSTS), [3, 0], "an eighth of 5 is none");
    }

    #[test]
    fn hottest_events_are_taken_out_until_the_rest_can_be_counted() {
        let counts = [10, 100_000, 0, 50_000, 1000];
        assert_eq!(excess(&counts, u64::MAX, COSTS), [0; 0]);
        let all = 151_010 * 5_000;
        assert_eq!(excess(&counts, 2 * all, COSTS), [0; 0]);
        assert_eq!(excess(&counts, 2 * all - 2, COSTS), [1]);
        assert_eq!(excess(&counts, 2 * 51_010 * 5_000 - 2, COSTS), [1, 3]);
        assert_eq!(excess(&counts, 0, COSTS), [1, 3, 4, 0], "an event that did not occur is not");
    }

    #[test]
    fn event_stays_out_for_longer_each_time_and_as_long_as_its_cost_asks_for() {
        let (second, mut place) = (1_000_000_000, Place::default());
        place.spend(1_000_000, 10_000);
        place.take_out(0, 10_000);
        assert!(place.is_out() && !place.is_due(second - 1) && place.is_due(second));
        place.put_back();
        assert!(!place.is_out() && !place.is_due(u64::MAX));
        place.take_out(second, 10_000);
        assert!(!place.is_due(3 * second - 1) && place.is_due(3 * second));
        // A hundredth of a second of one CPU is a half per cent of two.
        place.recover();
        place.spend(10_000_000_000, 10_000);
        place.take_out(0, 10_000);
        assert!(!place.is_due(2 * second - 1) && place.is_due(2 * second));
        place.spend(5_000_000_000, 10_000);
        assert!(!place.is_due(3 * second - 1) && place.is_due(3 * second), "it still costs");
        for _ in 0..80 {
            place.take_out(0, 10_000);
        }
        assert!(!place.is_due(60 * second - 1) && place.is_due(60 * second));
        place.spend(u64::MAX, 1);
        place.take_out(u64::MAX, 0);
        assert!(place.is_due(u64::MAX));
    }

    #[test]
    fn throttle_rises_at_once_and_falls_after_a_second_to_what_the_second_needed() {
        let mut throttle = Throttle::default();
        let ms = |ms: u64| ms * 1_000_000;
        assert!(throttle.look(5, ms(0)) && !throttle.look(5, ms(20)));
        assert!(!throttle.look(0, ms(40)) && !throttle.look(2, ms(500)));
        assert!(!throttle.look(0, ms(1039)) && throttle.value == 5);
        assert!(throttle.look(0, ms(1040)) && throttle.value == 2);
        assert!(!throttle.look(0, ms(1060)) && !throttle.look(2, ms(2000)), "calm begins anew");
        assert!(!throttle.look(0, ms(2500)) && !throttle.look(0, ms(3400)));
        assert!(throttle.look(1, ms(3500)) && throttle.value == 1);
    }
}
