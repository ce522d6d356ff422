// SPDX-License-Identifier: MIT
//! Reading on several processors gives what one merge gives, in the same order, whatever is wrong
//! with the trace.
//!
//! Place in the flow: `in_slices` seen from outside.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::{Datum, HeaderForm, Kind, Order, Random, Spec, StreamWriter};
use trace::{in_slices, Merge, Message, Ns, Problem, Span, Trace};

/// Slices have megabytes; packets are padded, so that a few events fill them.
const PADDING_BYTES: usize = 200_000;
const STREAMS: u32 = 3;
const PACKETS: u64 = 120;

fn spec() -> Spec {
    let order = Order::Little;
    let fields = vec![("a", Kind::u(32, order)), ("text", Kind::Text)];
    Spec::lull(order, vec![(1, "e", Kind::structure(fields))])
}

fn stream(spec: &Spec, cpu: u32, random: &mut Random, gap: u64) -> (Vec<u8>, Vec<usize>) {
    let mut writer = StreamWriter::new(spec, cpu);
    let mut cycles = 1000 + random.below(500);
    for _ in 0..PACKETS {
        writer.begin_packet(cycles);
        for _ in 0..random.below(8) {
            cycles += random.below(40);
            let text = Datum::Text(vec![b'x'; random.below(9) as usize]);
            writer.event(1, cycles, Datum::List(vec![Datum::Unsigned(cycles), text]));
        }
        if random.one_in(9) {
            writer.lose([1 + random.below(9), 0, 0, 0]);
        }
        cycles += random.below(20);
        writer.end_packet(cycles, PADDING_BYTES);
        cycles += random.below(gap);
    }
    let packets = writer.packets.clone();
    (writer.finish().0, packets)
}

fn open(spec: &Spec, streams: &[Vec<u8>]) -> [Trace; 1] {
    let named = streams.iter().enumerate();
    let named = named.map(|(i, bytes)| (PathBuf::from(format!("s{i}")), bytes.clone())).collect();
    [Trace::from_bytes(spec.metadata().as_bytes(), named).unwrap()]
}

fn read(merge: &mut Merge<'_>) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(message) = merge.next() {
        found.push(match message {
            Message::Event(event) if event.is_before_span() => continue,
            Message::Event(event) => {
                let (at, stream) = (event.offset_bytes(), event.stream_index());
                let packet = event.packet();
                format!("{stream} {} {at} {packet:?} {:?}", event.time_ns(), event.value(1))
            }
            Message::Loss(lost) => {
                format!("{} {:?} {:?}", lost.stream_index, lost.time_ns(), lost.loss)
            }
        });
    }
    found
}

fn read_all(merge: &mut Merge<'_>) -> (Vec<String>, Vec<Problem>) {
    (read(merge), merge.problems())
}

/// What slices give together with the rest, and how many slices there were.
fn sliced(traces: &[Trace], span: &Span, workers: usize) -> (Vec<String>, Vec<Problem>, usize) {
    let (mut found, mut slices) = (Vec::new(), 0);
    let take = |part: Vec<String>| {
        found.extend(part);
        slices += 1;
        ControlFlow::Continue(())
    };
    let mut rest = in_slices(traces, span, workers, read, take);
    let (last, problems) = read_all(&mut rest);
    found.extend(last);
    (found, problems, slices)
}

/// Like `assert_eq!`, which would print megabytes.
fn assert_same(found: (Vec<String>, Vec<Problem>), all: &(Vec<String>, Vec<Problem>), of: u64) {
    let differs = found.0.iter().zip(&all.0).find(|(found, all)| found != all);
    assert_eq!(differs, None, "trace {of}");
    assert_eq!(found.0.len(), all.0.len(), "trace {of}");
    assert_eq!(found.1, all.1, "trace {of}");
}

#[test]
fn slices_give_every_event_and_loss_once_and_in_order() {
    for seed in 0..4 {
        let spec = spec();
        let random = &mut Random::new(seed);
        let streams: Vec<Vec<u8>> =
            (0..STREAMS).map(|cpu| stream(&spec, cpu, random, 30).0).collect();
        let traces = open(&spec, &streams);
        let all = read_all(&mut Merge::over(&traces));
        for workers in [2, 3, 8] {
            let (found, problems, slices) = sliced(&traces, &Span::ALL, workers);
            assert!(slices > 3, "{slices} slices");
            assert_same((found, problems), &all, seed);
        }
        let (begin, end) = traces[0].bounds().unwrap();
        let length = end.0 - begin.0;
        let span = Span {
            from: Some(Ns(begin.0 + length / 9)),
            until: Some(Ns(begin.0 + length * 8 / 9)),
        };
        let some = read_all(&mut Merge::between(&traces, &span));
        let (found, problems, slices) = sliced(&traces, &span, 2);
        assert!(slices > 2 && found.len() < all.0.len());
        assert_same((found, problems), &some, seed);
    }
}

#[test]
fn damage_gives_the_same_events_and_problems_as_one_merge() {
    let spec = spec();
    let (mut whole, mut partly) = (0, 0);
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let made: Vec<_> = (0..STREAMS).map(|cpu| stream(&spec, cpu, random, 30)).collect();
        let mut streams: Vec<Vec<u8>> = made.iter().map(|(bytes, _)| bytes.clone()).collect();
        for _ in 0..=random.below(3) {
            let stream = random.below(STREAMS.into()) as usize;
            let packet = *random.pick(&made[stream].1[..PACKETS as usize]);
            let at = packet + 24 + random.below(200) as usize;
            streams[stream][at] ^= 1 << random.below(8);
        }
        let traces = open(&spec, &streams);
        let all = read_all(&mut Merge::over(&traces));
        let (found, problems, slices) = sliced(&traces, &Span::ALL, 3);
        assert_same((found, problems), &all, seed);
        whole += usize::from(slices > 6);
        partly += usize::from((1..6).contains(&slices));
    }
    assert!(whole > 0 && partly > 0, "{whole} {partly}");
}

#[test]
fn clock_that_runs_backwards_within_a_packet_changes_no_order() {
    let order = Order::Little;
    let event = Kind::structure(vec![("a", Kind::u(32, order))]);
    let mut spec = Spec::lull(order, vec![(1, "e", event)]);
    spec.header = HeaderForm::Plain;
    let random = &mut Random::new(7);
    let streams = (0..STREAMS).map(|cpu| {
        let mut writer = StreamWriter::new(&spec, cpu);
        for packet in 0..PACKETS {
            let begin = packet * 100 + u64::from(cpu) * 37;
            writer.begin_packet(begin);
            for _ in 0..5 {
                let at = begin + random.below(90);
                writer.event(1, at, Datum::List(vec![Datum::Unsigned(at)]));
            }
            writer.end_packet(begin + 99, PADDING_BYTES);
        }
        writer.finish().0
    });
    let streams: Vec<Vec<u8>> = streams.collect();
    let traces = open(&spec, &streams);
    let read = |merge: &mut Merge<'_>| {
        let mut found = Vec::new();
        while let Some(message) = merge.next() {
            let Message::Event(event) = message else { continue };
            if !event.is_before_span() {
                found.push((event.stream_index(), event.time_ns(), event.offset_bytes()));
            }
        }
        found
    };
    let all = read(&mut Merge::over(&traces));
    let mut found = Vec::new();
    let take = |part| {
        found.extend::<Vec<_>>(part);
        ControlFlow::Continue(())
    };
    let mut rest = in_slices(&traces, &Span::ALL, 2, read, take);
    found.extend(read(&mut rest));
    assert!(found == all);
}

#[test]
fn no_more_slices_are_in_memory_than_workers_and_one() {
    const WORKERS: usize = 3;
    let spec = spec();
    let random = &mut Random::new(1);
    let streams: Vec<Vec<u8>> = (0..STREAMS).map(|cpu| stream(&spec, cpu, random, 30).0).collect();
    let traces = open(&spec, &streams);
    let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut taken = 0;
    let work = |merge: &mut Merge<'_>| {
        begun.fetch_add(1, Ordering::SeqCst);
        read(merge);
    };
    in_slices(&traces, &Span::ALL, WORKERS, work, |()| {
        // Nothing more begins until this one is taken.
        std::thread::sleep(std::time::Duration::from_millis(20));
        most.fetch_max(begun.load(Ordering::SeqCst) - taken, Ordering::SeqCst);
        taken += 1;
        ControlFlow::Continue(())
    });
    let most = most.into_inner();
    assert!(taken > WORKERS + 2 && most <= WORKERS + 1, "{most} slices");
}

#[test]
fn one_worker_and_a_caller_that_wants_no_more_get_no_slices() {
    let spec = spec();
    let random = &mut Random::new(1);
    let streams: Vec<Vec<u8>> = (0..STREAMS).map(|cpu| stream(&spec, cpu, random, 30).0).collect();
    let traces = open(&spec, &streams);
    let all = read(&mut Merge::over(&traces));
    for workers in [0, 1] {
        let (found, _, slices) = sliced(&traces, &Span::ALL, workers);
        assert_eq!((found.len(), slices), (all.len(), 0));
    }
    let mut taken = 0;
    in_slices(&traces, &Span::ALL, 2, read, |_| {
        taken += 1;
        ControlFlow::Break(())
    });
    assert_eq!(taken, 1);
}

#[test]
fn worker_that_panics_ends_the_reading_and_is_heard() {
    let spec = spec();
    let random = &mut Random::new(1);
    let streams: Vec<Vec<u8>> = (0..STREAMS).map(|cpu| stream(&spec, cpu, random, 30).0).collect();
    let traces = open(&spec, &streams);
    let result = std::panic::catch_unwind(|| {
        let work = |_: &mut Merge<'_>| panic!("as a test asks for");
        in_slices(&traces, &Span::ALL, 2, work, |()| ControlFlow::Continue(()));
    });
    assert!(result.is_err());
}

#[test]
fn beginning_that_is_not_in_the_trace_is_told_whatever_part_is_read() {
    let spec = spec();
    let random = &mut Random::new(1);
    let mut streams: Vec<Vec<u8>> =
        (0..STREAMS).map(|cpu| stream(&spec, cpu, random, 30).0).collect();
    let first_bytes = streams[0].len() / 2;
    let (_, packets) = stream(&spec, 0, &mut Random::new(1), 30);
    let cut = *packets.iter().find(|at| **at >= first_bytes).expect("there are many packets");
    let number = packets.iter().position(|at| *at == cut).expect("it was found") as u64;
    streams[0].drain(..cut);
    let traces = open(&spec, &streams);
    let told = |merge: &mut Merge<'_>| {
        read(merge);
        merge.beginnings().map(|b| (b.file.to_path_buf(), b.packet_number)).collect::<Vec<_>>()
    };
    let all = told(&mut Merge::over(&traces));
    assert_eq!(all, [(PathBuf::from("s0"), number)]);
    let (_, end) = traces[0].bounds().unwrap();
    let span = Span { from: Some(Ns(end.0 - 50)), until: None };
    assert_eq!(told(&mut Merge::between(&traces, &span)), all);
    let mut slices = 0;
    let mut rest = in_slices(&traces, &Span::ALL, 2, read, |_| {
        slices += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((told(&mut rest), slices > 2), (all, true));
}
