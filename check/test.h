/* SPDX-License-Identifier: MIT */
/*
 * What test programs of C say and count: a line per behaviour, "ok   NAME", "FAIL NAME" or
 * "skip NAME: REASON", and at the end the sums, which mk/suites reads. A test program includes this
 * in one of its files.
 */
#ifndef LULL_CHECK_TEST_H
#define LULL_CHECK_TEST_H

#include <stdio.h>

static int passed, failed, skipped;

/* One behaviour. Flushed, because tests fork, and some of their programs are killed. */
static inline void check(int condition, const char *name)
{
	printf("%s %s\n", condition ? "ok  " : "FAIL", name);
	fflush(stdout);
	passed += !!condition;
	failed += !condition;
}

/* A behaviour that cannot be tested here. */
static inline void skip(const char *name, const char *reason)
{
	printf("skip %s: %s\n", name, reason);
	fflush(stdout);
	skipped++;
}

/* The last line. Return: main()'s. */
static inline int sums(void)
{
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}

/* In a function that is one test: it ends here unless the condition holds. */
#define CHECK(condition)                                                         \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("  %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			return 1;                                                \
		}                                                                \
	} while (0)

/* A function that is one test returns 0 when it has passed. */
#define RUN(test) check(!test(), #test)

#endif
