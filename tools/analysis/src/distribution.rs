// SPDX-License-Identifier: MIT
//! Durations, summed up: count, total, extremes, percentiles.
//!
//! Place in the flow: what latencies and waits are recorded into. Count, total, least and most are
//! exact; percentiles are within 0.1 % (an HDR histogram with three digits), or 1 % with two digits
//! and an eighth of the memory.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Longer durations, above 36 years, are recorded as this long.
const MOST_NS: u64 = 1 << 60;

/// A distribution whose percentiles are exact to `DIGITS` decimal digits.
#[derive(Debug, Clone, Default)]
pub struct Distribution<const DIGITS: u8 = 3> {
    /// Made with the first value: most rows of a table never get one.
    histogram: Option<Box<Histogram<u32>>>,
    count: u64,
    total_ns: u64,
    least_ns: u64,
    most_ns: u64,
}

/// A distribution in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DistributionReport {
    pub count: u64,
    pub total_ns: u64,
    pub mean_ns: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

impl<const DIGITS: u8> Distribution<DIGITS> {
    /// Adds one duration.
    pub fn record(&mut self, duration_ns: u64) {
        let duration_ns = duration_ns.min(MOST_NS);
        self.least_ns = if self.count == 0 { duration_ns } else { self.least_ns.min(duration_ns) };
        self.most_ns = self.most_ns.max(duration_ns);
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(duration_ns);
        if self.histogram.is_none() {
            self.histogram = Histogram::new(DIGITS).ok().map(Box::new);
        }
        if let Some(histogram) = &mut self.histogram {
            // It resizes itself, and no value is above what it can hold.
            let _ = histogram.record(duration_ns);
        }
    }

    /// How many durations were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest duration; 0 where there is none.
    pub fn most_ns(&self) -> u64 {
        self.most_ns
    }

    /// The value below which a part of all is, 0 to 1.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let found = self.histogram.as_ref().map_or(0, |h| h.value_at_quantile(quantile));
        found.clamp(self.least_ns, self.most_ns)
    }

    /// How many there are from one power of two to below the next, without empty ones.
    pub fn buckets(&self) -> Vec<(u64, u64, u64)> {
        let mut counts = [0u64; MOST_NS.ilog2() as usize + 2];
        for recorded in self.histogram.iter().flat_map(|histogram| histogram.iter_recorded()) {
            let value = recorded.value_iterated_to().clamp(self.least_ns, self.most_ns);
            let bucket = value.checked_ilog2().map_or(0, |log| log as usize + 1);
            if let Some(count) = counts.get_mut(bucket) {
                *count += u64::from(recorded.count_at_value());
            }
        }
        let numbered = (0u32..).zip(counts).filter(|(_, count)| *count > 0);
        let from = |bucket: u32| if bucket == 0 { 0 } else { 1 << (bucket - 1) };
        numbered.map(|(bucket, count)| (from(bucket), 1 << bucket, count)).collect()
    }

    /// The same in numbers.
    pub fn report(&self) -> DistributionReport {
        let quantile = |quantile| self.quantile(quantile);
        DistributionReport {
            count: self.count,
            total_ns: self.total_ns,
            mean_ns: self.total_ns.checked_div(self.count).unwrap_or(0),
            min_ns: self.least_ns,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            max_ns: self.most_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, DistributionReport, MOST_NS};

    #[test]
    fn percentiles_are_within_a_thousandth_and_the_rest_is_exact() {
        let mut distribution = Distribution::<3>::default();
        for value in 1..=10_000u64 {
            distribution.record(value * 1000);
        }
        let report = distribution.report();
        assert_eq!((report.count, report.min_ns, report.max_ns), (10_000, 1000, 10_000_000));
        assert_eq!(report.total_ns, 50_005_000_000);
        for (found, wanted) in
            [(report.p50_ns, 5.0e6), (report.p90_ns, 9.0e6), (report.p99_ns, 9.9e6)]
        {
            assert!((found as f64 / wanted - 1.0).abs() < 0.001, "{found} for {wanted}");
        }
    }

    #[test]
    fn nothing_recorded_is_all_zeros_and_the_largest_value_does_not_wrap() {
        assert_eq!(Distribution::<3>::default().report(), DistributionReport::default());
        let mut distribution = Distribution::<3>::default();
        for _ in 0..20 {
            distribution.record(u64::MAX);
        }
        let report = distribution.report();
        assert_eq!((report.total_ns, report.max_ns, report.p50_ns), (u64::MAX, MOST_NS, MOST_NS));
    }
}
