// SPDX-License-Identifier: MIT
//! What the verdict says of counts: what is not told apart, and what may be in no count.
//!
//! Place in the flow: `display` adds it when the probes have stopped, before the state is decided.

use super::display::Display;
use super::CONTEXTS;
use consumer::consumer::{CountedEvent, Counts};
use session::description::FieldKind;
use verdict::text::plural;
use verdict::Verdict;

pub(super) fn add(display: &Display, counts: &Counts, verdict: &mut Verdict) {
    if counts.unfinished > 0 {
        verdict.missing.push(format!(
            "{} in no count: its thread was killed while it counted, or still does",
            plural(counts.unfinished, "occurrence")
        ));
    }
    if counts.unknown > 0 {
        verdict.missing.push(format!(
            "{} of events that nobody described: a process wrote over the session's memory",
            plural(counts.unknown, "occurrence")
        ));
    }
    if display.tells_apart() {
        let crowded: Vec<&CountedEvent> =
            counts.events.iter().filter(|event| event.rest > 0).collect();
        let rest = crowded.iter().fold(0u64, |sum, event| sum.saturating_add(event.rest));
        let names: Vec<&str> =
            crowded.iter().map(|event| event.description.name.as_str()).take(8).collect();
        if rest > 0 {
            verdict.limits.push(format!(
                "of what is told apart: {} of {} counted without values, because there were too \
                 many different ones; give a larger --keys",
                plural(rest, "occurrence"),
                names.join(", ")
            ));
        }
    }
    if !counts.events.is_empty() {
        let by = display.by.iter().filter(|name| !explained(name, counts, |_| true));
        verdict.missing.extend(by.map(|name| unexplained("--by", name)));
        let hist = display.hist.iter().filter(|name| !explained(name, counts, is_number));
        verdict.missing.extend(hist.map(|name| unexplained("--hist", name)));
    }
}

/// Whether a name is a context's, or that of a field of an event that was counted.
fn explained(name: &str, counts: &Counts, fits: impl Fn(&FieldKind) -> bool) -> bool {
    let context = name.strip_prefix('$').unwrap_or(name);
    let fields = counts.events.iter().flat_map(|event| &event.description.fields);
    let mut named = fields.filter(|field| field.name == name);
    CONTEXTS.contains(&context) || named.any(|field| fits(&field.kind))
}

fn is_number(kind: &FieldKind) -> bool {
    use FieldKind::*;
    matches!(kind, Unsigned { .. } | Signed { .. } | Bool | Pointer | Enumeration(_) | Flags { .. })
}

fn unexplained(option: &str, name: &str) -> String {
    let what = match option {
        "--hist" => "no event that was counted has a field of this name that is a whole number",
        _ => "no event that was counted has a field of this name",
    };
    format!("{option} {name}: {what}; the contexts are {}", CONTEXTS.join(", "))
}
