// SPDX-License-Identifier: MIT
//! Reading what is in a span of time: the same events as when everything is read and the others
//! are left out, whatever an index beside the trace says.
//!
//! Place in the flow: `Merge::between` and the index of packets, seen from outside.

use std::path::{Path, PathBuf};

use testkit::{Datum, Kind, Order, Random, Spec, StreamWriter, TraceFolder};
use trace::{Merge, Message, Ns, Span, Trace};

fn spec() -> Spec {
    let order = Order::Little;
    let fields = vec![("a", Kind::u(32, order)), ("text", Kind::Text)];
    Spec::lull(order, vec![(1, "e", Kind::structure(fields))])
}

/// Packets with some events each and some losses between them.
fn stream(spec: &Spec, cpu: u32, packets: u64, random: &mut Random) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, cpu);
    let mut cycles = 1000 + random.below(500);
    for packet in 0..packets {
        writer.begin_packet(cycles);
        for event in 0..random.below(6) {
            cycles += random.below(40);
            let text = Datum::Text(format!("{packet}.{event}").into_bytes());
            writer.event(1, cycles, Datum::List(vec![Datum::Unsigned(cycles), text]));
        }
        if random.one_in(4) {
            writer.lose([1 + random.below(9), 0, 0, 0]);
        }
        cycles += random.below(20);
        writer.end_packet(cycles, 0);
        cycles += random.below(60);
    }
    writer.finish().0
}

fn streams(spec: &Spec, count: u32, packets: u64, seed: u64) -> Vec<Vec<u8>> {
    let random = &mut Random::new(seed);
    (0..count).map(|cpu| stream(spec, cpu, packets, random)).collect()
}

/// What a merge gives: events and losses as text, with their times.
fn read(merge: &mut Merge<'_>) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        found.push(match message {
            Message::Event(event) if event.is_before_span() => continue,
            Message::Event(event) => {
                let values = (event.value(0), event.value(1));
                (event.time_ns().0, format!("{} {values:?}", event.stream_index()))
            }
            Message::Loss(lost) => {
                let at = lost.time_ns().expect("the trace has a clock").0;
                let (begin, until) = (lost.begin_ns(), lost.until_ns());
                (at, format!("{} lost {} {begin:?} {until:?}", lost.stream_index, lost.loss.count))
            }
        });
    }
    found
}

/// The events of everything that are in a span; losses are left out, see below.
fn events_in(all: &[(i64, String)], span: &Span) -> Vec<(i64, String)> {
    let is_in = |at: i64| {
        span.from.is_none_or(|from| from.0 <= at) && span.until.is_none_or(|until| at < until.0)
    };
    let events = all.iter().filter(|(at, text)| is_in(*at) && !text.contains("lost"));
    events.cloned().collect()
}

fn spans(all: &[(i64, String)], random: &mut Random) -> Vec<Span> {
    let last = all.len() as u64 - 1;
    let at = |place: u64| Some(Ns(all[place as usize].0));
    let mut spans = vec![
        Span::ALL,
        Span { from: at(0), until: None },
        Span { from: None, until: at(last) },
        Span { from: at(last), until: None },
        Span { from: at(last / 2), until: at(last / 2) },
        Span { from: Some(Ns(i64::MIN)), until: Some(Ns(i64::MAX)) },
        Span { from: Some(Ns(i64::MAX)), until: None },
    ];
    for _ in 0..30 {
        let (a, b) = (random.below(last), random.below(last));
        let near = random.below(5) as i64 - 2;
        let from = Some(Ns(all[a.min(b) as usize].0 + near));
        spans.push(Span { from, until: at(a.max(b)) });
    }
    spans
}

#[test]
fn span_gives_the_events_that_are_in_it_in_the_same_order() {
    for seed in 0..8 {
        let spec = spec();
        let named = streams(&spec, 1 + seed as u32 % 4, 20, seed).into_iter().enumerate();
        let named = named.map(|(i, bytes)| (PathBuf::from(format!("s{i}")), bytes)).collect();
        let traces = [Trace::from_bytes(spec.metadata().as_bytes(), named).unwrap()];
        let all = read(&mut Merge::over(&traces));
        for span in spans(&all, &mut Random::new(seed)) {
            let mut merge = Merge::between(&traces, &span);
            let found = read(&mut merge);
            let events: Vec<_> = found.into_iter().filter(|(_, t)| !t.contains("lost")).collect();
            assert_eq!(events, events_in(&all, &span), "{span:?}");
            assert_eq!(merge.problems(), []);
            assert_eq!(merge.stream_count(), Merge::over(&traces).stream_count());
        }
    }
}

#[test]
fn span_has_the_losses_that_may_have_happened_in_it() {
    let spec = spec();
    let mut writer = StreamWriter::new(&spec, 0);
    for (packet, lost) in [(0, 0), (1, 3), (2, 0), (3, 5)] {
        writer.begin_packet(1000 * packet + 100);
        let fields = vec![Datum::Unsigned(0), Datum::Text(vec![])];
        writer.event(1, 1000 * packet + 500, Datum::List(fields));
        writer.lose([lost, 0, 0, 0]);
        writer.end_packet(1000 * packet + 900, 0);
    }
    let spec = Spec { frequency_hz: 1_000_000_000, offset_s: 0, offset_cycles: 0, ..spec.clone() };
    let named = vec![(PathBuf::from("s"), writer.finish().0)];
    let traces = [Trace::from_bytes(spec.metadata().as_bytes(), named).unwrap()];
    let lost = |from: i64, until: i64| {
        let span = Span { from: Some(Ns(from)), until: Some(Ns(until)) };
        let found = read(&mut Merge::between(&traces, &span));
        let losses = found.into_iter().filter_map(|(_, text)| {
            let words: Vec<&str> = text.split(' ').collect();
            (words[1] == "lost").then(|| words[2].parse::<u64>().unwrap())
        });
        losses.collect::<Vec<u64>>()
    };
    // Packet 1 tells of what was lost from 900 to 1900, packet 3 of 2900 to 3900.
    assert_eq!(lost(0, 10_000), [3, 5]);
    assert!(lost(0, 900).is_empty());
    assert_eq!(lost(0, 950), [3]);
    assert_eq!(lost(1800, 1850), [3]);
    assert!(lost(1901, 2900).is_empty());
    assert_eq!(lost(3000, 3100), [5]);
}

#[test]
fn stream_that_was_begun_in_the_middle_goes_on_as_if_it_had_been_read_from_its_first_packet() {
    let spec = spec();
    let named = vec![(PathBuf::from("s"), streams(&spec, 1, 40, 5).remove(0))];
    let traces = [Trace::from_bytes(spec.metadata().as_bytes(), named).unwrap()];
    let packets = |span: Span| {
        let mut merge = Merge::between(&traces, &span);
        let mut packets = Vec::new();
        while let Some(message) = merge.next() {
            if let Message::Event(event) = message {
                packets.push((event.time_ns(), event.packet().clone()));
            }
        }
        packets
    };
    let all = packets(Span::ALL);
    let from = all[all.len() / 2].0;
    let later = packets(Span { from: Some(from), until: None });
    assert!(later.len() < all.len() && all.ends_with(&later));
}

/// A trace on disk whose streams have packets enough for an index.
fn folder() -> (TraceFolder, Spec) {
    let spec = spec();
    let folder = TraceFolder::new(&spec.metadata(), &streams(&spec, 2, 80, 9)).unwrap();
    (folder, spec)
}

fn index_of(folder: &TraceFolder, stream: u32) -> PathBuf {
    folder.path().join(format!("index/stream_{stream}.lull.idx"))
}

/// Checks spans of the trace as it is on disk.
fn check(path: &Path) {
    let all = read(&mut Merge::over(&[Trace::open(path).unwrap()]));
    for span in spans(&all, &mut Random::new(1)) {
        let traces = [Trace::open(path).unwrap()];
        let found = read(&mut Merge::between(&traces, &span));
        let events: Vec<_> = found.into_iter().filter(|(_, t)| !t.contains("lost")).collect();
        assert_eq!(events, events_in(&all, &span), "{span:?}");
    }
}

#[test]
fn first_reader_of_a_span_leaves_an_index_and_reading_everything_leaves_none() {
    let (folder, _) = folder();
    let traces = [Trace::open(folder.path()).unwrap()];
    read(&mut Merge::over(&traces));
    assert!(!folder.path().join("index").exists());
    check(folder.path());
    let names = std::fs::read_dir(folder.path().join("index")).unwrap();
    assert_eq!(names.count(), 2);
    let index = std::fs::read(index_of(&folder, 0)).unwrap();
    assert_eq!(index.len(), 16 + 80 * 72);
    assert_eq!(index[..4], [0xc1, 0xf1, 0xdc, 0xc1]);
}

#[test]
fn index_of_a_stream_that_has_grown_is_made_again() {
    let (folder, spec) = folder();
    check(folder.path());
    let before = std::fs::read(index_of(&folder, 1)).unwrap();
    let longer = streams(&spec, 2, 90, 9).remove(0);
    std::fs::write(folder.path().join("stream_1"), longer).unwrap();
    check(folder.path());
    assert!(std::fs::read(index_of(&folder, 1)).unwrap().len() > before.len());
}

#[test]
fn index_older_than_its_stream_is_made_again() {
    let (folder, _) = folder();
    check(folder.path());
    let path = index_of(&folder, 0);
    let right = std::fs::read(&path).unwrap();
    // It fits the stream but for the number of lost events: only its date tells.
    let mut other = right.clone();
    other[16 + 47] ^= 1;
    std::fs::write(&path, &other).unwrap();
    check(folder.path());
    assert_eq!(std::fs::read(&path).unwrap(), other);
    let index = std::fs::File::options().write(true).open(&path).unwrap();
    index.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    check(folder.path());
    assert_eq!(std::fs::read(&path).unwrap(), right);
}

#[test]
fn wrong_index_changes_no_answer() {
    let (folder, _) = folder();
    check(folder.path());
    let path = index_of(&folder, 0);
    let right = std::fs::read(&path).unwrap();
    let random = &mut Random::new(3);
    for _ in 0..25 {
        let mut wrong = right.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(wrong.len() as u64) as usize;
            wrong[at] = *random.pick(&[0, 1, 0x7f, 0xff, 0x80]);
        }
        if random.one_in(5) {
            wrong.truncate(random.below(right.len() as u64) as usize);
        }
        std::fs::write(&path, &wrong).unwrap();
        check(folder.path());
    }
}

#[test]
fn index_that_names_other_times_than_the_packets_is_not_believed() {
    let (folder, _) = folder();
    check(folder.path());
    let path = index_of(&folder, 0);
    let right = std::fs::read(&path).unwrap();
    // Every packet but the first and the last is said to end where it begins, or much later.
    for end in [Some(0), Some(u64::MAX), None] {
        let mut wrong = right.clone();
        for entry in wrong[16..].chunks_exact_mut(72).skip(1).take(78) {
            let begin: [u8; 8] = entry[24..32].try_into().unwrap();
            let end = end.map_or(begin, u64::to_be_bytes);
            entry[32..40].copy_from_slice(&end);
        }
        std::fs::write(&path, &wrong).unwrap();
        check(folder.path());
    }
}

#[test]
fn index_as_lttng_writes_it_is_used_and_not_written_over() {
    let (folder, _) = folder();
    check(folder.path());
    for stream in 0..2 {
        let own = index_of(&folder, stream);
        let foreign = folder.path().join(format!("index/stream_{stream}.idx"));
        std::fs::rename(&own, foreign).unwrap();
    }
    check(folder.path());
    assert!(!index_of(&folder, 0).exists(), "the other one served");
    std::fs::write(folder.path().join("index/stream_0.idx"), "no index").unwrap();
    check(folder.path());
    assert!(index_of(&folder, 0).exists() && !index_of(&folder, 1).exists());
    let foreign = std::fs::read(folder.path().join("index/stream_0.idx")).unwrap();
    assert_eq!(foreign, b"no index");
}

#[test]
fn index_is_written_only_where_nobody_else_can_write() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let (linked, _) = folder();
    let elsewhere = linked.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, linked.path().join("index")).unwrap();
    check(linked.path());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    let (shared, _) = folder();
    mode(shared.path(), 0o777);
    check(shared.path());
    assert!(!shared.path().join("index").exists());
    let (inside, _) = folder();
    let index = inside.path().join("index");
    std::fs::create_dir(&index).unwrap();
    mode(&index, 0o777);
    check(inside.path());
    assert_eq!(std::fs::read_dir(&index).unwrap().count(), 0);
    mode(&index, 0o500);
    check(inside.path());
}

#[test]
fn index_that_is_no_file_is_not_waited_for() {
    let (folder, _) = folder();
    std::fs::create_dir(folder.path().join("index")).unwrap();
    for name in ["stream_0.idx", "stream_1.lull.idx"] {
        let path = folder.path().join("index").join(name);
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    }
    check(folder.path());
}
