/* SPDX-License-Identifier: MIT */
/*
 * Scripts of a developer's tools in memory, several at once, on one table of names: the load of
 * the QDo tables in the place of SDET (Q 5.5, 5.6).
 */
#ifndef LULL_BENCH_QDO_SCRIPTS_H
#define LULL_BENCH_QDO_SCRIPTS_H

#include "qdo_table.h"

#define SCRIPTS_MAX 256

struct scripts_result {
	unsigned long scripts; /* that were done */
	unsigned long resizes, requests, wrong;
};

struct scripts;

/*
 * Runs @count scripts at once, each again and again; @runs times, or for ever if @runs is 0. A
 * script repeats all its commands but the last one @passes times. Return: NULL: a message was
 * printed.
 */
struct scripts *scripts_start(struct qdo *instance, enum scripts_guard guard, unsigned int count,
			      unsigned int passes, unsigned int runs);
/* Waits for all runs, and all requests. */
void scripts_finish(struct scripts *scripts);
/* Ends scripts that run for ever, or have been waited for; @result may be NULL. */
void scripts_stop(struct scripts *scripts, struct scripts_result *result);

#endif
