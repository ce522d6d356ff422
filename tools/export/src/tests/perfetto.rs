// SPDX-License-Identifier: MIT
//! Perfetto's packets, decoded again. That their fields are Perfetto's is for tests/export.

use prost::Message;

use super::*;
use crate::perfetto::messages::*;

#[derive(Clone, PartialEq, Message)]
struct Packets {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn packets(program: &Program, options: &Options<'_>) -> (Vec<TracePacket>, Done) {
    let (out, done) = written(&[program], Format::Perfetto, options).unwrap();
    (Packets::decode(&out[..]).unwrap().packet, done)
}

/// What was drawn, a line each: time, kind, name of the row, name, arguments, arrows.
fn drawn(packets: &[TracePacket]) -> Vec<String> {
    let (mut names, mut arguments, mut rows) = (vec![], vec![], vec![]);
    let mut lines = Vec::new();
    for packet in packets {
        let interned = packet.interned_data.clone().unwrap_or_default();
        names.extend(interned.event_names);
        arguments.extend(interned.debug_annotation_names);
        if let Some(row) = &packet.track_descriptor {
            let thread = row.thread.as_ref().and_then(|thread| thread.thread_name.clone());
            let process = row.process.as_ref().and_then(|process| process.process_name.clone());
            rows.push((row.uuid, row.name.clone().or(thread).or(process).unwrap_or_default()));
        }
        let Some(event) = &packet.track_event else { continue };
        let text = |known: &[InternedName], iid: Option<u64>| {
            let found = known.iter().find(|name| name.iid == iid);
            found.and_then(|name| name.name.clone()).unwrap_or_default()
        };
        let row = rows.iter().find(|(uuid, _)| *uuid == event.track_uuid).expect("a known row");
        let kind = ["", "begin", "end", "instant", "counter"][event.kind.unwrap() as usize];
        let mut line = format!("{} {kind} [{}]", packet.timestamp.unwrap(), row.1);
        if let Some(iid) = event.name_iid {
            line += &format!(" {}", text(&names, Some(iid)));
        }
        for argument in &event.debug_annotations {
            let name = text(&arguments, argument.name_iid);
            let value = match argument {
                DebugAnnotation { string_value: Some(text), .. } => text.clone(),
                DebugAnnotation { int_value: Some(value), .. } => value.to_string(),
                DebugAnnotation { uint_value: Some(value), .. } => value.to_string(),
                _ => panic!("{argument:?}"),
            };
            line += &format!(" {name}={value}");
        }
        line.extend(event.counter_value.map(|value| format!(" {value}")));
        line.extend(event.flow_ids.iter().map(|id| format!(" tail{id}")));
        line.extend(event.terminating_flow_ids.iter().map(|id| format!(" head{id}")));
        lines.push(line);
    }
    lines
}

#[test]
fn calls_are_slices_and_an_open_one_has_no_end() {
    let (packets, done) = packets(&server(), &Options::default());
    let ms = 1_000_000;
    let wanted = [
        format!("{} begin [server] job id=7 cpu=0", ms),
        format!("{} begin [server] io:read fd=3 count=512 cpu=0", 2 * ms),
        format!("{} begin [worker] mutex:wait mutex=160 cpu=1", 3 * ms),
        format!("{} end [server] result=-5 error=5", 4 * ms),
        format!("{} instant [server] mutex:unlock mutex=160 cpu=0 tail1", 5 * ms),
        format!("{} instant [worker] goes on head1", 6 * ms),
        format!("{} end [worker] mutex=160 result=0", 6 * ms),
        format!("{} counter [queue:length.length] 42", 7 * ms),
        format!("{} begin [worker] io:read fd=4 count=1 cpu=1", 8 * ms),
        format!("{} end [server] name=a \"b\"\n", 9 * ms),
    ];
    assert_eq!(drawn(&packets), wanted);
    assert_eq!((done.events, done.open_calls, done.cut_calls), (9, 1, 0));
}

#[test]
fn threads_are_described_by_their_numbers_before_their_events() {
    let (packets, _) = packets(&server(), &Options::default());
    let described = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let numbers: Vec<_> = described
        .filter_map(|row| row.thread.as_ref().map(|thread| (thread.pid, thread.tid)))
        .collect();
    assert_eq!(numbers, [(Some(10), Some(10)), (Some(10), Some(11))]);
    let process = packets.iter().find_map(|p| p.track_descriptor.as_ref()?.process.as_ref());
    assert_eq!(process.unwrap().process_name.as_deref(), Some("server"));
    let first = &packets[0];
    assert_eq!(first.sequence_flags, Some(STATE_CLEARED));
    assert_eq!(first.clock_snapshot.as_ref().unwrap().clocks.len(), 2);
}

#[test]
fn call_that_outlives_the_one_around_it_is_cut_there_and_goes_on_in_a_row_of_its_own() {
    let (packets, done) = packets(&crossing(), &Options::default());
    let wanted = [
        "100 begin [server] job cpu=0",
        "200 begin [server] half cpu=0",
        "300 end [server] lull=end not seen: it ends here at the latest for the call around it",
        "300 end [server]",
        "300 begin [overlapping calls] half cpu=0 lull=overlaps: the call around it ended before",
        "500 end [overlapping calls]",
        "600 instant [server] half:end cpu=0",
    ];
    assert_eq!(drawn(&packets), wanted);
    assert_eq!((done.cut_calls, done.exits_without_entry), (1, 1));
}

#[test]
fn losses_are_slices_from_what_was_known_before_to_what_tells_of_them() {
    let (packets, done) = packets(&losing(), &Options::default());
    let lost: Vec<_> = drawn(&packets).into_iter().filter(|line| line.contains("Lost")).collect();
    let begin = "300 begin [Lost, CPU 1] 3 events lost full=2 too_big=1";
    assert_eq!(lost, [begin, "500 end [Lost, CPU 1]"]);
    assert_eq!(done.lost_events, 3);
}

#[test]
fn slice_of_a_call_that_events_were_lost_in_ends_at_the_next_exit() {
    let mut program = Program::new();
    program.event(100, 1, MAIN, "half:begin", &[]);
    program.end_packet(200, 1, [0, 0, 0, 0]);
    program.event(300, 1, MAIN, "half:end", &[]);
    program.end_packet(400, 1, [2, 0, 0, 0]);
    program.event(500, 1, MAIN, "a:b", &[]);
    let (packets, done) = packets(&program, &Options::default());
    let calls: Vec<_> =
        drawn(&packets).into_iter().filter(|line| line.contains("[server]")).collect();
    let wanted = ["100 begin [server] half cpu=1", "300 end [server]"];
    assert_eq!(calls[..2], wanted, "{calls:?}");
    assert_eq!((done.cut_calls, done.exits_without_entry), (0, 0));
}

#[test]
fn switches_and_wakings_are_the_kernels_own_events_and_waking_leads_to_the_woken() {
    let (packets, _) = packets(&scheduled(), &Options::default());
    let bundles: Vec<_> = packets.iter().filter_map(|p| p.ftrace_events.as_ref()).collect();
    assert_eq!((bundles.len(), bundles[0].cpu), (1, Some(0)));
    let [first, waking, last] = &bundles[0].event[..] else { panic!("{bundles:?}") };
    let switch = first.sched_switch.as_ref().unwrap();
    assert_eq!((switch.prev_pid, switch.next_pid, switch.prev_state), (Some(0), Some(10), Some(1)));
    assert_eq!(last.sched_switch.as_ref().unwrap().next_comm.as_deref(), Some("worker"));
    let woken = waking.sched_waking.as_ref().unwrap();
    assert_eq!((waking.timestamp, waking.pid, woken.pid), (Some(200), Some(10), Some(11)));
    let arrows: Vec<_> = drawn(&packets)
        .into_iter()
        .filter(|line| line.contains("tail") || line.contains("head"))
        .map(|line| line.split(" comm=").next().unwrap().to_string())
        .collect();
    let wanted = [
        "200 instant [server] sched:sched_waking",
        "400 begin [worker] io:read fd=3 count=1 cpu=0 head1",
    ];
    assert_eq!(arrows, wanted);
}

#[test]
fn fields_that_are_named_become_counters_and_arrows() {
    let mut program = Program::new();
    program.event(100, 0, MAIN, "net:send", &[("id", Number(5)), ("left", Number(2))]);
    program.event(200, 1, WORKER, "net:got", &[("message", Number(5))]);
    program.event(300, 1, WORKER, "net:got", &[("message", Number(6))]);
    let name = |event: &str, field: &str| (event.to_string(), field.to_string());
    let rule = crate::FlowRule { from: name("net:send", "id"), to: name("net:got", "message") };
    let options = Options {
        counters: vec![name("net:send", "left")],
        flows: vec![rule],
        ..Options::default()
    };
    let (packets, _) = packets(&program, &options);
    let wanted = [
        "100 counter [net:send.left] 2",
        "100 instant [server] net:send id=5 left=2 cpu=0 tail1",
        "200 instant [worker] net:got message=5 cpu=1 head1",
        "300 instant [worker] net:got message=6 cpu=1",
    ];
    assert_eq!(drawn(&packets), wanted);
    for counter in [name("net:send", "right"), name("net:lost", "left")] {
        let options = Options { counters: vec![counter], ..Options::default() };
        let error = written(&[&program], Format::Perfetto, &options).unwrap_err();
        assert!(error.to_string().starts_with("no event net:"), "{error}");
    }
}

#[test]
fn what_is_not_asked_for_is_not_written_and_an_exit_alone_shows_the_whole_call() {
    let wanted = |names: &[&str], _: Option<i64>| names.contains(&"io:read_exit");
    let options = Options { wanted: Some(&wanted), ..Options::default() };
    let (packets, done) = packets(&server(), &options);
    let wanted = [
        "2000000 begin [overlapping calls] io:read result=-5 error=5 cpu=0",
        "4000000 end [overlapping calls]",
    ];
    assert_eq!(drawn(&packets), wanted);
    assert_eq!(done.events, 1);
}

#[test]
fn threads_of_several_machines_are_rows_with_names() {
    let (mut one, mut other) = (server(), server());
    one.environment = "hostname = \"alpha\";".into();
    other.environment = "hostname = \"beta\";".into();
    let (out, _) = written(&[&one, &other], Format::Perfetto, &Options::default()).unwrap();
    let packets = Packets::decode(&out[..]).unwrap().packet;
    let rows: Vec<_> = packets.iter().filter_map(|p| p.track_descriptor.as_ref()).collect();
    assert!(rows.iter().all(|row| row.thread.is_none() && row.process.is_none()));
    let names: Vec<_> = rows.iter().filter_map(|row| row.name.as_deref()).collect();
    assert!(names.contains(&"alpha: worker[11]") && names.contains(&"beta: worker[11]"));
}
