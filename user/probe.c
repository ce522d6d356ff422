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
static __attribute__((cold, noinline)) int reserve_again(struct lull_ring_slot *slot,
							 struct session *session, uint32_t id,
							 uint32_t payload_bytes)
{
	struct thread *thread = &lull_thread;
	uint64_t state = lull_load(lull_process.state);

	if (thread->state & THREAD_SILENT)
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
		if (result != -EAGAIN)
			return result == 0;
	}
	return reserve_plain(slot, session, id, payload_bytes);
}

static int reserve(struct lull_slot *user_slot, uint32_t index, uint32_t id, uint32_t payload_bytes)
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)user_slot;
	struct session *session = &lull_process.sessions[index];
	struct thread *thread = &lull_thread;
	uint32_t cpu;

	if (!lull_load32(&session->control->active))
		return 0;
	if (__builtin_expect(thread->state == lull_load(lull_process.state), 1)) {
		cpu = lull_cpu();
		if (__builtin_expect(cpu < session->cpu_count, 1) &&
		    __builtin_expect(reserve_fast(&session->rings[cpu], &thread->writer, id,
						  payload_bytes, slot),
				     1))
			return 1;
	}
	return reserve_again(slot, session, id, payload_bytes);
}

static void commit(struct lull_slot *slot)
{
	lull_ring_commit((struct lull_ring_slot *)slot);
}

void lull_probe_interface_set(void)
{
	lull_process.interface = (struct lull_probe_interface){
		.version = 1,
		.session_mask_valid = (1u << lull_process.session_count) - 1,
		.reserve = reserve,
		.commit = commit,
	};
}
