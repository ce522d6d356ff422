/* SPDX-License-Identifier: MIT */
/*
 * The five flavours as tables, and threads that do one thing at a time, for the tests of grace
 * periods. Nothing here depends on time.
 */
#ifndef LULL_RCU_ACTOR_TEST_H
#define LULL_RCU_ACTOR_TEST_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include "../../check/test.h"
#include "domains.h"
#include "lull/rcu/flavour/bp.h"
#include "lull/rcu/flavour/mb.h"
#include "lull/rcu/flavour/memb.h"
#include "lull/rcu/flavour/qsbr.h"
#include "lull/rcu/flavour/signal.h"

#define HANG_LIMIT_S 120

/* QSBR: a section is what lies between coming online and going offline. */
struct flavour {
	struct rcu_domain *domain;
	struct rcu_reader *(*self)(void);
	void (*enter)(void);
	void (*leave)(void);
	void (*register_thread)(void);
	void (*unregister_thread)(void);
};

#define SELF(f)                                  \
	static struct rcu_reader *f##_self(void) \
	{                                        \
		return &rcu_##f##_reader;        \
	}

#define FLAVOUR(f, enter_, leave_)                                                                \
	static const struct flavour f##_flavour = { .domain = &rcu_##f##_domain,                  \
						    .self = f##_self,                             \
						    .enter = (enter_),                            \
						    .leave = (leave_),                            \
						    .register_thread = rcu_##f##_register_thread, \
						    .unregister_thread =                          \
							    rcu_##f##_unregister_thread }

SELF(qsbr)
SELF(mb)
SELF(signal)
SELF(memb)
SELF(bp)
FLAVOUR(qsbr, rcu_qsbr_thread_online, rcu_qsbr_thread_offline);
FLAVOUR(mb, rcu_mb_read_lock, rcu_mb_read_unlock);
FLAVOUR(signal, rcu_signal_read_lock, rcu_signal_read_unlock);
FLAVOUR(memb, rcu_memb_read_lock, rcu_memb_read_unlock);
FLAVOUR(bp, rcu_bp_read_lock, rcu_bp_read_unlock);

static const struct flavour *flavour;

/* A behaviour of the flavour that is tested now. */
static inline void check_flavour(int condition, const char *name)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", rcu_domain_name(flavour->domain), name);
	check(condition, text);
}

/* A thread that does one thing at a time, when it is told. */
struct actor {
	pthread_t thread;
	sem_t told, done;
	void (*what)(void);
	int error; /* errno after it */
};

static void *actor_thread(void *argument)
{
	struct actor *actor = argument;

	flavour->register_thread();
	if (flavour == &qsbr_flavour)
		flavour->leave();
	for (;;) {
		sem_post(&actor->done);
		while (sem_wait(&actor->told))
			;
		if (!actor->what)
			break;
		errno = 77;
		actor->what();
		actor->error = errno;
	}
	sem_post(&actor->done);
	return NULL;
}

static inline void actor_wait(struct actor *actor)
{
	while (sem_wait(&actor->done))
		;
}

static inline void actor_start(struct actor *actor)
{
	sem_init(&actor->told, 0, 0);
	sem_init(&actor->done, 0, 0);
	if (pthread_create(&actor->thread, NULL, actor_thread, actor))
		abort();
	actor_wait(actor);
}

static inline void tell(struct actor *actor, void (*what)(void))
{
	actor->what = what;
	sem_post(&actor->told);
	actor_wait(actor);
}

static inline void actor_end(struct actor *actor)
{
	tell(actor, NULL);
	pthread_join(actor->thread, NULL);
}

static inline void *synchronize_thread(void *expedited)
{
	if (expedited)
		rcu_domain_synchronize_expedited(flavour->domain);
	else
		rcu_domain_synchronize(flavour->domain);
	return NULL;
}

/* The engine's words, under its lock. */
static inline uint32_t peek(const uint32_t *word)
{
	struct rcu_grace *grace = flavour->domain->grace;
	uint32_t value;

	lull_lock_take(&grace->lock);
	value = *word;
	lull_lock_release(&grace->lock);
	return value;
}

__attribute__((unused)) static const struct flavour *const flavours[] = {
	&qsbr_flavour, &mb_flavour, &signal_flavour, &memb_flavour, &bp_flavour
};

/* Each test has a process of its own here. */
#undef RUN
#define RUN(test)                                  \
	do {                                       \
		int status = -1;                   \
		pid_t child;                       \
		fflush(stdout);                    \
		child = fork();                    \
		if (!child) {                      \
			alarm(HANG_LIMIT_S);       \
			exit(test());              \
		}                                  \
		waitpid(child, &status, 0);        \
		check_flavour(status == 0, #test); \
	} while (0)

#endif
