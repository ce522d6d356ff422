// SPDX-License-Identifier: MIT
//! What the parts of the new trace are: widths of identifiers, fields of packet contexts, clocks.
//!
//! Place in the flow: decided once, before metadata and packets are written by it.

use std::sync::Arc;

use trace::{
    ByteOrder, EnvironmentValue, Field, Metadata, Ns, Span, StreamClass, Type, THREAD_EVENT,
};

use crate::{Correction, Format, Options, Part};

/// Name and size of each field that every packet context begins with.
pub(crate) const COUNTERS: [&str; 4] =
    ["content_size", "packet_size", "packet_seq_num", "events_discarded"];

/// The parts of the new trace that do not depend on one event.
#[derive(Debug)]
pub struct Layout {
    pub(crate) format: Format,
    pub(crate) order: ByteOrder,
    /// Whether times are written in nanoseconds, corrected if there is anything to correct.
    pub(crate) in_ns: bool,
    pub(crate) correction: Option<Correction>,
    /// Whether events of the old trace may be left out.
    pub(crate) is_part: bool,
    pub(crate) environment: Vec<(String, EnvironmentValue)>,
    /// Whether events get the contexts `vpid` and `vtid`.
    pub(crate) has_threads: bool,
    pub(crate) uuid: Option<[u8; 16]>,
    pub(crate) streams: Vec<StreamLayout>,
}

/// The parts of one stream class.
#[derive(Debug)]
pub(crate) struct StreamLayout {
    pub id: u64,
    /// 32 or 64.
    pub event_id_bits: u32,
    pub has_clock: bool,
    pub causes: Vec<Arc<str>>,
    /// Positions in the old packet context of integers that have no role.
    pub others: Vec<usize>,
}

impl Layout {
    pub fn new(metadata: &Metadata, options: Options, part: &Part<'_>) -> Self {
        let is_thread = |class: &trace::EventClass| &*class.name == THREAD_EVENT;
        let has_threads = metadata.event_classes().any(is_thread);
        Self {
            format: options.format,
            order: options.order,
            in_ns: options.for_trace_compass || part.correction.is_some(),
            correction: part.correction,
            is_part: part.take.is_some() || part.span != Span::ALL,
            environment: environment(&metadata.environment, &part.environment),
            has_threads: options.for_trace_compass && has_threads,
            uuid: metadata.uuid,
            streams: metadata.streams.iter().map(StreamLayout::new).collect(),
        }
    }

    /// Adds entries to the environment, or replaces them.
    pub fn add(&mut self, new: &Environment) {
        self.environment = environment(&self.environment, new);
    }

    /// A time in nanoseconds as the new trace counts, which has none before its clock's origin.
    pub(crate) fn ns(&self, ns: Ns) -> u64 {
        let ns = self.correction.map_or(ns.0, |correction| correction.apply(ns.0));
        ns.max(0) as u64
    }
}

type Environment = [(String, EnvironmentValue)];

/// The old environment with the new entries in it.
fn environment(old: &Environment, new: &Environment) -> Vec<(String, EnvironmentValue)> {
    let is_new = |name: &str| new.iter().any(|(other, _)| other == name);
    old.iter().filter(|(name, _)| !is_new(name)).chain(new).cloned().collect()
}

impl StreamLayout {
    fn new(class: &StreamClass) -> Self {
        let is_small = class.events.iter().all(|event| event.id.0 < 1 << 32);
        let context = class.packet_context.iter().flat_map(|context| &context.fields);
        let others = context.enumerate().filter(|(_, field)| is_other(field));
        Self {
            id: class.id.0,
            event_id_bits: if is_small { 32 } else { 64 },
            has_clock: class.clock.is_some(),
            causes: class.loss_causes().to_vec(),
            others: others.map(|(index, _)| index).collect(),
        }
    }

    /// The fields of the old packet context that are kept as they are.
    pub fn kept<'m>(&'m self, class: &'m StreamClass) -> impl Iterator<Item = &'m Field> {
        let fields = class.packet_context.as_ref().map(|context| &context.fields);
        self.others.iter().filter_map(move |index| fields?.get(*index))
    }
}

/// Whether a field of a packet context means nothing to the writer; `cpu_id` is kept likewise.
fn is_other(field: &Field) -> bool {
    match &field.ty {
        Type::Integer(integer) => !integer.is_of_reader() || field.name() == "cpu_id",
        Type::Enumeration(enumeration) => !enumeration.container.is_of_reader(),
        _ => false,
    }
}

/// The clock of a trace whose times are nanoseconds.
pub(crate) const NS_CLOCK: &str = "nanoseconds";
