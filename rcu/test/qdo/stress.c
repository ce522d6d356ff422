// SPDX-License-Identifier: MIT
/*
 * QDo under load: no callback early, none lost, none twice, each on its CPUs in order.
 *
 * stress MILLISECONDS ALGORITHM SUBMISSION [timer] [cpus=N] [period=US] [nofence] [nofork] [calm]
 *
 * Slots hold objects. Slot s may be read in operations that begin on the CPUs of bit mask s.
 * Clients read, replace objects and request that the old one be retired: its callback poisons it
 * and, after the last CPU of its set, gives it a new stamp. Readers see whether what they read
 * changes. Meanwhile clients end and begin, are moved between CPUs and interrupted, and fork.
 * Paper: Q 3.1-3.4, 4.5, 4.6, 4.9.
 */
#include "stress.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Requests that may be under way before clients wait. */
#define OUTSTANDING_MAX 4000
/* A run in which nothing goes on for so long has lost something. */
#ifndef LOST_S
#define LOST_S 60
#endif

struct stress stress;
__thread struct client *stress_self;

void fault(const char *format, ...)
{
	va_list arguments;

	if (__atomic_fetch_add(&stress.faults, 1, __ATOMIC_RELAXED) >= 5)
		return;
	va_start(arguments, format);
	printf("fault ");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

unsigned int draw(struct client *self)
{
	unsigned int x = self->seed;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return self->seed = x;
}

void moment(unsigned int us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&time, NULL);
}

/* One of a few thousand objects that were retired longest ago, or a new one. */
static struct object *new_object(void)
{
	struct object *object;

	pthread_mutex_lock(&stress.lock);
	object = stress.free_count > 256 ? stress.free_first : NULL;
	if (object) {
		stress.free_first = object->next;
		stress.free_count--;
	}
	pthread_mutex_unlock(&stress.lock);
	if (!object)
		object = calloc(1, sizeof(*object));
	if (!object)
		abort();
	return object;
}

static void free_object(struct object *object)
{
	object->next = NULL;
	pthread_mutex_lock(&stress.lock);
	if (stress.free_count++)
		stress.free_last->next = object;
	else
		stress.free_first = object;
	stress.free_last = object;
	pthread_mutex_unlock(&stress.lock);
}

void fill(struct object *object, unsigned long stamp)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		object->words[i] = stamp + i;
}

static void echo(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&stress.echoes_done, 1, __ATOMIC_RELAXED);
}

static void ask_echo(void)
{
	int error = qdo_request(stress.instance, echo, NULL, NULL, NULL);

	if (error)
		fault("a request within a callback or operation: %s", strerror(-error));
	else
		__atomic_add_fetch(&stress.echoes, 1, __ATOMIC_RELAXED);
}

static unsigned int cpu_number(const struct qdo_set *set, unsigned int index)
{
	unsigned int cpu = 0;

	for (;; cpu++)
		if (qdo_set_has(set, cpu) && !index--)
			return cpu;
}

static void retire(void *argument)
{
	struct object *object = argument;
	unsigned int call = object->calls++, cpu, chance;

	if (!call)
		fill(object, POISON);
	if (call >= object->calls_wanted) {
		fault("call %u of %u", call + 1, object->calls_wanted);
		return;
	}
	cpu = cpu_number(&object->execution, call);
	if (cpu < stress.online && (unsigned int)sched_getcpu() != cpu)
		fault("a callback for CPU %u ran on %d", cpu, sched_getcpu());
	chance = (unsigned int)(object->stamp * 2654435761u) >> 8;
	if (chance % 64 == 0)
		ask_echo();
	if (chance % 256 == 1)
		moment(500);
	if (call + 1 == object->calls_wanted) {
		__atomic_add_fetch(&stress.retired, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&object->owner->retired, 1, __ATOMIC_RELEASE);
		free_object(object);
	}
	if (chance % 1024 == 2)
		pthread_exit(NULL);
}

/* Puts a new object in the place of an old one. */
static void replace(struct client *self)
{
	unsigned int slot = 1 + draw(self) % (SLOTS - 1), i;
	struct object *object = new_object(), *old;
	struct qdo_set quiescence;
	int readers = 0, error;

	object->stamp = __atomic_add_fetch(&stress.stamps, 16, __ATOMIC_RELAXED);
	fill(object, object->stamp);
	old = __atomic_exchange_n(&stress.slots[slot], object, __ATOMIC_ACQ_REL);
	qdo_set_zero(&quiescence);
	for (i = 0; i < stress.cpus; i++)
		if (slot >> i % SLOT_BITS & 1) {
			qdo_set_add(&quiescence, i);
			readers++;
		}
	qdo_set_zero(&old->execution);
	old->calls = 0;
	old->calls_wanted = 0;
	old->owner = self;
	for (i = 0; i < stress.cpus; i++) {
		if (draw(self) % stress.cpus)
			continue;
		qdo_set_add(&old->execution, i);
		old->calls_wanted++;
	}
	if (!old->calls_wanted) {
		qdo_set_add(&old->execution, draw(self) % stress.cpus);
		old->calls_wanted = 1;
	}
	self->asked++;
	__atomic_add_fetch(&stress.asked, 1, __ATOMIC_RELAXED);
	error = qdo_request(stress.instance, retire, old,
			    readers == (int)stress.cpus || !readers ? NULL : &quiescence,
			    &old->execution);
	if (error)
		fault("a request: %s", strerror(-error));
}

void look(const struct object *object, unsigned int slot, unsigned long stamp)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		if (object->words[i] != stamp + i) {
			fault("slot %u: word %u was %lx and became %lx", slot, i, stamp + i,
			      object->words[i]);
			return;
		}
}

static void leave(void *operation)
{
	qdo_leave(operation);
}

/* A thread that ends here leaves the operation. */
void visit(struct client *self, unsigned int depth, int in_handler)
{
	unsigned int slot = 1 + draw(self) % (SLOTS - 1), chance = draw(self), cpu;
	struct qdo_operation operation;
	const struct object *object;
	unsigned long stamp = 0;

	qdo_enter(stress.instance, &operation);
	pthread_cleanup_push(leave, &operation);
	cpu = operation.place >> 1;
	object = __atomic_load_n(&stress.slots[slot], __ATOMIC_ACQUIRE);
	if (!(slot >> cpu % SLOT_BITS & 1))
		object = NULL; /* not for operations of this CPU */
	if (object) {
		stamp = object->words[0];
		if (stamp == POISON)
			fault("slot %u: poison", slot);
		look(object, slot, stamp);
	}
	if (chance % 8 == 0)
		sched_yield();
	if (chance % 512 == 1)
		moment(100);
	if (depth)
		visit(self, depth - 1, in_handler);
	if (!in_handler && chance % 16 == 2)
		replace(self);
	if (!in_handler && chance % 256 == 3)
		ask_echo();
	if (!in_handler)
		life_goes_on(self);
	if (object)
		look(object, slot, stamp);
	pthread_cleanup_pop(1);
}

static void wait_own(struct client *self)
{
	unsigned long asked = self->asked;
	int error = qdo_barrier(stress.instance);

	if (error || __atomic_load_n(&self->retired, __ATOMIC_ACQUIRE) < asked)
		fault("a barrier (%d) came back after %lu of %lu", error, self->retired, asked);
}

void client_round(struct client *self)
{
	unsigned int chance = draw(self);

	visit(self, chance % 3, 0);
	if (chance % 8 == 1)
		replace(self);
	if (chance % 2048 == 2)
		wait_own(self);
	if (chance % 256 == 3)
		moment(chance >> 8 & 511); /* a CPU that is idle */
	while (__atomic_load_n(&stress.asked, __ATOMIC_RELAXED) -
		       __atomic_load_n(&stress.retired, __ATOMIC_RELAXED) >
	       OUTSTANDING_MAX)
		moment(200);
	self->rounds++;
}

static unsigned long progress(void)
{
	return __atomic_load_n(&stress.retired, __ATOMIC_RELAXED) +
	       __atomic_load_n(&stress.echoes_done, __ATOMIC_RELAXED) +
	       __atomic_load_n(&stress.lives, __ATOMIC_RELAXED);
}

/*
 * Ends a run in which nothing went on since it was here last. How long a run takes says nothing: on
 * a machine with 24 other threads that run, one barrier over a single request took 5 s.
 */
static void watchdog(int number)
{
	static const char message[] = "fault the run does not end: a request or a wake was lost\n";
	static unsigned long seen;
	unsigned long now = progress();
	int cancel;

	(void)number;
	/* The thread that it interrupts may be cancelled: write() would end only that one. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (now != seen) {
		seen = now;
		alarm(LOST_S);
		pthread_setcancelstate(cancel, NULL);
		return;
	}
	if (write(STDOUT_FILENO, message, sizeof(message) - 1) < 0)
		_exit(3);
	_exit(1);
}

static void start(const struct qdo_config *config)
{
	unsigned int i;
	int error = qdo_create(config, &stress.instance);

	if (error) {
		printf("fault qdo_create: %s\n", strerror(-error));
		exit(1);
	}
	stress.cpus = qdo_cpu_count(stress.instance);
	for (i = 1; i < SLOTS; i++) {
		stress.slots[i] = new_object();
		stress.slots[i]->stamp = stress.stamps += 16;
		fill(stress.slots[i], stress.slots[i]->stamp);
	}
	stress_pests_start();
	stress_lives_start();
	__atomic_store_n(&stress.running, 1, __ATOMIC_RELEASE);
}

static void end(void)
{
	struct qdo_statistics statistics;
	unsigned long rounds = 0;
	unsigned int i;

	__atomic_store_n(&stress.stop, 1, __ATOMIC_RELAXED);
	stress_pests_stop();
	stress_lives_stop();
	for (i = 0; i < CLIENTS; i++)
		rounds += stress.clients[i].rounds;
	/* Twice: callbacks make requests. */
	qdo_barrier(stress.instance);
	qdo_barrier(stress.instance);
	qdo_statistics_read(stress.instance, &statistics);
	if (stress.retired != stress.asked || stress.echoes != stress.echoes_done)
		fault("lost: %lu of %lu retired, %lu of %lu echoes", stress.retired, stress.asked,
		      stress.echoes_done, stress.echoes);
	if (statistics.requests != stress.asked + stress.echoes ||
	    statistics.completed != statistics.requests)
		fault("the statistics say %lu requests, %lu completed, %lu are right",
		      (unsigned long)statistics.requests, (unsigned long)statistics.completed,
		      stress.asked + stress.echoes);
	if (qdo_destroy(stress.instance))
		fault("qdo_destroy");
	printf("%lu rounds, %lu requests, %lu steps, %lu checks, %lu handlers, %lu moves, "
	       "%lu lives, %lu cancelled, %lu forks, %lu faults\n",
	       rounds, stress.asked + stress.echoes, (unsigned long)statistics.steps,
	       (unsigned long)statistics.checks, stress.handlers, stress.moves, stress.lives,
	       stress.cancels, stress.forks, stress.faults);
}

/* Until the time is over, or a fault is found. */
static void pass_time(unsigned int ms)
{
	struct timespec begin, now;
	long passed_ms;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		moment(2000);
		clock_gettime(CLOCK_MONOTONIC, &now);
		passed_ms = (now.tv_sec - begin.tv_sec) * 1000 +
			    (now.tv_nsec - begin.tv_nsec) / 1000000;
	} while (passed_ms < (long)ms && !__atomic_load_n(&stress.faults, __ATOMIC_RELAXED));
}

int main(int count, char **words)
{
	struct qdo_config config = { 0 };
	unsigned int ms;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 4) {
		fprintf(stderr, "usage: stress MILLISECONDS ALGORITHM SUBMISSION [timer] [cpus=N] "
				"[period=US] [nofence] [nofork] [calm]\n");
		return 2;
	}
	ms = (unsigned int)atoi(words[1]);
	config.algorithm = (enum qdo_algorithm)atoi(words[2]);
	config.submission = (enum qdo_submission)atoi(words[3]);
	for (i = 4; i < count; i++) {
		if (!strcmp(words[i], "timer"))
			config.timer_only = 1;
		else if (!strncmp(words[i], "cpus=", 5))
			config.cpu_count = (unsigned int)atoi(words[i] + 5);
		else if (!strncmp(words[i], "period=", 7))
			config.period_us = (unsigned int)atoi(words[i] + 7);
		else if (!strcmp(words[i], "nofence"))
			stress_forbid_membarrier();
		else if (!strcmp(words[i], "nofork"))
			stress.no_fork = 1;
		else if (!strcmp(words[i], "calm"))
			stress.calm = 1;
	}
	pthread_mutex_init(&stress.lock, NULL);
	signal(SIGALRM, watchdog);
	alarm(LOST_S);
	start(&config);
	pass_time(ms);
	end();
	return stress.faults != 0;
}
