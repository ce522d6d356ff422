// SPDX-License-Identifier: MIT
//! The field types of CTF 1.8, resolved: no aliases, no open paths, every alignment known.
//!
//! Place in the flow: `tsdl` builds these from metadata text, `measure` fills in their extents,
//! `plan` compiles them for skipping and `visit` walks them for their values.

use std::sync::Arc;

/// Byte order of one integer or float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// The base in which the writer likes an integer to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    Binary,
    Octal,
    #[default]
    Decimal,
    Hexadecimal,
}

/// What the reader itself does with an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    #[default]
    None,
    Magic,
    UuidByte,
    StreamId,
    StreamInstance,
    EventId,
    PacketBegin,
    PacketEnd,
    PacketSize,
    ContentSize,
    PacketSequence,
    EventsDiscarded,
    CpuId,
    /// Index into the stream class's loss causes.
    LossCause(u8),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Integer {
    pub size_bits: u32,
    pub align_bits: u32,
    pub signed: bool,
    pub order: ByteOrder,
    pub base: Base,
    /// Whether the metadata says that the integer is a character.
    pub is_character: bool,
    /// Index of the clock whose low bits this integer carries.
    pub clock: Option<u16>,
    pub(crate) role: Role,
    /// Where the value is kept for a later length or tag.
    pub(crate) slot: Option<u32>,
    /// Whether a field outside this integer's own scope uses the slot.
    pub(crate) shared: bool,
}

impl Integer {
    /// Whether the length of a sequence or the tag of a variant refers to it.
    pub fn is_referred_to(&self) -> bool {
        self.slot.is_some()
    }

    /// Whether it is one of those in a packet's context that say what the reader gives otherwise:
    /// sizes, times, counters, the processor.
    pub fn is_of_reader(&self) -> bool {
        self.role != Role::None
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Float {
    /// 32 or 64.
    pub size_bits: u32,
    pub align_bits: u32,
    pub order: ByteOrder,
}

/// One label and its inclusive range; bounds are two's complement when the container is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub label: Arc<str>,
    pub begin: u64,
    pub until: u64,
}

impl Mapping {
    fn contains(&self, value: u64, signed: bool) -> bool {
        range_contains(self.begin, self.until, value, signed)
    }
}

/// Whether `value` lies in an inclusive range, both read as signed or unsigned.
#[inline]
pub(crate) fn range_contains(begin: u64, until: u64, value: u64, signed: bool) -> bool {
    if signed {
        (begin as i64..=until as i64).contains(&(value as i64))
    } else {
        (begin..=until).contains(&value)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Enumeration {
    pub container: Integer,
    pub mappings: Arc<[Mapping]>,
}

impl Enumeration {
    /// The first label whose range holds `value` (sign-extended when the container is signed).
    pub fn label(&self, value: u64) -> Option<&str> {
        self.labels(value).next()
    }

    /// Every label whose range holds `value`.
    pub fn labels(&self, value: u64) -> impl Iterator<Item = &str> {
        let signed = self.container.signed;
        self.mappings.iter().filter(move |m| m.contains(value, signed)).map(|m| &*m.label)
    }

    /// Whether labels name bits of which a value may have several: the metadata wants such numbers
    /// to be shown in base 16.
    pub fn names_bits(&self) -> bool {
        self.container.base == Base::Hexadecimal && !self.container.signed
    }

    /// Gives the labels of the bits of `value`, those of more bits first, no bit twice. Return: the
    /// bits without a label.
    pub fn each_bit<'a>(&'a self, value: u64, mut label: impl FnMut(&'a str)) -> u64 {
        let mut rest = value;
        // Bound: each round takes at least one of 64 bits away.
        loop {
            let of_rest = |m: &&Mapping| m.begin == m.until && m.begin & !rest == 0;
            let held = self.mappings.iter().filter(of_rest);
            let first_of_most = held.rev().max_by_key(|m| m.begin.count_ones());
            match first_of_most {
                Some(found) if found.begin != 0 => {
                    label(&found.label);
                    rest &= !found.begin;
                }
                _ => return rest,
            }
        }
    }
}

/// Extents of a compound type, filled in by `measure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub align_bits: u32,
    /// Size from an aligned start, if it is the same for every value.
    pub fixed_bits: Option<u64>,
    /// Fewest bits any value takes.
    pub least_bits: u64,
    /// Values a visitor meets, sequences and strings counting as one.
    pub cost: u64,
    /// Whether some integer inside must be read even when its field is skipped.
    pub reads: bool,
}

impl Default for Extent {
    fn default() -> Self {
        Self { align_bits: 1, fixed_bits: Some(0), least_bits: 0, cost: 0, reads: false }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name as the metadata spells it; lengths and tags refer to this one.
    pub(crate) original: Arc<str>,
    /// Where the shown name starts in `original`.
    shown_from: u8,
    pub ty: Type,
}

impl Field {
    pub(crate) fn new(original: Arc<str>, ty: Type) -> Self {
        let shown_from = u8::from(original.starts_with('_'));
        Self { original, shown_from, ty }
    }

    /// The name to show: writers prepend one underscore to keep clear of keywords.
    #[inline]
    pub fn name(&self) -> &str {
        &self.original[usize::from(self.shown_from)..]
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Struct {
    pub fields: Vec<Field>,
    pub(crate) least_align_bits: u32,
    pub(crate) extent: Extent,
}

impl Struct {
    /// Position of the field with this shown name.
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub element: Box<Type>,
    pub count: u64,
    pub(crate) extent: Extent,
}

/// A dotted path in the metadata, and the slot in which its target's value will be found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    pub path: Arc<[Arc<str>]>,
    pub line: u32,
    pub slot: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub element: Box<Type>,
    pub(crate) length: Reference,
    pub(crate) extent: Extent,
}

/// Tag values in an inclusive range choose one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub begin: u64,
    pub until: u64,
    pub option: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub options: Vec<Field>,
    /// `None` until a declaration gives the tag.
    pub(crate) tag: Option<Reference>,
    pub(crate) tag_signed: bool,
    pub(crate) choices: Arc<[Choice]>,
    pub(crate) extent: Extent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Integer(Integer),
    Float(Float),
    Enumeration(Enumeration),
    /// NUL-terminated bytes, meant as UTF-8.
    Text,
    Struct(Struct),
    Array(Array),
    Sequence(Sequence),
    Variant(Variant),
}

impl Type {
    /// The integer that holds the value, for integers and enumerations.
    pub fn as_integer(&self) -> Option<&Integer> {
        match self {
            Type::Integer(integer) => Some(integer),
            Type::Enumeration(enumeration) => Some(&enumeration.container),
            _ => None,
        }
    }

    pub(crate) fn as_integer_mut(&mut self) -> Option<&mut Integer> {
        match self {
            Type::Integer(integer) => Some(integer),
            Type::Enumeration(enumeration) => Some(&mut enumeration.container),
            _ => None,
        }
    }

    /// Whether arrays of this element are text: whole bytes that the metadata calls characters.
    pub fn is_character(&self) -> bool {
        match self {
            Type::Integer(i) => i.is_character && i.size_bits == 8 && i.align_bits % 8 == 0,
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn extent(&self) -> Extent {
        let leaf = |align_bits, size_bits: u32, reads| Extent {
            align_bits,
            fixed_bits: Some(u64::from(size_bits)),
            least_bits: u64::from(size_bits),
            cost: 1,
            reads,
        };
        match self {
            Type::Integer(i) => {
                leaf(i.align_bits, i.size_bits, i.slot.is_some() || i.clock.is_some())
            }
            Type::Enumeration(e) => Type::extent_of_container(&e.container),
            Type::Float(f) => leaf(f.align_bits, f.size_bits, false),
            Type::Text => {
                Extent { align_bits: 8, fixed_bits: None, least_bits: 8, cost: 1, reads: false }
            }
            Type::Struct(s) => s.extent,
            Type::Array(a) => a.extent,
            Type::Sequence(s) => s.extent,
            Type::Variant(v) => v.extent,
        }
    }

    fn extent_of_container(container: &Integer) -> Extent {
        Extent {
            align_bits: container.align_bits,
            fixed_bits: Some(u64::from(container.size_bits)),
            least_bits: u64::from(container.size_bits),
            cost: 1,
            reads: container.slot.is_some() || container.clock.is_some(),
        }
    }
}
