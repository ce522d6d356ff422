// SPDX-License-Identifier: MIT
/* How a worker waits for a link of a lane that a caller has yet to write. Paper: T 6.4.5. */
#include "lane.h"

#include "rcu_port.h"

/* How often a worker looks for a link before it sleeps a moment, to let the link's caller run. */
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
