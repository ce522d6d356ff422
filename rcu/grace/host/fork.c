// SPDX-License-Identifier: MIT
/*
 * fork(): one handler for all parts of the library, which take their locks in one order.
 *
 * A fork takes the locks of workers and deferred calls, of hash tables, of QDo, and of grace
 * periods at last, and gives them back the other way round; enum rcu_fork_part is that order. No
 * part waits for a grace period or for a callback: what its locks guard is short. Signals are held
 * from before the first lock to after the last, because a handler that forks would take the locks
 * again. The forking thread is registered meanwhile: fork handlers of other libraries may read, and
 * a thread that is not registered would register under a lock.
 * This handler is registered before the program's: it is the last before the fork and the first
 * after it. Paper: T 6.4.4, 6.4.5.
 */
#define _GNU_SOURCE
#include "domains.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One thread at a time forks, or has begun to: the first lock of all, over what follows. */
static struct lull_lock lock = LULL_LOCK_INITIALIZER;
static __thread unsigned int begun RCU_READER_TLS;
static sigset_t signals_before;
static int visits[RCU_DOMAINS];
static const struct rcu_fork_handler *parts[RCU_FORK_PARTS];

void rcu_fork_follow(enum rcu_fork_part part, const struct rcu_fork_handler *handler)
{
	lull_lock_take(&lock);
	parts[part] = handler;
	lull_lock_release(&lock);
}

static void hold_signals(sigset_t *before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	sigset_t held;
	size_t i;

	sigfillset(&held);
	/* A fault cannot wait; a driver that has a lock may wait for the barrier of this thread. */
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&held, faults[i]);
	sigdelset(&held, RCU_BARRIER_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &held, before);
}

void rcu_fork_begin(void)
{
	if (!begun++)
		lull_lock_take(&lock);
}

void rcu_fork_end(void)
{
	if (!--begun)
		lull_lock_release(&lock);
}

static void before_fork(void)
{
	sigset_t before;
	int i;

	hold_signals(&before);
	rcu_fork_begin();
	signals_before = before;
	for (i = 0; i < RCU_DOMAINS; i++)
		visits[i] = rcu_domains[i]->self_registering && rcu_visit_begin(rcu_domains[i]);
	for (i = 0; i < RCU_FORK_PARTS; i++)
		if (parts[i])
			parts[i]->before();
}

static void end_visits(void)
{
	int i;

	for (i = 0; i < RCU_DOMAINS; i++)
		rcu_visit_end(rcu_domains[i], visits[i]);
}

static void after_fork_parent(void)
{
	sigset_t before;
	int i;

	for (i = RCU_FORK_PARTS - 1; i >= 0; i--)
		if (parts[i])
			parts[i]->after_parent();
	end_visits();
	before = signals_before;
	rcu_fork_end();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void after_fork_child(void)
{
	sigset_t before = signals_before;
	int i;

	lull_lock_renew(&lock); /* of threads that waited for it */
	lull_lock_take(&lock);
	for (i = RCU_FORK_PARTS - 1; i >= 0; i--)
		if (parts[i])
			parts[i]->after_child();
	end_visits();
	rcu_fork_end();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The order is that of rcu_domains; nobody holds two of these locks otherwise. */
static void lock_readers(void)
{
	int i;

	for (i = 0; i < RCU_DOMAINS; i++)
		lull_lock_take(&rcu_domains[i]->grace->lock);
}

static void release_readers(void)
{
	int i;

	for (i = RCU_DOMAINS - 1; i >= 0; i--)
		lull_lock_release(&rcu_domains[i]->grace->lock);
}

static void keep_own_reader(void)
{
	int i;

	for (i = 0; i < RCU_DOMAINS; i++) {
		struct rcu_grace *grace = rcu_domains[i]->grace;
		struct rcu_reader *self = rcu_domain_self(rcu_domains[i]);

		if (self->registered)
			self->tid = (int32_t)syscall(SYS_gettid);
		rcu_grace_keep_only(grace, self->registered ? self : NULL);
		lull_lock_renew(&grace->lock);
	}
}

int rcu_fork_start(void)
{
	static const struct rcu_fork_handler readers = { lock_readers, release_readers,
							 keep_own_reader };

	rcu_fork_follow(RCU_FORK_READERS, &readers);
	return pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}
