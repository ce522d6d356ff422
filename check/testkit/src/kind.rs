// SPDX-License-Identifier: MIT
//! Field kinds as testkit knows them: their TSDL text, random ones, and random values of them.
//!
//! Place in the flow: a `Spec` is made of kinds; `datum` encodes and renders their values.
//! Sequences and variants stand in structs only, each preceded by the field that governs it.

use crate::bit_writer::Order;
use crate::datum::Datum;
use crate::random::Random;

/// An integer's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int {
    pub size_bits: u32,
    pub align_bits: u32,
    pub signed: bool,
    pub order: Order,
}

impl Int {
    /// An unsigned integer of whole bytes at byte alignment.
    pub fn bytes(size_bits: u32, order: Order) -> Self {
        Self { size_bits, align_bits: 8, signed: false, order }
    }

    pub fn tsdl(&self, more: &str) -> String {
        let Int { size_bits, align_bits, signed, order } = self;
        let order = order.name();
        format!(
            "integer {{ size = {size_bits}; align = {align_bits}; signed = {signed}; \
             byte_order = {order}; {more}}}"
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Int(Int),
    Float {
        size_bits: u32,
        align_bits: u32,
        order: Order,
    },
    /// Labels with inclusive ranges.
    Enumeration {
        container: Int,
        labels: Vec<(String, i64, i64)>,
    },
    Text,
    /// A fixed number of characters.
    CharArray(u64),
    Struct {
        fields: Vec<(String, Kind)>,
        align_bits: u32,
    },
    Array {
        element: Box<Kind>,
        count: u64,
    },
    Sequence {
        element: Box<Kind>,
        length: Int,
    },
    CharSequence {
        length: Int,
    },
    Variant {
        tag: Int,
        options: Vec<(String, Kind)>,
    },
}

impl Kind {
    pub fn u(size_bits: u32, order: Order) -> Self {
        Kind::Int(Int::bytes(size_bits, order))
    }

    pub fn structure(fields: Vec<(&str, Kind)>) -> Self {
        let fields = fields.into_iter().map(|(name, kind)| (name.to_string(), kind)).collect();
        Kind::Struct { fields, align_bits: 1 }
    }

    /// The field declaration, governing field included.
    pub fn declare(&self, name: &str) -> String {
        match self {
            Kind::Array { element, count } => {
                element.declare(name).trim_end().trim_end_matches(';').to_string()
                    + &format!("[{count}]; ")
            }
            Kind::CharArray(count) => format!("{} {name}[{count}]; ", char_tsdl()),
            Kind::CharSequence { length } => {
                let length = length.tsdl("");
                format!("{length} {name}_length; {} {name}[{name}_length]; ", char_tsdl())
            }
            Kind::Sequence { element, length } => {
                let length = length.tsdl("");
                let element = element.tsdl(name);
                format!("{length} {name}_length; {element} {name}[{name}_length]; ")
            }
            Kind::Variant { tag, options } => {
                let labels: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
                let labels = labels.join(", ");
                let tag = tag.tsdl("");
                let variant = self.tsdl(name);
                format!("enum : {tag} {{ {labels} }} {name}_tag; {variant} {name}; ")
            }
            _ => format!("{} {name}; ", self.tsdl(name)),
        }
    }

    /// The type alone; `name` is that of its field.
    pub fn tsdl(&self, name: &str) -> String {
        match self {
            Kind::Int(int) => int.tsdl(""),
            Kind::Float { size_bits, align_bits, order } => {
                let digits = if *size_bits == 32 { (8, 24) } else { (11, 53) };
                format!(
                    "floating_point {{ exp_dig = {}; mant_dig = {}; align = {align_bits}; \
                     byte_order = {}; }}",
                    digits.0,
                    digits.1,
                    order.name()
                )
            }
            Kind::Enumeration { container, labels } => {
                let ranges: Vec<String> = labels
                    .iter()
                    .map(|(label, begin, until)| format!("\"{label}\" = {begin} ... {until}"))
                    .collect();
                format!("enum : {} {{ {} }}", container.tsdl(""), ranges.join(", "))
            }
            Kind::Text => "string".into(),
            Kind::Struct { fields, align_bits } => {
                let fields: String = fields.iter().map(|(name, kind)| kind.declare(name)).collect();
                format!("struct {{ {fields}}} align({align_bits})")
            }
            Kind::Variant { options, .. } => {
                let options: String =
                    options.iter().map(|(name, kind)| kind.declare(name)).collect();
                format!("variant <{name}_tag> {{ {options}}}")
            }
            Kind::Array { .. }
            | Kind::CharArray(_)
            | Kind::Sequence { .. }
            | Kind::CharSequence { .. } => panic!("an array stands in a struct or an array only"),
        }
    }

    /// A random value.
    pub fn value(&self, random: &mut Random) -> Datum {
        match self {
            Kind::Int(int) => int_value(int, random),
            Kind::Float { size_bits, .. } => Datum::Float(float_value(*size_bits, random)),
            Kind::Enumeration { container, labels } => {
                let (_, begin, until) = random.pick(labels);
                let within = begin + random.below((until - begin + 1) as u64) as i64;
                match random.one_in(5) {
                    true => int_value(container, random),
                    false if container.signed => Datum::Signed(within),
                    false => Datum::Unsigned(within as u64),
                }
            }
            Kind::Text => Datum::Text(text_value(random, 20)),
            Kind::CharArray(count) => Datum::Text(text_value(random, *count)),
            Kind::CharSequence { .. } => Datum::Text(text_value(random, 12)),
            Kind::Struct { fields, .. } => {
                Datum::List(fields.iter().map(|(_, kind)| kind.value(random)).collect())
            }
            Kind::Array { element, count } => {
                Datum::List((0..*count).map(|_| element.value(random)).collect())
            }
            Kind::Sequence { element, .. } => {
                let count = random.below(4);
                Datum::List((0..count).map(|_| element.value(random)).collect())
            }
            Kind::Variant { options, .. } => {
                let option = random.below(options.len() as u64) as usize;
                Datum::Option(option, Box::new(options[option].1.value(random)))
            }
        }
    }

    /// A random kind. `depth` bounds the nesting; `governed` allows what needs a governing field.
    pub fn random(random: &mut Random, native: Order, depth: u32, governed: bool) -> Kind {
        let element = |random: &mut Random| {
            let inner = Kind::random(random, native, depth.saturating_sub(1), false);
            Box::new(match inner {
                kind @ (Kind::Array { .. } | Kind::CharArray(_)) => {
                    Kind::Struct { fields: vec![("inner".into(), kind)], align_bits: 1 }
                }
                kind => kind,
            })
        };
        let most = if governed && depth > 0 { 10 } else { 7 };
        match random.below(most) {
            0 | 1 => Kind::Int(random_int(random, native)),
            2 => random_float(random, native),
            3 => random_enumeration(random, native),
            4 if depth > 0 && governed => random_struct(random, native, depth - 1),
            4 | 5 => Kind::Text,
            6 if depth > 0 => Kind::Array { element: element(random), count: random.below(4) },
            6 => Kind::CharArray(1 + random.below(9)),
            7 => Kind::CharSequence { length: small_length(random, native) },
            8 => {
                let length = small_length(random, native);
                Kind::Sequence { element: element(random), length }
            }
            _ => Kind::Variant {
                tag: Int { signed: false, ..Int::bytes(8, native) },
                options: (0..1 + random.below(3))
                    .map(|i| (format!("option{i}"), *element(random)))
                    .collect(),
            },
        }
    }
}

fn char_tsdl() -> &'static str {
    "integer { size = 8; align = 8; signed = false; encoding = UTF8; }"
}

/// A random struct without lengths and tags: Babeltrace 2.0 cannot resolve them in an event's own
/// context.
pub fn random_plain_struct(random: &mut Random, native: Order) -> Kind {
    let count = 1 + random.below(3);
    let fields = (0..count).map(|i| (format!("c{i}"), Kind::random(random, native, 1, false)));
    let fields = fields.collect();
    Kind::Struct { fields, align_bits: *random.pick(&[1, 8, 64]) }
}

/// A random struct with one to four fields.
pub fn random_struct(random: &mut Random, native: Order, depth: u32) -> Kind {
    let count = 1 + random.below(4);
    let fields = (0..count).map(|i| {
        let prefix = random.pick(&["f", "_f", "long_name_of_field"]);
        (format!("{prefix}{i}"), Kind::random(random, native, depth, true))
    });
    let fields = fields.collect();
    let align_bits = *random.pick(&[1, 1, 8, 16, 32, 64]);
    Kind::Struct { fields, align_bits }
}

/// Integers off byte boundaries keep to the native order: no byte can have two.
fn random_int(random: &mut Random, native: Order) -> Int {
    let signed = random.one_in(2);
    if random.one_in(2) {
        let size_bits = 8 << random.below(4);
        let order = *random.pick(&[Order::Little, Order::Big]);
        let align_bits = *random.pick(&[8, 8, 16, 32, 64]);
        return Int { size_bits, align_bits, signed, order };
    }
    let size_bits = 1 + random.below(64) as u32;
    Int { size_bits, align_bits: *random.pick(&[1, 1, 2, 4, 8, 32]), signed, order: native }
}

fn random_float(random: &mut Random, native: Order) -> Kind {
    let size_bits = *random.pick(&[32, 64]);
    let align_bits = *random.pick(&[8, 32, 64]);
    let order = *random.pick(&[native, Order::Little, Order::Big]);
    Kind::Float { size_bits, align_bits, order }
}

fn random_enumeration(random: &mut Random, native: Order) -> Kind {
    let size_bits = 5 + random.below(60) as u32;
    let signed = random.one_in(2);
    let container = Int { size_bits, align_bits: *random.pick(&[1, 8]), signed, order: native };
    let mut labels = vec![("zero".into(), 0, 0), ("a few".into(), 1, 5)];
    if signed {
        labels.push(("negative".into(), -9, -1));
    }
    Kind::Enumeration { container, labels }
}

fn small_length(random: &mut Random, native: Order) -> Int {
    Int { size_bits: 4 + random.below(29) as u32, align_bits: 1, signed: false, order: native }
}

fn int_value(int: &Int, random: &mut Random) -> Datum {
    let unused = 64 - int.size_bits;
    let word = match random.below(4) {
        0 => 0,
        1 => u64::MAX,
        _ => random.word(),
    };
    match int.signed {
        true => Datum::Signed(((word << unused) as i64) >> unused),
        false => Datum::Unsigned((word << unused) >> unused),
    }
}

fn float_value(size_bits: u32, random: &mut Random) -> f64 {
    let value = match random.below(4) {
        0 => 0.0,
        1 => -1.5,
        _ => random.below(4000) as f64 / 8.0 - 100.0,
    };
    debug_assert_eq!(f64::from(value as f32), value, "no more digits than text output keeps");
    match size_bits {
        32 => f64::from(value as f32),
        _ => value,
    }
}

/// Never empty: Babeltrace 2.0 shows the text of an earlier event in its place.
fn text_value(random: &mut Random, longest: u64) -> Vec<u8> {
    let length = 1 + random.below(longest);
    (0..length).map(|_| *random.pick(b"abcdefgh XYZ0123456789_-")).collect()
}
