// SPDX-License-Identifier: MIT
/*
 * A monitor and those who prompt it, in every order in which their steps can happen.
 *
 * What is explored is the shipped monitor.c above a core whose step looks at two words. What
 * is asked for before a prompt is seen by a step, and everyone ends: no prompt and no wake-up is
 * lost. Paper: Q 4.5.
 */
#include "monitor.c"
#include <string.h>
#include "sched.h"

#define ASKERS 2u

static struct qdo *instance;
static unsigned long *asked; /* a word of each asker, for CPU 0 */
static uint32_t *answered; /* futex: how many */
static uint8_t *answers; /* ghost: bit n: asker n */

struct qdo_request *qdo_list_take(unsigned long *head)
{
	(void)head;
	return NULL;
}

void qdo_core_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	uint32_t i;

	(void)core;
	(void)index;
	memset(result, 0, sizeof(*result));
	for (i = 0; i < ASKERS; i++) {
		if (*answers >> i & 1 || !lull_mem_load(&asked[i]))
			continue;
		*answers |= (uint8_t)(1u << i);
		lull_mem_add32(answered, 1);
		lull_futex_wake(answered, 1);
	}
}

void lull_qdo_executors_put(struct qdo *of, struct qdo_request *first)
{
	(void)of;
	(void)first;
}

int lull_qdo_executors_tend(struct qdo *of)
{
	(void)of;
	return 0;
}

int lull_qdo_thread_start(void *(*main)(void *), void *argument, pthread_t *thread, int is_executor)
{
	(void)main;
	(void)argument;
	(void)thread;
	(void)is_executor;
	return 0;
}

int lull_qdo_thread_pin(unsigned int cpu)
{
	(void)cpu;
	return 0;
}

void lull_qdo_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	sched_check(!timeout_ns, "nothing waits for time");
	lull_futex_wait(word, seen);
}

uint64_t lull_qdo_now_ns(void)
{
	return 0;
}

static void asker_thread(long asker)
{
	uint32_t count;

	lull_mem_store(&asked[asker], 1);
	lull_qdo_monitors_prompt(instance, 0);
	if (asker)
		return;
	while ((count = lull_mem_load32_acquire(answered)) != ASKERS)
		lull_futex_wait(answered, count);
	lull_mem_store32_full(&instance->monitors[0].stop, 1);
	wake(&instance->monitors[0]);
}

static void monitor_thread(long argument)
{
	(void)argument;
	monitor_main(&instance->monitors[0]);
}

static void setup(const struct sched_scenario *scenario)
{
	struct host_monitor *monitor;

	(void)scenario;
	answers = sched_ghost(sizeof(*answers));
	instance = sched_alloc(sizeof(*instance), 64);
	monitor = sched_alloc(sizeof(*monitor), 64);
	asked = sched_alloc(ASKERS * sizeof(*asked), 64);
	answered = sched_alloc(sizeof(*answered), 64);
	instance->core.cpu_count = 1;
	instance->monitor_count = 1;
	instance->monitors = monitor;
	monitor->instance = instance;
	sched_name(&monitor->state, 4, "state");
	sched_name(&monitor->stop, 4, "stop");
	sched_name(&monitor->tend, 4, "tend");
	sched_name(&monitor->prompted, 8, "prompted");
	sched_name(&monitor->lock, 8, "lock");
	sched_name(asked, ASKERS * sizeof(*asked), "asked");
	sched_name(answered, 4, "answered");
	sched_thread("asker A", 0, asker_thread, 0);
	sched_thread("monitor", 1, monitor_thread, 0);
	sched_thread("asker B", 2, asker_thread, 1);
}

static const struct sched_scenario scenarios[] = {
	{ .name = "monitor_beside_two_prompts",
	  .setup = setup,
	  .memory = SCHED_PSO,
	  .preemptions = SCHED_UNBOUNDED,
	  .cycles_allowed = 2 },
	{ .name = "monitor_beside_two_prompts_by_old_values",
	  .setup = setup,
	  .memory = SCHED_STALE,
	  .preemptions = SCHED_UNBOUNDED,
	  .cycles_allowed = 2 },
};

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
	};

	return sched_main(&suite, count, argument);
}
