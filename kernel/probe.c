// SPDX-License-Identifier: GPL-2.0-only
/*
 * The probe between an event and the ring of this CPU: recursion, identity, reserve, commit.
 *
 * Everything here runs in any context, NMIs and machine checks included. It takes no lock, calls
 * nothing that is traced, and reaches no memory that could fault. Paper: B 3.3, T 8.5.
 *
 * The writer of an event is the thread that runs, also in an interrupt. Each CPU remembers, in
 * memory of the kernel's, the thread and the name that it wrote last, and the label that it gave
 * them. When either differs, the label above the thread's number changes, and the ring begins a new
 * run with a thread record (docs/adr/0006). Contexts that nest share that memory: `thread` is 0
 * while it is written, so that a context that interrupts the writing gives a label of its own.
 */
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include "context.h"
#include "filtering.h"
#include "probe.h"
#include "recorded.h"
#include "ring_fast.h"

#define LABEL_BITS (32 - LULL_TID_BITS)

static_assert(offsetof(struct lull_slot, private_words[LULL_SLOT_INTERRUPTED]) >=
	      sizeof(struct lull_ring_slot));
static_assert(sizeof(struct lull_filter_value) == 2 * sizeof(uint64_t));
static_assert(offsetof(struct lull_slot, payload) == offsetof(struct lull_ring_slot, payload));

/* What probes need of a session; a line of the cache holds several. */
struct target {
	struct lull_ring *rings;
	const uint64_t *active; /* the session's, in memory that its recorder writes */
	uint32_t *refused;
	struct lull_filtering *const *filters; /* by event; NULL while there are none */
	const struct recorded *recorded; /* context of all events; NULL for none */
};

struct identity {
	uint64_t thread; /* its process's number above its own, plus THREAD_KNOWN; or 0 */
	uint64_t name[2];
	uint32_t tid; /* label and number, as rings have them */
	uint32_t label;
};

/* The bit that no number of a process has, so that the idle thread is not 0. */
#define THREAD_KNOWN (1ull << 63)

static struct target targets[LULL_SESSIONS_MAX] __read_mostly;
static DEFINE_PER_CPU_ALIGNED(struct identity, identities);
DEFINE_PER_CPU(unsigned int, lull_probe_context);

void lull_probe_attach(uint32_t session, struct lull_ring *rings,
		       struct lull_session_control *control)
{
	targets[session] = (struct target){ .rings = rings,
					    .active = &control->active,
					    .refused = &control->recursion_count };
}

#ifdef CONFIG_PREEMPTION
void lull_probe_reschedule(void)
{
	__preempt_schedule_notrace();
}
#endif

/*
 * An interrupt that ends leaves its context first, and wakes threads then: with PREEMPT_RT nearly
 * each does. So an event there has the context of the probe that was interrupted, and is told from
 * one of that probe's own by interrupts, which are off. A fault that a probe causes has them off,
 * too; only reads of a program's memory fault there, and faults are disabled for them. So where an
 * interrupt ends in the middle of such a read, its event is refused as that of a fault would be.
 * One level at a time: within such an event, another is refused.
 */
static bool is_leaving(unsigned int interrupted)
{
	return !(interrupted & LULL_CONTEXT_LEAVING) && irqs_disabled() && !pagefault_disabled();
}

uint32_t lull_probe_begin_again(struct lull_slot *slot, uint32_t mask, unsigned int context,
				unsigned int interrupted)
{
	uint32_t left;

	if (is_leaving(interrupted)) {
		raw_cpu_write(lull_probe_context, context | LULL_CONTEXT_LEAVING);
		slot->private_words[LULL_SLOT_INTERRUPTED] = interrupted;
		barrier();
		return mask;
	}
	/* Filters are not asked. Bound: LULL_SESSIONS_MAX bits. */
	for (left = mask & LULL_MASK_SESSIONS; left; left &= left - 1)
		lull_add32_relaxed(targets[__builtin_ctz(left)].refused, 1);
	return 0;
}

void lull_probe_filters(uint32_t session, struct lull_filtering *const *filters)
{
	targets[session].filters = filters;
}

void lull_probe_record(uint32_t session, const struct recorded *recorded)
{
	targets[session].recorded = recorded;
}

uint32_t lull_probe_filter(const struct lull_probe_record *record, uint32_t mask,
			   const uint64_t *values)
{
	const struct lull_filter_value *fields = (const void *)values;
	uint32_t filtered = (mask & LULL_MASK_FILTERED) >> LULL_SESSIONS_MAX, read = 0;
	struct lull_filter_value contexts[LULL_CONTEXTS];

	mask &= LULL_MASK_SESSIONS;
	/* Bound: LULL_SESSIONS_MAX bits. */
	for (; filtered; filtered &= filtered - 1) {
		uint32_t session = __builtin_ctz(filtered);
		const struct lull_filtering *filtering =
			targets[session].filters[record->id[session]];

		lull_context_read(contexts, filtering->contexts & ~read);
		read |= filtering->contexts;
		if (!(lull_filter_run(&filtering->program, fields, contexts) & 1))
			mask &= ~LULL_MASK_SESSION(session);
	}
	return mask;
}

static __always_inline uint64_t thread_word(const struct task_struct *task)
{
	return THREAD_KNOWN | (uint64_t)(uint32_t)task->tgid << 32 | (uint32_t)task->pid;
}

/* Another thread or name: give it a label. Return: what rings call it. */
static noinline uint32_t identity_renew(uint64_t thread, uint64_t name_low, uint64_t name_high)
{
	uint32_t label = this_cpu_inc_return(identities.label);
	uint32_t tid = label << LULL_TID_BITS | ((uint32_t)thread & LULL_TID_MASK);

	this_cpu_write(identities.thread, 0);
	barrier();
	this_cpu_write(identities.name[0], name_low);
	this_cpu_write(identities.name[1], name_high);
	this_cpu_write(identities.tid, tid);
	barrier();
	/* A context that interrupted this one may have left parts of its own: then nothing is
	 * known. One that comes after the comparison has the same thread, and leaves it whole. */
	if (this_cpu_read(identities.label) == label)
		this_cpu_write(identities.thread, thread);
	return tid;
}

/* The running thread, as rings call it: the label is new where thread or name are. */
static __always_inline uint32_t identity_tid(const struct task_struct *task)
{
	uint64_t thread = thread_word(task), name_low, name_high;
	uint32_t tid = raw_cpu_read(identities.tid);

	barrier();
	__builtin_memcpy(&name_low, task->comm, sizeof(name_low));
	__builtin_memcpy(&name_high, task->comm + sizeof(name_low), sizeof(name_high));
	if (likely(raw_cpu_read(identities.thread) == thread) &&
	    likely(raw_cpu_read(identities.name[0]) == name_low) &&
	    likely(raw_cpu_read(identities.name[1]) == name_high))
		return tid;
	return identity_renew(thread, name_low, name_high);
}

static noinline int reserve_again(struct lull_ring *ring, struct lull_ring_slot *slot, uint32_t tid,
				  uint32_t id, uint32_t payload_bytes)
{
	struct lull_ring_writer writer = { .pid = current->tgid, .tid = tid };
	int error;

	static_assert(sizeof(writer.name) == TASK_COMM_LEN);
	__builtin_memcpy(writer.name, current->comm, sizeof(writer.name));
	error = lull_ring_reserve_slow(ring, &writer, id, payload_bytes, slot);
	/* Interrupted in every round: reserve_slow() leaves that to its caller, who has no other
	 * ring here. */
	if (error == -EBUSY)
		lull_ring_count_lost(ring, LULL_LOST_OVERFLOW, 1);
	return !error;
}

static __always_inline int reserve(struct lull_slot *event_slot, uint32_t session, uint32_t id,
				   uint32_t payload_bytes)
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)event_slot;
	struct caller caller = { .cpu = lull_cpu(), .clock = lull_clock_cycles };
	struct lull_ring *ring = &targets[session].rings[caller.cpu];

	if (unlikely(!lull_load(targets[session].active)))
		return 0;
	caller.tid = identity_tid(current);
	if (unlikely(!ring->memory.base)) {
		lull_ring_count_lost(ring, LULL_LOST_FULL, 1);
		return 0;
	}
	if (likely(reserve_fast(ring, &caller, id, payload_bytes, slot)))
		return 1;
	return reserve_again(ring, slot, caller.tid, id, payload_bytes);
}

/* Reserve room for the context too, and fill that in: the payload begins behind it. */
static noinline int reserve_with_context(struct lull_slot *slot, uint32_t session, uint32_t id,
					 uint32_t payload_bytes, const struct recorded *recorded)
{
	uint32_t bytes = recorded->contexts_bytes + payload_bytes;
	struct stacks stacks;
	int is_reserved;

	if (recorded->stacks.room)
		bytes += lull_stacks_read(&stacks, &recorded->stacks);
	is_reserved = reserve(slot, session, id, bytes);
	if (is_reserved)
		slot->payload = lull_context_store(slot->payload, recorded->contexts);
	if (is_reserved && recorded->counters.wanted)
		slot->payload = lull_counters_store(slot->payload, &recorded->counters);
	if (!recorded->stacks.room)
		return is_reserved;
	if (is_reserved)
		slot->payload = lull_stacks_store(slot->payload, &stacks, &recorded->stacks);
	lull_stacks_leave(&recorded->stacks);
	return is_reserved;
}

int lull_slot_reserve(struct lull_slot *slot, uint32_t session, uint32_t id, uint32_t payload_bytes)
{
	const struct recorded *recorded = targets[session].recorded;

	if (unlikely(recorded))
		return reserve_with_context(slot, session, id, payload_bytes, recorded);
	return reserve(slot, session, id, payload_bytes);
}

void lull_slot_commit(struct lull_slot *event_slot)
{
	struct lull_ring_slot *slot = (struct lull_ring_slot *)event_slot;
	uint64_t count;

	if (unlikely(commit_fast(slot, &count)))
		lull_ring_deliver(slot->ring, slot->position,
				  (uint32_t)(slot->commit - slot->ring->commit), count);
}
