// SPDX-License-Identifier: MIT
//! A frame as text: the lines above the tables, and all tables one below the other.
//!
//! Place in the flow: `--once` prints a whole frame, and so does the terminal when it is left
//! because the session ended. `screen` draws the same lines.

use super::frame::Frame;
use super::views::{View, VIEWS};
use crate::live::status::age;
use crate::report::look::Look;
use crate::report::number::rate;
use crate::shown::shown;
use verdict::text::{bytes, grouped};

/// What is above the tables.
pub fn header(frame: &Frame) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", shown(&frame.session), frame.state.name())];
    // Until the recorder has answered once, it is not known.
    if let (Some(line), false) = (lines.first_mut(), frame.mode.is_empty()) {
        line.push_str(&format!(
            "  {}  {}, {} of buffers, processes {}",
            age(frame.age_ns),
            shown(&frame.mode),
            bytes(frame.buffer_bytes),
            grouped(frame.attached),
        ));
    }
    lines.push(match &frame.recorded {
        Some(recorded) => format!(
            "events/s {}  bytes/s {}  lost/s {}  in all {} events, {}",
            rate(recorded.recorded_per_s),
            bytes(recorded.written_bytes_per_s.round() as u64),
            rate(recorded.lost_per_s),
            grouped(recorded.recorded_events),
            bytes(recorded.written_bytes),
        ),
        None => "events/s ?  bytes/s ?  lost/s ?".into(),
    });
    lines.push(format!("verdict  {}", shown(&frame.verdict)));
    lines.extend(frame.notes.iter().map(|note| format!("note  {}", shown(note))));
    lines
}

/// All of a frame.
pub fn whole(frame: &Frame, filter: &str, look: &Look) -> String {
    let mut text = header(frame).join("\n") + "\n";
    if !frame.is_followed {
        return text;
    }
    for view in VIEWS {
        text.push('\n');
        text.push_str(&look.bold(view.title()));
        text.push('\n');
        table(view, frame, filter, look, &mut text);
    }
    text
}

fn table(view: View, frame: &Frame, filter: &str, look: &Look, text: &mut String) {
    let mut rows = view.rows(frame, view.first_order(), filter);
    let more = rows.len().saturating_sub(look.top);
    rows.truncate(look.top);
    match rows.is_empty() {
        true => text.push_str(&format!("{}\n", view.when_empty())),
        false => view.table(&rows).render(look, text),
    }
    if more > 0 {
        text.push_str(&format!("and {} more\n", grouped(more as u64)));
    }
}
