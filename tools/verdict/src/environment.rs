// SPDX-License-Identifier: MIT
//! The verdict in a trace's environment: both ways, so that what one writes the other reads.
//!
//! Place in the flow: `consumer` writes it into the metadata when recording ends, `analysis` and
//! `lull print` read it. Lists have a line for each entry, with its parts between tabs. What is
//! read may be anyone's: numbers that do not fit count as 0, lines that lack a part are left out.

use crate::shown::shown;
use crate::thinned;
use crate::{
    Change, Firing, Lost, NotRecorded, Pause, RingLost, State, Unmatched, Verdict, WentOn,
};
use std::path::PathBuf;

/// A value of the trace's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Integer(i64),
    Text(String),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_string())
    }
}

pub type Environment = Vec<(String, Value)>;

/// An entry of a trace that is a part of a recording: what the others count is of the whole.
pub const PART: &str = "part_of_recording";

/// An entry of a trace, whoever's, that was made of a damaged one: a sentence about that.
pub const DAMAGED: &str = "made_of_damaged";

/// Entries of a list that are read; a recorder of ours writes fewer.
const LINES_MAX: usize = 4096;

/// Every number of the verdict, with its name in the environment.
fn numbers(verdict: &mut Verdict) -> [(&'static str, Number<'_>); 19] {
    use Number::{Long, Short};
    [
        ("events", Long(&mut verdict.events)),
        ("kernel_events", Long(&mut verdict.kernel_events)),
        ("bytes", Long(&mut verdict.bytes)),
        ("packets", Long(&mut verdict.packets)),
        ("cpus", Long(&mut verdict.cpus)),
        ("processes", Long(&mut verdict.processes)),
        ("threads", Long(&mut verdict.threads)),
        ("duration_ns", Long(&mut verdict.duration_ns)),
        ("lost_full", Long(&mut verdict.lost.full)),
        ("lost_overflow", Long(&mut verdict.lost.overflow)),
        ("lost_too_big", Long(&mut verdict.lost.too_big)),
        ("lost_in_flight", Long(&mut verdict.lost.in_flight)),
        ("unwritten_packets", Long(&mut verdict.unwritten_packets)),
        ("unwritten_events", Long(&mut verdict.unwritten_events)),
        ("damaged_packets", Long(&mut verdict.damaged_packets)),
        ("refused_processes", Long(&mut verdict.refused_processes)),
        ("not_recorded_more", Long(&mut verdict.not_recorded_more)),
        ("sites_unpatched", Short(&mut verdict.sites.unpatched)),
        ("sites_unregistered", Short(&mut verdict.sites.unregistered)),
    ]
}

enum Number<'a> {
    Long(&'a mut u64),
    Short(&'a mut u32),
}

pub(crate) fn lines<T>(list: &[T], line: impl Fn(&T) -> Vec<String>) -> Value {
    let parts = |item| {
        let parts: Vec<String> = line(item).iter().map(|part| shown(part).into_owned()).collect();
        parts.join("\t")
    };
    Value::Text(list.iter().map(parts).collect::<Vec<_>>().join("\n"))
}

/// The items of a list that an entry has, a line each; those that are none are passed over.
pub(crate) fn items<T>(
    entry: impl Fn(&str) -> Option<Value>,
    name: &str,
    item: impl FnMut(&str) -> Option<T>,
) -> Vec<T> {
    let Some(Value::Text(text)) = entry(name) else { return Vec::new() };
    text.lines().take(LINES_MAX).filter_map(item).collect()
}

/// Finds entries of an environment by their names.
pub fn entries(environment: &Environment) -> impl Fn(&str) -> Option<Value> + '_ {
    move |wanted| {
        let found = environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone())
    }
}

const PAUSES: &str = "pauses";
const CHANGES: &str = "changes";
const FIRINGS: &str = "firings";

/// The entry that tells of pauses: of each when it began and, where it ended, when, in cycles and
/// in nanoseconds since recording began.
pub fn of_pauses(pauses: &[Pause]) -> (String, Value) {
    let words = |pause: &Pause| {
        let moments = std::iter::once(pause.begin).chain(pause.until);
        moments.flat_map(|(cycles, ns)| [cycles.to_string(), ns.to_string()]).collect()
    };
    (PAUSES.to_string(), lines(pauses, words))
}

/// The pauses that an environment tells of.
pub fn pauses(entry: impl Fn(&str) -> Option<Value>) -> Vec<Pause> {
    let pause = |line: &str| {
        let mut numbers = line.split('\t').map(|word| word.parse::<u64>().ok());
        let begin = (numbers.next()??, numbers.next()??);
        let until = match numbers.next() {
            None => None,
            Some(cycles) => Some((cycles?, numbers.next()??)),
        };
        Some(Pause { begin, until })
    };
    items(entry, PAUSES, pause)
}

/// The entry that tells of changes: of each when it was, and its patterns.
pub fn of_changes(changes: &[Change]) -> (String, Value) {
    let words = |change: &Change| {
        let (cycles, ns) = change.at;
        let patterns = change.patterns.iter().cloned();
        [cycles.to_string(), ns.to_string()].into_iter().chain(patterns).collect()
    };
    (CHANGES.to_string(), lines(changes, words))
}

/// The changes that an environment tells of.
pub fn changes(entry: impl Fn(&str) -> Option<Value>) -> Vec<Change> {
    let change = |line: &str| {
        let mut words = line.split('\t');
        let mut number = || words.next()?.parse().ok();
        let at = (number()?, number()?);
        Some(Change { at, patterns: words.map(Into::into).collect() })
    };
    items(entry, CHANGES, change)
}

/// The entry that tells of conditions that were met: of each when the recorder acted, when the
/// event was, whose it was, the condition, and what was done.
pub fn of_firings(firings: &[Firing]) -> (String, Value) {
    let words = |firing: &Firing| {
        let (cycles, ns) = firing.at;
        let numbers = [cycles, ns, firing.event_cycles, firing.pid, firing.tid];
        let numbers = numbers.into_iter().map(|number| number.to_string());
        numbers.chain([firing.condition.clone()]).chain(firing.done.iter().cloned()).collect()
    };
    (FIRINGS.to_string(), lines(firings, words))
}

/// The conditions that were met, as an environment tells.
pub fn firings(entry: impl Fn(&str) -> Option<Value>) -> Vec<Firing> {
    let firing = |line: &str| {
        let mut words = line.split('\t');
        let mut number = || words.next()?.parse().ok();
        let at = (number()?, number()?);
        let (event_cycles, pid, tid) = (number()?, number()?, number()?);
        let condition = words.next()?.to_string();
        Some(Firing {
            at,
            event_cycles,
            pid,
            tid,
            condition,
            done: words.map(Into::into).collect(),
        })
    };
    items(entry, FIRINGS, firing)
}

impl Verdict {
    /// What the trace's environment says.
    pub fn environment(&self) -> Environment {
        let sentences = |list: &[String]| lines(list, |sentence| vec![sentence.clone()]);
        let rings = lines(&self.lost_where, |row| {
            let Lost { full, overflow, too_big, in_flight } = row.lost;
            let counts = [full, overflow, too_big, in_flight].map(|count| count.to_string());
            std::iter::once(row.ring.clone()).chain(counts).collect()
        });
        let absent = lines(&self.not_recorded, |process| {
            vec![process.pid.to_string(), process.path.clone(), process.why.clone()]
        });
        let went_on =
            lines(&self.went_on, |process| vec![process.pid.to_string(), process.path.clone()]);
        let unmatched = lines(&self.unmatched, |unmatched| {
            std::iter::once(&unmatched.pattern).chain(&unmatched.nearest).cloned().collect()
        });
        let texts = [
            ("verdict", self.state.name().into()),
            ("verdict_missing", sentences(&self.missing)),
            ("verdict_limits", sentences(&self.limits)),
            ("verdict_notes", sentences(&self.notes)),
            ("lost_where", rings),
            ("not_recorded", absent),
            ("went_on", went_on),
            ("unmatched", unmatched),
        ];
        let pauses = (!self.pauses.is_empty()).then(|| of_pauses(&self.pauses));
        let changes = (!self.changes.is_empty()).then(|| of_changes(&self.changes));
        let sampled = (!self.sampled.is_empty()).then(|| thinned::of_sampled(&self.sampled));
        let throttled =
            (!self.throttled.is_empty()).then(|| thinned::of_throttled(&self.throttled));
        let firings = (!self.firings.is_empty()).then(|| of_firings(&self.firings));
        let mut copy = self.clone();
        let numbers = numbers(&mut copy).map(|(name, number)| match number {
            Number::Long(value) => (name, Value::from(*value)),
            Number::Short(value) => (name, Value::from(u64::from(*value))),
        });
        let all = texts.into_iter().chain(numbers);
        let all = all.map(|(name, value)| (name.to_string(), value)).chain(pauses).chain(changes);
        let by_call = thinned::of_sampled_by_call(&self.sampled);
        all.chain(sampled).chain(by_call).chain(throttled).chain(firings).collect()
    }

    /// Reads the verdict from a trace's environment. Another tracer's environment has none, and
    /// then the state is [`State::Unknown`], unless we made the trace of a damaged one.
    pub fn parse(trace: PathBuf, entry: impl Fn(&str) -> Option<Value>) -> Self {
        let text = |name: &str| text_of(&entry, name);
        let mut verdict = match text("tracer_name").as_str() {
            "lull" => Self::parse_own(trace, &entry),
            _ => Verdict::new(trace),
        };
        let damage = text(DAMAGED);
        if !damage.is_empty() {
            verdict.state = verdict.state.max(State::Incomplete);
            verdict.missing.push(damage);
        }
        verdict
    }

    fn parse_own(trace: PathBuf, entry: &impl Fn(&str) -> Option<Value>) -> Self {
        let mut verdict = Verdict::new(trace);
        let text = |name: &str| text_of(entry, name);
        verdict.state = State::of_name(&text("verdict")).unwrap_or(State::Unknown);
        for (name, number) in numbers(&mut verdict) {
            let Some(Value::Integer(value)) = entry(name) else { continue };
            match number {
                Number::Long(to) => *to = u64::try_from(value).unwrap_or(0),
                Number::Short(to) => *to = u32::try_from(value).unwrap_or(0),
            }
        }
        let list = |name: &str| -> Vec<String> {
            let text = text(name);
            text.lines().filter(|line| !line.is_empty()).take(LINES_MAX).map(Into::into).collect()
        };
        verdict.pauses = pauses(entry);
        verdict.changes = changes(entry);
        verdict.sampled = thinned::sampled(entry);
        verdict.filtered = thinned::filtered(entry);
        verdict.kernel_of = thinned::KernelOf::of(entry);
        verdict.throttled = thinned::throttled(entry);
        verdict.firings = firings(entry);
        verdict.missing = list("verdict_missing");
        verdict.limits = list("verdict_limits");
        verdict.notes = list("verdict_notes");
        verdict.lost_where = list("lost_where").iter().filter_map(|line| ring(line)).collect();
        verdict.not_recorded =
            list("not_recorded").iter().filter_map(|line| absent(line)).collect();
        verdict.went_on = list("went_on").iter().filter_map(|line| went_on(line)).collect();
        verdict.unmatched = list("unmatched").iter().filter_map(|line| unmatched(line)).collect();
        verdict
    }
}

/// An entry's text; empty where it is none.
fn text_of(entry: &impl Fn(&str) -> Option<Value>, name: &str) -> String {
    match entry(name) {
        Some(Value::Text(text)) => text,
        _ => String::new(),
    }
}

fn ring(line: &str) -> Option<RingLost> {
    let mut parts = line.split('\t');
    let ring = parts.next()?.to_string();
    let mut count = || parts.next()?.parse().ok();
    let lost = Lost { full: count()?, overflow: count()?, too_big: count()?, in_flight: count()? };
    Some(RingLost { ring, lost })
}

fn absent(line: &str) -> Option<NotRecorded> {
    let mut parts = line.split('\t');
    let pid = parts.next()?.parse().ok()?;
    Some(NotRecorded { pid, path: parts.next()?.into(), why: parts.next()?.into() })
}

fn went_on(line: &str) -> Option<WentOn> {
    let (pid, path) = line.split_once('\t')?;
    Some(WentOn { pid: pid.parse().ok()?, path: path.into() })
}

fn unmatched(line: &str) -> Option<Unmatched> {
    let mut parts = line.split('\t').map(str::to_string);
    Some(Unmatched { pattern: parts.next()?, nearest: parts.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sites;

    fn parsed(environment: &Environment) -> Verdict {
        Verdict::parse("trace".into(), entries(environment))
    }

    /// With a value of its own in everything that a trace keeps.
    fn full() -> Verdict {
        let mut verdict = Verdict::new("trace".into());
        for (index, (_, number)) in numbers(&mut verdict).into_iter().enumerate() {
            match number {
                Number::Long(to) => *to = index as u64 + 1,
                Number::Short(to) => *to = index as u32 + 1,
            }
        }
        verdict.lost = Lost::default();
        let lost = Lost { full: 1, overflow: 2, too_big: 3, in_flight: u64::MAX >> 1 };
        verdict.add_ring("CPU 3".into(), lost);
        let (path, why) = ("/a b; c".to_string(), "it is; static".to_string());
        verdict.not_recorded.push(NotRecorded { path: path.clone(), pid: 7, why });
        verdict.went_on.push(WentOn { path, pid: 8 });
        let nearest = vec!["a:c".to_string(), "a:d".to_string()];
        verdict.unmatched.push(Unmatched { pattern: "a:b".into(), nearest });
        verdict.unmatched.push(Unmatched { pattern: "x:*".into(), nearest: Vec::new() });
        let patterns = vec!["a:* if x == \"y z\"".to_string(), "!b".to_string()];
        verdict.changes.push(Change { at: (9, 10), patterns });
        verdict.changes.push(Change { at: (11, 12), patterns: vec!["*".into()] });
        let event = "a:b_entry".into();
        verdict.sampled.push(thinned::Sampled { event, one_in: 9, by_call: true });
        let (event, begin) = ("a:b".to_string(), (1, 2));
        verdict.throttled.push(thinned::Throttled { event, one_in: 0, begin, until: None });
        let condition = "a:b if x == \"y\"".to_string();
        let done = vec!["snapshot: /t/snapshot-1".to_string()];
        let firing = Firing { at: (13, 14), event_cycles: 12, pid: 15, tid: 16, condition, done };
        let bare = Firing { done: Vec::new(), pid: 0, ..firing.clone() };
        verdict.firings.extend([firing, bare]);
        verdict.missing.push("one; use two".into());
        verdict.notes.push("three".into());
        verdict.limits.push("four".into());
        verdict.conclude(false);
        verdict
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let verdict = full();
        let mut environment = verdict.environment();
        environment.push(("tracer_name".into(), "lull".into()));
        assert_eq!(parsed(&environment), verdict);
        assert_eq!(verdict.sites, Sites { seen: 0, enabled: 0, unpatched: 18, unregistered: 19 });
    }

    #[test]
    fn every_state_is_read_back_and_what_is_none_is_unknown() {
        for state in State::ALL {
            let verdict = Verdict { state, ..Verdict::new("trace".into()) };
            let mut environment = verdict.environment();
            assert_eq!(parsed(&environment).state, State::Unknown, "no tracer's name");
            environment.push(("tracer_name".into(), "lull".into()));
            assert_eq!(parsed(&environment).state, state);
        }
        let odd = vec![("tracer_name".into(), "lull".into()), ("verdict".into(), "fine".into())];
        assert_eq!(parsed(&odd).state, State::Unknown);
        let of_damaged = vec![(DAMAGED.into(), "it lacks events".into())];
        let verdict = parsed(&of_damaged);
        assert_eq!((verdict.state, verdict.missing.len()), (State::Incomplete, 1));
        assert_eq!(parsed(&odd[..1].to_vec()).state, State::Unknown);
    }

    #[test]
    fn hostile_values_are_left_out_and_lines_stay_lines() {
        let mut verdict = full();
        verdict.not_recorded[0].path = "a\n9\tb\tc".into();
        let mut environment = verdict.environment();
        environment.push(("tracer_name".into(), "lull".into()));
        assert_eq!(parsed(&environment).not_recorded[0].path, "a\\n9\\tb\\tc");
        let hostile = [
            ("tracer_name", Value::from("lull")),
            ("events", Value::Integer(-1)),
            ("sites_unpatched", Value::Integer(1 << 40)),
            ("not_recorded", "x\ty\tz\n1\n2\ta\tb".into()),
            ("lost_where", "CPU 1\t1\nCPU 2\t-1\t0\t0\t0".into()),
            ("went_on", "\t\n".into()),
        ];
        let hostile = hostile.map(|(name, value)| (name.to_string(), value)).to_vec();
        let read = parsed(&hostile);
        assert_eq!((read.events, read.sites.unpatched, read.went_on.len()), (0, 0, 0));
        assert_eq!((read.not_recorded.len(), read.lost_where.len()), (1, 0));
    }
}
