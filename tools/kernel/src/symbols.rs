// SPDX-License-Identifier: MIT
//! Which function of the kernel's an address lies in, as `/proc/kallsyms` says.
//!
//! Place in the flow: the recorder reads the symbols when a recording begins whose events have call
//! stacks, and again when it ends, and finds the functions of the addresses that it met. Modules
//! come and go meanwhile, and one takes the addresses of another: so of modules, only functions
//! count that were at their address at both times. What is between two functions, behind a
//! module's memory, or of no known owner (programs of BPF, trampolines) has no name.

use std::collections::hash_map::DefaultHasher;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::io;
use std::ops::Range;

const SYMBOLS: &str = "/proc/kallsyms";
const MODULES: &str = "/proc/modules";

/// A function, and the addresses that are its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    pub begin: u64,
    pub until: u64,
    /// A function of a module's is `MODULE:FUNCTION`.
    pub name: String,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    /// Where its line stands in the text.
    line: Range<usize>,
}

/// All symbols of the kernel, at one time.
#[derive(Debug)]
pub struct Symbols {
    text: String,
    /// By address.
    sorted: Vec<Symbol>,
    /// The modules' names and memory.
    modules: Vec<(String, Range<u64>)>,
}

/// The functions of modules at one time, each by a hash of its line.
#[derive(Debug, Default)]
pub struct OfModules(HashSet<u64>);

/// The parts of a line of `/proc/kallsyms`.
struct Line<'a> {
    address: u64,
    kind: u8,
    name: &'a str,
    module: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        let kind = *words.next()?.as_bytes().first()?;
        let name = words.next()?;
        let module = words.next().map(|word| word.trim_matches(['[', ']']));
        Some(Self { address, kind, name, module })
    }

    /// Of several names of one function, a global one is shown; 0 for what is no function.
    fn rank(&self) -> u8 {
        match self.kind {
            b'T' => 3,
            b't' => 2,
            b'W' | b'w' => 1,
            _ => 0,
        }
    }
}

impl Symbols {
    /// What the kernel shows now. None where it shows this process no addresses
    /// (`kernel.kptr_restrict`).
    pub fn read() -> io::Result<Option<Self>> {
        let modules = std::fs::read_to_string(MODULES).unwrap_or_default();
        Ok(Self::parse(std::fs::read_to_string(SYMBOLS)?, &modules))
    }

    fn parse(text: String, modules: &str) -> Option<Self> {
        let mut sorted = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let range = at..at + line.len();
            at = range.end;
            if let Some(Line { address, .. }) = Line::parse(line) {
                sorted.push(Symbol { address, line: range });
            }
        }
        if sorted.iter().all(|symbol| symbol.address == 0) {
            return None;
        }
        sorted.sort_by_key(|symbol| symbol.address);
        let modules = modules.lines().filter_map(module).collect();
        Some(Self { text, sorted, modules })
    }

    /// The functions of modules, to be compared with those of another time.
    pub fn of_modules(&self) -> OfModules {
        let lines = self.sorted.iter().map(|symbol| &self.text[symbol.line.clone()]);
        let of_modules = lines.filter(|line| line.ends_with("]\n") || line.ends_with(']'));
        OfModules(of_modules.map(hash).collect())
    }

    /// The functions that calls return to at these addresses, each once, in ascending order. A call
    /// may be the last of its function: it returns to the address behind that.
    pub fn functions(
        &self,
        addresses: impl IntoIterator<Item = u64>,
        earlier: &OfModules,
    ) -> Vec<Function> {
        let found = addresses.into_iter().filter_map(|address| address.checked_sub(1));
        let mut found: Vec<_> = found.filter_map(|before| self.function(before, earlier)).collect();
        found.sort();
        found.dedup();
        found
    }

    fn function(&self, address: u64, earlier: &OfModules) -> Option<Function> {
        let behind = self.sorted.partition_point(|symbol| symbol.address <= address);
        let begin = self.sorted.get(behind.checked_sub(1)?)?.address;
        let mut until = self.sorted.get(behind)?.address;
        let first = self.sorted.partition_point(|symbol| symbol.address < begin);
        let lines = self.sorted.get(first..behind)?.iter();
        let lines = lines.filter_map(|symbol| {
            let text = &self.text[symbol.line.clone()];
            Some((text, Line::parse(text)?))
        });
        // The first of the best.
        let (text, line) = lines.rev().max_by_key(|(_, line)| line.rank())?;
        if line.rank() == 0 {
            return None;
        }
        let name = match line.module {
            None => line.name.to_string(),
            Some(module) => {
                let memory = self.modules.iter().find(|(name, _)| name == module);
                until = memory.filter(|(_, memory)| memory.contains(&begin))?.1.end.min(until);
                if !earlier.0.contains(&hash(text)) {
                    return None;
                }
                format!("{module}:{}", line.name)
            }
        };
        (address < until).then_some(Function { begin, until, name })
    }
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.trim_end().hash(&mut hasher);
    hasher.finish()
}

/// `NAME BYTES REFERENCES USERS STATE 0xADDRESS`.
fn module(line: &str) -> Option<(String, Range<u64>)> {
    let mut words = line.split_ascii_whitespace();
    let (name, bytes) = (words.next()?, words.next()?.parse::<u64>().ok()?);
    let begin = u64::from_str_radix(words.nth(3)?.strip_prefix("0x")?, 16).ok()?;
    Some((name.into(), begin..begin.checked_add(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffff81000000 T _text
ffff81000010 t local
ffff81000010 W weak
ffff81000010 T global
ffff81000010 T another
ffff81000020 D data
ffff81000030 W alone
ffff81000040 R _end
ffffc0000100 t work\t[nft]
ffffc0000180 d state\t[nft]
ffffc00001f0 t last\t[nft]
ffffc0002000 t run\t[gone]
ffffc0003000 t bpf_prog_1\t[bpf]
ffffc0004000 t late\t[late]
";
    const MODULES: &str = "\
nft 4096 0 - Live 0xffffc0000000
late 4096 1 nft, Live 0xffffc0004000 (E)
broken x 0 - Live 0xffffc0009000
gone 64 0 - Live
";

    fn told(now: &Symbols, earlier: &OfModules, address: u64) -> String {
        match &now.functions([address], earlier)[..] {
            [one] => format!("{} {:x} {:x}", one.name, one.begin, one.until),
            [] => String::new(),
            _ => panic!("several functions at one address"),
        }
    }

    #[test]
    fn addresses_are_in_the_function_before_them_and_data_are_none() {
        let now = Symbols::parse(TEXT.into(), MODULES).unwrap();
        let of = |address| told(&now, &now.of_modules(), address);
        assert_eq!(of(0xffff_8100_0011), "global ffff81000010 ffff81000020");
        assert_eq!(of(0xffff_8100_0020), "global ffff81000010 ffff81000020");
        assert_eq!(of(0xffff_8100_0010), "_text ffff81000000 ffff81000010");
        assert_eq!(of(0xffff_8100_0031), "alone ffff81000030 ffff81000040");
        for address in [0, 1, 0xffff_8100_0000, 0xffff_8100_0021, 0xffff_8100_0041, u64::MAX] {
            assert_eq!(of(address), "", "{address:x}");
        }
        let both = [0xffff_8100_0031, 0xffff_8100_0011, 0xffff_8100_0012];
        assert_eq!(now.functions(both, &now.of_modules()).len(), 2);
    }

    #[test]
    fn functions_of_modules_end_with_their_memory_and_have_to_have_been_there_before() {
        let before = TEXT.replace("ffffc0004000 t late\t[late]\n", "");
        let earlier = Symbols::parse(before, MODULES).unwrap().of_modules();
        let now = Symbols::parse(TEXT.into(), MODULES).unwrap();
        let of = |address| told(&now, &earlier, address);
        assert_eq!(of(0xffff_c000_0101), "nft:work ffffc0000100 ffffc0000180");
        assert_eq!(of(0xffff_c000_1000), "nft:last ffffc00001f0 ffffc0001000");
        assert_eq!([of(0xffff_c000_1001), of(0xffff_c000_2001)], ["", ""], "behind, of no memory");
        assert_eq!([of(0xffff_c000_3001), of(0xffff_c000_0181)], ["", ""], "of BPF, data");
        assert_eq!(of(0xffff_c000_4001), "", "it came later");
        assert_eq!(of(0xffff_8100_0011), "global ffff81000010 ffff81000020");
        let moved = TEXT.replace("ffffc0000100 t work", "ffffc0000100 t other");
        let now = Symbols::parse(moved, MODULES).unwrap();
        assert_eq!(told(&now, &earlier, 0xffff_c000_0101), "", "another module is there");
    }

    #[test]
    fn addresses_that_the_kernel_hides_are_no_symbols() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t local\t[nft]\n";
        assert!(Symbols::parse(hidden.into(), MODULES).is_none());
        assert!(Symbols::parse(String::new(), "").is_none());
        assert!(Symbols::parse("\n \nxyz\nffff81000000\n".into(), "\n1 2\n").is_none());
    }

    #[test]
    fn this_machine_has_symbols_or_hides_them() {
        if let Ok(Some(symbols)) = Symbols::read() {
            let begin = symbols.text.lines().filter_map(Line::parse);
            let begin = begin.filter(|line| line.name == "schedule" && line.module.is_none());
            let addresses = begin.map(|line| line.address + 1);
            let found = symbols.functions(addresses, &OfModules::default());
            assert!(found.iter().any(|function| function.name == "schedule"), "{found:?}");
        }
    }
}
