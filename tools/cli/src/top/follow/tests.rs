// SPDX-License-Identifier: MIT
//! Files that grow under the follower, whole packet by whole packet or not, and those that end,
//! are damaged or go away. Moments are given, so that nothing depends on time.

use super::*;
use analysis::live::{Live, Picture};
use session::abi::PACKET_HEADER_BYTES;
use std::io::Write;
use testkit::program::{packet_ends as ends, Program, Who};
use testkit::{Random, TraceFolder};

const MAIN: Who = (10, 10, "main");

/// A trace of packets that each have one call, on each of so many CPUs.
fn files(packets: u64, cpus: u32) -> (String, Vec<Vec<u8>>) {
    let mut program = Program::new();
    for packet in 0..packets {
        for cpu in 0..cpus {
            let at = packet * 1_000 + 100 * u64::from(cpu) + 1;
            program.event(at, cpu, MAIN, "job:run_begin", &[]);
            program.event(at + 50, cpu, MAIN, "job:run_end", &[]);
            program.end_packet(at + 60, cpu, [0; 4]);
        }
    }
    let (metadata, streams) = program.files();
    (metadata, streams.into_iter().map(|(_, bytes)| bytes).collect())
}

fn append(folder: &TraceFolder, stream: usize, bytes: &[u8]) {
    let path = folder.path().join(format!("stream_{stream}"));
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Looks, and reads what is due when the delay has passed.
fn pass(follower: &mut Follower, live: &mut Live) -> anyhow::Result<(Picture, Share)> {
    let now = Instant::now();
    follower.look(now)?;
    let share = follower.part(now + DELAY, false, |part| live.read(part))?;
    Ok((live.picture(), share))
}

fn newest(follower: &mut Follower) -> Option<(usize, bool)> {
    let now = Instant::now();
    follower.look(now).unwrap();
    let Newest { trace, has_older } = follower.newest(now + DELAY, false).unwrap()?;
    let mut merge = trace::Merge::between(std::slice::from_ref(&trace), &trace::Span::ALL);
    let mut events = 0;
    while let Some(message) = merge.next() {
        let is_job = |event: &trace::Event<'_>| event.name().starts_with("job:");
        events += usize::from(matches!(&message, trace::Message::Event(e) if is_job(e)));
    }
    Some((events, has_older))
}

#[test]
fn the_newest_packets_are_read_again_with_those_that_came_and_older_ones_go() {
    let (metadata, streams) = files(20, 1);
    let ends = ends(&streams[0]);
    let folder = TraceFolder::new(&metadata, &[streams[0][..ends[5]].to_vec()]).unwrap();
    let room = ends[10] as u64;
    let mut follower = Follower::behind(folder.path(), room).unwrap();
    assert_eq!(newest(&mut follower), Some((10, false)), "what was there before is shown, too");
    assert_eq!(newest(&mut follower), None, "nothing has come");
    append(&folder, 0, &streams[0][ends[5]..ends[7]]);
    assert_eq!(newest(&mut follower), Some((14, false)));
    append(&folder, 0, &streams[0][ends[7]..ends[20]]);
    let (events, has_older) = newest(&mut follower).unwrap();
    // The first packets are the longest.
    assert!(has_older && (12..=24).contains(&events), "{events}");
}

#[test]
fn what_is_written_is_read_once_from_where_the_file_ended_at_the_beginning() {
    let (metadata, streams) = files(10, 1);
    let ends = ends(&streams[0]);
    let folder = TraceFolder::new(&metadata, &[streams[0][..ends[3]].to_vec()]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    assert_eq!(pass(&mut follower, &mut live).unwrap().0.events, 0, "it was there before");
    let mut events = Vec::new();
    for packet in 3..10 {
        append(&folder, 0, &streams[0][ends[packet]..ends[packet + 1]]);
        let (picture, share) = pass(&mut follower, &mut live).unwrap();
        assert_eq!(share.of_all(), 1.0);
        events.push(picture.events);
    }
    assert_eq!(events, [2; 7]);
    let (picture, _) = pass(&mut follower, &mut live).unwrap();
    assert_eq!((picture.events, picture.calls[0].duration.count), (0, 7));
    assert_eq!((picture.late_events, picture.problems, picture.unmeasured_calls), (0, 0, 0));
    let (_, cpu, counters) = follower.counters().next().unwrap();
    assert_eq!((cpu, counters.packets, counters.bytes), (Some(0), 10, ends[10] as u64));
}

#[test]
fn packet_that_is_half_written_is_left_until_it_is_whole() {
    let (metadata, streams) = files(3, 1);
    let ends = ends(&streams[0]);
    let folder = TraceFolder::new(&metadata, &[streams[0][..ends[1]].to_vec()]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    let packet = &streams[0][ends[1]..ends[2]];
    let mut events = Vec::new();
    for cut in [0..5, 5..PACKET_HEADER_BYTES, PACKET_HEADER_BYTES..packet.len() - 1] {
        append(&folder, 0, &packet[cut]);
        events.push(pass(&mut follower, &mut live).unwrap().0.events);
    }
    append(&folder, 0, &packet[packet.len() - 1..]);
    events.push(pass(&mut follower, &mut live).unwrap().0.events);
    assert_eq!(events, [0, 0, 0, 2]);
    assert!(follower.complaints().is_empty(), "{:?}", follower.complaints());
}

#[test]
fn part_ends_where_all_cpus_have_written_and_the_last_part_takes_the_rest() {
    let (metadata, streams) = files(4, 2);
    let folder = TraceFolder::new(&metadata, &[]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    let begun = Instant::now();
    append(&folder, 0, &streams[0][..ends(&streams[0])[2]]);
    follower.look(begun).unwrap();
    let mut part = |follower: &mut Follower, now: Instant, is_last: bool| {
        follower.part(now, is_last, |part| live.read(part)).unwrap();
        live.picture()
    };
    assert_eq!(part(&mut follower, begun + DELAY / 2, false).events, 0, "the other may come yet");
    append(&folder, 1, &streams[1][..ends(&streams[1])[3]]);
    follower.look(begun + DELAY / 2).unwrap();
    let picture = part(&mut follower, begun + DELAY, false);
    assert_eq!((picture.events, picture.late_events), (4 + 2, 0), "up to the end of the first");
    append(&folder, 0, &streams[0][ends(&streams[0])[2]..]);
    append(&folder, 1, &streams[1][ends(&streams[1])[3]..]);
    follower.look(begun + DELAY).unwrap();
    let picture = part(&mut follower, begun + DELAY, true);
    assert_eq!((picture.events, picture.calls[0].duration.count), (10, 8));
    assert_eq!((picture.late_events, picture.unmeasured_calls), (0, 0));
}

#[test]
fn more_than_can_be_read_is_passed_over_and_told() {
    let (metadata, streams) = files(400, 2);
    let folder = TraceFolder::new(&metadata, &[]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    follower.budget_bytes = (streams[0].len() / 4) as u64;
    (0..2).for_each(|cpu| append(&folder, cpu, &streams[cpu]));
    let (picture, share) = pass(&mut follower, &mut live).unwrap();
    let read = share.of_all();
    assert!((0.1..0.15).contains(&read), "an eighth of both: {read}");
    let wanted = (1600.0 * read) as u64;
    assert!(picture.events.abs_diff(wanted) < 20, "{} for {wanted}", picture.events);
    assert_eq!((picture.late_events, picture.problems), (0, 0));
    assert!(picture.covered_ns < 60_000, "rates are of what is shown: {}", picture.covered_ns);
    assert_eq!(pass(&mut follower, &mut live).unwrap().0.events, 0);
}

#[test]
fn packet_that_reaches_into_what_is_passed_over_is_not_called_late() {
    let mut program = Program::new();
    for at in 0..1_000 {
        program.event(at * 100 + 1, 0, MAIN, "job:step", &[]);
        program.end_packet(at * 100 + 2, 0, [0; 4]);
        program.event(at * 100 + 3, 1, MAIN, "job:step", &[]);
    }
    let (metadata, streams) = program.files();
    let folder = TraceFolder::new(&metadata, &[]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    append(&folder, 0, &streams[0].1[..ends(&streams[0].1)[1]]);
    assert_eq!(pass(&mut follower, &mut live).unwrap().0.events, 1);
    follower.budget_bytes = (streams[0].1.len() / 2) as u64;
    append(&folder, 0, &streams[0].1[ends(&streams[0].1)[1]..]);
    append(&folder, 1, &streams[1].1);
    let (picture, share) = pass(&mut follower, &mut live).unwrap();
    assert!(share.of_all() < 0.9 && picture.events > 100, "{share:?} {}", picture.events);
    assert_eq!(picture.late_events, 0);
}

#[test]
fn budget_follows_what_reading_takes_within_its_bounds() {
    let folder = TraceFolder::new(&files(1, 1).0, &[]).unwrap();
    let mut follower = Follower::open(folder.path()).unwrap();
    let second = Duration::from_secs(1);
    (0..20).for_each(|_| follower.adjust(second, second));
    assert_eq!(follower.budget_bytes, BUDGET_BYTES_MIN);
    (0..20).for_each(|_| follower.adjust(Duration::ZERO, second));
    assert_eq!(follower.budget_bytes, BUDGET_BYTES_MAX);
}

#[test]
fn metadata_that_describes_more_is_read_before_packets_that_need_it() {
    let mut program = Program::new();
    program.event(1_000, 0, MAIN, "job:a", &[]);
    program.end_packet(1_100, 0, [0; 4]);
    let (metadata, _) = program.files();
    program.event(2_000, 0, MAIN, "job:b", &[]);
    let (more, streams) = program.files();
    let folder = TraceFolder::new(&metadata, &[]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    let first = ends(&streams[0].1)[1];
    append(&folder, 0, &streams[0].1[..first]);
    assert_eq!(pass(&mut follower, &mut live).unwrap().0.events, 1);
    fs::write(folder.path().join("new"), more).unwrap();
    fs::rename(folder.path().join("new"), folder.path().join(METADATA)).unwrap();
    append(&folder, 0, &streams[0].1[first..]);
    let (picture, _) = pass(&mut follower, &mut live).unwrap();
    let names: Vec<_> = picture.by_event.iter().map(|row| (&*row.name, row.events)).collect();
    assert_eq!((names, picture.problems), (vec![("job:a", 1), ("job:b", 1)], 0));
}

#[test]
fn file_that_is_cut_or_damaged_is_told_and_others_are_followed() {
    let (metadata, streams) = files(6, 3);
    let folder = TraceFolder::new(&metadata, &[]).unwrap();
    fs::write(folder.path().join("notes"), "these are not packets of this trace").unwrap();
    fs::write(folder.path().join("index"), vec![0; 4096]).unwrap();
    let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
    for (cpu, stream) in streams.iter().enumerate() {
        append(&folder, cpu, &stream[..ends(stream)[2]]);
    }
    assert_eq!(pass(&mut follower, &mut live).unwrap().0.events, 12);
    let cut = fs::OpenOptions::new().write(true).open(folder.path().join("stream_0")).unwrap();
    cut.set_len(100).unwrap();
    append(&folder, 1, &[0; PACKET_HEADER_BYTES]);
    append(&folder, 2, &streams[2][ends(&streams[2])[2]..]);
    assert_eq!(pass(&mut follower, &mut live).unwrap().0.events, 8);
    let complaints = follower.complaints();
    assert!(complaints[0].contains("stream_0") && complaints[0].contains("cut to 100 bytes"));
    assert!(complaints[1].contains("stream_1") && complaints[1].contains("no packet begins"));
    assert_eq!(complaints.len(), 2, "{complaints:?}");
}

#[test]
fn directory_that_is_gone_or_replaced_is_an_error_that_says_so() {
    let (metadata, streams) = files(1, 1);
    let folder = TraceFolder::new(&metadata, &streams).unwrap();
    let mut follower = Follower::open(folder.path()).unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    let gone = follower.look(Instant::now()).unwrap_err().to_string();
    assert!(gone.contains("not there any more"), "{gone}");
    let other = TraceFolder::new(&metadata, &[]).unwrap();
    fs::rename(other.path(), folder.path()).unwrap();
    let replaced = follower.look(Instant::now()).unwrap_err().to_string();
    assert!(replaced.contains("another directory"), "{replaced}");
}

#[test]
fn random_bytes_in_headers_and_packets_are_survived_within_bounds() {
    let (metadata, streams) = files(30, 2);
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let folder = TraceFolder::new(&metadata, &[]).unwrap();
        let (mut follower, mut live) = (Follower::open(folder.path()).unwrap(), Live::new());
        for (cpu, stream) in streams.iter().enumerate() {
            let mut bytes = stream.clone();
            let packet = *random.pick(&ends(stream)[..30]);
            for _ in 0..1 + random.below(4) {
                let at = packet + random.below(PACKET_HEADER_BYTES as u64 + 30) as usize;
                bytes[at] = random.below(256) as u8;
            }
            let half = random.below(bytes.len() as u64) as usize;
            append(&folder, cpu, &bytes[..half]);
            pass(&mut follower, &mut live).unwrap();
            append(&folder, cpu, &bytes[half..]);
        }
        let (picture, share) = pass(&mut follower, &mut live).unwrap();
        let whole = (streams[0].len() + streams[1].len()) as u64;
        assert!(share.read_bytes + share.passed_bytes <= whole, "seed {seed}");
        assert!(picture.events <= 200, "seed {seed}");
    }
}

#[test]
fn time_and_gaps_of_one_lane_are_not_anothers() {
    let mut program = Program::new();
    for packet in 0..3 {
        for (cpu, at) in [(0, 1_000 * packet + 1), (1, 1_000_000_000_000 + 1_000 * packet)] {
            program.event(at, cpu, MAIN, "job:run_begin", &[]);
            program.event(at + 50, cpu, MAIN, "job:run_end", &[]);
            program.end_packet(at + 60, cpu, [0; 4]);
        }
    }
    let (metadata, streams) = program.files_of_two_classes();
    let [first, second] = [ends(&streams[0]), ends(&streams[1])];
    for is_apart in [true, false] {
        let folder = TraceFolder::new(&metadata, &[]).unwrap();
        let lane_of: fn(u32) -> u32 = if is_apart { |class| class } else { |_| 0 };
        let mut follower = Follower::open_apart(folder.path(), lane_of).unwrap();
        let mut lives = [Live::new(), Live::new()];
        let mut told = Vec::new();
        for packet in 0..3 {
            append(&folder, 1, &streams[1][second[packet]..second[packet + 1]]);
            append(&folder, 0, &streams[0][first[packet]..first[packet + 1]]);
            let now = Instant::now();
            follower.look(now).unwrap();
            let read = |lane, part: &Part<'_>| lives[lane as usize].read(part);
            follower.parts(now + DELAY, false, read).unwrap();
            told.push(lives.each_mut().map(|live| live.picture().events));
        }
        match is_apart {
            true => assert_eq!(told, [[2, 2]; 3]),
            false => assert_eq!(told, [[4, 0], [2, 0], [2, 0]], "what is of the past is too late"),
        }
    }
}
