// SPDX-License-Identifier: MIT
//! What an ELF file says about itself: its machine, its interpreter, and the events it carries.
//!
//! Place in the flow: `record` looks before it starts a program, `list` reads the notes of a
//! program and its libraries. Bytes: `core/include/lull/abi/site.h`. Files are hostile input.

use anyhow::{bail, Context};
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{
    Dyn, FileHeader, NoteIterator, ProgramHeader, SectionHeader, SectionTable, Sym,
};
use object::read::{ReadCache, ReadRef};
use object::Endianness;
use session::description::{hash, refusal, Description};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where the kernel shows the modules that are loaded, and in each one's folder its notes.
pub const MODULES: &str = "/sys/module";
const NOTES: &str = "notes/.note.lull";
/// Notes of lull.ko, as it is loaded.
pub const MODULE_NOTES: &str = "/sys/module/lull/notes/.note.lull";

type Header = FileHeader64<Endianness>;

const NOTE_NAME: &[u8] = b"Lull";
const NOTE_SITE: u32 = 1;
const NOTE_PROBE: u32 = 2;
/// Of a segment that is read: more than any program's notes take. A file can claim any size.
const PART_BYTES_MAX: u64 = 16 << 20;
/// Where the header says how many segments there are, and what it says where they are too many.
const SEGMENT_COUNT: std::ops::Range<usize> = 56..58;
const MANY_SEGMENTS: [u8; 2] = [0xff; 2];
/// Enough for the first line of a script; the kernel reads no more of it.
const START_BYTES: u64 = 256;

/// What a file is, as far as recording is concerned.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Starts with `#!`; its interpreter runs it.
    Script {
        interpreter: String,
    },
    /// For another machine or word size than this command.
    OtherMachine {
        machine: String,
    },
    Static,
    /// glibc's dynamic linker, which starts a program that it is told of, and preloads into it.
    DynamicLinker,
    Dynamic {
        interpreter: String,
    },
    /// Neither: perhaps the kernel knows how to run it.
    Unknown,
}

/// An event in an object, with how many sites record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub description: Description,
    pub sites: u64,
    /// Why it is not recorded, whatever is asked for.
    pub refusal: Option<&'static str>,
}

#[derive(Debug)]
pub struct Object {
    pub kind: Kind,
    pub events: Vec<Carried>,
}

impl Object {
    /// Whether liblull is part of it: then it has liblull's events, too.
    pub fn has_liblull(&self) -> bool {
        self.events.iter().any(|carried| carried.description.name == "process:start")
    }
}

/// What the name begins with that glibc's dynamic linker gives itself.
const LINKER_NAME: &[u8] = b"ld-linux";
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

/// Looks into a file.
pub fn read(path: &Path) -> anyhow::Result<Object> {
    Ok(parse(&opened(path)?))
}

/// Whether a file defines a symbol for the dynamic linker, which other objects are bound to.
pub fn defines(path: &Path, name: &str) -> bool {
    opened(path).is_ok_and(|cache| defined(&cache, name).unwrap_or(false))
}

/// Reads only the parts that are asked for: programs can be large.
fn opened(path: &Path) -> anyhow::Result<ReadCache<File>> {
    let reading = || format!("reading {}", path.display());
    // The open must not wait: the path may be a pipe without a writer, or a terminal.
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path).with_context(reading)?;
    if !file.metadata().with_context(reading)?.is_file() {
        bail!("{} is no file", path.display());
    }
    Ok(ReadCache::new(file))
}

/// The sections of a file, if the first of a kind is there and not larger than any has to be.
fn sections_with<'data, R: ReadRef<'data>>(
    data: R,
    kind: u32,
) -> Option<(Endianness, SectionTable<'data, Header, R>)> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let first = sections.iter().find(|section| section.sh_type(endian) == kind)?;
    (first.sh_size(endian) <= PART_BYTES_MAX).then_some((endian, sections))
}

fn defined<'data, R: ReadRef<'data>>(data: R, name: &str) -> Option<bool> {
    let (endian, sections) = sections_with(data, elf::SHT_DYNSYM)?;
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).ok()?;
    // Bound: the section's bytes.
    Some(symbols.iter().any(|symbol| {
        !symbol.is_undefined(endian)
            && symbol.name(endian, symbols.strings()).is_ok_and(|found| found == name.as_bytes())
    }))
}

fn parse<'data, R: ReadRef<'data>>(data: R) -> Object {
    let nothing = |kind| Object { kind, events: Vec::new() };
    let length = data.len().unwrap_or(0).min(START_BYTES);
    let start = data.read_bytes_at(0, length).unwrap_or_default();
    if let Some(rest) = start.strip_prefix(b"#!") {
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let interpreter = line.split_whitespace().next().unwrap_or_default().to_string();
        return nothing(Kind::Script { interpreter });
    }
    if start.len() < 20 || !start.starts_with(&elf::ELFMAG) {
        return nothing(Kind::Unknown);
    }
    let machine = u16::from_le_bytes([start[18], start[19]]);
    if start[4] != elf::ELFCLASS64 || start[5] != elf::ELFDATA2LSB || machine != MACHINE {
        return nothing(Kind::OtherMachine { machine: machine_name(start[4], machine) });
    }
    if start.get(SEGMENT_COUNT) == Some(&MANY_SEGMENTS) {
        return nothing(Kind::Unknown); // a core dump, or nothing
    }
    let kind = match interpreter(data) {
        Some(interpreter) => Kind::Dynamic { interpreter },
        None if own_name(data).is_some_and(|name| name.starts_with(LINKER_NAME)) => {
            Kind::DynamicLinker
        }
        None => Kind::Static,
    };
    Object { kind, events: events(data) }
}

fn machine_name(class: u8, machine: u16) -> String {
    let name = match machine {
        elf::EM_386 => "32-bit x86",
        elf::EM_X86_64 if class == elf::ELFCLASS32 => "x32",
        elf::EM_X86_64 => "x86-64",
        elf::EM_ARM => "32-bit ARM",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_RISCV => "RISC-V",
        _ => return format!("machine {machine}"),
    };
    name.to_string()
}

fn interpreter<'data, R: ReadRef<'data>>(data: R) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let mut segments = segments.iter().filter(|segment| is_small(segment, endian));
    let path = segments.find_map(|segment| segment.interpreter(endian, data).ok()?)?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// The name by which a library is known to what needs it.
fn own_name<'data, R: ReadRef<'data>>(data: R) -> Option<&'data [u8]> {
    let (endian, sections) = sections_with(data, elf::SHT_DYNAMIC)?;
    let (entries, texts) = sections.dynamic(endian, data).ok()??;
    let texts = sections.strings(endian, data, texts).ok()?;
    // Bound: the section's bytes.
    let entry = entries.iter().find(|entry| entry.tag32(endian) == Some(elf::DT_SONAME))?;
    texts.get(u32::try_from(entry.d_val(endian)).ok()?).ok()
}

fn is_small(segment: &ProgramHeader64<Endianness>, endian: Endianness) -> bool {
    segment.p_filesz(endian) <= PART_BYTES_MAX
}

/// The events of lull.ko, where it is loaded; none where it is not.
pub fn module_events() -> Vec<Carried> {
    carried(found_in(Path::new(MODULE_NOTES)))
}

/// An event, with the hash of its description, by which the kernel knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub hash: u64,
    pub event: Description,
}

impl Known {
    pub fn new(text: &[u8]) -> Option<Self> {
        Some(Self { hash: hash(text), event: Description::parse(text).ok()? })
    }
}

/// The events of lull.ko, as the kernel knows them.
pub fn module_descriptions() -> Vec<Known> {
    descriptions(Path::new(MODULE_NOTES)).collect()
}

/// The events of other modules that are loaded, as the kernel knows them.
pub fn other_descriptions() -> Vec<Known> {
    other_notes().iter().flat_map(|path| descriptions(path)).collect()
}

fn descriptions(path: &Path) -> impl Iterator<Item = Known> {
    found_in(path).into_keys().filter_map(|text| Known::new(&text))
}

/// The events of other modules that are loaded, with where their notes are, by the modules' names.
pub fn other_modules() -> Vec<(PathBuf, Vec<Carried>)> {
    let found = other_notes().into_iter().map(|path| (carried(found_in(&path)), path));
    found.filter(|(events, _)| !events.is_empty()).map(|(events, path)| (path, events)).collect()
}

/// Where the notes of modules other than lull.ko are.
fn other_notes() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(MODULES).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = folders.map(|folder| folder.path().join(NOTES)).collect();
    paths.retain(|path| path != Path::new(MODULE_NOTES));
    paths.sort_unstable();
    paths
}

/// What the notes in a file describe, which is a section as the kernel shows it.
fn found_in(path: &Path) -> Found {
    let mut found = Found::new();
    let notes = std::fs::read(path).unwrap_or_default();
    let endian = if cfg!(target_endian = "big") { Endianness::Big } else { Endianness::Little };
    if let Ok(notes) = NoteIterator::<Header>::new(endian, 4, &notes) {
        collect(&mut found, notes, endian);
    }
    found
}

/// Descriptions, with how many sites and how many probes have each.
type Found = BTreeMap<Vec<u8>, (u64, u64)>;

fn events<'data, R: ReadRef<'data>>(data: R) -> Vec<Carried> {
    let mut found = Found::new();
    let mut collect = || -> Option<()> {
        let header = Header::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, data).ok()?.iter();
        for segment in segments.filter(|segment| is_small(segment, endian)) {
            let Ok(Some(notes)) = segment.notes(endian, data) else { continue };
            collect(&mut found, notes, endian);
        }
        Some(())
    };
    let _ = collect();
    carried(found)
}

fn collect(found: &mut Found, mut notes: NoteIterator<Header>, endian: Endianness) {
    while let Ok(Some(note)) = notes.next() {
        let skipped = match note.n_type(endian) {
            NOTE_SITE => 8,
            NOTE_PROBE => 4,
            _ => continue,
        };
        if note.name() != NOTE_NAME {
            continue;
        }
        let text = note.desc().get(skipped..).unwrap_or_default();
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let counts = found.entry(text.to_vec()).or_default();
        match skipped {
            8 => counts.0 += 1,
            _ => counts.1 += 1,
        }
    }
}

/// Every event that was found, in the order of names; sites of one event are counted together.
fn carried(found: Found) -> Vec<Carried> {
    let mut events: Vec<Carried> = found
        .into_iter()
        .filter_map(|(text, (sites, probes))| {
            let description = Description::parse(&text).ok()?;
            Some(Carried { description, sites: sites.max(probes), refusal: refusal(&text) })
        })
        .collect();
    events.sort_by(|a, b| a.description.name.cmp(&b.description.name));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_binary_is_dynamic_or_static_and_of_this_machine() {
        let kind = read(&std::env::current_exe().unwrap()).unwrap().kind;
        assert!(matches!(kind, Kind::Dynamic { .. } | Kind::Static), "{kind:?}");
    }

    #[test]
    fn the_dynamic_linker_is_told_from_static_programs() {
        let Kind::Dynamic { interpreter } = read(Path::new("/bin/sh")).unwrap().kind else {
            panic!("/bin/sh is linked dynamically");
        };
        assert_eq!(read(Path::new(&interpreter)).unwrap().kind, Kind::DynamicLinker);
    }

    #[test]
    fn script_names_its_interpreter() {
        let object = parse(&b"#! /bin/sh -e\necho\n"[..]);
        assert_eq!(object.kind, Kind::Script { interpreter: "/bin/sh".into() });
    }

    #[test]
    fn program_of_another_machine_is_named() {
        let mut header = [0u8; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 1, 1]);
        header[18] = 3;
        let machine = "32-bit x86".to_string();
        assert_eq!(parse(&header[..]).kind, Kind::OtherMachine { machine });
    }

    const DESCRIPTION: &str = "http:request\n6\n/a b/c.c:12\nu64 id\n\0";

    fn note(kind: u32, fixed_bytes: usize) -> Vec<u8> {
        let bytes = fixed_bytes + DESCRIPTION.len();
        let mut note: Vec<u8> =
            [5, bytes as u32, kind].iter().flat_map(|word| word.to_le_bytes()).collect();
        note.extend(b"Lull\0\0\0\0");
        note.extend(vec![0; fixed_bytes]);
        note.extend(DESCRIPTION.bytes());
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    /// A header, one program header and its notes: two sites and a probe of one event.
    fn object_with_an_event() -> Vec<u8> {
        let notes = [note(NOTE_SITE, 8), note(NOTE_SITE, 8), note(NOTE_PROBE, 4)].concat();
        let mut bytes = vec![0u8; 64 + 56];
        bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
        bytes[16] = 3;
        bytes[18..20].copy_from_slice(&MACHINE.to_le_bytes());
        bytes[20] = 1;
        bytes[32] = 64; // where the program headers are
        bytes[52] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64] = 4; // of notes
        bytes[72] = 120;
        bytes[96..104].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        bytes[112] = 4;
        bytes.extend(notes);
        bytes
    }

    #[test]
    fn sites_of_one_event_are_counted_together() {
        let object = parse(&object_with_an_event()[..]);
        assert_eq!(object.kind, Kind::Static);
        let found: Vec<(&str, u64)> =
            object.events.iter().map(|e| (e.description.name.as_str(), e.sites)).collect();
        assert_eq!(found, [("http:request", 2)]);
    }

    #[test]
    fn file_that_is_cut_carries_the_event_only_when_its_notes_are_whole() {
        let whole = object_with_an_event();
        for length in 0..whole.len() {
            let object = parse(&whole[..length]);
            assert_eq!(object.events, [], "cut at {length}");
            let is_known = length >= 20;
            assert_eq!(object.kind == Kind::Static, is_known, "cut at {length}");
        }
    }

    #[test]
    fn part_that_claims_to_be_huge_is_not_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut object = object_with_an_event();
        std::io::Write::write_all(&mut file, &object).unwrap();
        assert_eq!(read(file.path()).unwrap().events.len(), 1);
        // A sparse file really is as long as it says.
        file.as_file().set_len(1 << 40).unwrap();
        object[96..104].copy_from_slice(&(1u64 << 39).to_le_bytes());
        std::os::unix::fs::FileExt::write_all_at(file.as_file(), &object, 0).unwrap();
        assert_eq!(read(file.path()).unwrap().events, []);
        object[56..58].copy_from_slice(&MANY_SEGMENTS);
        std::os::unix::fs::FileExt::write_all_at(file.as_file(), &object, 0).unwrap();
        assert_eq!(read(file.path()).unwrap().kind, Kind::Unknown);
    }

    #[test]
    fn damaged_byte_invents_no_event_and_hides_none_but_its_own() {
        let whole = object_with_an_event();
        let intact = parse(&whole[..]).events;
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let object = parse(&damaged[..]);
            assert!(object.events.len() <= 2, "byte {at}: {:?}", object.events);
            let sites: u64 = object.events.iter().map(|event| event.sites).sum();
            assert!(sites <= 3, "byte {at}: {:?}", object.events);
            let is_identity = at < 6 || (18..20).contains(&at);
            assert_eq!(object.kind != Kind::Static, is_identity, "byte {at}: {:?}", object.kind);
            // In a note, what comes before its description's text is not looked at here.
            let note_at = at.checked_sub(120).map(|at| at % note(NOTE_SITE, 8).len());
            if note_at.is_some_and(|at| (20..28).contains(&at)) {
                assert_eq!(object.events, intact, "byte {at}");
            }
        }
        assert_eq!(parse(&b"text"[..]).kind, Kind::Unknown);
    }
}
