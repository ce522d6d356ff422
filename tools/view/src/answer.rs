// SPDX-License-Identifier: MIT
//! Who answers a question.
//!
//! Place in the flow: `server` gives a path that `guard` let through. A path is compared with the
//! names of questions, and never becomes the name of a file; an empty one is the page.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use analysis::Names;
use history::{Far, History};
use hyper::body::Bytes;
use hyper::StatusCode;
use serde::Serialize;
use state::{Limits, State};
use trace::Trace;

use crate::ask::Ask;
use crate::page::Asks;
use crate::patience::Patience;
use crate::source::Events;
use crate::ticks::{Packets, Where};
use crate::tracks::Tracks;
use crate::{
    compare, counter, details, flame, flows, lost, page, rows, slices, statistics, ticks, tracks,
};

/// The version of the protocol: it is raised when a word changes its meaning or goes away.
const VERSION: u32 = 2;
/// Answers that are remembered, because the page asks again when it comes back.
const MOST_REMEMBERED: usize = 128;
const MOST_REMEMBERED_BYTES: usize = 32 << 20;

/// Names of events in the answer about the traces.
const MOST_NAMES: usize = 4096;

/// Traces that are viewed.
pub struct Viewed {
    traces: Arc<Vec<Trace>>,
    /// What the traces' folders are called.
    folders: Vec<String>,
    history: History,
    events: Box<dyn Events>,
    notes: Vec<String>,
    /// What the functions in call stacks are called.
    names: Arc<Names>,
    /// Of a running session: how often what is viewed was replaced, and whether it goes on.
    live: Option<Live>,
    hosts: Vec<u32>,
    tracks: Tracks,
    packets: Packets,
    /// Nothing inside: the history is quick enough without it.
    far: OnceLock<Option<Far>>,
    remembered: Mutex<VecDeque<(String, Bytes)>>,
    /// What these are compared with.
    beside: Option<Box<Viewed>>,
}

#[derive(Debug)]
struct Live {
    revision: u64,
    /// Once it has ended: what a person should know then, in place of the notes.
    ended: OnceLock<Vec<String>>,
}

/// What a server shows: the same traces always, or a running session's newest.
pub struct Shown(Mutex<States>);

/// Who asks about a session learns a moment later that it has gone on; until then, the state
/// before is answered from.
struct States {
    now: Arc<Viewed>,
    before: Option<Arc<Viewed>>,
}

impl Shown {
    /// Shows these traces until others take their place.
    pub fn new(viewed: Viewed) -> Self {
        Self(Mutex::new(States { now: Arc::new(viewed), before: None }))
    }

    /// Shows what a running session has at first; more will come.
    pub fn live(mut viewed: Viewed) -> Self {
        viewed.live = Some(Live { revision: 0, ended: OnceLock::new() });
        Self::new(viewed)
    }

    /// Shows what a running session has by now.
    pub fn replace(&self, mut viewed: Viewed) {
        let mut states = self.states();
        let revision = states.now.live.as_ref().map_or(1, |live| live.revision.saturating_add(1));
        viewed.live = Some(Live { revision, ended: OnceLock::new() });
        let before = std::mem::replace(&mut states.now, Arc::new(viewed));
        let dropped = states.before.replace(before);
        // Nobody waits while its memory is given back.
        drop(states);
        drop(dropped);
    }

    /// Nothing more will come of the session. `notes` take the place of those that are shown.
    pub fn end(&self, notes: Vec<String>) {
        if let Some(live) = &self.now().live {
            // It ends once.
            let _ = live.ended.set(notes);
        }
    }

    pub(crate) fn now(&self) -> Arc<Viewed> {
        self.states().now.clone()
    }

    /// The state that a question is about.
    pub(crate) fn meant(&self, query: &str) -> Arc<Viewed> {
        let asked = Ask::by(query, &Patience::default());
        let meant = asked.ok().and_then(|ask| ask.revision());
        let states = self.states();
        let before = states.before.as_ref().filter(|before| before.revision() == meant);
        before.filter(|_| meant.is_some()).unwrap_or(&states.now).clone()
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer.
pub(crate) struct Reply {
    pub status: StatusCode,
    pub kind: &'static str,
    pub body: Bytes,
}

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";
/// The question with an answer in bytes.
const SLICES: &str = "v1/slices.bytes";
const HTML: &str = "text/html; charset=utf-8";

#[derive(Serialize)]
pub(crate) struct About<'a> {
    version: u32,
    traces: &'a [String],
    /// Nanoseconds of the clock, in decimal digits.
    pub origin_ns: String,
    /// Of the span that has all events, the last included: a span ends before its `until`.
    pub length_ns: i64,
    hosts: &'a [String],
    events: Vec<&'a str>,
    pub lost: u64,
    left_out: u64,
    pub notes: &'a [String],
    /// Of a running session: which of its states is answered from.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    is_live: bool,
    /// The folders of the traces that these are compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<&'a [String]>,
}

/// What a page asks first, which comes with it; nothing where there are no answers any more.
#[derive(Serialize)]
struct Early<'a> {
    first: Option<First<'a>>,
}

#[derive(Serialize)]
struct First<'a> {
    trace: About<'a>,
    tracks: tracks::Listed<'a>,
}

#[derive(Serialize)]
struct Failure<'a> {
    error: &'a str,
}

impl Viewed {
    /// `notes`: what a person should know of the traces, such as their verdicts.
    pub fn new(
        traces: Arc<Vec<Trace>>,
        history: History,
        events: Box<dyn Events>,
        notes: Vec<String>,
    ) -> Self {
        let state = State::new(&traces, 0, &Limits::default());
        let hosts: Vec<u32> = (0..traces.len()).map(|index| state.host(index)).collect();
        let recorded = traces.iter().zip(&hosts).flat_map(|(trace, host)| {
            trace.files().iter().filter_map(|file| Some((*host, file.cpu()?.0)))
        });
        let lost = history.losses().iter().filter_map(|lost| Some((lost.host, lost.cpu?.0)));
        let places = history.names().locks().iter().map(|lock| (lock.lock, lock.place, lock.at));
        let variables = analysis::variables(history.names().texts(), places).collect();
        let tracks = Tracks::new(&history, &variables, recorded.chain(lost));
        let (names, packets, far, remembered) = Default::default();
        let (live, beside) = (None, None);
        let folders = traces.iter().map(|trace| trace.path().display().to_string()).collect();
        Self {
            traces,
            folders,
            history,
            events,
            notes,
            names,
            live,
            hosts,
            tracks,
            packets,
            far,
            remembered,
            beside,
        }
    }

    /// Takes the names of functions from where the events have them.
    pub fn named_by(self, names: Arc<Names>) -> Self {
        Self { names, ..self }
    }

    /// Gives the folder of a trace that was read while it is written.
    pub fn written_in(self, folder: &Path) -> Self {
        Self { folders: vec![folder.display().to_string()], ..self }
    }

    /// What the names of functions lack that were told so far, in sentences.
    pub fn name_notes(&self) -> Vec<String> {
        self.events.notes()
    }

    /// Compares these with others, which answer the questions behind `b/`.
    pub fn beside(self, others: Viewed) -> Self {
        Self { beside: Some(Box::new(others)), ..self }
    }

    /// Reads what makes questions about a whole long trace quick, or makes it where the index has
    /// none; questions are answered meanwhile, and more slowly.
    pub(crate) fn prepare(&self) {
        let far = self.far.get_or_init(|| Far::of(&self.history).ok().flatten());
        far.iter().for_each(|far| far.read_ahead(&self.history));
        if let Some(others) = &self.beside {
            others.prepare();
        }
    }

    /// Reads what makes questions about parts of it quick, before who looks closer asks for them.
    pub(crate) fn prepare_closer(&self) {
        self.far.get().into_iter().flatten().for_each(|far| far.read_rest(&self.history));
        if let Some(others) = &self.beside {
            others.prepare_closer();
        }
    }

    pub(crate) fn traces(&self) -> &[Trace] {
        &self.traces
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.names
    }

    pub(crate) fn events(&self) -> &dyn Events {
        &*self.events
    }

    pub(crate) fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    /// By trace: the number of its machine.
    pub(crate) fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// The answer to one who waits for it.
    pub(crate) fn answer(&self, path: &str, query: &str) -> Reply {
        self.answer_while(path, query, &Patience::default())
    }

    pub(crate) fn answer_while(&self, path: &str, query: &str, patience: &Patience) -> Reply {
        if let Some(page) = path.is_empty().then(|| page::around(Asks::Server)).flatten() {
            let (before, after) = page;
            let data = page::within(&self.first_answers());
            let body = [before.as_bytes(), &data, after.as_bytes()].concat().into();
            return Reply { status: StatusCode::OK, kind: HTML, body };
        }
        if let (Some(path), Some(others)) = (path.strip_prefix("b/"), &self.beside) {
            // The page is not theirs.
            return match path.starts_with("v1/") {
                true => others.answer_while(path, query, patience),
                false => failure(StatusCode::NOT_FOUND, "there is no such question"),
            };
        }
        let reply = self.reply(path, query, patience);
        // Looked for last: what changed before may have been missed meanwhile.
        match self.changed() {
            Some(reason) => failure(StatusCode::GONE, &reason),
            None => reply,
        }
    }

    fn reply(&self, path: &str, query: &str, patience: &Patience) -> Reply {
        let question = format!("{path}?{query}");
        let kind = if path == SLICES { BYTES } else { JSON };
        if let Some(body) = self.recall(&question) {
            return Reply { status: StatusCode::OK, kind, body };
        }
        let asked = Ask::by(query, patience);
        if asked.as_ref().is_ok_and(|ask| self.is_stale(ask)) {
            return failure(StatusCode::CONFLICT, "the session has gone on: ask v1/trace again");
        }
        match asked.and_then(|ask| self.ask(path, &ask)) {
            Ok(Some(text)) => {
                let body = Bytes::from(text);
                if self.live.is_none() {
                    self.remember(question, &body);
                }
                Reply { status: StatusCode::OK, kind, body }
            }
            Ok(None) => failure(StatusCode::NOT_FOUND, "there is no such question"),
            Err(reason) => failure(StatusCode::BAD_REQUEST, &reason),
        }
    }

    fn first_answers(&self) -> Vec<u8> {
        let first = self.changed().is_none().then(|| First {
            trace: self.about(),
            tracks: self.tracks.list(&tracks::Question::first()),
        });
        json(&Early { first }).unwrap_or_default()
    }

    /// Why nothing is answered any more: a file is not what was opened.
    pub(crate) fn changed(&self) -> Option<String> {
        let own = self.traces.iter().find_map(Trace::changed_file).map(|file| {
            let file = file.display();
            format!("{file} was shortened or written over while it was viewed: run lull view again")
        });
        own.or_else(|| self.beside.as_ref()?.changed())
    }

    fn revision(&self) -> Option<u64> {
        self.live.as_ref().map(|live| live.revision)
    }

    /// Whether a question is about what was viewed before.
    fn is_stale(&self, ask: &Ask) -> bool {
        let meant = ask.revision();
        meant.is_some() && meant != self.revision()
    }

    fn ask(&self, path: &str, ask: &Ask) -> Result<Option<Vec<u8>>, String> {
        let (history, tracks) = (&self.history, &self.tracks);
        let origin = history.begin();
        let text = match path {
            "v1/trace" => json(&self.about()),
            "v1/tracks" => json(&tracks.list(&tracks::Question::of(ask)?)),
            "v1/slices" => json(&self.slices(&slices::Question::of(ask, origin)?)?),
            SLICES => self.slices(&slices::Question::of(ask, origin)?)?.bytes(),
            "v1/ticks" => json(&self.ticks(&ticks::Question::of(ask, origin)?)?),
            "v1/lost" => json(&lost::regions(history.losses(), &ask.cut(origin)?)),
            "v1/events" => json(&rows::page(&*self.events, &rows::Question::of(ask, origin)?)?),
            "v1/details" => {
                json(&details::tell(history, tracks, &details::Question::of(ask, origin)?)?)
            }
            "v1/flows" => json(&flows::tell(history, tracks, ask)?),
            "v1/statistics" => json(&statistics::tell(history, tracks, ask)?),
            "v1/counter" => json(&counter::tell(&self.traces, history, ask)?),
            "v1/numbers" => json(&counter::names(&self.traces)),
            "v1/flame" => json(&flame::tell(self, ask)?),
            "v1/compare" => match &self.beside {
                Some(others) => json(&compare::tell(self, others, ask)?),
                None => Err("nothing is compared: see lull view --compare".into()),
            },
            _ => return Ok(None),
        };
        // What was given up half way is no answer.
        ask.patience.check()?;
        text.map(Some)
    }

    pub(crate) fn slices(&self, question: &slices::Question<'_>) -> Result<slices::Answer, String> {
        let far = self.far.get().and_then(Option::as_ref);
        slices::draw((&self.history, far), &self.tracks, question)
    }

    pub(crate) fn ticks(&self, question: &ticks::Question) -> Result<ticks::Counted, String> {
        let place = Where { traces: &self.traces, hosts: &self.hosts, packets: &self.packets };
        ticks::count(&place, &*self.events, question)
    }

    pub(crate) fn about(&self) -> About<'_> {
        let history = &self.history;
        let classes = self.traces.iter().flat_map(|trace| trace.event_classes());
        let mut events: Vec<&str> = classes.map(|class| &*class.name).collect();
        events.sort_unstable();
        events.dedup();
        events.truncate(MOST_NAMES);
        let beside = self.beside.as_ref().map(|others| others.folders.as_slice());
        let ended = self.live.as_ref().and_then(|live| live.ended.get());
        About {
            version: VERSION,
            traces: &self.folders,
            origin_ns: history.begin().0.to_string(),
            length_ns: history.end().0.saturating_sub(history.begin().0).saturating_add(1),
            hosts: history.names().hosts(),
            events,
            lost: history.losses().iter().fold(0, |sum: u64, lost| sum.saturating_add(lost.count)),
            left_out: history.left_out(),
            notes: ended.unwrap_or(&self.notes),
            revision: self.revision(),
            is_live: self.live.is_some() && ended.is_none(),
            beside,
        }
    }

    fn recall(&self, question: &str) -> Option<Bytes> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = remembered.iter().find(|(known, _)| known == question);
        found.map(|(_, body)| body.clone())
    }

    fn remember(&self, question: String, body: &Bytes) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.push_back((question, body.clone()));
        let mut bytes: usize = remembered.iter().map(|(_, body)| body.len()).sum();
        while remembered.len() > MOST_REMEMBERED || bytes > MOST_REMEMBERED_BYTES {
            let Some((_, oldest)) = remembered.pop_front() else { break };
            bytes -= oldest.len();
        }
    }
}

fn json(answer: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(answer).map_err(|error| error.to_string())
}

pub(crate) fn failure(status: StatusCode, reason: &str) -> Reply {
    let body = json(&Failure { error: reason }).unwrap_or_default();
    Reply { status, kind: JSON, body: body.into() }
}
