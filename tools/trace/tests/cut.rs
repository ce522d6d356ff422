// SPDX-License-Identifier: MIT
//! Files that are cut while they are read, and memory while large files are read.
//!
//! Place in the flow: the reader maps stream files, so a byte that goes away, or one that stays, is
//! a matter of pages.

use std::fs::OpenOptions;
use std::ops::ControlFlow;
use std::path::Path;

use testkit::{repeat_packet, Datum, Kind, Order, Spec, StreamWriter, TraceFolder};
use trace::{in_slices, Fault, Merge, Message, ProblemKind, Span, Trace};

const PACKET_EVENTS: u64 = 30;
const TEXT_BYTES: usize = 500;
const STEP_CYCLES: u64 = 1 << 27;

fn spec() -> Spec {
    let order = Order::Little;
    Spec::lull(order, vec![(1, "e", Kind::structure(vec![("s", Kind::Text)]))])
}

/// A stream file of many packets, or of one.
fn stream(spec: &Spec, packets: u64, events: u64) -> Vec<u8> {
    let mut writer = StreamWriter::new(spec, 0);
    writer.begin_packet(STEP_CYCLES);
    for i in 0..events {
        let text = Datum::Text(vec![b'x'; TEXT_BYTES]);
        writer.event(1, STEP_CYCLES + i, Datum::List(vec![text]));
    }
    writer.end_packet(STEP_CYCLES + events, 0);
    repeat_packet(spec, &writer.finish().0, packets, STEP_CYCLES)
}

fn folder(spec: &Spec, bytes: Vec<u8>) -> TraceFolder {
    TraceFolder::new(&spec.metadata(), &[bytes]).unwrap()
}

#[test]
fn a_file_that_is_cut_while_it_is_read_is_read_up_to_there_and_that_is_told() {
    let spec = spec();
    let bytes = stream(&spec, 100, PACKET_EVENTS);
    let packet = bytes.len() as u64 / 100;
    let cut_in_page = 60 * packet + 100;
    for length in [cut_in_page, cut_in_page - cut_in_page % 4096, 0] {
        let folder = folder(&spec, bytes.clone());
        let trace = Trace::open(folder.path()).unwrap();
        let path = trace.files()[0].path().to_path_buf();
        let mut merge = trace.merge();
        let mut count = 0;
        while let Some(message) = merge.next() {
            count += u64::from(matches!(message, Message::Event(_)));
            if count == PACKET_EVENTS / 2 {
                OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
            }
        }
        let whole = (length / packet).max(1) * PACKET_EVENTS;
        // What is in the page of the cut is zeros, which no event of this trace begins with.
        assert!((whole / 2..=whole + 100).contains(&count), "{count} events at {length}");
        let problems = merge.problems();
        let is_cut = |fault: &Fault| matches!(fault, Fault::FileCut { .. });
        let cuts =
            problems.iter().filter(|p| matches!(&p.what, ProblemKind::Fault(f) if is_cut(f)));
        let cuts: Vec<_> = cuts.collect();
        assert_eq!(cuts.len(), 1, "{problems:?}");
        assert_eq!(cuts[0].lost_bytes, bytes.len() as u64 - length);
    }
}

#[test]
fn a_file_that_was_cut_or_written_over_is_told_and_one_that_grew_is_not() {
    let spec = spec();
    let bytes = stream(&spec, 10, PACKET_EVENTS);
    let other = stream(&spec, 11, PACKET_EVENTS + 1);
    let after = |change: &dyn Fn(&Path)| {
        let folder = folder(&spec, bytes.clone());
        let trace = Trace::open(folder.path()).unwrap();
        let path = trace.files()[0].path().to_path_buf();
        assert_eq!(trace.changed_file(), None);
        change(&path);
        trace.changed_file() == Some(&path)
    };
    let write = |path: &Path| OpenOptions::new().write(true).open(path).unwrap();
    assert!(after(&|path| write(path).set_len(4096).unwrap()));
    assert!(after(&|path| std::fs::write(path, &other).unwrap()), "it is longer, and another");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    assert!(after(&|path| write(path).set_modified(later).unwrap()), "it is as long");
    let more = [&bytes[..], &bytes[..]].concat();
    assert!(!after(&|path| std::fs::write(path, &more).unwrap()), "what it had is there");
    assert!(!after(&|path| std::fs::remove_file(path).unwrap()), "what is mapped stays");
}

#[test]
fn file_that_is_as_long_as_it_was_is_not_cut() {
    let spec = spec();
    let folder = folder(&spec, stream(&spec, 3, PACKET_EVENTS));
    let trace = Trace::open(folder.path()).unwrap();
    let mut merge = trace.merge();
    while merge.next().is_some() {}
    assert_eq!(merge.problems(), []);
}

#[test]
fn a_cut_since_the_trace_was_finished_is_told_once_with_all_that_is_known_of_it() {
    let spec = spec();
    let bytes = stream(&spec, 10, PACKET_EVENTS);
    let (all, packet) = (bytes.len(), bytes.len() / 10);
    let entry = format!("stream_files = \"stream_0\\t{all}\"; tracer_major");
    let metadata = spec.metadata().replacen("tracer_major", &entry, 1);
    // Between packets, in a header, in an event, in the bytes behind the last event of a packet.
    for (length, fault) in [
        (4 * packet, ""),
        (9, "the data ends in the middle of a field; "),
        (4 * packet + 9, "none was found in the last 9 bytes; "),
        (4 * packet + packet / 2, "before the packet does; "),
        (all - 1, "the file ends 1 bytes before the packet does; "),
    ] {
        let folder = TraceFolder::new(&metadata, &[bytes[..length].to_vec()]).unwrap();
        let trace = Trace::open(folder.path()).unwrap();
        let mut merge = trace.merge();
        while merge.next().is_some() {}
        let told: Vec<String> = merge.problems().iter().map(ToString::to_string).collect();
        let size =
            format!("{fault}it had {all} bytes when the trace was finished, and has {length} now");
        assert_eq!(told.iter().filter(|told| told.contains(&size)).count(), 1, "{told:?}");
        let ends = |told: &&String| told.contains("finished") || told.contains("file ends");
        assert_eq!(told.iter().filter(ends).count(), 1, "{told:?}");
    }
}

/// Bytes of files that this process has in memory now.
fn resident_file_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let spec = spec();
    for (packets, events) in [(2000, PACKET_EVENTS), (1, 60_000)] {
        let bytes = stream(&spec, packets, events);
        let size = bytes.len() as u64;
        assert!(size > 20 << 20, "{size}");
        let folder = folder(&spec, bytes);
        let trace = Trace::open(folder.path()).unwrap();
        let before = resident_file_bytes();
        let (mut merge, mut count, mut most) = (trace.merge(), 0, 0);
        while merge.next().is_some() {
            count += 1;
            if count % 500 == 0 {
                most = most.max(resident_file_bytes().saturating_sub(before));
            }
        }
        assert_eq!((count, merge.problems().len()), (packets * events, 0));
        assert!(most < 8 << 20, "{most} bytes of {size} were in memory at once");
    }
    // A look at each packet's header, and slices, in which each stream is shorter than a window.
    let packets = 2000;
    let bytes = stream(&spec, packets, PACKET_EVENTS);
    let size = 3 * bytes.len() as u64;
    let folder =
        TraceFolder::new(&spec.metadata(), &[bytes.clone(), bytes.clone(), bytes]).unwrap();
    let traces = [Trace::open(folder.path()).unwrap()];
    let before = resident_file_bytes();
    let grown = || resident_file_bytes().saturating_sub(before);
    assert!(traces[0].bounds().is_some());
    assert!(grown() < 8 << 20, "{} bytes of {size} are in memory", grown());
    let count = |merge: &mut Merge<'_>| {
        let mut count = 0;
        while merge.next().is_some() {
            count += 1;
        }
        count
    };
    let (mut events, mut slices, mut most) = (0, 0, 0);
    let mut rest = in_slices(&traces, &Span::ALL, 2, count, |found| {
        (events, slices, most) = (events + found, slices + 1, most.max(grown()));
        ControlFlow::Continue(())
    });
    assert_eq!((events + count(&mut rest), slices > 9), (3 * packets * PACKET_EVENTS, true));
    assert!(most < 16 << 20, "{most} bytes of {size} were in memory at once");
}
