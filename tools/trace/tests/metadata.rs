// SPDX-License-Identifier: MIT
//! Metadata: what is understood, what is only warned about, and what is refused.
//!
//! Place in the flow: the TSDL front end seen from outside.

use trace::{Base, ByteOrder, EnvironmentValue, EventId, Metadata, StreamId, Type};

const TRACE: &str = "trace { major = 1; minor = 8; byte_order = be; };\n\
    typealias integer { size = 8; align = 8; } := u8;\n";

fn parse(rest: &str) -> Metadata {
    let text = format!("{TRACE}{rest}");
    Metadata::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(rest: &str) -> String {
    let text = format!("{TRACE}{rest}");
    Metadata::parse(&text).expect_err(&text).to_string()
}

#[test]
fn every_block_is_understood() {
    let metadata = parse(
        "/* CTF 1.8 */
        trace { uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\"; };
        env { hostname = \"box\"; tracer_major = 2; negative = -7; };
        clock { name = one; uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\"; freq = 1000;
                description = \"a \\\"clock\\\"\"; offset_s = -5; offset = 12; precision = 3;
                absolute = TRUE; };
        callsite { name = \"x\"; func = \"main\"; file = \"a.c\"; line = 3; };
        stream { id = 7; event.context := struct { u8 a; }; };
        event { name = \"a:b\"; id = 9; stream_id = 7; loglevel = 13;
                model.emf.uri = \"http://x\"; context := struct { u8 b; };
                fields := struct { integer { size = 12; base = hex; } _c; }; };",
    );
    assert_eq!(metadata.byte_order, ByteOrder::Big);
    assert_eq!(metadata.uuid.map(|uuid| uuid[15]), Some(16));
    assert_eq!(metadata.environment_value("negative"), Some(&EnvironmentValue::Number(-7)));
    let texts = ["hostname", "negative", "absent"].map(|key| metadata.environment_text(key));
    assert_eq!(texts, [Some("box"), None, None]);
    let clock = &metadata.clocks[0];
    assert_eq!((clock.offset_s, clock.frequency_hz, clock.precision_cycles), (-5, 1000, 3));
    assert!(clock.absolute && clock.description == "a \"clock\"");
    let stream = metadata.stream(StreamId(7)).unwrap();
    let event = stream.event(EventId(9)).unwrap();
    assert_eq!((event.log_level, event.emf_uri.as_deref()), (Some(13), Some("http://x")));
    let field = &event.payload.as_ref().unwrap().fields[0];
    assert_eq!((field.name(), event.field_index("c")), ("c", Some(0)));
    let Type::Integer(integer) = &field.ty else { panic!("{field:?}") };
    assert_eq!((integer.size_bits, integer.align_bits, integer.base), (12, 1, Base::Hexadecimal));
}

#[test]
fn what_is_unknown_is_warned_about_and_ignored() {
    let metadata = parse(
        "trace { colour = blue; version = 1.25; note = \"x\"; };
        weather { sun { shine = 1; } ; };
        clock { name = c; shape = round; };
        stream { id = 0; packet.footer := struct { u8 a; }; flags = 3; };
        event { name = e; id = 0; stream_id = 0; weight = 3; fields := struct {
            integer { size = 8; map = clock.unknown.value; taste = sweet; encoding = klingon; } a;
        }; };",
    );
    let warnings: Vec<String> = metadata.warnings.iter().map(|w| w.to_string()).collect();
    let told = ["colour", "version", "unknown kind", "shape", "packet.footer", "flags", "weight"];
    for word in told.into_iter().chain(["taste", "encoding", "not described"]) {
        assert!(warnings.iter().any(|warning| warning.contains(word)), "{word}: {warnings:?}");
    }
    assert_eq!(metadata.event_classes().count(), 1);
}

#[test]
fn another_version_is_an_error_after_which_the_rest_is_read() {
    for (major, minor, wrong) in [(1, 8, ""), (1, 9, "minor"), (2, 8, "major")] {
        let text = format!(
            "trace {{ major = {major};\nminor = {minor}; byte_order = le; }}; stream {{ id = 0; }};"
        );
        let (metadata, errors) = Metadata::salvage(text.as_bytes());
        assert_eq!(metadata.streams.len(), 1);
        let told: Vec<String> = errors.iter().map(|error| error.to_string()).collect();
        let line = if wrong == "minor" { 2 } else { 1 };
        let want = format!(
            "line {line}: the trace's `{wrong}` version is not that of CTF 1.8, as which it is read"
        );
        assert_eq!(told, if wrong.is_empty() { vec![] } else { vec![want] });
    }
}

#[test]
fn a_uuid_that_is_none_is_no_uuid() {
    let uuid = |text: &str| parse(&format!("trace {{ uuid = \"{text}\"; }};")).uuid;
    assert_eq!(uuid("0102030405060708090a0b0c0d0e0f10").map(|uuid| uuid[1]), Some(2));
    for wrong in ["0102", "0102030405060708090a0b0c0d0e0f1", "x102030405060708090a0b0c0d0e0f10"] {
        assert_eq!(uuid(wrong), None, "{wrong}");
    }
    assert_eq!(uuid("0102030405060708090a0b0c0d0e0f1011"), None);
}

#[test]
fn lengths_and_tags_reach_into_all_scopes_decoded_before() {
    let metadata = parse(
        "trace { packet.header := struct { u8 p; }; };
        stream { id = 0;
            packet.context := struct { u8 q; };
            event.header := struct { enum : u8 { A, B } h; struct { u8 deep; } s; };
            event.context := struct { u8 c; u8 list[stream.packet.context.q]; }; };
        event { name = e; id = 0; stream_id = 0; context := struct { u8 d; };
            fields := struct {
                u8 one[trace.packet.header.p]; u8 two[stream.event.header.s.deep];
                u8 three[stream.event.context.c]; u8 four[event.context.d]; u8 x;
                struct { u8 five[x]; u8 six[c]; variant <h> { u8 A; u8 B; } v; } inner;
            }; };",
    );
    assert_eq!(metadata.event_classes().count(), 1);
    // The header's integers are needed by the payload, so each event stores them.
    let walker = trace::Walker::new(&metadata, StreamId(0)).unwrap();
    // h, deep, c; d; two[2], three[1], x, five[3], six[1], v.
    let event = [1, 2, 1, 0, 7, 7, 7, 3, 7, 7, 7, 7, 9];
    assert_eq!(walker.event_length(&event, 0), Ok(event.len()));
}

#[test]
fn errors_name_the_line_and_the_reason() {
    let cases = [
        ("event { fields := struct { u9 a; }; };", "line 3: no type is named `u9` here"),
        ("event { fields := struct { u8 a[n]; }; };", "`n` names no field"),
        ("event { fields := struct { u8 a[n]; u8 n; }; };", "`n` names no field"),
        ("event { fields := struct { u8 a[event.fields.n]; u8 n; }; };", "names no field"),
        ("event { fields := struct { string n; u8 a[n]; }; };", "`n` is not an integer"),
        (
            "event { fields := struct { integer { size = 8; signed = 1; } n; u8 a[n]; }; };",
            "`n` is signed and cannot be a length",
        ),
        ("event { fields := struct { u8 t; variant <t> { u8 a; } v; }; };", "is not an enum"),
        ("event { fields := struct { variant { u8 a; } v; }; };", "a variant has no tag"),
        ("event { fields := struct { integer { size = 65; } a; }; };", "65 bits"),
        ("event { fields := struct { integer { align = 8; } a; }; };", "has no size"),
        ("event { fields := struct { integer { size = 8; align = 3; } a; }; };", "power of two"),
        ("event { fields := struct { integer { size = x; } a; }; };", "`size` is not a number"),
        ("event { fields := u8; };", "only a struct can stand here"),
        ("event { fields := struct align(8); };", "expected `{` or the name of a struct"),
        ("event { id = -1; };", "`id` cannot be negative"),
        ("event { id = 1; }; event { id = 1; };", "is used twice"),
        ("stream { id = 1; }; stream { id = 1; };", "described twice"),
        (
            "stream { id = 1; }; event { stream_id = 2; name = lone; };",
            "`lone` belongs to no stream",
        ),
        ("event { fields := struct { enum : u8 { A = 3 ... 1 } e; }; };", "ends before it begins"),
        ("event { fields := struct { enum : u8 { A = -1 } e; }; };", "`A` does not fit"),
        (
            "event { fields := struct { enum : floating_point { exp_dig = 8; mant_dig = 24; }
             { A } e; }; };",
            "not an integer",
        ),
        ("event {", "expected `}`, found the end of the metadata"),
        ("event { name = ; };", "`name` is not a name or a string"),
        ("event { fields := struct { u8 a } };", "expected `;`, found `}`"),
        ("event { name = \"x; };", "a string has no end"),
        ("event { name = \"x\0y\"; };", "line 3: a string holds a byte of zero"),
        ("clock { freq = 3; };", "a clock has no name"),
        ("?", "expected a declaration, found `?`"),
    ];
    for (text, want) in cases {
        let found = refusal(text);
        assert!(found.contains(want), "`{text}`: `{found}` does not say `{want}`");
    }
    assert!(Metadata::parse("").unwrap_err().what.contains("no `trace` block"));
}

/// Refused or not: without the reader's limits these take hours, or all memory.
fn ends(text: &str) {
    let _ = Metadata::salvage(text.as_bytes());
}

#[test]
fn blocks_nest_as_deep_as_said_and_no_deeper() {
    let is_too_deep = |depth: usize| {
        let nested = format!("{TRACE}{}{}", "event { ".repeat(depth), "};".repeat(depth));
        Metadata::parse(&nested).is_err_and(|error| error.what.contains("nested too deeply"))
    };
    assert_eq!([1, 48, 49].map(is_too_deep), [false, false, true]);
}

#[test]
fn hostile_metadata_is_refused_before_it_costs_much() {
    let doubling: String = (0..60)
        .map(|i| format!("struct s{} {{ struct s{i} a; struct s{i} b; }};\n", i + 1))
        .collect();
    let doubling = format!("{TRACE}struct s0 {{ u8 a; }};\n{doubling}");
    assert!(Metadata::parse(&doubling).is_err());
    ends(&doubling);
    let deep = format!("{TRACE}event {{ fields := {}", "struct { ".repeat(1_000_000));
    assert!(Metadata::parse(&deep).unwrap_err().what.contains("nested too deeply"));
    let chain: String =
        (0..300).map(|i| format!("struct s{} {{ struct s{i} a; }};\n", i + 1)).collect();
    let chain = format!("{TRACE}struct s0 {{ u8 a; }};\n{chain}");
    assert!(Metadata::parse(&chain).unwrap_err().what.contains("nested too deeply"));
    // 1400 structs of 100 arrays of 30 dimensions: each dimension counts.
    let arrays: String = (0..100).map(|i| format!("u8 a{i}{};\n", "[1]".repeat(30))).collect();
    let uses: String = (0..1400).map(|i| format!("struct arrays s{i};\n")).collect();
    let arrays = format!("{TRACE}struct arrays {{ {arrays} }};\nstruct uses {{ {uses} }};");
    assert!(Metadata::parse(&arrays).unwrap_err().what.contains("expand to more than"));
    let nothing = format!(
        "{TRACE}event {{ fields := struct {{ struct {{ }} a[1000000000][1000000000]; }}; }};"
    );
    assert!(Metadata::parse(&nothing).unwrap_err().what.contains("take no space"));
    let fields: String = (0..40_000).map(|i| format!("u8 n{i}; u8 a{i}[n{i}];\n")).collect();
    ends(&format!("{TRACE}event {{ fields := struct {{ {fields} }}; }};"));
    let labels: String = (0..40_000).map(|i| format!("l{i}, ")).collect();
    let options: String = (0..40_000).map(|i| format!("u8 l{i}; ")).collect();
    let variant = format!(
        "{TRACE}event {{ fields := struct {{ enum : integer {{ size = 32; }} {{ {labels} }} t;
         variant <t> {{ {options} }} v; }}; }};"
    );
    ends(&variant);
    let streams: String = (0..20_000).map(|i| format!("stream {{ id = {i}; }};\n")).collect();
    ends(&format!("{TRACE}{streams}"));
    ends(&format!("{TRACE}{}", "x { ".repeat(1_000_000)));
}
