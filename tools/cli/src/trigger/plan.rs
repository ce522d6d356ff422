// SPDX-License-Identifier: MIT
//! What --on and --do ask for, checked: against each other, against the session, and against the
//! events that files tell of.
//!
//! Place in the flow: before anything is made. `companion` takes from here which events it is to
//! record, with filters where one can say for all conditions on an event what none of them needs.

use super::args::Given;
use super::kernel::{Offered, Origin};
use crate::nearest::advice;
use crate::record::asked::Asked;
use crate::record::change;
use crate::record::kernel::{self, Kernel};
use crate::{duration, list, say};
use ::kernel::decode::LEVEL;
use anyhow::bail;
use filter::Of;
use session::description::Description;
use session::pattern::Patterns;
use state::pair_ends;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use trigger::{Action, Clause, Condition, Deed, Demand, Kind};

/// Triggers of a session, and actions of one.
pub const TRIGGERS_MAX: usize = control::TRIGGERS_MAX;
const DEEDS_MAX: usize = 8;
/// Of these events, probes evaluate no filters.
const EXEMPT: &str = "process:";

pub struct Trigger {
    pub condition: Condition,
    pub deeds: Vec<Deed>,
}

/// What is known of the session that is to have triggers.
pub struct Facts {
    pub is_flight_recorder: bool,
    /// Whether it ends with a program of its own.
    pub has_program: bool,
    /// Whether there are or may be programs.
    pub can_join: bool,
    pub kernel: Whence,
}

/// Where the kernel's events of conditions come from.
#[derive(Debug, Clone)]
pub enum Whence {
    /// Only programs are recorded.
    Nowhere,
    /// That is known to the recorder, which checks them.
    Unknown,
    From(Origin),
}

impl Whence {
    /// As far as is known before there is a recorder. `is_recorded`: whether the kernel is.
    pub fn of(is_recorded: bool) -> Self {
        match is_recorded {
            true => Self::Unknown,
            false => Self::Nowhere,
        }
    }

    /// As the recorder knows it.
    pub fn by(kernel: Option<&Kernel>) -> Self {
        kernel.map_or(Self::Nowhere, |kernel| Self::From(kernel.origin()))
    }
}

impl Facts {
    /// The same, once it is known by what the kernel's events are recorded.
    pub fn with(self, kernel: Option<&Kernel>) -> Self {
        Self { kernel: Whence::by(kernel), ..self }
    }
}

/// Triggers as they were asked for, checked against the session, and against the events of the
/// programs that are known to be or to come.
pub fn triggers(
    given: &[Given],
    facts: &Facts,
    programs: &[PathBuf],
) -> anyhow::Result<Vec<Trigger>> {
    let triggers = parsed(given, facts)?;
    if triggers.is_empty() {
        return Ok(triggers);
    }
    let own = list::known_events(Path::new(""));
    let of_programs: Vec<Description> =
        programs.iter().flat_map(|path| list::known_events(path)).collect();
    let known: Vec<&Description> = own.iter().chain(&of_programs).collect();
    let of_kernel = kernel::known_events();
    let is_kernels = |pattern: &str| {
        let is_it = |(name, level): &(String, u8)| Patterns::alone_matches(pattern, name, *level);
        of_kernel.iter().any(is_it) || is_kernels_by_default(pattern)
    };
    let kernel = &facts.kernel;
    let events = Events {
        known: &known,
        of: Of::Program,
        own: &own,
        programs,
        kernel,
        is_kernels: &is_kernels,
    };
    triggers.iter().try_for_each(|trigger| events.check(&trigger.condition))?;
    Ok(triggers)
}

/// Checks the kernel's events of conditions, where the recorder knows by what they are recorded.
pub fn check_kernel(triggers: &[Trigger], facts: &Facts) -> anyhow::Result<()> {
    let conditions = || triggers.iter().map(|trigger| &trigger.condition);
    let names: Vec<String> = conditions().flat_map(events_of).collect();
    let Whence::From(origin) = &facts.kernel else {
        return match names.iter().find(|name| is_kernels_by_default(name)) {
            Some(name) => bail!("--on: {}", not_recorded(name)),
            None => Ok(()),
        };
    };
    let is_asked =
        |event: &str| names.iter().any(|name| Patterns::alone_matches(name, event, LEVEL));
    let offered = origin.offered(&is_asked)?;
    let group = |name: &str| name.split_once(':').map(|(group, _)| group.to_string());
    let groups: BTreeSet<Option<String>> = offered.names.iter().map(|name| group(name)).collect();
    for condition in conditions() {
        let names: Vec<String> = events_of(condition).collect();
        let is_there = |name: &String| {
            offered.names.iter().any(|event| Patterns::alone_matches(name, event, LEVEL))
        };
        let is_of_kernels_group = |name: &String| groups.contains(&group(name));
        let is_kernels = match &condition.kind {
            Kind::Crash => false,
            Kind::Latency { pair, .. } => groups.contains(&group(pair)),
            _ => names.iter().any(|name| is_there(name) || is_of_kernels_group(name)),
        };
        if !facts.can_join || is_kernels {
            check_on_kernel(condition, facts, origin, &offered, &is_of_kernels_group)?;
        }
    }
    Ok(())
}

/// Which conditions are on events of the kernel's, in a session whose users are told apart. Refuses
/// one that is on some of the kernel's and some of programs.
pub fn are_kernels<'a>(
    conditions: impl Iterator<Item = &'a Condition>,
    origin: Option<&Origin>,
) -> anyhow::Result<Vec<bool>> {
    let offered = origin.map(|origin| origin.offered(&|_| false)).transpose()?.unwrap_or_default();
    let groups: BTreeSet<&str> =
        offered.names.iter().filter_map(|name| Some(name.split_once(':')?.0)).collect();
    let is_kernels =
        |name: &str| name.split_once(':').is_some_and(|(group, _)| groups.contains(group));
    let of_condition = |condition: &Condition| match &condition.kind {
        Kind::Latency { pair, .. } => Ok(is_kernels(pair)),
        _ => {
            let clauses = condition.clauses();
            let count = clauses.iter().filter(|clause| is_kernels(&clause.pattern)).count();
            if (1..clauses.len()).contains(&count) {
                bail!(
                    "--on '{}': in a session of the whole machine, all events of an order are \
                     programs' or all are the kernel's: which thread an event of a program is of, \
                     the program says itself, and it could name another user's",
                    condition.text
                );
            }
            Ok(count > 0)
        }
    };
    conditions.map(of_condition).collect()
}

/// Whether no condition is on an event of programs'.
pub fn are_all_kernels<'a>(
    conditions: impl Iterator<Item = &'a Condition>,
    origin: Option<&Origin>,
) -> bool {
    are_kernels(conditions, origin).is_ok_and(|each| each.iter().all(|is_kernels| *is_kernels))
}

/// Checks a condition of which some event is the kernel's, or has to be.
fn check_on_kernel(
    condition: &Condition,
    facts: &Facts,
    origin: &Origin,
    offered: &Offered,
    is_of_kernels_group: &dyn Fn(&String) -> bool,
) -> anyhow::Result<()> {
    let known: Vec<&Description> = offered.known.iter().collect();
    let is_kernels = |_: &str| false;
    let events = Events {
        known: &known,
        of: origin.filtered(),
        own: &[],
        programs: &[],
        kernel: &facts.kernel,
        is_kernels: &is_kernels,
    };
    let told = |what: &str, name: &str, names: &BTreeSet<String>| {
        let near = advice(name, names.iter().map(String::as_str));
        let whose = match origin {
            Origin::Module => "that the module lull has",
            Origin::Tracefs { .. } => "that tracefs has",
        };
        format!(
            "--on '{}': there is no {what} {name} of the kernel's {whose}{near}; `lull list -k` \
             shows all events",
            condition.text
        )
    };
    let has = |name: &str| offered.names.iter().any(|event| event == name);
    if let Kind::Latency { pair, .. } = &condition.kind {
        if !pair_ends(pair).any(|(entry, exit)| has(&entry) && has(&exit)) {
            let call = |name: &String| match name.strip_prefix("syscalls:sys_enter_") {
                Some(call) => Some(format!("syscalls:sys_{call}")),
                None => name.strip_suffix("_entry").map(str::to_string),
            };
            bail!("{}", told("call", pair, &offered.names.iter().filter_map(call).collect()));
        }
    }
    for clause in condition.clauses() {
        let is_it = |event: &String| Patterns::alone_matches(&clause.pattern, event, LEVEL);
        let is_needed = !facts.can_join || is_of_kernels_group(&clause.pattern);
        if is_needed && !offered.names.iter().any(is_it) {
            let names = offered.names.iter().cloned().collect();
            bail!("{}", told("event", &clause.pattern, &names));
        }
    }
    events.check(condition)
}

/// The patterns of the events that a condition names.
fn events_of(condition: &Condition) -> impl Iterator<Item = String> + '_ {
    let ends = match &condition.kind {
        Kind::Latency { pair, .. } => Some(pair_ends(pair).flat_map(|(entry, exit)| [entry, exit])),
        _ => None,
    };
    let clauses = condition.clauses().into_iter().map(|clause| clause.pattern.clone());
    clauses.chain(ends.into_iter().flatten())
}

/// Whether a pattern names events that are the kernel's everywhere.
fn is_kernels_by_default(pattern: &str) -> bool {
    ["sched:sched_", "syscalls:sys_"].iter().any(|begin| pattern.starts_with(begin))
}

fn not_recorded(name: &str) -> String {
    format!(
        "{name} is an event of the kernel's, which this session does not record; begin it with -k, \
         as root"
    )
}

/// The same, without a look at any file.
pub fn parsed(given: &[Given], facts: &Facts) -> anyhow::Result<Vec<Trigger>> {
    if given.len() > TRIGGERS_MAX {
        bail!("--on: {TRIGGERS_MAX} at most");
    }
    let mut triggers = Vec::new();
    for Given { on, does } in given {
        let condition = Condition::parse(on, duration::parse)?;
        if !facts.can_join && condition.kind == Kind::Crash {
            bail!("--on crash: it is the end of a program, and only the kernel is recorded");
        }
        for clause in condition.clauses() {
            Patterns::exactly(std::slice::from_ref(&clause.pattern)).map_err(|bad| {
                anyhow::anyhow!("--on '{}': {}: {}", condition.text, bad.pattern, bad.reason)
            })?;
        }
        if !(1..=DEEDS_MAX).contains(&does.len()) {
            bail!("--on '{on}': 1 to {DEEDS_MAX} actions, and there are {}", does.len());
        }
        let deeds: Vec<Deed> =
            does.iter().map(|text| Deed::parse(text)).collect::<Result<_, _>>()?;
        deeds.iter().try_for_each(|deed| check_deed(deed, &condition, facts))?;
        triggers.push(Trigger { condition, deeds });
    }
    Ok(triggers)
}

/// Whether a session that begins with these triggers begins paused, because one is to start it.
pub fn begins_paused(triggers: &[Trigger]) -> bool {
    triggers.iter().flat_map(|trigger| &trigger.deeds).any(|deed| deed.action == Action::Start)
}

/// Whether it is looked for the ends of processes that are not the recorder's children.
pub fn watches_all<'a>(mut conditions: impl Iterator<Item = &'a Condition>) -> bool {
    conditions.any(|condition| condition.kind == Kind::Crash)
}

fn check_deed(deed: &Deed, condition: &Condition, facts: &Facts) -> anyhow::Result<()> {
    let text = &deed.text;
    let changes = match &deed.action {
        Action::Snapshot if !facts.is_flight_recorder => {
            bail!(
                "--do {text}: only a flight recorder has something to write out; give \
                   --flight-recorder"
            )
        }
        Action::Enable(argument) => Some((true, argument)),
        Action::Disable(argument) => Some((false, argument)),
        _ => None,
    };
    if let Some((is_enable, argument)) = changes {
        let asked = change::asked(is_enable, std::slice::from_ref(argument))?;
        Patterns::exactly(asked.patterns())?;
    }
    let is_of_the_living =
        changes.is_some() || matches!(deed.action, Action::Start | Action::Pause);
    if condition.kind == Kind::Crash && facts.has_program && is_of_the_living {
        bail!(
            "--on crash --do '{text}': when the program has ended, so has the recording; snapshot, \
             count, stop and run are possible"
        );
    }
    Ok(())
}

/// The events that files tell of.
struct Events<'a> {
    known: &'a [&'a Description],
    /// Whose they are.
    of: Of,
    /// Those of liblull, whose groups nobody else adds to.
    own: &'a [Description],
    /// Whose files, beside liblull's.
    programs: &'a [PathBuf],
    kernel: &'a Whence,
    /// Whether a pattern names events of the kernel's.
    is_kernels: &'a dyn Fn(&str) -> bool,
}

impl Events<'_> {
    /// Checks each event of a condition.
    fn check(&self, condition: &Condition) -> anyhow::Result<()> {
        if let Kind::Latency { pair, demands, .. } = &condition.kind {
            demands.iter().try_for_each(|demand| self.check_demand(condition, pair, demand))?;
            let has = |name: &str| self.known.iter().any(|event| event.name == name);
            if !pair_ends(pair).any(|(entry, exit)| has(&entry) && has(&exit)) {
                let names =
                    |event: &&Description| event.name.strip_suffix("_entry").map(str::to_string);
                let pairs = self.known.iter().filter_map(names).collect();
                let what = format!("no call {pair}, whose entry and exit are events");
                return self.absent(condition, pair, &what, &pairs);
            }
        }
        for clause in condition.clauses() {
            let is_its = |event: &&&Description| {
                Patterns::alone_matches(&clause.pattern, &event.name, event.level)
            };
            let its: Vec<&Description> = self.known.iter().filter(is_its).copied().collect();
            if its.is_empty() {
                let names = self.known.iter().map(|event| event.name.clone()).collect();
                let what = format!("no event {}", clause.pattern);
                self.absent(condition, &clause.pattern, &what, &names)?;
            }
            if let Some(filter) = &clause.filter {
                its.iter().try_for_each(|event| filter.fits(event, self.of))?;
                let unexplained = filter.unexplained(&its, self.of);
                if let Some(error) = unexplained.filter(|_| !its.is_empty()) {
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Checks a part of a call's filter, which is of the entry or of the exit.
    fn check_demand(
        &self,
        condition: &Condition,
        pair: &str,
        Demand { filter, at }: &Demand,
    ) -> anyhow::Result<()> {
        let named = |names: Vec<String>| -> Vec<&Description> {
            self.known.iter().filter(|event| names.contains(&event.name)).copied().collect()
        };
        let (entries, exits): (Vec<String>, Vec<String>) = pair_ends(pair).unzip();
        let ends = [named(entries), named(exits)];
        if ends.iter().any(Vec::is_empty) {
            return Ok(()); // As far as is known.
        }
        let marked = |place: Range<usize>, why: String| trigger::Error {
            argument: "--on",
            text: condition.text.clone(),
            place: at + place.start..at + place.end,
            why,
        };
        let explains = |its: &&Vec<&Description>| filter.unexplained(its, self.of).is_none();
        if let Some(its) = ends.iter().find(explains) {
            let wrong = its.iter().find_map(|event| filter.fits(event, self.of).err());
            return wrong.map_or(Ok(()), |wrong| Err(marked(wrong.place, wrong.why).into()));
        }
        let of_both = filter.unexplained(&ends.concat(), self.of);
        Err(match of_both {
            Some(wrong) => marked(wrong.place, wrong.why),
            None => marked(
                0..filter.text().len(),
                "this is of the entry's fields and of the exit's at once; of each by itself, && \
                 joins what is asked for"
                    .into(),
            ),
        }
        .into())
    }

    /// An event that no file tells of: an error where none can come, and else a word.
    fn absent(
        &self,
        condition: &Condition,
        name: &str,
        what: &str,
        names: &BTreeSet<String>,
    ) -> anyhow::Result<()> {
        let text = &condition.text;
        let is_kernels = match &condition.kind {
            Kind::Latency { .. } => events_of(condition).any(|name| (self.is_kernels)(&name)),
            _ => (self.is_kernels)(name),
        };
        match self.kernel {
            Whence::Nowhere if is_kernels => bail!("--on '{text}': {}", not_recorded(name)),
            Whence::Unknown if is_kernels => return Ok(()),
            _ => {}
        }
        let group = |name: &str| name.split_once(':').map(|(group, _)| group.to_string());
        let group_of_name = group(name);
        let is_own = group_of_name.is_some()
            && self.own.iter().any(|event| group(&event.name) == group_of_name);
        let near = advice(name, names.iter().map(String::as_str));
        if is_own {
            bail!("--on '{text}': there is {what}{near}; `lull list` shows all");
        }
        let programs: Vec<String> =
            self.programs.iter().map(|path| path.display().to_string()).collect();
        let whose = match programs.len() {
            0 => return Ok(()),
            1 => "its libraries",
            _ => "their libraries",
        };
        say(&format!(
            "--on '{text}': {} and {whose} have {what}{near}; libraries that come later may have \
             it",
            programs.join(", ")
        ));
        Ok(())
    }
}

/// What the companion records: arguments as -e takes them; None where no condition names an event.
pub fn companion<'a>(
    conditions: impl Iterator<Item = &'a Condition>,
) -> anyhow::Result<Option<Asked>> {
    let conditions: Vec<&Condition> = conditions.collect();
    let mut arguments: Vec<String> = Vec::new();
    for condition in &conditions {
        if let Kind::Latency { pair, .. } = &condition.kind {
            arguments.extend(pair_ends(pair).flat_map(|(entry, exit)| [entry, exit]));
        }
    }
    let calls: Vec<Clause> =
        arguments.iter().map(|name| Clause { pattern: name.clone(), filter: None }).collect();
    let asked = conditions.iter().flat_map(|condition| condition.clauses());
    let clauses: Vec<&Clause> = asked.chain(&calls).collect();
    let mut patterns: Vec<&str> = clauses.iter().map(|clause| clause.pattern.as_str()).collect();
    patterns.sort_unstable();
    patterns.dedup();
    let mut arguments: Vec<String> =
        patterns.iter().map(|pattern| argument(pattern, &clauses)).collect();
    if watches_all(conditions.iter().copied()) {
        arguments.extend(super::matching::JOINING.map(str::to_string));
    }
    match arguments.is_empty() {
        true => Ok(None),
        false => Ok(Some(Asked::new(&arguments)?)),
    }
}

/// A pattern, with a filter that lets through what any of its clauses asks for. Where another
/// pattern may mean the same events, the recorder alone decides, for probes obey one filter only.
fn argument(pattern: &str, clauses: &[&Clause]) -> String {
    let (its, others): (Vec<&Clause>, Vec<&Clause>) =
        clauses.iter().partition(|clause| clause.pattern == pattern);
    let is_alone = !its.iter().any(|clause| others.iter().any(|other| clause.may_meet(other)));
    let filters: Option<Vec<String>> = its
        .iter()
        .map(|clause| clause.filter.as_ref().map(|filter| format!("({})", filter.text())))
        .collect();
    let Some(mut filters) = filters.filter(|_| is_alone && !pattern.starts_with(EXEMPT)) else {
        return pattern.to_string();
    };
    filters.dedup();
    let whole = format!("{pattern} if {}", filters.join(" || "));
    // Together they may be longer than a filter can be.
    match Asked::new(std::slice::from_ref(&whole)) {
        Ok(_) => whole,
        Err(_) => pattern.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn companion_of(conditions: &[&str]) -> Vec<String> {
        let parsed = |text: &&str| Condition::parse(text, duration::parse).unwrap();
        let conditions: Vec<Condition> = conditions.iter().map(parsed).collect();
        let asked = companion(conditions.iter()).unwrap();
        asked.map_or_else(Vec::new, |asked| asked.arguments())
    }

    #[test]
    fn filter_of_a_call_fits_its_entry_or_its_exit_or_is_marked_in_the_condition() {
        let event = |text: &str| Description::parse(text.as_bytes()).unwrap();
        let own = [
            event("x:read_entry\n6\n:\ni32 fd\nstr path\n"),
            event("x:read_exit\n6\n:\ni64 ret\n"),
        ];
        let known: Vec<&Description> = own.iter().collect();
        let events = Events {
            known: &known,
            of: Of::Program,
            own: &own,
            programs: &[],
            kernel: &Whence::Nowhere,
            is_kernels: &|_| false,
        };
        let check = |text: &str| {
            let condition = Condition::parse(text, duration::parse).unwrap();
            events.check(&condition).map_err(|error| error.to_string())
        };
        assert_eq!(check("x:read > 1ms if fd == 3 && ret > 0 && path == \"a\""), Ok(()));
        assert_eq!(check("x:read > 1ms if pid == 3"), Ok(()));
        for (text, why, mark) in [
            ("x:read > 1ms if fd == 3 && rets > 0", "no event", "                           ^^^^"),
            ("x:read > 1ms if path > 3", "", "                ^^^^^^^^"),
            ("x:read > 1ms if fd == ret", "at once", "                ^^^^^^^^^"),
        ] {
            let told = check(text).unwrap_err();
            assert!(told.contains(why), "{told}");
            assert!(told.ends_with(&format!("\n  {text}\n  {mark}")), "{told}");
        }
    }

    #[test]
    fn probes_filter_what_no_condition_needs_and_nothing_else() {
        assert_eq!(companion_of(&["a:b if x > 1"]), ["a:b if (x > 1)"]);
        assert_eq!(
            companion_of(&["a:b if x > 1", "a:b if y == 2"]),
            ["a:b if (x > 1) || (y == 2)"]
        );
        assert_eq!(companion_of(&["a:b if x > 1", "a:b"]), ["a:b"]);
        assert_eq!(companion_of(&["a:* if x > 1", "a:b if y == 2"]), ["a:*", "a:b"]);
        assert_eq!(companion_of(&["a:b if x > 1 then c:d within 1s"]), ["a:b if (x > 1)", "c:d"]);
        let calls = companion_of(&["io:read > 1ms", "io:read_exit if ret < 0"]);
        assert!(calls.contains(&"io:read_entry".into()) && calls.contains(&"io:read_exit".into()));
        let calls = companion_of(&["syscalls:sys_read > 1ms if count > 1"]);
        assert!(calls.contains(&"syscalls:sys_enter_read".into()), "{calls:?}");
        assert!(calls.contains(&"syscalls:sys_exit_read".into()), "{calls:?}");
        assert_eq!(companion_of(&["crash"]), crate::trigger::matching::JOINING);
        assert!(companion_of(&[]).is_empty());
    }
}
