// SPDX-License-Identifier: MIT
//! Functions of the objects that a process has loaded, from the tables that are mapped in it: so
//! it is the object that runs, whatever became of its file and wherever that was.
//!
//! Place in the flow: between a process that was opened and a call. The process can have anything
//! in these tables; what is found is only ever called in that process.

use crate::maps::Mapping;
use crate::{Memory, Tracee};

const HEADERS_MAX: u64 = 128;
const DYNAMIC_MAX: u64 = 1024;
const CHAIN_MAX: u32 = 4096;
const HEADER_LOAD: u32 = 1;
const HEADER_DYNAMIC: u32 = 2;
const HEADER_INTERPRETER: u32 = 3;
const HEADER_UNWINDING: u32 = 0x6474_e550;
const TYPE_FUNCTION: u8 = 2;
const TYPE_INDIRECT: u8 = 10;
/// Far more than the largest C library has.
const SYMBOLS_MAX: u64 = 1 << 17;

/// A loaded object.
#[derive(Debug, Clone)]
pub struct Object {
    /// What the object's addresses are relative to.
    pub base: u64,
    pub path: String,
    /// The addresses of its code.
    pub code: Vec<(u64, u64)>,
    symbols: u64,
    names: u64,
    hash: u64,
    versions: u64,
}

/// A function, and how many bytes it has, as the object says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    pub address: u64,
    pub bytes: u64,
}

pub(crate) fn find(
    tracee: &Tracee,
    mappings: &[Mapping],
    fits: impl Fn(&str) -> bool,
) -> Option<Object> {
    let is_begin = |mapping: &&Mapping| mapping.offset == 0 && mapping.inode != 0;
    let mut found = mappings.iter().filter(is_begin).filter(|one| fits(one.file_name()));
    found.find_map(|first| Object::read(tracee.memory(), mappings, first))
}

/// Every object that is mapped from its beginning.
pub(crate) fn all(tracee: &Tracee, mappings: &[Mapping]) -> Vec<Object> {
    let is_begin = |mapping: &&Mapping| mapping.offset == 0 && mapping.inode != 0;
    let found = mappings.iter().filter(is_begin);
    found.filter_map(|first| Object::read(tracee.memory(), mappings, first)).collect()
}

impl Object {
    #[must_use]
    pub fn file_name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        path.rsplit('/').next().unwrap_or(path)
    }

    /// From the function before some of the object's functions to the one after them, of those
    /// that it offers: so that what lies between and has no name is among it.
    pub(crate) fn around(
        &self,
        memory: &Memory,
        parts: impl Iterator<Item = u64>,
    ) -> Option<(u64, u64)> {
        let parts: Vec<u64> = parts.collect();
        let (first, last) = (*parts.iter().min()?, *parts.iter().max()?);
        let (mut begin, mut until) = (self.base, u64::MAX);
        for (_, until_code) in &self.code {
            if first < *until_code {
                until = until.min(*until_code);
            }
        }
        for address in self.functions(memory) {
            if address < first {
                begin = begin.max(address);
            } else if address > last {
                until = until.min(address);
            }
        }
        Some((begin, until))
    }

    /// The addresses of all functions that it offers.
    fn functions(&self, memory: &Memory) -> Vec<u64> {
        // The symbols end where their names begin, as linkers lay them out.
        let count = self.names.saturating_sub(self.symbols) / 24;
        if count == 0 || count > SYMBOLS_MAX {
            return Vec::new();
        }
        let mut table = vec![0u8; (count * 24) as usize];
        if memory.read(self.symbols, &mut table).is_err() {
            return Vec::new();
        }
        let defined = table.chunks_exact(24).filter(|symbol| {
            let kind = symbol.get(4).map_or(0, |info| info & 0xf);
            (kind == TYPE_FUNCTION || kind == TYPE_INDIRECT) && half(symbol, 6) != Some(0)
        });
        let addresses = defined.filter_map(|symbol| word(symbol, 8));
        addresses.map(|address| self.base.wrapping_add(address)).collect()
    }

    /// The object whose file's beginning is mapped there.
    fn read(memory: &Memory, mappings: &[Mapping], first: &Mapping) -> Option<Self> {
        let (mut base, mut dynamic) = (None, None);
        for header in headers(memory, first)? {
            let header = header?;
            let address = word(&header, 16)?;
            match word(&header, 0)? as u32 {
                HEADER_LOAD if base.is_none() => {
                    let offset = word(&header, 8)?;
                    base = Some(first.begin.wrapping_sub(address.wrapping_sub(offset)));
                }
                HEADER_DYNAMIC => dynamic = Some(address),
                _ => {}
            }
        }
        let base = base?;
        let code = mappings.iter().filter(|mapping| {
            mapping.is_executable && mapping.inode == first.inode && mapping.path == first.path
        });
        let mut object = Self {
            base,
            path: first.path.clone(),
            code: code.map(|mapping| (mapping.begin, mapping.until)).collect(),
            symbols: 0,
            names: 0,
            hash: 0,
            versions: 0,
        };
        object.read_dynamic(memory, base.wrapping_add(dynamic?))?;
        Some(object)
    }

    fn read_dynamic(&mut self, memory: &Memory, dynamic: u64) -> Option<()> {
        const NAMES: u64 = 5;
        const SYMBOLS: u64 = 6;
        const VERSIONS: u64 = 0x6fff_fff0;
        const GNU_HASH: u64 = 0x6fff_fef5;
        for index in 0..DYNAMIC_MAX {
            let at = dynamic.checked_add(index * 16)?;
            let (tag, value) =
                (memory.read_word(at).ok()?, memory.read_word(at.checked_add(8)?).ok()?);
            // The dynamic linker has made most of the addresses absolute, where they are.
            let address = if value < self.base { value.wrapping_add(self.base) } else { value };
            match tag {
                0 => break,
                NAMES => self.names = address,
                SYMBOLS => self.symbols = address,
                VERSIONS => self.versions = address,
                GNU_HASH => self.hash = address,
                _ => {}
            }
        }
        (self.names != 0 && self.symbols != 0 && self.hash != 0).then_some(())
    }

    /// The function of that name which the object offers, in the version that new programs get.
    #[must_use]
    pub fn function(&self, memory: &Memory, name: &str) -> Option<Function> {
        let bucket_count = memory.read_u32(self.hash).ok()?;
        let first = memory.read_u32(self.hash.checked_add(4)?).ok()?;
        let filter_words = memory.read_u32(self.hash.checked_add(8)?).ok()?;
        let buckets = self.hash.checked_add(16 + 8 * u64::from(filter_words))?;
        let chains = buckets.checked_add(4 * u64::from(bucket_count))?;
        let hash = name
            .bytes()
            .fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        let bucket = u64::from(hash.checked_rem(bucket_count)?);
        let mut number = memory.read_u32(buckets.checked_add(4 * bucket)?).ok()?;
        for _ in 0..CHAIN_MAX {
            let link = u64::from(number.checked_sub(first)?);
            let link = memory.read_u32(chains.checked_add(4 * link)?).ok()?;
            if link | 1 == hash | 1 {
                if let Some(found) = self.symbol(memory, number, name) {
                    return Some(found);
                }
            }
            if link & 1 != 0 {
                return None;
            }
            number = number.checked_add(1)?;
        }
        None
    }

    /// Where a variable is that the object offers: the tables have both kinds in one.
    pub(crate) fn variable(&self, memory: &Memory, name: &str) -> Option<u64> {
        self.function(memory, name).map(|found| found.address)
    }

    fn symbol(&self, memory: &Memory, number: u32, name: &str) -> Option<Function> {
        const HIDDEN: u16 = 0x8000;
        let mut symbol = [0u8; 24];
        memory.read(self.symbols.checked_add(24 * u64::from(number))?, &mut symbol).ok()?;
        let name_at = u64::from(u32::from_ne_bytes(symbol[..4].try_into().ok()?));
        let is_defined = half(&symbol, 6)? != 0;
        let is_indirect = symbol[4] & 0xf == TYPE_INDIRECT;
        let mut found = vec![0u8; name.len() + 1];
        memory.read(self.names.checked_add(name_at)?, &mut found).ok()?;
        if !is_defined || is_indirect || found.strip_suffix(b"\0") != Some(name.as_bytes()) {
            return None;
        }
        if self.versions != 0 {
            let mut version = [0u8; 2];
            let at = self.versions.checked_add(2 * u64::from(number))?;
            memory.read(at, &mut version).ok()?;
            if u16::from_ne_bytes(version) & HIDDEN != 0 {
                return None;
            }
        }
        let address = self.base.wrapping_add(word(&symbol, 8)?);
        Some(Function { address, bytes: word(&symbol, 16)? })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The program headers of the object whose file's beginning is mapped there; one that cannot be
/// read is `None`.
fn headers<'a>(
    memory: &'a Memory,
    first: &Mapping,
) -> Option<impl Iterator<Item = Option<[u8; 56]>> + 'a> {
    let mut header = [0u8; 64];
    memory.read(first.begin, &mut header).ok()?;
    if !header.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let headers = first.begin.checked_add(word(&header, 32)?)?;
    let size = u64::from(half(&header, 54)?);
    let count = u64::from(half(&header, 56)?).min(HEADERS_MAX);
    Some((0..count).map(move |index| {
        let mut header = [0u8; 56];
        memory.read(headers.checked_add(size * index)?, &mut header).ok()?;
        Some(header)
    }))
}

/// Whether the object names a dynamic linker, which the kernel then starts in its place.
pub(crate) fn names_linker(memory: &Memory, first: &Mapping) -> bool {
    let is_that = |header: [u8; 56]| word(&header, 0).map(|kind| kind as u32);
    let found = headers(memory, first);
    found.is_some_and(|mut all| all.any(|one| one.and_then(is_that) == Some(HEADER_INTERPRETER)))
}

/// Where an object has the index of its tables for unwinding, and how many bytes that is.
pub(crate) fn unwinding_index(memory: &Memory, first: &Mapping) -> Option<(u64, u64)> {
    let (mut base, mut index) = (None, None);
    for header in headers(memory, first)? {
        let header = header?;
        let (offset, address) = (word(&header, 8)?, word(&header, 16)?);
        match word(&header, 0)? as u32 {
            HEADER_LOAD => {
                base.get_or_insert(first.begin.wrapping_sub(address.wrapping_sub(offset)));
            }
            HEADER_UNWINDING => index = Some((address, word(&header, 40)?)),
            _ => {}
        }
    }
    let (address, bytes) = index?;
    Some((base?.wrapping_add(address), bytes))
}

/// Places behind the code of objects, up to the end of their pages, each for that many bytes:
/// nothing refers to them, and they are executable.
pub(crate) fn rooms(
    memory: &Memory,
    mappings: &[Mapping],
    bytes: usize,
    fits: impl Fn(u64, &[u8]) -> bool,
) -> Option<u64> {
    let is_code = |mapping: &&Mapping| {
        mapping.is_executable && mapping.is_readable && mapping.is_private && mapping.inode != 0
    };
    mappings.iter().filter(is_code).find_map(|code| {
        let is_first = |one: &&Mapping| {
            let is_same = one.inode == code.inode && one.path == code.path;
            is_same && one.offset == 0 && one.begin <= code.begin
        };
        let first = mappings.iter().rfind(is_first)?;
        let begin = code_end(memory, first, code)?.checked_next_multiple_of(8)?;
        let mut found = vec![0u8; bytes];
        // Bound: what is left of a page, or of a large one.
        (begin..code.until).step_by(bytes.next_multiple_of(8)).find(|at| {
            let has_room = code.until - at >= bytes as u64;
            has_room && memory.read(*at, &mut found).is_ok() && fits(*at, &found)
        })
    })
}

/// Where the code ends that is mapped there.
fn code_end(memory: &Memory, first: &Mapping, code: &Mapping) -> Option<u64> {
    let mut base = None;
    for header in headers(memory, first)? {
        let header = header?;
        if word(&header, 0)? as u32 != HEADER_LOAD {
            continue;
        }
        let (offset, address) = (word(&header, 8)?, word(&header, 16)?);
        let base = *base.get_or_insert(first.begin.wrapping_sub(address.wrapping_sub(offset)));
        let end = base.wrapping_add(address).wrapping_add(word(&header, 40)?);
        if base.wrapping_add(address) < code.until && end > code.begin && end <= code.until {
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object of 2 KiB that offers `f`, with its tables one after the other.
    fn object(at: u64) -> Vec<u8> {
        let mut bytes = vec![0u8; 2048];
        let mut put = |offset: usize, words: &[u64]| {
            for (index, word) in words.iter().enumerate() {
                bytes[offset + 8 * index..][..8].copy_from_slice(&word.to_ne_bytes());
            }
        };
        put(0, &[0x02_464c_457f, 0, 0, 0, 64]);
        put(48, &[56 << 48, 2]);
        put(64, &[1, 0, 0, 0, 2048, 2048, 0]);
        put(120, &[2, 256, 256, 0, 256, 256, 0]);
        put(256, &[5, at + 1024, 6, at + 512, 0x6fff_fef5, at + 768, 0, 0]);
        // A symbol that is none, and `f`, with 16 bytes at 0x700.
        put(512, &[0, 0, 0, 1 | 2 << 32 | 1 << 48, 0x700, 16]);
        // One bucket, symbols from 1 on, one word of the filter; then the bucket and the chain.
        put(768, &[1 | 1 << 32, 1, 0, 1 | (u64::from(5381u32 * 33 + 102) | 1) << 32]);
        put(1024, &[u64::from(b'f') << 8]);
        bytes
    }

    fn looked_up(bytes: &[u8]) -> Option<Function> {
        let at = bytes.as_ptr() as u64;
        let text = format!("{at:x}-{:x} r-xp 0 0:0 1 /x", at + bytes.len() as u64);
        let mappings = crate::maps::parse(text.as_bytes());
        let memory = Memory::open(std::process::id()).unwrap();
        rooms(&memory, &mappings, 64, |_, found| found[0] == 0);
        let object = Object::read(&memory, &mappings, &mappings[0])?;
        object.around(&memory, [at + 0x700].into_iter());
        object.function(&memory, "f")
    }

    #[test]
    fn tables_that_were_damaged_anywhere_are_looked_up_to_an_end() {
        let mut bytes = vec![0u8; 2048];
        let sound = object(bytes.as_ptr() as u64);
        bytes.copy_from_slice(&sound);
        let address = bytes.as_ptr() as u64 + 0x700;
        assert_eq!(looked_up(&bytes), Some(Function { address, bytes: 16 }));
        let mut random = 1u64;
        for _ in 0..5000 {
            bytes.copy_from_slice(&sound);
            for _ in 0..3 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (random >> 33) as usize % 1040;
                let value = (random >> 25) as u8;
                match value < 64 {
                    true => bytes[at / 8 * 8..][..8].fill(0xff),
                    false => bytes[at] = value,
                }
            }
            looked_up(&bytes);
        }
    }
}
