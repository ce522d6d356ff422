// SPDX-License-Identifier: MIT
//! Writes the trace of a made-up machine: `machine_trace FOLDER [SIZE] [CPUS]`, where SIZE is
//! megabytes, or events as in `1000000events`.
//!
//! Place in the flow: for timing what follows states. Threads of each CPU take turns, serve
//! requests, make system calls, sleep in them, wake each other and are interrupted; a stretch of 64
//! packets is drawn at random and repeated, later each time, until the trace is long enough.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use testkit::{offset, Datum, Kind, Order, Random, Spec, StreamWriter};

const PACKETS: usize = 64;
const PACKET_EVENTS: usize = 10_000;
/// The last packets of a stretch, in which requests only end.
const QUIET_PACKETS: usize = 8;
const THREADS: usize = 24;
/// Event headers keep the low 24 bits of times, and they are copied.
const GRANULE_NS: u64 = 1 << 27;
const CALLS: [&str; 4] = ["read", "write", "openat", "futex"];

fn spec() -> Spec {
    let order = Order::native();
    let number = || Kind::u(32, order);
    let name = || Kind::CharArray(16);
    let thread = vec![("pid", number()), ("tid", number()), ("name", name())];
    let switch = vec![
        ("prev_comm", name()),
        ("prev_pid", number()),
        ("prev_prio", number()),
        ("prev_state", Kind::u(64, order)),
        ("next_comm", name()),
        ("next_pid", number()),
        ("next_prio", number()),
    ];
    let wakeup = vec![("comm", name()), ("pid", number()), ("target_cpu", number())];
    let mut events = vec![
        (1, "lull:thread".to_string(), Kind::structure(thread)),
        (2, "sched:sched_switch".into(), Kind::structure(switch)),
        (3, "sched:sched_wakeup".into(), Kind::structure(wakeup)),
        (4, "irq:softirq_entry".into(), Kind::structure(vec![("vec", number())])),
        (5, "irq:softirq_exit".into(), Kind::structure(vec![("vec", number())])),
        (20, "http:request_entry".into(), Kind::structure(vec![("id", number())])),
        (21, "http:request_exit".into(), Kind::structure(vec![("status", number())])),
    ];
    for (call, id) in CALLS.iter().zip([10, 12, 14, 16]) {
        let address = Kind::u(64, order);
        let fields = match *call {
            "futex" => vec![("uaddr", address), ("op", number())],
            "openat" => vec![("dfd", number()), ("filename", Kind::Text), ("flags", number())],
            _ => vec![("fd", number()), ("buf", address), ("count", number())],
        };
        events.push((id, format!("syscalls:sys_enter_{call}"), Kind::structure(fields)));
        let result = Kind::structure(vec![("ret", Kind::u(64, order))]);
        events.push((id + 1, format!("syscalls:sys_exit_{call}"), result));
    }
    let events = events.iter().map(|(id, name, kind)| (*id, &**name, kind.clone())).collect();
    Spec { frequency_hz: 1_000_000_000, offset_cycles: 0, ..Spec::lull(order, events) }
}

fn number(value: u64) -> Datum {
    Datum::Unsigned(value)
}

struct Cpu<'s> {
    cpu: u32,
    at: u64,
    events: usize,
    writer: StreamWriter<'s>,
    random: Random,
    /// The call that each thread sleeps in.
    sleeps_in: [Option<usize>; THREADS],
    serves: [bool; THREADS],
    requests: u64,
    runs: usize,
}

impl Cpu<'_> {
    fn tid(&self, thread: usize) -> u64 {
        1000 + u64::from(self.cpu) * 100 + thread as u64
    }

    fn name(thread: usize) -> Datum {
        Datum::Text(format!("worker-{}", thread / 4).into_bytes())
    }

    fn event(&mut self, id: u64, fields: Vec<Datum>) {
        if self.events == PACKET_EVENTS {
            self.writer.end_packet(self.at, 0);
            self.events = 0;
        }
        if self.events == 0 && self.writer.packets.len() < PACKETS {
            self.writer.begin_packet(self.at);
            self.identity();
        }
        if self.writer.packets.len() == PACKETS && self.events == PACKET_EVENTS - 1 {
            return;
        }
        self.at += 150 + self.random.below(2000);
        self.events += 1;
        self.writer.event(id, self.at, Datum::List(fields));
    }

    fn identity(&mut self) {
        let tid = self.tid(self.runs);
        let fields = vec![number(tid / 4 * 4), number(tid), Self::name(self.runs)];
        self.writer.event(1, self.at, Datum::List(fields));
    }

    fn enter(&mut self, call: usize) {
        let address = 0x7f00_0000_0000 + self.random.below(1 << 20) * 64;
        let fields = match CALLS[call] {
            "futex" => vec![number(address & !0xfff), number(0)],
            "openat" => {
                let path = format!("/var/lib/machine/file-{}", self.random.below(500));
                vec![number(0), Datum::Text(path.into_bytes()), number(0)]
            }
            _ => vec![number(self.random.below(40)), number(address), number(4096)],
        };
        self.event(10 + 2 * call as u64, fields);
    }

    fn exit(&mut self, call: usize) {
        let result = self.random.below(40);
        self.event(11 + 2 * call as u64, vec![number(result)]);
    }

    /// The thread that runs gives the CPU to another one.
    fn switch(&mut self, state: u64) {
        let next = self.random.below(THREADS as u64) as usize;
        let (gone, comes) = (self.tid(self.runs), self.tid(next));
        if let Some(call) = self.sleeps_in[next] {
            self.event(3, vec![Self::name(next), number(comes), number(self.cpu.into())]);
            self.sleeps_in[next] = None;
            self.turn((gone, state), (comes, next));
            self.exit(call);
        } else {
            self.turn((gone, state), (comes, next));
        }
    }

    fn turn(&mut self, (gone, state): (u64, u64), (comes, next): (u64, usize)) {
        let gone = [Self::name(self.runs), number(gone), number(120), number(state)];
        let comes = [Self::name(next), number(comes), number(120)];
        self.event(2, gone.into_iter().chain(comes).collect());
        self.runs = next;
        self.identity();
    }

    /// A request lasts for several turns of its thread.
    fn serve(&mut self) {
        let is_quiet = self.writer.packets.len() > PACKETS - QUIET_PACKETS;
        if !self.serves[self.runs] && !is_quiet {
            self.serves[self.runs] = true;
            self.requests += 1;
            self.event(20, vec![number(self.requests)]);
        } else if self.serves[self.runs] && (is_quiet || self.random.one_in(3)) {
            self.serves[self.runs] = false;
            let status = *self.random.pick(&[200, 200, 200, 404, 503]);
            self.event(21, vec![number(status)]);
        }
    }

    fn turns(&mut self) {
        self.serve();
        for _ in 0..self.random.below(6) {
            let call = self.random.below(3) as usize;
            self.enter(call);
            self.exit(call);
        }
        if self.random.one_in(3) {
            let line = self.random.below(10);
            self.event(4, vec![number(line)]);
            self.event(5, vec![number(line)]);
        }
        if self.random.one_in(4) {
            self.switch(0);
        } else {
            let call = *self.random.pick(&[0, 3]);
            self.enter(call);
            self.sleeps_in[self.runs] = Some(call);
            self.switch(1);
        }
    }
}

/// The stretch of packets, where each begins, and how long it takes.
fn stretch(spec: &Spec, cpu: u32) -> (Vec<u8>, Vec<usize>, u64) {
    let mut machine = Cpu {
        cpu,
        at: GRANULE_NS + u64::from(cpu) * 37,
        events: 0,
        writer: StreamWriter::new(spec, cpu),
        random: Random::new(u64::from(cpu)),
        sleeps_in: [None; THREADS],
        serves: [false; THREADS],
        requests: 0,
        runs: 0,
    };
    let is_full = |m: &Cpu<'_>| m.writer.packets.len() == PACKETS && m.events == PACKET_EVENTS - 1;
    while !is_full(&machine) {
        machine.turns();
        machine.writer.written.clear();
    }
    let until = machine.at;
    machine.writer.end_packet(until, 0);
    let packets = machine.writer.packets.clone();
    (machine.writer.finish().0, packets, until.next_multiple_of(GRANULE_NS))
}

fn add(bytes: &mut [u8], at: usize, more: u64) {
    let place = &mut bytes[at..at + 8];
    let word: [u8; 8] = place.try_into().expect("eight bytes");
    place.copy_from_slice(&(u64::from_ne_bytes(word) + more).to_ne_bytes());
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or("machine-trace".into()));
    let size = arguments.next().unwrap_or("1000".into());
    let cpus: u64 = arguments.next().and_then(|word| word.parse().ok()).unwrap_or(4).max(1);
    let spec = spec();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("metadata"), spec.metadata())?;
    let stretches: Vec<_> = (0..cpus).map(|cpu| stretch(&spec, cpu as u32)).collect();
    let step = stretches.iter().map(|(.., until)| *until).max().unwrap_or(0);
    for (cpu, (mut bytes, packets, _)) in stretches.into_iter().enumerate() {
        let mut file = BufWriter::new(File::create(folder.join(format!("stream_{cpu}")))?);
        let (amount, of_stretch) = match size.strip_suffix("events") {
            Some(events) => (events.parse().ok(), (PACKETS * PACKET_EVENTS) as u64),
            None => (size.parse().ok().map(|m: u64| m * 1_000_000), bytes.len() as u64),
        };
        let Some(amount) = amount else { return Err(std::io::Error::other(size)) };
        let copies = (amount / cpus).div_ceil(of_stretch);
        for _ in 0..copies {
            file.write_all(&bytes)?;
            for packet in &packets {
                add(&mut bytes, packet + offset::TIMESTAMP_BEGIN, step);
                add(&mut bytes, packet + offset::TIMESTAMP_END, step);
                add(&mut bytes, packet + offset::SEQUENCE, PACKETS as u64);
            }
        }
        file.flush()?;
    }
    Ok(())
}
