/* SPDX-License-Identifier: MIT */
/*
 * The measured program of the QDo tables. It answers commands as subject.h's program does; each
 * sample makes an instance of its own, as a command's first words say, and ends it.
 */
#ifndef LULL_BENCH_QDO_SUBJECT_H
#define LULL_BENCH_QDO_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/qdo.h"
#include "subject.h"

#define QDO_SAMPLES_MAX 4096

/* Where samples run: the first so many CPUs that the program may use. */
extern unsigned int qdo_subject_cpus[QDO_CPUS_MAX];
extern unsigned int qdo_subject_cpu_count;

void qdo_subject_pin(unsigned int cpu);
void qdo_subject_unpin(void);

/*
 * An instance as `ALGORITHM SUBMISSION PERIOD_US TIMER_ONLY CPUS` say; *@rest: what follows them.
 * Return: NULL, with a message on standard error.
 */
struct qdo *qdo_subject_instance(const char *arguments, const char **rest);

/* Each prints one answer line and returns 0, or -1 with a message on standard error. */
int qdo_answer_chain(const char *arguments);
int qdo_answer_overhead(const char *arguments);
int qdo_answer_operations(const char *arguments);
int qdo_answer_server(const char *arguments);

/*
 * What happened to request number @i of a watched instance, seen from outside the library: when
 * the step of the CPU that took it was over, and when it was given to the executors. 0: not seen.
 */
struct qdo_watch {
	uint64_t local_ns[QDO_SAMPLES_MAX];
	uint64_t quiescent_ns[QDO_SAMPLES_MAX];
	unsigned int number; /* of the request that is under way */
};

extern struct qdo_watch qdo_watch;
void qdo_watch_begin(struct qdo *instance);
void qdo_watch_end(void);

#endif
