// SPDX-License-Identifier: MIT
//! The metadata of CTF 2: a sequence of JSON texts (RFC 7464), each of which describes a part.
//!
//! Flow: `fragment` takes the texts in order, `field_class` turns field classes into types,
//! `location` says where a length or a tag is; the rest is common with CTF 1.8: `tsdl::finish`
//! joins events to streams and compiles the same decode plans.

mod field_class;
mod fragment;
mod location;
mod object;

pub(crate) use location::locate;

use serde_json::Value;

use crate::error::MetadataError;
use crate::metadata::Metadata;
use crate::tsdl::{finish, Blocks, MAX_TEXT_BYTES};
use fragment::Fragments;

/// What each JSON text begins with.
const RECORD_SEPARATOR: char = '\u{1e}';

/// Whether the metadata is of CTF 2.
pub(crate) fn is_sequence(text: &str) -> bool {
    text.starts_with(RECORD_SEPARATOR)
}

/// Parses the texts; errors do not stop what can be built around them.
pub(crate) fn parse(text: &str) -> (Metadata, Vec<MetadataError>) {
    let mut values = Vec::new();
    let mut errors = Vec::new();
    if text.len() > MAX_TEXT_BYTES {
        let what = format!("the metadata is longer than {MAX_TEXT_BYTES} bytes");
        errors.push(MetadataError::new(1, what));
    } else {
        let mut line = 1u32;
        for part in text.split(RECORD_SEPARATOR) {
            if !part.trim().is_empty() {
                match serde_json::from_str::<Value>(part) {
                    Ok(value) => values.push((line, value)),
                    Err(error) => {
                        let at = line.saturating_add((error.line() as u32).saturating_sub(1));
                        errors.push(MetadataError::new(at, error.to_string()));
                    }
                }
            }
            line = line.saturating_add(part.matches('\n').count() as u32);
        }
    }
    let mut fragments = Fragments::new();
    for (line, value) in &values {
        if let Err(what) = fragments.add(*line, value) {
            errors.push(MetadataError::new(*line, what));
        }
    }
    let blocks: Blocks = fragments.finish();
    let (metadata, mut later) = finish(blocks);
    errors.append(&mut later);
    errors.sort_by_key(|error| error.line);
    (metadata, errors)
}

#[cfg(test)]
mod tests {
    use crate::Metadata;
    use testkit::Spec;

    #[test]
    fn both_versions_compile_to_the_same_plans_and_header_shapes() {
        let mut with_shape = 0;
        for seed in 0..300 {
            let spec = Spec::random(seed);
            let first = Metadata::parse(&spec.metadata()).unwrap();
            let second = Metadata::parse(&spec.metadata_json()).unwrap();
            let (first, second) = (&first.streams[0], &second.streams[0]);
            assert_eq!(first.header_shape, second.header_shape, "seed {seed}");
            assert_eq!(first.event_context_plan, second.event_context_plan, "seed {seed}");
            for (one, other) in first.events.iter().zip(&second.events) {
                assert_eq!(one.body_plan, other.body_plan, "seed {seed}");
                assert_eq!(one.leading, other.leading, "seed {seed}");
            }
            with_shape += usize::from(first.header_shape.is_some());
        }
        assert!(with_shape > 100, "only {with_shape} headers have a shape");
    }
}
