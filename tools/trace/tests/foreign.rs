// SPDX-License-Identifier: MIT
//! What traces of other tracers may be, and Lull's own never are.
//!
//! Place in the flow: small traces by hand, each with one thing that CTF 1.8 allows, or that
//! happens to files on disk.

use std::path::PathBuf;

use trace::{Clock, Fault, Loss, Merge, Message, Ns, Problem, ProblemKind, Span, Trace};

const MAGIC: u32 = 0xc1fc_1fc1;
/// Before the first event of a packet: the magic number and eight words.
const HEAD_BYTES: usize = 4 + 7 * 8 + 4;

const HEAD: &str = "/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
";
const STREAM: &str = "stream {
    packet.context := struct {
        u64 timestamp_begin; u64 timestamp_end; u64 content_size; u64 packet_size;
        u64 packet_seq_num; u64 events_discarded; u64 lost_full; u32 cpu_id;
    };
    event.header := struct { u8 id; u64 timestamp; };
};
event { name = e; id = 1; fields := struct { u8 a; }; };
";
const CLOCK: &str = "clock { name = c; freq = 1000000000; };\n";

fn metadata() -> String {
    [HEAD, CLOCK, STREAM].concat()
}

/// A packet: its times, its number, how many events were discarded until its end, its events.
#[derive(Clone)]
struct Packet {
    times: (u64, u64),
    number: u64,
    discarded: u64,
    events: Vec<u64>,
    padding_bytes: usize,
}

impl Packet {
    fn new(number: u64, times: (u64, u64), events: &[u64]) -> Self {
        Self { times, number, discarded: 0, events: events.to_vec(), padding_bytes: 0 }
    }

    fn discarded(self, discarded: u64) -> Self {
        Self { discarded, ..self }
    }

    fn bytes(&self, cpu: u32) -> Vec<u8> {
        let content = HEAD_BYTES + self.events.len() * 10;
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        let sizes = (content as u64 * 8, (content + self.padding_bytes) as u64 * 8);
        let lost = [self.number, self.discarded, self.discarded];
        for word in [self.times.0, self.times.1, sizes.0, sizes.1].into_iter().chain(lost) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(cpu.to_le_bytes());
        for (number, time) in self.events.iter().enumerate() {
            bytes.push(1);
            bytes.extend(time.to_le_bytes());
            bytes.push(number as u8);
        }
        bytes.extend(vec![0; self.padding_bytes]);
        bytes
    }
}

fn file(cpu: u32, packets: &[Packet]) -> Vec<u8> {
    packets.iter().flat_map(|packet| packet.bytes(cpu)).collect()
}

fn open(metadata: &str, files: Vec<(&str, Vec<u8>)>) -> Trace {
    let files = files.into_iter().map(|(name, bytes)| (PathBuf::from(name), bytes)).collect();
    Trace::from_bytes(metadata.as_bytes(), files).expect("the metadata is intact")
}

/// What a trace gives: the events' times in nanoseconds, what was lost, what is wrong.
#[derive(Debug, Default)]
struct Read {
    times: Vec<i64>,
    cpus: Vec<Option<u32>>,
    losses: Vec<Loss>,
    problems: Vec<Problem>,
}

fn read(trace: &Trace) -> Read {
    let mut merge = trace.merge();
    let mut found = Read::default();
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) => {
                found.times.push(event.time_ns().0);
                found.cpus.push(event.cpu().map(|cpu| cpu.0));
            }
            Message::Loss(message) => found.losses.push(message.loss.clone()),
        }
    }
    found.problems = merge.problems();
    found
}

fn faults(problems: &[Problem]) -> Vec<Fault> {
    let fault = |problem: &Problem| match problem.what {
        ProblemKind::Fault(fault) => Some(fault),
        _ => None,
    };
    problems.iter().filter_map(fault).collect()
}

#[test]
fn names_that_the_reader_knows_may_have_an_underscore_before_them() {
    let renamed = ["timestamp_begin", "packet_size", "content_size", "packet_seq_num"]
        .into_iter()
        .chain(["timestamp_end", "events_discarded", "lost_full", "cpu_id", "timestamp;", "id;"])
        .fold(metadata(), |text, name| text.replace(&format!(" {name}"), &format!(" _{name}")));
    let packets = [
        Packet::new(0, (10, 20), &[11]),
        Packet { padding_bytes: 5, ..Packet::new(1, (30, 40), &[31]) }.discarded(3),
        Packet::new(2, (50, 60), &[51]).discarded(3),
    ];
    let found = read(&open(&renamed, vec![("s", file(7, &packets))]));
    assert_eq!(found.problems, []);
    assert_eq!(found.times, [11, 31, 51]);
    assert_eq!(found.cpus, [Some(7); 3]);
    let lost: Vec<_> = found.losses.iter().map(|l| (l.count, l.causes.len())).collect();
    assert_eq!(lost, [(3, 1)]);
}

#[test]
fn a_name_without_underscore_comes_before_one_with() {
    let both = metadata().replace("u32 cpu_id;", "u8 cpu_id; u8 _cpu_id; u8 x; u8 y;");
    let found = read(&open(&both, vec![("s", file(0x0907, &[Packet::new(0, (1, 2), &[1])]))]));
    assert_eq!(found.cpus, [Some(7)]);
}

#[test]
fn time_stamps_of_a_trace_without_a_clock_count_nanoseconds() {
    let trace =
        open(&[HEAD, STREAM].concat(), vec![("s", file(0, &[Packet::new(0, (1, 9), &[5])]))]);
    assert_eq!(read(&trace).times, [5]);
    let mut merge = trace.merge();
    let Some(Message::Event(event)) = merge.next() else { panic!("no event") };
    assert_eq!(event.clock().map(|clock| clock.frequency_hz), Some(1_000_000_000));
    // Without anything that tells the time there is none.
    let bare = HEAD.to_string()
        + "stream { event.header := struct { u8 id; }; };
        event { name = e; id = 193; fields := struct { u8 a; }; };";
    let trace = open(&bare, vec![]);
    assert_eq!(trace.clocks().len(), 0);
}

#[test]
fn a_packet_may_begin_before_the_one_before_it_ends() {
    let packets = [Packet::new(0, (10, 35), &[11, 20]), Packet::new(1, (30, 50), &[32, 40])];
    let found = read(&open(&metadata(), vec![("s", file(0, &packets))]));
    assert_eq!(found.times, [11, 20, 32, 40]);
    assert_eq!(found.problems, []);
    // Before the last event, too, as long as the events are in order.
    let packets = [Packet::new(0, (10, 35), &[11, 34]), Packet::new(1, (30, 50), &[34, 40])];
    let found = read(&open(&metadata(), vec![("s", file(0, &packets))]));
    assert_eq!(found.problems, []);
}

#[test]
fn events_and_ends_of_packets_that_go_back_in_time_are_told() {
    let packets = [Packet::new(0, (10, 35), &[11, 34]), Packet::new(1, (30, 50), &[33, 40])];
    let found = read(&open(&metadata(), vec![("s", file(0, &packets))]));
    assert_eq!(faults(&found.problems), [Fault::TimeBackwards { previous: 34, found: 33 }]);
    let packets = [Packet::new(0, (10, 35), &[11]), Packet::new(1, (12, 34), &[13])];
    let found = read(&open(&metadata(), vec![("s", file(0, &packets))]));
    assert_eq!(faults(&found.problems), [Fault::TimeBackwards { previous: 35, found: 34 }]);
}

#[test]
fn packets_are_found_again_at_every_byte_and_what_was_lost_is_told() {
    let packets: Vec<Packet> = (0..5)
        .map(|i| {
            let times = (i * 10 + 10, i * 10 + 19);
            Packet { padding_bytes: 1, ..Packet::new(i, times, &[i * 10 + 11, i * 10 + 12]) }
        })
        .collect();
    let size = packets[0].bytes(0).len();
    assert_eq!(size % 2, 1);
    let mut bytes = file(0, &packets);
    bytes[2 * size] ^= 0xff;
    let found = read(&open(&metadata(), vec![("s", bytes.clone())]));
    assert_eq!(found.times, [11, 12, 21, 22, 41, 42, 51, 52]);
    assert_eq!(faults(&found.problems), [Fault::Resynchronized { skipped_bytes: size as u64 }]);
    let shown = found.problems[0].to_string();
    assert!(shown.starts_with("s: packet 1, byte "), "{shown}");
    assert!(shown.contains(&format!("{size} bytes")), "{shown}");
    // An event that cannot be read costs the rest of its packet.
    let mut bytes = file(0, &packets);
    bytes[size + HEAD_BYTES] = 9;
    let found = read(&open(&metadata(), vec![("s", bytes)]));
    assert_eq!(found.problems[0].lost_bytes, 20);
    assert!(found.problems[0].to_string().ends_with("; 20 bytes were not read"));
    // A packet of another trace, and nothing after it.
    let mut bytes = file(0, &packets[..2]);
    let content = (8 * 8u64).to_le_bytes();
    bytes[size + 20..size + 28].copy_from_slice(&content);
    let found = read(&open(&metadata(), vec![("s", bytes)]));
    assert_eq!(found.problems[0].lost_bytes, size as u64);
}

#[test]
fn bytes_after_the_last_packet_are_told() {
    for more in 1..=9 {
        let bytes = [file(0, &[Packet::new(0, (10, 20), &[11])]), vec![0; more]].concat();
        let found = read(&open(&metadata(), vec![("s", bytes)]));
        assert_eq!(found.times, [11]);
        let fault = Fault::NoMorePackets { skipped_bytes: more as u64 };
        assert_eq!(faults(&found.problems), [fault]);
    }
}

#[test]
fn time_beyond_64_bits_of_nanoseconds_is_an_error() {
    for clock in ["offset_s = 9223372036854775807;", "offset_s = -9223372036854775808;"] {
        let text = metadata().replace("freq", &format!("{clock} freq"));
        let trace = open(&text, vec![("s", file(0, &[Packet::new(0, (10, 20), &[11])]))]);
        let shown = trace.problems()[0].to_string();
        assert!(shown.contains("beyond what 64 bits"), "{shown}");
        let mut merge = trace.merge();
        let Some(Message::Event(event)) = merge.next() else { panic!("no event") };
        assert!(event.clock().is_none(), "there is no time that could be told");
    }
    let slow = metadata().replace("freq = 1000000000", "freq = 1");
    let year_500 = 500 * 365 * 86_400;
    let packets = [
        Packet::new(0, (10, 20), &[11]),
        Packet::new(1, (30, year_500 + 9), &[31, year_500]),
        Packet::new(2, (year_500 + 10, year_500 + 19), &[year_500 + 11]),
    ];
    let found = read(&open(&slow, vec![("s", file(0, &packets))]));
    let beyond = |cycles| Fault::TimeTooLarge { cycles };
    assert_eq!(faults(&found.problems), [beyond(year_500), beyond(year_500 + 11)]);
    assert_eq!(found.times.len(), 3, "the last packet is left out");
    let clock: &Clock = &open(&slow, Vec::new()).clocks()[0].clone();
    assert_eq!(clock.checked_ns(trace::Cycles(year_500)), None);
    assert_eq!(clock.checked_ns(trace::Cycles(7)), Some(trace::Ns(7_000_000_000)));
}

/// Metadata of a trace whose packets begin with its UUID, 01 to 10.
fn metadata_with_uuid() -> String {
    metadata()
        .replace("trace {", "trace { uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\";")
        .replace("u32 magic;", "u32 magic; u8 uuid[16];")
}

/// A file of one packet, whose UUID is the numbers from `first` on.
fn file_of_trace(first: u8) -> Vec<u8> {
    let mut bytes = file(0, &[Packet::new(0, (10, 20), &[11])]);
    bytes.splice(4..4, first..first + 16);
    let size_bits = (bytes.len() as u64 * 8).to_le_bytes();
    bytes.splice(36..52, [size_bits, size_bits].concat());
    bytes
}

#[test]
fn a_file_without_a_packet_of_the_trace_says_why() {
    let files = vec![("other", file_of_trace(0)), ("own", file_of_trace(1))];
    let trace = open(&metadata_with_uuid(), files);
    let shown: Vec<String> = trace.problems().iter().map(Problem::to_string).collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].starts_with("other: packet 0, byte 0: the packet's UUID"), "{shown:?}");
    assert_eq!(read(&trace).times, [11], "those of the other file are not the trace's");
}

#[test]
fn packets_that_are_all_of_one_other_trace_are_read_and_told() {
    let files = || vec![("a", file_of_trace(3)), ("b", file_of_trace(3)), ("empty", Vec::new())];
    let found = read(&open(&metadata_with_uuid(), files()));
    assert_eq!(found.times, [11, 11]);
    let shown: Vec<String> = found.problems.iter().map(Problem::to_string).collect();
    let want = "metadata: line 1: the metadata is of trace 01020304-0506-0708-090a-0b0c0d0e0f10, \
        the packets are of trace 03040506-0708-090a-0b0c-0d0e0f101112: they are read by it";
    assert_eq!(shown, [want]);
    let two = vec![("a", file_of_trace(3)), ("b", file_of_trace(4))];
    let found = read(&open(&metadata_with_uuid(), two));
    assert_eq!(faults(&found.problems), [Fault::WrongUuid; 2]);
    let mut own_later = file_of_trace(3);
    own_later.extend(file_of_trace(1));
    let found = read(&open(&metadata_with_uuid(), vec![("a", own_later)]));
    assert_eq!(found.times, [11]);
    assert_eq!(faults(&found.problems), [Fault::WrongUuid]);
}

#[test]
fn events_after_the_end_are_no_damage_where_the_tracer_noted_ends_early() {
    let by = |tracer: &str, version: [u32; 3]| {
        let [major, minor, patch] = version;
        let environment = format!(
            "env {{ tracer_name = \"{tracer}\"; tracer_major = {major}; tracer_minor = {minor};
            tracer_patchlevel = {patch}; }};\n"
        );
        let files = vec![("s", file(0, &[Packet::new(0, (10, 20), &[11, 21])]))];
        let found = read(&open(&[metadata(), environment].concat(), files));
        assert_eq!(found.times, [11, 21]);
        faults(&found.problems)
    };
    let damage = [Fault::PastPacketEnd { end: 20, found: 21 }];
    for version in [[1, 9, 9], [2, 9, 12], [2, 10, 0], [2, 10, 9]] {
        assert_eq!(by("lttng-modules", version), []);
        assert_eq!(by("lttng-ust", version), []);
        assert_eq!(by("lull", version), damage);
    }
    for version in [[2, 9, 13], [2, 10, 10]] {
        assert_eq!(by("lttng-modules", version), damage);
        assert_eq!(by("lttng-ust", version), []);
    }
    for version in [[2, 11, 0], [3, 0, 0]] {
        assert_eq!(by("lttng-modules", version), damage);
        assert_eq!(by("lttng-ust", version), damage);
    }
}

#[test]
fn events_after_an_end_that_was_noted_early_are_in_the_span_of_their_time() {
    let environment =
        "env { tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 10; };\n";
    let packets = [
        Packet::new(0, (10, 20), &[11, 25]),
        Packet::new(1, (30, 40), &[31]),
        Packet::new(2, (50, 60), &[51, 69]),
    ];
    let trace = [open(&[metadata(), environment.into()].concat(), vec![("s", file(0, &packets))])];
    let since = |from| {
        let span = Span { from: Some(Ns(from)), until: None };
        let mut merge = Merge::between(&trace, &span);
        let mut times = Vec::new();
        while let Some(message) = merge.next() {
            if let Message::Event(event) = message {
                if !event.is_before_span() {
                    times.push(event.time_ns().0);
                }
            }
        }
        times
    };
    assert_eq!(since(22), [25, 31, 51, 69]);
    assert_eq!(since(31), [31, 51, 69]);
    assert_eq!(since(61), [69]);
}

/// Packets one after the other, with so many events discarded until the end of each.
fn packets(first: u64, discarded: &[u64]) -> Vec<Packet> {
    let packet = |(index, discarded): (usize, &u64)| {
        let number = first + index as u64;
        let begin = number * 10 + 10;
        Packet::new(number, (begin, begin + 9), &[begin + 1]).discarded(*discarded)
    };
    discarded.iter().enumerate().map(packet).collect()
}

fn lost(found: &Read) -> Vec<(u64, Option<u64>)> {
    found.losses.iter().map(|loss| (loss.count, loss.begin.map(|at| at.0))).collect()
}

#[test]
fn losses_of_one_stream_in_several_files_are_counted_once() {
    // A tracer that begins a new file at a size, or when it is told to: its counters go on.
    let files = vec![
        ("chan_1", file(0, &packets(2, &[7, 7]))),
        ("chan_0", file(0, &packets(0, &[3, 5]))),
        ("chan_2", file(0, &packets(4, &[7, 9]))),
        ("other_0", file(1, &packets(0, &[1, 1]))),
        ("other_1", file(1, &packets(2, &[1, 1]))),
    ];
    let found = read(&open(&metadata(), files));
    assert_eq!(found.problems, []);
    let mut counts = lost(&found);
    counts.sort();
    assert_eq!(counts, [(1, None), (2, Some(19)), (2, Some(29)), (2, Some(59)), (3, None)]);
    let causes: u64 = found.losses.iter().flat_map(|loss| &loss.causes).map(|(_, n)| n).sum();
    assert_eq!(causes, 10);
}

#[test]
fn losses_between_traces_of_one_stream_are_counted_once() {
    let uuid = "trace { uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\";";
    let text = metadata().replace("trace {", uuid);
    let chunks = [
        open(&text, vec![("chan", file(0, &packets(0, &[3, 5])))]),
        open(&text, vec![("chan", file(0, &packets(2, &[5, 6])))]),
        open(&metadata(), vec![("chan", file(0, &packets(4, &[6])))]),
    ];
    let mut merge = trace::Merge::over(&chunks);
    let mut count = 0;
    while let Some(message) = merge.next() {
        if let Message::Loss(message) = message {
            count += message.loss.count;
        }
    }
    assert_eq!(count, 6);
    // The third is of another trace.
    let beginnings: Vec<_> = merge.beginnings().map(|b| (b.packet_number, b.discarded)).collect();
    assert_eq!(beginnings, [(4, 6)]);
}

/// Times of the events of several traces, what was lost, and of which streams packets are read in
/// another trace.
fn read_together(traces: &[Trace], span: &Span) -> (Vec<i64>, Vec<u64>, Vec<(usize, usize)>) {
    let mut merge = trace::Merge::between(traces, span);
    let (mut times, mut lost) = (Vec::new(), Vec::new());
    while let Some(message) = merge.next() {
        match message {
            Message::Event(event) if event.is_before_span() => {}
            Message::Event(event) => times.push(event.time_ns().0),
            Message::Loss(message) => lost.push(message.loss.count),
        }
    }
    assert_eq!(merge.problems(), []);
    let told = merge.repeated().map(|repeated| (repeated.trace_index, repeated.read_in)).collect();
    (times, lost, told)
}

#[test]
fn packets_of_snapshots_that_overlap_are_read_once() {
    let uuid = "trace { uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\";";
    let text = metadata().replace("trace {", uuid);
    let all = |packets: &[Packet]| open(&text, vec![("chan", file(0, packets))]);
    // The first snapshot ends in packet 6, of which the second one has another event.
    let mut first = packets(3, &[4, 4, 6]);
    first.push(Packet::new(6, (70, 72), &[71]).discarded(6));
    let mut second = packets(5, &[6]);
    second.push(Packet::new(6, (70, 79), &[71, 75]).discarded(7));
    second.extend(packets(7, &[7]));
    let times = [41, 51, 61, 71, 75, 81];
    let traces = [all(&first), all(&second)];
    let found = read_together(&traces, &Span::ALL);
    assert_eq!(found, (times.to_vec(), vec![2, 1], vec![(0, 1)]));
    let span = Span { from: Some(Ns(50)), until: Some(Ns(75)) };
    assert_eq!(read_together(&traces, &span).0, [51, 61, 71]);
    let span = Span { from: Some(Ns(75)), until: None };
    assert_eq!(read_together(&traces, &span).0, [75, 81]);
    // In any order, with a third one that has nothing of its own, and one that is given twice.
    let traces = [all(&second), all(&first[..2]), all(&first), all(&second)];
    assert_eq!(read_together(&traces, &Span::ALL).0, times);
    let found = read_together(&[all(&first), all(&first[..2])], &Span::ALL);
    assert_eq!(found, (times[..4].to_vec(), vec![2], vec![(1, 0)]));
    // A packet of that number that begins at another time is another packet, ...
    second[0].times.0 += 1;
    let found = read_together(&[all(&first), all(&second)], &Span::ALL);
    assert_eq!((found.0.len(), found.2), (4 + 4, Vec::new()));
    // ... and traces without a UUID may be of anyone.
    let of_nobody = |packets| open(&metadata(), vec![("chan", file(0, packets))]);
    let traces = [of_nobody(&first), of_nobody(&first)];
    assert_eq!(read_together(&traces, &Span::ALL).0.len(), 8);
}

#[test]
fn a_packet_that_is_missing_between_files_is_lost_with_its_events() {
    let files =
        vec![("chan_0", file(0, &packets(0, &[0, 1]))), ("chan_1", file(0, &packets(4, &[9, 9])))];
    let found = read(&open(&metadata(), files));
    assert_eq!(lost(&found), [(1, Some(19)), (2, Some(29)), (8, Some(29))]);
}

#[test]
fn what_was_discarded_before_the_first_packet_that_is_there_is_not_counted_and_told() {
    let trace = open(&metadata(), vec![("chan_3", file(0, &packets(6, &[15_940, 15_947])))]);
    let mut merge = trace.merge();
    let mut losses = Vec::new();
    while let Some(message) = merge.next() {
        if let Message::Loss(message) = message {
            losses.push(message.loss.count);
        }
    }
    assert_eq!(losses, [7]);
    let told: Vec<_> = merge.beginnings().collect();
    assert_eq!((told[0].packet_number, told[0].discarded), (6, 15_940));
    assert_eq!((told[0].trace_index, told[0].file.to_str()), (0, Some("chan_3")));
}

#[test]
fn files_that_only_look_alike_are_streams_of_their_own() {
    let files = vec![
        ("a", file(0, &packets(0, &[3, 5]))),
        ("b", file(0, &packets(0, &[1, 2]))),
        ("c", file(0, &packets(1, &[2]))),
    ];
    let found = read(&open(&metadata(), files));
    assert_eq!(found.problems, []);
    let counts: u64 = found.losses.iter().map(|loss| loss.count).sum();
    assert_eq!(counts, 5 + 2);
}
