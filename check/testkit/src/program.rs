// SPDX-License-Identifier: MIT
//! Traces of made-up programs: events of named threads at chosen nanoseconds, in Lull's format, or
//! as LTTng writes a kernel's.
//!
//! Place in the flow: tests say what happened; `files()` gives it as the packets that Lull's probes
//! would have written, with a `lull:thread` record wherever the thread changes. LTTng's have what
//! contexts it was asked for instead, and its names of fields begin with an underscore.

use std::path::PathBuf;

use crate::{Datum, Int, Kind, Losses, Order, Spec, StreamWriter};

pub enum Value {
    Number(i64),
    Text(&'static str),
    /// 16 characters, as the kernel keeps the name of a thread.
    Name(&'static str),
    /// An array of two numbers.
    Pair([i64; 2]),
}

pub use Value::{Name, Number, Pair, Text};

/// A thread: pid, tid, name.
pub type Who = (i64, i64, &'static str);

/// Of whom no record is written.
pub const NOBODY: Who = (-1, -1, "");

struct Happening {
    at_ns: u64,
    cpu: u32,
    who: Who,
    name: &'static str,
    fields: Vec<Datum>,
}

pub struct Program {
    /// The text of the `env` block.
    pub environment: String,
    /// The contexts of LTTng's events: any of `pid`, `tid`, `vpid`, `vtid` and `procname`. `None`:
    /// the trace is Lull's.
    contexts: Option<&'static [&'static str]>,
    happenings: Vec<Happening>,
    classes: Vec<(&'static str, Kind)>,
    /// Processor, end of the packet, losses that the packet tells of.
    packet_ends: Vec<(u32, u64, Losses)>,
    /// Processor, end of the packet before, how many packets are missing after it.
    missing: Vec<(u32, u64, u64)>,
}

const THREAD_ID: u64 = 1;
const FIRST_ID: u64 = 8;
const NAME_BYTES: u64 = 16;

fn number() -> Kind {
    Kind::Int(Int { signed: true, ..Int::bytes(64, Order::native()) })
}

impl Default for Program {
    /// A program to which nothing has happened, in a trace that is complete.
    fn default() -> Self {
        let environment = "tracer_name = \"lull\"; verdict = \"complete\";".into();
        let (happenings, classes) = (Vec::new(), Vec::new());
        let (packet_ends, missing) = (Vec::new(), Vec::new());
        Self { environment, contexts: None, happenings, classes, packet_ends, missing }
    }
}

impl Program {
    pub fn new() -> Self {
        Self::default()
    }

    /// A trace of LTTng's kernel tracer.
    pub fn lttng(contexts: &'static [&'static str]) -> Self {
        let environment = "hostname = \"guest\"; domain = \"kernel\"; sysname = \"Linux\"; \
                           kernel_release = \"6.1.0\"; tracer_name = \"lttng-modules\"; \
                           tracer_major = 2; tracer_minor = 16;";
        let environment = environment.into();
        Self { environment, contexts: Some(contexts), ..Self::default() }
    }

    /// An event. All events of one name have the same fields.
    pub fn event(
        &mut self,
        at_ns: u64,
        cpu: u32,
        who: Who,
        name: &'static str,
        fields: &[(&str, Value)],
    ) {
        if !self.classes.iter().any(|(known, _)| *known == name) {
            let mark = if self.contexts.is_some() { "_" } else { "" };
            let kinds = fields.iter().map(|(field, value)| {
                let kind = match value {
                    Number(_) => number(),
                    Text(_) => Kind::Text,
                    Name(_) => Kind::CharArray(NAME_BYTES),
                    Pair(_) => Kind::Array { element: Box::new(number()), count: 2 },
                };
                (format!("{mark}{field}"), kind)
            });
            self.classes.push((name, Kind::Struct { fields: kinds.collect(), align_bits: 1 }));
        }
        let fields = fields.iter().map(|(_, value)| match value {
            Number(number) => Datum::Signed(*number),
            Text(text) | Name(text) => Datum::Text(text.as_bytes().to_vec()),
            Pair(pair) => Datum::List(pair.map(Datum::Signed).to_vec()),
        });
        let fields = fields.collect();
        self.happenings.push(Happening { at_ns, cpu, who, name, fields });
    }

    /// A call that begins and ends on one processor.
    pub fn call(
        &mut self,
        (begin_ns, end_ns): (u64, u64),
        who: Who,
        (entry, entry_fields): (&'static str, &[(&str, Value)]),
        (exit, exit_fields): (&'static str, &[(&str, Value)]),
    ) {
        self.event(begin_ns, 0, who, entry, entry_fields);
        self.event(end_ns, 0, who, exit, exit_fields);
    }

    /// The kernel's scheduler takes a processor from a thread, in a state as `prev_state` has it,
    /// and gives it to the next.
    pub fn switch(&mut self, (at_ns, cpu): (u64, u32), (prev, state): (Who, i64), next: Who) {
        let fields = [
            ("prev_comm", Text(prev.2)),
            ("prev_pid", Number(prev.1)),
            ("prev_state", Number(state)),
            ("next_comm", Text(next.2)),
            ("next_pid", Number(next.1)),
        ];
        self.event(at_ns, cpu, prev, "sched:sched_switch", &fields);
    }

    /// A thread wakes another.
    pub fn wakeup(&mut self, (at_ns, cpu): (u64, u32), by: Who, woken: Who) {
        let fields = [("comm", Text(woken.2)), ("pid", Number(woken.1))];
        self.event(at_ns, cpu, by, "sched:sched_wakeup", &fields);
    }

    /// Ends a processor's packet, which tells of losses.
    pub fn end_packet(&mut self, at_ns: u64, cpu: u32, losses: Losses) {
        self.packet_ends.push((cpu, at_ns, losses));
    }

    /// Leaves packets of a processor out, after the one that ends then: the next one begins with
    /// its first event.
    pub fn lose_packets(&mut self, end_ns: u64, cpu: u32, count: u64) {
        self.missing.push((cpu, end_ns, count));
    }

    fn spec(&self) -> Spec {
        let order = Order::native();
        let id = || Kind::Int(Int { signed: false, ..Int::bytes(32, order) });
        let thread = vec![("pid", id()), ("tid", id()), ("name", Kind::CharArray(NAME_BYTES))];
        let mut events = match self.contexts {
            None => vec![(THREAD_ID, "lull:thread", Kind::structure(thread))],
            Some(_) => Vec::new(),
        };
        let context = |name: &&'static str| match *name {
            "procname" => ("_procname", Kind::CharArray(NAME_BYTES)),
            "pid" => ("_pid", number()),
            "tid" => ("_tid", number()),
            "vpid" => ("_vpid", number()),
            _ => ("_vtid", number()),
        };
        let contexts = self.contexts.filter(|contexts| !contexts.is_empty());
        let stream_context =
            contexts.map(|contexts| Kind::structure(contexts.iter().map(context).collect()));
        let classes = self.classes.iter().enumerate();
        events.extend(classes.map(|(i, (name, kind))| (FIRST_ID + i as u64, *name, kind.clone())));
        Spec {
            frequency_hz: 1_000_000_000,
            offset_s: 0,
            offset_cycles: 0,
            stream_context,
            ..Spec::lull(order, events)
        }
    }

    /// The metadata, and each stream with the name of its file.
    pub fn files(&self) -> (String, Vec<(PathBuf, Vec<u8>)>) {
        let spec = self.spec();
        let mut cpus: Vec<u32> = self.happenings.iter().map(|happening| happening.cpu).collect();
        cpus.extend(self.packet_ends.iter().map(|(cpu, ..)| *cpu));
        cpus.sort_unstable();
        cpus.dedup();
        let streams = cpus.into_iter().enumerate();
        let streams =
            streams.map(|(i, cpu)| (format!("stream_{i}").into(), self.stream(&spec, cpu)));
        let streams = streams.collect();
        let metadata = spec.metadata();
        let begin = metadata.find("env {").expect("the metadata has an environment");
        let until = begin + metadata[begin..].find('}').expect("that ends");
        let environment = format!("env {{ {} ", self.environment);
        (metadata[..begin].to_string() + &environment + &metadata[until..], streams)
    }

    /// The same, where the second stream is of a class of its own, with the same events.
    pub fn files_of_two_classes(&self) -> (String, Vec<Vec<u8>>) {
        const CLASS_AT: usize = 20;
        let (metadata, streams) = self.files();
        let mut streams: Vec<Vec<u8>> = streams.into_iter().map(|(_, bytes)| bytes).collect();
        let classes = &metadata[metadata.find("stream {").expect("the metadata has a stream")..];
        let second = classes.replace("    id = 0;", "    id = 1;");
        let second = second.replace("stream_id = 0;", "stream_id = 1;");
        for begin in packet_ends(&streams[1]).into_iter().rev().skip(1) {
            streams[1][begin + CLASS_AT] = 1;
        }
        (metadata + &second, streams)
    }

    /// In a container, threads have other numbers: here, greater ones by 1000.
    fn context(&self, (pid, tid, name): Who) -> Datum {
        let of = |context: &&str| match *context {
            "procname" => Datum::Text(name.into()),
            "pid" => Datum::Signed(pid),
            "tid" => Datum::Signed(tid),
            "vpid" => Datum::Signed(pid + 1000),
            _ => Datum::Signed(tid + 1000),
        };
        Datum::List(self.contexts.unwrap_or(&[]).iter().map(of).collect())
    }

    fn stream(&self, spec: &Spec, cpu: u32) -> Vec<u8> {
        let here = self.happenings.iter().filter(|happening| happening.cpu == cpu);
        let mut events: Vec<&Happening> = here.collect();
        events.sort_by_key(|happening| happening.at_ns);
        let last_ns = events.last().map_or(0, |happening| happening.at_ns);
        let ends = self.packet_ends.iter().filter(|(of, ..)| *of == cpu);
        let mut ends: Vec<(u64, Losses)> = ends.map(|(_, at, losses)| (*at, *losses)).collect();
        ends.sort_by_key(|(at, _)| *at);
        if ends.last().is_none_or(|(at, _)| *at < last_ns) {
            ends.push((last_ns, [0; 4]));
        }
        let mut writer = StreamWriter::new(spec, cpu);
        let mut events = events.into_iter().peekable();
        let mut begin_ns = events.peek().map_or(0, |happening| happening.at_ns);
        for (end_ns, losses) in ends {
            writer.begin_packet(begin_ns);
            let mut current = None;
            while let Some(happening) = events.next_if(|happening| happening.at_ns <= end_ns) {
                let is_told = self.contexts.is_none() && happening.who != NOBODY;
                if is_told && current != Some(happening.who) {
                    current = Some(happening.who);
                    writer.event(THREAD_ID, happening.at_ns, identity(happening.who));
                }
                let id = self.classes.iter().position(|(name, _)| *name == happening.name);
                let id = FIRST_ID + id.expect("every event has a class") as u64;
                let context = spec.stream_context.is_some().then(|| self.context(happening.who));
                let payload = Some(Datum::List(happening.fields.clone()));
                writer.event_with(id, happening.at_ns, [context, None, payload]);
            }
            writer.lose(losses);
            writer.end_packet(end_ns, 0);
            begin_ns = end_ns;
            let missing = self.missing.iter().find(|(of, at, _)| (*of, *at) == (cpu, end_ns));
            if let Some((.., count)) = missing {
                writer.skip_sequence(*count);
                begin_ns = events.peek().map_or(end_ns, |happening| happening.at_ns);
            }
        }
        writer.finish().0
    }
}

fn identity((pid, tid, name): Who) -> Datum {
    Datum::List(vec![
        Datum::Unsigned(pid as u64),
        Datum::Unsigned(tid as u64),
        Datum::Text(name.as_bytes().to_vec()),
    ])
}

/// Where the packets of a stream begin, and where the last one ends.
pub fn packet_ends(stream: &[u8]) -> Vec<usize> {
    let mut ends = vec![0];
    while let Some(size) = stream.get(ends[ends.len() - 1] + 48..).and_then(|b| b.get(..8)) {
        let bits = u64::from_ne_bytes(size.try_into().unwrap());
        ends.push(ends[ends.len() - 1] + (bits / 8) as usize);
    }
    ends
}
