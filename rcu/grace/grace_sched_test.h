/* SPDX-License-Identifier: MIT */
/*
 * Grace periods under the sched port: what readers, updaters and scenarios share.
 *
 * Each updater replaces the element that its pointer names by a fresh one, waits for a grace
 * period and reclaims the old one. The books note who holds which element and which are
 * reclaimed; an element is reclaimed once, so that no two histories look alike by accident.
 * grace_sched_test.c holds the scenarios, actor_sched_test.c the threads.
 * Paper: T 6.2.4 (equation 6.1), 6.4.2-6.4.4.
 */
#ifndef LULL_GRACE_SCHED_TEST_H
#define LULL_GRACE_SCHED_TEST_H

#include "grace.h"
#include "sched.h"

#define READERS_MAX 3u /* structures; the third is the first updater's own */
#define UPDATERS_MAX 2u
#define ELEMENTS 4u /* of each updater's pointer */
#define HOLDERS_MAX 4u /* readers A and B, and the handlers' */

/* How the read side works. */
enum flavour { FLAVOUR_LIGHT, FLAVOUR_FULL, FLAVOUR_QSBR, FLAVOUR_AUTO };

/* What a reader does, one hexadecimal digit each, from the last digit on. */
enum read_step {
	READ_SECTION = 1,
	READ_STORING, /* a section that stores into the element */
	READ_NESTED, /* a section in a section, the inner one left before the outer */
	READ_QUIESCENT,
	READ_OFFLINE,
	READ_ONLINE,
	READ_REGISTER,
	READ_UNREGISTER,
	READ_END, /* the thread ends within a section, as one that is cancelled */
	READ_AWAIT /* quiescent states until all updaters have ended */
};

/* What an updater does, likewise. */
enum update_step {
	UPDATE_SYNCHRONIZE = 1,
	UPDATE_EXPEDITED,
	UPDATE_POLLED, /* polls until it has ended */
	UPDATE_POLLED_ONCE, /* reclaims only if it has ended by then */
	UPDATE_EMPTY, /* waits for a grace period, reclaims nothing */
	UPDATE_START /* begins one, if none runs, or takes it further */
};

enum handler_host { HANDLER_NOWHERE, HANDLER_IN_READER, HANDLER_IN_UPDATER };

/* Indexes of a scenario's parameters. */
enum {
	FLAVOUR,
	READER_A, /* digits of enum read_step, 0: no such thread */
	READER_B,
	UPDATER_A, /* digits of enum update_step */
	UPDATER_B,
	UPDATER_C, /* empty ones only */
	HANDLER, /* enum handler_host */
	HANDLER_RUNS,
	UNREGISTERED, /* bit n: reader n registers itself, if at all */
	OFFLINE, /* bit n: QSBR reader n is offline at first */
	READS_B, /* 1: readers read the second updater's pointer */
	VISITS /* 1: threads that register themselves do so for a section */
};

struct element {
	unsigned long value; /* its index + VALUE, from before it is published */
	unsigned long mark; /* what sections store into */
};

#define VALUE 100ul

/* Ghost memory: part of the state, but no access of the engine's. */
struct books {
	uint8_t holds[HOLDERS_MAX]; /* 1 + the element that a section has read */
	uint8_t reclaimed[UPDATERS_MAX * ELEMENTS];
	uint8_t marked; /* bit n: a section has stored into element n */
	uint8_t registered; /* bit n: reader n */
	uint8_t offline; /* bit n: reader n, from before it tells until after it has told */
};

extern struct rcu_domain *domain;
extern struct rcu_grace *grace;
extern struct rcu_reader *readers;
extern unsigned long *pointers; /* one of each updater: the index of its element */
extern struct element *elements;
extern unsigned long *updates_left; /* updaters that have not ended */
extern struct books *books;
extern const long *parameter;

/* actor_sched_test.c */
void reader_thread(long reader);
void updater_thread(long updater);
void handler_thread(long reader);
void reader_register(uint32_t reader);

#endif
