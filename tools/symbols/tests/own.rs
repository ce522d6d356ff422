// SPDX-License-Identifier: MIT
//! The functions of this test's own program, by a made-up trace that says where it is in memory.

use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use state::{Limits, ProcessIndex, State};
use symbols::Programs;
use testkit::program::{Number, Program, Text, Who};
use trace::{Merge, Message, Ns, Trace};

const DUMPER: Who = (9, 9, "kworker");
const SELF: Who = (10, 10, "own");

#[inline(never)]
fn function_with_a_name_of_its_own() -> u64 {
    std::hint::black_box(function_with_a_name_of_its_own as *const () as u64)
}

/// The map that an address of this process is in: begin, until, offset.
fn own_map(address: u64) -> (u64, u64, u64) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let mut maps = maps.lines().map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (begin, until) = words.next().unwrap().split_once('-').unwrap();
        (number(begin), number(until), number(words.nth(1).unwrap()))
    });
    maps.find(|(begin, until, _)| (begin..until).contains(&&address)).unwrap()
}

/// A process has a file mapped where this one has its program.
fn state(path: &'static str, inode: i64) -> State {
    let (begin, until, offset) = own_map(function_with_a_name_of_its_own());
    let mut program = Program::new();
    program.event(1, 0, DUMPER, "state:begin", &[("number", Number(1))]);
    program.event(2, 0, SELF, "tick", &[]);
    let map = [
        ("pid", Number(10)),
        ("begin", Number(begin as i64)),
        ("until", Number(until as i64)),
        ("flags", Number(5)),
        ("offset_bytes", Number(offset as i64)),
        ("inode", Number(inode)),
        ("path", Text(path)),
    ];
    program.event(3, 0, DUMPER, "state:map", &map);
    let (metadata, streams) = program.files();
    let traces = [Trace::from_bytes(metadata.as_bytes(), streams).unwrap()];
    let mut merge = Merge::over(&traces);
    let mut state = State::new(&traces, merge.stream_count(), &Limits::default());
    while let Some(message) = merge.next() {
        if let Message::Event(event) = message {
            state.event(&event);
        }
    }
    state
}

/// What an address is called, and the notes.
fn told(state: &State, address: u64) -> (String, Vec<String>) {
    let of = state.threads().processes().iter().position(|process| process.pid == Some(10));
    let process = ProcessIndex(of.unwrap() as u32);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    let mut programs = Programs::default();
    let frame = programs.frame(state, process, address, Ns(now));
    let text = frame.map_or(String::new(), |frame| programs.text(frame).to_string());
    (text, programs.notes())
}

#[test]
fn address_in_the_file_that_ran_has_its_functions_name() {
    let path: &str = std::env::current_exe().unwrap().to_str().unwrap().to_string().leak();
    let inode = std::fs::metadata(path).unwrap().ino() as i64;
    let address = function_with_a_name_of_its_own();
    let (text, notes) = told(&state(path, inode), address + 1);
    assert_eq!(text, "own::function_with_a_name_of_its_own");
    assert!(notes.is_empty(), "{notes:?}");
    let (begin, until, _) = own_map(address);
    assert_eq!(told(&state(path, inode), begin).0, "", "the byte before is of no file");
    assert_eq!(told(&state(path, inode), until + 1).0, "");
}

#[test]
fn address_in_a_file_that_is_another_now_is_its_place_in_the_file() {
    let path: &str = std::env::current_exe().unwrap().to_str().unwrap().to_string().leak();
    let inode = std::fs::metadata(path).unwrap().ino() as i64;
    let (begin, _, offset) = own_map(function_with_a_name_of_its_own());
    let (text, notes) = told(&state(path, inode + 1), begin + 5);
    let name = path.rsplit('/').next().unwrap();
    assert_eq!(text, format!("{name}+{:#x}", offset + 5));
    assert!(notes[0].contains(path) && notes[0].contains("another"), "{notes:?}");
    let (text, notes) = told(&state("/gone/lib.so", inode), begin + 5);
    assert_eq!(text, format!("lib.so+{:#x}", offset + 5));
    assert!(notes[0].contains("/gone/lib.so (it cannot be opened)"), "{notes:?}");
}
