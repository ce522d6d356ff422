/* SPDX-License-Identifier: MIT */
/*
 * The parts of the stress test among themselves: stress.c (clients), pests.c (what disturbs them).
 *
 * Paper: Q 4.6 (fork).
 */
#ifndef QDO_STRESS_H
#define QDO_STRESS_H

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "lull/qdo.h"

#define CLIENTS 4
#define WORDS 4u
/* Slot s is read on CPU c if s has bit c modulo SLOT_BITS. */
#define SLOT_BITS 3u
#define SLOTS (1u << SLOT_BITS)
#define POISON 0xdeadul

struct client;

/* Words are read and written without atomics: the order is QDo's. */
struct object {
	volatile unsigned long words[WORDS];
	unsigned long stamp;
	unsigned int calls;
	unsigned int calls_wanted;
	struct qdo_set execution;
	struct client *owner;
	struct object *next;
};

struct client {
	pthread_t thread;
	unsigned int seed;
	unsigned long rounds;
	unsigned long asked;
	unsigned long retired;
	struct client *handler; /* for draws in its signal handler */
} __attribute__((aligned(64)));

struct stress {
	struct qdo *instance;
	unsigned int cpus, online;
	struct object *slots[SLOTS];
	struct client clients[CLIENTS];
	struct client handlers_draw[CLIENTS];
	unsigned long stamps, asked, retired, echoes, echoes_done;
	unsigned long handlers, moves, forks, faults;
	int stop, running, no_fork;
	pthread_mutex_t lock; /* over the free objects */
	struct object *free_first, *free_last;
	unsigned int free_count;
};

extern struct stress stress;
extern __thread struct client *stress_self;

__attribute__((format(printf, 1, 2))) void fault(const char *format, ...);
unsigned int draw(struct client *self);
void moment(unsigned int us);
void visit(struct client *self, unsigned int depth, int in_handler);

void stress_pests_start(void);
void stress_pests_stop(void);
/* As in a process that a filter keeps from using membarrier. */
void stress_forbid_membarrier(void);

#endif
