// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters that the kernel's perf keeps for each CPU, read by probes.
 *
 * perf's own function for that, perf_event_read_local(), is exported to no module. What it does is
 * done here under the same conditions: the counter belongs to a CPU and is pinned to it, it counts
 * there now, and interrupts are off, because perf moves counters in interrupts.
 *
 * An NMI may have interrupted perf while it moved one. perf counts what the kernel does (faults,
 * switches) in memory, which can be read then, too. The processor's counters have no value in NMIs.
 *
 * A CPU that comes later has none of these counters: neither has a value there.
 */
#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>
#include "counters.h"

struct counter_set {
	struct perf_event *events[LULL_COUNTERS]; /* NULL where the CPU has none */
};

#define NO_VALUE (-1ll)

#ifdef CONFIG_PERF_EVENTS
/* What perf calls them. */
static const struct {
	uint32_t type;
	uint64_t config;
} kinds[LULL_COUNTERS] = {
	[LULL_COUNTER_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[LULL_COUNTER_INSTRUCTIONS] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	[LULL_COUNTER_CACHE_REFERENCES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	[LULL_COUNTER_CACHE_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	[LULL_COUNTER_BRANCHES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	[LULL_COUNTER_BRANCH_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	[LULL_COUNTER_PAGE_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	[LULL_COUNTER_MAJOR_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	[LULL_COUNTER_CONTEXT_SWITCHES] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	[LULL_COUNTER_CPU_MIGRATIONS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

/* Return: a counter that counts on that CPU now, or an error. */
static struct perf_event *counter_create(enum lull_counter which, int cpu)
{
	struct perf_event_attr asked = {
		.type = kinds[which].type,
		.size = sizeof(asked),
		.config = kinds[which].config,
		.pinned = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&asked, cpu, NULL, NULL, NULL);
	if (IS_ERR(event) || READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
		return event;
	perf_event_release_kernel(event);
	return ERR_PTR(-EBUSY);
}

/* Return: 0 where a CPU counts it now, or why none does. */
static int counter_create_all(struct counters *counters, enum lull_counter which)
{
	int cpu, error = -EOPNOTSUPP;
	bool is_there = false;

	/* CPUs may come and go meanwhile: perf takes the lock that holds them off itself. */
	for_each_online_cpu(cpu) {
		struct perf_event *event = counter_create(which, cpu);

		if (!IS_ERR(event)) {
			per_cpu_ptr(counters->sets, cpu)->events[which] = event;
			is_there = true;
		} else if (PTR_ERR(event) == -EBUSY || PTR_ERR(event) == -ENOMEM) {
			error = PTR_ERR(event);
		}
	}
	return is_there ? 0 : error;
}

static int64_t count_read(struct perf_event *event)
{
	if (!event || READ_ONCE(event->oncpu) != raw_smp_processor_id())
		return NO_VALUE;
	if (event->attr.type != PERF_TYPE_SOFTWARE) {
		if (in_nmi())
			return NO_VALUE;
		event->pmu->read(event);
	}
	return local64_read(&event->count);
}

static void counter_free(struct perf_event *event)
{
	perf_event_release_kernel(event);
}
#else
static int counter_create_all(struct counters *counters, enum lull_counter which)
{
	return -EOPNOTSUPP;
}

static int64_t count_read(struct perf_event *event)
{
	return NO_VALUE;
}

static void counter_free(struct perf_event *event)
{
}
#endif

int lull_counters_create(struct counters *counters, uint32_t wanted)
{
	uint32_t left;
	int error = 0;

	*counters = (struct counters){ .wanted = wanted };
	if (!wanted)
		return 0;
	if (!perfmon_capable())
		return -EPERM;
	counters->sets = alloc_percpu_gfp(struct counter_set, GFP_KERNEL_ACCOUNT);
	if (!counters->sets)
		return -ENOMEM;
	for (left = wanted; left && !error; left &= left - 1)
		error = counter_create_all(counters, (enum lull_counter)__builtin_ctz(left));
	if (error)
		lull_counters_free(counters);
	return error;
}

void lull_counters_free(struct counters *counters)
{
	int cpu, which;

	if (!counters->sets)
		return;
	for_each_possible_cpu(cpu) {
		const struct counter_set *set = per_cpu_ptr(counters->sets, cpu);

		for (which = 0; which < LULL_COUNTERS; which++)
			if (set->events[which])
				counter_free(set->events[which]);
	}
	free_percpu(counters->sets);
	*counters = (struct counters){ 0 };
}

uint32_t lull_counters_bytes(uint32_t wanted)
{
	return hweight32(wanted) * sizeof(int64_t);
}

/*
 * What reads a counter may be traced (msr:rdpmc). With faults disabled, such an event is not taken
 * for one of an interrupt that ends, and is refused as every event of a probe's own (probe.c).
 */
unsigned char *lull_counters_store(unsigned char *to, const struct counters *counters)
{
	const struct counter_set *set = raw_cpu_ptr(counters->sets);
	unsigned long flags;
	uint32_t left;

	pagefault_disable();
	raw_local_irq_save(flags);
	/* Bound: LULL_COUNTERS bits. */
	for (left = counters->wanted; left; left &= left - 1) {
		int64_t count = count_read(set->events[__builtin_ctz(left)]);

		__builtin_memcpy(to, &count, sizeof(count));
		to += sizeof(count);
	}
	raw_local_irq_restore(flags);
	pagefault_enable();
	return to;
}
