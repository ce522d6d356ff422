// SPDX-License-Identifier: MIT
//! The reader's part of `core/ring/ring.h`, and the clock, as Rust calls them: `ring.rs` calls the
//! ring's functions, `clock.rs` the clock's.

use session::abi::{Commit, RingShared};
use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::AtomicU64;

/// `struct lull_ring_geometry`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Geometry {
    pub subbuf_size_bytes: u64,
    pub subbuf_count: u32,
    pub physical_count: u32,
    pub mode: u32,
    pub plain: u32,
    pub cpu_id: u32,
    pub stream_id: u32,
    pub uuid: [u8; 16],
}

/// `struct lull_ring_memory`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memory {
    pub base: *mut u8,
    pub pages: *const *mut u8,
}

/// `struct lull_ring`: made by `lull_ring_attach()`.
#[repr(C, align(128))]
pub struct RingView {
    pub shared: *mut RingShared,
    pub commit: *mut Commit,
    pub memory: Memory,
    pub subbuf_mask: u64,
    pub slot_mask: u64,
    pub physical_mask: u32,
    pub subbuf_bits: u32,
    pub reference: *mut AtomicU64,
    pub geometry: Geometry,
    pub buffer_bits: u32,
    pub active: *const AtomicU64,
}

/// `struct lull_ring_subbuf`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Subbuf {
    pub data: *const u8,
    pub position: u64,
    pub content_bytes: u64,
    pub committed_bytes: u64,
    pub physical: u32,
    pub complete: u32,
    pub last_cycles: u64,
}

extern "C" {
    pub fn lull_ring_check(geometry: *const Geometry) -> *const c_char;
    pub fn lull_ring_control_bytes(geometry: *const Geometry) -> usize;
    pub fn lull_ring_attach(
        ring: *mut RingView,
        geometry: *const Geometry,
        control: *mut u8,
        memory: Memory,
    );
    pub fn lull_ring_reset(ring: *mut RingView, start_bytes: u64);
    pub fn lull_ring_poll(ring: *const RingView) -> c_uint;
    pub fn lull_ring_get(ring: *mut RingView, spare: *mut u32, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_take(ring: *mut RingView, spare: u32, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_stuck(ring: *const RingView, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_overwrites_next(ring: *const RingView) -> c_int;
    pub fn lull_ring_settled(ring: *const RingView, subbuf: *const Subbuf) -> c_int;
    pub fn lull_ring_put(ring: *mut RingView, subbuf: *const Subbuf);
    pub fn lull_ring_look(ring: *const RingView, position: u64, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_peek(ring: *const RingView, subbuf: *mut Subbuf) -> c_int;
    pub fn lull_ring_unchanged(ring: *const RingView, subbuf: *const Subbuf) -> c_int;
    pub fn lull_ring_lost(ring: *const RingView, cause: c_uint) -> u64;
    pub fn lull_ring_count_lost(ring: *mut RingView, cause: c_uint, events: u64);
    pub fn lull_barrier_heavy();
    pub fn lull_consumer_close(ring: *mut RingView) -> c_int;
    pub fn lull_consumer_select(descriptor: c_int);
    pub fn lull_clock_start(kind: u32) -> c_int;
    pub fn lull_clock_kind() -> u32;
    pub fn lull_consumer_cycles() -> u64;
    pub fn lull_consumer_event_ps() -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::abi::*;
    use std::collections::BTreeMap;
    use std::ffi::CStr;
    use std::mem::{offset_of, size_of};

    /// `struct lull_fact`.
    #[repr(C)]
    struct Fact {
        name: *const c_char,
        value: u64,
        text: *const c_char,
    }

    extern "C" {
        static lull_consumer_facts: [Fact; 0];
        static lull_consumer_fact_count: usize;
    }

    /// Where every field of a structure is; one that is not listed does not compile.
    macro_rules! fields {
        ($type:ident at $offset:expr, $name:literal: $($field:ident),+) => {{
            let _ = |value: &$type| {
                let $type { $($field: _),+ } = value;
            };
            let base = $offset;
            vec![$((concat!($name, ".", stringify!($field)), base + offset_of!($type, $field))),+]
        }};
    }

    macro_rules! values {
        ($($name:ident),+) => {
            vec![$((concat!("LULL_", stringify!($name)), $name as u64)),+]
        };
    }

    /// A text of C that is never freed.
    fn text(of: *const c_char) -> &'static str {
        // SAFETY: ffi.c fills the table with string literals.
        unsafe { CStr::from_ptr(of) }.to_str().unwrap()
    }

    /// What the headers say: numbers and texts by name.
    fn facts_of_c() -> (BTreeMap<&'static str, u64>, BTreeMap<&'static str, &'static str>) {
        // SAFETY: ffi.c defines the table with that many entries.
        let facts = unsafe {
            std::slice::from_raw_parts(lull_consumer_facts.as_ptr(), lull_consumer_fact_count)
        };
        let (texts, numbers): (Vec<&Fact>, Vec<&Fact>) =
            facts.iter().partition(|fact| !fact.text.is_null());
        (
            numbers.iter().map(|fact| (text(fact.name), fact.value)).collect(),
            texts.iter().map(|fact| (text(fact.name), text(fact.text))).collect(),
        )
    }

    fn constants() -> Vec<(&'static str, u64)> {
        values!(
            PACKET_MAGIC,
            SESSION_MAGIC,
            SESSION_VERSION,
            SESSIONS_MAX,
            SESSION_CPU_TIME,
            SESSION_CONTEXTS,
            SESSION_FRAMES_MAX,
            SESSION_COPY_BYTES_MAX,
            FILTER_STATE_DECIDES,
            FILTER_STATE_OLD,
            FILTER_STATE_UNFIT,
            FILTER_STATE_FULL,
            FILTER_STATE_DAMAGED,
            FILTER_STATE_UNDECIDED,
            FILTER_STATE_SAMPLES,
            FILTER_STATE_PAIRS,
            SAMPLE_MAX,
            BUDGET_ROWS_MAX,
            THROTTLE_MASK,
            THROTTLE_MAX,
            SUBBUF_BYTES_MIN,
            SUBBUF_BYTES_MAX,
            SUBBUF_COUNT_MIN,
            SUBBUF_COUNT_MAX,
            SUBBUF_SPARES,
            CPU_COUNT_MAX,
            LOST_CAUSES,
            LOST_FULL,
            LOST_OVERFLOW,
            LOST_TOO_BIG,
            LOST_IN_FLIGHT,
            MODE_DISCARD,
            MODE_FLIGHT_RECORDER,
            TAG_EMPTY,
            TAG_COMPACT_MAX,
            TAG_EXTENDED,
            TAG_HOLE,
            TAG_END,
            SLOT_ALIGN,
            COMPACT_HEADER_BYTES,
            EXTENDED_HEADER_BYTES,
            COMPACT_TIMESTAMP_BITS,
            TID_BITS,
            EVENT_THREAD,
            EVENT_LOST,
            EVENT_LOST_BYTES,
            EVENT_CONTEXT,
            EVENT_FIRST,
            COUNT_PLAN_BYTES,
            COUNT_TABLES_MAX,
            COUNT_CAPACITY_MAX,
            COUNT_BY_MAX,
            COUNT_NAME_BYTES,
            COUNT_NAMES_BYTES,
            COUNT_TEXT_WORDS,
            COUNT_TEXT_BYTES,
            COUNT_STEP_BITS,
            COUNT_BUCKETS,
            COUNT_BUCKET_ZERO,
            COUNT_UNSIGNED,
            COUNT_SIGNED,
            COUNT_TEXT,
            COUNT_READY,
            OWN_EVENTS_MAX,
            OWN_BUILD_ID_BYTES,
            TAKEN
        )
    }

    fn kernel_constants() -> Vec<(&'static str, u64)> {
        values!(
            KERNEL_INTERFACE,
            KERNEL_FRAMES_MAX,
            KERNEL_VERSION,
            KERNEL_PLAN,
            KERNEL_ENABLE,
            KERNEL_DISABLE,
            KERNEL_RESERVED,
            KERNEL_LEFT,
            KERNEL_FORGET,
            KERNEL_PLAN_RESERVED,
            RESERVED_NONE,
            RESERVED_FREE,
            RESERVED_USED,
            RESERVED_LEFT,
            KERNEL_SOURCE,
            KERNEL_MISSED,
            SOURCE_FIELDS_MAX,
            SOURCE_STEPS_MAX,
            SOURCE_TRACEPOINT,
            SOURCE_FUNCTION,
            SOURCE_RETURN,
            SOURCE_ACCESS,
            SOURCE_PROGRAM,
            SOURCE_PROGRAM_RETURN,
            ACCESS_WRITE,
            ACCESS_READ_WRITE,
            ACCESS_EXECUTE,
            FROM_ARGUMENT,
            FROM_REGISTER,
            FROM_RESULT,
            FROM_CONSTANT,
            FROM_UNREAD,
            KERNEL_FILTER,
            KERNEL_CONTEXT,
            KERNEL_RULES
        )
    }

    fn offsets() -> Vec<(&'static str, usize)> {
        let live = offset_of!(Control, live);
        [
            fields!(PacketHeader at 0, "lull_packet_header":
                magic, uuid, stream_id, timestamp_begin_cycles, timestamp_end_cycles,
                content_size_bits, packet_size_bits, packet_seq_num, events_discarded, lost,
                cpu_id, flags),
            fields!(EventEntry at 0, "lull_event_entry":
                hash, offset_bytes, length_bytes),
            fields!(ControlFixed at 0, "lull_session_control":
                magic, version, control_bytes, uuid, mode, clock_kind, cpu_count, plain_count,
                subbuf_size_bytes, subbuf_count, physical_count, ring_stride_bytes,
                data_offset_bytes, data_stride_bytes, memory_bytes, patterns_offset_bytes,
                patterns_bytes, events_offset_bytes, event_capacity, arena_offset_bytes,
                arena_bytes, rings_offset_bytes, user_id, stream_id, own_offset_bytes,
                filters_offset_bytes, filters_bytes, count_pages, budget_offset_bytes,
                reserved),
            fields!(ControlLive at live, "lull_session_control":
                arena_used_bytes, process_count, site_count, enabled_count, unpatched_count,
                unregistered_count, refused_count, recursion_count, label_count, active,
                rules_sequence, ended, patterns_used_bytes,
                filters_used_bytes, contexts, user_frames, copy_bytes, unused_1, unused),
            fields!(OwnEvents at 0, "lull_own_events":
                claimed, count, site_count, enabled_count, build_id_bytes, build_id, id),
            fields!(RingShared at 0, "lull_ring_shared":
                write_count, run, last_cycles, physical, unused_1, read_count, recorded_index,
                recorded_count, recorded_bytes, recorded_packets, lost, unused_2, taken,
                unused_3),
            fields!(Commit at 0, "lull_commit":
                count, seq),
            fields!(CountPlan at 0, "lull_count_plan":
                table_count, capacity, slot_bytes, first_rule, stride_bytes, by_count,
                has_value, by, value),
            fields!(CountValue at 0, "lull_count_value":
                kind, bytes, words),
            fields!(CountSlot at 0, "lull_count_slot":
                state, count, least_inverted, greatest, event, value_kind, unused),
            fields!(Geometry at 0, "lull_ring_geometry":
                subbuf_size_bytes, subbuf_count, physical_count, mode, plain, cpu_id, stream_id,
                uuid),
            fields!(Memory at 0, "lull_ring_memory":
                base, pages),
            fields!(RingView at 0, "lull_ring":
                shared, commit, memory, subbuf_mask, slot_mask, physical_mask, subbuf_bits,
                reference, geometry, buffer_bits, active),
            fields!(Subbuf at 0, "lull_ring_subbuf":
                data, position, content_bytes, committed_bytes, physical, complete, last_cycles),
        ]
        .concat()
    }

    /// Of what the calls of `/dev/lull` take.
    fn kernel_offsets() -> Vec<(&'static str, usize)> {
        [
            fields!(KernelPlan at 0, "lull_kernel_plan":
                bytes, flags, uuid, mode, stream_id, subbuf_size_bytes, subbuf_count, spare_count,
                patterns, patterns_bytes, clock_kind, memory_bytes),
            fields!(KernelEnable at 0, "lull_kernel_enable":
                bytes, flags, event_count, matched_count, enabled_count, absent_count,
                failed_count, undescribed_count, unused_filter_count, unused),
            fields!(KernelReserved at 0, "lull_kernel_reserved":
                bytes, flags, state, given_count, reserved_bytes, memory_bytes, begun_cycles,
                begun_ns),
            fields!(KernelSource at 0, "lull_kernel_source":
                bytes, flags, kind, field_count, fields, target, description, target_bytes,
                description_bytes, offset, length, access),
            fields!(SourceField at 0, "lull_source_field":
                from, step_count, is_user, unused, index, constant, steps),
            fields!(KernelMissed at 0, "lull_kernel_missed":
                bytes, flags, number, unused, missed_count),
            fields!(KernelContext at 0, "lull_kernel_context":
                bytes, flags, contexts, kernel_frames, user_frames, counters),
            fields!(KernelFilter at 0, "lull_kernel_filter":
                bytes, flags, event_hash, program, program_bytes, unused),
            fields!(KernelRules at 0, "lull_kernel_rules":
                bytes, flags, patterns, patterns_bytes, unused),
        ]
        .concat()
    }

    #[test]
    fn rust_and_c_agree_on_every_field_and_constant() {
        let sizes = [
            ("lull_packet_header", size_of::<PacketHeader>()),
            ("lull_session_control", size_of::<Control>()),
            ("lull_own_events", size_of::<OwnEvents>()),
            ("lull_event_entry", size_of::<EventEntry>()),
            ("lull_ring_shared", size_of::<RingShared>()),
            ("lull_commit", size_of::<Commit>()),
            ("lull_count_plan", size_of::<CountPlan>()),
            ("lull_count_value", size_of::<CountValue>()),
            ("lull_count_slot", size_of::<CountSlot>()),
            ("lull_ring", size_of::<RingView>()),
            ("lull_ring_memory", size_of::<Memory>()),
            ("lull_ring_geometry", size_of::<Geometry>()),
            ("lull_ring_subbuf", size_of::<Subbuf>()),
            ("lull_kernel_plan", size_of::<KernelPlan>()),
            ("lull_kernel_enable", size_of::<KernelEnable>()),
            ("lull_kernel_reserved", size_of::<KernelReserved>()),
            ("lull_kernel_source", size_of::<KernelSource>()),
            ("lull_source_field", size_of::<SourceField>()),
            ("lull_kernel_missed", size_of::<KernelMissed>()),
            ("lull_kernel_context", size_of::<KernelContext>()),
            ("lull_kernel_filter", size_of::<KernelFilter>()),
            ("lull_kernel_rules", size_of::<KernelRules>()),
            ("lull_thread_record", THREAD_RECORD_BYTES),
            ("lull_thread_record.name", THREAD_NAME_BYTES),
        ];
        let bytes = sizes
            .into_iter()
            .chain(offsets())
            .chain(kernel_offsets())
            .map(|(name, bytes)| (name, bytes as u64));
        let here: BTreeMap<&str, u64> =
            bytes.chain(constants()).chain(kernel_constants()).collect();
        let (numbers, texts) = facts_of_c();
        assert_eq!(here, numbers);
        let description = |id| {
            let mut events = session::description::SYSTEM_EVENTS.iter();
            events.find(|event| event.0 == id).unwrap().1
        };
        let here = BTreeMap::from([
            ("LULL_SESSION_MEMORY_LINK", SESSION_MEMORY_LINK),
            ("LULL_SESSION_MEMORY_PREFIX", SESSION_MEMORY_PREFIX),
            ("LULL_SESSION_VARIABLE", SESSION_VARIABLE),
            ("LULL_KERNEL_DEVICE", KERNEL_DEVICE),
            ("LULL_DESCRIPTION_THREAD", description(EVENT_THREAD)),
            ("LULL_DESCRIPTION_LOST", description(EVENT_LOST)),
            ("LULL_DESCRIPTION_LOST_BYTES", description(EVENT_LOST_BYTES)),
        ]);
        assert_eq!(here, texts);
    }

    /// Constants that Rust has and C has under another name: sizes, compared above.
    const SIZES: [&str; 3] = ["THREAD_NAME_BYTES", "THREAD_RECORD_BYTES", "PACKET_HEADER_BYTES"];

    #[test]
    fn no_constant_is_left_out_of_the_comparison() {
        let compared = facts_of_c();
        let source = include_str!("../../session/src/abi.rs");
        let names = source.lines().filter_map(|line| line.strip_prefix("pub const "));
        for name in names.filter_map(|line| line.split(':').next()) {
            let of_c = format!("LULL_{name}");
            let is_compared = compared.0.contains_key(of_c.as_str())
                || compared.1.contains_key(of_c.as_str())
                || SIZES.contains(&name);
            assert!(is_compared, "{name}");
        }
    }
}
