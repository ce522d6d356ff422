// SPDX-License-Identifier: MIT
/*
 * The lives of the stress test's clients: they end in every way that a thread can, and they fork.
 *
 * Each client has a keeper, which starts one thread after the other. A thread ends by returning, by
 * pthread_exit() in the middle of operations, by cancellation, or with operations that a destructor
 * of thread-specific data leaves; and destructors read and request until the last pass. A client
 * forks in operations, with requests under way. Its child has none of these, but the operations,
 * and goes on with clients of its own, and with a child. Paper: Q 4.6.
 */
#include "stress.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIFE_ROUNDS 600
#define CHILD_CLIENTS 2
#define CHILD_ROUNDS 300
/* A child that is not done by then has lost something. */
#ifndef CHILD_LIMIT_S
#define CHILD_LIMIT_S 20
#endif

static pthread_key_t late;
static int called; /* in children */
static __thread int forked; /* this is the child of this thread's fork */

static int stopped(void)
{
	return __atomic_load_n(&stress.stop, __ATOMIC_RELAXED);
}

static void count_call(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&called, 1, __ATOMIC_RELEASE);
}

static void child_expect(int condition, int status)
{
	if (!condition)
		_exit(status);
}

/* In a child, in an operation: its parent's requests are not there, and its own wait. */
static void child_begin(void)
{
	struct qdo_statistics statistics;
	unsigned int i;

	signal(SIGALRM, SIG_DFL);
	alarm(CHILD_LIMIT_S);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	stress.in_child = forked = 1;
	stress.asked = stress.retired = stress.echoes = stress.echoes_done = 0;
	for (i = 0; i < CLIENTS; i++)
		stress.clients[i].asked = stress.clients[i].retired = 0;
	pthread_mutex_init(&stress.lock, NULL); /* another thread may have had it */
	stress.free_first = NULL;
	stress.free_count = 0;
	qdo_statistics_read(stress.instance, &statistics);
	child_expect(!statistics.requests && !statistics.executors, 2);
	child_expect(!qdo_request(stress.instance, count_call, NULL, NULL, NULL), 3);
	child_expect(qdo_barrier(stress.instance) == -EDEADLK, 4);
}

static void child_waits(void)
{
	moment(1000);
	child_expect(!__atomic_load_n(&called, __ATOMIC_ACQUIRE), 5);
}

static void fork_here(struct client *self)
{
	struct qdo_operation outer, operation;

	qdo_enter(stress.instance, &outer);
	qdo_enter(stress.instance, &operation);
	self->child = fork();
	if (!self->child) {
		child_begin();
		child_waits();
	}
	qdo_leave(&outer);
	if (!self->child)
		child_waits();
	qdo_leave(&operation);
	if (!self->child)
		child_waits(); /* for the operations that the caller is in */
	else if (self->child < 0)
		fault("fork");
}

void life_goes_on(struct client *self)
{
	if (forked)
		return;
	if (self->ending == ENDS_EXITING && !self->rounds_left) {
		self->ending = ENDS_RETURNING; /* once: destructors come here too */
		pthread_exit(NULL);
	}
	if (!stress.in_child && !self->child &&
	    __atomic_load_n(&stress.fork_due, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&stress.fork_due, 0, __ATOMIC_RELAXED))
		fork_here(self);
}

static void child_await(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		fault("a child ended with status 0x%x", (unsigned int)status);
}

/* A child of a child has one thread, and one request. */
static void child_forks(void)
{
	pid_t child = fork();
	int before = called;

	if (child) {
		child_await(child);
		return;
	}
	alarm(CHILD_LIMIT_S);
	child_expect(!qdo_request(stress.instance, count_call, NULL, NULL, NULL), 20);
	child_expect(!qdo_barrier(stress.instance) && called == before + 1, 21);
	_exit(0);
}

static void life_begin(struct client *self, unsigned long rounds)
{
	self->rounds_left = rounds;
	self->ending = stress.calm ? ENDS_RETURNING : (enum ending)(draw(self) % ENDINGS);
	/* At the fork another thread may have had the lock that a static program unwinds under. */
	if (stress.in_child && self->ending != ENDS_HOLDING)
		self->ending = ENDS_RETURNING;
	self->late_passes = self->holds = 0;
	self->child = 0;
	sem_init(&self->ended, 0, 0);
}

static void *life(void *argument);

static void child_clients_run(void)
{
	pthread_t thread[CHILD_CLIENTS];
	unsigned int i;

	for (i = 0; i < CHILD_CLIENTS; i++) {
		life_begin(&stress.clients[i], CHILD_ROUNDS);
		child_expect(!pthread_create(&thread[i], NULL, life, &stress.clients[i]), 7);
	}
	for (i = 0; i < CHILD_CLIENTS; i++)
		pthread_join(thread[i], NULL);
}

/* In a child that has left all operations. */
_Noreturn static void child_end(void)
{
	struct qdo_statistics statistics;

	child_expect(!qdo_barrier(stress.instance), 8);
	child_expect(__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 1, 9);
	child_clients_run();
	child_forks();
	/* Twice: callbacks make requests. */
	child_expect(!qdo_barrier(stress.instance) && !qdo_barrier(stress.instance), 10);
	child_expect(stress.asked == stress.retired && stress.echoes == stress.echoes_done, 11);
	qdo_statistics_read(stress.instance, &statistics);
	child_expect(statistics.requests == stress.asked + stress.echoes + 1, 12);
	child_expect(!qdo_request(stress.instance, count_call, NULL, NULL, NULL), 13);
	child_expect(!qdo_destroy(stress.instance), 14);
	child_expect(__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 2, 15);
	_exit(stress.faults ? 16 : 0);
}

/* Begins operations that a destructor leaves. Objects of the last slot are for all CPUs. */
static void held_enter(struct client *self)
{
	qdo_enter(stress.instance, &self->held[0]);
	qdo_enter(stress.instance, &self->held[1]);
	self->object = __atomic_load_n(&stress.slots[SLOTS - 1], __ATOMIC_ACQUIRE);
	self->stamp = self->object->words[0];
	self->holds = 1;
}

/* The outer one first. */
static void held_leave(struct client *self)
{
	if (!self->holds)
		return;
	self->holds = 0;
	qdo_leave(&self->held[0]);
	look(self->object, SLOTS - 1, self->stamp);
	qdo_leave(&self->held[1]);
}

/* To the last pass that the C library makes. */
static void end_late(void *argument)
{
	struct client *self = argument;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* it ends already */
	held_leave(self);
	if (!stress.calm) {
		visit(self, 1, 0);
		if (forked)
			child_end();
		if (++self->late_passes < PTHREAD_DESTRUCTOR_ITERATIONS) {
			pthread_setspecific(late, self);
			return;
		}
	}
	sem_post(&self->ended);
}

static void *life(void *argument)
{
	struct client *self = argument;
	int cancel =
		self->ending == ENDS_CANCELLED ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE;

	stress_self = self;
	pthread_setspecific(late, self);
	pthread_setcancelstate(cancel, NULL);
	while (!stopped() && self->rounds_left) {
		self->rounds_left--;
		client_round(self);
		if (forked)
			child_end();
	}
	if (self->ending == ENDS_HOLDING)
		held_enter(self);
	return NULL;
}

/* Signals come until the thread is gone, or all but. */
static void live(struct client *self)
{
	pthread_t thread;
	void *result;

	life_begin(self, 1 + draw(self) % LIFE_ROUNDS);
	if (pthread_create(&thread, NULL, life, self))
		abort();
	pthread_mutex_lock(&self->place);
	self->thread = thread;
	self->alive = 1;
	pthread_mutex_unlock(&self->place);
	while (sem_wait(&self->ended))
		;
	pthread_mutex_lock(&self->place);
	self->alive = 0;
	pthread_mutex_unlock(&self->place);
	pthread_join(thread, &result);
	__atomic_add_fetch(&stress.lives, 1, __ATOMIC_RELAXED);
	if (result == PTHREAD_CANCELED)
		__atomic_add_fetch(&stress.cancels, 1, __ATOMIC_RELAXED);
	if (self->child <= 0)
		return;
	child_await(self->child);
	__atomic_add_fetch(&stress.forks, 1, __ATOMIC_RELAXED);
}

static void *keeper_main(void *argument)
{
	while (!stopped())
		live(argument);
	return NULL;
}

void stress_lives_start(void)
{
	unsigned int i;

	if (pthread_key_create(&late, end_late))
		abort();
	for (i = 0; i < CLIENTS; i++) {
		struct client *client = &stress.clients[i];

		client->seed = 2463534242u + i * 7919;
		pthread_mutex_init(&client->place, NULL);
		if (pthread_create(&client->keeper, NULL, keeper_main, client))
			abort();
	}
}

void stress_lives_stop(void)
{
	unsigned int i;

	for (i = 0; i < CLIENTS; i++)
		pthread_join(stress.clients[i].keeper, NULL);
}
