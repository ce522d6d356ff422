// SPDX-License-Identifier: MIT
/*
 * The flavours' domains, and the calls that take one.
 *
 * Paper: T 6.4.2 (qsbr), 6.4.3 (mb), 6.4.4 (signal; memb and bp by a later system call).
 */
#include "domains.h"

#define DEFINE(flavour, kind_, self_registering_)                                \
	__thread struct rcu_reader rcu_##flavour##_reader RCU_READER_TLS = {     \
		.word = (self_registering_) ? RCU_UNREGISTERED : 0               \
	};                                                                       \
	static struct rcu_grace flavour##_grace =                                \
		RCU_GRACE_INITIALIZER(flavour##_grace, &rcu_##flavour##_domain); \
	struct rcu_domain rcu_##flavour##_domain = {                             \
		.counter = 1,                                                    \
		.grace = &flavour##_grace,                                       \
		.name = #flavour,                                                \
		.index = RCU_INDEX_##flavour,                                    \
		.kind = RCU_KIND_##kind_,                                        \
		.self_registering = (self_registering_),                         \
	};
RCU_FLAVOURS(DEFINE)

#define ADDRESS(flavour, kind, self_registering) &rcu_##flavour##_domain,
struct rcu_domain *const rcu_domains[RCU_DOMAINS] = { RCU_FLAVOURS(ADDRESS) };

struct rcu_reader *rcu_domain_self(const struct rcu_domain *domain)
{
#define CASE(flavour, kind, self_registering) \
	case RCU_INDEX_##flavour:             \
		return &rcu_##flavour##_reader;
	switch (domain->index) {
		RCU_FLAVOURS(CASE)
	}
	return NULL; /* no domain of ours */
}

const char *rcu_domain_name(const struct rcu_domain *domain)
{
	return domain->name;
}

/*
 * A handler that reads while the lock is held must find its thread registered. Return: for
 * rcu_visit_end(), when the lock is free.
 */
static int register_self(struct rcu_domain *domain)
{
	if (!domain->self_registering)
		return 0;
	return rcu_visit_begin(domain) && rcu_thread_ends();
}

static void synchronize(struct rcu_domain *domain, int expedited)
{
	struct rcu_reader *self = rcu_domain_self(domain);
	int online = domain->kind == RCU_KIND_QSBR && rcu_reader_ongoing(self), visits;

	if (online)
		rcu_reader_offline(domain, self);
	else if (rcu_reader_ongoing(self))
		rcu_misuse(domain->name, self->tid,
			   "waits for a grace period within a read-side "
			   "critical section: it would wait for itself");
	visits = register_self(domain);
	rcu_grace_synchronize(domain->grace, expedited);
	rcu_visit_end(domain, visits);
	if (online)
		rcu_reader_online(domain, self);
}

void rcu_domain_synchronize(struct rcu_domain *domain)
{
	synchronize(domain, 0);
}

void rcu_domain_synchronize_expedited(struct rcu_domain *domain)
{
	synchronize(domain, 1);
}

struct rcu_gp_poll_state rcu_domain_start_poll(struct rcu_domain *domain)
{
	int visits = register_self(domain);
	struct rcu_gp_poll_state state = { rcu_grace_start(domain->grace) };

	rcu_visit_end(domain, visits);
	return state;
}

int rcu_domain_poll_state(struct rcu_domain *domain, struct rcu_gp_poll_state state)
{
	int visits = register_self(domain);
	int is_done = rcu_grace_poll(domain->grace, state.seq);

	rcu_visit_end(domain, visits);
	return is_done;
}

__attribute__((constructor)) static void start(void)
{
	rcu_barrier_start();
	rcu_thread_start();
}
