// SPDX-License-Identifier: MIT
//! Perfetto's trace format: packets of protobuf, written as they come.
//!
//! Place in the flow: `follow` tells; `messages` are the packets, `names` replaces names by numbers
//! of which a packet tells once, `tracks` describes the rows. What the scheduler says is written as
//! the kernel's own events (`ftrace`), from which Perfetto makes its rows of processors and of the
//! states of threads. Packets need not be in the order of time: readers sort them.

mod ftrace;
pub(crate) mod messages;
mod names;
mod tracks;

use std::io::{self, Write};

use prost::Message;
use state::{NameIndex, PairIndex, Scheduled, State};
use trace::{Ns, Trace};

use crate::arguments::{cut, Argument, Value, NAME_BYTES};
use crate::nesting::Open;
use crate::sink::{
    call_text, category, event_text, Counter, End, Late, Lost, Moment, Sink, GOES_ON,
};
use ftrace::Ftrace;
use messages::*;
use names::Names;
use tracks::{Row, Tracks};

/// All packets are of one sequence, which shares the interned names.
const SEQUENCE: u32 = 1;
/// `Trace.packet`: field 1, a message.
const PACKET_KEY: u8 = 1 << 3 | 2;
/// What tells of a call whose end was not seen.
const NOT_SEEN: &str = "end not seen: it ends here at the latest for the call around it";
const OVERLAPS: &str = "overlaps: the call around it ended before";

pub(crate) struct Perfetto<'w> {
    out: Out<'w>,
    names: Names,
    tracks: Tracks,
    ftrace: Ftrace,
    left_out: u64,
}

/// The file, and what is written before the first event.
struct Out<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    /// What is added to times: packets cannot have negative ones. `None`: nothing is written yet.
    shift: Option<i64>,
    release: Option<String>,
}

impl Out<'_> {
    fn packet(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.push(PACKET_KEY);
        packet.encode_length_delimited(&mut self.buffer).map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }

    /// A time as packets have it. The first one decides, and begins the file.
    fn time(&mut self, at: Ns) -> io::Result<u64> {
        let shift = match self.shift {
            Some(shift) => shift,
            None => {
                let shift = at.0.checked_neg().unwrap_or(i64::MAX).max(0);
                self.shift = Some(shift);
                self.begin(unsigned(at.0.saturating_add(shift)))?;
                shift
            }
        };
        Ok(unsigned(at.0.saturating_add(shift)))
    }

    /// The two clocks are said to be one, so that viewers show the time of day.
    fn begin(&mut self, at: u64) -> io::Result<()> {
        let clock = |id| Clock { clock_id: Some(id), timestamp: Some(at) };
        let release = self.release.take();
        let utsname = release
            .map(|release| Utsname { sysname: Some("Linux".into()), release: Some(release) });
        self.packet(&TracePacket {
            timestamp: Some(at),
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(STATE_CLEARED),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![clock(CLOCK_BOOTTIME), clock(CLOCK_REALTIME)],
                primary_trace_clock: Some(CLOCK_BOOTTIME),
            }),
            ..TracePacket::default()
        })?;
        match utsname {
            None => Ok(()),
            utsname => self.packet(&TracePacket {
                trusted_packet_sequence_id: Some(SEQUENCE),
                system_info: Some(SystemInfo { utsname }),
                ..TracePacket::default()
            }),
        }
    }
}

fn unsigned(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

fn annotation(value: &Value) -> DebugAnnotation {
    let mut annotation = DebugAnnotation::default();
    match value {
        Value::Unsigned(value) => annotation.uint_value = Some(*value),
        Value::Signed(value) => annotation.int_value = Some(*value),
        Value::Address(value) => annotation.pointer_value = Some(*value),
        Value::Float(value) => annotation.double_value = Some(*value),
        Value::Boolean(value) => annotation.bool_value = Some(*value),
        Value::Text(value) => annotation.string_value = Some(value.to_string()),
    }
    annotation
}

impl<'w> Perfetto<'w> {
    pub fn new(traces: &[Trace], out: &'w mut dyn Write) -> Self {
        let release = traces.iter().find_map(|t| t.metadata().environment_text("kernel_release"));
        let release = release.map(|release| cut(release, NAME_BYTES));
        let out = Out { out, buffer: Vec::new(), shift: None, release };
        let (names, tracks, ftrace) = (Names::default(), Tracks::new(traces), Ftrace::default());
        Self { out, names, tracks, ftrace, left_out: 0 }
    }

    /// Writes an event, before it the descriptions that it needs.
    fn event(
        &mut self,
        (at, row): (Ns, Row),
        state: &State,
        (name, arguments): (Option<&str>, &[Argument]),
        mut event: TrackEvent,
    ) -> io::Result<()> {
        let at = self.out.time(at)?;
        let (uuid, descriptors) = self.tracks.of(state, row);
        for descriptor in descriptors {
            self.describe(descriptor)?;
        }
        let mut interned = InternedData::default();
        event.track_uuid = Some(uuid);
        if let Some(name) = name {
            match self.names.event(name, &mut interned) {
                Some(iid) => event.name_iid = Some(iid),
                None => event.name = Some(name.to_string()),
            }
            let group = category(name);
            if !group.is_empty() {
                event.category_iids.extend(self.names.category(group, &mut interned));
            }
        }
        for argument in arguments {
            let mut annotation = annotation(&argument.value);
            match self.names.argument(&argument.name, &mut interned) {
                Some(iid) => annotation.name_iid = Some(iid),
                None => annotation.name = Some(argument.name.clone()),
            }
            event.debug_annotations.push(annotation);
        }
        let is_empty = interned == InternedData::default();
        self.out.packet(&TracePacket {
            timestamp: Some(at),
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(NEEDS_STATE),
            track_event: Some(event),
            interned_data: (!is_empty).then_some(interned),
            ..TracePacket::default()
        })
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.out.packet(&TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })
    }

    /// A slice whose end is known.
    fn slice(
        &mut self,
        (row, begin, until): (Row, Ns, Ns),
        state: &State,
        (name, arguments): (&str, &[Argument]),
    ) -> io::Result<()> {
        let event = |kind| TrackEvent { kind: Some(kind), ..TrackEvent::default() };
        self.event((begin, row), state, (Some(name), arguments), event(SLICE_BEGIN))?;
        self.event((until, row), state, (None, &[]), event(SLICE_END))
    }

    fn flush_ftrace(&mut self, cpu: u32) -> io::Result<()> {
        let Some(bundle) = self.ftrace.take(cpu) else { return Ok(()) };
        self.out.packet(&TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            ftrace_events: Some(bundle),
            ..TracePacket::default()
        })
    }
}

fn track_event(moment: &Moment<'_>, kind: i32) -> TrackEvent {
    TrackEvent {
        kind: Some(kind),
        flow_ids: moment.flows.tail.into_iter().collect(),
        terminating_flow_ids: moment.flows.head.into_iter().collect(),
        ..TrackEvent::default()
    }
}

/// The arguments of a moment, with the processor.
fn with_cpu(moment: &Moment<'_>) -> Vec<Argument> {
    let cpu =
        moment.cpu.map(|cpu| Argument { name: "cpu".into(), value: Value::Unsigned(cpu.0.into()) });
    moment.arguments.iter().cloned().chain(cpu).collect()
}

fn remark(text: &str) -> Argument {
    Argument { name: "lull".into(), value: Value::Text(text.into()) }
}

impl Sink for Perfetto<'_> {
    fn begin(&mut self, moment: &Moment<'_>, pair: PairIndex) -> io::Result<()> {
        let name = call_text(moment.state, pair);
        let (arguments, event) = (with_cpu(moment), track_event(moment, SLICE_BEGIN));
        let row = (moment.at, Row::Thread(moment.thread));
        self.event(row, moment.state, (Some(&name), &arguments), event)
    }

    fn end(&mut self, moment: &Moment<'_>, _: &Open, end: End) -> io::Result<()> {
        let remark = (end == End::NotSeen).then(|| remark(NOT_SEEN));
        // A slice without an end is one that has not ended: there is nothing to write.
        if end == End::Open {
            return Ok(());
        }
        let arguments: Vec<Argument> = moment.arguments.iter().cloned().chain(remark).collect();
        let (row, event) =
            ((moment.at, Row::Thread(moment.thread)), track_event(moment, SLICE_END));
        self.event(row, moment.state, (None, &arguments), event)
    }

    fn late(&mut self, moment: &Moment<'_>, late: &Late) -> io::Result<()> {
        let name = call_text(moment.state, late.pair);
        let mut arguments = with_cpu(moment);
        if late.from != late.begin {
            arguments.push(remark(OVERLAPS));
        }
        let row = self.tracks.lane(moment.thread, late.from, moment.at);
        self.slice((row, late.from, moment.at), moment.state, (&name, &arguments))
    }

    fn goes_on(&mut self, moment: &Moment<'_>) -> io::Result<()> {
        let head = TrackEvent { flow_ids: Vec::new(), ..track_event(moment, INSTANT) };
        let row = (moment.at, Row::Thread(moment.thread));
        self.event(row, moment.state, (Some(GOES_ON), &[]), head)
    }

    fn instant(&mut self, moment: &Moment<'_>, name: NameIndex) -> io::Result<()> {
        let name = event_text(moment.state, name);
        let (arguments, event) = (with_cpu(moment), track_event(moment, INSTANT));
        let row = (moment.at, Row::Thread(moment.thread));
        self.event(row, moment.state, (Some(&name), &arguments), event)
    }

    fn counter(&mut self, moment: &Moment<'_>, counter: &Counter<'_>) -> io::Result<()> {
        let process = moment.state.threads().process_of(moment.thread);
        let number = self.tracks.counter(process, counter.number, counter.name);
        let Some(row) = number.map(Row::Counter) else {
            self.left_out += 1;
            return Ok(());
        };
        let mut event = TrackEvent { kind: Some(COUNTER), ..TrackEvent::default() };
        match counter.value {
            Value::Signed(value) => event.counter_value = Some(*value),
            Value::Unsigned(value) if i64::try_from(*value).is_ok() => {
                event.counter_value = i64::try_from(*value).ok();
            }
            Value::Unsigned(value) => event.double_counter_value = Some(*value as f64),
            Value::Float(value) => event.double_counter_value = Some(*value),
            Value::Address(_) | Value::Boolean(_) | Value::Text(_) => return Ok(()),
        }
        self.event((moment.at, row), moment.state, (None, &[]), event)
    }

    fn scheduled(&mut self, moment: &Moment<'_>, told: &Scheduled<'_>) -> io::Result<()> {
        // Perfetto knows the threads of one machine by their numbers.
        if self.tracks.has_hosts() {
            return Ok(());
        }
        let Some(cpu) = moment.cpu else { return Ok(()) };
        let at = self.out.time(moment.at)?;
        let tid = moment.state.threads().tid(moment.thread);
        match self.ftrace.add(cpu.0, at, tid, told) {
            true => self.flush_ftrace(cpu.0),
            false => Ok(()),
        }
    }

    fn lost(&mut self, state: &State, lost: &Lost) -> io::Result<()> {
        let argument = |(cause, count): &(String, u64)| Argument {
            name: cut(cause, NAME_BYTES),
            value: Value::Unsigned(*count),
        };
        let arguments: Vec<Argument> = lost.causes.iter().map(argument).collect();
        let row = Row::Losses(lost.host, lost.cpu);
        match lost.begin {
            Some(begin) => self.slice((row, begin, lost.until), state, (&lost.text(), &arguments)),
            None => {
                let event = TrackEvent { kind: Some(INSTANT), ..TrackEvent::default() };
                self.event((lost.until, row), state, (Some(&lost.text()), &arguments), event)
            }
        }
    }

    fn finish(&mut self, state: &State, last: Ns) -> io::Result<()> {
        self.out.time(last)?;
        for cpu in self.ftrace.cpus() {
            self.flush_ftrace(cpu)?;
        }
        for descriptor in self.tracks.renamed(state) {
            self.describe(descriptor)?;
        }
        self.out.out.flush()
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }
}
