// SPDX-License-Identifier: MIT
//! Which function or variable is where in an ELF file.
//!
//! Place in the flow: `programs` hands over the bytes of a file, all of them; a place in the file
//! becomes an address by its segments, and that a name by its symbols. Bytes may be anything.

use object::elf::{self, FileHeader64};
use object::read::elf::{
    FileHeader, NoteIterator, ProgramHeader, SectionHeader, SectionTable, Sym,
};
use object::Endianness;

type Header = FileHeader64<Endianness>;
type Sections<'d> = SectionTable<'d, Header>;

/// Functions and variables of one file; the largest programs have some hundred thousand.
const FUNCTIONS_MAX: usize = 1 << 20;
/// Longest name, mangled.
const NAME_BYTES_MAX: usize = 4096;
const NAMES_BYTES_MAX: usize = 64 << 20;
/// Longest build id; usual ones have 20 bytes.
const BUILD_ID_BYTES_MAX: usize = 64;
const SEGMENTS_MAX: usize = 256;
const SECTIONS_MAX: usize = 1 << 12;
/// Notes that are looked at for a build id.
const NOTES_MAX: usize = 1 << 16;

/// Longest index of tables for unwinding, and the tables themselves.
const INDEX_BYTES_MAX: usize = 16 << 20;
const TABLES_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    begin: u64,
    until: u64,
    /// Where its name is.
    name: (usize, usize),
}

/// Which parts of an object's file are loaded where.
#[derive(Debug, Default)]
pub struct Segments(Vec<Segment>);

/// How the functions of an object are unwound.
#[derive(Debug)]
pub struct Unwinding {
    pub machine: &'static unwind::Machine,
    pub segments: Segments,
    pub tables: unwind::Tables,
}

/// The functions and variables of an object, in the order of their addresses.
#[derive(Debug, Default)]
pub struct Functions {
    segments: Segments,
    sorted: Vec<Function>,
    names: Vec<u8>,
    build_id: Vec<u8>,
    /// Whether these are all of its functions, and not only those that other objects may call.
    is_complete: bool,
}

/// A place in a function or variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// As the file has it.
    pub name: &'a [u8],
    /// Bytes from its begin.
    pub offset: u64,
}

impl Segments {
    fn of(header: &Header, endian: Endianness, bytes: &[u8]) -> Option<Self> {
        let segments = header.program_headers(endian, bytes).ok()?.iter();
        let loaded = segments.filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
        let segment = |segment: &elf::ProgramHeader64<Endianness>| Segment {
            offset: segment.p_offset(endian),
            bytes: segment.p_filesz(endian),
            address: segment.p_vaddr(endian),
        };
        Some(Self(loaded.take(SEGMENTS_MAX).map(segment).collect()))
    }

    /// The address in the object of a place in its file.
    pub fn address(&self, offset: u64) -> Option<u64> {
        self.0.iter().find_map(|segment| {
            let inside = offset.checked_sub(segment.offset)?;
            (inside < segment.bytes).then(|| segment.address.checked_add(inside))?
        })
    }

    /// What of the file is loaded from an address in the object on.
    fn from<'d>(&self, address: u64, bytes: &'d [u8]) -> Option<&'d [u8]> {
        self.0.iter().find_map(|segment| {
            let inside = address.checked_sub(segment.address)?;
            let left = segment.bytes.checked_sub(inside).filter(|left| *left > 0)?;
            let from = usize::try_from(segment.offset.checked_add(inside)?).ok()?;
            let until = from.saturating_add(usize::try_from(left).ok()?).min(bytes.len());
            bytes.get(from..until)
        })
    }
}

impl Unwinding {
    /// Reads a file's bytes. `None`: it has no tables, or is damaged.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let header = Header::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let machine = match header.e_machine(endian) {
            elf::EM_X86_64 => &unwind::X86,
            elf::EM_AARCH64 => &unwind::ARM,
            _ => return None,
        };
        let segments = Segments::of(header, endian, bytes)?;
        let all = header.program_headers(endian, bytes).ok()?;
        let index = all.iter().find(|one| one.p_type(endian) == elf::PT_GNU_EH_FRAME)?;
        let index_at = index.p_vaddr(endian);
        let part = |address, most: usize| {
            let from = segments.from(address, bytes)?;
            Some(from.get(..from.len().min(most))?.to_vec())
        };
        let index_bytes = usize::try_from(index.p_filesz(endian)).ok()?.min(INDEX_BYTES_MAX);
        let frames = |frames_at| part(frames_at, TABLES_BYTES_MAX);
        let tables = unwind::Tables::new(index_at, part(index_at, index_bytes)?, frames)?;
        Some(Self { machine, segments, tables })
    }
}

impl Functions {
    /// Reads a file's bytes. `None`: it is no ELF file of 64 bits, or a damaged one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let header = Header::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let segments = Segments::of(header, endian, bytes)?;
        let build_id = build_id(bytes).unwrap_or_default();
        let mut found = Self { segments, build_id, ..Self::default() };
        // A file may be stripped of its sections: then it has no names.
        if let Ok(sections) = header.sections(endian, bytes) {
            found.is_complete = found.read(&sections, elf::SHT_SYMTAB, endian, bytes);
            if !found.is_complete {
                found.read(&sections, elf::SHT_DYNSYM, endian, bytes);
            }
        }
        Some(found)
    }

    /// Takes over the functions and variables of a table of symbols. Return: whether the file has
    /// that table.
    fn read(&mut self, of: &Sections<'_>, kind: u32, endian: Endianness, bytes: &[u8]) -> bool {
        let Ok(table) = of.symbols(endian, bytes, kind) else { return false };
        for symbol in table.iter() {
            let begin = symbol.st_value(endian);
            let until = begin.saturating_add(symbol.st_size(endian));
            let kind = symbol.st_type();
            let is_place = matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_OBJECT)
                && symbol.st_shndx(endian) != elf::SHN_UNDEF;
            if !is_place || begin >= until || self.sorted.len() >= FUNCTIONS_MAX {
                continue;
            }
            let Ok(name) = symbol.name(endian, table.strings()) else { continue };
            let at = self.names.len();
            let is_name = (1..=NAME_BYTES_MAX).contains(&name.len());
            if is_name && at + name.len() <= NAMES_BYTES_MAX {
                self.names.extend_from_slice(name);
                self.sorted.push(Function { begin, until, name: (at, name.len()) });
            }
        }
        // Of several names of one place, the longest function's, then the first in the alphabet.
        let names = &self.names;
        let name = |f: &Function| names.get(f.name.0..f.name.0 + f.name.1);
        let key = |f: &Function| (f.begin, std::cmp::Reverse(f.until));
        self.sorted.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| name(a).cmp(&name(b))));
        self.sorted.dedup_by_key(|function| function.begin);
        table.len() > 1
    }

    /// The number that the linker gave this build of the object; empty if it gave none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    /// How much memory they take, about.
    pub fn bytes(&self) -> usize {
        self.names.capacity() + self.sorted.capacity() * size_of::<Function>()
    }

    /// Whether it has all of its functions.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The address in the object of a place in its file.
    pub fn address(&self, offset: u64) -> Option<u64> {
        self.segments.address(offset)
    }

    /// The function or variable that an address in the object is in.
    pub fn at(&self, address: u64) -> Option<Place<'_>> {
        let behind = self.sorted.partition_point(|function| function.begin <= address);
        let function = self.sorted.get(behind.checked_sub(1)?)?;
        let (at, length) = function.name;
        let name = self.names.get(at..at + length)?;
        let offset = address - function.begin;
        (address < function.until).then_some(Place { name, offset })
    }
}

/// The number that the linker gave the build of an object, of its file's bytes; by the segments,
/// as a process that runs it finds it.
pub(crate) fn build_id(bytes: &[u8]) -> Option<Vec<u8>> {
    let header = Header::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let mut left = NOTES_MAX;
    let segments = header.program_headers(endian, bytes).ok()?.iter();
    for segment in segments.take(SEGMENTS_MAX) {
        let Ok(Some(notes)) = segment.notes(endian, bytes) else { continue };
        if let Some(id) = id_in(notes, endian, &mut left) {
            return Some(id);
        }
    }
    // What was split off for debugging has sections alone.
    let sections = header.sections(endian, bytes).ok()?;
    for section in sections.iter().take(SECTIONS_MAX) {
        let Ok(Some(notes)) = section.notes(endian, bytes) else { continue };
        if let Some(id) = id_in(notes, endian, &mut left) {
            return Some(id);
        }
    }
    None
}

fn id_in(
    mut notes: NoteIterator<'_, Header>,
    endian: Endianness,
    left: &mut usize,
) -> Option<Vec<u8>> {
    while let (Ok(Some(note)), 1..) = (notes.next(), *left) {
        *left -= 1;
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            let id = note.desc();
            return (id.len() <= BUILD_ID_BYTES_MAX).then(|| id.to_vec());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_its_functions_where_its_segments_say() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let functions = Functions::parse(&bytes).unwrap();
        assert!(functions.is_complete() && functions.sorted.len() > 100);
        let own = functions.sorted.iter().find(|f| {
            let name = &functions.names[f.name.0..f.name.0 + f.name.1];
            String::from_utf8_lossy(name).contains("this_program_has_its_functions")
        });
        let own = own.expect("the test itself is one of them");
        let segment = functions.segments.0.iter().find(|segment| {
            (segment.address..segment.address + segment.bytes).contains(&own.begin)
        });
        let segment = segment.unwrap();
        let offset = own.begin - segment.address + segment.offset;
        assert_eq!(functions.address(offset), Some(own.begin));
        assert_eq!(functions.at(own.begin + 1).unwrap().offset, 1);
        assert_eq!((functions.address(u64::MAX), functions.at(0)), (None, None));
    }

    static VARIABLE_OF_THE_TEST: std::sync::atomic::AtomicU64 =
        std::sync::atomic::AtomicU64::new(7);

    #[test]
    fn this_program_has_its_variables() {
        let functions = Functions::parse(&std::fs::read("/proc/self/exe").unwrap()).unwrap();
        VARIABLE_OF_THE_TEST.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let own = functions.sorted.iter().find(|f| {
            let name = &functions.names[f.name.0..f.name.0 + f.name.1];
            String::from_utf8_lossy(name).contains("VARIABLE_OF_THE_TEST")
        });
        let own = own.expect("the variable is one of them");
        assert_eq!((own.until - own.begin, functions.at(own.begin).unwrap().offset), (8, 0));
        assert_eq!(functions.at(own.begin + 7).unwrap().offset, 7);
    }

    #[test]
    fn what_is_no_program_has_no_functions_and_damage_is_survived() {
        assert!(Functions::parse(b"").is_none() && Functions::parse(b"#!/bin/sh\n").is_none());
        let mut bytes = std::fs::read("/bin/true").unwrap();
        assert!(!Functions::parse(&bytes).unwrap().is_complete(), "it is stripped");
        for at in (0..bytes.len()).step_by(97).chain(0..64) {
            let old = bytes[at];
            bytes[at] ^= 0xff;
            if let Some(functions) = Functions::parse(&bytes) {
                let _ = functions.address(at as u64).map(|address| functions.at(address));
            }
            bytes[at] = old;
        }
        for length in (0..bytes.len()).step_by(97) {
            let _ = Functions::parse(&bytes[..length]);
        }
    }
}
