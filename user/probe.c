/* SPDX-License-Identifier: MIT */
/*
 * The probe's two calls: choose the ring of this CPU, reserve, commit.
 *
 * A thread that has a restartable-sequence area writes to the ring of its CPU. A plain ring is for
 * a vfork child, which has no area of its own although it sees its parent's, and for all threads
 * where the kernel or the C library offers none. Paper: B 3.3 (probe data flow).
 */
#include <errno.h>
#include "liblull.h"
#include "ring/ring_fast.h"

_Static_assert(sizeof(struct lull_slot) >= sizeof(struct lull_ring_slot), "slot fits");
_Static_assert(offsetof(struct lull_slot, payload) == offsetof(struct lull_ring_slot, payload),
	       "payload is first");

static __attribute__((cold, noinline)) int reserve_plain(struct lull_ring_slot *slot,
							 struct session *session, uint32_t id,
							 uint32_t payload_bytes)
{
	struct lull_ring_writer writer = lull_thread.writer;
	uint32_t tid = writer.tid & LULL_TID_MASK;
	uint32_t which = session->plain_count > 1 ? tid % session->plain_count : 0;

	if (lull_thread.state & THREAD_IN_VFORK)
		lull_vfork_writer(&writer);
	return lull_ring_reserve(&session->rings[session->cpu_count + which], &writer, id,
				 payload_bytes, slot) == 0;
}

/* A new or silent thread, a forked child, no restartable sequences, a migration, and the like. */
static __attribute__((cold, noinline)) int
reserve_again(struct lull_ring_slot *slot, uint32_t index, uint32_t id, uint32_t payload_bytes)
{
	struct session *session = &lull_process.sessions[index];
	struct thread *thread = &lull_thread;
	uint64_t state = lull_load(&lull_fork_page.state);

	if (thread->state & THREAD_SILENT || !lull_load(&session->control->active))
		return 0;
	if (!state || (uint32_t)thread->state != (uint32_t)state)
		lull_thread_refresh();
	/* Bound: each round follows a migration of this thread. */
	while (!(thread->state >> 32)) {
		uint32_t cpu = lull_cpu();
		int result;

		if (cpu >= session->cpu_count)
			break;
		result = lull_ring_reserve_slow(&session->rings[cpu], &thread->writer, id,
						payload_bytes, slot);
		if (result == -EBUSY)
			break;
		if (!result)
			thread->near = (struct near){ slot->ring, slot->ring->shared, slot->commit,
						      slot->start };
		if (result != -EAGAIN)
			return result == 0;
	}
	return reserve_plain(slot, session, id, payload_bytes);
}

/*
 * An event in cold caches costs as much as it touches lines, and as they wait for each other. So
 * all of the process that it needs is in one line, all of the thread in another, found by its
 * distance from the thread pointer, and all of the code together, without calls; and what the
 * thread's last event used is asked for at once (struct near).
 */
#define EVENT_CODE __attribute__((section(".text.lull_event"), aligned(64)))

static inline __attribute__((always_inline)) int reserve(struct lull_slot *user_slot,
							 uint32_t index, uint32_t id,
							 uint32_t payload_bytes,
							 uint64_t (*clock)(void))
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)user_slot;
	const struct process_line *line = &lull_process.lines[index];
	volatile struct thread THREAD_MEMORY *thread = THREAD_AT(line->thread);
	struct caller caller = { .place = line->place, .clock = clock };

	__builtin_prefetch(thread->near.ring);
	__builtin_prefetch(thread->near.shared);
	__builtin_prefetch(thread->near.commit, 1);
	__builtin_prefetch(thread->near.slot, 1);
	if (__builtin_expect(thread->state == lull_load(&lull_fork_page.state), 1)) {
		caller.tid = thread->writer.tid;
		caller.cpu = lull_cpu_at(line->place);
		if (__builtin_expect(caller.cpu < line->cpu_count, 1)) {
			struct lull_ring *ring = &line->rings[caller.cpu];

			if (__builtin_expect(lull_load(line->active) != 0, 1) &&
			    __builtin_expect(reserve_fast(ring, &caller, id, payload_bytes, slot),
					     1)) {
				thread->near.slot = slot->start + slot->slot_bytes;
				return 1;
			}
		}
	}
	return reserve_again(slot, index, id, payload_bytes);
}

/* In a session but the first; its line depends on what the event's record says. */
static __attribute__((noinline)) int reserve_counter_beside(struct lull_slot *slot, uint32_t index,
							    uint32_t id, uint32_t payload_bytes)
{
	return reserve(slot, index, id, payload_bytes, lull_clock_counter);
}

static EVENT_CODE int reserve_counter(struct lull_slot *slot, uint32_t index, uint32_t id,
				      uint32_t payload_bytes)
{
	if (__builtin_expect(index != 0, 0))
		return reserve_counter_beside(slot, index, id, payload_bytes);
	return reserve(slot, 0, id, payload_bytes, lull_clock_counter);
}

static int reserve_monotonic(struct lull_slot *slot, uint32_t index, uint32_t id,
			     uint32_t payload_bytes)
{
	return reserve(slot, index, id, payload_bytes, lull_clock_monotonic_ns);
}

static __attribute__((cold, noinline)) void deliver(struct lull_ring_slot *slot, uint64_t count)
{
	lull_ring_deliver(slot->ring, slot->position, (uint32_t)(slot->commit - slot->ring->commit),
			  count);
}

static EVENT_CODE void commit(struct lull_slot *user_slot)
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)user_slot;
	uint64_t count;

	if (__builtin_expect(commit_fast(slot, &count), 0))
		deliver(slot, count);
}

void lull_probe_line_set(uint32_t index)
{
	int is_counter = lull_clock_kind() == LULL_CLOCK_COUNTER_KIND;
	struct process_line *line = &lull_process.lines[index];
	char *thread = (char *)&lull_thread;

	line->rings = lull_process.sessions[index].rings;
	line->active = &lull_process.sessions[index].control->active;
	line->cpu_count = lull_process.sessions[index].cpu_count;
	line->thread = (int32_t)(thread - (char *)__builtin_thread_pointer());
	line->place = lull_thread_place();
	lull_process.lines[0].interface = (struct lull_probe_interface){
		.version = 2,
		.session_mask_valid = (2u << index) - 1,
		.reserve = is_counter ? reserve_counter : reserve_monotonic,
		.commit = commit,
		.filter = lull_filter_ask,
	};
}
