// SPDX-License-Identifier: MIT
//! The arguments --on and --do: each --do belongs to the --on before it.
//!
//! Place in the flow: `lull record` and `lull start` take these; `plan` makes triggers of them. The
//! order of two arguments is nothing that a derived parser tells, so this one is written out.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

const ON: &str = "on";
const DO: &str = "do";

/// A condition, and what to do when it is met, as they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub on: String,
    pub does: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct TriggerArgs {
    pub given: Vec<Given>,
}

fn argument(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help)
}

impl Args for TriggerArgs {
    fn augment_args(command: Command) -> Command {
        let on = argument(
            ON,
            "CONDITION",
            "When this happens, do what each --do behind it says: 'EVENT if FILTER'; a call that \
             takes too long, 'io:read > 10ms'; an order in one thread, 'A then B within 5ms \
             without C' (a time without a unit is seconds); or 'crash', the end of a program by \
             a signal. With -k, events of the kernel's, too: 'syscalls:sys_read > 10ms'; by \
             tracefs, each occurrence is recorded for the recorder to decide",
        );
        let does = argument(
            DO,
            "ACTION",
            "What to do: snapshot, start (the session begins paused), stop, pause, enable PATTERN, \
             disable PATTERN, count, or run COMMAND; [2/s], [5/min] or [once] behind its name says \
             how often at most, as in 'run[once] COMMAND'",
        );
        command.arg(on).arg(does)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TriggerArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let placed = |name: &str| -> Vec<(usize, String)> {
            let values = matches.get_many::<String>(name).into_iter().flatten().cloned();
            matches.indices_of(name).into_iter().flatten().zip(values).collect()
        };
        let wrong = |why: &str| Error::raw(ErrorKind::MissingRequiredArgument, format!("{why}\n"));
        let (conditions, mut actions) = (placed(ON), placed(DO));
        let first = conditions.first().map_or(usize::MAX, |(place, _)| *place);
        if actions.iter().any(|(place, _)| *place < first) {
            return Err(wrong("--do stands behind the --on that it belongs to"));
        }
        let mut given = Vec::new();
        for (place, on) in conditions.into_iter().rev() {
            let from = actions.partition_point(|(at, _)| *at < place);
            let does: Vec<String> = actions.split_off(from).into_iter().map(|(_, d)| d).collect();
            if does.is_empty() {
                let why = format!("--on '{on}': a --do behind it says what to do, such as count");
                return Err(wrong(&why));
            }
            given.push(Given { on, does });
        }
        given.reverse();
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Vec<(String, Vec<String>)>, String> {
        let command = TriggerArgs::augment_args(Command::new("x"));
        let matches = command.try_get_matches_from(std::iter::once(&"x").chain(arguments));
        let args = TriggerArgs::from_arg_matches(&matches.unwrap()).map_err(|e| e.to_string())?;
        Ok(args.given.into_iter().map(|given| (given.on, given.does)).collect())
    }

    #[test]
    fn each_action_belongs_to_the_condition_before_it() {
        let all = parsed(&["--on", "a", "--do", "x", "--do", "y", "--on=b", "--do=z"]).unwrap();
        let owned = |on: &str, does: &[&str]| {
            (on.to_string(), does.iter().map(|text| text.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(all, [owned("a", &["x", "y"]), owned("b", &["z"])]);
        assert!(parsed(&[]).unwrap().is_empty());
        assert!(parsed(&["--do", "x", "--on", "a"]).unwrap_err().contains("behind the --on"));
        assert!(parsed(&["--on", "a", "--on", "b", "--do", "x"]).unwrap_err().contains("'a'"));
    }
}
