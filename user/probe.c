/* SPDX-License-Identifier: MIT */
/*
 * The probe's two calls: choose the ring of this CPU, reserve, commit.
 *
 * A thread that has a restartable-sequence area writes to the ring of its CPU. A plain ring is for
 * a vfork child, which has no area of its own although it sees its parent's, and for all threads
 * where the kernel or the C library offers none. Paper: B 3.3 (probe data flow).
 */
#include <errno.h>
#include "context.h"
#include "liblull.h"
#include "ring/ring_fast.h"

_Static_assert(sizeof(struct lull_slot) >= sizeof(struct lull_ring_slot), "slot fits");
_Static_assert(offsetof(struct lull_slot, payload) == offsetof(struct lull_ring_slot, payload),
	       "payload is first");
_Static_assert(offsetof(struct lull_probe, slot) == 0 &&
		       offsetof(struct lull_probe, record) == sizeof(struct lull_slot),
	       "the record is found behind the slot");

/* Where an event goes, as long as it is wanted: what belongs together of one session. */
struct destination {
	const struct process_line *line;
	struct lull_ring *rings;
	uint32_t id;
};

/*
 * The session at a place, and what the event's record says of that place. Sessions come and go
 * meanwhile, without waiting for this thread. The line of the session that was there last is
 * written after the record lost the bit of the one before; so with the rings of a session comes its
 * own identifier, or no bit. With the rings of one that has left may come anything, and what is
 * written there is nobody's any more (attach.c). Return: 0 where the event is not wanted.
 */
static inline __attribute__((always_inline)) int
destination_find(struct destination *to, const struct lull_slot *slot, uint32_t index)
{
	const struct lull_probe_record *record = ((const struct lull_probe *)slot)->record;

	to->line = &lull_process.lines[index];
	/*
	 * [session.line:B] acquire. Pairs with [session.line:A].
	 * Orders: the load of the rings before those of the rest of the line and of the mask.
	 * Else: this thread finds the bit and the identifier of the session that was at this place
	 * before, and stores its event as another one in the session that is there now; or it
	 * finds that session's number of CPUs, and leaves out the contexts that this one records.
	 * Mutant: LINE_READ_RELAXED.
	 */
	to->rings = lull_load_pointer_acquire(&to->line->rings);
	/* [site.probe:A], as in trace.h: the mask before the identifier */
	if (__builtin_expect(
		    !(lull_load32_acquire(&record->enabled_mask) & LULL_MASK_SESSION(index)), 0))
		return 0;
	to->id = record->id[index];
	return 1;
}

/*
 * The same for an event that was wanted there when it began: between that and this, its session may
 * have given way to that of the user that the process has become (credentials.c).
 */
static int destination_find_moved(struct destination *to, const struct lull_slot *slot,
				  uint32_t index)
{
	uint32_t successor;

	if (destination_find(to, slot, index))
		return 1;
	successor = lull_load32(&lull_process.successors[index]);
	return successor && destination_find(to, slot, successor - 1);
}

/* The rings of all sessions of a process are as many. */
static __attribute__((cold, noinline)) int
reserve_plain(struct lull_ring_slot *slot, const struct destination *to, uint32_t payload_bytes)
{
	struct lull_ring_writer writer = lull_thread.writer;
	uint32_t tid = writer.tid & LULL_TID_MASK;
	uint32_t which = lull_process.plain_count > 1 ? tid % lull_process.plain_count : 0;

	if (lull_thread.state & THREAD_IN_VFORK)
		lull_vfork_writer(&writer);
	return lull_ring_reserve(&to->rings[lull_process.cpu_count + which], &writer, to->id,
				 payload_bytes, slot) == 0;
}

/* In the session that was found. */
static int reserve_to(struct lull_ring_slot *slot, const struct destination *to,
		      uint32_t payload_bytes)
{
	struct thread *thread = &lull_thread;
	uint64_t state = lull_load(&lull_fork_page.state);

	if (!state || (uint32_t)thread->state != (uint32_t)state)
		lull_thread_refresh();
	/* Bound: each round follows a migration of this thread. */
	while (!(thread->state >> 32)) {
		uint32_t cpu = lull_cpu();
		int result;

		if (cpu >= lull_process.cpu_count)
			break;
		result = lull_ring_reserve_slow(&to->rings[cpu], &thread->writer, to->id,
						payload_bytes, slot);
		if (result == -EBUSY)
			break;
		if (!result)
			thread->near = (struct near){ slot->ring, slot->ring->shared, slot->commit,
						      slot->start };
		if (result != -EAGAIN)
			return result == 0;
	}
	return reserve_plain(slot, to, payload_bytes);
}

/* In a session that records contexts: they go in front of the event's fields. */
static __attribute__((noinline)) int reserve_context(struct lull_ring_slot *slot,
						     const struct destination *to,
						     uint32_t payload_bytes,
						     const struct context_frame *frame)
{
	const struct context_plan *plan = lull_context_of(to->rings);
	unsigned char context[CONTEXT_BYTES_MAX] __attribute__((aligned(8)));
	uint32_t bytes = lull_context_write(plan, context, frame);
	struct context_copy copy;
	int has_copy = lull_context_copy_find(&copy, plan, frame);

	if (!reserve_to(slot, to, payload_bytes + bytes + (has_copy ? copy.bytes : 0)))
		return 0;
	/* Words, and no call of the C library. */
	for (uint32_t at = 0; at < bytes; at += sizeof(uint32_t))
		lull_store32((uint32_t *)(void *)(slot->payload + at),
			     *(const uint32_t *)(const void *)(context + at));
	slot->payload += bytes;
	if (has_copy) {
		lull_context_copy_write(&copy, slot->payload);
		slot->payload += copy.bytes;
	}
	return 1;
}

/*
 * A new or silent thread, a forked child, no restartable sequences, a migration, contexts, and the
 * like. @frame: as lull_context_write() takes it.
 */
static __attribute__((cold, noinline)) int reserve_again(struct lull_slot *user_slot,
							 uint32_t index, uint32_t payload_bytes,
							 const struct context_frame *frame)
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)user_slot;
	struct destination to;

	if (!destination_find_moved(&to, user_slot, index) || lull_thread_is_silent() ||
	    !lull_load(to.line->active))
		return 0;
	if (lull_context_is_any(lull_context_of(to.rings)))
		return reserve_context(slot, &to, payload_bytes, frame);
	return reserve_to(slot, &to, payload_bytes);
}

/*
 * An event in cold caches costs as much as it touches lines, and as they wait for each other. So
 * all of the process that it needs is in one line, all of the thread in another, found by its
 * distance from the thread pointer, and all of the code together, without calls; and what the
 * thread's last event used is asked for at once (struct near).
 */
#define EVENT_CODE __attribute__((section(".text.lull_event"), aligned(64)))

static inline __attribute__((always_inline)) int reserve(struct lull_slot *user_slot,
							 uint32_t index, uint32_t payload_bytes,
							 uint64_t (*clock)(void))
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)user_slot;
	const struct process_line *line = &lull_process.lines[index];
	volatile struct thread THREAD_MEMORY *thread = THREAD_AT(line->thread);
	struct caller caller = { .place = line->place, .clock = clock };
	struct destination to;

	__builtin_prefetch(thread->near.ring);
	__builtin_prefetch(thread->near.shared);
	__builtin_prefetch(thread->near.commit, 1);
	__builtin_prefetch(thread->near.slot, 1);
	if (__builtin_expect(thread->state == lull_load(&lull_fork_page.state), 1)) {
		caller.tid = thread->writer.tid;
		caller.cpu = lull_cpu_at(line->place);
		/* The number of CPUs is that of these rings' session, or of a later one. */
		if (__builtin_expect(destination_find(&to, user_slot, index), 1) &&
		    __builtin_expect(caller.cpu < line->cpu_count, 1) &&
		    __builtin_expect(lull_load(line->active) != 0, 1) &&
		    __builtin_expect(reserve_fast(&to.rings[caller.cpu], &caller, to.id,
						  payload_bytes, slot),
				     1)) {
			thread->near.slot = slot->start + slot->slot_bytes;
			return 1;
		}
	}
	return reserve_again(user_slot, index, payload_bytes, NULL);
}

/* In a session but the first; its line depends on what the event's record says. */
static __attribute__((noinline)) int reserve_counter_beside(struct lull_slot *slot, uint32_t index,
							    uint32_t payload_bytes)
{
	return reserve(slot, index, payload_bytes, lull_clock_counter);
}

static EVENT_CODE int reserve_counter(struct lull_slot *slot, uint32_t index, uint32_t id,
				      uint32_t payload_bytes)
{
	(void)id; /* of the session that was at this place when the caller looked */
	if (__builtin_expect(index != 0, 0))
		return reserve_counter_beside(slot, index, payload_bytes);
	return reserve(slot, 0, payload_bytes, lull_clock_counter);
}

static int reserve_monotonic(struct lull_slot *slot, uint32_t index, uint32_t id,
			     uint32_t payload_bytes)
{
	(void)id;
	return reserve(slot, index, payload_bytes, lull_clock_monotonic_ns);
}

/*
 * In place of these two while a session of the process records call stacks: the probe's own frame
 * is known here only. A probe that still calls the others records a stack without a frame.
 */
static __attribute__((noinline)) int reserve_framed(struct lull_slot *slot, uint32_t index,
						    uint32_t id, uint32_t payload_bytes)
{
	const uintptr_t *words = __builtin_frame_address(0);
	const struct context_frame frame = { (uintptr_t)words, words[0], words[1],
					     (uintptr_t)__builtin_dwarf_cfa() };

	if (!lull_process.lines[index].cpu_count)
		return reserve_again(slot, index, payload_bytes, &frame);
	return lull_clock_kind() == LULL_CLOCK_COUNTER_KIND ?
		       reserve_counter(slot, index, id, payload_bytes) :
		       reserve_monotonic(slot, index, id, payload_bytes);
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

static void reserve_set(int (*reserve)(struct lull_slot *, uint32_t, uint32_t, uint32_t))
{
	_Static_assert(sizeof(reserve) == sizeof(uint64_t), "it is stored at once");
	lull_store((uint64_t *)(void *)&lull_process.lines[0].interface.reserve,
		   (uint64_t)(uintptr_t)reserve);
}

void lull_probe_reserve_choose(uint32_t attached)
{
	/* Bound: LULL_SESSIONS_MAX bits. */
	for (; attached; attached &= attached - 1) {
		uint32_t index = (uint32_t)__builtin_ctz(attached);

		if (lull_context_has_frame(lull_context_of(lull_process.sessions[index].rings))) {
			reserve_set(reserve_framed);
			return;
		}
	}
	reserve_set(lull_clock_kind() == LULL_CLOCK_COUNTER_KIND ? reserve_counter :
								   reserve_monotonic);
}

void lull_probe_line_set(uint32_t index)
{
	struct process_line *line = &lull_process.lines[index];
	struct session *session = &lull_process.sessions[index];
	struct lull_probe_interface *interface = &lull_process.lines[0].interface;
	const struct context_plan *context = lull_context_of(session->rings);
	int has_context = lull_context_is_any(context);
	char *thread = (char *)&lull_thread;

	if (has_context)
		lull_context_begin(context);
	line->active = &session->control->active;
	line->cpu_count = has_context ? 0 : session->cpu_count;
	line->thread = (int32_t)(thread - (char *)__builtin_thread_pointer());
	line->place = lull_thread_place();
	if (!interface->version)
		*interface = (struct lull_probe_interface){
			.version = 2,
			.commit = commit,
			.filter = lull_filter_ask,
		};
	lull_probe_reserve_choose(lull_process.attached | 1u << index);
	lull_store32(&interface->session_mask_valid, lull_process.attached | 1u << index);
	/*
	 * [session.line:A] release. Pairs with [session.line:B].
	 * Orders: the stores that took the bit of the session before from all records, and those
	 * to the rest of the line, before that of the rings.
	 * Else: a probe finds the rings of this session, and the bit and the identifier of the
	 * other one. Mutants: LINE_RELAXED, LINE_EARLY.
	 */
	lull_store_pointer_release(&line->rings, session->rings);
}
