// SPDX-License-Identifier: MIT
//! The rows of the time line: machines, their CPUs, processes, the threads of each, and the locks
//! that these waited for.
//!
//! Place in the flow: listed once when the server starts, from the subjects of the history; the
//! page asks for a part of the list. An identifier holds as long as the traces are the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use history::{History, Kind, Names, Subject};
use serde::Serialize;
use state::{ProcessIndex, ThreadIndex, ThreadKey};

use crate::ask::Ask;

/// Tracks of one answer.
const MOST_TRACKS: usize = 2000;
/// Locks of one process that have a row.
const MOST_LOCKS: usize = 512;
/// What a row may be below: a lock is below a group, that below a process on a machine.
const MOST_ABOVE: usize = 8;

/// A row, or the head of some.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Track {
    pub id: String,
    pub kind: &'static str,
    pub name: String,
    pub parent: Option<String>,
    pub host: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<i64>,
    /// How many states of each kind it may have at once.
    pub lanes: BTreeMap<&'static str, u32>,
    #[serde(skip)]
    pub subject: Option<Subject>,
}

/// Which part of the list.
pub(crate) struct Question<'a> {
    /// A part of a name; empty for all of the list.
    pub name: &'a str,
    pub offset: usize,
    pub count: usize,
}

impl<'a> Question<'a> {
    /// What a page asks first.
    pub fn first() -> Self {
        Self { name: "", offset: 0, count: MOST_TRACKS }
    }

    pub fn of(ask: &'a Ask) -> Result<Self, String> {
        Ok(Self {
            name: ask.text("match").unwrap_or(""),
            offset: ask.number("offset")?.unwrap_or(0),
            count: ask.number("count")?.unwrap_or(MOST_TRACKS),
        })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Listed<'a> {
    total: usize,
    offset: usize,
    tracks: Vec<&'a Track>,
}

/// What the protocol calls a kind of state; `None` for those that are not drawn.
pub(crate) fn kind_name(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Place => "place",
        Kind::Call => "call",
        Kind::Runs => "runs",
        Kind::Interrupt => "interrupt",
        Kind::Life => "life",
        Kind::Holder => "holder",
        Kind::Queue => "queue",
        Kind::Name | Kind::Open | Kind::Waiter | Kind::Serves | Kind::Flow => return None,
    })
}

/// Locks that are variables of programs, and what these are called.
pub(crate) type Variables = BTreeMap<Subject, String>;

#[derive(Debug, Default)]
pub(crate) struct Tracks {
    all: Vec<Track>,
    by_id: HashMap<String, usize>,
}

impl Tracks {
    /// `cpus`: processors, by machine, that have a row even if no state of theirs is known: what
    /// was recorded there, or lost there, is drawn in it.
    pub fn new(
        history: &History,
        variables: &Variables,
        cpus: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        let mut lanes: BTreeMap<Subject, BTreeMap<&'static str, u32>> = BTreeMap::new();
        for track in history.tracks() {
            if let Some(name) = kind_name(track.kind) {
                let of_kind = lanes.entry(track.subject).or_default().entry(name).or_insert(0);
                *of_kind = (*of_kind).max(track.lane.saturating_add(1));
            }
        }
        let names = history.names();
        // Threads and processes of which events tell nothing but their own happening.
        for (number, thread) in names.threads().iter().enumerate() {
            if thread.key.is_some() {
                let index = ThreadIndex(u32::try_from(number).unwrap_or(u32::MAX));
                lanes.entry(Subject::Thread(index)).or_default();
                lanes.entry(Subject::Process(thread.process)).or_default();
            }
        }
        let cpus = cpus.map(|(host, cpu)| Subject::Cpu { host, cpu });
        for subject in cpus {
            lanes.entry(subject).or_default();
        }
        let groups = groups(names, &lanes);
        let of_process = |process: ProcessIndex| groups.get(&process).map_or(0, |group| group.0);
        let mut locks: BTreeMap<ProcessIndex, usize> = BTreeMap::new();
        let mut has_row = |subject: &Subject| match subject {
            Subject::Lock { process, .. } if of_process(*process) > MOST_LOCKS => {
                let count = locks.entry(*process).or_default();
                *count += 1;
                *count <= MOST_LOCKS
            }
            _ => true,
        };
        let found = lanes.into_iter().filter(|(subject, _)| has_row(subject));
        let found = found.filter_map(|(subject, lanes)| one((names, variables), subject, lanes));
        let mut found: Vec<Track> = found.collect();
        found.extend(groups.into_values().map(|(_, track)| track));
        Self::of(found, names.hosts())
    }

    fn of(found: Vec<Track>, hosts: &[String]) -> Self {
        let numbers: BTreeSet<u32> = found.iter().map(|track| track.host).collect();
        let mut all = Vec::with_capacity(found.len() + numbers.len());
        let mut below: BTreeMap<Option<String>, Vec<Track>> = BTreeMap::new();
        for track in found {
            below.entry(track.parent.clone()).or_default().push(track);
        }
        for host in numbers {
            let name = hosts.get(host as usize).filter(|name| !name.is_empty());
            let name = name.map_or_else(|| format!("machine {host}"), Clone::clone);
            let id = format!("h{host}");
            let (kind, lanes) = ("machine", BTreeMap::new());
            let head = Track {
                id,
                kind,
                name,
                parent: None,
                host,
                cpu: None,
                pid: None,
                tid: None,
                lanes,
                subject: None,
            };
            place(&mut all, &mut below, head);
        }
        let by_id = all.iter().enumerate().map(|(at, track)| (track.id.clone(), at)).collect();
        Self { all, by_id }
    }

    pub fn all(&self) -> &[Track] {
        &self.all
    }

    pub fn get(&self, id: &str) -> Option<&Track> {
        self.all.get(*self.by_id.get(id)?)
    }

    /// The row of a subject, if it has one.
    pub fn of_subject(&self, subject: Subject) -> Option<&Track> {
        self.get(&identifier(subject)?)
    }

    /// What has states, with its identifier: of one track and those below it.
    pub fn within(&self, id: &str) -> Option<HashMap<Subject, &str>> {
        let mut found = HashMap::new();
        self.get(id)?;
        for track in &self.all {
            let mut above = Some(track);
            for _ in 0..MOST_ABOVE {
                if above.is_none_or(|track| track.id == id) {
                    break;
                }
                let parent = above.and_then(|track| track.parent.as_deref());
                above = parent.and_then(|parent| self.get(parent));
            }
            let is_within = above.is_some_and(|track| track.id == id);
            if let Some(subject) = track.subject.filter(|_| is_within) {
                found.insert(subject, track.id.as_str());
            }
        }
        Some(found)
    }

    /// What has states, with its identifier.
    pub fn subjects(&self) -> impl Iterator<Item = (Subject, &str)> {
        self.all.iter().filter_map(|track| Some((track.subject?, track.id.as_str())))
    }

    /// The tracks of these identifiers, all processors, and what they are below.
    pub fn seen(&self, ids: &BTreeSet<String>) -> Vec<&Track> {
        let is_seen = |track: &Track| track.cpu.is_some() || ids.contains(&track.id);
        let kept = self.with_parents(|track| is_seen(track));
        kept.into_iter().filter_map(|at| self.all.get(at)).collect()
    }

    /// Positions of tracks, and of what they are below.
    fn with_parents(&self, takes: impl Fn(&Track) -> bool) -> BTreeSet<usize> {
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        for (at, track) in self.all.iter().enumerate() {
            if takes(track) {
                let mut above = Some(at);
                // Bound: no row is above one that is above it.
                while let Some(at) = above.filter(|at| kept.insert(*at)) {
                    let parent = self.all.get(at).and_then(|track| track.parent.as_ref());
                    above = parent.and_then(|id| self.by_id.get(id)).copied();
                }
            }
        }
        kept
    }

    /// A part of the list; with a name, of those tracks whose names have that text, and of what
    /// they are below.
    pub fn list(&self, question: &Question<'_>) -> Listed<'_> {
        let wanted = question.name.to_lowercase();
        let kept = self
            .with_parents(|track| wanted.is_empty() || track.name.to_lowercase().contains(&wanted));
        let part = kept.iter().skip(question.offset).take(question.count.min(MOST_TRACKS));
        let tracks = part.filter_map(|at| self.all.get(*at)).collect();
        Listed { total: kept.len(), offset: question.offset, tracks }
    }
}

/// Adds a row and those below it, in the order in which they are drawn.
fn place(all: &mut Vec<Track>, below: &mut BTreeMap<Option<String>, Vec<Track>>, head: Track) {
    let mut waiting = vec![head];
    // Bound: each round takes one of the rows.
    while let Some(next) = waiting.pop() {
        let mut own = below.remove(&Some(next.id.clone())).unwrap_or_default();
        let order = |track: &Track| {
            let is_process = track.cpu.is_none() && track.kind == "process";
            (is_process, track.kind == "locks", track.cpu, track.pid, track.tid)
        };
        own.sort_by_key(order);
        waiting.extend(own.into_iter().rev());
        all.push(next);
    }
}

/// The groups of locks of those processes that have any, and how many each has.
fn groups(
    names: &Names,
    subjects: &BTreeMap<Subject, BTreeMap<&'static str, u32>>,
) -> BTreeMap<ProcessIndex, (usize, Track)> {
    let mut counts: BTreeMap<ProcessIndex, usize> = BTreeMap::new();
    for subject in subjects.keys() {
        if let Subject::Lock { process, .. } = subject {
            *counts.entry(*process).or_default() += 1;
        }
    }
    let group = |(process, count): (ProcessIndex, usize)| {
        let known = names.processes().get(process.0 as usize)?;
        let name = match count > MOST_LOCKS {
            true => format!("locks ({MOST_LOCKS} of {count} have a row)"),
            false => "locks".to_string(),
        };
        let group = Track {
            id: format!("l{}", process.0),
            kind: "locks",
            name,
            parent: Some(format!("p{}", process.0)),
            host: known.host,
            cpu: None,
            pid: known.pid,
            tid: None,
            lanes: BTreeMap::new(),
            subject: None,
        };
        Some((process, (count, group)))
    };
    counts.into_iter().filter_map(group).collect()
}

/// What a subject's row is called; `None` of what has none of its own.
pub(crate) fn identifier(subject: Subject) -> Option<String> {
    match subject {
        Subject::Cpu { host, cpu } => Some(format!("c{host}.{cpu}")),
        Subject::Process(process) => Some(format!("p{}", process.0)),
        Subject::Thread(thread) => Some(format!("t{}", thread.0)),
        Subject::Lock { process, kind, address } => {
            Some(format!("k{}.{}.{address:x}", process.0, kind.name()))
        }
        Subject::Descriptor { .. } | Subject::Interrupt { .. } => None,
    }
}

/// The row of a subject; `None` of what has no row of its own.
fn one(
    (names, variables): (&Names, &Variables),
    subject: Subject,
    lanes: BTreeMap<&'static str, u32>,
) -> Option<Track> {
    let mut name = names.subject(subject);
    let (mut cpu_number, mut pid, mut tid) = (None, None, None);
    let id = identifier(subject)?;
    let (kind, parent, host) = match subject {
        Subject::Cpu { host, cpu } => {
            cpu_number = Some(cpu);
            ("cpu", format!("h{host}"), host)
        }
        Subject::Process(process) => {
            let known = names.processes().get(process.0 as usize)?;
            pid = known.pid;
            ("process", format!("h{}", known.host), known.host)
        }
        Subject::Thread(thread) => {
            let known = names.threads().get(thread.0 as usize)?;
            if matches!(known.key, Some(ThreadKey::Idle { .. })) {
                return None;
            }
            let process = names.processes().get(known.process.0 as usize)?;
            (pid, tid) = (process.pid, names.tid(thread));
            ("thread", format!("p{}", known.process.0), process.host)
        }
        Subject::Lock { process, kind, address } => {
            let known = names.processes().get(process.0 as usize)?;
            pid = known.pid;
            // The group that it is in tells the process.
            let variable = variables.get(&subject).map(|name| format!("{name} "));
            name = format!("{}{} {address:#x}", variable.unwrap_or_default(), kind.name());
            ("lock", format!("l{}", process.0), known.host)
        }
        Subject::Descriptor { .. } | Subject::Interrupt { .. } => return None,
    };
    let (parent, subject) = (Some(parent), Some(subject));
    Some(Track { id, kind, name, parent, host, cpu: cpu_number, pid, tid, lanes, subject })
}
