// SPDX-License-Identifier: MIT
//! What the kernel says of the bytes of an event: a `format` file of tracefs.
//!
//! Place in the flow: `tracing` reads one for each enabled event, and those of the ring's own pages
//! (`header_page` has lines of the same form); `decode` makes steps of its fields. A newer
//! kernel's file may hold types that are not known here: their bytes are kept as bytes.

/// An event's `format` file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    pub id: u16,
    /// Where the record has that number.
    pub id_at: usize,
    /// Where the record has the number of the thread that wrote it.
    pub pid_at: usize,
    /// The event's own fields: without those that all events have.
    pub fields: Vec<Field>,
}

/// A field, and where the record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub at: usize,
    pub bytes: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer {
        bits: u8,
        signed: bool,
    },
    Bool,
    Pointer,
    /// Characters, up to a NUL if there is one.
    Text,
    /// Integers side by side.
    Array {
        bits: u8,
        signed: bool,
    },
    /// Of a type that is not known here.
    Bytes,
    /// Elsewhere in the record; the field has a length in its upper half and a distance in the
    /// lower one, from the record's beginning or, if `relative`, from the field's end.
    Elsewhere {
        what: Content,
        relative: bool,
    },
}

/// What lies elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Text,
    Integers { bits: u8, signed: bool },
    Bytes,
}

/// More fields than any event has.
const FIELDS_MAX: usize = 256;
/// A record is smaller than the largest sub-buffer.
const RECORD_BYTES_MAX: usize = 1 << 20;
const WORD_BYTES: usize = std::mem::size_of::<libc::c_long>();

/// Types whose size and sign C or the kernel fixes, without qualifiers.
const TYPES: [(&str, usize, bool); 45] = [
    ("char", 1, true),
    ("signed char", 1, true),
    ("s8", 1, true),
    ("__s8", 1, true),
    ("int8_t", 1, true),
    ("unsigned char", 1, false),
    ("u8", 1, false),
    ("__u8", 1, false),
    ("uint8_t", 1, false),
    ("short", 2, true),
    ("s16", 2, true),
    ("__s16", 2, true),
    ("unsigned short", 2, false),
    ("u16", 2, false),
    ("__u16", 2, false),
    ("uint16_t", 2, false),
    ("umode_t", 2, false),
    ("int", 4, true),
    ("s32", 4, true),
    ("__s32", 4, true),
    ("int32_t", 4, true),
    ("pid_t", 4, true),
    ("key_t", 4, true),
    ("clockid_t", 4, true),
    ("unsigned int", 4, false),
    ("unsigned", 4, false),
    ("uint", 4, false),
    ("u32", 4, false),
    ("__u32", 4, false),
    ("uint32_t", 4, false),
    ("uid_t", 4, false),
    ("gid_t", 4, false),
    ("dev_t", 4, false),
    ("s64", 8, true),
    ("__s64", 8, true),
    ("int64_t", 8, true),
    ("long long", 8, true),
    ("loff_t", 8, true),
    ("u64", 8, false),
    ("__u64", 8, false),
    ("uint64_t", 8, false),
    ("unsigned long long", 8, false),
    ("long", WORD_BYTES, true),
    ("unsigned long", WORD_BYTES, false),
    ("cpumask_t", WORD_BYTES, false),
];

/// Size and sign of a type by its name, if both are known.
fn known(name: &str) -> Option<(usize, bool)> {
    let words = name.split_whitespace();
    let bare: Vec<&str> =
        words.filter(|word| !matches!(*word, "const" | "volatile" | "__user")).collect();
    let bare = bare.join(" ");
    TYPES.iter().find(|(name, ..)| *name == bare).map(|(_, bytes, signed)| (*bytes, *signed))
}

impl Format {
    /// Reads a `format` file; the error says which part is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"));
        let id = id.ok_or("it has no ID")?.trim().parse().map_err(|_| "its ID is no number")?;
        let mut fields = fields(text)?;
        let place = |name: &str, bytes: usize| {
            let mut common = fields.iter().filter(|field| field.bytes == bytes);
            common.find(|field| field.name == name).map(|field| field.at)
        };
        let id_at = place("common_type", 2).ok_or("it has no common_type")?;
        let pid_at = place("common_pid", 4).ok_or("it has no common_pid")?;
        fields.retain(|field| !field.name.starts_with("common_"));
        Ok(Self { id, id_at, pid_at, fields })
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// All lines that describe a field.
pub(crate) fn fields(text: &str) -> Result<Vec<Field>, &'static str> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("field:"));
    let mut fields = Vec::new();
    for line in lines {
        if fields.len() >= FIELDS_MAX {
            return Err("it has too many fields");
        }
        fields.push(field(line).ok_or("a field cannot be understood")?);
    }
    Ok(fields)
}

/// `TYPE NAME; offset:N; size:N; signed:N;`, with `[COUNT]` behind the name of an array.
fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut at, mut bytes, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", number)) => at = number.parse::<usize>().ok(),
            Some(("size", number)) => bytes = number.parse::<usize>().ok(),
            Some(("signed", number)) => signed = number != "0",
            _ => {}
        }
    }
    let (at, bytes) = (at?, bytes?);
    if at > RECORD_BYTES_MAX || bytes > RECORD_BYTES_MAX {
        return None;
    }
    let (declaration, count) = match declaration.strip_suffix(']') {
        Some(array) => array.rsplit_once('[').map(|(rest, count)| (rest, Some(count)))?,
        None => (declaration, None),
    };
    let (of, name) = declaration.trim_end().rsplit_once([' ', '*'])?;
    let has_star = declaration.contains('*');
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let kind = match (elsewhere(of), count) {
        (Some(kind), _) => kind,
        (None, Some(count)) => array(of, bytes, count, signed, has_star),
        (None, None) => scalar(of, bytes, signed, has_star),
    };
    let mut field = Field { name: name.to_string(), at, bytes, kind };
    field.narrow(of);
    Some(field)
}

/// `__data_loc TYPE[]`, or `__rel_loc TYPE[]`.
fn elsewhere(of: &str) -> Option<Kind> {
    let (marker, of) = of.trim().split_once(' ')?;
    let relative = match marker {
        "__data_loc" => false,
        "__rel_loc" => true,
        _ => return None,
    };
    let element = of.trim().trim_end_matches("[]").trim_end();
    let what = match known(element) {
        Some((1, true)) => Content::Text,
        Some((bytes, signed)) => Content::Integers { bits: bytes as u8 * 8, signed },
        None => Content::Bytes,
    };
    Some(Kind::Elsewhere { what, relative })
}

fn array(of: &str, bytes: usize, count: &str, signed: bool, has_star: bool) -> Kind {
    if known(of) == Some((1, true)) && !has_star {
        return Kind::Text;
    }
    let by_count = count.trim().parse::<usize>().ok().filter(|count| *count > 0);
    let of_type = known(of).map(|(bytes, _)| bytes).filter(|_| !has_star);
    match by_count.map(|count| bytes / count).or(of_type) {
        Some(element @ (1 | 2 | 4 | 8)) if bytes % element == 0 => {
            Kind::Array { bits: element as u8 * 8, signed }
        }
        _ => Kind::Bytes,
    }
}

fn scalar(of: &str, bytes: usize, signed: bool, has_star: bool) -> Kind {
    match bytes {
        8 if has_star => Kind::Pointer,
        1 if of.trim() == "bool" => Kind::Bool,
        1 | 2 | 4 | 8 => Kind::Integer { bits: bytes as u8 * 8, signed },
        _ => Kind::Bytes,
    }
}

impl Field {
    /// An argument of a system call takes a register, whatever its type: the type's own bytes are
    /// the low ones.
    fn narrow(&mut self, of: &str) {
        let Kind::Integer { .. } = self.kind else { return };
        let Some((bytes, signed)) = known(of).filter(|(bytes, _)| *bytes < self.bytes) else {
            return;
        };
        if cfg!(target_endian = "big") {
            self.at += self.bytes - bytes;
        }
        self.bytes = bytes;
        self.kind = Kind::Integer { bits: bytes as u8 * 8, signed };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch
ID: 372
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:const char * filename;\toffset:40;\tsize:8;\tsigned:0;
\tfield:int dfd;\toffset:48;\tsize:8;\tsigned:0;
\tfield:u8 saddr[4];\toffset:56;\tsize:4;\tsigned:0;
\tfield:unsigned long args[6];\toffset:60;\tsize:48;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:108;\tsize:4;\tsigned:0;
\tfield:__rel_loc u64[] marks;\toffset:112;\tsize:4;\tsigned:0;
\tfield:struct odd it;\toffset:116;\tsize:12;\tsigned:0;
\tfield:bool ok;\toffset:128;\tsize:1;\tsigned:0;
\tfield:void *where;\toffset:136;\tsize:8;\tsigned:0;
\tfield:__data_loc cpumask_t mask;\toffset:144;\tsize:4;\tsigned:0;

print fmt: \"field:int no; offset:0; size:4; signed:1;\", REC->prev_comm
";

    #[test]
    fn fields_have_their_places_and_kinds_and_common_ones_are_left_out() {
        let format = Format::parse(SWITCH).unwrap();
        assert_eq!((format.id, format.id_at, format.pid_at), (372, 0, 4));
        let found: Vec<_> =
            format.fields.iter().map(|f| (f.name.as_str(), f.at, f.bytes, f.kind)).collect();
        let unsigned = |bits| Kind::Array { bits, signed: false };
        let elsewhere = |what, relative| Kind::Elsewhere { what, relative };
        let words = Content::Integers { bits: 64, signed: false };
        let low = if cfg!(target_endian = "big") { 52 } else { 48 };
        assert_eq!(
            found,
            [
                ("prev_comm", 8, 16, Kind::Text),
                ("prev_state", 32, 8, Kind::Integer { bits: 64, signed: true }),
                ("filename", 40, 8, Kind::Pointer),
                ("dfd", low, 4, Kind::Integer { bits: 32, signed: true }),
                ("saddr", 56, 4, unsigned(8)),
                ("args", 60, 48, unsigned(64)),
                ("name", 108, 4, elsewhere(Content::Text, false)),
                ("marks", 112, 4, elsewhere(words, true)),
                ("it", 116, 12, Kind::Bytes),
                ("ok", 128, 1, Kind::Bool),
                ("where", 136, 8, Kind::Pointer),
                ("mask", 144, 4, elsewhere(words, false)),
            ]
        );
    }

    #[test]
    fn damaged_files_are_refused_or_read_and_never_followed() {
        for text in ["", "ID: x\n", "ID: 7\n", "ID: 7\n\tfield:int;\toffset:0;\tsize:4;\n"] {
            assert!(Format::parse(text).is_err(), "{text:?}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let mut bytes = SWITCH.as_bytes().to_vec();
            for _ in 0..random.usize(1..20) {
                let at = random.usize(..bytes.len());
                match random.u8(..3) {
                    0 => bytes[at] = random.u8(0x20..0x7f),
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, random.u8(b'0'..=b';')),
                }
            }
            let text = String::from_utf8(bytes).unwrap();
            if let Ok(format) = Format::parse(&text) {
                assert!(format.fields.len() <= FIELDS_MAX);
            }
        }
    }
}
