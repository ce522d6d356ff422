/* SPDX-License-Identifier: MIT */
/*
 * Two threads that take turns on one CPU: every turn is a context switch, so a tracer that
 * writes "which thread" only when it changes has to write it at every turn. This is the
 * worst case of contexts kept as runs. When only one of the two emits, the switches stay and
 * the changes of thread in the ring go: the difference is what a change costs.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "subject.h"
#include SUBJECT_EMIT

static uint32_t turn; /* whose turn it is: the futex word */

struct player {
	uint32_t self;
	unsigned int emitting;
	unsigned int events_per_turn;
	uint64_t turn_count;
};

static void turn_wait(uint32_t self)
{
	uint32_t seen;

	while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != self)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void turn_pass(uint32_t other)
{
	__atomic_store_n(&turn, other, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *player_main(void *argument)
{
	const struct player *player = argument;

	for (uint64_t i = 0; i < player->turn_count; i++) {
		turn_wait(player->self);
		if (player->emitting) {
			for (unsigned int j = 0; j < player->events_per_turn; j++)
				emit_two_words((long)i, &turn);
		}
		turn_pass(!player->self);
	}
	return NULL;
}

int subject_handoff(unsigned int emitting_mask, unsigned int events_per_turn, uint64_t turn_count)
{
	struct player players[2];
	uint64_t begin_ns, until_ns;
	pthread_t thread;

	for (uint32_t i = 0; i < 2; i++)
		players[i] =
			(struct player){ i, emitting_mask >> i & 1, events_per_turn, turn_count };
	__atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
	begin_ns = timing_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (pthread_create(&thread, NULL, player_main, &players[1]))
		return -1;
	player_main(&players[0]);
	pthread_join(thread, NULL);
	until_ns = timing_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	printf("cpu_ns=%llu turns=%llu\n", (unsigned long long)(until_ns - begin_ns),
	       (unsigned long long)(2 * turn_count));
	return 0;
}
