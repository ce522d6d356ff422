// SPDX-License-Identifier: MIT
//! TSDL, the metadata language of CTF 1.8: from bytes to [`Metadata`].
//!
//! Flow: `packetized` unwraps, `lexer` and `parser` read, `build_type` and `blocks` give meaning,
//! `reference` binds lengths and tags, `roles` marks what the reader needs, and this file joins
//! events to streams and compiles their plans.

mod ast;
mod blocks;
mod build_type;
mod lexer;
mod packetized;
mod parser;
pub(crate) mod reference;
mod roles;
mod scope;
mod type_parser;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Clock;
use crate::ctf2;
use crate::error::MetadataError;
use crate::header::HeaderShape;
use crate::leading::Leading;
use crate::measure::measure_struct;
use crate::metadata::{EventClass, EventEntry, EventTable, Metadata, StreamClass};
use crate::plan::Plan;
use crate::types::{Scope, Struct};
use crate::units::{EventId, StreamId};
pub(crate) use blocks::{parse_uuid, Blocks, RawEvent, RawStream, MAX_CLOCKS};
use reference::Roots;

/// Longest metadata text that is read.
pub(crate) const MAX_TEXT_BYTES: usize = 32 << 20;

/// Parses the metadata of either version.
pub(crate) fn parse_either(text: &str) -> (Metadata, Vec<MetadataError>) {
    match ctf2::is_sequence(text) {
        true => ctf2::parse(text),
        false => parse(text),
    }
}

/// Parses text; errors do not stop what can be built around them.
pub(crate) fn parse(text: &str) -> (Metadata, Vec<MetadataError>) {
    if text.len() > MAX_TEXT_BYTES {
        let what = format!("the metadata is longer than {MAX_TEXT_BYTES} bytes");
        let (metadata, _) = finish(blocks::build(&[]));
        return (metadata, vec![MetadataError::new(1, what)]);
    }
    let (items, syntax_error) = parser::parse(text);
    let (metadata, mut errors) = finish(blocks::build(&items));
    if let Some(error) = syntax_error {
        errors.insert(0, error);
    }
    (metadata, errors)
}

pub(crate) fn salvage(bytes: &[u8]) -> (Metadata, Vec<MetadataError>) {
    let (text, damage) = packetized::unwrap(bytes);
    let (metadata, errors) = parse_either(&text);
    // Damage comes first: what the text lacks may have been in it.
    (metadata, damage.into_iter().chain(errors).collect())
}

struct Finish {
    errors: Vec<MetadataError>,
    warnings: Vec<MetadataError>,
    slot_count: u32,
    comparisons_left: Cell<u64>,
    /// The trace's clock if there is just one: what is named like a timestamp is mapped to it.
    only_clock: Option<u16>,
    /// Whether the metadata itself says which integers the reader needs.
    has_roles: bool,
}

/// Time stamps of a trace that describes no clock count nanoseconds (CTF 1.8, section 8).
fn add_implicit_clock(blocks: &mut Blocks) {
    let mut streams = blocks.streams.iter_mut();
    let tells_time =
        |s: &mut RawStream| roles::tells_time(s.packet_context.as_mut(), s.event_header.as_mut());
    if blocks.builder.clocks.is_empty() && !blocks.describes_clock && streams.any(tells_time) {
        blocks.builder.clocks.push(Clock::new("default".into()).finish());
    }
}

/// Joins events to streams and compiles their plans.
pub(crate) fn finish(mut blocks: Blocks) -> (Metadata, Vec<MetadataError>) {
    add_implicit_clock(&mut blocks);
    let mut finish = Finish {
        errors: std::mem::take(&mut blocks.errors),
        warnings: std::mem::take(&mut blocks.builder.warnings),
        slot_count: 0,
        comparisons_left: Cell::new(reference::MAX_COMPARISONS),
        only_clock: (blocks.builder.clocks.len() == 1).then_some(0),
        has_roles: blocks.has_roles,
    };
    if let Some(what) = blocks.missing {
        finish.errors.push(MetadataError::new(1, what));
    }
    let mut packet_header = blocks.packet_header.take();
    if let Some(header) = &mut packet_header {
        if !blocks.has_roles {
            roles::packet_header(header);
        }
        let mut roots = Roots::new(&finish.comparisons_left);
        roots.structs[0] = Some(header);
        if let Err(error) =
            reference::resolve(&mut roots, Scope::PacketHeader, &mut finish.slot_count)
        {
            finish.errors.push(error);
            packet_header = None;
        }
    }
    if blocks.streams.is_empty() && !blocks.events.is_empty() {
        blocks.streams.push(RawStream::default());
    }
    let only_stream = match blocks.streams.as_slice() {
        [only] => only.id,
        _ => 0,
    };
    let mut events_of: BTreeMap<u64, Vec<RawEvent>> = BTreeMap::new();
    for event in blocks.events {
        events_of.entry(event.stream.unwrap_or(only_stream)).or_default().push(event);
    }
    let mut streams = Vec::new();
    for raw in blocks.streams {
        let events = events_of.remove(&raw.id).unwrap_or_default();
        streams.extend(finish.stream(raw, events, &mut packet_header));
    }
    for orphan in events_of.into_values().flatten() {
        let what = format!("event `{}` belongs to no stream", orphan.name);
        finish.errors.push(MetadataError::new(orphan.line, what));
    }
    finish.packet_header(&mut packet_header);
    number_events(&mut streams);
    let metadata = Metadata {
        byte_order: blocks.builder.native,
        uuid: blocks.uuid,
        environment: blocks.environment,
        clocks: blocks.builder.clocks,
        warnings: finish.warnings,
        packet_header,
        streams,
        slot_count: finish.slot_count,
    };
    (metadata, finish.errors)
}

fn number_events(streams: &mut [StreamClass]) {
    let events = streams.iter_mut().flat_map(|stream| &mut stream.events);
    for (index, event) in events.enumerate() {
        event.index = index;
    }
}

impl Finish {
    fn packet_header(&mut self, header: &mut Option<Struct>) {
        if let Some(s) = header {
            roles::keep_only_clock(s, None);
            if let Err(what) = measure_struct(s, 0) {
                self.errors.push(MetadataError::new(1, what));
                *header = None;
            }
        }
    }

    /// A stream class, unless its own scopes cannot be read.
    fn stream(
        &mut self,
        raw: RawStream,
        events: Vec<RawEvent>,
        packet_header: &mut Option<Struct>,
    ) -> Option<StreamClass> {
        let line = raw.line;
        let mut scopes = [raw.packet_context, raw.event_header, raw.event_context];
        let loss_causes = match &mut scopes[0] {
            Some(context) if self.has_roles => roles::named_only(context),
            Some(context) => roles::packet_context(context, self.only_clock),
            None => Vec::new(),
        };
        if let Some(header) = scopes[1].as_mut().filter(|_| !self.has_roles) {
            roles::event_header(header, self.only_clock);
        }
        let clock = scopes.iter_mut().find_map(|s| roles::first_clock(s.as_mut()));
        for scope in scopes.iter_mut().flatten() {
            roles::keep_only_clock(scope, clock);
        }
        for scope in [Scope::PacketContext, Scope::EventHeader, Scope::StreamContext] {
            let mut roots = roots_of(&self.comparisons_left, packet_header, &mut scopes);
            if let Err(error) = reference::resolve(&mut roots, scope, &mut self.slot_count) {
                self.errors.push(error);
                return None;
            }
        }
        let mut built = Vec::with_capacity(events.len());
        for mut event in events {
            if let Err(error) = self.event(&mut event, packet_header, &mut scopes, clock) {
                self.errors.push(error);
            } else {
                built.push(event);
            }
        }
        for scope in scopes.iter_mut().flatten() {
            if let Err(what) = measure_struct(scope, 0) {
                self.errors.push(MetadataError::new(line, what));
                return None;
            }
        }
        let [packet_context, event_header, event_context] = scopes;
        let scopes = [event_header.as_ref(), event_context.as_ref()];
        let mut stream = StreamClass {
            id: StreamId(raw.id),
            widest_align_bits: widest_align_bits(&scopes),
            header_shape: HeaderShape::of(event_header.as_ref()),
            event_context_plan: Plan::of(&[event_context.as_ref()]),
            packet_context,
            event_header,
            event_context,
            clock,
            events: Vec::with_capacity(built.len()),
            loss_causes,
            table: EventTable::default(),
        };
        for event in built {
            self.add_event(&mut stream, event);
        }
        Some(stream)
    }

    fn event(
        &mut self,
        event: &mut RawEvent,
        packet_header: &mut Option<Struct>,
        scopes: &mut [Option<Struct>; 3],
        clock: Option<u16>,
    ) -> Result<(), MetadataError> {
        for scope in [&mut event.context, &mut event.payload].into_iter().flatten() {
            roles::keep_only_clock(scope, clock);
        }
        for scope in [Scope::EventContext, Scope::Payload] {
            let mut roots = roots_of(&self.comparisons_left, packet_header, scopes);
            roots.structs[Scope::EventContext as usize] = event.context.as_mut();
            roots.structs[Scope::Payload as usize] = event.payload.as_mut();
            reference::resolve(&mut roots, scope, &mut self.slot_count)?;
        }
        for scope in [&mut event.context, &mut event.payload].into_iter().flatten() {
            measure_struct(scope, 0).map_err(|what| MetadataError::new(event.line, what))?;
        }
        Ok(())
    }

    fn add_event(&mut self, stream: &mut StreamClass, raw: RawEvent) {
        let (context, own_context) = (stream.event_context.as_ref(), raw.context.as_ref());
        let payload = raw.payload.as_ref();
        let widest = widest_align_bits(&[own_context, payload]);
        stream.widest_align_bits = stream.widest_align_bits.max(widest);
        let class = stream.events.len() as u32;
        let has_fixed_context =
            context.is_none_or(|c| c.extent.fixed_bits.is_some() && !c.extent.reads);
        let fixed = match has_fixed_context {
            true => Plan::of(&[context, own_context, payload]).fixed(),
            false => None,
        };
        let entry = match fixed {
            Some((align_bits, body_bits)) => {
                EventEntry { body_bits, align_mask: align_bits - 1, class }
            }
            None => EventEntry { body_bits: EventEntry::DYNAMIC, align_mask: 0, class },
        };
        if !stream.table.insert(raw.id, entry) {
            let what = format!("event id {} of stream {} is used twice", raw.id, stream.id);
            self.errors.push(MetadataError::new(raw.line, what));
            return;
        }
        let before = Plan::of(&[context, own_context]);
        stream.events.push(EventClass {
            id: EventId(raw.id),
            stream: stream.id,
            name: Arc::from(raw.name),
            log_level: raw.log_level,
            emf_uri: raw.emf_uri,
            context_plan: Plan::of(&[own_context]),
            body_plan: Plan::of(&[own_context, payload]),
            leading: Leading::of(&before, payload),
            context: raw.context,
            payload: raw.payload,
            index: 0,
        });
    }
}

fn roots_of<'a>(
    comparisons_left: &'a Cell<u64>,
    packet_header: &'a mut Option<Struct>,
    scopes: &'a mut [Option<Struct>; 3],
) -> Roots<'a> {
    let [packet_context, event_header, event_context] = scopes;
    let mut roots = Roots::new(comparisons_left);
    roots.structs[Scope::PacketHeader as usize] = packet_header.as_mut();
    roots.structs[Scope::PacketContext as usize] = packet_context.as_mut();
    roots.structs[Scope::EventHeader as usize] = event_header.as_mut();
    roots.structs[Scope::StreamContext as usize] = event_context.as_mut();
    roots
}

/// The largest alignment of anything in scopes.
fn widest_align_bits(scopes: &[Option<&Struct>]) -> u32 {
    let aligns = scopes.iter().flatten().map(|scope| scope.extent.inner_align_bits);
    aligns.max().unwrap_or(1)
}
