/* SPDX-License-Identifier: MIT */
/*
 * Threads that take jobs from a counter, and a timer's signal handler: each kind of context
 * records its own events, in order, without locks.
 *
 *	cc -O2 -I../core/include workers.c -o workers -pthread
 *	lull record -- ./workers
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <lull/trace.h>

#define WORKERS 2
#define JOBS 200

static unsigned int next_job;
static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
	(void)number;
	ticks = ticks + 1;
	lull_event_level(LULL_LEVEL_DEBUG, "worker:tick", lull_i32(ticks, ticks));
}

static double compute(unsigned int job)
{
	double sum = 0;

	for (unsigned int i = 1; i < 20000; i++)
		sum += 1.0 / (i + job);
	return sum;
}

static void *work(void *argument)
{
	uint32_t worker = *(uint32_t *)argument;
	unsigned int done = 0;

	lull_event("worker:state", lull_u32(worker, worker), lull_enum(state, 1, "IDLE=0,BUSY=1"));
	for (;;) {
		unsigned int job = __atomic_fetch_add(&next_job, 1, __ATOMIC_RELAXED);
		double result;

		if (job >= JOBS)
			break;
		lull_event("worker:begin", lull_u32(worker, worker), lull_u32(job, job));
		result = compute(job);
		lull_event("worker:end", lull_u32(worker, worker), lull_u32(job, job),
			   lull_f64(result, result));
		done++;
	}
	lull_event("worker:state", lull_u32(worker, worker), lull_enum(state, 0, "IDLE=0,BUSY=1"),
		   lull_u32(done, done));
	return NULL;
}

int main(void)
{
	const struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	uint32_t numbers[WORKERS];
	pthread_t threads[WORKERS];

	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint32_t i = 0; i < WORKERS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, work, &numbers[i]))
			return 1;
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d jobs done\n", JOBS);
	return 0;
}
