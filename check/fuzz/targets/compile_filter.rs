// SPDX-License-Identifier: MIT
//! libFuzzer's way into the language of filters: a text.
//!
//! Place in the flow: `run` builds it. Whatever the text is, parser and compiler answer; the
//! kernel's check takes what they make; and of a filter and its negation at most one holds.
#![no_main]

use filter::{Choice, Compiled, Filter};
use libfuzzer_sys::fuzz_target;
use session::description::Description;
use std::ffi::{c_char, c_int, CString};
use std::sync::LazyLock;

/// `struct lull_filter_value`.
#[repr(C)]
struct Value {
    number: u64,
    text: *const u8,
}

extern "C" {
    fn lull_filter_fields(description: *const c_char, inputs: *mut u8) -> usize;
    fn lull_filter_check(
        program: *const u64,
        bytes: usize,
        inputs: *const u8,
        input_count: usize,
    ) -> *const c_char;
    fn lull_filter_run(program: *const u64, fields: *const Value, contexts: *const Value) -> c_int;
}

const EVENT: &str = "syscalls:sys_enter_read\n6\nf.c:1\ni32 pid\nu64 count\nstr name\nau8 list\n\
     enum family AF_UNIX=1,AF_INET=2\nx8 flags\ni64 ret\n";
const FIELD_COUNT: usize = 7;
const INPUTS_MAX: usize = 64;

static DESCRIPTION: LazyLock<Description> =
    LazyLock::new(|| Description::parse(EVENT.as_bytes()).expect("a description"));

/// Whether the kernel would record an occurrence whose values are these.
fn holds(compiled: &Compiled, number: u64, text: &str) -> bool {
    let Some(program) = compiled.clone().into_program() else { return true };
    let mut words = vec![0u64; program.len().div_ceil(8)];
    let value = || Value { number, text: text.as_ptr() };
    let mut values: Vec<Value> = std::iter::repeat_with(value).take(INPUTS_MAX).collect();
    // Texts: the field `name`, and the context `comm`.
    let mut contexts: Vec<Value> = std::iter::repeat_with(value).take(INPUTS_MAX).collect();
    values[2].number = text.len() as u64;
    contexts[2].number = text.len() as u64;
    let description = CString::new(EVENT).expect("no NUL");
    let mut inputs = [0; INPUTS_MAX];
    // SAFETY: the words have room for the program, the inputs for all that there can be, and the
    // values are more than any event has fields, or than there are contexts.
    unsafe {
        let to = words.as_mut_ptr();
        std::ptr::copy_nonoverlapping(program.as_ptr(), to.cast(), program.len());
        let count = lull_filter_fields(description.as_ptr(), inputs.as_mut_ptr());
        assert_eq!(count, FIELD_COUNT);
        assert!(lull_filter_check(to, program.len(), inputs.as_ptr(), count).is_null());
        lull_filter_run(to, values.as_ptr(), contexts.as_ptr()) & 1 == 1
    }
}

fn compiled(text: &str) -> Option<Compiled> {
    Filter::parse(text).ok()?.compile(&[&DESCRIPTION]).ok()?.into_iter().next()
}

/// An argument of -e: a pattern, and what stands behind it.
fn check_choice(text: &str) {
    let (pattern, behind) = Choice::split(text);
    assert!(text.contains(pattern) && text.ends_with(behind));
    if let Ok(choice) = Choice::parse(behind) {
        assert!((1..=session::abi::SAMPLE_MAX).contains(&choice.sample.one_in()));
        let again = format!("sample {}", choice.sample);
        assert_eq!(Choice::parse(&again).map(|again| again.sample), Ok(choice.sample));
    }
}

fuzz_target!(|text: &str| {
    check_choice(text);
    let Some(filter) = compiled(text) else { return };
    let opposite = compiled(&format!("!({text})"));
    for number in [0, 1, 42, 0x80, u64::MAX] {
        let is_met = holds(&filter, number, "git-status");
        let is_other = opposite.as_ref().is_some_and(|other| holds(other, number, "git-status"));
        assert!(!(is_met && is_other), "a filter and its negation hold");
    }
});
