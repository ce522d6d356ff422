// SPDX-License-Identifier: MIT
/*
 * Looks into a request's way: the parts of its latency (Q 5.1, figure 5.1).
 *
 * The library has no probes for this. The linker puts these functions between its files
 * (--wrap), so that what runs is the library's code, with a clock read where a step ends that took
 * a request or gave one back.
 */
#include <string.h>

#include "core.h"
#include "qdo_subject.h"

struct qdo_watch qdo_watch;

static struct qdo_core *watched;
static __thread bool has_taken;
static __thread unsigned int taken_number;

void __real_qdo_core_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);
struct qdo_request *__real_qdo_submitted_take(struct qdo_core *core, unsigned int cpu);
void __wrap_qdo_core_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);
struct qdo_request *__wrap_qdo_submitted_take(struct qdo_core *core, unsigned int cpu);

/* An instance begins with its core: rcu/qdo/host/host.h. */
void qdo_watch_begin(struct qdo *instance)
{
	memset(&qdo_watch, 0, sizeof(qdo_watch));
	__atomic_store_n(&watched, (struct qdo_core *)instance, __ATOMIC_RELEASE);
}

void qdo_watch_end(void)
{
	__atomic_store_n(&watched, NULL, __ATOMIC_RELEASE);
}

static unsigned int number_now(void)
{
	return __atomic_load_n(&qdo_watch.number, __ATOMIC_ACQUIRE);
}

struct qdo_request *__wrap_qdo_submitted_take(struct qdo_core *core, unsigned int cpu)
{
	struct qdo_request *taken = __real_qdo_submitted_take(core, cpu);

	has_taken = taken != NULL;
	/* Now: before this step is over, another may have ended the request. */
	taken_number = number_now();
	return taken;
}

void __wrap_qdo_core_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result)
{
	uint64_t now_ns;

	__real_qdo_core_step(core, cpu, result);
	if (__atomic_load_n(&watched, __ATOMIC_ACQUIRE) != core || (!has_taken && !result->done))
		return;
	now_ns = timing_read_ns(CLOCK_MONOTONIC);
	if (has_taken)
		__atomic_store_n(&qdo_watch.local_ns[taken_number], now_ns, __ATOMIC_RELEASE);
	/* Nobody has called back yet: the number is still this request's. */
	if (result->done)
		__atomic_store_n(&qdo_watch.quiescent_ns[number_now()], now_ns, __ATOMIC_RELEASE);
}
