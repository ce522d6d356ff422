// SPDX-License-Identifier: MIT
//! Decodes a trace in time order and prints how many events it holds: `bench-decode MODE TRACE`.
//!
//! MODE `count` finds each event and its time; `fields` also reads every field of it, which is
//! what babeltrace2 does before its counter sees an event. Traces below TRACE are merged.

use std::hint::black_box;
use std::process::ExitCode;

use trace::{find_traces, Error, Integer, Merge, Message, Name, Trace, Visitor};

/// Uses every value, so that reading it cannot be optimised away.
#[derive(Default)]
struct Sum(u64);

impl Visitor for Sum {
    fn unsigned(&mut self, _: Name<'_>, value: u64, _: &Integer) {
        self.0 = self.0.wrapping_add(value);
    }

    fn signed(&mut self, _: Name<'_>, value: i64, _: &Integer) {
        self.0 = self.0.wrapping_add(value as u64);
    }

    fn text(&mut self, _: Name<'_>, bytes: &[u8]) {
        self.0 = self.0.wrapping_add(bytes.len() as u64);
    }
}

/// Events found and events that could not be read.
fn decode(folder: &str, with_fields: bool) -> Result<(u64, u64), Error> {
    let paths = find_traces(folder)?;
    let traces = paths.iter().map(Trace::open).collect::<Result<Vec<_>, _>>()?;
    let mut merge = Merge::over(&traces);
    let (mut events, mut unread, mut sum) = (0, 0, Sum::default());
    while let Some(message) = merge.next() {
        if let Message::Event(event) = message {
            events += 1;
            black_box(event.time_ns());
            if with_fields {
                unread += u64::from(event.fields(&mut sum).is_err());
            }
        }
    }
    black_box(sum.0);
    Ok((events, unread))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, folder] = words.as_slice() else {
        eprintln!("usage: bench-decode count|fields TRACE");
        return ExitCode::from(2);
    };
    match decode(folder, mode == "fields") {
        Ok((events, 0)) => {
            println!("{events}");
            ExitCode::SUCCESS
        }
        Ok((_, unread)) => {
            eprintln!("bench-decode: {folder}: {unread} events could not be read");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("bench-decode: {error}");
            ExitCode::from(2)
        }
    }
}
