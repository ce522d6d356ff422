/* SPDX-License-Identifier: MIT */
/*
 * Torture of one flavour: readers of all sorts beside updaters of all sorts, and what they share.
 *
 * Updaters replace one shared element after another. A replaced element grows older by one with
 * each grace period that its updater has waited for, and is poisoned and reused at the last age.
 * A section that finds its element older than one lived through a whole grace period: a failure.
 * flavour.c binds the read sides, element.c keeps the elements, table.c a hash table of some of
 * them, reader.c and updater.c are the threads, churn.c and fork.c disturb them, tight.c is the
 * form without delays, resized.c one whose table has no rest, torture.c is the program.
 * Paper: T 6.2.4 (equation 6.1), 6.4.2-6.4.4.
 */
#ifndef LULL_RCU_TORTURE_H
#define LULL_RCU_TORTURE_H

#include <pthread.h>
#include <stdint.h>
#include "lull/rcu/call.h"
#include "lull/rcu/hash.h"
#include "lull/rcu/pointer.h"

struct flavour {
	const char *name;
	struct rcu_domain *domain;
	int quiescent; /* QSBR: sections are what lies between quiescent states */
	int automatic; /* threads register themselves */
	void (*register_thread)(void);
	void (*unregister_thread)(void);
	void (*read_lock)(void);
	void (*read_unlock)(void);
	void (*quiescent_state)(void);
	void (*offline)(void);
	void (*online)(void);
	void (*synchronize)(void);
	void (*expedited)(void);
	struct rcu_gp_poll_state (*start_poll)(void);
	int (*poll_state)(struct rcu_gp_poll_state state);
	void (*call)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void (*barrier)(void);
};

#define AGES 8 /* 0: shared; 1: replaced; n: and n - 1 grace periods ago; the last is reused */
#define ELEMENTS 2048
#define SHARED 2 /* pointers that readers follow */
#define CONTENT 0x600dul
#define READERS 3
#define UPDATERS 2
#define FORKERS 2
#define TIGHT_READERS 2
#define RESIZED_READERS 3
#define AT_ONCE 3 /* threads with short lives */

struct element {
	struct rcu_head head;
	struct rcu_hash_node node;
	struct element *next;
	unsigned long key; /* in the table */
	unsigned long age;
	unsigned long mark; /* what sections store */
	unsigned long content; /* plain: what readers must not see change */
};

enum count {
	COUNT_SECTIONS,
	COUNT_NESTED,
	COUNT_HANDLED, /* sections in signal handlers */
	COUNT_LATE, /* sections in destructors, as threads end */
	COUNT_LOOKED_UP, /* in the table */
	COUNT_RESIZED,
	COUNT_SYNCHRONIZED,
	COUNT_EXPEDITED,
	COUNT_POLLED,
	COUNT_POLLS_LEFT, /* begun and never looked at again */
	COUNT_CALLED,
	COUNT_STARTED, /* threads */
	COUNT_FORKED,
	COUNT_AGE, /* and the following: sections whose element had that age at their end */
	COUNTS = COUNT_AGE + AGES
};

enum fault {
	FAULT_OLD,
	FAULT_CONTENT,
	FAULT_LATE_STORE,
	FAULT_MISSED, /* an element that is always in the table */
	FAULT_CHILD,
	FAULT_CALL,
	FAULTS
};

/* What a fork's child makes anew. */
struct torture {
	struct element *shared[SHARED];
	struct rcu_hash *table;
	struct element *unused; /* stack: pushed by anyone, taken as a whole */
	struct element element[ELEMENTS];
	unsigned long count[COUNTS];
	unsigned long fault[FAULTS];
	int stop;
	unsigned long updates; /* so far: while they go on, nothing hangs */
};

struct random {
	uint64_t state;
};

extern struct torture *torture;
extern const struct flavour *flavour;

/* torture.c */
void fault_found(enum fault fault);
int stopped(void);
pthread_t thread_start(void *(*body)(void *), void *argument);

/* flavour.c */
const struct flavour *flavour_find(const char *name);

/* element.c */
void elements_make(struct torture *to);
struct element *element_take(struct torture *from, struct element **own); /* NULL: none is free */
void element_give(struct torture *to, struct element *own); /* all of them */
void element_age(struct element *element); /* after a grace period; ends its use at last */

/* reader.c */
uint32_t random_below(struct random *random, uint32_t limit);
void random_start(struct random *random, uint32_t index);
void delay(struct random *random, int may_sleep);
void counts_flush(void); /* at a thread's end */
extern __thread unsigned long counted[COUNTS];
void section(struct random *random);
/* A section in which @within is called: by a fork, in the parent and in the child. */
void section_around(struct random *random, void (*within)(void *argument), void *argument);
void section_in_handler(int number);
void *reader_thread(void *index);
void register_thread(void);
void unregister_thread(void);

/* table.c */
void table_make(struct torture *to);
struct element *table_look(struct random *random); /* in a section; or NULL */
/* Puts an element in, or gives it back. Return: the element that it took out instead, or NULL. */
struct element *table_update(struct random *random, struct element *element, struct element **own);
void table_look_lasting(struct random *random); /* in a section */
void table_walk(struct random *random, void (*linger)(void)); /* in a section; rests at a node */
void table_resize_to(unsigned long buckets);
void table_resize(struct random *random);
/* In a child, as a reader. Return: not 0 if the table is whole, and can be changed. */
int table_goes_on(struct random *random);

/* updater.c */
void *updater_thread(void *index);

/* churn.c */
void churn_start(int late_sections); /* once, before any thread */
void *churn_thread(void *index);
void *signal_thread(void *unused); /* sends to threads that have called signals_may_come() */
void signals_may_come(int ends_soon); /* to the calling thread, until it is gone */

/* tight.c */
int tight_start(pthread_t *thread); /* how many; the last one sends signals */

/* resized.c */
int resized_start(pthread_t *thread, int forks); /* as tight_start() */

/* fork.c */
extern uint32_t fork_pause_ms; /* between forks of one thread, at most */
void *fork_thread(void *index);

#endif
