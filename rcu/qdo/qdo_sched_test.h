/* SPDX-License-Identifier: MIT */
/*
 * QDo's core under the sched port: what the scenarios and the threads share.
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
	CPUS, /* how many CPUs the machine and QDo have: 1 to 3 */
	GENERATION, /* the last CPU's generation at the start */
	BATCH, /* bits: the CPUs that have told of the first batch at the start */
	TOKEN_AT, /* the CPU that has the token at the start */
	SET, /* bits: the quiescence set of every request; 0: all CPUs */
	OPERATION_A, /* 1 + the CPU of operation A; 0: there is none */
	OPERATION_B, /* the same of operation B */
	HANDLER, /* 1: an operation interrupts A; 2: requester A does; 3: requester B does */
	REQUEST_A, /* two digits: steps that requester A makes of its CPU; 1 + that CPU */
	REQUEST_B, /* the same of requester B; with 100 more: submitted before any thread starts */
	STEPS, /* three digits: steps of CPU 1 made on CPU 0; of CPU 0; of CPU 1 on CPU 1 */
	AGAIN, /* 1: requester A submits its request again when it is done */
	STEPLESS, /* bits: threads without restartable steps */
	TIMER /* 1: no CPU is prompted, and each CPU moves its own generation */
};

/* Ghost memory: part of the explored state, but no access of the core's. */
struct books {
	unsigned long generation[3]; /* each CPU's generation, as it was seen last */
	uint8_t inside; /* bits: operations that are inside */
	uint8_t stored[REQUESTS]; /* bits: operations that have written to the request's object */
	uint8_t before[REQUESTS]; /* bits: operations that had begun when the request was made */
	uint8_t submitted[REQUESTS]; /* how often the request was submitted */
	uint8_t done[REQUESTS]; /* how often it was done */
	uint8_t waits; /* bits: CPUs that a timer would step again */
};

extern struct qdo_core *core;
extern struct qdo_request *requests[REQUESTS];
extern unsigned long *pointers; /* each is 1 until the requester removes the object */
extern unsigned long *objects; /* operations write to them */
extern unsigned long *prompted; /* by CPU: not 0 when its step was prompted */
extern struct books *books;
extern const long *parameter;

void operation_thread(long number);
void requester_thread(long number);
void stepper_thread(long digit);
void submit(unsigned int number);
void invariant(void);
void finish(void);

#endif
