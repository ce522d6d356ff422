// SPDX-License-Identifier: MIT
/*
 * The latency of a callback, and its parts: each callback makes the next request (Q figures 5.2,
 * 5.9). All of an instance's CPUs are waited for, and the callback is called where it was asked
 * for, beside nothing else or beside scripts. The parts are seen by qdo_watch.c.
 *
 * With a pause, each callback waits for a part of it before the next request, and the parts are
 * spread evenly over the whole: requests then come at any time of a period. With KEEP, a second
 * chain of requests for the second CPU keeps all timers going, as Q's went on for ever (Q 4.5).
 */
#include <errno.h>
#include <math.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "qdo_scripts.h"
#include "qdo_subject.h"

/* Ten bins a decade from a microsecond on, each with its power of 10 in the middle. */
#define BINS 61
#define BINS_DECADE 10
#define CHAIN_SECONDS_MAX 50

enum part { PLACEMENT, LOCAL, COMMUNICATION, EXECUTION, CALLBACK, PARTS };

static const char *const part_names[PARTS] = { "placement_", "local_", "communication_",
					       "execution_", "callback_" };

struct chain {
	struct qdo *instance;
	unsigned int count, number;
	int error;
	uint64_t until_ns;
	unsigned int pause_us;
	bool stop; /* the second chain */
	struct qdo_set quiescence, execution, neighbour;
	uint64_t asked_ns[QDO_SAMPLES_MAX];
	uint64_t placed_ns[QDO_SAMPLES_MAX];
	uint64_t called_ns[QDO_SAMPLES_MAX];
	sem_t done;
};

static struct chain chain;
static uint64_t parts_ns[PARTS][QDO_SAMPLES_MAX];

static void called(void *argument);

static void ask(unsigned int number)
{
	int error;

	__atomic_store_n(&qdo_watch.number, number, __ATOMIC_RELEASE);
	chain.asked_ns[number] = timing_read_ns(CLOCK_MONOTONIC);
	error = qdo_request(chain.instance, called, (void *)(uintptr_t)number, &chain.quiescence,
			    &chain.execution);
	/* The next callback may run already, and look at its own. */
	__atomic_store_n(&chain.placed_ns[number], timing_read_ns(CLOCK_MONOTONIC),
			 __ATOMIC_RELEASE);
	if (error) {
		chain.error = error;
		sem_post(&chain.done);
	}
}

static void keep_going(void *argument)
{
	(void)argument;
	if (__atomic_load_n(&chain.stop, __ATOMIC_ACQUIRE))
		return;
	if (qdo_request(chain.instance, keep_going, NULL, &chain.neighbour, &chain.execution))
		__atomic_store_n(&chain.stop, true, __ATOMIC_RELEASE);
}

/*
 * Up to the pause. The multiples of the golden ratio fill a range evenly, however few they are: the
 * average of a short chain's pauses is half of the whole.
 */
static void rest(unsigned int number)
{
	uint64_t us = (uint64_t)(uint32_t)(number * 2654435769u) * chain.pause_us >> 32;
	struct timespec time = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	nanosleep(&time, NULL);
}

static void called(void *argument)
{
	unsigned int number = (unsigned int)(uintptr_t)argument;

	chain.called_ns[number] = timing_read_ns(CLOCK_MONOTONIC);
	chain.number = number + 1;
	if (number + 1 >= chain.count || chain.called_ns[number] >= chain.until_ns) {
		sem_post(&chain.done);
		return;
	}
	if (chain.pause_us)
		rest(number);
	ask(number + 1);
}

static uint64_t between(uint64_t begin_ns, uint64_t end_ns)
{
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* A part that was over before the one before it took no time: another CPU was faster. */
static void note_parts(unsigned int i)
{
	uint64_t placed = chain.placed_ns[i], called = chain.called_ns[i];
	uint64_t quiescent = qdo_watch.quiescent_ns[i], local = qdo_watch.local_ns[i];

	if (!local || local > quiescent)
		local = quiescent;
	parts_ns[PLACEMENT][i] = placed - chain.asked_ns[i];
	parts_ns[LOCAL][i] = between(placed, local);
	parts_ns[COMMUNICATION][i] = between(local, quiescent);
	parts_ns[EXECUTION][i] = quiescent ? between(quiescent, called) : 0;
	parts_ns[CALLBACK][i] = called - chain.asked_ns[i];
}

static void print_bins(void)
{
	unsigned int bins[BINS] = { 0 };

	for (unsigned int i = 0; i < chain.number; i++) {
		double us = (double)parts_ns[CALLBACK][i] / 1000;
		double place = us > 1 ? log10(us) * BINS_DECADE + 0.5 : 0;

		bins[place < BINS - 1 ? (unsigned int)place : BINS - 1]++;
	}
	for (unsigned int i = 0; i < BINS; i++)
		printf(" bin_%u=%.4f", i, 100.0 * bins[i] / chain.number);
}

static int run(struct qdo *instance, unsigned int count, unsigned int pause_us, unsigned int keep)
{
	struct timespec until;
	int late;

	memset(&chain, 0, sizeof(chain));
	chain.instance = instance;
	chain.count = count;
	chain.until_ns = timing_read_ns(CLOCK_MONOTONIC) + CHAIN_SECONDS_MAX * 1000000000ull;
	qdo_set_all(&chain.quiescence);
	qdo_set_add(&chain.execution, 0);
	chain.pause_us = pause_us;
	qdo_set_add(&chain.neighbour, 1);
	sem_init(&chain.done, 0, 0);
	if (keep)
		keep_going(NULL);
	ask(0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CHAIN_SECONDS_MAX;
	do
		late = sem_timedwait(&chain.done, &until);
	while (late && errno == EINTR);
	__atomic_store_n(&chain.stop, true, __ATOMIC_RELEASE);
	if (late || chain.error) {
		fprintf(stderr, "bench qdo: callback %u of %u %s\n", chain.number, count,
			late ? "was not called" : strerror(-chain.error));
		return -1;
	}
	return qdo_barrier(instance);
}

int qdo_answer_chain(const char *arguments)
{
	unsigned int count, scripts, pause_us, keep;
	const char *words;
	struct qdo *instance = qdo_subject_instance(arguments, &words);
	struct scripts *load = NULL;
	int failed;

	if (!instance || sscanf(words, "%u %u %u %u", &count, &scripts, &pause_us, &keep) != 4 ||
	    !count || count > QDO_SAMPLES_MAX)
		return -1;
	qdo_watch_begin(instance);
	if (scripts) {
		load = scripts_start(instance, SCRIPTS_THREADS, scripts, 1, 0);
		if (!load)
			return -1;
	}
	qdo_subject_pin(qdo_subject_cpus[0]);
	failed = run(instance, count, pause_us, keep);
	qdo_subject_unpin();
	qdo_watch_end();
	if (load)
		scripts_stop(load, NULL);
	if (failed)
		return -1;
	qdo_destroy(instance);
	for (unsigned int i = 0; i < chain.number; i++)
		note_parts(i);
	printf("requests=%u", chain.number);
	print_bins();
	for (unsigned int part = 0; part < PARTS; part++)
		subject_print_quantiles(part_names[part], parts_ns[part], chain.number, 1.0);
	printf("\n");
	return 0;
}
