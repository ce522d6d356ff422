// SPDX-License-Identifier: MIT
/*
 * What Rust needs beside ring.h: the clock, which is inline in C, and everything that ffi.rs and
 * session::abi say of the headers' bytes, for the test that compares them.
 */
#include <sys/ioctl.h>
#include "lull/abi/count.h"
#include "lull/abi/kernel.h"
#include "lull/abi/packet.h"
#include "lull/abi/session.h"
#include "lull/abi/site.h"
#include "lull_port.h"
#include "ring.h"

/* The structures C fills in for Rust: a change must not compile before ffi.rs follows it. */
_Static_assert(sizeof(struct lull_ring) == 128, "RingView in ffi.rs");
_Static_assert(sizeof(struct lull_ring_subbuf) == 48, "Subbuf in ffi.rs");

/* Of a thread that closes a ring; tests, which write events, point it at their thread's area. */
__thread struct rseq *lull_rseq_area;

/* Absent from C libraries before 2.35, which register no area. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* Session of the kernel's whose ring this thread reads; -1 where programs write to the ring. */
static __thread int kernel_session = -1;

void lull_barrier_programs(void); /* lull_barrier_heavy() of port/user */
void lull_consumer_select(int descriptor);
uint64_t lull_consumer_cycles(void);
void lull_consumer_rseq(void *area);
int lull_consumer_close(struct lull_ring *ring);

uint64_t lull_consumer_cycles(void)
{
	return lull_clock_cycles_ordered();
}

void lull_consumer_select(int descriptor)
{
	kernel_session = descriptor;
}

/* The light barriers of the kernel's writers are completed by the kernel. */
void lull_barrier_heavy(void)
{
	if (kernel_session < 0)
		lull_barrier_programs();
	else
		ioctl(kernel_session, LULL_KERNEL_BARRIER);
}

void lull_consumer_rseq(void *area)
{
	lull_rseq_area = area;
}

/* lull_ring_close(), by a thread that may never have written to a ring. */
int lull_consumer_close(struct lull_ring *ring)
{
	/* Where there is no restartable sequence, this thread is on no ring's CPU. */
	static struct rseq none = { .cpu_id = RSEQ_CPU_ID_UNINITIALIZED };
	struct rseq *kept = lull_rseq_area;
	int result;

	if (!kept && &__rseq_size && __rseq_size)
		kept = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	lull_rseq_area = kept ? kept : &none;
	result = lull_ring_close(ring);
	lull_rseq_area = kept;
	return result;
}

/* One fact of the headers: an offset, a size, a constant, or a text. */
struct lull_fact {
	const char *name;
	uint64_t value;
	const char *text;
};

#define SIZE(type)                               \
	{                                        \
#type, sizeof(struct type), NULL \
	}
#define FIELD(type, field)                                           \
	{                                                            \
#type "." #field, offsetof(struct type, field), NULL \
	}
#define VALUE(name)               \
	{                         \
#name, name, NULL \
	}
#define TEXT(name)             \
	{                      \
#name, 0, name \
	}

const struct lull_fact lull_consumer_facts[] = {
	SIZE(lull_packet_header),
	FIELD(lull_packet_header, magic),
	FIELD(lull_packet_header, uuid),
	FIELD(lull_packet_header, stream_id),
	FIELD(lull_packet_header, timestamp_begin_cycles),
	FIELD(lull_packet_header, timestamp_end_cycles),
	FIELD(lull_packet_header, content_size_bits),
	FIELD(lull_packet_header, packet_size_bits),
	FIELD(lull_packet_header, packet_seq_num),
	FIELD(lull_packet_header, events_discarded),
	FIELD(lull_packet_header, lost),
	FIELD(lull_packet_header, cpu_id),
	FIELD(lull_packet_header, flags),
	SIZE(lull_event_entry),
	FIELD(lull_event_entry, hash),
	FIELD(lull_event_entry, offset_bytes),
	FIELD(lull_event_entry, length_bytes),
	FIELD(lull_session_control, magic),
	FIELD(lull_session_control, version),
	FIELD(lull_session_control, control_bytes),
	FIELD(lull_session_control, uuid),
	FIELD(lull_session_control, mode),
	FIELD(lull_session_control, clock_kind),
	FIELD(lull_session_control, cpu_count),
	FIELD(lull_session_control, plain_count),
	FIELD(lull_session_control, subbuf_size_bytes),
	FIELD(lull_session_control, subbuf_count),
	FIELD(lull_session_control, physical_count),
	FIELD(lull_session_control, ring_stride_bytes),
	FIELD(lull_session_control, data_offset_bytes),
	FIELD(lull_session_control, data_stride_bytes),
	FIELD(lull_session_control, memory_bytes),
	FIELD(lull_session_control, patterns_offset_bytes),
	FIELD(lull_session_control, patterns_bytes),
	FIELD(lull_session_control, events_offset_bytes),
	FIELD(lull_session_control, event_capacity),
	FIELD(lull_session_control, arena_offset_bytes),
	FIELD(lull_session_control, arena_bytes),
	FIELD(lull_session_control, rings_offset_bytes),
	FIELD(lull_session_control, user_id),
	FIELD(lull_session_control, stream_id),
	FIELD(lull_session_control, own_offset_bytes),
	FIELD(lull_session_control, filters_offset_bytes),
	FIELD(lull_session_control, filters_bytes),
	FIELD(lull_session_control, count_pages),
	FIELD(lull_session_control, budget_offset_bytes),
	FIELD(lull_session_control, reserved),
	SIZE(lull_session_control),
	FIELD(lull_session_control, arena_used_bytes),
	FIELD(lull_session_control, process_count),
	FIELD(lull_session_control, site_count),
	FIELD(lull_session_control, enabled_count),
	FIELD(lull_session_control, unpatched_count),
	FIELD(lull_session_control, unregistered_count),
	FIELD(lull_session_control, refused_count),
	FIELD(lull_session_control, recursion_count),
	FIELD(lull_session_control, label_count),
	FIELD(lull_session_control, active),
	FIELD(lull_session_control, rules_sequence),
	FIELD(lull_session_control, ended),
	FIELD(lull_session_control, patterns_used_bytes),
	FIELD(lull_session_control, filters_used_bytes),
	FIELD(lull_session_control, contexts),
	FIELD(lull_session_control, user_frames),
	FIELD(lull_session_control, copy_bytes),
	FIELD(lull_session_control, unused_1),
	FIELD(lull_session_control, unused),
	SIZE(lull_own_events),
	FIELD(lull_own_events, claimed),
	FIELD(lull_own_events, count),
	FIELD(lull_own_events, site_count),
	FIELD(lull_own_events, enabled_count),
	FIELD(lull_own_events, build_id_bytes),
	FIELD(lull_own_events, build_id),
	FIELD(lull_own_events, id),
	SIZE(lull_ring_shared),
	FIELD(lull_ring_shared, write_count),
	FIELD(lull_ring_shared, run),
	FIELD(lull_ring_shared, last_cycles),
	FIELD(lull_ring_shared, physical),
	FIELD(lull_ring_shared, unused_1),
	FIELD(lull_ring_shared, read_count),
	FIELD(lull_ring_shared, recorded_index),
	FIELD(lull_ring_shared, recorded_count),
	FIELD(lull_ring_shared, recorded_bytes),
	FIELD(lull_ring_shared, recorded_packets),
	FIELD(lull_ring_shared, lost),
	FIELD(lull_ring_shared, unused_2),
	FIELD(lull_ring_shared, taken),
	FIELD(lull_ring_shared, unused_3),
	SIZE(lull_commit),
	FIELD(lull_commit, count),
	FIELD(lull_commit, seq),
	SIZE(lull_count_plan),
	FIELD(lull_count_plan, table_count),
	FIELD(lull_count_plan, capacity),
	FIELD(lull_count_plan, slot_bytes),
	FIELD(lull_count_plan, first_rule),
	FIELD(lull_count_plan, stride_bytes),
	FIELD(lull_count_plan, by_count),
	FIELD(lull_count_plan, has_value),
	FIELD(lull_count_plan, by),
	FIELD(lull_count_plan, value),
	SIZE(lull_count_value),
	FIELD(lull_count_value, kind),
	FIELD(lull_count_value, bytes),
	FIELD(lull_count_value, words),
	SIZE(lull_count_slot),
	FIELD(lull_count_slot, state),
	FIELD(lull_count_slot, count),
	FIELD(lull_count_slot, least_inverted),
	FIELD(lull_count_slot, greatest),
	FIELD(lull_count_slot, event),
	FIELD(lull_count_slot, value_kind),
	FIELD(lull_count_slot, unused),
	SIZE(lull_ring_geometry),
	FIELD(lull_ring_geometry, subbuf_size_bytes),
	FIELD(lull_ring_geometry, subbuf_count),
	FIELD(lull_ring_geometry, physical_count),
	FIELD(lull_ring_geometry, mode),
	FIELD(lull_ring_geometry, plain),
	FIELD(lull_ring_geometry, cpu_id),
	FIELD(lull_ring_geometry, stream_id),
	FIELD(lull_ring_geometry, uuid),
	SIZE(lull_ring_memory),
	FIELD(lull_ring_memory, base),
	FIELD(lull_ring_memory, pages),
	SIZE(lull_ring),
	FIELD(lull_ring, shared),
	FIELD(lull_ring, commit),
	FIELD(lull_ring, memory),
	FIELD(lull_ring, subbuf_mask),
	FIELD(lull_ring, slot_mask),
	FIELD(lull_ring, physical_mask),
	FIELD(lull_ring, subbuf_bits),
	FIELD(lull_ring, reference),
	FIELD(lull_ring, geometry),
	FIELD(lull_ring, buffer_bits),
	FIELD(lull_ring, active),
	SIZE(lull_ring_subbuf),
	FIELD(lull_ring_subbuf, data),
	FIELD(lull_ring_subbuf, position),
	FIELD(lull_ring_subbuf, content_bytes),
	FIELD(lull_ring_subbuf, committed_bytes),
	FIELD(lull_ring_subbuf, physical),
	FIELD(lull_ring_subbuf, complete),
	FIELD(lull_ring_subbuf, last_cycles),
	VALUE(LULL_PACKET_MAGIC),
	VALUE(LULL_SESSION_MAGIC),
	VALUE(LULL_SESSION_VERSION),
	TEXT(LULL_SESSION_MEMORY_LINK),
	TEXT(LULL_SESSION_MEMORY_PREFIX),
	TEXT(LULL_SESSION_VARIABLE),
	TEXT(LULL_DESCRIPTION_THREAD),
	TEXT(LULL_DESCRIPTION_LOST),
	TEXT(LULL_DESCRIPTION_LOST_BYTES),
	VALUE(LULL_SESSIONS_MAX),
	VALUE(LULL_SESSION_CPU_TIME),
	VALUE(LULL_SESSION_CONTEXTS),
	VALUE(LULL_SESSION_FRAMES_MAX),
	VALUE(LULL_SESSION_COPY_BYTES_MAX),
	VALUE(LULL_FILTER_STATE_DECIDES),
	VALUE(LULL_FILTER_STATE_OLD),
	VALUE(LULL_FILTER_STATE_UNFIT),
	VALUE(LULL_FILTER_STATE_FULL),
	VALUE(LULL_FILTER_STATE_DAMAGED),
	VALUE(LULL_FILTER_STATE_UNDECIDED),
	VALUE(LULL_FILTER_STATE_SAMPLES),
	VALUE(LULL_FILTER_STATE_PAIRS),
	VALUE(LULL_SAMPLE_MAX),
	VALUE(LULL_BUDGET_ROWS_MAX),
	VALUE(LULL_THROTTLE_MASK),
	VALUE(LULL_THROTTLE_MAX),
	VALUE(LULL_SUBBUF_BYTES_MIN),
	VALUE(LULL_SUBBUF_BYTES_MAX),
	VALUE(LULL_SUBBUF_COUNT_MIN),
	VALUE(LULL_SUBBUF_COUNT_MAX),
	VALUE(LULL_SUBBUF_SPARES),
	VALUE(LULL_CPU_COUNT_MAX),
	VALUE(LULL_LOST_CAUSES),
	VALUE(LULL_LOST_FULL),
	VALUE(LULL_LOST_OVERFLOW),
	VALUE(LULL_LOST_TOO_BIG),
	VALUE(LULL_LOST_IN_FLIGHT),
	VALUE(LULL_MODE_DISCARD),
	VALUE(LULL_MODE_FLIGHT_RECORDER),
	VALUE(LULL_TAG_EMPTY),
	VALUE(LULL_TAG_COMPACT_MAX),
	VALUE(LULL_TAG_EXTENDED),
	VALUE(LULL_TAG_HOLE),
	VALUE(LULL_TAG_END),
	VALUE(LULL_SLOT_ALIGN),
	VALUE(LULL_COMPACT_HEADER_BYTES),
	VALUE(LULL_EXTENDED_HEADER_BYTES),
	VALUE(LULL_COMPACT_TIMESTAMP_BITS),
	VALUE(LULL_TID_BITS),
	VALUE(LULL_EVENT_THREAD),
	VALUE(LULL_EVENT_LOST),
	VALUE(LULL_EVENT_LOST_BYTES),
	VALUE(LULL_EVENT_CONTEXT),
	VALUE(LULL_EVENT_FIRST),
	VALUE(LULL_COUNT_PLAN_BYTES),
	VALUE(LULL_COUNT_TABLES_MAX),
	VALUE(LULL_COUNT_CAPACITY_MAX),
	VALUE(LULL_COUNT_BY_MAX),
	VALUE(LULL_COUNT_NAME_BYTES),
	VALUE(LULL_COUNT_NAMES_BYTES),
	VALUE(LULL_COUNT_TEXT_WORDS),
	VALUE(LULL_COUNT_TEXT_BYTES),
	VALUE(LULL_COUNT_STEP_BITS),
	VALUE(LULL_COUNT_BUCKETS),
	VALUE(LULL_COUNT_BUCKET_ZERO),
	VALUE(LULL_COUNT_UNSIGNED),
	VALUE(LULL_COUNT_SIGNED),
	VALUE(LULL_COUNT_TEXT),
	VALUE(LULL_COUNT_READY),
	VALUE(LULL_OWN_EVENTS_MAX),
	VALUE(LULL_OWN_BUILD_ID_BYTES),
	VALUE(LULL_TAKEN),
	TEXT(LULL_KERNEL_DEVICE),
	VALUE(LULL_KERNEL_INTERFACE),
	VALUE(LULL_KERNEL_VERSION),
	VALUE(LULL_KERNEL_PLAN),
	VALUE(LULL_KERNEL_ENABLE),
	VALUE(LULL_KERNEL_DISABLE),
	VALUE(LULL_KERNEL_RESERVED),
	VALUE(LULL_KERNEL_LEFT),
	VALUE(LULL_KERNEL_FORGET),
	VALUE(LULL_KERNEL_PLAN_RESERVED),
	VALUE(LULL_RESERVED_NONE),
	VALUE(LULL_RESERVED_FREE),
	VALUE(LULL_RESERVED_USED),
	VALUE(LULL_RESERVED_LEFT),
	VALUE(LULL_KERNEL_SOURCE),
	VALUE(LULL_KERNEL_MISSED),
	VALUE(LULL_SOURCE_FIELDS_MAX),
	VALUE(LULL_SOURCE_STEPS_MAX),
	VALUE(LULL_SOURCE_TRACEPOINT),
	VALUE(LULL_SOURCE_FUNCTION),
	VALUE(LULL_SOURCE_RETURN),
	VALUE(LULL_SOURCE_ACCESS),
	VALUE(LULL_SOURCE_PROGRAM),
	VALUE(LULL_SOURCE_PROGRAM_RETURN),
	VALUE(LULL_ACCESS_WRITE),
	VALUE(LULL_ACCESS_READ_WRITE),
	VALUE(LULL_ACCESS_EXECUTE),
	VALUE(LULL_FROM_ARGUMENT),
	VALUE(LULL_FROM_REGISTER),
	VALUE(LULL_FROM_RESULT),
	VALUE(LULL_FROM_CONSTANT),
	VALUE(LULL_FROM_UNREAD),
	SIZE(lull_kernel_source),
	FIELD(lull_kernel_source, bytes),
	FIELD(lull_kernel_source, flags),
	FIELD(lull_kernel_source, kind),
	FIELD(lull_kernel_source, field_count),
	FIELD(lull_kernel_source, fields),
	FIELD(lull_kernel_source, target),
	FIELD(lull_kernel_source, description),
	FIELD(lull_kernel_source, target_bytes),
	FIELD(lull_kernel_source, description_bytes),
	FIELD(lull_kernel_source, offset),
	FIELD(lull_kernel_source, length),
	FIELD(lull_kernel_source, access),
	SIZE(lull_source_field),
	FIELD(lull_source_field, from),
	FIELD(lull_source_field, step_count),
	FIELD(lull_source_field, is_user),
	FIELD(lull_source_field, unused),
	FIELD(lull_source_field, index),
	FIELD(lull_source_field, constant),
	FIELD(lull_source_field, steps),
	SIZE(lull_kernel_missed),
	FIELD(lull_kernel_missed, bytes),
	FIELD(lull_kernel_missed, flags),
	FIELD(lull_kernel_missed, number),
	FIELD(lull_kernel_missed, unused),
	FIELD(lull_kernel_missed, missed_count),
	VALUE(LULL_KERNEL_FILTER),
	VALUE(LULL_KERNEL_CONTEXT),
	VALUE(LULL_KERNEL_RULES),
	VALUE(LULL_KERNEL_FRAMES_MAX),
	SIZE(lull_kernel_context),
	FIELD(lull_kernel_context, bytes),
	FIELD(lull_kernel_context, flags),
	FIELD(lull_kernel_context, contexts),
	FIELD(lull_kernel_context, kernel_frames),
	FIELD(lull_kernel_context, user_frames),
	FIELD(lull_kernel_context, counters),
	SIZE(lull_kernel_filter),
	FIELD(lull_kernel_filter, bytes),
	FIELD(lull_kernel_filter, flags),
	FIELD(lull_kernel_filter, event_hash),
	FIELD(lull_kernel_filter, program),
	FIELD(lull_kernel_filter, program_bytes),
	FIELD(lull_kernel_filter, unused),
	SIZE(lull_kernel_rules),
	FIELD(lull_kernel_rules, bytes),
	FIELD(lull_kernel_rules, flags),
	FIELD(lull_kernel_rules, patterns),
	FIELD(lull_kernel_rules, patterns_bytes),
	FIELD(lull_kernel_rules, unused),
	SIZE(lull_kernel_plan),
	FIELD(lull_kernel_plan, bytes),
	FIELD(lull_kernel_plan, flags),
	FIELD(lull_kernel_plan, uuid),
	FIELD(lull_kernel_plan, mode),
	FIELD(lull_kernel_plan, stream_id),
	FIELD(lull_kernel_plan, subbuf_size_bytes),
	FIELD(lull_kernel_plan, subbuf_count),
	FIELD(lull_kernel_plan, spare_count),
	FIELD(lull_kernel_plan, patterns),
	FIELD(lull_kernel_plan, patterns_bytes),
	FIELD(lull_kernel_plan, clock_kind),
	FIELD(lull_kernel_plan, memory_bytes),
	SIZE(lull_kernel_enable),
	FIELD(lull_kernel_enable, bytes),
	FIELD(lull_kernel_enable, flags),
	FIELD(lull_kernel_enable, event_count),
	FIELD(lull_kernel_enable, matched_count),
	FIELD(lull_kernel_enable, enabled_count),
	FIELD(lull_kernel_enable, absent_count),
	FIELD(lull_kernel_enable, failed_count),
	FIELD(lull_kernel_enable, undescribed_count),
	FIELD(lull_kernel_enable, unused_filter_count),
	FIELD(lull_kernel_enable, unused),
	SIZE(lull_kernel_reserved),
	FIELD(lull_kernel_reserved, bytes),
	FIELD(lull_kernel_reserved, flags),
	FIELD(lull_kernel_reserved, state),
	FIELD(lull_kernel_reserved, given_count),
	FIELD(lull_kernel_reserved, reserved_bytes),
	FIELD(lull_kernel_reserved, memory_bytes),
	FIELD(lull_kernel_reserved, begun_cycles),
	FIELD(lull_kernel_reserved, begun_ns),
	SIZE(lull_thread_record),
	{ "lull_thread_record.name", sizeof(((struct lull_thread_record *)0)->name), NULL },
};

const size_t lull_consumer_fact_count =
	sizeof(lull_consumer_facts) / sizeof(lull_consumer_facts[0]);
