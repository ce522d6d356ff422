/* SPDX-License-Identifier: MIT */
/*
 * The flavours' domains, and what the host's files have of each other: domains.c, barrier.c,
 * thread.c, fork.c.
 */
#ifndef LULL_RCU_DOMAINS_H
#define LULL_RCU_DOMAINS_H

#include <signal.h>
#include "grace.h"

/* The number of each domain; RCU_DOMAINS: how many there are. */
#define RCU_FLAVOUR_INDEX(flavour, kind, self_registering) RCU_INDEX_##flavour,
enum { RCU_FLAVOURS(RCU_FLAVOUR_INDEX) RCU_DOMAINS };
#undef RCU_FLAVOUR_INDEX

/* What forces a barrier on a thread where membarrier does not: readers must not block it. */
#define RCU_BARRIER_SIGNAL (SIGRTMAX - 1)

/* domains.c: each domain by its number, in the order in which a fork takes their locks. */
extern struct rcu_domain *const rcu_domains[RCU_DOMAINS];

/* barrier.c */
void rcu_barrier_start(void); /* once, before any reader */
int rcu_barrier_by_signal(const struct rcu_grace *grace); /* its threads get signals */

/* thread.c */
void rcu_thread_start(void); /* once, before any reader */
int rcu_thread_ends(void); /* the calling thread may be a reader for a while only */
/* Says what is wrong on standard error, and aborts. */
_Noreturn void rcu_misuse(const char *flavour, int thread, const char *what);

/*
 * fork.c: the parts of the library that follow forks, in the order in which a fork takes their
 * locks. Whoever holds a lock of one takes no lock of a part before it.
 */
enum rcu_fork_part {
	RCU_FORK_WORKERS, /* callbacks and deferred calls */
	RCU_FORK_TABLES, /* hash tables */
	RCU_FORK_QDO,
	RCU_FORK_READERS, /* grace periods */
	RCU_FORK_PARTS
};

/* What a part does; before() waits neither for a grace period nor for a callback. */
struct rcu_fork_handler {
	void (*before)(void);
	void (*after_parent)(void);
	void (*after_child)(void);
};

/* In a constructor of the part's. */
void rcu_fork_follow(enum rcu_fork_part part, const struct rcu_fork_handler *handler);
/* The calling thread will fork: no other does until the end. It may begin several times. */
void rcu_fork_begin(void);
void rcu_fork_end(void);
int rcu_fork_start(void); /* once, before any reader; 0 or an error number */

#endif
