// SPDX-License-Identifier: MIT
//! A traced program in miniature: writes events with the shipped writer, `core/ring/ring.c`,
//! from threads and from processes that may be killed; and reads traces with babeltrace2.
#![allow(dead_code)]

use consumer::ffi::{self, lull_ring_attach, Geometry, RingView};
use consumer::folder::Sharing;
use consumer::metadata::Facts;
use consumer::output::{Older, Output};
use consumer::{Consumer, Options};
use session::clock::CtfClock;
use session::machine::possible_cpus;
use session::{Memory, Plan, Session};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Identifier of `test:step`: fields writer, step, text.
pub const STEP: u32 = 8;

#[repr(C)]
struct WriterIdentity {
    pid: u32,
    tid: u32,
    name: [u8; 16],
}

/// `struct lull_ring_slot`: its first member, and room for the others.
#[repr(C)]
struct Slot {
    payload: *mut u8,
    others: [u64; 15],
}

extern "C" {
    fn lull_ring_reserve(
        ring: *mut RingView,
        writer: *const WriterIdentity,
        id: u32,
        payload_bytes: u32,
        slot: *mut Slot,
    ) -> i32;
    fn lull_ring_commit(slot: *mut Slot);
    fn lull_consumer_rseq(area: *mut u8);
    static __rseq_offset: isize;
}

/// Where to reserve.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rings {
    PerCpu,
    Plain,
}

/// One thread's way to write into a session.
pub struct Writer {
    rings: Vec<RingView>,
    identity: WriterIdentity,
    kind: Rings,
    cpu_count: u32,
    rseq: *const u32,
}

/// A slot reserved and not committed yet.
pub struct Reserved(Slot);

impl Writer {
    /// For the calling thread, or the calling process after a fork.
    pub fn new(session: &Session, kind: Rings) -> Self {
        Self::over(&session.memory, kind)
    }

    /// The same in memory that another process made.
    pub fn over(shared: &Memory, kind: Rings) -> Self {
        let fixed = shared.fixed();
        assert!(consumer::clock::start(fixed.clock_kind), "the clock that the recorder reads");
        let rings = (0..shared.ring_count())
            .map(|index| {
                let geometry = Geometry {
                    subbuf_size_bytes: fixed.subbuf_size_bytes,
                    subbuf_count: fixed.subbuf_count,
                    physical_count: fixed.physical_count,
                    mode: fixed.mode,
                    plain: u32::from(shared.ring_is_plain(index)),
                    cpu_id: index,
                    stream_id: 0,
                    uuid: fixed.uuid,
                };
                let base = shared.ring_data(index);
                let memory = ffi::Memory { base, pages: std::ptr::null() };
                // SAFETY: attach fills in the view; the session outlives the writer in tests.
                unsafe {
                    let mut view = std::mem::zeroed();
                    lull_ring_attach(&mut view, &geometry, shared.ring_control(index), memory);
                    view
                }
            })
            .collect();
        let identity = WriterIdentity {
            pid: std::process::id(),
            tid: 0,
            name: *b"writer\0\0\0\0\0\0\0\0\0\0",
        };
        let mut writer =
            Self { rings, identity, kind, cpu_count: fixed.cpu_count, rseq: std::ptr::null() };
        writer.become_this_thread();
        writer
    }

    pub fn become_this_thread(&mut self) {
        // SAFETY: glibc registered the area of this thread at this offset from its pointer.
        unsafe {
            let area = thread_pointer().wrapping_byte_offset(__rseq_offset);
            lull_consumer_rseq(area);
            self.rseq = area.add(4).cast();
            self.identity.pid = std::process::id();
            self.identity.tid = libc::gettid() as u32;
        }
    }

    fn ring(&mut self) -> &mut RingView {
        let index = match self.kind {
            // SAFETY: cpu_id is the second word of the thread's rseq area.
            Rings::PerCpu => unsafe { self.rseq.read_volatile() },
            Rings::Plain => self.cpu_count,
        };
        &mut self.rings[index as usize]
    }

    pub fn reserve(&mut self, id: u32, payload: &[u8]) -> Option<Reserved> {
        let identity: *const WriterIdentity = &self.identity;
        let mut interrupted = false;
        loop {
            let mut slot = Slot { payload: std::ptr::null_mut(), others: [0; 15] };
            let plain = self.cpu_count as usize;
            let ring: *mut RingView =
                if interrupted { &mut self.rings[plain] } else { self.ring() };
            // SAFETY: the ring is attached and mapped; the payload has room for its size.
            unsafe {
                match lull_ring_reserve(ring, identity, id, payload.len() as u32, &mut slot) {
                    0 => {
                        slot.payload.copy_from_nonoverlapping(payload.as_ptr(), payload.len());
                        return Some(Reserved(slot));
                    }
                    error if error == -libc::EAGAIN => {}
                    error if error == -libc::EBUSY => interrupted = true,
                    _ => return None,
                }
            }
        }
    }

    pub fn commit(&mut self, mut reserved: Reserved) {
        // SAFETY: the slot was reserved and is committed once.
        unsafe { lull_ring_commit(&mut reserved.0) }
    }

    pub fn write(&mut self, id: u32, payload: &[u8]) -> bool {
        let reserved = self.reserve(id, payload);
        reserved.map(|reserved| self.commit(reserved)).is_some()
    }

    /// Writes `test:step`. Return: false when it was lost.
    pub fn step(&mut self, writer: u32, step: u32, text: &str) -> bool {
        self.write(STEP, &step_payload(writer, step, text))
    }
}

pub fn step_payload(writer: u32, step: u32, text: &str) -> Vec<u8> {
    let mut payload = Vec::with_capacity(16);
    payload.extend(writer.to_ne_bytes());
    payload.extend(step.to_ne_bytes());
    payload.extend(text.as_bytes());
    payload.push(0);
    payload
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> *mut u8 {
    let pointer: *mut u8;
    // SAFETY: the ABI keeps the thread pointer's own address at fs:0.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer) };
    pointer
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> *mut u8 {
    let pointer: *mut u8;
    // SAFETY: reading tpidr_el0 has no effects.
    unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer) };
    pointer
}

pub struct Setup {
    pub flight_recorder: bool,
    pub subbuf_size_bytes: u64,
    pub subbuf_count: u32,
    pub limit_bytes: Option<u64>,
    pub flush_period: Duration,
    pub has_budget: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            flight_recorder: false,
            subbuf_size_bytes: 64 << 10,
            subbuf_count: 4,
            limit_bytes: None,
            flush_period: Duration::ZERO,
            has_budget: false,
        }
    }
}

pub fn clock() -> CtfClock {
    CtfClock { frequency_hz: 1_000_000_000, precision_cycles: 1, offset_s: 0, offset_cycles: 0 }
}

/// A session with `test:step` in it, its consumer, and where the trace goes.
pub fn start(name: &str, setup: &Setup) -> (Arc<Session>, Consumer, PathBuf) {
    let plan = Plan {
        uuid: [7; 16],
        flight_recorder: setup.flight_recorder,
        clock_kind: consumer::clock::best_kind(),
        cpu_count: possible_cpus(),
        rseq: true,
        subbuf_size_bytes: setup.subbuf_size_bytes,
        subbuf_count: setup.subbuf_count,
        patterns: "*".into(),
        filters: Vec::new(),
        counts: None,
        has_budget: setup.has_budget,
        recorded: Default::default(),
    };
    let session = Arc::new(Session::create(&plan).unwrap());
    let text = "test:step\n6\ntest.c:1\nu32 writer\nu32 step\nstr text\n";
    assert!(session.memory.publish_event(STEP, text));
    let path = std::env::temp_dir().join(format!("lull-consumer-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let output = Output::create(&path, Sharing::PRIVATE, Older::Refuse).unwrap();
    output.keep();
    let facts = facts(plan.uuid);
    let options =
        Options { facts, flush_period: setup.flush_period, limit_bytes: setup.limit_bytes };
    let consumer = Consumer::start(Arc::clone(&session), output, options).unwrap();
    (session, consumer, path)
}

pub fn facts(uuid: [u8; 16]) -> Facts {
    Facts {
        uuid,
        clock: clock(),
        clock_uuid: session::machine::boot_id(),
        environment: vec![("tracer_name".into(), "lull".into())],
        kept: String::new(),
    }
}

/// What babeltrace2 reads in a trace: one line an event. Anything it says beside them fails the
/// test, unless it is that events were discarded, which `lossy` allows.
pub fn babeltrace(path: &Path, lossy: bool) -> Vec<String> {
    let output = Command::new("babeltrace2").arg(path).output().expect("babeltrace2 is installed");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let serious: Vec<&str> = complaints
        .lines()
        .filter(|line| !lossy || !(line.contains("discarded") || line.is_empty()))
        .collect();
    assert!(output.status.success() && serious.is_empty(), "babeltrace2 says: {complaints}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
}

/// The (writer, step) of every `test:step` in lines of babeltrace2, in their order.
pub fn steps(lines: &[String]) -> Vec<(u32, u32)> {
    let number = |line: &str, field: &str| {
        let rest = line.split(&format!("{field} = ")).nth(1)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    lines
        .iter()
        .filter(|line| line.contains("test:step"))
        .map(|line| (number(line, "writer").unwrap(), number(line, " step").unwrap()))
        .collect()
}
