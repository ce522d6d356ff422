/* SPDX-License-Identifier: MIT */
/*
 * The parts of the stress test among themselves: stress.c (what clients do), lives.c (how they
 * begin, end and fork), pests.c (what disturbs them).
 *
 * Paper: Q 4.6 (fork).
 */
#ifndef QDO_STRESS_H
#define QDO_STRESS_H

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>
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

enum ending { ENDS_RETURNING, ENDS_EXITING, ENDS_CANCELLED, ENDS_HOLDING, ENDINGS };

/* A client: threads, one after the other, of which each is a life. */
struct client {
	unsigned int seed;
	unsigned long rounds;
	unsigned long asked;
	unsigned long retired;
	struct client *handler; /* for draws in its signal handler */
	pthread_t keeper;
	pthread_mutex_t place; /* over the next two */
	pthread_t thread;
	int alive; /* the thread may be sent signals */
	/* Of this life: */
	unsigned long rounds_left;
	enum ending ending;
	int late_passes; /* of destructors */
	sem_t ended;
	pid_t child; /* the one that it has forked, or 0 */
	struct qdo_operation held[2]; /* ENDS_HOLDING: left by a destructor */
	int holds;
	const struct object *object; /* read in them */
	unsigned long stamp;
} __attribute__((aligned(64)));

struct stress {
	struct qdo *instance;
	unsigned int cpus, online;
	struct object *slots[SLOTS];
	struct client clients[CLIENTS];
	struct client handlers_draw[CLIENTS];
	unsigned long stamps, asked, retired, echoes, echoes_done;
	unsigned long handlers, moves, forks, lives, cancels, faults;
	int stop, running, no_fork;
	int calm; /* clients end by returning only, and do nothing more then */
	int fork_due; /* the next client in an operation forks */
	int in_child;
	pthread_mutex_t lock; /* over the free objects */
	struct object *free_first, *free_last;
	unsigned int free_count;
};

extern struct stress stress;
extern __thread struct client *stress_self;

__attribute__((format(printf, 1, 2))) void fault(const char *format, ...);
unsigned int draw(struct client *self);
void moment(unsigned int us);
void look(const struct object *object, unsigned int slot, unsigned long stamp);
void visit(struct client *self, unsigned int depth, int in_handler);
void client_round(struct client *self);

/* lives.c */
void stress_lives_start(void);
void stress_lives_stop(void);
/* In an operation: what may come to a client there. A child of a fork returns too. */
void life_goes_on(struct client *self);

void stress_pests_start(void);
void stress_pests_stop(void);
/* As in a process that a filter keeps from using membarrier. */
void stress_forbid_membarrier(void);

#endif
