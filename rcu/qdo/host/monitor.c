// SPDX-License-Identifier: MIT
/*
 * Monitors: threads that step the core while requests are pending.
 *
 * One thread steps every CPU that was prompted, and, as long as operations keep some from going on,
 * those again after a while: first soon, then at twice the time, at last every period. It sleeps
 * without a timer when nothing waits (Q 4.5). In thesis mode each CPU has such a thread, which
 * looks every period as long as any request is pending, and when one is made there.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[qdo.prompt:A]	a prompt before the look at state	[qdo.rest:A]
 *	[qdo.rest:A]	state before the look at prompts	[qdo.prompt:A]
 *	[qdo.tell:A]	a request before its prompt		[qdo.serve:A]
 *	[qdo.serve:A]	a prompt's end before the look at requests	[qdo.tell:A]
 *
 * Paper: Q 3.3.1 (idle processor), 4.5, 4.7.
 */
#define _GNU_SOURCE
#include "host.h"

#include <stdio.h>

/* The first look comes after this part of a period. */
#define PERIOD_PARTS 64

void lull_qdo_monitor_init(struct host_monitor *monitor, struct qdo *instance, unsigned int cpu)
{
	*monitor = (struct host_monitor){
		.lock = LULL_LOCK_INITIALIZER,
		.instance = instance,
		.cpu = cpu,
	};
}

static struct host_monitor *monitor_of(struct qdo *instance, unsigned int cpu)
{
	return &instance->monitors[instance->monitor_count > 1 ? cpu : 0];
}

/* Of several wakers one makes the system call. */
static void wake(struct host_monitor *monitor)
{
	/* The look of [qdo.prompt:A], and of the full step by which the caller submitted. */
	if (lull_mem_load32(&monitor->state) == MONITOR_AWAKE)
		return;
	if (lull_mem_exchange32_relaxed(&monitor->state, MONITOR_AWAKE) != MONITOR_AWAKE)
		lull_futex_wake(&monitor->state, 1);
}

void lull_qdo_monitors_prompt(struct qdo *instance, unsigned int cpu)
{
	struct host_monitor *monitor = monitor_of(instance, cpu);
	unsigned long *word = &monitor->prompted[cpu / QDO_WORD_BITS];
	unsigned long bit = 1UL << cpu % QDO_WORD_BITS;

	/*
	 * [qdo.tell:A] full. Pairs with [qdo.serve:A].
	 * Orders: the request before the bit, and the bit before the look at state.
	 * Else: the step that answers finds no request. A thread that set the bit
	 * before sees to the wake.
	 */
	if (!(lull_mem_or(word, bit) & bit))
		wake(monitor);
}

void qdo_port_prompt(struct qdo_core *core, unsigned int cpu)
{
	lull_qdo_monitors_prompt((struct qdo *)core, cpu);
}

void lull_qdo_monitors_requested(struct qdo *instance, unsigned int cpu)
{
	unsigned int i;

	lull_qdo_monitors_prompt(instance, cpu);
	/* The first request after a pause starts all timers; the look of [qdo.prompt:A]. */
	for (i = 0; instance->timer_only && i < instance->monitor_count; i++)
		if (lull_mem_load32(&instance->monitors[i].state) == MONITOR_ASLEEP)
			wake(&instance->monitors[i]);
}

void lull_qdo_monitors_tend(struct qdo *instance)
{
	/*
	 * [qdo.prompt:A] full. Pairs with [qdo.rest:A].
	 * Orders: tend or stop before the look at state.
	 * Else: the monitor sleeps and does not see that it is wanted.
	 * Mutant: PROMPT_RELAXED.
	 */
	lull_mem_store32_full(&instance->monitors[0].tend, 1);
	wake(&instance->monitors[0]);
}

static void step(struct host_monitor *monitor, unsigned int cpu)
{
	struct qdo *instance = monitor->instance;
	struct qdo_step result;

	qdo_core_step(&instance->core, cpu, &result);
	if (result.waits)
		qdo_set_add(&monitor->waiting, cpu);
	else
		qdo_set_remove(&monitor->waiting, cpu);
	if (result.done) {
		monitor->nap_us = 0;
		lull_qdo_executors_put(instance, result.done);
	}
}

static unsigned int words(const struct qdo *instance)
{
	return (instance->core.cpu_count + QDO_WORD_BITS - 1) / QDO_WORD_BITS;
}

/* What the end of the timer makes a monitor look at. */
static unsigned long due_bits(const struct host_monitor *monitor, unsigned int word)
{
	if (!monitor->instance->timer_only)
		return monitor->waiting.bits[word];
	return monitor->cpu / QDO_WORD_BITS == word ? 1UL << monitor->cpu % QDO_WORD_BITS : 0;
}

/* Steps each CPU that was prompted, or is due, once. Return: whether one was prompted. */
static int pass(struct host_monitor *monitor, int is_due)
{
	unsigned int word;
	int found = 0;

	lull_lock_take(&monitor->lock);
	for (word = 0; word < words(monitor->instance); word++) {
		unsigned long bits = lull_mem_load(&monitor->prompted[word]);

		if (bits) {
			found = 1;
			/*
			 * [qdo.serve:A] full. Pairs with [qdo.tell:A].
			 * Orders: the bits' fall before the look at the CPUs' requests.
			 * Else: a request is late for that look, and its bit falls with it.
			 */
			bits = lull_mem_exchange(&monitor->prompted[word], 0);
		}
		if (is_due)
			bits |= due_bits(monitor, word);
		for (; bits; bits &= bits - 1)
			step(monitor, word * QDO_WORD_BITS + (unsigned int)__builtin_ctzl(bits));
	}
	lull_lock_release(&monitor->lock);
	return found;
}

static int is_any(const unsigned long *bits, const struct qdo *instance)
{
	unsigned int word;

	for (word = 0; word < words(instance); word++) /* a look of [qdo.rest:A] */
		if (lull_mem_load(&bits[word]))
			return 1;
	return 0;
}

/* Whether time alone may bring something to do. */
static int is_waiting(const struct host_monitor *monitor)
{
	const struct qdo *instance = monitor->instance;

	if (instance->timer_only) /* a look of [qdo.rest:A] */
		return lull_mem_load(&instance->core.pending) != 0;
	return is_any(monitor->waiting.bits, instance);
}

/* When to look at operations again. Return: nanoseconds until then; 0: no need to. */
static uint64_t set_timer(struct host_monitor *monitor, int was_prompted)
{
	const struct qdo *instance = monitor->instance;
	uint64_t now_ns, nap_ns;

	if (!is_waiting(monitor)) {
		monitor->due_ns = 0;
		monitor->nap_us = 0;
		return 0;
	}
	if (instance->timer_only)
		monitor->nap_us = instance->period_us;
	else if (!monitor->nap_us || was_prompted)
		monitor->nap_us = instance->period_us / PERIOD_PARTS + 1;
	now_ns = lull_qdo_now_ns();
	nap_ns = (uint64_t)monitor->nap_us * 1000;
	/* Requests that keep coming do not put off the look that earlier ones wait for. */
	if (!monitor->due_ns || instance->timer_only || now_ns + nap_ns < monitor->due_ns)
		monitor->due_ns = now_ns + nap_ns;
	return monitor->due_ns > now_ns ? monitor->due_ns - now_ns : 1;
}

/* The timer has ended: the next one runs longer, unless something comes of this look. */
static void count_check(struct host_monitor *monitor)
{
	const struct qdo *instance = monitor->instance;

	lull_mem_store64(&monitor->checks, monitor->checks + 1);
	monitor->due_ns = 0;
	monitor->nap_us *= 2;
	if (monitor->nap_us > instance->period_us)
		monitor->nap_us = instance->period_us;
}

static int is_needed(const struct host_monitor *monitor, uint32_t state)
{
	const struct qdo *instance = monitor->instance;

	/* The look of [qdo.rest:A]. */
	return is_any(monitor->prompted, instance) || lull_mem_load32(&monitor->stop) ||
	       lull_mem_load32(&monitor->tend) || (state == MONITOR_ASLEEP && is_waiting(monitor));
}

/* Sleeps until there is something to do. Return: whether waiting operations are due. */
static int rest(struct host_monitor *monitor, int was_prompted)
{
	struct qdo *instance = monitor->instance;
	uint64_t timeout_ns = set_timer(monitor, was_prompted);
	uint32_t state;

	/* As [qdo.rest:A], before the look at the queue: a thread that puts
	 * a request there sets it again. */
	lull_mem_store32_full(&monitor->tend, 0);
	if (monitor == &instance->monitors[0] && lull_qdo_executors_tend(instance) &&
	    (!timeout_ns || timeout_ns > QDO_TEND_NS))
		timeout_ns = QDO_TEND_NS;
	state = timeout_ns ? MONITOR_NAPPING : MONITOR_ASLEEP;
	/*
	 * [qdo.rest:A] full. Pairs with [qdo.prompt:A].
	 * Orders: the state before the look at prompts, tend, stop and what is pending.
	 * Else: what is wanted comes, its thread finds the monitor awake, and the monitor sleeps.
	 * Mutant: REST_RELAXED.
	 */
	lull_mem_store32_full(&monitor->state, state);
	if (!is_needed(monitor, state))
		lull_qdo_wait(&monitor->state, state, timeout_ns);
	lull_mem_store32(&monitor->state, MONITOR_AWAKE);
	if (!monitor->due_ns || lull_qdo_now_ns() < monitor->due_ns)
		return 0;
	count_check(monitor);
	return 1;
}

static void *monitor_main(void *argument)
{
	struct host_monitor *monitor = argument;
	char name[16] = "qdo"; /* what the kernel keeps */
	int is_of_one_cpu = monitor->instance->timer_only || monitor->instance->monitor_count > 1;
	int was_prompted, is_due = 0;

	if (is_of_one_cpu)
		snprintf(name, sizeof(name), "qdo/%u", monitor->cpu);
	lull_thread_begin(name, -1);
	if (is_of_one_cpu)
		lull_qdo_thread_pin(monitor->cpu);
	while (!lull_mem_load32(&monitor->stop)) {
		was_prompted = 0;
		/* Bound: each request is prompted a bounded number of times on its way. */
		while (pass(monitor, is_due))
			was_prompted = 1, is_due = 0;
		is_due = rest(monitor, was_prompted);
	}
	return NULL;
}

int lull_qdo_monitors_start(struct qdo *instance)
{
	unsigned int i, started;
	int error = 0;

	lull_lock_take(&instance->start_lock);
	started = instance->started;
	for (i = started; i < instance->monitor_count && !error; i++) {
		error = lull_thread_start(&instance->monitors[i].thread, monitor_main,
					  &instance->monitors[i], 0);
		if (!error)
			lull_mem_store32(&instance->started, i + 1);
	}
	lull_lock_release(&instance->start_lock);
	return error;
}

void lull_qdo_monitors_stop(struct qdo *instance)
{
	unsigned int i;

	for (i = 0; i < instance->started; i++) {
		lull_mem_store32_full(&instance->monitors[i].stop, 1); /* [qdo.prompt:A] */
		wake(&instance->monitors[i]);
		lull_thread_join(&instance->monitors[i].thread);
	}
}
