// SPDX-License-Identifier: MIT
//! The metadata of a `Spec` in CTF 2: JSON texts that describe the same bytes as its TSDL text.
//!
//! Place in the flow: a test reads one stream with both and wants the same events. Everything in
//! it is written out as text, so that it shares nothing with the reader.

use crate::bit_writer::Order;
use crate::kind::{Int, Kind};
use crate::spec::{EventSpec, Spec};

/// Spells a name as readers of TSDL show it: without the underscore that keeps it off keywords.
fn shown(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Little => "little-endian",
        Order::Big => "big-endian",
    }
}

fn integer(int: &Int, more: &str) -> String {
    let Int { size_bits, align_bits, signed, order } = int;
    let sign = if *signed { "signed" } else { "unsigned" };
    let order = order_name(*order);
    format!(
        r#"{{"type": "fixed-length-{sign}-integer", "length": {size_bits},
        "byte-order": "{order}", "alignment": {align_bits}{more}}}"#
    )
}

fn member(name: &str, class: &str) -> String {
    let name = shown(name);
    format!(r#"{{"name": "{name}", "field-class": {class}}}"#)
}

fn structure(members: &[String], align_bits: u64) -> String {
    let members = members.join(",\n");
    format!(
        r#"{{"type": "structure", "minimum-alignment": {align_bits},
        "member-classes": [{members}]}}"#
    )
}

/// Where a governing field is: beside what it governs.
fn beside(name: &str, suffix: &str) -> String {
    format!(r#"{{"path": ["{}{suffix}"]}}"#, shown(name))
}

impl Kind {
    /// The members that a field takes: the governing one before it, if there is one.
    fn members(&self, name: &str) -> Vec<String> {
        let field = member(name, &self.class(name));
        let governing = match self {
            Kind::Sequence { length, .. } | Kind::CharSequence { length } => {
                Some(member(&format!("{name}_length"), &integer(length, "")))
            }
            Kind::Variant { tag, options } => {
                let mapping = |(index, (label, _)): (usize, &(String, Kind))| {
                    format!(r#""{label}": [[{index}, {index}]]"#)
                };
                let mappings: Vec<String> = options.iter().enumerate().map(mapping).collect();
                let mappings = format!(r#", "mappings": {{{}}}"#, mappings.join(", "));
                Some(member(&format!("{name}_tag"), &integer(tag, &mappings)))
            }
            _ => None,
        };
        governing.into_iter().chain([field]).collect()
    }

    /// The field class; `name` is that of its field.
    fn class(&self, name: &str) -> String {
        match self {
            Kind::Int(int) => integer(int, ""),
            Kind::Float { size_bits, align_bits, order } => {
                let order = order_name(*order);
                format!(
                    r#"{{"type": "fixed-length-floating-point-number", "length": {size_bits},
                    "byte-order": "{order}", "alignment": {align_bits}}}"#
                )
            }
            Kind::Enumeration { container, labels } => {
                let mapping = |(label, begin, until): &(String, i64, i64)| {
                    format!(r#""{label}": [[{begin}, {until}]]"#)
                };
                let mappings: Vec<String> = labels.iter().map(mapping).collect();
                integer(container, &format!(r#", "mappings": {{{}}}"#, mappings.join(", ")))
            }
            Kind::Text => r#"{"type": "null-terminated-string"}"#.into(),
            Kind::CharArray(count) => {
                format!(r#"{{"type": "static-length-string", "length": {count}}}"#)
            }
            Kind::CharSequence { .. } => format!(
                r#"{{"type": "dynamic-length-string", "length-field-location": {}}}"#,
                beside(name, "_length")
            ),
            Kind::Struct { fields, align_bits } => {
                let members: Vec<String> =
                    fields.iter().flat_map(|(name, kind)| kind.members(name)).collect();
                structure(&members, (*align_bits).into())
            }
            Kind::Array { element, count } => format!(
                r#"{{"type": "static-length-array", "length": {count},
                "element-field-class": {}}}"#,
                element.class("")
            ),
            Kind::Sequence { element, .. } => format!(
                r#"{{"type": "dynamic-length-array", "length-field-location": {},
                "element-field-class": {}}}"#,
                beside(name, "_length"),
                element.class("")
            ),
            Kind::Variant { options, .. } => {
                let option = |(index, (label, kind)): (usize, &(String, Kind))| {
                    format!(
                        r#"{{"name": "{label}", "selector-field-ranges": [[{index}, {index}]],
                        "field-class": {}}}"#,
                        kind.class(label)
                    )
                };
                let options: Vec<String> = options.iter().enumerate().map(option).collect();
                format!(
                    r#"{{"type": "variant", "selector-field-location": {},
                    "options": [{}]}}"#,
                    beside(name, "_tag"),
                    options.join(",\n")
                )
            }
        }
    }
}

/// An unsigned integer of whole bytes in a role.
fn role(size_bits: u32, order: Order, role: &str) -> String {
    integer(&Int::bytes(size_bits, order), &format!(r#", "roles": ["{role}"]"#))
}

impl Spec {
    /// The JSON text sequence.
    pub fn metadata_json(&self) -> String {
        let mut fragments = vec![
            format!(r#"{{"type": "preamble", "version": 2, "uuid": {:?}}}"#, self.uuid),
            self.trace_class(),
            format!(
                r#"{{"type": "clock-class", "id": "monotonic", "frequency": {},
                "origin": "unix-epoch",
                "offset-from-origin": {{"seconds": {}, "cycles": {}}}}}"#,
                self.frequency_hz,
                self.offset_s + (self.offset_cycles / self.frequency_hz) as i64,
                self.offset_cycles % self.frequency_hz
            ),
            self.stream_class(),
        ];
        fragments.extend(self.events.iter().map(EventSpec::event_class));
        fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect()
    }

    fn trace_class(&self) -> String {
        let uuid = r#"{"type": "static-length-blob", "length": 16,
            "roles": ["metadata-stream-uuid"]}"#;
        let header = structure(
            &[
                member("magic", &role(32, self.order, "packet-magic-number")),
                member("uuid", uuid),
                member("stream_id", &role(32, self.order, "data-stream-class-id")),
            ],
            1,
        );
        format!(
            r#"{{"type": "trace-class", "packet-header-field-class": {header},
            "environment": {{"domain": "ust", "tracer_name": "testkit", "tracer_major": 1}}}}"#
        )
    }

    fn stream_class(&self) -> String {
        let plain =
            |name: &str, size_bits| member(name, &integer(&Int::bytes(size_bits, self.order), ""));
        let in_role = |name: &str, of| member(name, &role(64, self.order, of));
        let context = structure(
            &[
                in_role("timestamp_begin", "default-clock-timestamp"),
                in_role("timestamp_end", "packet-end-default-clock-timestamp"),
                in_role("content_size", "packet-content-length"),
                in_role("packet_size", "packet-total-length"),
                in_role("packet_seq_num", "packet-sequence-number"),
                in_role("events_discarded", "discarded-event-record-counter-snapshot"),
                plain("lost_full", 64),
                plain("lost_overflow", 64),
                plain("lost_too_big", 64),
                plain("lost_in_flight", 64),
                plain("cpu_id", 32),
                plain("flags", 32),
            ],
            1,
        );
        let common = match &self.stream_context {
            Some(kind) => {
                let class = kind.class("");
                format!(r#", "event-record-common-context-field-class": {class}"#)
            }
            None => String::new(),
        };
        let header = self.header.class(self.order);
        format!(
            r#"{{"type": "data-stream-class", "default-clock-class-id": "monotonic",
            "packet-context-field-class": {context},
            "event-record-header-field-class": {header}{common}}}"#
        )
    }
}

impl EventSpec {
    fn event_class(&self) -> String {
        let Self { id, name, context, payload } = self;
        let context = match context {
            Some(kind) => format!(r#", "specific-context-field-class": {}"#, kind.class("")),
            None => String::new(),
        };
        let payload = payload.class("");
        format!(
            r#"{{"type": "event-record-class", "name": "{name}", "id": {id}{context},
            "payload-field-class": {payload}}}"#
        )
    }
}

impl crate::HeaderForm {
    /// The field class of event headers.
    fn class(self, order: Order) -> String {
        let (escape, id_bits, id_align, time_align, align) = self.shape();
        let int = |size_bits, align_bits, role: &str| {
            let int = Int { size_bits, align_bits, signed: false, order };
            let role = match role {
                "" => String::new(),
                role => format!(r#", "roles": ["{role}"]"#),
            };
            integer(&int, &role)
        };
        const ID: &str = "event-record-class-id";
        const TIME: &str = "default-clock-timestamp";
        let id = member("id", &int(id_bits, id_align, ID));
        let short = member("timestamp", &int(self.timestamp_bits(), time_align, TIME));
        if matches!(self, Self::Plain | Self::Bits) {
            return structure(&[id, short], align);
        }
        let reserved = (self == Self::Lull).then(|| member("reserved", &int(24, 8, "")));
        let long = reserved
            .into_iter()
            .chain([member("id", &int(32, 8, ID)), member("timestamp", &int(64, 8, TIME))]);
        let long: Vec<String> = long.collect();
        let option = |name: &str, begin, until, members: &[String]| {
            format!(
                r#"{{"name": "{name}", "selector-field-ranges": [[{begin}, {until}]],
                "field-class": {}}}"#,
                structure(members, 1)
            )
        };
        let first = *self.compact_ids().start();
        let variant = format!(
            r#"{{"type": "variant", "options": [{}, {}],
            "selector-field-location": {{"origin": "event-record-header", "path": ["id"]}}}}"#,
            option("compact", first, escape - 1, &[short]),
            option("extended", escape, escape, &long)
        );
        structure(&[id, member("v", &variant)], align)
    }
}
