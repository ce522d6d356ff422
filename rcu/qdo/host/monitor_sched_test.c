// SPDX-License-Identifier: MIT
/*
 * A monitor and those who prompt it, in every order in which their steps can happen.
 *
 * What is explored is the shipped monitor.c above a core whose step looks at two words, and above
 * executors that look at them when they are tended. What is asked for before a prompt, or before
 * the monitor is told to tend, is seen, and everyone ends: no prompt, no wake-up and no stop is
 * lost. Paper: Q 4.5.
 */
#include "monitor.c"
#include <string.h>
#include "sched.h"

#define ASKERS 2u
#define TENDED 0 /* parameter: bit n: asker n has the executors tended, and prompts no step */

static struct qdo *instance;
static unsigned long *asked; /* a word of each asker, for CPU 0 */
static unsigned long tended; /* as TENDED */
static uint32_t *answered; /* futex: how many */
static uint8_t *answers; /* ghost: bit n: asker n */

struct qdo_request *qdo_list_take(unsigned long *head)
{
	(void)head;
	return NULL;
}

/* Answers those of the askers that have asked. */
static void answer(unsigned long askers)
{
	uint32_t i;

	for (i = 0; i < ASKERS; i++) {
		if (!(askers >> i & 1) || *answers >> i & 1 || !lull_mem_load(&asked[i]))
			continue;
		*answers |= (uint8_t)(1u << i);
		lull_mem_add32(answered, 1);
		lull_futex_wake(answered, 1);
	}
}

void qdo_core_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	(void)core;
	(void)index;
	memset(result, 0, sizeof(*result));
	answer(~tended);
}

void lull_qdo_executors_put(struct qdo *of, struct qdo_request *first)
{
	(void)of;
	(void)first;
}

int lull_qdo_executors_tend(struct qdo *of)
{
	(void)of;
	answer(tended);
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
	if (tended >> asker & 1)
		lull_qdo_monitors_tend(instance);
	else
		lull_qdo_monitors_prompt(instance, 0);
	if (asker)
		return;
	while ((count = lull_mem_load32_acquire(answered)) != ASKERS)
		lull_futex_wait(answered, count);
	lull_qdo_monitors_stop(instance);
}

static void monitor_thread(long argument)
{
	struct host_monitor *monitor = &instance->monitors[0];

	(void)argument;
	sched_thread_run(&monitor->thread, monitor_main, monitor);
}

static void setup(const struct sched_scenario *scenario)
{
	struct host_monitor *monitor;

	tended = (unsigned long)scenario->parameter[TENDED];
	answers = sched_ghost(sizeof(*answers));
	instance = sched_alloc(sizeof(*instance), 64);
	monitor = sched_alloc(sizeof(*monitor), 64);
	asked = sched_alloc(ASKERS * sizeof(*asked), 64);
	answered = sched_alloc(sizeof(*answered), 64);
	instance->core.cpu_count = 1;
	instance->monitor_count = 1;
	instance->started = 1;
	instance->monitors = monitor;
	monitor->instance = instance;
	monitor->thread.state = 1;
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

#define SCENARIO(scenario_name, machine, askers_tended)                         \
	{                                                                       \
		.name = scenario_name, .setup = setup, .memory = machine,       \
		.parameter = { [TENDED] = askers_tended }, .cycles_allowed = 2, \
		.preemptions = SCHED_UNBOUNDED,                                 \
	}

static const struct sched_scenario scenarios[] = {
	SCENARIO("monitor_beside_two_prompts", SCHED_PSO, 0),
	SCENARIO("monitor_beside_two_prompts_by_old_values", SCHED_STALE, 0),
	SCENARIO("monitor_beside_a_prompt_and_one_that_tends", SCHED_PSO, 2),
};

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
	};

	return sched_main(&suite, count, argument);
}
