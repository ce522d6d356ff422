// SPDX-License-Identifier: MIT
//! Which functions the addresses in the call stacks of programs are in, event by event.
//!
//! Place in the flow: `lull print` hands over every event in the order of time, and what comes
//! before is read here, for what a process has mapped is told when it maps it. The state remembers
//! that, and `symbols` says what is there, by the same checks as for the flame graph.

use state::{Limits, State};
use trace::{Event, LossMessage, Merge, Message, Ns, Span, Trace};

use crate::names::Namer;

/// The names of the functions in call stacks.
pub struct Places<'t> {
    state: State,
    namer: Namer<'t>,
}

/// The places of an event's call stack, from the innermost: where a function is known, its name and
/// where in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct StackPlaces<'a> {
    /// Of each address of `user_stack`.
    pub user: &'a [Option<String>],
    /// The addresses that are in `user_stack_copy`, and their places.
    pub copy: &'a [(u64, Option<String>)],
}

impl StackPlaces<'_> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.user.is_empty() && self.copy.is_empty()
    }
}

impl<'t> Places<'t> {
    /// Knows what the events of all traces tell that come before a time.
    pub fn before(traces: &'t [Trace], from: Option<Ns>) -> Self {
        let earlier = Span { from: None, until: from };
        let mut merge = Merge::between(traces, &earlier);
        let state = State::new(traces, merge.stream_count(), &Limits::default());
        let mut places = Self { state, namer: Namer::new(traces, None) };
        // Damage there is not in what is printed.
        while let Some(message) = from.and_then(|_| merge.next()) {
            match message {
                Message::Event(event) => _ = places.state.event(&event),
                Message::Loss(loss) => places.loss(&loss),
            }
        }
        places
    }

    /// The places of the event's stack. Each event from the time on is handed over here or to
    /// [`Places::passed`], once.
    pub fn event(&mut self, event: &Event<'_>) -> StackPlaces<'_> {
        let Some(step) = self.state.event(event) else { return StackPlaces::default() };
        let process = self.state.threads().process_of(step.thread);
        self.namer.places(event, (&self.state, process))
    }

    /// An event whose stack nobody asks for: it has no places.
    pub fn passed(&mut self, event: &Event<'_>) -> StackPlaces<'_> {
        self.state.event(event);
        StackPlaces::default()
    }

    /// Events were lost.
    pub fn loss(&mut self, loss: &LossMessage<'_>) {
        self.state.loss(loss);
    }

    /// Which files the names could not be taken from, and which were not compared, in sentences.
    pub fn notes(&self) -> Vec<String> {
        self.namer.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::{Datum, Int, Kind, Order, Spec, StreamWriter};

    const ORDER: Order = Order::Little;

    fn spec() -> Spec {
        let length = Int::bytes(32, ORDER);
        let stack = Kind::Sequence { element: Box::new(Kind::u(64, ORDER)), length };
        let object =
            vec![("base", Kind::u(64, ORDER)), ("bytes", Kind::u(64, ORDER)), ("path", Kind::Text)];
        let thread = vec![
            ("pid", Kind::u(32, ORDER)),
            ("tid", Kind::u(32, ORDER)),
            ("name", Kind::CharArray(16)),
        ];
        let events = vec![
            (1, "lull:thread", Kind::structure(thread)),
            (8, "process:object", Kind::structure(object)),
            (9, "demo:hit", Kind::structure(vec![("user_stack", stack)])),
        ];
        Spec { frequency_hz: 1_000_000_000, offset_cycles: 0, ..Spec::lull(ORDER, events) }
    }

    fn object(base: u64, bytes: u64, path: &[u8]) -> Datum {
        let numbers = [base, bytes].map(Datum::Unsigned);
        Datum::List(numbers.into_iter().chain([Datum::Text(path.to_vec())]).collect())
    }

    /// A trace of objects at its begin, and an event with a stack at 5,000 cycles.
    fn recorded(objects: Vec<Datum>, stack: &[u64]) -> Trace {
        let spec = spec();
        let mut writer = StreamWriter::new(&spec, 2);
        writer.begin_packet(1000);
        let thread = vec![Datum::Unsigned(7), Datum::Unsigned(70), Datum::Text(b"main".to_vec())];
        writer.event(1, 1000, Datum::List(thread));
        for (at, object) in objects.into_iter().enumerate() {
            writer.event(8, 1001 + at as u64 / 8, object);
        }
        let stack = stack.iter().map(|address| Datum::Unsigned(*address)).collect();
        writer.event(9, 5000, Datum::List(vec![Datum::List(stack)]));
        writer.end_packet(6000, 0);
        let streams = vec![("stream".into(), writer.finish().0)];
        Trace::from_bytes(spec.metadata().as_bytes(), streams).unwrap()
    }

    /// The places of the stack, and the notes, read from a time on.
    fn named(trace: &Trace, from: Option<Ns>) -> (Vec<Option<String>>, Vec<String>) {
        let traces = std::slice::from_ref(trace);
        let mut places = Places::before(traces, from);
        let mut merge = Merge::between(traces, &Span { from, until: None });
        let mut found = Vec::new();
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            if !event.is_before_span() {
                found = places.event(&event).user.to_vec();
            }
        }
        (found, places.notes())
    }

    #[test]
    fn objects_that_overlap_are_huge_inverted_or_no_files_give_addresses_and_are_read_once() {
        let folder = testkit::TraceFolder::new(&spec().metadata(), &[]).unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().as_bytes().to_vec();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(made.unwrap().success());
        std::fs::write(folder.path().join("text\u{1b}[2J"), "no program").unwrap();
        let own = std::env::current_exe().unwrap().to_str().unwrap().as_bytes().to_vec();
        let mut objects = vec![
            object(0x1000, 0x1000, &own),
            object(0x1800, 0x1000, &path("pipe")),
            object(0x3000, u64::MAX, b"/dev/zero"),
            object(u64::MAX - 4, u64::MAX, b"/"),
            object(0x4000, 1 << 63, &path("text\u{1b}[2J")),
            object(0x5000, 0, &own),
            object(0x6000, 0x1000, b"relative/../path"),
            object(0x8000, 0x1000, b"\xff\xfe"),
            object(0x9000, 0x1000, &[b'/'; 600]),
        ];
        objects.extend((0..8000).map(|at| object(1 << 62, at + 1, &path("pipe"))));
        let stack = [0, 1, 0x1001, 0x1900, 0x3500, 0x4001, 0x5000, 0x6001, 0x8001, 0x9001, 1 << 62];
        let stack: Vec<u64> = stack.into_iter().chain([u64::MAX, u64::MAX - 1]).collect();
        let trace = recorded(objects, &stack);
        for from in [None, Some(Ns(4500))] {
            let (found, notes) = named(&trace, from);
            assert_eq!(found, vec![None; stack.len()]);
            let told = notes.join("\n");
            // The clock of the trace is long before the program was built.
            assert!(told.contains("by its clock it was changed after the event"), "{told}");
            assert!(told.contains("pipe (it is no regular file)"), "{told}");
            assert!(told.contains("/dev/zero (it is no regular file)"), "{told}");
        }
    }

    #[test]
    fn stack_of_an_event_is_as_long_as_its_places() {
        let trace = recorded(vec![], &[1, 2, 3]);
        assert_eq!(named(&trace, None).0.len(), 3);
    }
}
