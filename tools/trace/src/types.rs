// SPDX-License-Identifier: MIT
//! The field types of CTF 1.8 and 2, resolved: no aliases, no open paths, every alignment known.
//!
//! Place in the flow: `tsdl` and `ctf2` build these from metadata text, `measure` fills in their
//! extents, `plan` compiles them for skipping and `visit` walks them for their values.

use std::borrow::Cow;
use std::sync::Arc;

use crate::bits::{recode, text_of};

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

/// How the text of a string or of an array of characters is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    #[default]
    Utf8,
    Utf16(ByteOrder),
    Utf32(ByteOrder),
}

impl Encoding {
    /// Bytes of one code unit; a code unit of zeros ends a string.
    pub fn unit_bytes(self) -> usize {
        match self {
            Encoding::Utf8 => 1,
            Encoding::Utf16(_) => 2,
            Encoding::Utf32(_) => 4,
        }
    }

    /// Text in this encoding, up to its first code unit of zeros, in UTF-8.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let text = text_of(bytes, self);
        match self {
            Encoding::Utf8 => Cow::Borrowed(text),
            Encoding::Utf16(order) => Cow::Owned(recode(text, order, 2).into_bytes()),
            Encoding::Utf32(order) => Cow::Owned(recode(text, order, 4).into_bytes()),
        }
    }
}

/// What an integer stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Meaning {
    #[default]
    Number,
    /// True unless it is 0.
    Boolean,
    /// A byte of text in arrays and sequences.
    Character(Encoding),
    /// A byte of data that is no text, in arrays and sequences.
    Byte,
}

/// How the bits of an integer or a float lie in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    #[default]
    Fixed,
    /// As many bits, the first of which is the last of the fixed form.
    Reversed,
    /// LEB128: seven bits per byte, the lowest first, up to a byte whose highest bit is 0.
    Variable,
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
    pub meaning: Meaning,
    /// An integer of variable form has 64 in `size_bits`, the most that it may hold.
    pub form: Form,
    /// Index of the clock whose low bits this integer carries.
    pub clock: Option<u16>,
    pub(crate) role: Role,
    /// Where the value is kept for a later length or tag.
    pub(crate) slot: Option<u32>,
    /// Whether a field outside this integer's own scope uses the slot.
    pub(crate) shared: bool,
}

impl Integer {
    /// An unsigned decimal number that nothing refers to.
    pub(crate) fn new(size_bits: u32, align_bits: u32, order: ByteOrder) -> Self {
        Self {
            size_bits,
            align_bits,
            signed: false,
            order,
            base: Base::default(),
            meaning: Meaning::default(),
            form: Form::default(),
            clock: None,
            role: Role::default(),
            slot: None,
            shared: false,
        }
    }

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
    /// 16, 32 or 64.
    pub size_bits: u32,
    pub align_bits: u32,
    pub order: ByteOrder,
    /// Fixed or reversed.
    pub form: Form,
}

/// One label and its inclusive range; bounds are two's complement when the container is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub label: Arc<str>,
    pub begin: u64,
    pub until: u64,
}

impl Mapping {
    /// The bits that the range numbers.
    fn bits(&self) -> u64 {
        let until = crate::bits::mask(self.until.min(63) as u32 + 1);
        if self.begin > 63 {
            0
        } else {
            until & (u64::MAX << self.begin)
        }
    }

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
    /// Whether the mappings are flags: their ranges are numbers of bits, 0 the lowest.
    pub is_bit_map: bool,
}

impl Enumeration {
    /// The first label whose range holds `value` (sign-extended when the container is signed).
    pub fn label(&self, value: u64) -> Option<&str> {
        self.labels(value).next()
    }

    /// Every label whose range holds `value`, or in a bit map a bit that is set in `value`.
    pub fn labels(&self, value: u64) -> impl Iterator<Item = &str> {
        let (signed, is_bit_map) = (self.container.signed, self.is_bit_map);
        let holds = move |m: &&Mapping| match is_bit_map {
            true => value & m.bits() != 0,
            false => m.contains(value, signed),
        };
        self.mappings.iter().filter(holds).map(|m| &*m.label)
    }

    /// Whether labels may name bits of which a value has several: the metadata wants such numbers
    /// to be shown in base 16.
    pub fn names_bits(&self) -> bool {
        self.container.base == Base::Hexadecimal && !self.container.signed
    }

    /// Gives the labels of the bits of `value`, those of more bits first, no bit twice. Where no
    /// label is one bit, labels stand for whole values, as requests of ioctl() do, and none is
    /// given. Return: the bits without a label.
    pub fn each_bit<'a>(&'a self, value: u64, mut label: impl FnMut(&'a str)) -> u64 {
        let mut rest = value;
        if !self.mappings.iter().any(|m| m.begin == m.until && m.begin.is_power_of_two()) {
            return rest;
        }
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

    /// The label of a value or, of bits that combine, the labels, with the rest in base 16. `None`
    /// where nothing has a label.
    pub fn text(&self, value: u64) -> Option<Cow<'_, str>> {
        if self.is_bit_map {
            let labels: Vec<&str> = self.labels(value).collect();
            return (!labels.is_empty()).then(|| Cow::Owned(labels.join("|")));
        }
        if let Some(label) = self.label(value) {
            return Some(Cow::Borrowed(label));
        }
        if !self.names_bits() {
            return None;
        }
        let mut labels = Vec::new();
        let rest = self.each_bit(value, |label| labels.push(Cow::Borrowed(label)));
        if labels.is_empty() {
            return None;
        }
        if rest != 0 {
            labels.push(Cow::Owned(format!("{rest:#x}")));
        }
        Some(Cow::Owned(labels.join("|")))
    }
}

/// Extents of a compound type, filled in by `measure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub align_bits: u32,
    /// The largest alignment of anything inside, in whatever variant.
    pub inner_align_bits: u32,
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
        Self {
            align_bits: 1,
            inner_align_bits: 1,
            fixed_bits: Some(0),
            least_bits: 0,
            cost: 0,
            reads: false,
        }
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
    /// A field of CTF 1.8, whose writers prepend one underscore to keep clear of keywords.
    pub(crate) fn new(original: Arc<str>, ty: Type) -> Self {
        let shown_from = u8::from(original.starts_with('_'));
        Self { original, shown_from, ty }
    }

    /// A field that is shown as it is spelt.
    pub(crate) fn spelt(original: Arc<str>, ty: Type) -> Self {
        Self { original, shown_from: 0, ty }
    }

    /// The name to show.
    #[inline]
    pub fn name(&self) -> &str {
        // Not an index: it could panic, so the name would be made even where nobody uses it.
        self.original.get(usize::from(self.shown_from)..).unwrap_or("")
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
    pub(crate) least_align_bits: u32,
    pub(crate) extent: Extent,
}

/// The root scopes in decoding order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    PacketHeader,
    PacketContext,
    EventHeader,
    StreamContext,
    EventContext,
    Payload,
}

/// How the metadata says which field a length or a tag is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Path {
    /// CTF 1.8: names, the first of which is looked up among what is decoded already.
    Dotted(Arc<[Arc<str>]>),
    /// CTF 2: from a scope, or else from the struct around, a name or upwards (`None`) each.
    Located { origin: Option<Scope>, steps: Arc<[Option<Arc<str>>]> },
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Path::Dotted(words) => f.write_str(&words.join(".")),
            Path::Located { steps, .. } => {
                let words: Vec<&str> = steps.iter().map(|s| s.as_deref().unwrap_or("^")).collect();
                f.write_str(&words.join("/"))
            }
        }
    }
}

/// A field as a place: its scope, and positions of fields, options and elements from there down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub scope: Scope,
    pub path: Arc<[u32]>,
}

/// A path in the metadata, and the slot in which its target's value will be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    pub(crate) path: Path,
    pub(crate) line: u32,
    pub(crate) slot: u32,
    pub(crate) target: Option<Target>,
}

impl Reference {
    /// The field that holds the length or the tag; `None` if it is one of several.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub element: Box<Type>,
    pub(crate) length: Reference,
    pub(crate) least_align_bits: u32,
    pub(crate) extent: Extent,
}

impl Sequence {
    /// Where the number of elements is.
    pub fn length(&self) -> &Reference {
        &self.length
    }
}

/// Tag values in an inclusive range choose one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub begin: u64,
    pub until: u64,
    pub option: u32,
}

/// Values in an inclusive range choose one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub begin: i128,
    pub until: i128,
    pub option: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub options: Vec<Field>,
    /// Whether the only option may be absent: where no value of the tag chooses it, there is
    /// nothing.
    pub is_optional: bool,
    /// Which values choose which option, if that is not up to the labels of an enumeration.
    pub(crate) ranges: Option<Arc<[Range]>>,
    /// `None` until a declaration gives the tag.
    pub(crate) tag: Option<Reference>,
    pub(crate) tag_signed: bool,
    pub(crate) choices: Arc<[Choice]>,
    pub(crate) extent: Extent,
}

impl Variant {
    /// Where the value is that chooses an option.
    pub fn tag(&self) -> Option<&Reference> {
        self.tag.as_ref()
    }

    /// Which values choose which option; bounds are two's complement when the tag is signed.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    pub fn is_tag_signed(&self) -> bool {
        self.tag_signed
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Integer(Integer),
    Float(Float),
    Enumeration(Enumeration),
    /// A string up to a code unit of zeros.
    Text(Encoding),
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

    /// Of what text arrays of this element are, if they are: whole bytes that the metadata calls
    /// characters.
    pub fn character(&self) -> Option<Encoding> {
        match self {
            Type::Integer(i) if i.size_bits == 8 && i.align_bits % 8 == 0 => match i.meaning {
                Meaning::Character(encoding) => Some(encoding),
                _ => None,
            },
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn extent(&self) -> Extent {
        let leaf = |align_bits, size_bits: u32, reads| Extent {
            align_bits,
            inner_align_bits: align_bits,
            fixed_bits: Some(u64::from(size_bits)),
            least_bits: u64::from(size_bits),
            cost: 1,
            reads,
        };
        let varying = |align_bits, reads| Extent { fixed_bits: None, ..leaf(align_bits, 8, reads) };
        let integer = |i: &Integer| {
            let reads = i.slot.is_some() || i.clock.is_some();
            match i.form {
                Form::Variable => varying(i.align_bits, reads),
                Form::Fixed | Form::Reversed => leaf(i.align_bits, i.size_bits, reads),
            }
        };
        match self {
            Type::Integer(i) => integer(i),
            Type::Enumeration(e) => integer(&e.container),
            Type::Float(f) => leaf(f.align_bits, f.size_bits, false),
            Type::Text(_) => varying(8, false),
            Type::Struct(s) => s.extent,
            Type::Array(a) => a.extent,
            Type::Sequence(s) => s.extent,
            Type::Variant(v) => v.extent,
        }
    }
}
