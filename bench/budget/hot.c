/* SPDX-License-Identifier: MIT */
/*
 * A program that emits events as fast as a budget has to cope with: after so many steps of work,
 * each of about a nanosecond, one event.
 *
 *	hot SECONDS STEPS
 *
 * It prints how many events it emitted, and the CPU time in nanoseconds that it used meanwhile. Of
 * its own work that is always the same for each event, so what is more was taken by tracing.
 */
#include <lull/trace.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define EVENTS_OF_ROUND 10000u

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t until_ns, number = 1, count = 0, begin_cpu_ns;
	unsigned long steps;

	if (argc != 3) {
		fprintf(stderr, "usage: hot SECONDS STEPS\n");
		return 2;
	}
	steps = strtoul(argv[2], NULL, 0);
	begin_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	until_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[1]) * 1e9);
	do {
		for (uint32_t i = 0; i < EVENTS_OF_ROUND; i++) {
			for (unsigned long step = 0; step < steps; step++)
				number = number * 6364136223846793005u + 1;
			lull_event("hot:loop", lull_u64(number, number));
		}
		count += EVENTS_OF_ROUND;
	} while (clock_ns(CLOCK_MONOTONIC) < until_ns);
	printf("%llu %llu\n", (unsigned long long)count,
	       (unsigned long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu_ns));
	return 0;
}
