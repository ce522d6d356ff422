// SPDX-License-Identifier: MIT
//! The functions of this test's own program, by a made-up trace that says where it is in memory.

use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use state::{Limits, ProcessIndex, State};
use symbols::{Copies, End, Programs};
use testkit::program::{Number, Program, Text, Who};
use testkit::Random;
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

fn own_process(state: &State) -> ProcessIndex {
    let of = state.threads().processes().iter().position(|process| process.pid == Some(10));
    ProcessIndex(of.unwrap() as u32)
}

fn now() -> Ns {
    Ns(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64)
}

/// This program's path and number.
fn own_file() -> (&'static str, i64) {
    let path: &str = std::env::current_exe().unwrap().to_str().unwrap().to_string().leak();
    (path, std::fs::metadata(path).unwrap().ino() as i64)
}

/// What an address is called, and the notes.
fn told(state: &State, address: u64) -> (String, Vec<String>) {
    let mut programs = Programs::default();
    let frame = programs.frame(state, own_process(state), address, now());
    let text = frame.map_or(String::new(), |frame| programs.text(frame).to_string());
    (text, programs.notes())
}

#[test]
fn address_in_the_file_that_ran_has_its_functions_name() {
    let (path, inode) = own_file();
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
    let (path, inode) = own_file();
    let (begin, _, offset) = own_map(function_with_a_name_of_its_own());
    let (text, notes) = told(&state(path, inode + 1), begin + 5);
    let name = path.rsplit('/').next().unwrap();
    assert_eq!(text, format!("{name}+{:#x}", offset + 5));
    assert!(notes[0].contains(path) && notes[0].contains("another"), "{notes:?}");
    let (text, notes) = told(&state("/gone/lib.so", inode), begin + 5);
    assert_eq!(text, format!("lib.so+{:#x}", offset + 5));
    assert!(notes[0].contains("/gone/lib.so (it cannot be opened)"), "{notes:?}");
}

/// Registers and words of the stack of this function, as an event has them.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn copy_with_a_name_of_its_own(words: usize) -> Vec<u64> {
    let (instruction, stack, frame): (u64, u64, u64);
    // SAFETY: reads three registers.
    unsafe {
        std::arch::asm!(
            "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
            out(reg) instruction, out(reg) stack, out(reg) frame,
        );
    }
    let mut copy = vec![instruction, stack, frame];
    // SAFETY: below this function's caller's callers, the stack of a test has as many words.
    copy.extend((0..words).map(|word| unsafe { *(stack as *const u64).add(word) }));
    copy
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn caller_with_a_name_of_its_own(words: usize) -> Vec<u64> {
    std::hint::black_box(copy_with_a_name_of_its_own(words))
}

#[cfg(target_arch = "x86_64")]
#[test]
fn callers_are_found_in_a_copy_of_the_stack_as_far_as_it_goes() {
    let (path, inode) = own_file();
    let state = state(path, inode);
    let process = (&state, own_process(&state));
    let mut frames = Vec::new();
    let copy = caller_with_a_name_of_its_own(400);
    let end = Copies::default().frames(process, now(), &copy, &mut frames);
    // The C library began this thread, of which the trace does not tell; or the copy ends before.
    assert_ne!(end, End::Whole);
    for (frame, name) in
        frames.iter().zip(["copy_with_a_name", "caller_with_a_name", "callers_are_found_in"])
    {
        let (text, _) = told(&state, *frame);
        assert!(text.contains(name), "{text} is not {name}");
    }
    assert!(frames.len() > 5, "{frames:?}");

    let mut shorter = Vec::new();
    let end = Copies::default().frames(process, now(), &copy[..3 + 2], &mut shorter);
    assert_eq!((end, &shorter[..]), (End::Copy, &frames[..shorter.len()]));
    let mut none = Vec::new();
    assert_eq!(Copies::default().frames(process, now(), &copy[..2], &mut none), End::Copy);
    assert!(none.is_empty());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn copy_of_any_words_is_followed_to_an_end() {
    let (path, inode) = own_file();
    let state = state(path, inode);
    let (begin, until, _) = own_map(function_with_a_name_of_its_own());
    let (mut copies, mut longest) = (Copies::default(), 0);
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let mut copy = caller_with_a_name_of_its_own(64);
        let stack = copy[1];
        for _ in 0..1 + random.below(40) {
            let place = random.below(copy.len() as u64) as usize;
            copy[place] = match random.below(4) {
                0 => random.word(),
                1 => stack.wrapping_add(random.below(1 << 10)).wrapping_sub(16),
                _ => begin + random.below(until - begin),
            };
        }
        let mut frames = Vec::new();
        copies.frames((&state, own_process(&state)), now(), &copy, &mut frames);
        assert!((1..=128).contains(&frames.len()), "{}", frames.len());
        longest = longest.max(frames.len());
    }
    assert!(longest > 3, "{longest}: nothing was followed");
}
