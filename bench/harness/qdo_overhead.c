// SPDX-License-Identifier: MIT
/*
 * What the facility costs a program that spawns threads, or does nothing but operations (Q 5.4).
 *
 * Threads run one after the other on one CPU; each is an operation and starts the next (Q figure
 * 5.7). A request waits all the time, so that monitors look every period: the operation that
 * holds it up is the sample's own. Processor time is that of the whole program, monitors included.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "qdo_subject.h"

enum what {
	NOTHING, /* threads alone, the instance does not begin */
	HELD, /* each thread is an operation, one request waits */
	REQUESTS, /* each thread is an operation and makes a request */
	STARTED /* threads alone; the instance has begun, and nothing waits */
};

static bool has_operations(enum what what)
{
	return what == HELD || what == REQUESTS;
}

struct overhead {
	struct qdo *instance;
	enum what what;
	pthread_attr_t detached;
	sem_t done;
	int error;
};

static struct overhead overhead;

static void ignore(void *argument)
{
	(void)argument;
}

static void *spawned(void *argument)
{
	uintptr_t left = (uintptr_t)argument;
	struct qdo_operation operation;
	pthread_t next;
	int error = 0;

	if (has_operations(overhead.what))
		qdo_enter(overhead.instance, &operation);
	if (overhead.what == REQUESTS)
		error = qdo_request(overhead.instance, ignore, NULL, NULL, NULL);
	if (!error && left)
		error = -pthread_create(&next, &overhead.detached, spawned, (void *)(left - 1));
	if (has_operations(overhead.what))
		qdo_leave(&operation);
	if (error)
		overhead.error = error;
	if (error || !left)
		sem_post(&overhead.done);
	return NULL;
}

static uint64_t process_ns(void)
{
	return timing_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Monitors start before the CPU is chosen, so that they run where they would in any program. */
static int begin(struct qdo *instance)
{
	int error = qdo_request(instance, ignore, NULL, NULL, NULL);

	if (!error)
		error = qdo_barrier(instance);
	if (error)
		fprintf(stderr, "bench qdo: the first request: %s\n", strerror(-error));
	return error;
}

static int spawn_all(unsigned int threads, uint64_t *wall_ns, uint64_t *cpu_ns)
{
	pthread_t first;
	int error;

	*wall_ns = timing_read_ns(CLOCK_MONOTONIC);
	*cpu_ns = process_ns();
	error = -pthread_create(&first, &overhead.detached, spawned,
				(void *)(uintptr_t)(threads - 1));
	while (!error && sem_wait(&overhead.done))
		error = errno == EINTR ? 0 : -errno;
	*cpu_ns = process_ns() - *cpu_ns;
	*wall_ns = timing_read_ns(CLOCK_MONOTONIC) - *wall_ns;
	if (!error)
		error = overhead.error;
	if (error)
		fprintf(stderr, "bench qdo: threads: %s\n", strerror(-error));
	return error;
}

/* WHAT is one of enum what. */
int qdo_answer_overhead(const char *arguments)
{
	struct qdo_operation held;
	unsigned int threads, what;
	const char *rest;
	struct qdo *instance = qdo_subject_instance(arguments, &rest);
	uint64_t wall_ns = 0, cpu_ns = 0;
	int error = 0;

	if (!instance || sscanf(rest, "%u %u", &threads, &what) != 2 || !threads || what > STARTED)
		return -1;
	overhead = (struct overhead){ .instance = instance, .what = (enum what)what };
	sem_init(&overhead.done, 0, 0);
	pthread_attr_init(&overhead.detached);
	pthread_attr_setdetachstate(&overhead.detached, PTHREAD_CREATE_DETACHED);
	if (what != NOTHING && begin(instance))
		return -1;
	qdo_subject_pin(qdo_subject_cpus[qdo_subject_cpu_count - 1]);
	if (what == HELD) {
		qdo_enter(instance, &held);
		error = qdo_request(instance, ignore, NULL, NULL, NULL);
	}
	if (!error)
		error = spawn_all(threads, &wall_ns, &cpu_ns);
	if (what == HELD)
		qdo_leave(&held);
	qdo_subject_unpin();
	pthread_attr_destroy(&overhead.detached);
	qdo_destroy(instance);
	if (error)
		return -1;
	printf("wall_ns=%.1f cpu_ns=%.1f\n", (double)wall_ns / threads, (double)cpu_ns / threads);
	return 0;
}

/* Operations of one thread, while a request waits: what a monitor that looks does to them. */
int qdo_answer_operations(const char *arguments)
{
	struct qdo_operation held, operation;
	unsigned int count;
	const char *rest;
	struct qdo *instance = qdo_subject_instance(arguments, &rest);
	uint64_t thread_ns, cpu_ns;
	int error;

	if (!instance || sscanf(rest, "%u", &count) != 1 || !count || begin(instance))
		return -1;
	qdo_subject_pin(qdo_subject_cpus[qdo_subject_cpu_count - 1]);
	qdo_enter(instance, &held);
	error = qdo_request(instance, ignore, NULL, NULL, NULL);
	thread_ns = timing_read_ns(CLOCK_THREAD_CPUTIME_ID);
	cpu_ns = process_ns();
	for (unsigned int i = 0; i < count; i++) {
		qdo_enter(instance, &operation);
		qdo_leave(&operation);
	}
	cpu_ns = process_ns() - cpu_ns;
	thread_ns = timing_read_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns;
	qdo_leave(&held);
	qdo_subject_unpin();
	qdo_destroy(instance);
	if (error)
		return -1;
	printf("thread_ns=%.3f cpu_ns=%.3f\n", (double)thread_ns / count, (double)cpu_ns / count);
	return 0;
}
