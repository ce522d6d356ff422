/* SPDX-License-Identifier: MIT */
/*
 * Threads that are created and do not run before all of them are: each has the one CPU only when
 * their creator gives it up. Prints how many there were, or why that cannot be had here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define CROWD 1000

static void *run(void *unused)
{
	return unused;
}

int main(void)
{
	static pthread_t threads[CROWD];
	struct sched_param parameters = { .sched_priority = 5 };
	pthread_attr_t attributes;
	cpu_set_t one;
	int count = 0;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) ||
	    sched_setscheduler(0, SCHED_FIFO, &parameters)) {
		printf("no real-time priority\n");
		return 0;
	}
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	while (count < CROWD && !pthread_create(&threads[count], &attributes, run, NULL))
		count++;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads\n", count);
	return 0;
}
