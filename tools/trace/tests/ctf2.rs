// SPDX-License-Identifier: MIT
//! CTF 2 metadata: every field class, locations, roles, and what is refused.
//!
//! Place in the flow: beside `metadata.rs`, which does the same for TSDL.

use std::path::PathBuf;

use testkit::{random_stream, Spec};
use trace::{Message, Metadata, Trace};

mod notation;

const PREAMBLE: &str = r#"{"type": "preamble", "version": 2}"#;

/// A text sequence: the preamble and these texts.
fn sequence(fragments: &[&str]) -> String {
    let all = std::iter::once(&PREAMBLE).chain(fragments);
    all.map(|fragment| format!("\u{1e}{fragment}\n")).collect()
}

/// Metadata of one event without a header, whose payload has these members.
fn payload(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(name, class)| format!(r#"{{"name": "{name}", "field-class": {class}}}"#))
        .collect();
    let event = format!(
        r#"{{"type": "event-record-class", "name": "e", "payload-field-class":
        {{"type": "structure", "member-classes": [{}]}}}}"#,
        members.join(", ")
    );
    sequence(&[r#"{"type": "data-stream-class"}"#, &event])
}

fn open(metadata: &str, bytes: &[u8]) -> Trace {
    let streams = vec![(PathBuf::from("s"), bytes.to_vec())];
    let trace = Trace::from_bytes(metadata.as_bytes(), streams).unwrap();
    assert_eq!(trace.problems(), [], "{metadata}");
    trace
}

/// The payload of the only event that these bytes hold.
fn read(members: &[(&str, &str)], bytes: &[u8]) -> String {
    let trace = open(&payload(members), bytes);
    let (events, problems) = notation::read(&trace);
    assert_eq!(problems, [], "{members:?}");
    assert_eq!(events.len(), 1, "{members:?}: {events:?}");
    events[0].scopes.join(", ")
}

fn first_error(metadata: &str) -> String {
    match Metadata::parse(metadata) {
        Ok(_) => panic!("accepted: {metadata}"),
        Err(error) => error.to_string(),
    }
}

const U8: &str =
    r#"{"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}"#;

/// A class of fixed length with more properties.
fn fixed(ty: &str, length: u32, order: &str, more: &str) -> String {
    format!(
        r#"{{"type": "fixed-length-{ty}", "length": {length},
        "byte-order": "{order}-endian"{more}}}"#
    )
}

#[test]
fn numbers_of_fixed_length_are_read_in_all_their_forms() {
    let cases = [
        (fixed("unsigned-integer", 16, "big", ""), vec![1, 2], "258"),
        (fixed("signed-integer", 8, "little", ""), vec![0xfe], "-2"),
        (
            fixed("unsigned-integer", 8, "big", r#", "preferred-display-base": 16"#),
            vec![0xab],
            "0xAB",
        ),
        (fixed("bit-array", 16, "little", ""), vec![0x34, 0x12], "0x1234"),
        (fixed("boolean", 8, "little", ""), vec![2], "2"),
        (fixed("floating-point-number", 16, "little", ""), vec![0x00, 0xc5], "-5"),
        (fixed("floating-point-number", 32, "big", ""), vec![0x3f, 0x80, 0, 0], "1"),
        (fixed("floating-point-number", 64, "big", ""), vec![0xc0, 0, 0, 0, 0, 0, 0, 0], "-2"),
        (
            fixed("unsigned-integer", 8, "little", r#", "bit-order": "last-to-first""#),
            vec![0b0000_0011],
            "192",
        ),
        (
            fixed("signed-integer", 8, "big", r#", "bit-order": "first-to-last""#),
            vec![0b0000_0001],
            "-128",
        ),
        (fixed("unsigned-integer", 8, "big", r#", "bit-order": "last-to-first""#), vec![3], "3"),
        (
            fixed("unsigned-integer", 8, "little", r#", "mappings": {"a": [[0, 1], [7, 7]]}"#),
            vec![7],
            r#"( "a" : container = 7 )"#,
        ),
        (
            fixed("signed-integer", 8, "little", r#", "mappings": {"n": [[-3, -1]]}"#),
            vec![0xff],
            r#"( "n" : container = -1 )"#,
        ),
        (
            fixed(
                "bit-map",
                8,
                "little",
                r#", "flags": {"low": [[0, 1]], "mid": [[3, 3]], "high": [[7, 7]]}"#,
            ),
            vec![0b1000_0010],
            r#"( "high", "low" : container = 130 )"#,
        ),
    ];
    for (class, bytes, wanted) in cases {
        assert_eq!(read(&[("x", &class)], &bytes), format!("{{ x = {wanted} }}"), "{class}");
    }
}

#[test]
fn numbers_of_variable_length_are_read_up_to_64_bits() {
    let unsigned = r#"{"type": "variable-length-unsigned-integer"}"#;
    let signed = r#"{"type": "variable-length-signed-integer"}"#;
    let most = [vec![0xff; 9], vec![1]].concat();
    let least = [vec![0x80; 9], vec![0x7f]].concat();
    let cases = [
        (unsigned, vec![0xe5, 0x8e, 0x26], "624485".to_string()),
        (unsigned, vec![0x80, 0x00], "0".into()),
        (signed, vec![0xc0, 0xbb, 0x78], "-123456".into()),
        (signed, vec![0x3f], "63".into()),
        (unsigned, most, u64::MAX.to_string()),
        (signed, least, i64::MIN.to_string()),
    ];
    for (class, bytes, wanted) in cases {
        assert_eq!(read(&[("x", class)], &bytes), format!("{{ x = {wanted} }}"));
        let after = [bytes, vec![9]].concat();
        let wanted = format!("{{ x = {wanted}, y = 9 }}");
        assert_eq!(read(&[("x", class), ("y", U8)], &after), wanted);
    }
    let too_large = [vec![0xff; 9], vec![2]].concat();
    let too_long = vec![0x80; 12];
    for (class, bytes) in [(unsigned, &too_large), (unsigned, &too_long), (signed, &too_large)] {
        let trace = open(&payload(&[("x", class)]), bytes);
        let (events, problems) = notation::read(&trace);
        assert_eq!(events.len(), 0);
        assert!(problems[0].to_string().contains("does not fit in 64 bits"), "{problems:?}");
    }
}

#[test]
fn strings_of_every_encoding_and_length_are_read_as_utf_8() {
    let null = |encoding: &str| {
        format!(r#"{{"type": "null-terminated-string", "encoding": "{encoding}"}}"#)
    };
    let cases = [
        ("utf-8", b"h\xc3\xa9\0".to_vec(), "h\u{e9}"),
        ("utf-16le", vec![0x68, 0, 0xe9, 0, 0, 0], "h\u{e9}"),
        ("utf-16be", vec![0, 0x68, 0xd8, 0x3d, 0xde, 0x00, 0, 0], "h\u{1f600}"),
        ("utf-32be", vec![0, 0, 0, 0x68, 0, 1, 0xf6, 0, 0, 0, 0, 0], "h\u{1f600}"),
        ("utf-32le", vec![0x68, 0, 0, 0, 0, 0, 0, 0], "h"),
        ("utf-16le", vec![0x68, 0, 0, 0xd8, 0, 0], "h\u{fffd}"),
    ];
    for (encoding, bytes, wanted) in cases {
        let class = null(encoding);
        let after = [bytes, vec![7]].concat();
        let wanted = format!("{{ x = \"{wanted}\", y = 7 }}");
        assert_eq!(read(&[("x", &class), ("y", U8)], &after), wanted);
    }
    let fixed = r#"{"type": "static-length-string", "length": 6, "encoding": "utf-16be"}"#;
    assert_eq!(read(&[("x", fixed)], &[0, 0x68, 0, 0, 9, 9]), "{ x = \"h\" }");
    let dynamic = r#"{"type": "dynamic-length-string",
        "length-field-location": {"path": ["n"]}}"#;
    assert_eq!(read(&[("n", U8), ("x", dynamic)], b"\x02hi"), "{ n = 2, x = \"hi\" }");
}

#[test]
fn blobs_arrays_and_their_alignment_are_read() {
    let blob = r#"{"type": "static-length-blob", "length": 2, "media-type": "image/png"}"#;
    assert_eq!(read(&[("x", blob)], &[0xaa, 1]), "{ x = [ [0] = 0xAA, [1] = 0x1 ] }");
    let blob = r#"{"type": "dynamic-length-blob",
        "length-field-location": {"origin": "event-record-payload", "path": ["n"]}}"#;
    assert_eq!(read(&[("n", U8), ("x", blob)], &[1, 9]), "{ n = 1, x = [ [0] = 0x9 ] }");
    let array = format!(
        r#"{{"type": "static-length-array", "length": 2, "minimum-alignment": 32,
        "element-field-class": {U8}}}"#
    );
    let bytes = [1, 9, 9, 9, 2, 3];
    assert_eq!(read(&[("a", U8), ("x", &array)], &bytes), "{ a = 1, x = [ [0] = 2, [1] = 3 ] }");
    let array = r#"{"type": "dynamic-length-array", "minimum-alignment": 32,
        "length-field-location": {"path": ["a"]},
        "element-field-class": {"type": "null-terminated-string"}}"#;
    let bytes = [1, 9, 9, 9, b'x', 0];
    assert_eq!(read(&[("a", U8), ("x", array)], &bytes), "{ a = 1, x = [ [0] = \"x\" ] }");
    let structure = format!(
        r#"{{"type": "structure", "minimum-alignment": 16,
        "member-classes": [{{"name": "b", "field-class": {U8}}}]}}"#
    );
    assert_eq!(read(&[("a", U8), ("s", &structure)], &[1, 9, 2]), "{ a = 1, s = { b = 2 } }");
}

#[test]
fn optional_fields_and_variants_follow_their_selectors() {
    let boolean = fixed("boolean", 8, "little", "");
    let optional = format!(
        r#"{{"type": "optional", "selector-field-location": {{"path": ["s"]}},
        "field-class": {U8}}}"#
    );
    let members = [("s", &*boolean), ("o", &*optional), ("y", U8)];
    assert_eq!(read(&members, &[1, 5, 9]), "{ s = 1, o = { 5 }, y = 9 }");
    assert_eq!(read(&members, &[0, 9]), "{ s = 0, o = { }, y = 9 }");
    let signed = fixed("signed-integer", 8, "little", "");
    let optional = format!(
        r#"{{"type": "optional", "selector-field-location": {{"path": ["s"]}},
        "selector-field-ranges": [[-2, -1], [4, 4]], "field-class": {U8}}}"#
    );
    let members = [("s", &*signed), ("o", &*optional), ("y", U8)];
    assert_eq!(read(&members, &[0xff, 5, 9]), "{ s = -1, o = { 5 }, y = 9 }");
    assert_eq!(read(&members, &[1, 9]), "{ s = 1, o = { }, y = 9 }");
    let variant = format!(
        r#"{{"type": "variant", "selector-field-location": {{"path": ["s"]}}, "options": [
        {{"name": "a", "field-class": {U8}, "selector-field-ranges": [[0, 3], [9, 9]]}},
        {{"field-class": {{"type": "null-terminated-string"}},
          "selector-field-ranges": [[4, 4]]}}]}}"#
    );
    let members = [("s", U8), ("v", &*variant)];
    assert_eq!(read(&members, &[9, 7]), "{ s = 9, v = { 7 } }");
    assert_eq!(read(&members, b"\x04hi\0"), "{ s = 4, v = { \"hi\" } }");
    let trace = open(&payload(&members), &[5, 7]);
    assert!(notation::read(&trace).1[0].to_string().contains("selects no option"));
}

/// An array of bytes whose length is at `path`.
fn list(path: &str) -> String {
    format!(
        r#"{{"type": "dynamic-length-array", "element-field-class": {U8},
        "length-field-location": {{"path": {path}}}}}"#
    )
}

fn structure(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(name, class)| format!(r#"{{"name": "{name}", "field-class": {class}}}"#))
        .collect();
    format!(r#"{{"type": "structure", "member-classes": [{}]}}"#, members.join(", "))
}

#[test]
fn locations_go_up_and_down_and_through_elements_and_options() {
    let up = structure(&[("l", &list(r#"[null, "n"]"#))]);
    assert_eq!(read(&[("n", U8), ("s", &up)], &[1, 7]), "{ n = 1, s = { l = [ [0] = 7 ] } }");
    let down = structure(&[("n", U8), ("m", U8)]);
    assert_eq!(
        read(&[("s", &down), ("l", &list(r#"["s", "m"]"#))], &[1, 2, 7, 8]),
        "{ s = { n = 1, m = 2 }, l = [ [0] = 7, [1] = 8 ] }"
    );
    // In each element the length is that element's own.
    let element = structure(&[("n", U8), ("l", &list(r#"["n"]"#))]);
    let array = format!(
        r#"{{"type": "static-length-array", "length": 2, "element-field-class": {element}}}"#
    );
    assert_eq!(
        read(&[("a", &array)], &[1, 7, 0]),
        "{ a = [ [0] = { n = 1, l = [ [0] = 7 ] }, [1] = { n = 0, l = [ ] } ] }"
    );
    // The length is in whichever option was selected.
    let option = |begin| {
        let class = structure(&[("n", if begin == 0 { U8 } else { "\"wide\"" })]);
        format!(r#"{{"field-class": {class}, "selector-field-ranges": [[{begin}, {begin}]]}}"#)
    };
    let variant = format!(
        r#"{{"type": "variant", "selector-field-location": {{"path": ["s"]}},
        "options": [{}, {}]}}"#,
        option(0),
        option(1)
    );
    let wide = fixed("unsigned-integer", 16, "big", "");
    let alias =
        format!(r#"{{"type": "field-class-alias", "name": "wide", "field-class": {wide}}}"#);
    let text = payload(&[("s", U8), ("v", &variant), ("l", &list(r#"["v", "n"]"#))]);
    let text = text.replace(PREAMBLE, &format!("{PREAMBLE}\n\u{1e}{alias}"));
    for (bytes, wanted) in [
        (vec![0, 1, 7], "{ s = 0, v = { { n = 1 } }, l = [ [0] = 7 ] }"),
        (vec![1, 0, 2, 7, 8], "{ s = 1, v = { { n = 2 } }, l = [ [0] = 7, [1] = 8 ] }"),
    ] {
        let (events, problems) = notation::read(&open(&text, &bytes));
        assert_eq!((problems, events[0].scopes.join("")), (vec![], wanted.to_string()));
    }
}

#[test]
fn a_location_must_lead_to_an_integer_that_is_decoded_before() {
    let element = structure(&[("n", U8)]);
    let array = format!(
        r#"{{"type": "static-length-array", "length": 2, "element-field-class": {element}}}"#
    );
    let text = r#"{"type": "null-terminated-string"}"#;
    let signed = fixed("signed-integer", 8, "little", "");
    for members in [
        &[("l", list(r#"["n"]"#)), ("n", U8.into())][..],
        &[("n", text.into()), ("l", list(r#"["n"]"#))],
        &[("n", signed), ("l", list(r#"["n"]"#))],
        &[("n", U8.into()), ("l", list(r#"[null, "n"]"#))],
        &[("a", array), ("l", list(r#"["a", "n"]"#))],
        &[("n", U8.into()), ("l", list(r#"[]"#))],
        &[("n", U8.into()), ("l", list(r#"["n", null]"#))],
    ] {
        let members: Vec<(&str, &str)> = members.iter().map(|(n, c)| (*n, &**c)).collect();
        first_error(&payload(&members));
    }
}

/// Packets and events by roles, whatever the fields are called.
fn with_roles() -> String {
    let u = |length: u32, role: &str| {
        fixed(
            "unsigned-integer",
            length,
            "little",
            &format!(r#", "alignment": 8, "roles": ["{role}"]"#),
        )
    };
    let header = structure(&[
        ("m", &u(32, "packet-magic-number")),
        ("u", r#"{"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}"#),
        ("c", &u(8, "data-stream-class-id")),
    ]);
    let context = structure(&[
        ("a", &u(16, "packet-total-length")),
        ("b", &u(16, "packet-content-length")),
        ("c", &u(64, "default-clock-timestamp")),
        (
            "d",
            r#"{"type": "variable-length-unsigned-integer",
            "roles": ["packet-end-default-clock-timestamp"]}"#,
        ),
        ("e", &u(8, "discarded-event-record-counter-snapshot")),
        ("f", &u(8, "packet-sequence-number")),
        ("cpu_id", U8),
        ("lost_full", U8),
    ]);
    let event_header = structure(&[
        ("x", &u(8, "event-record-class-id")),
        ("y", &u(8, "default-clock-timestamp")),
    ]);
    sequence(&[
        &format!(
            r#"{{"type": "trace-class", "environment": {{"hostname": "h", "n": -3}},
            "packet-header-field-class": {header}}}"#
        ),
        r#"{"type": "clock-class", "id": "c", "name": "mine", "frequency": 1000,
            "origin": "unix-epoch", "offset-from-origin": {"seconds": 5, "cycles": 500}}"#,
        &format!(
            r#"{{"type": "data-stream-class", "id": 3, "default-clock-class-id": "c",
            "packet-context-field-class": {context},
            "event-record-header-field-class": {event_header}}}"#
        ),
        r#"{"type": "event-record-class", "data-stream-class-id": 3, "id": 7, "name": "seven",
            "attributes": {"babeltrace.org,2020": {"log-level": "info", "emf-uri": "file.c:1"}}}"#,
    ])
    .replace(r#""version": 2"#, r#""version": 2, "uuid": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]"#)
}

#[test]
fn roles_give_packets_events_times_and_losses() {
    let mut bytes = 0xc1fc_1fc1u32.to_le_bytes().to_vec();
    bytes.extend(1..=16);
    bytes.push(3);
    // The packet's size is 53 bytes, of which 2 are no content.
    bytes.extend([0xa8, 1, 0x98, 1]);
    bytes.extend(1000u64.to_le_bytes());
    bytes.extend([0xff, 0x1f, 4, 0, 2, 4]);
    bytes.extend([7, 0xf0, 7, 2]);
    bytes.resize(53, 0xee);
    assert_eq!(bytes.len() * 8, 0x1a8);
    let text = with_roles();
    let trace = open(&text, &[bytes.clone(), bytes].concat());
    assert_eq!(trace.metadata().environment_text("hostname"), Some("h"));
    assert_eq!(trace.clocks()[0].name, "mine");
    assert!(trace.clocks()[0].absolute);
    let mut merge = trace.merge();
    let mut seen = Vec::new();
    while let Some(message) = merge.next() {
        seen.push(match message {
            Message::Event(e) => {
                let class = e.class();
                assert_eq!(
                    (class.log_level, class.emf_uri.as_deref()),
                    (Some(6), Some("file.c:1"))
                );
                format!("{} {} cpu {}", e.time_ns(), e.name(), e.cpu().unwrap())
            }
            Message::Loss(l) => format!("lost {} {:?}", l.loss.count, l.loss.causes),
        });
    }
    let [loss, first, second, ..] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(loss, "lost 4 [(\"full\", 4)]");
    assert_eq!(first, "6508000000 seven cpu 2");
    assert_eq!(second, "6526000000 seven cpu 2");
}

#[test]
fn what_the_reader_does_not_know_is_refused_and_not_guessed() {
    let stream = r#"{"type": "data-stream-class"}"#;
    let cases = [
        (r#"{"type": "event-record-class", "extensions": {"x": {"y": 1}}}"#, "extension"),
        (r#"{"type": "event-record-class", "surprise": 1}"#, "`surprise`"),
        (r#"{"type": "novelty"}"#, "`novelty`"),
        (r#"{"type": "event-record-class", "payload-field-class": "none"}"#, "`none`"),
        (r#"{"type": "event-record-class", "id": -1}"#, "`id`"),
        (r#"{"type": "clock-class", "id": "c"}"#, "`frequency`"),
        (
            r#"{"type": "clock-class", "id": "c", "frequency": 9,
                "offset-from-origin": {"cycles": 9}}"#,
            "`cycles`",
        ),
        (
            r#"{"type": "clock-class", "id": "c", "frequency": 9,
                "offset-from-origin": {"seconds": 9223372036854775807}}"#,
            "beyond",
        ),
        (r#"{"type": "trace-class", "environment": {"a": 1.5}}"#, "`a`"),
        (r#"{"type": "preamble", "version": 2}"#, "two"),
        (r#"{"type": "field-class-alias", "name": "a", "field-class": "a"}"#, "`a`"),
        (r#"{"type": "data-stream-class", "id": 1, "default-clock-class-id": "c"}"#, "\"c\""),
        (r#"{"type": "event-record-class""#, "EOF"),
    ];
    for (fragment, wanted) in cases {
        let error = first_error(&sequence(&[stream, fragment]));
        assert!(error.starts_with("line 3: ") || error.starts_with("line 4: "), "{error}");
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
    let error = first_error(&sequence(&[stream]).replace("\"version\": 2", "\"version\": 3"));
    assert!(error.contains("CTF 3"), "{error}");
    let error = first_error(&format!("\u{1e}{stream}\n"));
    assert!(error.contains("preamble"), "{error}");
}

#[test]
fn field_classes_that_no_packet_can_have_are_refused() {
    let u = |length, more: &str| fixed("unsigned-integer", length, "little", more);
    let cases = [
        u(0, ""),
        u(65, ""),
        u(8, r#", "alignment": 3"#),
        u(8, r#", "byte-order": "middle""#),
        u(8, r#", "mappings": {"a": [[3, 1]]}"#),
        u(8, r#", "mappings": {"a": [[-1, 1]]}"#),
        u(8, r#", "preferred-display-base": 7"#),
        u(8, r#", "roles": ["novelty"]"#),
        fixed("bit-map", 8, "little", r#", "flags": {"a": [[7, 8]]}"#),
        fixed("floating-point-number", 24, "little", ""),
        r#"{"type": "static-length-array", "element-field-class": "x", "length": 3}"#.into(),
        r#"{"type": "static-length-string", "length": 3, "encoding": "latin-1"}"#.into(),
        r#"{"type": "dynamic-length-blob"}"#.into(),
        structure(&[("a", U8), ("a", U8)]),
        r#"{"type": "structure", "member-classes": [{"field-class": {}}]}"#.into(),
        "7".into(),
    ];
    for class in cases {
        first_error(&payload(&[("x", &class)]));
    }
}

#[test]
fn aliases_that_double_with_each_other_are_bounded() {
    let mut fragments =
        vec![format!(r#"{{"type": "field-class-alias", "name": "a0", "field-class": {U8}}}"#)];
    for number in 1..40 {
        let members = structure(&[
            ("a", &format!("\"a{}\"", number - 1)),
            ("b", &format!("\"a{}\"", number - 1)),
        ]);
        fragments.push(format!(
            r#"{{"type": "field-class-alias", "name": "a{number}", "field-class": {members}}}"#
        ));
    }
    let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
    assert!(first_error(&sequence(&fragments)).contains("limit"));
}

#[test]
fn metadata_that_is_cut_short_gives_what_came_before() {
    let text = with_roles();
    let (metadata, errors) = Metadata::salvage(&text.as_bytes()[..text.len() - 20]);
    assert_eq!((metadata.streams.len(), errors.len()), (1, 1));
    assert_eq!(metadata.event_classes().count(), 0);
}

#[test]
fn the_same_packets_are_read_alike_whichever_version_describes_them() {
    for seed in 0..200 {
        let spec = Spec::random(seed);
        let (stream, written) = random_stream(&spec, 3, seed, 4);
        let (events, problems) = notation::read(&open(&spec.metadata_json(), &stream));
        assert_eq!(problems, [], "seed {seed}");
        assert_eq!(events, written, "seed {seed}");
    }
}
