// SPDX-License-Identifier: MIT
//! From a record of the kernel's to the payload of a slot: the same fields, as the trace has them.
//!
//! Place in the flow: `tracing` makes one [`Event`] of each enabled event's format, and hands it
//! the records of that number. Fields keep the names that tracefs gives them.

use crate::format::{Content, Field, Format, Kind};
use session::description::{self, Description, FieldKind};

/// Kernel events have no level: they count as information.
pub const LEVEL: u8 = 6;

/// What to do for one field, or for several side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Copy { at: usize, bytes: usize },
    Text { at: usize, bytes: usize },
    Sequence { at: usize, bytes: usize, element_bytes: usize },
    TextElsewhere { at: usize, relative: bool },
    SequenceElsewhere { at: usize, element_bytes: usize, relative: bool },
}

/// An event of the kernel's, ready to be decoded.
#[derive(Debug, Clone)]
pub struct Event {
    pub description: Description,
    pub format: Format,
    steps: Vec<Step>,
}

impl Event {
    /// `name`: as `GROUP:NAME`.
    pub fn new(name: &str, format: Format) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for field in &format.fields {
            let step = step(field);
            match (steps.last_mut(), &step) {
                (Some(Step::Copy { at, bytes }), Step::Copy { at: next, bytes: more })
                    if *at + *bytes == *next =>
                {
                    *bytes += more;
                }
                _ => steps.push(step),
            }
        }
        let fields = format.fields.iter();
        let fields = fields
            .map(|field| description::Field { name: field.name.clone(), kind: kind(field.kind) });
        let description = Description {
            name: name.to_string(),
            level: LEVEL,
            source: String::new(),
            fields: fields.collect(),
        };
        Self { description, format, steps }
    }

    /// The thread that wrote a record.
    pub fn tid(&self, record: &[u8]) -> Option<u32> {
        number(record, self.format.pid_at)
    }

    /// Appends the payload. None, and an unfinished payload, where a field is not in the record.
    pub fn payload(&self, record: &[u8], payload: &mut Vec<u8>) -> Option<()> {
        for step in &self.steps {
            match *step {
                Step::Copy { at, bytes } => {
                    payload.extend_from_slice(record.get(at..at.checked_add(bytes)?)?);
                }
                Step::Text { at, bytes } => {
                    text(record.get(at..at.checked_add(bytes)?)?, payload);
                }
                Step::Sequence { at, bytes, element_bytes } => {
                    sequence(record.get(at..at.checked_add(bytes)?)?, element_bytes, payload);
                }
                Step::TextElsewhere { at, relative } => {
                    text(elsewhere(record, at, relative)?, payload);
                }
                Step::SequenceElsewhere { at, element_bytes, relative } => {
                    sequence(elsewhere(record, at, relative)?, element_bytes, payload);
                }
            }
        }
        Some(())
    }
}

fn step(field: &Field) -> Step {
    let Field { at, bytes, .. } = *field;
    let of = |bits: u8| usize::from(bits) / 8;
    match field.kind {
        Kind::Integer { .. } | Kind::Bool | Kind::Pointer => Step::Copy { at, bytes },
        Kind::Text => Step::Text { at, bytes },
        Kind::Array { bits, .. } => Step::Sequence { at, bytes, element_bytes: of(bits) },
        Kind::Bytes => Step::Sequence { at, bytes, element_bytes: 1 },
        Kind::Elsewhere { what: Content::Text, relative } => Step::TextElsewhere { at, relative },
        Kind::Elsewhere { what: Content::Integers { bits, .. }, relative } => {
            Step::SequenceElsewhere { at, element_bytes: of(bits), relative }
        }
        Kind::Elsewhere { what: Content::Bytes, relative } => {
            Step::SequenceElsewhere { at, element_bytes: 1, relative }
        }
    }
}

fn kind(kind: Kind) -> FieldKind {
    match kind {
        Kind::Integer { bits, signed: true } => FieldKind::Signed { bits },
        Kind::Integer { bits, signed: false } => FieldKind::Unsigned { bits, hex: false },
        Kind::Bool => FieldKind::Bool,
        Kind::Pointer => FieldKind::Pointer,
        Kind::Text | Kind::Elsewhere { what: Content::Text, .. } => FieldKind::Text,
        Kind::Array { bits, signed }
        | Kind::Elsewhere { what: Content::Integers { bits, signed }, .. } => {
            FieldKind::Sequence { bits, signed }
        }
        Kind::Bytes | Kind::Elsewhere { what: Content::Bytes, .. } => FieldKind::Bytes,
    }
}

/// The 32 bits at `at`.
pub fn number(record: &[u8], at: usize) -> Option<u32> {
    let bytes = record.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// What a field refers to.
fn elsewhere(record: &[u8], at: usize, relative: bool) -> Option<&[u8]> {
    let word = number(record, at)?;
    let (length, distance) = ((word >> 16) as usize, (word & 0xffff) as usize);
    let from = if relative { at + 4 + distance } else { distance };
    record.get(from..from.checked_add(length)?)
}

/// Up to the first NUL, and a NUL.
fn text(bytes: &[u8], payload: &mut Vec<u8>) {
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    payload.extend_from_slice(&bytes[..length]);
    payload.push(0);
}

/// The count of elements, and as many whole ones as there are.
fn sequence(bytes: &[u8], element_bytes: usize, payload: &mut Vec<u8>) {
    let count = bytes.len() / element_bytes;
    payload.extend_from_slice(&(count as u32).to_ne_bytes());
    payload.extend_from_slice(&bytes[..count * element_bytes]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        let format = "ID: 9
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;
\tfield:short b;\toffset:12;\tsize:2;\tsigned:1;
\tfield:char comm[4];\toffset:16;\tsize:4;\tsigned:0;
\tfield:__data_loc char[] path;\toffset:20;\tsize:4;\tsigned:0;
\tfield:__rel_loc u16[] marks;\toffset:24;\tsize:4;\tsigned:0;
\tfield:struct odd it;\toffset:28;\tsize:3;\tsigned:0;
";
        Event::new("a:b", Format::parse(format).unwrap())
    }

    fn record() -> Vec<u8> {
        let mut record = vec![0; 4];
        record.extend(77u32.to_ne_bytes());
        record.extend(1u32.to_ne_bytes());
        record.extend((-2i16).to_ne_bytes());
        record.extend([0, 0]);
        record.extend(b"full");
        record.extend((32u32 | 4 << 16).to_ne_bytes()); // at 32, 4 bytes
        record.extend((8u32 | 5 << 16).to_ne_bytes()); // at 24 + 4 + 8, 5 bytes
        record.extend([7, 8, 9, 0]);
        record.extend(b"/p\0x");
        record.extend([1, 0, 2, 0, 3, 0, 0, 0]);
        record
    }

    #[test]
    fn payload_has_the_fields_packed_and_texts_end_with_a_nul() {
        let (event, record) = (event(), record());
        let mut payload = Vec::new();
        event.payload(&record, &mut payload).unwrap();
        let mut expected = 1u32.to_ne_bytes().to_vec();
        expected.extend((-2i16).to_ne_bytes());
        expected.extend(b"full\0/p\0");
        expected.extend(2u32.to_ne_bytes());
        expected.extend([1, 0, 2, 0]);
        expected.extend(3u32.to_ne_bytes());
        expected.extend([7, 8, 9]);
        assert_eq!(payload, expected);
        assert_eq!(event.tid(&record), Some(77));
        let kinds: Vec<String> =
            event.description.fields.iter().map(|field| field.kind.name()).collect();
        assert_eq!(kinds, ["u32", "i16", "str", "str", "au16", "bytes"]);
    }

    #[test]
    fn fields_side_by_side_are_copied_at_once_as_far_as_they_are() {
        let steps = event().steps;
        assert_eq!(steps[0], Step::Copy { at: 8, bytes: 6 });
        assert_eq!(steps.len(), 5);
    }

    #[test]
    fn record_that_is_too_short_or_refers_beyond_its_end_is_refused() {
        let (event, record) = (event(), record());
        for length in 0..40 {
            assert!(event.payload(&record[..length], &mut Vec::new()).is_none(), "{length}");
        }
        for at in [20, 24] {
            let mut damaged = record.clone();
            damaged[at..at + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
            assert!(event.payload(&damaged, &mut Vec::new()).is_none(), "{at}");
        }
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..10_000 {
            let mut damaged = record.clone();
            for _ in 0..4 {
                let at = random.usize(..damaged.len());
                damaged[at] = random.u8(..);
            }
            let mut payload = Vec::new();
            let _ = event.payload(&damaged, &mut payload);
            assert!(payload.len() < 256);
        }
    }
}
