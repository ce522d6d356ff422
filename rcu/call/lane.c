// SPDX-License-Identifier: MIT
/* A lane's broken link: a worker waits until the caller has written it. Paper: T 6.4.5. */
#include "lane.h"

#include "rcu_port.h"

/* Looks for a link that is being written, before the worker lets its caller run. */
#ifndef LINK_SPINS
#define LINK_SPINS 1000
#endif

struct rcu_head *lull_lane_wait(struct rcu_head **link)
{
	struct rcu_head *head;
	int spins = LINK_SPINS;

	while (!(head = lull_mem_load_pointer(link))) {
		if (spins) {
			spins--;
			lull_relax();
		} else {
			lull_moment();
		}
	}
	return head;
}
