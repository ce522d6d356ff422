// SPDX-License-Identifier: MIT
//! Event descriptions: the text of `core/include/lull/abi/site.h` that every site carries.
//!
//! Place in the flow: `lull list` reads them from ELF notes, the consumer from the event table
//! of a session, to know how long events are and to write the trace's metadata.
//! A description comes from a traced process, so every line of it may be wrong.

/// A description, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: String,
    pub level: u8,
    /// `FILE:LINE` of one site of the event; empty for events that have none.
    pub source: String,
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: FieldKind,
}

/// How a field lies in the payload. All are packed, in native byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    Unsigned {
        bits: u8,
        hex: bool,
    },
    Signed {
        bits: u8,
    },
    Float {
        bits: u8,
    },
    Bool,
    Pointer,
    /// NUL-terminated.
    Text,
    /// Sixteen bytes of text, padded with NUL: a thread's name.
    Name,
    /// u32 count, then that many bytes.
    Bytes,
    /// u32 count, then that many integers.
    Sequence {
        bits: u8,
        signed: bool,
    },
    /// u32 count, then that many addresses: a call stack.
    Addresses,
    /// Stored as i32.
    Enumeration(Vec<(String, i32)>),
    /// An unsigned integer, shown in base 16, of which a value may have several names together.
    Flags {
        bits: u8,
        names: Vec<(String, u64)>,
    },
}

impl FieldKind {
    /// The name of the type as descriptions spell it.
    pub fn name(&self) -> String {
        match self {
            Self::Unsigned { bits, hex } => format!("{}{bits}", if *hex { 'x' } else { 'u' }),
            Self::Flags { bits, .. } => format!("x{bits}"),
            Self::Signed { bits } => format!("i{bits}"),
            Self::Float { bits } => format!("f{bits}"),
            Self::Bool => "bool".into(),
            Self::Pointer => "ptr".into(),
            Self::Text => "str".into(),
            Self::Name => "name".into(),
            Self::Bytes => "bytes".into(),
            Self::Sequence { bits, signed } => {
                format!("a{}{bits}", if *signed { 'i' } else { 'u' })
            }
            Self::Addresses => "aptr".into(),
            Self::Enumeration(_) => "enum".into(),
        }
    }

    fn parse(name: &str, argument: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "ptr" => Self::Pointer,
            "str" | "strn" => Self::Text,
            "name" => Self::Name,
            "bytes" => Self::Bytes,
            "aptr" => Self::Addresses,
            "enum" => enumeration(argument),
            "f32" => Self::Float { bits: 32 },
            "f64" => Self::Float { bits: 64 },
            _ => {
                if let Some(element) = name.strip_prefix('a') {
                    let (signed, bits) = integer(element)?;
                    return Some(Self::Sequence { bits, signed });
                }
                if let Some(bits) = name.strip_prefix('x') {
                    return Some(flags(width(bits)?, argument));
                }
                match integer(name)? {
                    (true, bits) => Self::Signed { bits },
                    (false, bits) => Self::Unsigned { bits, hex: false },
                }
            }
        })
    }
}

fn width(digits: &str) -> Option<u8> {
    matches!(digits, "8" | "16" | "32" | "64").then(|| digits.parse().ok())?
}

fn integer(name: &str) -> Option<(bool, u8)> {
    if let Some(bits) = name.strip_prefix('i') {
        return Some((true, width(bits)?));
    }
    Some((false, width(name.strip_prefix('u')?)?))
}

/// Where the names cannot be read, the field stays what it is in memory, an i32.
fn enumeration(argument: &str) -> FieldKind {
    // A value above i32::MAX is an unsigned enumerator, stored as the same 32 bits.
    let stored = |value| {
        i32::try_from(value).ok().or_else(|| u32::try_from(value).ok().map(|bits| bits as i32))
    };
    named(argument, stored).map_or(FieldKind::Signed { bits: 32 }, FieldKind::Enumeration)
}

/// Without names, or where they cannot be read, a number.
fn flags(bits: u8, argument: &str) -> FieldKind {
    let held = |value| u64::try_from(value).ok().filter(|value| *value <= u64::MAX >> (64 - bits));
    match named(argument, held) {
        Some(names) => FieldKind::Flags { bits, names },
        None => FieldKind::Unsigned { bits, hex: true },
    }
}

/// `NAME=VALUE,...`, each value as it is stored. None where one has no name, is no number or cannot
/// be stored, and where there is none.
fn named<T>(argument: &str, stored: impl Fn(i128) -> Option<T>) -> Option<Vec<(String, T)>> {
    let list = argument.trim().trim_matches('"');
    let mut names = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (name, value) = item.split_once('=')?;
        let name = Some(name.trim()).filter(|name| !name.is_empty())?;
        names.push((name.to_string(), stored(number(value.trim())?)?));
    }
    Some(names).filter(|names| !names.is_empty())
}

fn number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -i128::from(value) } else { value.into() })
}

impl Description {
    /// Reads a description; the error says which part is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text")?;
        let mut lines = text.lines();
        let name = lines.next().filter(|name| !name.is_empty()).ok_or("it has no name")?;
        let level = lines.next().ok_or("it has no level")?;
        let level = level.trim().parse().map_err(|_| "its level is not a number")?;
        let source = lines.next().unwrap_or("").trim();
        let mut fields = Vec::new();
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let mut words = line.trim().splitn(3, ' ');
            let kind = words.next().unwrap_or("");
            let name = words.next().ok_or("a field has no name")?;
            let kind = FieldKind::parse(kind, words.next().unwrap_or(""))
                .ok_or("a field has a type that is not known")?;
            fields.push(Field { name: name.to_string(), kind });
        }
        let source = if source == ":" { "" } else { source };
        Ok(Self { name: name.to_string(), level, source: source.to_string(), fields })
    }

    /// The word for [`Description::level`].
    pub fn level_name(&self) -> &'static str {
        const NAMES: [&str; 8] =
            ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];
        NAMES.get(usize::from(self.level)).copied().unwrap_or("unknown")
    }
}

/// Of a description, with the NUL that ends it in a note.
const BYTES_MAX: usize = 65536;
const FIELDS_MAX: usize = 16;

/// Why liblull does not record an event, whose description may be one that is read all the same:
/// what `lull_description_check()` in `core/site/note.c` refuses.
pub fn refusal(text: &[u8]) -> Option<&'static str> {
    let description = match Description::parse(text) {
        Ok(description) => description,
        Err(why) => return Some(why),
    };
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| is_letter(c) || matches!(c, '.' | '-'))
    };
    let is_field = |Field { name, .. }: &Field| {
        name.chars().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut parts = description.name.split(':');
    let place = description.source.rsplit_once(':').map_or("", |(_, line)| line);
    if !description.name.contains(':') || !parts.all(is_part) {
        Some("its name is not group:name, of letters, digits, '_', '.' and '-'")
    } else if !description.fields.iter().all(is_field) {
        Some("the name of a field is not of letters, digits and '_'")
    } else if description.fields.len() > FIELDS_MAX {
        Some("it has more than 16 fields")
    } else if text.len() >= BYTES_MAX {
        Some("its description has more than 65535 bytes")
    } else if description.level > 7 || !place.chars().all(|c| c.is_ascii_digit()) {
        Some("its description is damaged")
    } else {
        None
    }
}

/// The events that every session has, as descriptions, with their identifiers.
pub const SYSTEM_EVENTS: [(u32, &str); 3] = [
    (crate::abi::EVENT_THREAD, "lull:thread\n6\n:\nu32 pid\nu32 tid\nname name\n"),
    (crate::abi::EVENT_LOST, "lull:lost\n4\n:\n"),
    (crate::abi::EVENT_LOST_BYTES, "lull:lost_bytes\n4\n:\nbytes content\n"),
];

/// FNV-1a, 64 bits, never 0: what the event table finds descriptions by.
pub fn hash(text: &[u8]) -> u64 {
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_keeps_name_level_source_and_fields_in_order() {
        let text = b"http:request\n6\nserver.c:42\nu64 id\nstr url\nai16 codes\nx32 mask\n";
        let description = Description::parse(text).unwrap();
        assert_eq!(description.name, "http:request");
        assert_eq!(description.level_name(), "info");
        assert_eq!(description.source, "server.c:42");
        let kinds: Vec<String> = description.fields.iter().map(|f| f.kind.name()).collect();
        assert_eq!(kinds, ["u64", "str", "ai16", "x32"]);
        assert_eq!(description.fields[3].name, "mask");
    }

    #[test]
    fn every_type_of_a_field_has_the_name_that_descriptions_give_it() {
        let names = [
            "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "x8", "x64", "f32", "f64",
            "bool", "ptr", "str", "name", "bytes", "aptr", "au8", "au64", "ai32",
        ];
        let mut kinds = Vec::new();
        for name in names {
            let kind = FieldKind::parse(name, "").unwrap();
            assert_eq!(kind.name(), name);
            assert!(!kinds.contains(&kind), "{name}");
            kinds.push(kind);
        }
        assert_eq!(FieldKind::parse("strn", ""), Some(FieldKind::Text));
        assert_eq!(FieldKind::parse("enum", "A=1").unwrap().name(), "enum");
        for unknown in ["", "u", "u0", "u128", "xi8", "f16", "af32", "abool", "i", "int"] {
            assert_eq!(FieldKind::parse(unknown, ""), None, "{unknown}");
        }
    }

    #[test]
    fn levels_have_names_and_lines_may_be_empty() {
        let parse = |text: &str| Description::parse(text.as_bytes()).unwrap();
        assert_eq!(parse("a:b\n0\n").level_name(), "emergency");
        assert_eq!(parse("a:b\n 7 \n").level_name(), "debug");
        assert_eq!(parse("a:b\n8\n").level_name(), "unknown");
        let described = parse("a:b\n6\n:\n\n  \nu8 x\n");
        assert_eq!((described.source.as_str(), described.fields.len()), ("", 1));
    }

    #[test]
    fn enumeration_keeps_negative_hexadecimal_and_unsigned_values() {
        let text = b"a:b\n6\nf:1\nenum state IDLE=0, BUSY=0x10,GONE=-1,TOP=4294967295\n";
        let description = Description::parse(text).unwrap();
        let FieldKind::Enumeration(names) = &description.fields[0].kind else { panic!("no enum") };
        let expected = [("IDLE", 0), ("BUSY", 16), ("GONE", -1), ("TOP", -1)];
        assert_eq!(*names, expected.map(|(name, value)| (name.to_string(), value)));
    }

    #[test]
    fn enumeration_that_cannot_be_read_is_the_integer_it_is_stored_as() {
        for list in ["A=B+1", "A", "=1", "", ",", "A=4294967296", "A=-2147483649", "A=1,B"] {
            assert_eq!(enumeration(list), FieldKind::Signed { bits: 32 }, "{list}");
        }
        assert_eq!(number("-2147483648"), Some(i32::MIN.into()));
        assert_eq!((number("0XfF"), number("-0x10"), number("")), (Some(255), Some(-16), None));
        let one = FieldKind::Enumeration(vec![("A".into(), 1)]);
        assert_eq!(enumeration("\"A = 1,\""), one);
    }

    #[test]
    fn bits_have_names_where_these_can_be_read_and_are_numbers_otherwise() {
        let kind = |list: &str| FieldKind::parse("x32", list).unwrap();
        let names = vec![("A".to_string(), 0), ("TOP".to_string(), 1 << 31)];
        assert_eq!(kind("A=0,TOP=0x80000000"), FieldKind::Flags { bits: 32, names });
        assert_eq!(kind("A=1").name(), "x32");
        for list in ["", "A", "A=-1", "A=0x100000000", "A=1,B"] {
            assert_eq!(kind(list), FieldKind::Unsigned { bits: 32, hex: true }, "{list}");
        }
        let top = FieldKind::parse("x64", "TOP=18446744073709551615").unwrap();
        assert_eq!(top, FieldKind::Flags { bits: 64, names: vec![("TOP".into(), u64::MAX)] });
    }

    #[test]
    fn damaged_descriptions_are_refused_with_a_reason() {
        for text in [
            &b""[..],
            b"\n",
            b"a",
            b"a\nx\n",
            b"a\n6\nf:1\nu7 x\n",
            b"a\n6\nf:1\nu8\n",
            b"\xff\n6\n",
        ] {
            assert!(Description::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn descriptions_that_liblull_refuses_have_a_reason() {
        let reason = |text: &str| refusal(text.as_bytes());
        assert_eq!(reason("a0:b.c:d-e\n6\n/a b/c.c:12\nu8 _x9\nenum e A=1\n"), None);
        for name in ["ab", "a::b", ":b", "a:", "a:b c", "a:ö", "a:b\u{1}"] {
            let why = reason(&format!("{name}\n6\nf:1\n")).unwrap();
            assert!(why.starts_with("its name"), "{name}: {why}");
        }
        for field in ["größe", "$x", "9x"] {
            let why = reason(&format!("a:b\n6\nf:1\nu8 x\nu8 {field}\n")).unwrap();
            assert!(why.starts_with("the name of a field"), "{field}: {why}");
        }
        let long = |bytes: usize| format!("a:b\n6\n{:x>1$}:1\n", "", bytes - 9);
        assert_eq!((long(65535).len(), reason(&long(65535))), (65535, None));
        assert_eq!(reason(&long(65536)), Some("its description has more than 65535 bytes"));
        let fields = |count| format!("a:b\n6\nf:1\n{}", "u8 x\n".repeat(count));
        assert_eq!(reason(&fields(16)), None);
        assert_eq!(reason(&fields(17)), Some("it has more than 16 fields"));
        for damaged in ["a:b\n8\nf:1\n", "a:b\n6\nf:x\n"] {
            assert_eq!(reason(damaged), Some("its description is damaged"));
        }
        assert_eq!(reason("a:b\n6\nf:1\nu7 x\n"), Some("a field has a type that is not known"));
    }

    /// The vectors of the algorithm's authors: programs compute the same in `user/events.c`.
    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn system_events_are_descriptions_themselves() {
        for (id, text) in SYSTEM_EVENTS {
            let description = Description::parse(text.as_bytes()).unwrap();
            assert!(description.name.starts_with("lull:"), "{id}");
        }
    }
}
