/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A load whose events can be checked: switches of threads, which follow from each other.
 */
#ifndef LULL_KERNEL_TEST_SWITCHES_H
#define LULL_KERNEL_TEST_SWITCHES_H

#include <stdint.h>
#include "session.h"

/* Two processes on one CPU wake each other so often: each time is two switches. */
void switches_make_on(int cpu, int count);

/* The same, on CPU 0. */
void switches_make(int count);

/* On each CPU, what the last switch went to is what the next one comes from. */
struct chain {
	uint32_t id;
	char name[16]; /* of the caller */
	int32_t running[64]; /* thread, or -1 */
	long links, breaks;
	long of_this_thread; /* switches from the caller, under its own name */
};

/* An empty chain. */
struct chain chain_begin(const struct recorder *recorder);

/* A visitor of recorder_read(). */
void chain_follow(const struct recorded *event, void *chain);

#endif
