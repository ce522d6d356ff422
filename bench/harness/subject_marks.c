/* SPDX-License-Identifier: MIT */
/*
 * A program that is changed while it works: threads that go on emitting events, and one event at a
 * time that says which it is.
 */
#include <pthread.h>

#include "subject.h"
#include SUBJECT_EMIT

#define EVENTS_PER_TURN 20
#define TURN_NS 1000000l

static void *busy_main(void *unused)
{
	const struct timespec turn = { .tv_nsec = TURN_NS };

	(void)unused;
	for (int i = 0;; i++) {
		emit_one_int(i);
		if (i % EVENTS_PER_TURN == 0)
			nanosleep(&turn, NULL);
	}
	return NULL;
}

int subject_busy(unsigned int thread_count)
{
	pthread_t thread;

	for (unsigned int i = 0; i < thread_count; i++)
		if (pthread_create(&thread, NULL, busy_main, NULL) || pthread_detach(thread))
			return -1;
	printf("threads=%u\n", thread_count);
	return 0;
}

int subject_mark(unsigned int number)
{
	emit_alarm((long)number, NULL);
	printf("marked=%u\n", number);
	return 0;
}
