// SPDX-License-Identifier: MIT
/* The workers of the domains, and each thread's lane. Paper: T 6.4.5. */
#include "domain.h"

#define DOMAIN(flavour, kind, self_registering) \
	{ .domain = &rcu_##flavour##_domain,    \
	  .lock = LULL_LOCK_INITIALIZER,        \
	  .standby = { .state = CALL_THREADLESS, .cpu = -1, .lock = LULL_LOCK_INITIALIZER } },

struct call_domain lull_call_domains[RCU_DOMAINS] = { RCU_FLAVOURS(DOMAIN) };
__thread struct call_thread lull_call_thread;
LULL_CALL_FORKS_FOLLOWED;

/* Threads get lanes in the order of their first calls, so that they are spread evenly. */
unsigned int lull_call_lane_assign(void)
{
	static unsigned int assigned;
	unsigned int number = lull_mem_add32_relaxed(LULL_SHARED(&assigned), 1);

	lull_call_self()->lane = 1 + number % CALL_LANES;
	return lull_call_self()->lane;
}

/* Takes a worker away from all its CPUs. */
void lull_call_forget_cpu_locked(struct call_domain *calls, const struct call_rcu_data *worker)
{
	struct call_rcu_data **workers = lull_mem_load_pointer(&calls->cpu_workers);
	unsigned int i;

	for (i = 0; workers && i < lull_mem_load32(&calls->cpu_count); i++)
		if (lull_mem_load_pointer(&workers[i]) == worker)
			lull_mem_store_pointer(&workers[i], NULL);
}
