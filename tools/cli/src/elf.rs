// SPDX-License-Identifier: MIT
//! What an ELF file says about itself: its machine, its interpreter, and the events it carries.
//!
//! Place in the flow: `record` looks before it starts a program, `list` reads the notes of a
//! program and its libraries. Bytes: `core/include/lull/abi/site.h`. Files are hostile input.

use anyhow::{bail, Context};
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use object::Endianness;
use session::description::Description;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const NOTE_NAME: &[u8] = b"Lull";
const NOTE_SITE: u32 = 1;
const NOTE_PROBE: u32 = 2;
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
}

#[derive(Debug)]
pub struct Object {
    pub kind: Kind,
    pub events: Vec<Carried>,
}

const MACHINE: u16 = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

/// Looks into a file.
pub fn read(path: &Path) -> anyhow::Result<Object> {
    let reading = || format!("reading {}", path.display());
    // What is no file may wait for somebody when it is opened: a pipe, a terminal.
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path).with_context(reading)?;
    if !file.metadata().with_context(reading)?.is_file() {
        bail!("{} is no file", path.display());
    }
    // Reads only the parts that are asked for: programs can be large.
    let cache = ReadCache::new(file);
    Ok(parse(&cache))
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
    let kind = match interpreter(data) {
        Some(interpreter) => Kind::Dynamic { interpreter },
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
    let path = segments.iter().find_map(|segment| segment.interpreter(endian, data).ok()?)?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// Every event in the notes, in the order of names; sites of one event are counted together.
fn events<'data, R: ReadRef<'data>>(data: R) -> Vec<Carried> {
    let mut found: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
    let mut collect = || -> Option<()> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        for segment in header.program_headers(endian, data).ok()? {
            let Ok(Some(mut notes)) = segment.notes(endian, data) else { continue };
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
        Some(())
    };
    let _ = collect();
    let mut events: Vec<Carried> = found
        .into_iter()
        .filter_map(|(text, (sites, probes))| {
            let description = Description::parse(&text).ok()?;
            Some(Carried { description, sites: sites.max(probes) })
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

    #[test]
    fn damaged_files_carry_no_events_and_stop_nobody() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in (0..4096).step_by(7) {
            parse(&whole[..length]);
        }
        let mut damaged = whole[..65536.min(whole.len())].to_vec();
        for at in 0..2048 {
            damaged[at] ^= 0xff;
            parse(&damaged[..]);
            damaged[at] ^= 0xff;
        }
        assert_eq!(parse(&b"text"[..]).kind, Kind::Unknown);
    }
}
