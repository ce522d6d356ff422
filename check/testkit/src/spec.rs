// SPDX-License-Identifier: MIT
//! A trace's description: byte order, clock, event header form, event classes.
//!
//! Place in the flow: a test makes a [`Spec`] (by hand or at random), takes its metadata text, and
//! fills streams through `StreamWriter`. [`Spec::lull`] is exactly what Lull's own probes write.

use crate::bit_writer::{BitWriter, Order};
use crate::kind::{random_plain_struct, random_struct, Kind};
use crate::random::Random;

/// How an event header is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderForm {
    /// 8-bit id, 24-bit timestamp, aligned to 32 bits; 253 announces the extended form.
    Lull,
    /// LTTng's compact form: 5-bit id, 27-bit timestamp.
    Compact,
    /// LTTng's large form: 16-bit id, 32-bit timestamp.
    Large,
    /// 32-bit id, 64-bit timestamp, no variant.
    Plain,
    /// 3-bit id and 13-bit timestamp without any alignment.
    Bits,
}

pub const HEADER_FORMS: [HeaderForm; 5] =
    [HeaderForm::Lull, HeaderForm::Compact, HeaderForm::Large, HeaderForm::Plain, HeaderForm::Bits];

impl HeaderForm {
    /// Largest id that fits without the extended form.
    pub(crate) fn compact_ids(self) -> std::ops::RangeInclusive<u64> {
        match self {
            HeaderForm::Lull => 1..=252,
            HeaderForm::Compact => 0..=30,
            HeaderForm::Large => 0..=65534,
            HeaderForm::Plain => 0..=u64::from(u32::MAX),
            HeaderForm::Bits => 0..=7,
        }
    }

    pub(crate) fn timestamp_bits(self) -> u32 {
        match self {
            HeaderForm::Lull => 24,
            HeaderForm::Compact => 27,
            HeaderForm::Large => 32,
            HeaderForm::Plain => 64,
            HeaderForm::Bits => 13,
        }
    }

    /// `(escape id, id bits, id align, timestamp align, header align)`.
    pub(crate) fn shape(self) -> (u64, u32, u32, u32, u64) {
        match self {
            HeaderForm::Lull => (253, 8, 8, 8, 32),
            HeaderForm::Compact => (31, 5, 1, 1, 8),
            HeaderForm::Large => (65535, 16, 8, 8, 8),
            HeaderForm::Plain => (0, 32, 8, 8, 8),
            HeaderForm::Bits => (0, 3, 1, 1, 1),
        }
    }

    fn tsdl(self) -> String {
        let (escape, id_bits, id_align, time_align, align) = self.shape();
        let time_bits = self.timestamp_bits();
        let id = format!("integer {{ size = {id_bits}; align = {id_align}; }}");
        let time = |bits, align| {
            let map = "map = clock.monotonic.value;";
            format!("integer {{ size = {bits}; align = {align}; {map} }} timestamp;")
        };
        let (short, long) = (time(time_bits, time_align), time(64, 8));
        if matches!(self, HeaderForm::Plain | HeaderForm::Bits) {
            return format!("struct {{ {id} id; {short} }} align({align})");
        }
        let first = self.compact_ids().start().to_string();
        let reserved = match self {
            HeaderForm::Lull => "integer { size = 24; align = 8; } reserved; ",
            _ => "",
        };
        format!(
            "struct {{
        enum : {id} {{ compact = {first} ... {}, extended = {escape} }} id;
        variant <id> {{
            struct {{ {short} }} compact;
            struct {{ {reserved}integer {{ size = 32; align = 8; }} id; {long} }} extended;
        }} v;
    }} align({align})",
            escape - 1
        )
    }

    /// Appends a header; uses the extended form where it must, or where `extended` asks for it.
    pub fn encode(self, bits: &mut BitWriter, id: u64, cycles: u64, extended: bool, order: Order) {
        let (escape, id_bits, id_align, time_align, align) = self.shape();
        let has_extended = !matches!(self, HeaderForm::Plain | HeaderForm::Bits);
        bits.align(align);
        bits.align(u64::from(id_align));
        if has_extended && (extended || !self.compact_ids().contains(&id)) {
            bits.integer(escape, id_bits, order);
            bits.align(8);
            if self == HeaderForm::Lull {
                bits.integer(0, 24, order);
            }
            bits.integer(id, 32, order);
            bits.integer(cycles, 64, order);
            return;
        }
        assert!(self.compact_ids().contains(&id), "{self:?} has no id {id}");
        bits.integer(id, id_bits, order);
        bits.align(u64::from(time_align));
        bits.integer(cycles, self.timestamp_bits(), order);
    }

    /// Whether the timestamp of an event `cycles` after the one before it still fits.
    pub fn fits(self, cycles_since: u64) -> bool {
        self.timestamp_bits() == 64 || cycles_since < 1 << self.timestamp_bits()
    }
}

/// One event class.
#[derive(Debug, Clone)]
pub struct EventSpec {
    pub id: u64,
    pub name: String,
    pub context: Option<Kind>,
    pub payload: Kind,
}

/// A whole trace's description, with one stream class.
#[derive(Debug, Clone)]
pub struct Spec {
    pub order: Order,
    pub uuid: [u8; 16],
    pub frequency_hz: u64,
    pub offset_s: i64,
    pub offset_cycles: u64,
    pub header: HeaderForm,
    pub stream_context: Option<Kind>,
    pub events: Vec<EventSpec>,
}

impl Spec {
    /// The format of Lull's own traces, on a 2.596 GHz clock.
    pub fn lull(order: Order, events: Vec<(u64, &str, Kind)>) -> Self {
        let events = events.into_iter().map(|(id, name, payload)| EventSpec {
            id,
            name: name.into(),
            context: None,
            payload,
        });
        Self {
            order,
            uuid: *b"\x10lull-test-uuid\xff",
            frequency_hz: 2_596_123_456,
            offset_s: 1_700_000_000,
            offset_cycles: 123_456_789,
            header: HeaderForm::Lull,
            stream_context: None,
            events: events.collect(),
        }
    }

    /// A random trace in which every kind may occur.
    pub fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let order = *random.pick(&[Order::Little, Order::Big]);
        let mut spec = Self::lull(order, Vec::new());
        spec.header = *random.pick(&HEADER_FORMS);
        spec.frequency_hz = *random.pick(&[1_000_000_000, 2_596_123_456, 24_000_000, 1000]);
        spec.offset_cycles = random.below(spec.frequency_hz * 3);
        if random.one_in(3) {
            spec.stream_context = Some(random_struct(random, order, 1));
        }
        let count = 1 + random.below(5);
        for i in 0..count {
            let context = random.one_in(4).then(|| random_plain_struct(random, order));
            let payload = random_struct(random, order, 3);
            let id = match spec.header {
                HeaderForm::Bits => i,
                _ => 1 + i * (1 + random.below(90)),
            };
            let id = if spec.events.iter().any(|e| e.id == id) { 1000 + i } else { id };
            spec.events.push(EventSpec { id, name: format!("event:{i}"), context, payload });
        }
        spec
    }

    /// The TSDL text.
    pub fn metadata(&self) -> String {
        let order = self.order.name();
        let uuid: String = self.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let uuid = [&uuid[..8], &uuid[8..12], &uuid[12..16], &uuid[16..20], &uuid[20..]].join("-");
        let Self { frequency_hz, offset_s, offset_cycles, .. } = self;
        let header = self.header.tsdl();
        let stream_context = match &self.stream_context {
            Some(kind) => format!("\n    event.context := {};", kind.tsdl("")),
            None => String::new(),
        };
        let mut text = format!(
            "/* CTF 1.8 */
trace {{
    major = 1; minor = 8;
    uuid = \"{uuid}\";
    byte_order = {order};
    packet.header := struct {{
        integer {{ size = 32; align = 8; }} magic;
        integer {{ size = 8; align = 8; }} uuid[16];
        integer {{ size = 32; align = 8; }} stream_id;
    }};
}};
env {{ domain = \"ust\"; tracer_name = \"testkit\"; tracer_major = 1; }};
clock {{
    name = \"monotonic\";
    freq = {frequency_hz};
    offset_s = {offset_s};
    offset = {offset_cycles};
    absolute = true;
}};
typealias integer {{ size = 64; align = 8; }} := word;
typealias integer {{ size = 64; align = 8; map = clock.monotonic.value; }} := clock_word;
stream {{
    id = 0;
    packet.context := struct {{
        clock_word timestamp_begin;
        clock_word timestamp_end;
        word content_size; word packet_size; word packet_seq_num; word events_discarded;
        word lost_full; word lost_overflow; word lost_too_big; word lost_in_flight;
        integer {{ size = 32; align = 8; }} cpu_id;
        integer {{ size = 32; align = 8; }} flags;
    }};
    event.header := {header};{stream_context}
}};
"
        );
        for event in &self.events {
            text.push_str(&event.tsdl());
        }
        text
    }

    pub fn event(&self, id: u64) -> &EventSpec {
        let found = self.events.iter().find(|event| event.id == id);
        found.unwrap_or_else(|| panic!("no event has the id {id}"))
    }
}

impl EventSpec {
    fn tsdl(&self) -> String {
        let Self { id, name, context, payload } = self;
        let context = match context {
            Some(kind) => format!("    context := {};\n", kind.tsdl("")),
            None => String::new(),
        };
        let payload = payload.tsdl("");
        format!(
            "event {{\n    name = \"{name}\"; id = {id}; stream_id = 0;\n{context}    \
             fields := {payload};\n}};\n"
        )
    }
}
