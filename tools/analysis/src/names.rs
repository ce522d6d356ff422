// SPDX-License-Identifier: MIT
//! The functions that the addresses in the call stacks of programs are in.
//!
//! Place in the flow: analyses, `places` and exports hand over events with the state that follows
//! them; `symbols` says what is at an address of a process. A reader that begins in the middle of
//! a trace has missed what processes told of their files: for it, [`Names`] reads the trace once
//! and knows what was loaded at any moment. Only files that `symbols` may open are opened.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use state::{Limits, Mapped, ProcessIndex, State, Texts};
use symbols::{Copies, FrameIndex, Programs};
use trace::{Event, Merge, Message, Ns, Span, Trace};

use crate::places::StackPlaces;
use crate::stacks::{Ends, Stacks};

/// What is at an address of a process that a state knows.
#[derive(Debug, Default)]
struct Files {
    programs: Programs,
    copies: Copies,
    ends: Ends,
}

/// What every process had loaded at each moment of traces, and what its code is called. The traces
/// are read when it is needed first; they are the same ones always.
#[derive(Debug, Default)]
pub struct Names {
    until: Option<Ns>,
    known: OnceLock<Known>,
}

#[derive(Debug)]
struct Known {
    state: State,
    files: Mutex<Files>,
}

impl Names {
    /// Nothing is asked about moments from `until` on.
    pub fn before(until: Option<Ns>) -> Self {
        Self { until, ..Self::default() }
    }

    fn of(&self, traces: &[Trace]) -> &Known {
        self.known.get_or_init(|| Known::read(traces, self.until))
    }

    /// What the names lack, in sentences; nothing as long as none was needed.
    pub fn notes(&self) -> Vec<String> {
        let Some(known) = self.known.get() else { return Vec::new() };
        let mut notes = known.files().notes();
        let left_out = known.state.maps().left_out();
        if left_out > 0 {
            notes.push(format!(
                "{left_out} times what a process had loaded before found no room: its functions \
                 have no names."
            ));
        }
        notes
    }
}

impl Known {
    fn read(traces: &[Trace], until: Option<Ns>) -> Self {
        let mut merge = Merge::between(traces, &Span { from: None, until });
        let mut state = State::new(traces, merge.stream_count(), &Limits::default());
        state.keep_past();
        // Damage is told by who shows the events.
        while let Some(message) = merge.next() {
            match message {
                Message::Event(event) => _ = state.event(&event),
                Message::Loss(loss) => state.loss(&loss),
            }
        }
        Self { state, files: Mutex::default() }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process that another state of the same traces means.
    fn process(&self, state: &State, process: ProcessIndex) -> ProcessIndex {
        let of = state.threads().processes().get(process.0 as usize);
        let numbers = of.and_then(|of| Some((of.host, of.pid?)));
        let own = numbers.and_then(|(host, pid)| self.state.threads().process_of_pid(host, pid));
        own.unwrap_or(ProcessIndex::OTHERS)
    }
}

impl Files {
    fn notes(&self) -> Vec<String> {
        let mut notes = self.programs.notes();
        notes.extend(self.ends.notes());
        notes
    }
}

/// The variables at places that an index of states remembers, where no state follows the events:
/// as [`symbols::Programs::variable`] has them. Only files that `symbols` may open are opened.
pub fn variables<'t, K: 't>(
    texts: &'t Texts,
    places: impl Iterator<Item = (K, Mapped, Ns)> + 't,
) -> impl Iterator<Item = (K, String)> + 't {
    let mut programs = Programs::default();
    places.filter_map(move |(key, place, at)| Some((key, programs.variable_at(texts, &place, at)?)))
}

/// Whose functions are asked for, as a state knows it.
type Of<'s> = (&'s State, ProcessIndex);

/// Names the call stacks of events, one event after the other.
pub struct Namer<'t> {
    traces: &'t [Trace],
    stacks: Stacks,
    own: Files,
    names: Option<Arc<Names>>,
    /// Of the latest event, the user's frames.
    user: Vec<(u64, Option<FrameIndex>)>,
    frames: Vec<u64>,
    found: Found,
}

/// The places of an event's stack.
#[derive(Debug, Default)]
struct Found {
    user: Vec<Option<String>>,
    copy: Vec<(u64, Option<String>)>,
    frames: Vec<u64>,
}

impl Found {
    fn fill(
        &mut self,
        files: &mut Files,
        (state, process): Of<'_>,
        (stacks, at): (&Stacks, Ns),
        in_files: bool,
    ) {
        if !stacks.copy().is_empty() {
            files.follow((state, process), at, stacks.copy(), &mut self.frames);
            self.copy.extend(self.frames.iter().map(|address| (*address, None)));
        }
        let programs = &mut files.programs;
        let mut place = |address| match in_files {
            true => programs.place_in_file(state, process, address, at),
            false => programs.place(state, process, address, at).map(str::to_string),
        };
        self.user.extend(stacks.user().iter().map(|address| place(*address)));
        self.copy.iter_mut().for_each(|(address, text)| *text = place(*address));
    }

    fn places(&self) -> StackPlaces<'_> {
        StackPlaces { user: &self.user, copy: &self.copy }
    }
}

impl<'t> Namer<'t> {
    /// `names`: where not every event from the begin on is followed by the states that are given.
    pub fn new(traces: &'t [Trace], names: Option<Arc<Names>>) -> Self {
        Self {
            traces,
            stacks: Stacks::new(traces),
            own: Files::default(),
            names,
            user: Vec::new(),
            frames: Vec::new(),
            found: Found::default(),
        }
    }

    /// For an analysis of a span: what processes told before it is known, too.
    pub fn of_span(traces: &'t [Trace], names: Option<Arc<Names>>, span: &Span) -> Self {
        let of_earlier = || span.from.map(|_| Arc::new(Names::before(span.until)));
        Self::new(traces, names.or_else(of_earlier))
    }

    /// Whether an event can have a stack.
    pub(crate) fn has(&self, event: &Event<'_>) -> bool {
        self.stacks.has(event)
    }

    /// Takes over the stack of an event. `false`: its class has none.
    pub(crate) fn read(&mut self, event: &Event<'_>, of: Of<'_>) -> bool {
        self.user.clear();
        if !self.stacks.read(event) {
            return false;
        }
        let Self { traces, stacks, own, names, user, frames, .. } = self;
        let at = event.time_ns();
        let is_copy = !stacks.copy().is_empty();
        let recorded = if is_copy { &[][..] } else { stacks.user() };
        user.extend(recorded.iter().map(|address| (*address, None)));
        if !is_copy && user.is_empty() {
            return true;
        }
        with((own, names.as_deref(), traces), of, |files, (state, process)| {
            if is_copy {
                files.follow((state, process), at, stacks.copy(), frames);
                user.extend(frames.iter().map(|address| (*address, None)));
            }
            for (address, frame) in user.iter_mut() {
                *frame = files.programs.frame(state, process, *address, at);
            }
        });
        true
    }

    /// The frames of the program, innermost first, each with what it is called if its file is
    /// known; where the event has a copy of the stack, those that are found in it.
    pub(crate) fn user(&self) -> &[(u64, Option<FrameIndex>)] {
        &self.user
    }

    /// The addresses in the kernel, innermost first.
    pub(crate) fn kernel(&self) -> &[u64] {
        self.stacks.kernel()
    }

    /// What is at an address of a process's data at a time: a variable, or a place in a file.
    pub(crate) fn variable(&mut self, of: Of<'_>, address: u64, at: Ns) -> Option<String> {
        let Self { traces, own, names, .. } = self;
        with((own, names.as_deref(), traces), of, |files, (state, process)| {
            files.programs.variable(state, process, address, at)
        })
    }

    /// What a frame is called.
    pub(crate) fn text(&self, frame: FrameIndex) -> String {
        match &self.names {
            None => self.own.programs.text(frame).to_string(),
            Some(names) => names.of(self.traces).files().programs.text(frame).to_string(),
        }
    }

    /// Names of the places that the addresses of an event's stack stand for.
    pub fn places(&mut self, event: &Event<'_>, of: Of<'_>) -> StackPlaces<'_> {
        if self.has_user_stack(event) {
            let Self { traces, stacks, own, names, found, .. } = self;
            with((own, names.as_deref(), traces), of, |files, of| {
                found.fill(files, of, (stacks, event.time_ns()), false);
            });
        }
        self.found.places()
    }

    /// The same of a process by its number, where no state follows the events; where no function is
    /// known, the place in its file.
    pub fn places_of(&mut self, event: &Event<'_>, pid: i64) -> StackPlaces<'_> {
        let names = self.names.clone().filter(|_| self.has_user_stack(event));
        if let Some(known) = names.as_ref().map(|names| names.of(self.traces)) {
            let host = known.state.host(event.trace_index());
            let process = known.state.threads().process_of_pid(host, pid);
            let of = (&known.state, process.unwrap_or(ProcessIndex::OTHERS));
            let stack = (&self.stacks, event.time_ns());
            self.found.fill(&mut known.files(), of, stack, true);
        }
        self.found.places()
    }

    /// Reads the event's stack; nothing was found of it yet.
    fn has_user_stack(&mut self, event: &Event<'_>) -> bool {
        self.stacks.read(event);
        self.found.user.clear();
        self.found.copy.clear();
        !self.stacks.user().is_empty() || !self.stacks.copy().is_empty()
    }

    /// What the names lack, in sentences.
    pub fn notes(&self) -> Vec<String> {
        match &self.names {
            None => self.own.notes(),
            Some(names) => names.notes(),
        }
    }
}

impl Files {
    /// The frames that are found in a copy of a stack.
    fn follow(&mut self, of: Of<'_>, at: Ns, words: &[u64], frames: &mut Vec<u64>) {
        frames.clear();
        self.ends.add(self.copies.frames(of, at, words, frames));
    }
}

/// Asks the files of what knows the process at the time that is meant.
fn with<T>(
    (own, names, traces): (&mut Files, Option<&Names>, &[Trace]),
    of: Of<'_>,
    ask: impl FnOnce(&mut Files, Of<'_>) -> T,
) -> T {
    let Some(names) = names else { return ask(own, of) };
    let known = names.of(traces);
    ask(&mut known.files(), (&known.state, known.process(of.0, of.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ask, named, Cell, FlameOf, Options, Question};
    use testkit::{Datum, Int, Kind, Order, Spec, StreamWriter};

    const ORDER: Order = Order::Little;

    #[inline(never)]
    fn function_with_a_name_of_its_own() -> u64 {
        std::hint::black_box(function_with_a_name_of_its_own as *const () as u64)
    }

    fn spec() -> Spec {
        let list = |bits| {
            let (element, length) = (Box::new(Kind::u(bits, ORDER)), Int::bytes(32, ORDER));
            Kind::Sequence { element, length }
        };
        let number = |bits| Kind::u(bits, ORDER);
        let thread = vec![("pid", number(32)), ("tid", number(32)), ("name", Kind::CharArray(16))];
        let start = vec![
            ("pid", number(32)),
            ("parent_pid", number(32)),
            ("path", Kind::Text),
            ("arguments", Kind::Text),
        ];
        let object = vec![
            ("base", number(64)),
            ("bytes", number(64)),
            ("path", Kind::Text),
            ("build_id", list(8)),
        ];
        let events = vec![
            (1, "lull:thread", Kind::structure(thread)),
            (7, "process:start", Kind::structure(start)),
            (8, "process:object", Kind::structure(object)),
            (9, "demo:hit", Kind::structure(vec![("user_stack", list(64))])),
        ];
        let spec = Spec::lull(ORDER, events);
        Spec { frequency_hz: 1_000_000_000, offset_s: 0, offset_cycles: 0, ..spec }
    }

    fn text(text: &str) -> Datum {
        Datum::Text(text.as_bytes().to_vec())
    }

    fn numbers(all: impl IntoIterator<Item = u64>) -> Datum {
        Datum::List(all.into_iter().map(Datum::Unsigned).collect())
    }

    /// Where this test's own program is in memory.
    fn own_base() -> u64 {
        let path = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with(path.to_str().unwrap())).unwrap();
        u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
    }

    fn object(path: &str, build_id: &[u8]) -> Datum {
        let range = [own_base(), 1 << 40].map(Datum::Unsigned);
        let build_id = numbers(build_id.iter().map(|byte| u64::from(*byte)));
        Datum::List(range.into_iter().chain([text(path), build_id]).collect())
    }

    /// A process runs this test's program, of some build, and from 4000 on another that is gone;
    /// its stack is in one function at 3000 and at 5000.
    fn recorded(build_id: &[u8]) -> Trace {
        let spec = spec();
        let mut writer = StreamWriter::new(&spec, 2);
        writer.begin_packet(1000);
        let who = vec![Datum::Unsigned(7), Datum::Unsigned(70), text("main")];
        writer.event(1, 1000, Datum::List(who.clone()));
        writer.event(8, 2000, object(std::env::current_exe().unwrap().to_str().unwrap(), build_id));
        // A packet is read from its begin: what is before a span has to be in one of its own.
        writer.end_packet(2400, 0);
        writer.begin_packet(2600);
        writer.event(1, 2600, Datum::List(who.clone()));
        let stack = || Datum::List(vec![numbers([function_with_a_name_of_its_own() + 1])]);
        writer.event(9, 3000, stack());
        writer.end_packet(3500, 0);
        writer.begin_packet(4000);
        writer.event(1, 4000, Datum::List(who));
        let start = vec![Datum::Unsigned(7), Datum::Unsigned(1), text("/gone/other"), text("")];
        writer.event(7, 4000, Datum::List(start));
        writer.event(8, 4500, object("/gone/other", &[]));
        writer.event(9, 5000, stack());
        writer.end_packet(6000, 0);
        let streams = vec![("stream".into(), writer.finish().0)];
        Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
    }

    fn own_build() -> Vec<u8> {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        symbols::Functions::parse(&bytes).unwrap().build_id().to_vec()
    }

    /// The place of each stack from a time on, which is read first, and the notes.
    fn places(trace: &Trace, from: i64) -> (Vec<String>, String) {
        let traces = std::slice::from_ref(trace);
        let names = Arc::new(Names::default());
        assert!(names.notes().is_empty(), "nothing was read yet");
        let mut namer = Namer::new(traces, Some(names.clone()));
        let span = Span { from: Some(Ns(from)), until: None };
        let mut merge = Merge::between(traces, &span);
        let mut found = Vec::new();
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            if !event.is_before_span() && event.name() == "demo:hit" {
                let places = namer.places_of(&event, 7);
                found.extend(places.user.iter().map(|place| place.clone().unwrap_or_default()));
            }
        }
        (found, names.notes().join("\n"))
    }

    fn offset() -> u64 {
        function_with_a_name_of_its_own() + 1 - own_base()
    }

    #[test]
    fn a_place_is_named_by_what_was_loaded_at_its_time_wherever_reading_begins() {
        let trace = recorded(&own_build());
        let (all, notes) = places(&trace, 0);
        assert!(all[0].ends_with("::function_with_a_name_of_its_own+0x1"), "{all:?}");
        assert_eq!(all[1], format!("other+{:#x}", offset()));
        assert!(notes.contains("/gone/other (it cannot be opened)"), "{notes}");
        assert!(!notes.contains("not verified"), "the build is the same: {notes}");
        assert_eq!(places(&trace, 2500).0, all);
        assert_eq!(places(&trace, 4800).0, all[1..]);
    }

    #[test]
    fn a_file_of_another_build_gives_no_names_and_that_is_said() {
        let mut build = own_build();
        build[0] ^= 1;
        let (all, notes) = places(&recorded(&build), 2500);
        let path = std::env::current_exe().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(all[0], format!("{name}+{:#x}", offset()));
        assert!(notes.contains("(it is another build than the one that ran)"), "{notes}");
    }

    #[test]
    fn a_flame_graph_of_a_span_has_the_names_of_what_was_loaded_before() {
        let trace = recorded(&own_build());
        let traces = std::slice::from_ref(&trace);
        let question = Question { flame_of: Some(FlameOf::Stacks), ..Question::default() };
        let span = Span { from: Some(Ns(2500)), until: Some(Ns(4800)) };
        let options = Options { span, ..Options::default() };
        let answer = ask(named("flame").unwrap(), &question, traces, &options, |_| {}).unwrap();
        let [Cell::Text(stack), Cell::Count(1)] = &answer.sheet.tables[0].rows[0][..] else {
            panic!("{:?}", answer.sheet.tables)
        };
        assert!(stack.contains("::function_with_a_name_of_its_own;demo:hit"), "{stack}");
    }
}
