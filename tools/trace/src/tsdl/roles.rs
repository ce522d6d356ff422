// SPDX-License-Identifier: MIT
//! Which integers the reader itself uses: sizes, ids, counters, timestamps.
//!
//! Place in the flow: after references, before `measure`: a clock-mapped integer must be read even
//! when no caller asks for its value, so roles and clocks decide what can be skipped.

use std::sync::Arc;

use crate::types::{Integer, Meaning, Role, Struct, Type};

/// Prefix of packet-context counters that split the discarded events by cause.
const CAUSE_PREFIX: &str = "lost_";
const MAX_CAUSES: usize = 16;

/// Calls `with` for every integer below a struct, with the name of its field.
fn each_integer(s: &mut Struct, with: &mut dyn FnMut(&str, &mut Integer)) {
    for field in &mut s.fields {
        let name = Arc::clone(&field.original);
        each_integer_of(&name, &mut field.ty, with);
    }
}

fn each_integer_of(name: &str, ty: &mut Type, with: &mut dyn FnMut(&str, &mut Integer)) {
    match ty {
        Type::Integer(integer) => with(name, integer),
        Type::Enumeration(enumeration) => with(name, &mut enumeration.container),
        Type::Struct(s) => each_integer(s, with),
        Type::Array(a) => each_integer_of(name, &mut a.element, with),
        Type::Sequence(s) => each_integer_of(name, &mut s.element, with),
        Type::Variant(v) => {
            for option in &mut v.options {
                let name = Arc::clone(&option.original);
                each_integer_of(&name, &mut option.ty, with);
            }
        }
        Type::Float(_) | Type::Text(_) => {}
    }
}

/// The names that the reader looks for, as a scope spells them: some writers put an underscore
/// before every name. Where a scope has a name with and without one, only the latter is meant.
struct Spelling(Vec<Arc<str>>);

impl Spelling {
    fn of(s: &mut Struct) -> Self {
        let mut names: Vec<Arc<str>> = Vec::new();
        each_integer(s, &mut |name, _| names.push(name.into()));
        names.sort_unstable();
        Self(names)
    }

    fn known<'a>(&self, name: &'a str) -> &'a str {
        match name.strip_prefix('_') {
            Some(plain) if self.0.binary_search_by(|n| (**n).cmp(plain)).is_err() => plain,
            _ => name,
        }
    }
}

pub(super) fn packet_header(s: &mut Struct) {
    let spelling = Spelling::of(s);
    for field in &mut s.fields {
        match (spelling.known(&field.original), &mut field.ty) {
            ("magic", Type::Integer(i)) if i.size_bits == 32 => i.role = Role::Magic,
            ("stream_id", Type::Integer(i)) => i.role = Role::StreamId,
            ("stream_instance_id", Type::Integer(i)) if !i.signed => {
                i.role = Role::StreamInstance;
            }
            ("uuid", Type::Array(a)) if a.count == 16 => {
                if let Type::Integer(byte) = &mut *a.element {
                    if byte.size_bits == 8 {
                        byte.role = Role::UuidByte;
                        byte.meaning = Meaning::Number;
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the loss causes that the context counts.
pub(super) fn packet_context(s: &mut Struct, only_clock: Option<u16>) -> Vec<Arc<str>> {
    let mut causes = Vec::new();
    let spelling = Spelling::of(s);
    for field in &mut s.fields {
        let Some(integer) = field.ty.as_integer_mut() else { continue };
        if integer.signed {
            continue;
        }
        integer.role = match spelling.known(&field.original) {
            "timestamp_begin" => Role::PacketBegin,
            "timestamp_end" => Role::PacketEnd,
            "packet_size" => Role::PacketSize,
            "content_size" => Role::ContentSize,
            "packet_seq_num" => Role::PacketSequence,
            "events_discarded" => Role::EventsDiscarded,
            name => by_convention(name, &mut causes),
        };
        match integer.role {
            Role::PacketBegin | Role::PacketEnd => integer.clock = integer.clock.or(only_clock),
            _ => {}
        }
    }
    causes
}

/// Whether a packet's context or an event's header has a time stamp.
pub(super) fn tells_time(context: Option<&mut Struct>, header: Option<&mut Struct>) -> bool {
    const NAMES: [&str; 3] = ["timestamp_begin", "timestamp_end", "timestamp"];
    let mut found = false;
    for s in [context, header].into_iter().flatten() {
        let spelling = Spelling::of(s);
        each_integer(s, &mut |name, integer| {
            found |= !integer.signed && NAMES.contains(&spelling.known(name));
        });
    }
    found
}

/// What only a convention says of a packet context's field, in any version of CTF.
fn by_convention(name: &str, causes: &mut Vec<Arc<str>>) -> Role {
    match name.strip_prefix(CAUSE_PREFIX) {
        Some(cause) if causes.len() < MAX_CAUSES => {
            causes.push(cause.into());
            Role::LossCause(causes.len() as u8 - 1)
        }
        _ if name == "cpu_id" => Role::CpuId,
        _ => Role::None,
    }
}

/// Completes the roles that the metadata gives. Returns the loss causes that the context counts.
pub(super) fn named_only(s: &mut Struct) -> Vec<Arc<str>> {
    let mut causes = Vec::new();
    for field in &mut s.fields {
        let name = field.original.clone();
        if let Some(integer) = field.ty.as_integer_mut().filter(|i| !i.signed) {
            if integer.role == Role::None {
                integer.role = by_convention(&name, &mut causes);
            }
        }
    }
    causes
}

pub(super) fn event_header(s: &mut Struct, only_clock: Option<u16>) {
    let spelling = Spelling::of(s);
    each_integer(s, &mut |name, integer| match spelling.known(name) {
        "id" => integer.role = Role::EventId,
        "timestamp" if !integer.signed => integer.clock = integer.clock.or(only_clock),
        _ => {}
    });
}

/// The first clock that a scope is mapped to.
pub(super) fn first_clock(s: Option<&mut Struct>) -> Option<u16> {
    let mut found = None;
    each_integer(s?, &mut |_, integer| found = found.or(integer.clock));
    found
}

/// Keeps the mapping only where reading the integer moves the stream's clock. The end of a packet
/// is known from its beginning and must not; a signed integer holds no low bits.
pub(super) fn keep_only_clock(s: &mut Struct, clock: Option<u16>) {
    each_integer(s, &mut |_, integer| {
        if integer.clock != clock || integer.signed || integer.role == Role::PacketEnd {
            integer.clock = None;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::MAX_CAUSES;
    use crate::{Metadata, StreamId};

    #[test]
    fn causes_of_losses_are_counted_by_name_up_to_a_bound() {
        let fields: String = (0..MAX_CAUSES + 2).map(|i| format!("u8 lost_{i}; ")).collect();
        let text = format!(
            "trace {{ major = 1; minor = 8; byte_order = le; }};
             typealias integer {{ size = 8; align = 8; }} := u8;
             stream {{ packet.context := struct {{ {fields} }}; }};"
        );
        let metadata = Metadata::parse(&text).unwrap();
        let causes = &metadata.stream(StreamId(0)).unwrap().loss_causes;
        assert_eq!(causes.len(), MAX_CAUSES);
        assert_eq!(causes.last().map(|cause| &**cause), Some("15"));
    }
}
