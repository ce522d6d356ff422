// SPDX-License-Identifier: MIT
//! The same trace read by this crate and by Babeltrace 2, line by line.
//!
//! Place in the flow: pins down what is only convention: nanoseconds from cycles, names, labels,
//! number bases. `babeltrace2` is one of the needs that `mk/deps test` installs; a newer one, which
//! knows CTF 2, is what `tests/foreign/ctf2` names by `LULL_BABELTRACE2`.

use std::path::Path;
use std::process::Command;

use testkit::{
    encoded, random_stream, Datum, Kind, Order, Random, Spec, StreamWriter, TraceFolder,
};
use trace::{Message, Trace};

#[cfg(feature = "newer-babeltrace")]
mod collection;
mod notation;

fn program() -> String {
    std::env::var("LULL_BABELTRACE2").unwrap_or("babeltrace2".into())
}

/// The lines that Babeltrace 2 prints.
fn babeltrace(folder: &Path) -> Vec<String> {
    let output = Command::new(program())
        .args(["--clock-seconds", "--no-delta"])
        .arg(folder)
        .env("BABELTRACE_TERM_COLOR", "never")
        .output()
        .expect("babeltrace2 is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "babeltrace2 failed on {}: {errors}", folder.display());
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().map(str::to_string).collect()
}

/// The same lines from this crate.
fn own(folder: &Path) -> Vec<String> {
    let trace = Trace::open(folder).unwrap();
    let host = trace.metadata().environment_text("hostname");
    let host = host.map_or_else(String::new, |host| format!("{host} "));
    let mut merge = trace.merge();
    let mut lines = Vec::new();
    let mut before = trace::Ns(i64::MIN);
    while let Some(message) = merge.next() {
        let Message::Event(event) = message else { continue };
        assert!(before <= event.time_ns(), "not in time order");
        before = event.time_ns();
        let mut context = notation::Notation::default();
        event.packet_context(&mut context).unwrap();
        let ns = event.time_ns().0;
        let time = format!("{}.{:09}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
        let scopes = notation::scopes(&event).join(", ");
        let context = shown_context(&context.text);
        lines.push(format!("[{time}] {host}{}: {{{context} }}, {scopes}", event.name()));
    }
    assert_eq!(merge.problems(), []);
    lines
}

/// Babeltrace 2 leaves out the packet context's fields that it has a use for.
fn shown_context(text: &str) -> String {
    const USED: [&str; 6] = [
        "timestamp_begin",
        "timestamp_end",
        "content_size",
        "packet_size",
        "packet_seq_num",
        "events_discarded",
    ];
    let name_of = |field: &str| field.split(" = ").next().map(str::trim).unwrap_or("").to_string();
    let fields = text.split(',').filter(|field| !USED.contains(&name_of(field).as_str()));
    fields.collect::<Vec<_>>().join(",")
}

fn assert_same(seed: u64, folder: &Path) {
    let mut theirs = babeltrace(folder);
    let mut ours = own(folder);
    // Events of the same nanosecond may come in either order.
    theirs.sort();
    ours.sort();
    let only_ours = ours.iter().find(|line| theirs.binary_search(line).is_err());
    let only_theirs = theirs.iter().find(|line| ours.binary_search(line).is_err());
    assert_eq!((only_ours, only_theirs), (None, None), "seed {seed}");
    assert_eq!(ours.len(), theirs.len(), "seed {seed}");
}

#[test]
fn random_traces_read_alike() {
    for seed in 0..120 {
        let spec = Spec::random(seed);
        let streams: Vec<Vec<u8>> =
            (0..3).map(|cpu| random_stream(&spec, cpu, seed * 3 + u64::from(cpu), 3).0).collect();
        let folder = TraceFolder::new(&spec.metadata(), &streams).unwrap();
        assert_same(seed, folder.path());
    }
}

/// Metadata by hand with an event `e` of the given fields, in a stream without any header.
fn bare(order: &str, fields: &str) -> String {
    format!(
        "/* CTF 1.8 */
trace {{ major = 1; minor = 8; byte_order = {order}; }};
typealias integer {{ size = 8; align = 8; }} := u8;
typealias integer {{ size = 16; align = 16; }} := u16;
typealias integer {{ size = 32; align = 8; signed = true; }} := int;
typealias integer {{ size = 64; align = 8; base = hex; }} := void *;
variant V {{ u8 one; u16 two; }};
event {{ name = e; fields := struct {{ {fields} }}; }};
"
    )
}

#[test]
fn declarations_that_only_convention_explains_read_alike() {
    let bytes: Vec<u8> = (1..=48).collect();
    let fields = [
        "u8 x[2][3];",
        "u8 a, b, c[2];",
        "struct { u8 n; u8 list[n]; } s[2];",
        "u8 n; struct { u8 list[n]; u8 m; struct { u8 list[m]; } t; } s;",
        "struct inner { u8 a; u16 b; } first; struct inner second;",
        "enum brief : u8 { A, B = 2, C, D = 4 ... 9, \"E e\" = 9 ... 200, F } e[4];",
        "enum { X = 0, Y = 50000000 } e;",
        "enum : integer { size = 5; signed = true; } { N = -16 ... -1, P = 0 ... 15 } e[3];
         u8 last;",
        "void *p; void * q;",
        "typedef u8 name_t[4]; name_t n; typealias u16 := other; other o;",
        "integer { size = 16; base = 8; } a; integer { size = 16; base = binary; } b;",
        "integer { size = 16; signed = true; base = x; byte_order = be; } a;",
        "integer { size = 3; } a; integer { size = 5; align = 1; } b; integer { size = 21; } c;
         u8 last;",
        "enum : u8 { one = 1, two = 2 } tag; variant <tag> { u8 one; struct { u8 a; } two; } v;",
        "enum : u8 { one, two } t; variant V <t> v;",
        "enum : u8 { one, two } t; u8 l; variant <t> { u8 one; u16 two; } v[l];",
        "u8 pad[6]; enum : integer { size = 3; align = 1; signed = true; } { neg = -4 ... -1,
         pos = 0 ... 3 } t; variant <t> { u8 neg; u16 pos; } v;",
        "u8 n; u8 list[event.fields.n]; u8 last;",
        "struct { u8 a; } align(64) a; struct { u8 b; } align(32) b;",
        "u8 __double; u8 _single; u8 none;",
        "u8 pad[40]; integer { size = 8; encoding = ASCII; } text[3];
         integer { size = 8; encoding = UTF8; } c;",
        "struct { } nothing; u8 zero[0]; u8 a;",
    ];
    for (number, fields) in fields.into_iter().enumerate() {
        for order in ["le", "be"] {
            let content = stream_of_first_event(&bare(order, fields), &bytes);
            let folder = TraceFolder::new(&bare(order, fields), &[content]).unwrap();
            let Some(theirs) = babeltrace_bare(folder.path()) else { return };
            let trace = Trace::open(folder.path()).unwrap();
            assert_eq!(trace.problems(), [], "{fields}");
            let mut merge = trace.merge();
            let Some(Message::Event(event)) = merge.next() else { panic!("no event: {fields}") };
            let ours = format!("e: {}", notation::scopes(&event).join(", "));
            assert_eq!(ours, theirs, "number {number}, {order}: {fields}");
        }
    }
}

/// As many bytes as the first event takes, so that nothing follows it.
fn stream_of_first_event(metadata: &str, bytes: &[u8]) -> Vec<u8> {
    let metadata = trace::Metadata::parse(metadata).unwrap_or_else(|e| panic!("{e}: {metadata}"));
    let walker = trace::Walker::new(&metadata, trace::StreamId(0)).unwrap();
    let length = walker.event_length(bytes, 0).unwrap();
    bytes[..length].to_vec()
}

fn babeltrace_bare(folder: &Path) -> Option<String> {
    let output = Command::new(program()).arg(folder).output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "babeltrace2 failed: {errors}");
    Some(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("").trim().to_string())
}

#[test]
fn cycles_of_any_size_become_the_same_nanoseconds() {
    let order = Order::Little;
    let event = vec![(1, "e", Kind::structure(vec![("a", Kind::u(8, order))]))];
    let mut random = Random::new(7);
    for (seed, frequency_hz) in
        [1, 999, 1000, 32_768, 24_000_000, 999_999_937, 1_000_000_000, 2_596_123_456, 5_000_000_011]
            .into_iter()
            .enumerate()
    {
        let mut spec = Spec::lull(order, event.clone());
        spec.frequency_hz = frequency_hz;
        spec.offset_s = [1_700_000_000, -3, 0][seed % 3];
        spec.offset_cycles = random.below(frequency_hz * 2);
        let mut cycles: Vec<u64> = (0..60)
            .map(|i| random.word() >> (i % 50 + 6))
            .filter(|c| (4..1 << 31).contains(&(c / frequency_hz)))
            .collect();
        cycles.sort();
        let mut writer = StreamWriter::new(&spec, 0);
        writer.begin_packet(cycles[0]);
        for cycles in &cycles {
            writer.event(1, *cycles, Datum::List(vec![Datum::Unsigned(0)]));
        }
        writer.end_packet(*cycles.last().unwrap(), 0);
        let folder = TraceFolder::new(&spec.metadata(), &[writer.finish().0]).unwrap();
        assert_same(seed as u64, folder.path());
    }
}

#[test]
fn packetized_metadata_reads_alike_in_both_byte_orders() {
    for order in [Order::Little, Order::Big] {
        let spec = Spec::lull(order, vec![(1, "e", Kind::structure(vec![("a", Kind::Text)]))]);
        let mut bytes = Vec::new();
        for chunk in spec.metadata().as_bytes().chunks(1000) {
            let bits = |bytes: usize| encoded(bytes as u64 * 8, 32, order);
            bytes.extend(encoded(0x75d1_1d57, 32, order));
            bytes.extend(spec.uuid);
            bytes.extend([0; 4]);
            bytes.extend(bits(37 + chunk.len()));
            bytes.extend(bits(37 + chunk.len() + 11));
            bytes.extend([0, 0, 0, 1, 8]);
            bytes.extend(chunk);
            bytes.extend([0; 11]);
        }
        let (stream, _) = random_stream(&spec, 0, 5, 2);
        let folder = TraceFolder::new("", &[stream]).unwrap();
        std::fs::write(folder.path().join("metadata"), bytes).unwrap();
        assert_same(0, folder.path());
    }
}

/// Debian 12's Babeltrace 2 does not know CTF 2: `tests/foreign/ctf2` fetches one that does.
#[cfg(feature = "newer-babeltrace")]
mod ctf_2 {
    use super::*;
    use testkit::Int;

    /// Three streams of a random trace.
    fn random_streams(spec: &Spec, seed: u64) -> Vec<Vec<u8>> {
        (0..3).map(|cpu| random_stream(spec, cpu, seed * 3 + u64::from(cpu), 3).0).collect()
    }

    #[test]
    fn random_traces_of_ctf_2_read_alike() {
        for seed in 0..200 {
            let spec = Spec::random(seed);
            let folder =
                TraceFolder::new(&spec.metadata_json(), &random_streams(&spec, seed)).unwrap();
            assert_same(seed, folder.path());
        }
    }

    /// Kinds of whole bytes: others Babeltrace 2.1 writes so that it cannot read them back.
    fn whole_bytes(order: Order) -> Spec {
        let int = |size_bits, signed| Int { size_bits, align_bits: 8, signed, order };
        let labels = vec![("few".to_string(), -3, 9)];
        let length = int(16, false);
        let element = Kind::structure(vec![("s", Kind::Text), ("u", Kind::u(32, order))]);
        let options = vec![("a".into(), Kind::Text), ("b".into(), Kind::u(64, order))];
        let fields = vec![
            ("u", Kind::u(8, order)),
            ("i", Kind::Int(int(64, true))),
            ("f", Kind::Float { size_bits: 64, align_bits: 8, order }),
            ("e", Kind::Enumeration { container: int(32, true), labels }),
            ("t", Kind::Text),
            ("c", Kind::CharArray(7)),
            ("a", Kind::Array { element: Box::new(element.clone()), count: 2 }),
            ("l", Kind::Sequence { element: Box::new(element), length }),
            ("v", Kind::Variant { tag: int(8, false), options }),
        ];
        Spec::lull(order, vec![(1, "all", Kind::structure(fields))])
    }

    #[test]
    fn what_babeltrace_writes_as_ctf_2_reads_like_what_it_was_written_from() {
        for order in [Order::Little, Order::Big] {
            let spec = whole_bytes(order);
            let (stream, written) = random_stream(&spec, 0, 9, 5);
            let folder = TraceFolder::new(&spec.metadata(), &[stream]).unwrap();
            let copy = folder.path().join("copy");
            let output = Command::new(program())
                .arg(folder.path())
                .args(["--component=sink.ctf.fs", "--params=ctf-version=\"2\""])
                .arg(format!("--params=path=\"{}\",assume-single-trace=yes", copy.display()))
                .output()
                .expect("babeltrace2 is installed");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{errors}");
            let (events, problems) = notation::read(&Trace::open(&copy).unwrap());
            assert_eq!(problems, []);
            let scopes = |events: Vec<testkit::Written>| -> Vec<_> {
                events.into_iter().map(|e| (e.cycles, e.name, e.scopes)).collect()
            };
            assert_eq!(scopes(events), scopes(written));
        }
    }
}
