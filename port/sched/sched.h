/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The explorer: runs a scenario through every interleaving within its bounds.
 *
 * A scenario's setup declares shared memory, threads and nested handlers. Each thread is a
 * coroutine that switches to the explorer before every shared access; the explorer then goes depth
 * first through all choices (which thread moves, is interrupted, dies or migrates, which buffered
 * store lands), restores snapshots instead of replaying, and stops at states seen before.
 *
 * Stores wait in their CPU's buffer, and a CPU's own loads see them at once. They land in order
 * (TSO: x86's memory model), or in order only where they go to one address or a barrier says so
 * (PSO: weaker than any machine that Lull runs on, as far as stores go). Loads happen in program
 * order, or return values from before stores of other CPUs landed, until their CPU orders them
 * (STALE). docs/design/11-sched.md lists what that leaves out.
 * Paper: T 8.6.1 (race flags, nested contexts), B 4.4 (barrier promotion).
 */
#ifndef LULL_SCHED_H
#define LULL_SCHED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "lull_port.h"

#define SCHED_THREADS_MAX 6
#define SCHED_CPUS_MAX 3
#define SCHED_ARENA_BYTES 8192
#define SCHED_GHOST_BYTES 1536
#define SCHED_PARAMETERS_MAX 16
#define SCHED_UNBOUNDED 255u

enum sched_memory {
	SCHED_SC, /* no buffers: sequentially consistent */
	SCHED_PSO,
	SCHED_TSO,
	SCHED_STALE /* PSO, and loads that return old values until their CPU orders its loads */
};

struct sched_scenario {
	const char *name;
	void (*setup)(const struct sched_scenario *scenario);
	void (*invariant)(void); /* after every step; may be NULL */
	void (*finish)(void); /* at the end of every schedule, all stores landed; may be NULL */
	uint64_t (*clock)(void); /* lull_clock_cycles(); a function of shared memory; or NULL */
	long parameter[SCHED_PARAMETERS_MAX]; /* the scenario's own */
	uint64_t states_max; /* more states than this fail the scenario; 0: the default */
	uint8_t memory; /* enum sched_memory */
	uint8_t crashes; /* how many threads may die */
	uint8_t migrations; /* how often threads may change CPU, in all */
	/* 1: lull_publish() stores the write count with release, as PORT.md has it of a port whose
	 * writers may look at a ring from another CPU than its own */
	uint8_t publish_releases;
	uint8_t refusals; /* how often each thread's lull_publish() may fail without cause */
	/* 0: a schedule that can go on for ever is a livelock; 1: it is not; 2: only one in which
	 * each thread moves that can: threads may look again and again until another has moved */
	uint8_t cycles_allowed;
	uint8_t wakeups; /* how often futex sleepers may wake without cause, in all */
	uint8_t preemptions; /* most switches away from a thread that could go on */
	uint8_t slices; /* 1 + most of those to a thread of the same CPU; 0: no such bound */
	uint8_t expect_failure; /* 1: a fault is planted, the scenario must fail */
};

enum sched_outcome { SCHED_PASSED, SCHED_FAILED, SCHED_TOO_LARGE };

struct sched_result {
	enum sched_outcome outcome;
	uint64_t states;
	uint64_t transitions;
	uint64_t ends; /* distinct final states checked */
	double schedules; /* complete interleavings that these states stand for */
	double seconds;
	uint32_t depth; /* steps of the longest schedule, or of the failing one */
	char message[200];
};

/*
 * sched_explore() - run a scenario to the end or to its first failure.
 * @report: where a failing schedule is printed, in its form with the fewest preemptions;
 * NULL for silence. Not reentrant.
 */
void sched_explore(const struct sched_scenario *scenario, struct sched_result *result,
		   FILE *report);

/*
 * sched_run() - explore a table of scenarios and print one line per scenario.
 * Return: how many went otherwise than expected.
 */
int sched_run(const struct sched_scenario *scenarios, size_t count);

struct sched_table {
	const struct sched_scenario *scenario;
	size_t count;
};

#define SCHED_TABLE(rows)                                      \
	{                                                      \
		.scenario = (rows), .count = SCHED_COUNT(rows) \
	}
#define SCHED_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* A row of mutants.h, and which scenario must catch it. */
struct sched_fault {
	const char *name, *text, *scenario;
	enum sched_mutant which;
};

#define SCHED_FAULT(name, text, scenario) { #name, text, scenario, SCHED_MUTANT_##name },

/* What a test program explores. */
struct sched_suite {
	struct sched_table scenarios; /* what must pass, and what faults are seeded in */
	struct sched_table longer; /* larger bounds */
	struct sched_table planted; /* faults of the test's own: each must fail */
	const struct sched_fault *fault;
	size_t fault_count;
};

/*
 * sched_main() - the main() of a test program: [tso] [scenarios | mutants | long [NAME]]. Without
 * arguments, scenarios and mutants run. `tso` explores the PSO scenarios of its tables as TSO, and
 * leaves the STALE ones out; then faults that x86 hides must stay hidden. The last line is
 * `N passed, N failed, 0 skipped`. Return: the exit status.
 */
int sched_main(const struct sched_suite *suite, int count, char **argument);

/* In setup: shared memory, zeroed; ghost memory, for the test's own notes, without access steps. */
void *sched_alloc(size_t bytes, size_t align);
void *sched_ghost(size_t bytes);
/*
 * In setup: shared memory that a lock guards, read and written as plain memory, in whole 8-byte
 * words. Part of the state, but no access steps; an access by the port to it is a failure.
 */
void sched_plain(const void *address, size_t bytes);
/* In setup: what a trace calls this memory. */
void sched_name(const void *address, size_t bytes, const char *name);

/* In setup: a thread on a CPU; a handler that interrupts @host up to @runs times. */
int sched_thread(const char *name, uint32_t cpu, void (*body)(long argument), long argument);
int sched_handler(const char *name, int host, uint32_t runs, void (*body)(long argument),
		  long argument);
/* In setup: this thread, with its handlers, may be killed before any of its writes. */
void sched_may_die(int thread);
/* In setup: this thread may move to another CPU before any of its writes; STALE: and loads. */
void sched_may_migrate(int thread);

/* In threads. */
int sched_self(void);
int sched_host(int thread); /* of a handler; -1 of a thread */
uint32_t sched_run_index(void); /* of a handler: 0 at its first run */
uint32_t sched_choose(uint32_t count); /* every value below count, one schedule each */
void sched_read(void *to, const void *from, size_t bytes); /* plain: must not race */
void sched_read_racing(void *to, const void *from, size_t bytes); /* plain: may race */
/* Race flags: between own and disown, another thread's access to these bytes is a failure. */
void sched_own(const void *address, size_t bytes);
void sched_disown(const void *address, size_t bytes);
/*
 * Not a step: this CPU's loads from here on return nothing older than what memory holds now. For
 * an order that the test knows and the program does not enforce: an operation that begins when
 * another has ended, a section that a grace period does not wait for.
 */
void sched_loads_now(void);
/* Retries (calls of lull_port_stuck()) since sched_attempts_reset(). */
void sched_attempts_reset(void);
uint32_t sched_attempts(void);

/* In invariant and finish: whether a thread was killed; memory with all stores landed. */
int sched_dead(int thread);
uint64_t sched_newest(const uint64_t *address);

#define sched_check(condition, ...)                                              \
	do {                                                                     \
		if (!(condition))                                                \
			sched_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
	} while (0)

void sched_fail(const char *file, int line, const char *condition, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

#endif
