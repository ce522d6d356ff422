/* SPDX-License-Identifier: MIT */
/*
 * What the consumer of a queue does while a producer is between its two steps.
 *
 * The producer has one store to make. If it runs, it has made it within a few spins; if it was
 * preempted, it may need this very processor, even when the consumer has the higher real-time
 * priority: so sleep, which yielding would not always do. Paper: T figure 6.5 (waits by poll()).
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "rcu_port.h"
#include "lull/rcu/queue.h"

#define SPIN_ROUNDS 128u
#define SLEEP_NS 20000

void rcu_queue_pause(unsigned int round)
{
	const struct timespec length = { 0, SLEEP_NS };
	int saved = errno, cancel;

	if (round < SPIN_ROUNDS) {
		lull_relax();
		return;
	}
	/* Not a cancellation point: the consumer holds an entry that nobody else could find. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	nanosleep(&length, NULL);
	pthread_setcancelstate(cancel, &cancel);
	errno = saved;
}
