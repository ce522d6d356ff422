// SPDX-License-Identifier: MIT
//! The types of a kernel with two functions and a tracepoint, as /sys/kernel/btf tells types.
//!
//! Place in the flow: `parse_probe` gives them to the parser in place of those of the kernel that
//! runs, which differ from machine to machine. The numbers are those of Linux's `linux/btf.h`.

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;

#[derive(Default)]
struct Writer {
    types: Vec<u8>,
    names: Vec<u8>,
}

impl Writer {
    fn words(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        at
    }

    /// The head of a type: kind, how many members or parameters, its size or what it refers to.
    fn begin(&mut self, name: &str, kind: u32, count: usize, size_or_type: u32) {
        let name = self.name(name);
        self.words(&[name, kind << 24 | count as u32, size_or_type]);
    }

    fn structure(&mut self, name: &str, kind: u32, bytes: u32, members: &[(&str, u32, u32)]) {
        self.begin(name, kind, members.len(), bytes);
        for (name, id, bits) in members {
            let name = self.name(name);
            self.words(&[name, *id, *bits]);
        }
    }

    fn prototype(&mut self, parameters: &[(&str, u32)]) {
        self.begin("", PROTOTYPE, parameters.len(), 0);
        for (name, id) in parameters {
            let name = self.name(name);
            self.words(&[name, *id]);
        }
    }
}

/// The bytes.
pub fn bytes() -> Vec<u8> {
    let mut of = Writer { names: vec![0], ..Writer::default() };
    of.begin("int", INT, 0, 4); // 1
    of.words(&[1 << 24 | 32]);
    of.begin("char", INT, 0, 1); // 2
    of.words(&[8]);
    of.begin("", ARRAY, 0, 0); // 3
    of.words(&[2, 1, 16]);
    of.begin("", POINTER, 0, 6); // 4
    of.structure("", UNION, 8, &[("code", 1, 0), ("next", 4, 0)]); // 5
    of.structure("task", STRUCTURE, 40, &[("pid", 1, 0), ("comm", 3, 32), ("", 5, 192)]); // 6
    of.prototype(&[("task", 4), ("flags", 1)]); // 7
    of.begin("wake", FUNCTION, 1, 7); // 8
    of.prototype(&[("task", 6), ("flags", 1)]); // 9
    of.begin("take", FUNCTION, 1, 9); // 10
    of.prototype(&[("", 4), ("", 4), ("", 1)]); // 11
    of.begin("", POINTER, 0, 11); // 12
    of.begin("btf_trace_woken", TYPEDEF, 0, 12); // 13
    of.prototype(&[("__data", 4), ("task", 4), ("flags", 1)]); // 14
    of.begin("__traceiter_woken", FUNCTION, 1, 14); // 15
    let (types, names) = (of.types.len() as u32, of.names.len() as u32);
    let mut all = Writer::default();
    all.types.extend(0xeb9f_u16.to_ne_bytes());
    all.types.extend([1, 0]); // version, flags
    all.words(&[24, 0, types, types, names]);
    [all.types, of.types, of.names].concat()
}
