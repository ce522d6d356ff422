// SPDX-License-Identifier: MIT
/*
 * The five domains, and the calls that take one.
 *
 * Paper: T 6.4.2 (qsbr), 6.4.3 (mb), 6.4.4 (signal; memb and bp by a later system call).
 */
#include "domains.h"

#define DOMAIN(name, kind, self_registering)                                        \
	__thread struct rcu_reader rcu_##name##_reader RCU_READER_TLS = {           \
		.word = (self_registering) ? RCU_UNREGISTERED : 0                   \
	};                                                                          \
	static struct rcu_grace name##_grace = RCU_GRACE_INITIALIZER(               \
		name##_grace, &rcu_##name##_domain, kind, self_registering, #name); \
	struct rcu_domain rcu_##name##_domain = { .counter = 1, .grace = &name##_grace }

DOMAIN(qsbr, RCU_KIND_QSBR, 0);
DOMAIN(mb, RCU_KIND_FULL, 0);
DOMAIN(signal, RCU_KIND_SIGNAL, 0);
DOMAIN(memb, RCU_KIND_MEMBARRIER, 0);
DOMAIN(bp, RCU_KIND_MEMBARRIER, 1);

struct rcu_domain *const rcu_domains[RCU_DOMAINS] = {
	&rcu_qsbr_domain, &rcu_mb_domain, &rcu_signal_domain, &rcu_memb_domain, &rcu_bp_domain,
};

struct rcu_reader *rcu_domain_self(const struct rcu_domain *domain)
{
	if (domain == &rcu_memb_domain)
		return &rcu_memb_reader;
	if (domain == &rcu_bp_domain)
		return &rcu_bp_reader;
	if (domain == &rcu_qsbr_domain)
		return &rcu_qsbr_reader;
	return domain == &rcu_mb_domain ? &rcu_mb_reader : &rcu_signal_reader;
}

const char *rcu_domain_name(const struct rcu_domain *domain)
{
	return domain->grace->name;
}

/* A handler that reads while the lock is held must find its thread registered. */
static void register_self(struct rcu_domain *domain)
{
	struct rcu_reader *self = rcu_domain_self(domain);

	if (domain->grace->self_registering && !self->registered)
		rcu_domain_register(domain, self, 0);
}

static void synchronize(struct rcu_domain *domain, int expedited)
{
	struct rcu_grace *grace = domain->grace;
	struct rcu_reader *self = rcu_domain_self(domain);
	int online = grace->kind == RCU_KIND_QSBR && rcu_reader_ongoing(self);

	if (online)
		rcu_reader_offline(domain, self);
	else if (rcu_reader_ongoing(self))
		rcu_misuse(grace->name, self->tid,
			   "waits for a grace period within a read-side "
			   "critical section: it would wait for itself");
	register_self(domain);
	rcu_grace_synchronize(grace, expedited);
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
	register_self(domain);
	return (struct rcu_gp_poll_state){ rcu_grace_start(domain->grace) };
}

int rcu_domain_poll_state(struct rcu_domain *domain, struct rcu_gp_poll_state state)
{
	register_self(domain);
	return rcu_grace_poll(domain->grace, state.seq);
}

__attribute__((constructor)) static void start(void)
{
	rcu_barrier_start();
	rcu_thread_start();
}
