// SPDX-License-Identifier: MIT
//! The verdict in words: whether the trace is complete, or what is missing, where, and why; and at
//! the end what that means.
//!
//! Place in the flow: two sections of the text report, the second and the last.

use ::verdict::State;
use analysis::{Cause, LostRow, Report};

use crate::print::clock::TimeOfDay;
use crate::shown::shown;

use super::look::Look;
use super::number::{duration, grouped, offset, plural};

/// Lines of one kind that are printed; the rest are counted.
const MOST_LINES: usize = 8;

pub(super) fn render(report: &Report, look: &Look, out: &mut String) {
    let state = report.verdict.state;
    let headline = capitalised(state.headline());
    let line = match state {
        State::Complete | State::Limited | State::Stopped => look.good(&headline),
        State::Unknown => headline,
        _ => look.bad(&headline),
    };
    out.push_str(&line);
    out.push('\n');
    let begin_ns = (report.events > 0).then_some(report.begin_ns);
    let lost = report.lost_where.iter().map(|row| lost_line(row, begin_ns));
    lines(lost.collect(), "losses", out);
    lines(report.verdict.missing.clone(), "sentences", out);
    lines(report.verdict.limits.clone(), "limits", out);
    let problems = report.verdict.problems.iter().map(|problem| format!("damaged: {problem}"));
    let count = report.verdict.problem_count as usize;
    let mut problems: Vec<String> = problems.collect();
    let kept = problems.len().min(MOST_LINES);
    problems.truncate(kept);
    lines(problems, "problems", out);
    if count > kept {
        out.push_str(&format!("  and {} more\n", plural((count - kept) as u64, "problem")));
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn lines(lines: Vec<String>, what: &str, out: &mut String) {
    for line in lines.iter().take(MOST_LINES) {
        out.push_str(&format!("  {}\n", shown(line)));
    }
    if lines.len() > MOST_LINES {
        let more = (lines.len() - MOST_LINES) as u64;
        out.push_str(&format!("  and {} {what} more; --json has them all\n", grouped(more)));
    }
}

/// `12 events lost on CPU 3 within 110 ms from +1.20 s, in 2 places: the buffer was full`. Where
/// there is no first event to count from, a date and a time of day stand for `+1.20 s`.
fn lost_line(row: &LostRow, begin_ns: Option<i64>) -> String {
    let at = |ns: i64| begin_ns.map_or_else(|| moment(ns), |begin_ns| offset(ns, begin_ns));
    let (noun, why) = match row.cause {
        Cause::Full => ("event", "the buffer was full"),
        Cause::Overflow => {
            ("event", "the buffer came round to a sub-buffer that was still being written")
        }
        Cause::TooBig => ("event", "larger than a sub-buffer"),
        Cause::InFlight => ("event", "their writers died or were stopped while writing them"),
        Cause::Other => ("event", "the tracer does not say why"),
        Cause::Packets => ("packet", "nobody knows how many events they held"),
    };
    let cpu = row.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let span = match (row.begin_ns, row.until_ns) {
        (Some(begin), Some(until)) => {
            let length = u64::try_from(until.saturating_sub(begin)).unwrap_or(0);
            format!(" within {} from {}", duration(length), at(begin))
        }
        (None, Some(until)) => format!(" before {}", at(until)),
        _ => String::new(),
    };
    let times = match row.times {
        0 | 1 => String::new(),
        times => format!(", in {} places", grouped(times)),
    };
    format!("{} lost{cpu}{span}{times}: {why}", plural(row.count, noun))
}

fn moment(ns: i64) -> String {
    let mut text = Vec::new();
    TimeOfDay::new(false).dated().write(&mut text, ns);
    String::from_utf8_lossy(&text).into_owned()
}

/// What the verdict means and what to do.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let lost = &report.lost;
    let mut notes = report.verdict.notes.clone();
    let mut note = |applies: bool, text: &str| {
        if applies {
            notes.push(text.into());
        }
    };
    note(
        lost.full > 0,
        "full buffer: events came faster than they were written out. Give `lull record` larger or \
         more buffers (--buffer-size, --buffers), or record fewer events (-e).",
    );
    note(
        lost.overflow > 0,
        "overflow: a thread was interrupted while writing and the buffer went once around it. \
         More or larger buffers make that rare.",
    );
    note(
        lost.too_big > 0,
        "too big: an event must fit into one sub-buffer. Use a larger --buffer-size.",
    );
    note(
        lost.in_flight > 0,
        "in flight: each thread that is killed can take the one event with it that it is writing. \
         Nothing else is lost by that.",
    );
    note(
        report.verdict.problem_count > 0,
        "damage: the reader skipped what it could not decode; all around it is in this \
         report.",
    );
    note(
        lost.events > 0 || lost.packets > 0 || report.verdict.problem_count > 0,
        "Counts are of the events that are there. Where some are missing, an entry may be paired \
         with the wrong exit, and what looks still running may have ended.",
    );
    note(
        report.verdict.state == State::Stopped,
        "stopped: the recording reached --max-size and ended there; the program ran on untraced.",
    );
    notes
}
