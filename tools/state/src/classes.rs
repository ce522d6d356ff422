// SPDX-License-Identifier: MIT
//! What each event class is: an entry, an exit, or by itself, and what it means.
//!
//! Place in the flow: decided once from the metadata of all traces, before the first event. Classes
//! of the same name share a number, whichever trace or program they come from.

use rustc_hash::FxHashMap;
use trace::{EventClass, Trace, BOOKKEEPING, THREAD_EVENT};

use crate::operands::Loads;
use crate::operation::Operation;

pub(crate) const DUMP_END: &str = "state:end";
pub(crate) const LTTNG_DUMP_END: &str = "lttng_statedump_end";

/// How the two events of a pair end. `_entry` stands for a pair even where the trace has no exit,
/// for a call that has not returned yet; the others may mean something else when alone.
const SUFFIXES: [(&str, &str); 8] = [
    ("_entry", "_exit"),
    ("_enter", "_exit"),
    ("_begin", "_end"),
    ("_start", "_stop"),
    ("_req", "_acq"),
    (":entry", ":exit"),
    (":enter", ":exit"),
    (":begin", ":end"),
];
/// The same inside of a name, for system calls as LTTng and as tracefs call them.
const INSIDE: [(&str, &str); 2] = [("_entry_", "_exit_"), ("_enter_", "_exit_")];
/// With these before it, an entry stands for a pair even where the trace has no exit.
const SYSTEM_CALLS: [&str; 2] = ["syscall", "syscalls:sys"];

/// What to do with an event of a class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Role {
    Plain,
    /// `lull:thread`: positions of pid, tid and name.
    Thread {
        pid: usize,
        tid: usize,
        name: usize,
    },
    Entry {
        pair: PairIndex,
        loads: Loads,
    },
    Exit {
        pair: PairIndex,
        loads: Loads,
    },
    Single {
        operation: Operation,
        loads: Loads,
    },
}

#[derive(Debug)]
pub(crate) struct ClassPlan {
    pub name: NameIndex,
    pub is_bookkeeping: bool,
    pub role: Role,
}

/// Number of a name of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameIndex(pub u32);

/// Number of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PairIndex(pub u32);

/// A name of events, of however many classes.
#[derive(Debug)]
pub struct ClassName {
    /// Without what Lull's recorder appends to tell apart equal names from two programs.
    pub text: String,
    /// The pair that the events are one end of.
    pub pair: Option<PairIndex>,
    /// The most severe of its classes' levels; None where none of them has one.
    pub log_level: Option<i64>,
}

/// Two names that are the two ends of a call.
#[derive(Debug)]
pub struct Pair {
    /// What the two names have in common: `io:read` for `io:read_entry` and `io:read_exit`.
    pub name: String,
    /// What the call does.
    pub operation: Operation,
}

/// What the metadata of the traces says of their events. Its size is bounded by the metadata.
#[derive(Debug)]
pub struct Classes {
    by_trace: Vec<Vec<ClassPlan>>,
    names: Vec<ClassName>,
    pairs: Vec<Pair>,
}

impl Classes {
    /// What the metadata of these traces says.
    pub fn new(traces: &[Trace]) -> Self {
        let names = traces.iter().flat_map(Trace::event_classes).map(event_name);
        let pairing = Pairing::new(names);
        let mut classes = Self { by_trace: Vec::new(), names: Vec::new(), pairs: Vec::new() };
        let has_interposed_files = pairing.names.keys().any(|name| name.starts_with("io:"));
        let mut name_index: FxHashMap<String, NameIndex> = FxHashMap::default();
        let mut pair_index: FxHashMap<String, PairIndex> = FxHashMap::default();
        for trace in traces {
            let mut plans = Vec::new();
            for class in trace.event_classes() {
                let name = event_name(class);
                let number = *name_index.entry(name.to_string()).or_insert_with(|| {
                    let text = name.to_string();
                    classes.names.push(ClassName { text, pair: None, log_level: None });
                    NameIndex(classes.names.len() as u32 - 1)
                });
                if let Some(name) = classes.names.get_mut(number.0 as usize) {
                    name.log_level = name.log_level.into_iter().chain(class.log_level).min();
                }
                let base = pairing.base(name).filter(|_| !Operation::is_single(name));
                let operation = match has_interposed_files {
                    true => Operation::beside_interposers,
                    false => Operation::of,
                };
                let role = match base {
                    _ if name == THREAD_EVENT => thread_role(class),
                    Some((base, is_entry)) => {
                        let pair = *pair_index.entry(base.clone()).or_insert_with(|| {
                            classes
                                .pairs
                                .push(Pair { operation: operation(&base), name: base.clone() });
                            PairIndex(classes.pairs.len() as u32 - 1)
                        });
                        if let Some(name) = classes.names.get_mut(number.0 as usize) {
                            name.pair = Some(pair);
                        }
                        let loads = Loads::of(operation(&base), class);
                        match is_entry {
                            true => Role::Entry { pair, loads },
                            false => Role::Exit { pair, loads },
                        }
                    }
                    None => match operation(name) {
                        Operation::None => Role::Plain,
                        operation => Role::Single { operation, loads: Loads::of(operation, class) },
                    },
                };
                let is_bookkeeping = BOOKKEEPING.contains(&name);
                plans.push(ClassPlan { name: number, is_bookkeeping, role });
            }
            classes.by_trace.push(plans);
        }
        classes
    }

    /// Whether all names and pairs of another have the same numbers here.
    pub(crate) fn begins_with(&self, before: &Classes) -> bool {
        let is_same = |(now, before): (&Pair, &Pair)| {
            now.name == before.name && now.operation == before.operation
        };
        self.names.len() >= before.names.len()
            && self.pairs.len() >= before.pairs.len()
            && self.names.iter().zip(&before.names).all(|(now, before)| now.text == before.text)
            && self.pairs.iter().zip(&before.pairs).all(is_same)
    }

    /// Every name of events; a [`NameIndex`] is a position.
    pub fn names(&self) -> &[ClassName] {
        &self.names
    }

    /// Every pair; a [`PairIndex`] is a position.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The pair of a number.
    pub fn pair(&self, pair: PairIndex) -> Option<&Pair> {
        self.pairs.get(pair.0 as usize)
    }

    /// What patterns match for a class of the trace at a position: its name, with and without what
    /// the recorder appends, and the name of its pair.
    pub fn names_of(&self, trace_index: usize, class: &EventClass) -> Vec<String> {
        let plan = self.plan(trace_index, class);
        let name = plan.and_then(|plan| self.names.get(plan.name.0 as usize));
        let pair = name.and_then(|name| self.pair(name.pair?));
        let own = [class.name.to_string(), event_name(class).to_string()];
        own.into_iter().chain(pair.map(|pair| pair.name.clone())).collect()
    }

    #[inline]
    pub(crate) fn plan(&self, trace_index: usize, class: &EventClass) -> Option<&ClassPlan> {
        self.by_trace.get(trace_index)?.get(class.index)
    }
}

/// What the two events of a pair of this name may be called, a system call's as tracefs calls them.
pub fn pair_ends(pair: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let ends = SUFFIXES
        .iter()
        .map(move |(entry, exit)| (format!("{pair}{entry}"), format!("{pair}{exit}")));
    let call = pair.strip_prefix("syscalls:sys_").filter(|call| !call.is_empty());
    let of_call =
        |call| (format!("syscalls:sys_enter_{call}"), format!("syscalls:sys_exit_{call}"));
    ends.chain(call.map(of_call))
}

/// The name without what Lull's recorder appends to tell apart equal names from two programs: the
/// event's own number. Other names are as they are.
pub fn event_name(class: &EventClass) -> &str {
    match class.name.rsplit_once('#') {
        Some((name, number)) if number.parse() == Ok(class.id.0) => name,
        _ => &class.name,
    }
}

fn thread_role(class: &EventClass) -> Role {
    let field = |name| class.field_index(name);
    match (field("pid"), field("tid"), field("name")) {
        (Some(pid), Some(tid), Some(name)) => Role::Thread { pid, tid, name },
        _ => Role::Plain,
    }
}

/// Which names belong together.
struct Pairing {
    names: FxHashMap<String, ()>,
}

impl Pairing {
    fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self { names: names.map(|name| (name.to_string(), ())).collect() }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// What an event is the entry (`true`) or the exit (`false`) of.
    fn base(&self, name: &str) -> Option<(String, bool)> {
        for (entry, exit) in SUFFIXES {
            if let Some(base) = name.strip_suffix(entry) {
                if entry == SUFFIXES[0].0 || self.has(&format!("{base}{exit}")) {
                    return Some((base.to_string(), true));
                }
            }
            if let Some(base) = name.strip_suffix(exit) {
                if self.has(&format!("{base}{entry}")) {
                    return Some((base.to_string(), false));
                }
            }
        }
        INSIDE.iter().find_map(|(entry, exit)| {
            if let Some((before, after)) = name.split_once(entry) {
                let is_call = SYSTEM_CALLS.iter().any(|call| before.ends_with(call));
                if is_call || self.has(&format!("{before}{exit}{after}")) {
                    return Some((format!("{before}_{after}"), true));
                }
            }
            let (before, after) = name.split_once(exit)?;
            let has_entry = self.has(&format!("{before}{entry}{after}"));
            has_entry.then(|| (format!("{before}_{after}"), false))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{pair_ends, Pairing, SUFFIXES};

    fn base(names: &[&str], name: &str) -> Option<(String, bool)> {
        Pairing::new(names.iter().copied()).base(name)
    }

    #[test]
    fn entries_and_exits_find_their_common_base() {
        let names = ["io:read_entry", "io:read_exit", "syscall_entry_read", "syscall_exit_read"];
        assert_eq!(base(&names, names[0]), Some(("io:read".into(), true)));
        assert_eq!(base(&names, names[1]), Some(("io:read".into(), false)));
        assert_eq!(base(&names, names[2]), Some(("syscall_read".into(), true)));
        assert_eq!(base(&names, names[3]), Some(("syscall_read".into(), false)));
        let names = ["job_begin", "job_end", "a_enter", "a_exit", "worker:begin", "worker:end"];
        assert_eq!(base(&names, "job_end"), Some(("job".into(), false)));
        assert_eq!(base(&names, "a_exit"), Some(("a".into(), false)));
        assert_eq!(base(&names, "worker:begin"), Some(("worker".into(), true)));
    }

    #[test]
    fn probes_draw_calls_as_a_whole_whose_ends_are_named_so() {
        let probe = include_str!("../../../user/pairs.c");
        let is_there =
            |(entry, exit): (&str, &str)| probe.contains(&format!(r#"{{ "{entry}", "{exit}" }}"#));
        assert!(SUFFIXES.into_iter().all(is_there));
        assert_eq!(probe.matches(r#"{ ""#).count(), SUFFIXES.len());
    }

    #[test]
    fn system_calls_as_tracefs_calls_them_are_pairs_whatever_they_are_called() {
        let names = [
            "syscalls:sys_enter_read",
            "syscalls:sys_exit_read",
            "syscalls:sys_enter_exit_group",
            "syscalls:sys_enter_exit",
        ];
        assert_eq!(base(&names, names[0]), Some(("syscalls:sys_read".into(), true)));
        assert_eq!(base(&names, names[1]), Some(("syscalls:sys_read".into(), false)));
        assert_eq!(base(&names, names[2]), Some(("syscalls:sys_exit_group".into(), true)));
        assert_eq!(base(&names, names[3]), Some(("syscalls:sys_exit".into(), true)));
        assert_eq!(base(&["a_enter_b"], "a_enter_b"), None);
    }

    #[test]
    fn ends_of_a_pair_are_those_whose_base_it_is() {
        for pair in ["syscalls:sys_read", "syscalls:sys_exit_group", "irq:irq_handler"] {
            let (entry, exit) = pair_ends(pair)
                .find(|(entry, exit)| {
                    base(&[entry, exit], entry) == Some((pair.into(), true))
                        && base(&[entry, exit], exit) == Some((pair.into(), false))
                        && (entry.contains(":sys_enter_") || !pair.contains(":sys_"))
                })
                .unwrap();
            assert_ne!(entry, exit);
        }
        let named = |pair| pair_ends(pair).filter(|(entry, _)| entry.contains("_enter_")).count();
        assert_eq!(
            (named("syscalls:sys_read"), named("syscalls:sys_"), named("io:read")),
            (1, 0, 0)
        );
    }

    #[test]
    fn what_has_no_partner_is_by_itself_except_entries() {
        let names = ["process:quick_exit", "day_end", "thread:exit", "process:exec_entry"];
        for name in &names[..3] {
            assert_eq!(base(&names, name), None, "{name}");
        }
        assert_eq!(base(&names, names[3]), Some(("process:exec".into(), true)));
    }
}
