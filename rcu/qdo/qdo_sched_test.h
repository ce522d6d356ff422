/* SPDX-License-Identifier: MIT */
/*
 * QDo's core under the sched port: what its threads and its books share.
 *
 * qdo_sched_test.c holds the scenarios, actor_sched_test.c the threads and what is checked.
 * Paper: Q 3.3 (when a callback may run).
 */
#ifndef QDO_SCHED_TEST_H
#define QDO_SCHED_TEST_H

#include "core.h"
#include "sched.h"

#define OPERATIONS 3
#define REQUESTS 3

/* Indexes of a scenario's parameters. */
enum {
	ALGORITHM,
	SUBMISSION,
	CPUS, /* the machine's, of QDo: 1 to 3 */
	GENERATION, /* of the last CPU, at the start */
	BATCH, /* CPUs that have told of the first batch: bits */
	TOKEN_AT, /* CPU */
	SET, /* quiescence set of every request: bits, 0: all */
	OPERATION_A, /* 1 + CPU, 0: none */
	OPERATION_B,
	HANDLER, /* 1: an operation interrupts A; 2: requester A; 3: requester B does */
	REQUEST_A, /* decimal digits: steps of its CPU by the requester, 1 + its CPU */
	REQUEST_B, /* the same; 100 more: submitted before anyone starts */
	STEPS, /* decimal digits: steps of CPU 1 by a thread on CPU 0; of 0; of 1, there */
	AGAIN, /* 1: requester A submits its request again when it is done */
	STEPLESS, /* bits: threads without restartable steps */
	TIMER /* 1: nobody is prompted, each CPU moves its own generation */
};

/* Ghost memory: part of the state, but no access of the core's. */
struct books {
	unsigned long generation[3]; /* seen last */
	uint8_t inside; /* operations */
	uint8_t stored[REQUESTS]; /* operations that have written to its object */
	uint8_t before[REQUESTS]; /* operations that had begun, on its CPUs, when it was made */
	uint8_t submitted[REQUESTS]; /* how often */
	uint8_t done[REQUESTS];
	uint8_t waits; /* CPUs */
};

extern struct qdo_core *core;
extern struct qdo_request *requests[REQUESTS];
extern unsigned long *pointers; /* 1 until its request's requester removes the object */
extern unsigned long *objects; /* operations write to them */
extern unsigned long *prompted; /* of each CPU; the host's */
extern struct books *books;
extern const long *parameter;

void operation_thread(long number);
void requester_thread(long number);
void stepper_thread(long digit);
void submit(unsigned int number);
void invariant(void);
void finish(void);

#endif
