/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event's probe calls, from any context: enter, reserve, commit, leave.
 *
 * lull_event() calls these four where user space goes through the interface of its record
 * (core/include/lull/trace.h); event.h makes it so. From enter to leave the probe holds off
 * preemption, so that the writers of a ring are contexts of one CPU that nest, and that a grace
 * period of RCU waits for the probe. Paper: B 3.3 (probe data flow), 4.1 (local atomics).
 */
#ifndef LULL_KERNEL_PROBE_H
#define LULL_KERNEL_PROBE_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include "lull/abi/session.h"
#include "lull/abi/site.h"
#include "lull_port.h"

struct lull_filtering;
struct lull_ring;
struct recorded;

/*
 * The context of this CPU's innermost probe that has not ended: what preempt_count() says of
 * interrupts, as LULL_PROBE_CONTEXT() has it, or 0; and LULL_CONTEXT_LEAVING for an interrupt that
 * has left its context and not ended.
 */
DECLARE_PER_CPU(unsigned int, lull_probe_context);
#define LULL_CONTEXT_LEAVING 1u
#define LULL_PROBE_CONTEXT() ((preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)) | 2u)

/* Which of a slot's private words is the probe's; the ring uses those before it. */
#define LULL_SLOT_INTERRUPTED 5

/*
 * What preempt_enable_notrace() does, with the call that gives the CPU away in one place: a call of
 * it in each probe is code that the kernel patches when the module is loaded, under interruptions
 * of all CPUs.
 */
#ifdef CONFIG_PREEMPTION
void lull_probe_reschedule(void);

static __always_inline void lull_probe_preempt(void)
{
	barrier();
	if (unlikely(__preempt_count_dec_and_test()))
		lull_probe_reschedule();
}
#else
#define lull_probe_preempt() preempt_enable_notrace()
#endif

/*
 * Begin the probe of an event that another probe in the same context seems to enclose. Return: the
 * mask; or 0, and the event is refused and counted.
 */
uint32_t lull_probe_begin_again(struct lull_slot *slot, uint32_t mask, unsigned int context,
				unsigned int interrupted);

/*
 * Begin a probe, with preemption off. Fields are evaluated after it, so what these call is inside,
 * too: if that is traced, its event is refused, not recorded without end. Contexts that interrupt
 * one another are as many as preempt_count() can count, and the probe of each remembers what it
 * interrupted. Return: the mask; 0 where the event is refused.
 */
static __always_inline uint32_t lull_probe_begin(struct lull_slot *slot, uint32_t mask)
{
	unsigned int context = LULL_PROBE_CONTEXT(), interrupted = raw_cpu_read(lull_probe_context);

	if (likely((interrupted ^ context) > LULL_CONTEXT_LEAVING)) {
		raw_cpu_write(lull_probe_context, context);
		slot->private_words[LULL_SLOT_INTERRUPTED] = interrupted;
		barrier();
		return mask;
	}
	return lull_probe_begin_again(slot, mask, context, interrupted);
}

static __always_inline void lull_probe_finish(const struct lull_slot *slot)
{
	barrier();
	raw_cpu_write(lull_probe_context, (unsigned int)slot->private_words[LULL_SLOT_INTERRUPTED]);
}

/*
 * Hold off preemption, and begin. Return: the record's mask, of sessions that want the event and of
 * those that filter it. Where it is 0, the probe has ended already.
 */
static __always_inline uint32_t lull_probe_enter(struct lull_slot *slot,
						 const struct lull_probe_record *record)
{
	uint32_t mask;

	preempt_disable_notrace();
	/* [site.probe:A], as in core/include/lull/trace.h: the mask before the identifiers, else
	 * the event is written under an identifier that is not set yet */
	mask = lull_load32_acquire(&record->enabled_mask);
	if (likely(mask))
		mask = lull_probe_begin(slot, mask);
	if (unlikely(!mask))
		lull_probe_preempt();
	return mask;
}

static __always_inline void lull_probe_leave(const struct lull_slot *slot)
{
	lull_probe_finish(slot);
	lull_probe_preempt();
}

/*
 * lull_slot_reserve() - reserve a slot in the ring of this CPU.
 * @session: a bit of what lull_probe_enter() returned
 * Context: between lull_probe_enter() and lull_probe_leave(). Progress: wait-free.
 * Return: 1; 0 when the session is stopped, or the event is lost and counted.
 */
int lull_slot_reserve(struct lull_slot *slot, uint32_t session, uint32_t id,
		      uint32_t payload_bytes);

/* lull_slot_commit() - make a reserved slot readable. Context: as before. Progress: wait-free. */
void lull_slot_commit(struct lull_slot *slot);

/*
 * lull_probe_attach() - let probes reach a session's rings, before any record has its bit.
 * @rings: one for each possible CPU
 * @control: has the flag that says whether to record, and the count of refused events
 */
void lull_probe_attach(uint32_t session, struct lull_ring *rings,
		       struct lull_session_control *control);

/*
 * lull_probe_filters() - let probes reach a session's filters, before any record has a bit of them.
 * @filters: by the event's identifier in the session
 */
void lull_probe_filters(uint32_t session, struct lull_filtering *const *filters);

/*
 * lull_probe_record() - let probes record context with each of a session's events, before any
 * record has the session's bit.
 */
void lull_probe_record(uint32_t session, const struct recorded *recorded);

#endif
