// SPDX-License-Identifier: MIT
//! The rate over time as one line of blocks, or of ASCII.
//!
//! Place in the flow: one section of the text report. Bins of the analysis are spread over as many
//! columns as there are, by the time they cover.

use analysis::Report;

use super::look::Look;
use super::number;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];
const MOST_COLUMNS: usize = 100;

/// The line under its heading; nothing for a trace without duration.
pub(super) fn render(report: &Report, look: &Look, out: &mut String) {
    let bins = report.duration_ns / report.rate.bin_ns.max(1) + 1;
    let columns = (look.columns - 2).min(MOST_COLUMNS).min(usize::try_from(bins).unwrap_or(1));
    if report.matched_events == 0 || columns < 2 {
        return;
    }
    let column_ns = report.duration_ns as f64 / columns as f64;
    let events = spread(&report.rate.events, report.rate.bin_ns, report.duration_ns, columns);
    let most = events.iter().copied().fold(0.0, f64::max);
    let heading = format!(
        "Rate: {} a column, most {}/s",
        number::duration(column_ns as u64),
        number::rate(most * 1e9 / column_ns)
    );
    out.push_str(&look.bold(&heading));
    out.push('\n');
    let levels = if look.is_utf8 { BLOCKS } else { ASCII };
    let line: String = events.iter().map(|events| levels[level(*events, most)]).collect();
    out.push_str(&format!("|{line}|\n"));
}

/// Nothing is 0, anything is at least 1, the most is 8.
fn level(events: f64, most: f64) -> usize {
    match most > 0.0 && events > 0.0 {
        true => ((events / most * 8.0).ceil() as usize).clamp(1, 8),
        false => 0,
    }
}

/// Events of each column, when bins are spread evenly over the time they cover.
fn spread(bins: &[u64], bin_ns: u64, duration_ns: u64, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    let column_ns = duration_ns as f64 / columns as f64;
    for (index, events) in bins.iter().enumerate() {
        let begin = (index as f64 * bin_ns as f64).min(duration_ns as f64);
        let until = (begin + bin_ns as f64).min(duration_ns as f64);
        let first = ((begin / column_ns) as usize).min(columns - 1);
        let last = ((until / column_ns) as usize).min(columns - 1);
        let covered = until - begin;
        for (column, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
            let inside = ((column + 1) as f64 * column_ns).min(until)
                - (column as f64 * column_ns).max(begin);
            let share = if covered > 0.0 { (inside / covered).clamp(0.0, 1.0) } else { 1.0 };
            *sum += *events as f64 * share;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_events_give_equal_columns_even_where_bins_do_not_divide() {
        // Seven and a half bins of 10 ns over 75 ns, one event each nanosecond.
        let bins = [10, 10, 10, 10, 10, 10, 10, 5];
        for columns in [2, 3, 5, 8] {
            let sums = spread(&bins, 10, 75, columns);
            let wanted = 75.0 / columns as f64;
            assert!(sums.iter().all(|sum| (sum - wanted).abs() < 1e-9), "{columns}: {sums:?}");
        }
    }

    #[test]
    fn one_event_shows_beside_a_million_and_none_does_not() {
        assert_eq!([level(0.0, 1e6), level(1.0, 1e6), level(1e6, 1e6)], [0, 1, 8]);
        assert_eq!(level(0.0, 0.0), 0);
    }
}
