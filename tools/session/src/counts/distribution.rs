// SPDX-License-Identifier: MIT
//! The distribution of a field's values: buckets of 16 steps for each power of two.
//!
//! Place in the flow: `counts` reads one from each slot and adds them up. A quantile is the upper
//! limit of the bucket that it falls into, so it is too high by one 16th of the value at most,
//! unless it is negative: those values have one bucket, so that its limit is far above some.

use crate::abi::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const STEPS: u64 = 1 << COUNT_STEP_BITS;
const SIGN: u64 = 1 << 63;

/// The values of one field, as far as buckets tell them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    is_signed: bool,
    buckets: BTreeMap<u32, u64>,
    /// As `struct lull_count_slot` has them, in order whatever the sign.
    least_inverted: u64,
    greatest: u64,
}

/// A bucket and its content: values from the first to the second limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub from: i128,
    pub until: i128,
    pub count: u64,
}

impl Distribution {
    pub(super) fn read(kind: u32, limits: [u64; 2], buckets: &[AtomicU64]) -> Self {
        let count = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        let filled = (0..).zip(buckets.iter().map(count)).filter(|(_, count)| *count > 0);
        let [least_inverted, greatest] = limits;
        Self {
            is_signed: kind == COUNT_SIGNED,
            buckets: filled.collect(),
            least_inverted,
            greatest,
        }
    }

    pub fn count(&self) -> u64 {
        self.buckets.values().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    pub fn add(&mut self, other: &Distribution) {
        if other.is_empty() {
            return;
        }
        self.is_signed |= other.is_signed;
        for (bucket, count) in &other.buckets {
            let sum = self.buckets.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.least_inverted = self.least_inverted.max(other.least_inverted);
        self.greatest = self.greatest.max(other.greatest);
    }

    fn exact(&self, ordered: u64) -> i128 {
        match self.is_signed {
            true => i128::from((ordered ^ SIGN) as i64),
            false => i128::from(ordered),
        }
    }

    /// The least value. Where the word for it does not lie in the lowest bucket, because threads
    /// changed it at once, or a process wrote over it, it is that bucket's limit.
    pub fn least(&self) -> Option<i128> {
        let (from, until) = limits(*self.buckets.first_key_value()?.0);
        let least = self.exact(!self.least_inverted);
        Some(if (from..=until).contains(&least) { least } else { from })
    }

    /// The greatest value; as for the least.
    pub fn greatest(&self) -> Option<i128> {
        let (from, until) = limits(*self.buckets.last_key_value()?.0);
        let greatest = self.exact(self.greatest);
        Some(if (from..=until).contains(&greatest) { greatest } else { until })
    }

    /// The value that a part of all, in thousandths, do not exceed: the limit of a bucket, or
    /// the greatest value.
    pub fn quantile(&self, thousandths: u64) -> Option<i128> {
        let wanted = u128::from(self.count()) * u128::from(thousandths);
        let mut sum = 0u128;
        for (bucket, count) in &self.buckets {
            sum += u128::from(*count) * 1000;
            if sum >= wanted {
                return Some(limits(*bucket).1.min(self.greatest()?).max(self.least()?));
            }
        }
        self.greatest()
    }

    /// The buckets that are not empty, in order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter().map(|(bucket, count)| {
            let (from, until) = limits(*bucket);
            Bucket { from, until, count: *count }
        })
    }
}

/// The values of a bucket, the first and the last: the reverse of lull_count_bucket().
fn limits(bucket: u32) -> (i128, i128) {
    let Some(index) = u64::from(bucket).checked_sub(COUNT_BUCKET_ZERO.into()) else {
        return (i64::MIN.into(), -1);
    };
    if index < STEPS {
        return (index.into(), index.into());
    }
    let (power, step) = (index / STEPS - 1, index % STEPS);
    let from = i128::from(STEPS + step) << power;
    (from, from + (1i128 << power) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(values: &[i64]) -> Distribution {
        let mut all = Distribution::default();
        for value in values {
            let index = (0..COUNT_BUCKETS as u32)
                .find(|bucket| {
                    let (from, until) = limits(*bucket);
                    (from..=until).contains(&i128::from(*value))
                })
                .unwrap();
            let ordered = *value as u64 ^ SIGN;
            all.add(&Distribution {
                is_signed: true,
                buckets: [(index, 1)].into(),
                least_inverted: !ordered,
                greatest: ordered,
            });
        }
        all
    }

    #[test]
    fn buckets_follow_one_another_without_a_gap_up_to_the_greatest_number() {
        let mut until = -1;
        for bucket in 1..=976 {
            let (from, last) = limits(bucket);
            assert_eq!(from, until + 1, "bucket {bucket}");
            assert!(last - from < from.max(16) / 16 + 1, "bucket {bucket}");
            until = last;
        }
        assert_eq!(until, i128::from(u64::MAX));
        assert_eq!(limits(0), (i128::from(i64::MIN), -1));
    }

    #[test]
    fn quantiles_are_limits_of_buckets_and_ends_are_exact() {
        let values: Vec<i64> = (1..=1000).collect();
        let all = distribution(&values);
        assert_eq!((all.count(), all.least(), all.greatest()), (1000, Some(1), Some(1000)));
        assert_eq!(all.quantile(500), Some(511), "500 lies in 496..=511");
        assert_eq!((all.quantile(990), all.quantile(1000)), (Some(991), Some(1000)));
        let all = distribution(&[-5, -700, 3]);
        assert_eq!((all.least(), all.greatest()), (Some(-700), Some(3)));
        assert_eq!((all.quantile(500), all.quantile(900)), (Some(-1), Some(3)));
        assert_eq!(Distribution::default().quantile(500), None);
    }

    #[test]
    fn ends_that_were_written_over_are_the_limits_of_the_outermost_buckets() {
        let mut all = distribution(&[100, 200]);
        (all.least_inverted, all.greatest) = (0, 7);
        let (least, greatest) = (all.least().unwrap(), all.greatest().unwrap());
        assert!((96..=100).contains(&least) && (200..=207).contains(&greatest));
    }
}
