/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a test of the clock uses: a simulated counter, an interrupt at a chosen shared
 * access, seeded faults, and a runner that reports by name.
 */
#ifndef LULL_STEP_H
#define LULL_STEP_H

#include <stdint.h>

/* Fails the test that contains it: tests return the line of the first failure, or 0. */
#define STEP_CHECK(condition)            \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

struct step_test {
	const char *name; /* states the behaviour */
	int (*run)(void);
	const char *mutants; /* space-separated seeded faults that this test must catch */
};

/*
 * The simulated machine. The counter shows step_time + step_offset, low by up to step_jitter;
 * the clock narrows it.
 */
extern uint64_t step_time; /* the true time, in cycles */
extern uint64_t step_time_per_access; /* how far each shared access moves it */
extern uint64_t step_offset; /* counter minus time; restarts change it */
extern uint64_t step_jitter; /* how far a reading of the counter may step back */
uint64_t step_counter(void);

/*
 * step_interrupt_at() - run @handler before the @access-th shared access from now, once.
 * A handler may set the next interrupt: it then nests. @access counts from 1.
 */
void step_interrupt_at(uint64_t access, void (*handler)(void));

/* step_interrupt_clear() - forget an interrupt that did not happen. Return: 1 if it had not. */
int step_interrupt_clear(void);

/* step_random() - next number of a fixed sequence, 64 bits. */
uint64_t step_random(void);

/*
 * step_run() - run tests, then each again with each of its faults, when it must fail.
 * Prints a line for each and the sums last. Return: the exit status.
 */
int step_run(const struct step_test *tests, unsigned int count);

#endif
