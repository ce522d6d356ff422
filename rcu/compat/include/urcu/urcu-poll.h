/* SPDX-License-Identifier: MIT */
/*
 * A grace period to poll for, as liburcu 0.14 names it.
 */
#ifndef LULL_URCU_POLL_H
#define LULL_URCU_POLL_H

struct urcu_gp_poll_state {
	unsigned long grace_period_id;
};

#endif
