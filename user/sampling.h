/* SPDX-License-Identifier: MIT */
/*
 * Sampling: of the occurrences of an event, each is recorded with a chance of one in so many,
 * whatever became of those before it; but the exit of a call does as its entry did (pairs.c), so
 * that calls of a sample can be measured. So what is counted in the trace, times so many, is an
 * estimate without bias, also of what a program does periodically, and in short threads.
 *
 * Place in the flow: filters.c asks this after an event's filter, before a slot is reserved. A draw
 * is a multiplication and a comparison. Its state is the thread's own: a signal handler between its
 * load and its store makes two occurrences share a draw, which harms nothing.
 *
 * In a session that has a budget, each occurrence is counted for the recorder, which lowers the
 * chances of events that are too many. What it says is read once and masked: a neighbour that
 * writes there changes how much its own user records, and nothing else.
 * Design: docs/design/71-budget.md. Paper: T 2, 4.5.
 */
#ifndef LULL_SAMPLING_H
#define LULL_SAMPLING_H

#include "liblull.h"
#include "lull_port.h"
#include "pairs.h"

/* How one event is sampled in one session. */
struct sampling {
	uint64_t chance; /* of one occurrence, in parts of SAMPLING_WHOLE */
	const uint32_t *throttle; /* its word of the session's budget; NULL: there is no budget */
	uint32_t *counts; /* its word in the first row */
	uint32_t row_mask;
	uint32_t row_words; /* from one row to the next */
	long place; /* lull_place(), of threads that have a restartable-sequence area */
	struct pair_end end; /* of a pair whose calls are drawn as a whole */
};

#define SAMPLING_WHOLE (1ull << 63)

/* Of a linear congruential generator; the high bits of its words are good, the low ones are not. */
#define SAMPLING_MULTIPLIER 6364136223846793005ull
#define SAMPLING_INCREMENT 1442695040888963407ull

/* sampling.c: one in @sample occurrences is recorded. */
void lull_sampling_set(struct sampling *sampling, uint32_t sample);

/* sampling.c: occurrences of @event count against the budget of a session, where it has one. */
void lull_sampling_budget(struct sampling *sampling, const struct session *session, uint32_t event);

/* sampling.c: a thread's first number, unlike those of others. */
void lull_sampling_seed(struct thread *thread);

/* sampling.c: the thread of a new process, or one that has to use plain rings. */
void lull_sampling_renew(struct thread *thread);

/* sampling.c: where a thread counts that is on no CPU's row. */
uint32_t lull_sampling_row(const struct thread *thread);

/* Is the calling thread known, and has it a restartable-sequence area? */
static inline int sampling_is_plain(const struct thread *thread)
{
	return __builtin_expect(thread->state != lull_load(&lull_fork_page.state), 0);
}

/* The calling thread's next number, up to SAMPLING_WHOLE. */
static inline uint64_t sampling_next(void)
{
	struct thread *thread = &lull_thread;
	uint64_t number;

	if (sampling_is_plain(thread))
		lull_sampling_renew(thread);
	number = thread->random * SAMPLING_MULTIPLIER + SAMPLING_INCREMENT;
	thread->random = number;
	return number >> 1;
}

/*
 * Count an occurrence against a budget, and lower its chance as the recorder says. Another thread
 * of the CPU may count between the load and the store, and its count be missing.
 */
static inline uint64_t sampling_throttle(const struct sampling *sampling)
{
	uint32_t row, *count, throttle;

	row = sampling_is_plain(&lull_thread) ? lull_sampling_row(&lull_thread) :
						lull_cpu_at(sampling->place);
	row &= sampling->row_mask;
	count = sampling->counts + (size_t)row * sampling->row_words;
	lull_store32(count, lull_load32(count) + 1);
	throttle = lull_load32(sampling->throttle) & LULL_THROTTLE_MASK;
	return throttle > LULL_THROTTLE_MAX ? 0 : sampling->chance >> throttle;
}

/*
 * Is this occurrence recorded?
 * Context: any, async-signal-safe. Progress: wait-free.
 */
static inline int sampling_draw(const struct sampling *sampling)
{
	uint64_t chance;

	if (sampling->end.pair)
		return lull_pair_draw(sampling);
	chance = sampling->throttle ? sampling_throttle(sampling) : sampling->chance;
	return chance >= SAMPLING_WHOLE || (chance && sampling_next() < chance);
}

#endif
