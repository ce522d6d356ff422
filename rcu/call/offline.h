/* SPDX-License-Identifier: MIT */
/*
 * What a thread does around a wait for an event that may itself wait for a grace period.
 *
 * A QSBR thread is offline meanwhile; a thread of any other flavour must not be in a section.
 * Paper: T 6.4.2.
 */
#ifndef LULL_CALL_OFFLINE_H
#define LULL_CALL_OFFLINE_H

#include "lull/rcu/domain.h"

/* Return: what to pass to lull_wait_end(). */
static inline int lull_wait_begin(struct rcu_domain *domain)
{
	struct rcu_reader *self = rcu_domain_self(domain);

	if (domain->kind != RCU_KIND_QSBR || !rcu_reader_ongoing(self))
		return 0;
	rcu_reader_offline(domain, self);
	return 1;
}

static inline void lull_wait_end(struct rcu_domain *domain, int was_online)
{
	if (was_online)
		rcu_reader_online(domain, rcu_domain_self(domain));
}

/* Aborts a program that waits, within a section, for an event that waits for the section's end. */
static inline void lull_wait_check(const struct rcu_domain *domain, const char *what)
{
	const struct rcu_reader *self = rcu_domain_self(domain);

	if (domain->kind != RCU_KIND_QSBR && rcu_reader_ongoing(self))
		rcu_domain_misuse(self, what);
}

#endif
