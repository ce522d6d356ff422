// SPDX-License-Identifier: MIT
//! libFuzzer's way into linking filters: an unlinked program, and behind it a description.
//!
//! Place in the flow: `run` builds it, with core/filter compiled for coverage. An unlinked program
//! comes from memory that others can write to: whatever it is, the check or the linker answers, and
//! what is linked passes the check of programs.
#![no_main]

use filter as _; // which links core/filter
use libfuzzer_sys::fuzz_target;
use std::ffi::{c_char, c_int, CString};

extern "C" {
    fn lull_unlinked_check(unlinked: *const u64, bytes: usize) -> *const c_char;
    fn lull_filter_link(
        unlinked: *const u64,
        description: *const c_char,
        contexts: u32,
        program: *mut u64,
        found: *mut u64,
    ) -> c_int;
    fn lull_filter_fields(description: *const c_char, inputs: *mut u8) -> usize;
    fn lull_filter_check(
        program: *const u64,
        bytes: usize,
        inputs: *const u8,
        input_count: usize,
    ) -> *const c_char;
}

const ALL_CONTEXTS: u32 = 0x7fff;
const PROGRAM_WORDS: usize = 7176 / 8;
/// More than a `struct lull_filter_found` has.
const FOUND_WORDS: usize = 128;
const INPUTS_MAX: usize = 64;
const PROGRAM: c_int = 2;

fuzz_target!(|bytes: &[u8]| {
    let Some(stated) = bytes.first_chunk().map(|first| u32::from_ne_bytes(*first)) else { return };
    let (unlinked, text) = bytes.split_at(bytes.len().min(stated as usize));
    let text: Vec<u8> = text.iter().copied().take_while(|byte| *byte != 0).collect();
    let description = CString::new(text).expect("no NUL");
    let mut words = vec![0u64; unlinked.len().div_ceil(8)];
    let mut program = vec![0u64; PROGRAM_WORDS];
    let mut found = [0u64; FOUND_WORDS];
    let mut inputs = [0; INPUTS_MAX];
    // SAFETY: the words have room for the program; the check reads no more than it states, and the
    // rest has the room that the header asks for.
    unsafe {
        let from = words.as_mut_ptr();
        std::ptr::copy_nonoverlapping(unlinked.as_ptr(), from.cast(), unlinked.len());
        if !lull_unlinked_check(from, unlinked.len()).is_null() {
            return;
        }
        let (text, to) = (description.as_ptr(), program.as_mut_ptr());
        let linked = lull_filter_link(from, text, ALL_CONTEXTS, to, found.as_mut_ptr());
        if linked != PROGRAM {
            return;
        }
        let count = lull_filter_fields(text, inputs.as_mut_ptr());
        let bytes = program[0] as u32 as usize;
        assert!(lull_filter_check(to, bytes, inputs.as_ptr(), count).is_null());
    }
});
