// SPDX-License-Identifier: MIT
//! What `lull merge` says: how each trace's clock is known, and which messages cannot be true.
//!
//! Place in the flow: after all traces are written, as lines for people or as one JSON object.

use std::path::Path;

use ::convert::{Converted, Counts, Sent};
use serde_json::{json, Value};
use trace::Trace;

use super::{Known, Merged};

/// Messages that arrived before they were sent, shown one by one.
const SHOWN: usize = 10;

pub(super) struct Told<'a> {
    pub traces: &'a [Trace],
    pub merged: &'a [Merged],
    pub written: &'a [Converted],
}

/// How a clock is known, in a word.
pub(super) fn known_by(known: &Known) -> &'static str {
    match known {
        Known::First => "itself",
        Known::Same { .. } => "same clock",
        Known::Messages { error_ns: Some(_), .. } => "messages",
        Known::Messages { error_ns: None, .. } => "messages one way",
        Known::Inconsistent { .. } => "inconsistent messages",
        Known::Not => "own clock",
    }
}

impl Told<'_> {
    pub fn lines(&self, folder: &Path) -> Vec<String> {
        let events: u64 = self.written.iter().map(|done| done.events).sum();
        let count = self.merged.len();
        let mut lines =
            vec![format!("{}: {events} events of {count} traces written", folder.display())];
        for (number, one) in self.merged.iter().enumerate() {
            lines.push(format!("{}: {}", one.name, self.clock(number)));
            lines.extend(self.violations(number).into_iter().map(|(line, _)| line));
        }
        lines
    }

    fn clock(&self, number: usize) -> String {
        let one = &self.merged[number];
        match &one.known {
            Known::First => "its clock is kept".into(),
            Known::Same { beside } => format!("has the clock of {}", self.merged[*beside].name),
            Known::Messages { beside, estimate, error_ns } => {
                let (to, from) = estimate.used;
                let (offset, drift) = (ns(one.correction.offset_ns), one.correction.drift * 1e6);
                let error = match error_ns {
                    Some(error) => format!("at most {} off", ns(error.ceil() as i64)),
                    None => "messages went one way only, so how far it is off is not known".into(),
                };
                let (least, most) = (estimate.least_drift * 1e6, estimate.most_drift * 1e6);
                format!(
                    "moved by {offset} and {drift:.3} ppm ({least:.3} to {most:.3} beside {}), \
                     by {to} messages to it and {from} from it; {error}",
                    self.merged[*beside].name
                )
            }
            Known::Inconsistent { beside } => format!(
                "its messages with {} contradict one another; its times are those of its own \
                 clock, and how far that is off is not known",
                self.merged[*beside].name
            ),
            Known::Not => {
                let clock = self.traces[number].clocks().first();
                let precision = clock.map(|clock| clock.precision_cycles).filter(|p| *p > 0);
                let precision = precision.map_or(String::new(), |cycles| {
                    format!(" (it is precise to {cycles} of its cycles, as its metadata says)")
                });
                format!(
                    "no message tells of its clock{precision}; its times are those, and how far \
                     they are off is not known"
                )
            }
        }
    }

    /// What arrived before it was sent, as lines and as objects.
    fn violations(&self, number: usize) -> Vec<(String, Value)> {
        let Known::Messages { beside, estimate, .. } = &self.merged[number].known else {
            return Vec::new();
        };
        let (own, other) = (&self.merged[number], &self.merged[*beside]);
        let told = |sent: &Sent, from: &Merged, to: &Merged| {
            let early = from.correction.apply(sent.send_ns) - to.correction.apply(sent.receive_ns);
            let line = format!(
                "a message from {} at {} arrived at {} {} before it was sent, and was not used",
                from.name,
                sent.send_ns,
                to.name,
                ns(early)
            );
            let object = json!({
                "from": from.name, "to": to.name, "send_ns": sent.send_ns,
                "receive_ns": sent.receive_ns, "early_ns": early,
            });
            (line, object)
        };
        let to = estimate.violations.0.iter().map(|sent| told(sent, own, other));
        let from = estimate.violations.1.iter().map(|sent| told(sent, other, own));
        to.chain(from).take(SHOWN).collect()
    }

    pub fn json(&self, folder: &Path, counts: Counts) -> Value {
        let trace = |number: usize| {
            let (one, done) = (&self.merged[number], &self.written[number]);
            let mut clock = json!({
                "known_by": known_by(&one.known),
                "moved_at_ns": one.correction.at_ns,
                "moved_ns": one.correction.offset_ns,
                "drift_ppb": one.correction.drift * 1e9,
            });
            if let Known::Messages { beside, estimate, error_ns } = &one.known {
                clock["beside"] = json!(self.merged[*beside].name);
                clock["error_ns"] = json!(error_ns);
                clock["least_drift_ppb"] = json!(estimate.least_drift * 1e9);
                clock["most_drift_ppb"] = json!(estimate.most_drift * 1e9);
                clock["messages_to"] = json!(estimate.used.0);
                clock["messages_from"] = json!(estimate.used.1);
            }
            json!({
                "name": one.name,
                "from": self.traces[number].path(),
                "events": done.events,
                "lost_events": done.lost_events,
                "lost_packets": done.lost_packets,
                "problems": done.problems.len(),
                "clock": clock,
            })
        };
        let all = 0..self.merged.len();
        let violations = all.clone().flat_map(|number| self.violations(number));
        json!({
            "version": 1,
            "folder": folder,
            "traces": all.map(trace).collect::<Vec<_>>(),
            "violations": violations.map(|(_, object)| object).collect::<Vec<_>>(),
            "messages": {
                "matched": counts.matched,
                "unmatched": counts.unmatched,
                "repeated": counts.repeated,
            },
        })
    }
}

/// A duration as people read it.
fn ns(ns: i64) -> String {
    match ns.unsigned_abs() {
        0..=9_999 => format!("{ns} ns"),
        10_000..=9_999_999 => format!("{:.3} us", ns as f64 / 1e3),
        10_000_000..=9_999_999_999 => format!("{:.6} ms", ns as f64 / 1e6),
        _ => format!("{:.9} s", ns as f64 / 1e9),
    }
}
