// SPDX-License-Identifier: MIT
//! How long things took.
//!
//! Place in the flow: `analyses` hands over the duration of each finished call whose entry is in
//! the trace, with the pair that its two events make.

use serde::Serialize;
use state::PairIndex;

use crate::distribution::{Distribution, DistributionReport};
use crate::rows::Rows;

/// A row of the latency table: a pair, or a pair within a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatencyRow {
    /// `None`: all that came after the table was full.
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Calls that failed; 0 where it is not known what a call returns.
    pub failures: u64,
    #[serde(flatten)]
    pub duration: DistributionReport,
}

pub(crate) struct Latency {
    calls: Rows<(PairIndex, u32), Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    durations: Distribution,
    failures: u64,
}

impl Latency {
    pub fn new(row_limit: usize) -> Self {
        Self { calls: Rows::new(row_limit) }
    }

    #[inline]
    pub fn record(&mut self, pair: PairIndex, group: u32, duration_ns: u64, has_failed: bool) {
        let calls = self.calls.row((pair, group));
        calls.durations.record(duration_ns);
        calls.failures += u64::from(has_failed);
    }

    /// Rows in order of total time. `name` and `group` say what to call pairs and groups.
    pub fn finish(
        &self,
        name: impl Fn(PairIndex) -> String,
        group: impl Fn(u32) -> Option<String>,
    ) -> Vec<LatencyRow> {
        let rows = self.calls.iter().filter(|(_, calls)| calls.durations.count() > 0);
        let mut rows: Vec<LatencyRow> = rows
            .map(|(key, Calls { durations, failures })| LatencyRow {
                name: key.map(|(pair, _)| name(pair)),
                group: key.and_then(|(_, index)| group(index)),
                failures: *failures,
                duration: durations.report(),
            })
            .collect();
        rows.sort_by(|a, b| {
            let total = b.duration.total_ns.cmp(&a.duration.total_ns);
            total.then_with(|| (&a.name, &a.group).cmp(&(&b.name, &b.group)))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PairIndex = PairIndex(0);
    const B: PairIndex = PairIndex(1);

    #[test]
    fn rows_are_in_order_of_total_time() {
        let mut latency = Latency::new(1);
        latency.record(A, 0, 5, true);
        latency.record(B, 0, 7, false);
        latency.record(B, 0, 8, false);
        let rows = latency.finish(|pair| format!("pair{}", pair.0), |_| None);
        let found: Vec<_> = rows.iter().map(|r| (r.name.as_deref(), r.duration.total_ns)).collect();
        assert_eq!(found, [(None, 15), (Some("pair0"), 5)]);
        assert_eq!((rows[0].failures, rows[1].failures), (0, 1));
    }
}
