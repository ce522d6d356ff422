// SPDX-License-Identifier: MIT
//! Names of the kernel's functions, from the file that the recorder leaves beside the streams.
//!
//! Place in the flow: the recorder knows which addresses the call stacks of a trace hold, and
//! writes the functions around these; a reader turns addresses into names with them. The file is
//! small text, whose form docs/formats/trace.md has. It may have been written by anyone: a line
//! that is wrong makes all of it worthless, which is told, and addresses stay addresses.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The file's name. Readers of CTF pass by files whose names begin with a dot.
pub const FILE: &str = ".symbols";
const HEAD: &str = "lull-symbols 1";
const KERNEL: &str = "kernel";
/// Longest file that is read.
const MAX_BYTES: u64 = 64 << 20;
/// Longest name of a function; the kernel's have fewer bytes.
const MAX_NAME_BYTES: usize = 1024;

/// The range of addresses that has a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    pub begin: u64,
    pub until: u64,
    /// A function of a module's is `MODULE:FUNCTION`.
    pub name: String,
}

/// Symbols in the order of their addresses, of which no two overlap.
#[derive(Debug, Default)]
pub struct Symbols {
    sorted: Vec<Symbol>,
}

/// A place in a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    pub function: &'a str,
    pub offset: u64,
}

/// Where the file is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymbolsError {
    #[error("{0}")]
    Unreadable(String),
    #[error("it is no list of symbols that this version reads: it does not begin with {HEAD:?}")]
    Foreign,
    #[error("line {line}: {what}")]
    Line { line: usize, what: &'static str },
}

impl Symbols {
    /// Reads the text of a file. Lines that begin with a word other than `kernel` are of a kind
    /// that a later version may have, and are passed by.
    pub fn parse(text: &[u8]) -> Result<Self, SymbolsError> {
        let text = std::str::from_utf8(text).map_err(|_| SymbolsError::Foreign)?;
        let mut lines = text.lines().zip(1..);
        if lines.next().map(|(head, _)| head) != Some(HEAD) {
            return Err(SymbolsError::Foreign);
        }
        let mut sorted: Vec<Symbol> = Vec::new();
        for (text, line) in lines {
            let wrong = |what| SymbolsError::Line { line, what };
            let mut words = text.split(' ');
            if words.next() != Some(KERNEL) {
                continue;
            }
            let mut address = || words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let (begin, until) =
                address().zip(address()).ok_or(wrong("two addresses in base 16 are expected"))?;
            let name = words.next().filter(|name| is_name(name)).ok_or(wrong("no name"))?;
            if words.next().is_some() {
                return Err(wrong("something stands behind the name"));
            }
            if until <= begin || sorted.last().is_some_and(|last| begin < last.until) {
                return Err(wrong("its addresses are not behind those of the line before"));
            }
            sorted.push(Symbol { begin, until, name: name.into() });
        }
        Ok(Self { sorted })
    }

    /// Those beside a trace; none where there is no such file.
    pub(crate) fn of_trace(folder: &Path) -> Result<Self, SymbolsError> {
        let path = folder.join(FILE);
        let unreadable = |error: std::io::Error| SymbolsError::Unreadable(error.to_string());
        // Opening may wait for something that is no file.
        let about = match std::fs::metadata(&path) {
            Ok(about) if about.is_file() => about,
            _ => return Ok(Self::default()),
        };
        if about.len() > MAX_BYTES {
            return Err(SymbolsError::Unreadable(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let mut text = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(MAX_BYTES).read_to_end(&mut text).map_err(unreadable)?;
        Self::parse(&text)
    }

    /// The place that a call returns to: a function that ends with a call is the caller's, although
    /// the address is the next one's. So it is the function of the byte before.
    #[inline]
    pub fn returned_to(&self, address: u64) -> Option<Place<'_>> {
        let before = address.checked_sub(1)?;
        let behind = self.sorted.partition_point(|symbol| symbol.begin <= before);
        let symbol = self.sorted.get(behind.checked_sub(1)?)?;
        let offset = address - symbol.begin;
        (before < symbol.until).then_some(Place { function: &symbol.name, offset })
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// Whether a name can be shown anywhere, and be read again.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The file's text. What [`Symbols::parse`] would refuse is left out.
pub fn symbols_text(mut symbols: Vec<Symbol>) -> String {
    symbols.sort();
    let mut text = format!("{HEAD}\n");
    let mut last = 0;
    for Symbol { begin, until, name } in symbols {
        if begin >= last && begin < until && is_name(&name) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{KERNEL} {begin:x} {until:x} {name}");
            last = until;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(begin: u64, until: u64, name: &str) -> Symbol {
        Symbol { begin, until, name: name.into() }
    }

    #[test]
    fn what_is_written_is_read_and_addresses_beside_it_have_no_name() {
        let own = vec![
            symbol(0x2000, 0x2080, "nft:chain"),
            symbol(0x1000, 0x1010, "one"),
            symbol(0x1008, 0x1020, "overlaps_one"),
            symbol(0x1010, 0x1020, "two"),
            symbol(0x3000, 0x3000, "empty"),
            symbol(0x3000, 0x3001, "two words"),
        ];
        let text = symbols_text(own);
        let symbols = Symbols::parse(text.as_bytes()).unwrap();
        let told = |address| {
            let place = symbols.returned_to(address)?;
            Some(format!("{}+{:#x}", place.function, place.offset))
        };
        let told = |address| told(address).unwrap_or_default();
        assert_eq!(symbols.sorted.len(), 3, "{text}");
        assert_eq!([told(0x1001), told(0x100f), told(0x1010)], ["one+0x1", "one+0xf", "one+0x10"]);
        assert_eq!([told(0x1011), told(0x2080)], ["two+0x1", "nft:chain+0x80"]);
        for address in [0, 1, 0x1000, 0x1021, 0x2000, 0x2081, 0x3001, u64::MAX] {
            assert_eq!(told(address), "", "{address:#x}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        for text in ["", "lull-symbols", "lull-symbols 2\n", "\u{1b}"] {
            assert_eq!(Symbols::parse(text.as_bytes()).unwrap_err(), SymbolsError::Foreign);
        }
        assert_eq!(Symbols::parse(b"lull-symbols 1\n\xff").unwrap_err(), SymbolsError::Foreign);
        let long = format!("kernel 1 2 {}", "n".repeat(MAX_NAME_BYTES + 1));
        let wrong = [
            ("kernel", "two addresses"),
            ("kernel 1", "two addresses"),
            ("kernel 1 g f", "two addresses"),
            ("kernel 1 10000000000000000 f", "two addresses"),
            ("kernel 1 2", "no name"),
            ("kernel 1 2 ", "no name"),
            ("kernel 1 2 a\u{1b}[2J", "no name"),
            (long.as_str(), "no name"),
            ("kernel 1 2 f g", "behind the name"),
            ("kernel 2 2 f", "not behind"),
            ("kernel 2 1 f", "not behind"),
        ];
        for (line, why) in wrong {
            let text = format!("{HEAD}\nof-later 1\nkernel 0 1 a\n{line}\n");
            let error = Symbols::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("line 4: ") && error.contains(why), "{line:?}: {error}");
        }
        let text = format!("{HEAD}\nkernel 0 3 a\nkernel 2 4 b\n");
        assert!(Symbols::parse(text.as_bytes()).is_err(), "two overlap");
        let text = format!("{HEAD}\nof-later x\n\nkernel 0 3 a\n");
        assert_eq!(Symbols::parse(text.as_bytes()).unwrap().sorted.len(), 1);
    }

    #[test]
    fn only_a_file_of_some_length_is_read() {
        let root = testkit::TraceFolder::new("", &[]).unwrap();
        let path = root.path().join(FILE);
        assert!(Symbols::of_trace(root.path()).unwrap().is_empty());
        std::fs::create_dir(&path).unwrap();
        assert!(Symbols::of_trace(root.path()).unwrap().is_empty());
        std::fs::remove_dir(&path).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_BYTES + 1).unwrap();
        let error = Symbols::of_trace(root.path()).unwrap_err().to_string();
        assert!(error.contains("longer"), "{error}");
        std::fs::write(&path, symbols_text(vec![symbol(1, 2, "f")])).unwrap();
        assert!(!Symbols::of_trace(root.path()).unwrap().is_empty());
    }
}
