/* SPDX-License-Identifier: MIT */
/*
 * Sampling: the share of occurrences that is recorded, whether a periodic program changes it, and
 * that threads and processes draw differently.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../check/test.h"
#include "sampling.h"

#define THREADS 64u

/* How many of @count occurrences are recorded, of which each @period-th is looked at. */
static uint32_t recorded(uint32_t sample, uint32_t count, uint32_t period)
{
	struct sampling sampling = { 0 };
	uint32_t found = 0;

	lull_sampling_set(&sampling, sample);
	for (uint32_t i = 0; i < count; i++) {
		int is_taken = sampling_draw(&sampling);

		found += i % period == 0 && is_taken;
	}
	return found;
}

/* Within five standard deviations of @expected: one run in two million lies outside. */
static int is_near(uint32_t found, double expected)
{
	double apart = found - expected;

	return apart * apart <= 25 * expected;
}

static int share_of_occurrences_is_as_asked(void)
{
	CHECK(recorded(1, 1000, 1) == 1000);
	CHECK(is_near(recorded(2, 100000, 1), 50000));
	CHECK(is_near(recorded(3, 300000, 1), 100000));
	CHECK(is_near(recorded(1000, 10000000, 1), 10000));
	CHECK(is_near(recorded(LULL_SAMPLE_MAX, 20000000, 1), 20));
	return 0;
}

static int periodic_program_gets_the_same_share(void)
{
	static const uint32_t periods[] = { 2, 3, 4, 8, 16, 64, 100, 128, 1024 };

	for (uint32_t i = 0; i < sizeof(periods) / sizeof(*periods); i++)
		CHECK(is_near(recorded(4, 400000, periods[i]), 100000.0 / periods[i]));
	return 0;
}

static void *first_of_thread(void *first)
{
	(void)sampling_next();
	*(uint64_t *)first = lull_thread.random;
	return NULL;
}

static int all_differ(const uint64_t *firsts, uint32_t count)
{
	uint32_t high = 0;

	for (uint32_t i = 0; i < count; i++) {
		high += firsts[i] >> 63;
		for (uint32_t j = 0; j < i; j++)
			if (firsts[i] == firsts[j])
				return 0;
	}
	return high > count / 4 && high < count - count / 4;
}

static int threads_draw_differently(void)
{
	uint64_t firsts[THREADS];
	pthread_t thread;

	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK(!pthread_create(&thread, NULL, first_of_thread, &firsts[i]));
		pthread_join(thread, NULL);
	}
	CHECK(all_differ(firsts, THREADS));
	return 0;
}

static int forked_children_draw_differently(void)
{
	uint64_t *firsts = mmap(NULL, THREADS * sizeof(*firsts), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(firsts != MAP_FAILED);
	for (uint32_t i = 0; i < THREADS; i++) {
		pid_t child = fork();

		if (!child) {
			first_of_thread(&firsts[i]);
			_exit(0);
		}
		CHECK(child > 0 && waitpid(child, NULL, 0) == child);
	}
	CHECK(all_differ(firsts, THREADS));
	return 0;
}

#define CAPACITY 16u
#define ID 5u

static uint32_t throttles[CAPACITY], counts[4 * CAPACITY];

/* How many of @count occurrences are recorded while the recorder says @throttle. */
static uint32_t recorded_under(uint32_t throttle, uint32_t sample, uint32_t count)
{
	struct session session = { .budget = { throttles, counts, 3 }, .event_capacity = CAPACITY };
	struct sampling sampling = { 0 };
	uint32_t found = 0;

	throttles[ID] = throttle;
	for (uint32_t i = 0; i < 4 * CAPACITY; i++)
		counts[i] = 0;
	lull_sampling_set(&sampling, sample);
	lull_sampling_budget(&sampling, &session, ID);
	for (uint32_t i = 0; i < count; i++)
		found += (uint32_t)sampling_draw(&sampling);
	return found;
}

static uint32_t counted(void)
{
	uint32_t sum = 0;

	for (uint32_t row = 0; row < 4; row++)
		sum += counts[row * CAPACITY + ID];
	return sum;
}

static int throttle_takes_its_part_of_what_is_sampled_and_all_is_counted(void)
{
	CHECK(recorded_under(0, 1, 1000) == 1000 && counted() == 1000);
	CHECK(is_near(recorded_under(1, 1, 40000), 20000) && counted() == 40000);
	CHECK(is_near(recorded_under(LULL_THROTTLE_MAX, 1, 1024000), 1000));
	CHECK(is_near(recorded_under(3, 5, 400000), 10000) && counted() == 400000);
	CHECK(!recorded_under(LULL_THROTTLE_MAX + 1, 1, 100000) && counted() == 100000);
	CHECK(!throttles[0] && !counts[0]);
	return 0;
}

static int throttle_that_no_recorder_writes_is_one_that_a_recorder_could_write(void)
{
	CHECK(!recorded_under(~0u, 1, 1000) && counted() == 1000);
	CHECK(recorded_under(LULL_THROTTLE_MASK + 1, 1, 1000) == 1000);
	CHECK(is_near(recorded_under(0x80000001u, 1, 40000), 20000));
	return 0;
}

int main(void)
{
	lull_identity_start();
	RUN(share_of_occurrences_is_as_asked);
	RUN(periodic_program_gets_the_same_share);
	RUN(threads_draw_differently);
	RUN(forked_children_draw_differently);
	RUN(throttle_takes_its_part_of_what_is_sampled_and_all_is_counted);
	RUN(throttle_that_no_recorder_writes_is_one_that_a_recorder_could_write);
	return sums();
}
