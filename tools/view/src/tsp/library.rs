// SPDX-License-Identifier: MIT
//! The traces that may be opened, and those that are.
//!
//! Place in the flow: `routes` opens and closes here what clients name. Only the traces of the
//! command line can be opened: a path is resolved and compared with theirs, and nothing is read
//! that they are not. Closing one forgets it; no file is ever removed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hyper::StatusCode;
use serde::Serialize;
use trace::Ns;

use super::index::Index;
use super::timeline::Timeline;
use super::Failed;
use crate::Viewed;

const MOST_EXPERIMENTS: usize = 16;
const MOST_TRACES: usize = 256;
const MOST_PATH_BYTES: usize = 4096;
const MOST_NAME_BYTES: usize = 256;

/// Opens some of the traces of the command line, by their positions there.
pub type Opener = Box<dyn Fn(&[usize]) -> Result<Viewed, String> + Send + Sync>;

/// A trace of the command line.
struct Known {
    path: PathBuf,
    bounds: Option<(Ns, Ns)>,
}

/// What was opened by a path: a trace, or all that are below a folder.
struct Opened {
    id: String,
    name: String,
    path: PathBuf,
    members: Vec<usize>,
}

/// Traces that are looked at together, and what is kept for their views.
pub(super) struct Loaded {
    members: Vec<usize>,
    pub viewed: Viewed,
    pub index: Index,
    timeline: OnceLock<Timeline>,
}

impl Loaded {
    fn new(members: Vec<usize>, viewed: Viewed) -> Arc<Self> {
        let (index, timeline) = Default::default();
        let loaded = Arc::new(Self { members, viewed, index, timeline });
        let own = loaded.clone();
        // It ends with its pass over the events, which closing the experiment ends earlier.
        std::thread::spawn(move || {
            own.viewed.prepare();
            own.index.build(own.viewed.events());
        });
        loaded
    }

    pub fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::of(self.viewed.tracks()))
    }
}

/// An experiment, in the word of the protocol.
pub(super) struct Experiment {
    id: String,
    name: String,
    traces: Vec<String>,
    pub loaded: Arc<Loaded>,
}

#[derive(Default)]
struct Open {
    traces: Vec<Opened>,
    experiments: Vec<Arc<Experiment>>,
}

pub(super) struct Library {
    known: Vec<Known>,
    whole: Arc<Loaded>,
    opener: Opener,
    open: Mutex<Open>,
    /// Opening takes long, and is done once at a time.
    turn: Mutex<()>,
}

#[derive(Serialize)]
pub(super) struct TraceModel {
    #[serde(rename = "UUID")]
    id: String,
    name: String,
    start: i64,
    end: i64,
    path: String,
    #[serde(rename = "nbEvents")]
    count: u64,
    properties: std::collections::BTreeMap<&'static str, String>,
    #[serde(rename = "indexingStatus")]
    status: &'static str,
}

#[derive(Serialize)]
pub(super) struct ExperimentModel {
    #[serde(rename = "UUID")]
    id: String,
    name: String,
    start: i64,
    end: i64,
    #[serde(rename = "nbEvents")]
    count: u64,
    #[serde(rename = "indexingStatus")]
    status: &'static str,
    traces: Vec<TraceModel>,
}

fn not_found(what: &str) -> Failed {
    Failed::new(StatusCode::NOT_FOUND, format!("there is no such {what}"))
}

fn refused(reason: impl Into<String>) -> Failed {
    Failed::new(StatusCode::BAD_REQUEST, reason)
}

/// A random name in the form of a UUID.
fn new_id() -> Result<String, Failed> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failed::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let number = u128::from_be_bytes(bytes);
    // Version 4, of the common variant.
    let number = number & !(0xF << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{number:032x}");
    let part = |from: usize, until: usize| digits.get(from..until).unwrap_or("");
    Ok([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"))
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or("/".into(), |name| name.to_string_lossy().into_owned())
}

impl Library {
    /// `whole`: all traces of the command line, which are open at once.
    pub fn new(whole: Viewed, opener: Opener) -> Result<Self, Failed> {
        let known: Vec<Known> = whole
            .traces()
            .iter()
            .map(|trace| Known {
                path: trace.path().canonicalize().unwrap_or_else(|_| trace.path().to_path_buf()),
                bounds: trace.bounds(),
            })
            .collect();
        let all: Vec<usize> = (0..known.len()).collect();
        let whole = Loaded::new(all, whole);
        let (open, turn) = Default::default();
        let library = Self { known, whole, opener, open, turn };
        let mut traces = Vec::new();
        for (number, known) in library.known.iter().enumerate().take(MOST_TRACES) {
            traces.push(library.add(&known.path, vec![number], None)?.id);
        }
        if let [first, ..] = library.known.as_slice() {
            let more = traces.len().saturating_sub(1);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            library.create(&format!("{}{more}", name_of(&first.path)), &traces)?;
        }
        Ok(library)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        path: &Path,
        members: Vec<usize>,
        name: Option<&str>,
    ) -> Result<TraceModel, Failed> {
        let id = new_id()?;
        let name = name.map_or_else(|| name_of(path), str::to_string);
        let mut open = self.open();
        if let Some(opened) = open.traces.iter().find(|opened| opened.members == members) {
            return Ok(self.trace_model(&open, opened));
        }
        if open.traces.len() >= MOST_TRACES {
            return Err(refused(format!("at most {MOST_TRACES} traces are open: close one")));
        }
        open.traces.push(Opened { id, name, path: path.to_path_buf(), members });
        let opened = open.traces.last().ok_or_else(|| not_found("trace"))?;
        Ok(self.trace_model(&open, opened))
    }

    /// Opens what is at a path, or below it.
    pub fn import(&self, path: &str, name: Option<&str>) -> Result<TraceModel, Failed> {
        // One answer to every other path, whether there is something or not.
        let unknown = || {
            let reason = "only the traces that `lull view --trace-server` was given are opened";
            Failed::new(StatusCode::NOT_FOUND, reason)
        };
        let path = Path::new(path.strip_prefix("file://").unwrap_or(path));
        let is_sound = path.is_absolute()
            && path.as_os_str().len() <= MOST_PATH_BYTES
            && name.is_none_or(|name| name.len() <= MOST_NAME_BYTES);
        let path = Some(path).filter(|_| is_sound).and_then(|path| path.canonicalize().ok());
        let path = path.ok_or_else(unknown)?;
        let below = self.known.iter().enumerate().filter(|(_, k)| k.path.starts_with(&path));
        let members: Vec<usize> = below.map(|(number, _)| number).collect();
        match members.is_empty() {
            true => Err(unknown()),
            false => self.add(&path, members, name),
        }
    }

    pub fn traces(&self) -> Vec<TraceModel> {
        let open = self.open();
        open.traces.iter().map(|opened| self.trace_model(&open, opened)).collect()
    }

    pub fn trace(&self, id: &str) -> Result<TraceModel, Failed> {
        let open = self.open();
        let opened = open.traces.iter().find(|opened| opened.id == id);
        opened.map(|opened| self.trace_model(&open, opened)).ok_or_else(|| not_found("trace"))
    }

    /// Forgets a trace that no experiment has.
    pub fn close_trace(&self, id: &str) -> Result<TraceModel, Failed> {
        let mut open = self.open();
        let found = open.traces.iter().position(|opened| opened.id == id);
        let at = found.ok_or_else(|| not_found("trace"))?;
        if open.experiments.iter().any(|experiment| experiment.traces.iter().any(|t| t == id)) {
            let reason = "an experiment has the trace: close that first";
            return Err(Failed::new(StatusCode::CONFLICT, reason));
        }
        let opened = open.traces.remove(at);
        Ok(self.trace_model(&open, &opened))
    }

    /// An experiment of these traces; the one that there is, if there is one of that name.
    pub fn create(&self, name: &str, traces: &[String]) -> Result<ExperimentModel, Failed> {
        if name.is_empty() || name.len() > MOST_NAME_BYTES || traces.len() > MOST_TRACES {
            return Err(refused("an experiment has a name, and some traces"));
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let members = {
            let open = self.open();
            let mut members: Vec<usize> = Vec::new();
            for id in traces {
                let opened = open.traces.iter().find(|opened| opened.id == *id);
                members.extend(&opened.ok_or_else(|| not_found("trace"))?.members);
            }
            members.sort_unstable();
            members.dedup();
            if members.is_empty() {
                return Err(refused("an experiment has at least one trace"));
            }
            if let Some(known) = open.experiments.iter().find(|known| known.name == name) {
                return match known.loaded.members == members {
                    true => Ok(self.model(&open, known)),
                    // Clients try another name then.
                    false => {
                        let reason = "another experiment has this name";
                        Err(Failed::new(StatusCode::CONFLICT, reason))
                    }
                };
            }
            if open.experiments.len() >= MOST_EXPERIMENTS {
                let reason = format!("at most {MOST_EXPERIMENTS} experiments are open: close one");
                return Err(refused(reason));
            }
            members
        };
        let loaded = self.load(members)?;
        let (id, name, traces) = (new_id()?, name.to_string(), traces.to_vec());
        let experiment = Arc::new(Experiment { id, name, traces, loaded });
        let mut open = self.open();
        open.experiments.push(experiment.clone());
        Ok(self.model(&open, &experiment))
    }

    fn load(&self, members: Vec<usize>) -> Result<Arc<Loaded>, Failed> {
        if self.whole.members == members {
            return Ok(self.whole.clone());
        }
        let known = {
            let open = self.open();
            let mut loaded = open.experiments.iter().map(|experiment| &experiment.loaded);
            loaded.find(|loaded| loaded.members == members).cloned()
        };
        match known {
            Some(loaded) => Ok(loaded),
            None => {
                let viewed = (self.opener)(&members)
                    .map_err(|reason| Failed::new(StatusCode::INTERNAL_SERVER_ERROR, reason))?;
                Ok(Loaded::new(members, viewed))
            }
        }
    }

    pub fn experiments(&self) -> Vec<ExperimentModel> {
        let open = self.open();
        open.experiments.iter().map(|experiment| self.model(&open, experiment)).collect()
    }

    pub fn experiment(&self, id: &str) -> Result<Arc<Experiment>, Failed> {
        let open = self.open();
        let found = open.experiments.iter().find(|experiment| experiment.id == id);
        found.cloned().ok_or_else(|| not_found("experiment"))
    }

    pub fn describe(&self, id: &str) -> Result<ExperimentModel, Failed> {
        let experiment = self.experiment(id)?;
        Ok(self.model(&self.open(), &experiment))
    }

    pub fn close(&self, id: &str) -> Result<ExperimentModel, Failed> {
        let mut open = self.open();
        let found = open.experiments.iter().position(|experiment| experiment.id == id);
        let at = found.ok_or_else(|| not_found("experiment"))?;
        let experiment = open.experiments.remove(at);
        let loaded = &experiment.loaded;
        let is_kept = Arc::ptr_eq(loaded, &self.whole)
            || open.experiments.iter().any(|other| Arc::ptr_eq(&other.loaded, loaded));
        if !is_kept {
            loaded.index.give_up();
        }
        Ok(self.model(&open, &experiment))
    }

    fn trace_model(&self, open: &Open, opened: &Opened) -> TraceModel {
        let known = opened.members.iter().filter_map(|number| self.known.get(*number));
        let bounds = known.filter_map(|known| known.bounds);
        let bounds = bounds.reduce(|(a, b), (begin, end)| (a.min(begin), b.max(end)));
        let (start, end) = bounds.map_or((0, 0), |(start, end)| (start.0, end.0));
        let mut loaded = open.experiments.iter().map(|experiment| &experiment.loaded);
        let loaded = loaded.find(|loaded| loaded.members == opened.members);
        let (count, status) = loaded.map_or((0, "CLOSED"), |loaded| counted(loaded));
        let mut properties = std::collections::BTreeMap::new();
        if let Some(loaded) = loaded {
            let about = loaded.viewed.about();
            properties.insert("lost events and packets", about.lost.to_string());
            properties.insert("notes", loaded.viewed.notes().join("\n"));
        }
        let (id, name) = (opened.id.clone(), opened.name.clone());
        let path = opened.path.display().to_string();
        TraceModel { id, name, start, end, path, count, properties, status }
    }

    fn model(&self, open: &Open, experiment: &Experiment) -> ExperimentModel {
        let history = experiment.loaded.viewed.history();
        let (count, status) = counted(&experiment.loaded);
        let is_its = |opened: &&Opened| experiment.traces.contains(&opened.id);
        let traces = open.traces.iter().filter(is_its);
        ExperimentModel {
            id: experiment.id.clone(),
            name: experiment.name.clone(),
            start: history.begin().0,
            end: history.end().0,
            count,
            status,
            traces: traces.map(|opened| self.trace_model(open, opened)).collect(),
        }
    }
}

/// How many events there are, as far as that is known.
fn counted(loaded: &Loaded) -> (u64, &'static str) {
    let progress = loaded.index.progress();
    (progress.count, if progress.is_complete { "COMPLETED" } else { "RUNNING" })
}
