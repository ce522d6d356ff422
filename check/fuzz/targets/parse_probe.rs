// SPDX-License-Identifier: MIT
//! libFuzzer's way into what `--probe` takes: a text.
//!
//! Place in the flow: `run` builds it. Whatever the text is, the parser answers; and what it takes,
//! the module can: its own check (kernel/source/layout.c) would refuse what is refused here.
#![no_main]

mod sample_types;

use kernel::source::{parse_with, Known};
use kernel::types::Types;
use libfuzzer_sys::fuzz_target;
use session::abi::*;
use session::description::Description;
use std::collections::HashSet;
use std::sync::LazyLock;

static TYPES: LazyLock<Vec<u8>> = LazyLock::new(sample_types::bytes);

struct Sample;

impl Known for Sample {
    fn types(&self, module: Option<&str>) -> Result<Types, String> {
        match module {
            Some(module) if module != "own" => Err("there is no such module".into()),
            _ => Types::from_bytes(&TYPES),
        }
    }

    fn symbol(&self, name: &str) -> Result<u64, String> {
        (name == "here").then_some(0xffff_ffff_8100_0000).ok_or("there is no such symbol".into())
    }
}

fuzz_target!(|text: &str| {
    let Ok(source) = parse_with(text, &Sample) else { return };
    let description = Description::parse(source.description.as_bytes()).expect("a description");
    assert_eq!(description.fields.len(), source.fields.len());
    assert!(source.fields.len() <= SOURCE_FIELDS_MAX);
    let names: HashSet<&str> = description.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names.len(), source.fields.len(), "two fields have one name");
    assert!(!source.target.contains('\0') || text.contains('\0'));
    let lines = source.description.lines().skip(3);
    for (field, line) in source.fields.iter().zip(lines) {
        let steps = usize::from(field.step_count);
        assert!(steps <= SOURCE_STEPS_MAX && field.steps[steps..].iter().all(|step| *step == 0));
        assert!(!line.starts_with("str ") || steps > 0, "a string has no address");
        assert!(field.is_user == 0 || field.is_user == 1 && steps > 0, "a step is nowhere");
        assert!(field.constant == 0 || field.from == FROM_CONSTANT);
    }
});
