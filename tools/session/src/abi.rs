// SPDX-License-Identifier: MIT
//! The bytes of `core/include/lull/abi/{packet,session,count,kernel}.h`, as Rust sees them.
//!
//! Place in the flow: the session is laid out with these, the consumer reads rings and packets
//! through them. `consumer` compiles the C headers and tests that every field and constant agrees.

use std::sync::atomic::{AtomicU32, AtomicU64};

pub const PACKET_MAGIC: u32 = 0xC1FC_1FC1;
pub const SESSION_MAGIC: u64 = 0x6e6f_6973_6c6c_754c;
pub const SESSION_VERSION: u32 = 14;
pub const SESSION_MEMORY_LINK: &str = "memory";
pub const SESSION_MEMORY_PREFIX: &str = "key:";
pub const SESSION_VARIABLE: &str = "LULL_SESSION";
pub const SESSIONS_MAX: usize = 8;

/// Of `Control`'s contexts, beside `1 << enum lull_context`.
pub const SESSION_CPU_TIME: u32 = 1 << 31;
pub const SESSION_CONTEXTS: u32 = SESSION_CPU_TIME | 0x3fff;
pub const SESSION_FRAMES_MAX: u32 = 128;
pub const SESSION_COPY_BYTES_MAX: u32 = 32768;

pub const SUBBUF_BYTES_MIN: u64 = 4096;
pub const SUBBUF_BYTES_MAX: u64 = 8 << 20;
pub const SUBBUF_COUNT_MIN: u32 = 2;
pub const SUBBUF_COUNT_MAX: u32 = 1024;
pub const SUBBUF_SPARES: u32 = 31;
pub const CPU_COUNT_MAX: u32 = 8192;

pub const LOST_CAUSES: usize = 4;
pub const LOST_FULL: usize = 0;
pub const LOST_OVERFLOW: usize = 1;
pub const LOST_TOO_BIG: usize = 2;
pub const LOST_IN_FLIGHT: usize = 3;

pub const MODE_DISCARD: u32 = 0;
pub const MODE_FLIGHT_RECORDER: u32 = 1;

pub const TAG_EMPTY: u8 = 0;
pub const TAG_COMPACT_MAX: u8 = 252;
pub const TAG_EXTENDED: u8 = 253;
pub const TAG_HOLE: u8 = 254;
pub const TAG_END: u8 = 255;

pub const SLOT_ALIGN: usize = 4;
pub const COMPACT_HEADER_BYTES: usize = 4;
pub const EXTENDED_HEADER_BYTES: usize = 16;
pub const COMPACT_TIMESTAMP_BITS: u32 = 24;
pub const TID_BITS: u32 = 22;

pub const EVENT_THREAD: u32 = 1;
pub const EVENT_LOST: u32 = 2;
pub const EVENT_LOST_BYTES: u32 = 3;
pub const EVENT_CONTEXT: u32 = 4;
pub const EVENT_FIRST: u32 = 8;
pub const THREAD_NAME_BYTES: usize = 16;
pub const THREAD_RECORD_BYTES: usize = 8 + THREAD_NAME_BYTES;

/// `struct lull_packet_header`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketHeader {
    pub magic: u32,
    pub uuid: [u8; 16],
    pub stream_id: u32,
    pub timestamp_begin_cycles: u64,
    pub timestamp_end_cycles: u64,
    pub content_size_bits: u64,
    pub packet_size_bits: u64,
    pub packet_seq_num: u64,
    pub events_discarded: u64,
    pub lost: [u64; LOST_CAUSES],
    pub cpu_id: u32,
    pub flags: u32,
}

pub const PACKET_HEADER_BYTES: usize = std::mem::size_of::<PacketHeader>();

/// `struct lull_event_entry`.
#[repr(C)]
pub struct EventEntry {
    pub hash: AtomicU64,
    pub offset_bytes: AtomicU32,
    pub length_bytes: AtomicU32,
}

/// The members of `struct lull_session_control` that are fixed before tracing starts.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlFixed {
    pub magic: u64,
    pub version: u32,
    pub control_bytes: u32,
    pub uuid: [u8; 16],
    pub mode: u32,
    pub clock_kind: u32,
    pub cpu_count: u32,
    pub plain_count: u32,
    pub subbuf_size_bytes: u64,
    pub subbuf_count: u32,
    pub physical_count: u32,
    pub ring_stride_bytes: u64,
    pub data_offset_bytes: u64,
    pub data_stride_bytes: u64,
    pub memory_bytes: u64,
    pub patterns_offset_bytes: u32,
    pub patterns_bytes: u32,
    pub events_offset_bytes: u32,
    pub event_capacity: u32,
    pub arena_offset_bytes: u32,
    pub arena_bytes: u32,
    pub rings_offset_bytes: u64,
    pub user_id: u32,
    pub stream_id: u32,
    pub own_offset_bytes: u32,
    pub filters_offset_bytes: u32,
    pub filters_bytes: u32,
    pub count_pages: u32,
    pub budget_offset_bytes: u32,
    pub reserved: [u8; 60],
}

/// The members of `struct lull_session_control` that are written while tracing.
#[repr(C)]
pub struct ControlLive {
    pub arena_used_bytes: AtomicU32,
    pub process_count: AtomicU32,
    pub site_count: AtomicU32,
    pub enabled_count: AtomicU32,
    pub unpatched_count: AtomicU32,
    pub unregistered_count: AtomicU32,
    pub refused_count: AtomicU32,
    pub recursion_count: AtomicU32,
    pub label_count: AtomicU64,
    pub active: AtomicU64,
    pub rules_sequence: AtomicU32,
    pub ended: AtomicU32,
    pub patterns_used_bytes: [AtomicU32; 2],
    pub filters_used_bytes: [AtomicU32; 2],
    pub contexts: AtomicU32,
    pub user_frames: AtomicU32,
    pub copy_bytes: AtomicU32,
    pub unused_1: u32,
    pub unused: [u64; 2],
}

/// `struct lull_session_control`.
#[repr(C)]
pub struct Control {
    pub fixed: ControlFixed,
    pub live: ControlLive,
}

pub const OWN_EVENTS_MAX: usize = 256;
pub const OWN_BUILD_ID_BYTES: usize = 32;

/// `struct lull_own_events`: traced processes tell it to each other.
#[repr(C)]
pub struct OwnEvents {
    pub claimed: u32,
    pub count: u32,
    pub site_count: u32,
    pub enabled_count: u32,
    pub build_id_bytes: u32,
    pub build_id: [u8; OWN_BUILD_ID_BYTES],
    pub id: [u16; OWN_EVENTS_MAX],
}

pub const FILTER_STATE_DECIDES: u32 = 1;
pub const FILTER_STATE_OLD: u32 = 2;
pub const FILTER_STATE_UNFIT: u32 = 4;
pub const FILTER_STATE_FULL: u32 = 8;
pub const FILTER_STATE_DAMAGED: u32 = 16;
pub const FILTER_STATE_UNDECIDED: u32 = 32;
pub const FILTER_STATE_SAMPLES: u32 = 64;
pub const FILTER_STATE_PAIRS: u32 = 128;
pub const SAMPLE_MAX: u32 = 1_000_000;
pub const BUDGET_ROWS_MAX: u32 = 64;
pub const THROTTLE_MASK: u32 = 15;
pub const THROTTLE_MAX: u32 = 10;

pub const COUNT_PLAN_BYTES: usize = 4096;
pub const COUNT_TABLES_MAX: u32 = 8192;
pub const COUNT_CAPACITY_MAX: u32 = 1 << 20;
pub const COUNT_BY_MAX: usize = 4;
pub const COUNT_NAME_BYTES: usize = 64;
pub const COUNT_NAMES_BYTES: usize = 256;
pub const COUNT_TEXT_WORDS: usize = 7;
pub const COUNT_TEXT_BYTES: usize = 56;
pub const COUNT_STEP_BITS: u32 = 4;
pub const COUNT_BUCKETS: usize = 984;
pub const COUNT_BUCKET_ZERO: u32 = 1;
pub const COUNT_UNSIGNED: u32 = 1;
pub const COUNT_SIGNED: u32 = 2;
pub const COUNT_TEXT: u32 = 3;
pub const COUNT_READY: u32 = 3;

/// `struct lull_count_plan`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountPlan {
    pub table_count: u32,
    pub capacity: u32,
    pub slot_bytes: u32,
    pub first_rule: u32,
    pub stride_bytes: u64,
    pub by_count: u32,
    pub has_value: u32,
    pub by: [u8; COUNT_NAMES_BYTES],
    pub value: [u8; COUNT_NAME_BYTES],
}

/// `struct lull_count_value`.
#[repr(C)]
pub struct CountValue {
    pub kind: u32,
    pub bytes: u32,
    pub words: [u64; COUNT_TEXT_WORDS],
}

/// `struct lull_count_slot`.
#[repr(C)]
pub struct CountSlot {
    pub state: u64,
    pub count: u64,
    pub least_inverted: u64,
    pub greatest: u64,
    pub event: u32,
    pub value_kind: u32,
    pub unused: [u64; 3],
}

pub const TAKEN: u64 = 0x800;

/// `struct lull_ring_shared`.
#[repr(C)]
pub struct RingShared {
    pub write_count: AtomicU64,
    pub run: AtomicU64,
    pub last_cycles: AtomicU64,
    pub physical: AtomicU64,
    pub unused_1: [u64; 4],
    pub read_count: AtomicU64,
    pub recorded_index: AtomicU64,
    pub recorded_count: [AtomicU64; 2],
    pub recorded_bytes: [AtomicU64; 2],
    pub recorded_packets: [AtomicU64; 2],
    pub lost: [AtomicU64; LOST_CAUSES],
    pub unused_2: u64,
    pub taken: AtomicU64,
    pub unused_3: [u64; 2],
}

/// `struct lull_commit`.
#[repr(C)]
pub struct Commit {
    pub count: AtomicU64,
    pub seq: AtomicU64,
}

pub const KERNEL_DEVICE: &str = "/dev/lull";
pub const KERNEL_INTERFACE: u32 = 1;
pub const KERNEL_FRAMES_MAX: u32 = 128;
pub const KERNEL_VERSION: u32 = 0xf500;
pub const KERNEL_PLAN: u32 = 0xf501;
pub const KERNEL_ENABLE: u32 = 0xf502;
pub const KERNEL_DISABLE: u32 = 0xf503;
pub const KERNEL_RESERVED: u32 = 0xf506;
pub const KERNEL_LEFT: u32 = 0xf507;
pub const KERNEL_FORGET: u32 = 0xf520;
pub const KERNEL_PLAN_RESERVED: u32 = 1;
pub const RESERVED_NONE: u32 = 0;
pub const RESERVED_FREE: u32 = 1;
pub const RESERVED_USED: u32 = 2;
pub const RESERVED_LEFT: u32 = 3;
pub const KERNEL_SOURCE: u32 = 0xf509;
pub const KERNEL_MISSED: u32 = 0xf50a;
pub const SOURCE_FIELDS_MAX: usize = 16;
pub const SOURCE_STEPS_MAX: usize = 4;
pub const SOURCE_TRACEPOINT: u32 = 1;
pub const SOURCE_FUNCTION: u32 = 2;
pub const SOURCE_RETURN: u32 = 3;
pub const SOURCE_ACCESS: u32 = 4;
pub const SOURCE_PROGRAM: u32 = 5;
pub const SOURCE_PROGRAM_RETURN: u32 = 6;
pub const ACCESS_WRITE: u32 = 1;
pub const ACCESS_READ_WRITE: u32 = 3;
pub const ACCESS_EXECUTE: u32 = 4;
pub const FROM_ARGUMENT: u8 = 1;
pub const FROM_REGISTER: u8 = 2;
pub const FROM_RESULT: u8 = 3;
pub const FROM_CONSTANT: u8 = 4;
pub const FROM_UNREAD: u8 = 5;
pub const KERNEL_FILTER: u32 = 0xf50b;
pub const KERNEL_CONTEXT: u32 = 0xf50c;
pub const KERNEL_RULES: u32 = 0xf50d;

/// `struct lull_kernel_plan`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelPlan {
    pub bytes: u32,
    pub flags: u32,
    pub uuid: [u8; 16],
    pub mode: u32,
    pub stream_id: u32,
    pub subbuf_size_bytes: u64,
    pub subbuf_count: u32,
    pub spare_count: u32,
    pub patterns: u64,
    pub patterns_bytes: u32,
    pub clock_kind: u32,
    pub memory_bytes: u64,
}

/// `struct lull_kernel_enable`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelEnable {
    pub bytes: u32,
    pub flags: u32,
    pub event_count: u32,
    pub matched_count: u32,
    pub enabled_count: u32,
    pub absent_count: u32,
    pub failed_count: u32,
    pub undescribed_count: u32,
    pub unused_filter_count: u32,
    pub unused: u32,
}

/// `struct lull_kernel_reserved`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelReserved {
    pub bytes: u32,
    pub flags: u32,
    pub state: u32,
    pub given_count: u32,
    pub reserved_bytes: u64,
    pub memory_bytes: u64,
    pub begun_cycles: u64,
    pub begun_ns: u64,
}

/// `struct lull_kernel_source`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelSource {
    pub bytes: u32,
    pub flags: u32,
    pub kind: u32,
    pub field_count: u32,
    pub fields: u64,
    pub target: u64,
    pub description: u64,
    pub target_bytes: u32,
    pub description_bytes: u32,
    pub offset: u64,
    pub length: u32,
    pub access: u32,
}

/// `struct lull_source_field`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceField {
    pub from: u8,
    pub step_count: u8,
    pub is_user: u8,
    pub unused: u8,
    pub index: u32,
    pub constant: u64,
    pub steps: [i32; SOURCE_STEPS_MAX],
}

/// `struct lull_kernel_missed`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelMissed {
    pub bytes: u32,
    pub flags: u32,
    pub number: u32,
    pub unused: u32,
    pub missed_count: u64,
}

/// `struct lull_kernel_context`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelContext {
    pub bytes: u32,
    pub flags: u32,
    pub contexts: u32,
    pub kernel_frames: u32,
    pub user_frames: u32,
    pub counters: u32,
}

/// `struct lull_kernel_filter`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelFilter {
    pub bytes: u32,
    pub flags: u32,
    pub event_hash: u64,
    pub program: u64,
    pub program_bytes: u32,
    pub unused: u32,
}

/// `struct lull_kernel_rules`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelRules {
    pub bytes: u32,
    pub flags: u32,
    pub patterns: u64,
    pub patterns_bytes: u32,
    pub unused: u32,
}
