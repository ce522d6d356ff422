// SPDX-License-Identifier: MIT
//! Traces that nobody would write: every format ends, well-formed and of bounded size.

use testkit::{random_stream, Random, Spec, TraceFolder};

use super::*;
use crate::arguments::NAME_BYTES;

const FORMATS: [Format; 5] =
    [Format::Perfetto, Format::Chrome, Format::Firefox, Format::Speedscope, Format::Folded];

fn assert_well_formed(format: Format, out: &[u8], about: &str) {
    match format {
        Format::Perfetto => {
            #[derive(Clone, PartialEq, prost::Message)]
            struct Packets {
                #[prost(message, repeated, tag = "1")]
                packet: Vec<crate::perfetto::messages::TracePacket>,
            }
            <Packets as prost::Message>::decode(out).expect(about);
        }
        Format::Folded => drop(std::str::from_utf8(out).expect(about)),
        _ => drop(serde_json::from_slice::<serde_json::Value>(out).expect(about)),
    }
}

#[test]
fn random_and_damaged_traces_give_well_formed_files_in_every_format() {
    for seed in 0..60 {
        let spec = Spec::random(seed);
        let random = &mut Random::new(seed);
        let mut bytes = random_stream(&spec, 0, seed, 3).0;
        if seed % 2 == 1 {
            for _ in 0..1 + random.below(8) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
        }
        let folder = TraceFolder::new(&spec.metadata(), &[bytes]).unwrap();
        let Ok(trace) = Trace::open(folder.path()) else { continue };
        let traces = [trace];
        for format in FORMATS {
            let mut out = Vec::new();
            export(&traces, format, &Options::default(), &mut out, |_| {}).unwrap();
            assert_well_formed(format, &out, &format!("seed {seed}, {format:?}"));
        }
    }
}

#[test]
fn names_and_texts_of_any_size_are_cut() {
    let long: &'static str = Box::leak("n".repeat(100_000).into_boxed_str());
    let mut program = Program::new();
    for at in 0..10 {
        program.event(at, 0, MAIN, long, &[("text", Text(long))]);
    }
    for format in FORMATS {
        let (out, _) = written(&[&program], format, &Options::default()).unwrap();
        assert!(out.len() < 10 * (1100 + NAME_BYTES) + 10_000, "{format:?}: {}", out.len());
    }
}

#[test]
fn names_that_mean_something_in_a_format_do_not_there() {
    let mut program = Program::new();
    let name = "a;b\u{7}</script>";
    program.event(1, 0, (1, 1, "x;y\n"), Box::leak(format!("{name}:begin").into_boxed_str()), &[]);
    program.event(9, 0, (1, 1, "x;y\n"), Box::leak(format!("{name}:end").into_boxed_str()), &[]);
    let (out, _) = written(&[&program], Format::Folded, &Options::default()).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "x_y_;x_y_[1];a_b_</script> 8\n");
}

#[test]
fn times_before_1970_and_far_after_are_in_order() {
    let mut program = Program::new();
    program.event(0, 0, MAIN, JOB, &[]);
    program.event(u64::MAX / 4, 0, MAIN, JOB_END, &[]);
    for format in FORMATS {
        let (out, _) = written(&[&program], format, &Options::default()).unwrap();
        assert_well_formed(format, &out, &format!("{format:?}"));
    }
}

#[test]
fn trace_without_events_is_a_whole_file() {
    for format in FORMATS {
        let (out, done) = written(&[&Program::new()], format, &Options::default()).unwrap();
        assert_well_formed(format, &out, &format!("{format:?}"));
        assert_eq!(done.events, 0);
    }
}
