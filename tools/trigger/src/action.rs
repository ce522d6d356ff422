// SPDX-License-Identifier: MIT
//! The grammar of actions.
//!
//! ```text
//! action = NAME [ "[" RATE "]" ] [ ARGUMENT ]     run[2/min] notify-send "it is slow"
//! RATE   = "once" | COUNT "/" ( "s" | "min" | "h" )
//! ```
//!
//! Place in the flow: the argument of --do -> **action**. What an action may do beside what, the
//! command checks, which knows the session.

use crate::{Error, Rate};
use std::ops::Range;

const ARGUMENT: &str = "--do";
/// Longer ones are refused; a script takes what is longer.
const TEXT_BYTES_MAX: usize = 8192;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Write what a flight recorder holds.
    Snapshot,
    /// Record from now on; the session begins paused.
    Start,
    /// End the session.
    Stop,
    /// Record nothing from now on.
    Pause,
    /// Only count that it happened.
    Count,
    /// Record these events, too, as -e takes them.
    Enable(String),
    Disable(String),
    /// A line for a shell.
    Run(String),
}

/// An action, and how often it may be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    pub text: String,
    pub action: Action,
    pub rate: Rate,
}

impl Deed {
    /// How often it may be done where strangers can have it done: what stops threads of programs,
    /// or changes what the trace has, once per second unless it was said how often.
    pub fn rate_for_anybody(&self) -> Rate {
        match (&self.action, self.rate) {
            (Action::Count | Action::Stop, rate) => rate,
            (_, Rate::Any) => Rate::PER_SECOND,
            (_, rate) => rate,
        }
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let error = |place: Range<usize>, why: &str| Error {
            argument: ARGUMENT,
            text: text.into(),
            place,
            why: why.into(),
        };
        if text.len() > TEXT_BYTES_MAX {
            let why = format!("it has more than {TEXT_BYTES_MAX} bytes");
            return Err(Error { argument: ARGUMENT, text: String::new(), place: 0..0, why });
        }
        if text.contains(['\n', '\0']) {
            return Err(error(0..text.len(), "it is one line, and has no NUL"));
        }
        let begin = text.len() - text.trim_start().len();
        let rest = &text[begin..];
        let end = rest.find(|c: char| c == '[' || c.is_whitespace()).unwrap_or(rest.len());
        let name_place = begin..begin + end;
        let (name, mut behind) = rest.split_at(end);
        let mut given = None;
        if let Some(inside) = behind.strip_prefix('[') {
            let at = begin + end + 1;
            let Some((rate, others)) = inside.split_once(']') else {
                return Err(error(text.len()..text.len(), "here could stand a ]"));
            };
            let why = "how often it may be done is `once` or like 2/s, 5/min, 1/h";
            given = Some(Rate::parse(rate).ok_or_else(|| error(at..at + rate.len(), why))?);
            behind = others;
        }
        let argument = behind.trim();
        let argument_at = text.len() - behind.len() + (behind.len() - behind.trim_start().len());
        let argument_place = argument_at..argument_at + argument.len();
        let needs = |what: &str| match argument {
            "" => Err(error(text.len()..text.len(), &format!("here could stand {what}"))),
            argument => Ok(argument.to_string()),
        };
        let action = match name {
            "enable" => Action::Enable(needs("a pattern, such as io:*")?),
            "disable" => Action::Disable(needs("a pattern, such as io:*")?),
            "run" => Action::Run(needs("a command")?),
            "snapshot" | "start" | "stop" | "pause" | "count" if !argument.is_empty() => {
                return Err(error(argument_place, "nothing follows this action"));
            }
            "snapshot" => Action::Snapshot,
            "start" => Action::Start,
            "stop" => Action::Stop,
            "pause" => Action::Pause,
            "count" => Action::Count,
            _ => {
                let why = "the actions are snapshot, start, stop, pause, enable PATTERN, disable \
                           PATTERN, count and run COMMAND";
                return Err(error(name_place, why));
            }
        };
        let rate = given.unwrap_or(match action {
            Action::Snapshot | Action::Run(_) => Rate::PER_SECOND,
            _ => Rate::Any,
        });
        Ok(Self { text: text.trim().to_string(), action, rate })
    }
}
