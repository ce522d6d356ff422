/* SPDX-License-Identifier: MIT */
/*
 * The core of QDo: operations, generations, requests, and what CPUs tell each other.
 *
 * Freestanding: port/RCU.md says what it asks of its surroundings. The host (threads, timers,
 * executors) gives it memory, calls qdo_core_step() for each CPU and runs what comes back.
 * Papers: Q 2.2.2, 3.2, 3.3, 4.5, 4.8. Design: docs/design/41-qdo.md.
 *
 * generation.c counts operations; submit.c takes requests; core.c steps; one file for each
 * algorithm.
 */
#ifndef LULL_QDO_CORE_H
#define LULL_QDO_CORE_H

#include <stddef.h>
#include "lull/qdo.h"
#include "lull/rcu/memory.h"
#include "qdo_port.h"
#include "rcu_port.h"

/*
 * Generations that must pass on a CPU after a request. Two drain both counters (Q 2.2.2). The
 * one that was under way may have been judged before the request, by a CPU that looked and was
 * delayed, while an operation counted itself late: so one more, unless the waiting step judged
 * that one itself (generation.c).
 */
#define QDO_GENERATIONS 3ul

/* An operation's place: kept by the thread that entered, given back when it leaves, on any CPU. */
struct qdo_ticket {
	uint32_t cpu;
	uint32_t parity; /* of the generation to which it belongs */
};

struct qdo_core;

/* What a request is compared with, by algorithm. Only the steps of CPUs touch it. */
struct qdo_snapshot_request {
	unsigned long at; /* the CPU it waits for; its generations are in the request */
};

struct qdo_token_request {
	unsigned long since; /* the token's number when it came after the request; 0: not yet */
};

struct qdo_multi_token_request {
	unsigned long since; /* generation of the CPU where the request is, when it came there */
};

struct qdo_tree_request {
	unsigned long since; /* the batch in which it was taken */
};

/*
 * A request, in memory of the caller's: qdo_core_request_bytes(), zeroed. Callback, argument and
 * sets are the caller's until qdo_core_submit(); the rest is the core's.
 */
struct qdo_request {
	struct qdo_request *next; /* in a list of done requests: the host's again */
	void (*callback)(void *argument);
	void *argument;
	struct qdo_set quiescence;
	struct qdo_set execution;
	uint32_t origin; /* CPU whose list took it */
	uint32_t is_first; /* not 0: nothing was pending before it */
	union {
		struct qdo_snapshot_request snapshot;
		struct qdo_token_request token;
		struct qdo_multi_token_request multi_token;
		struct qdo_tree_request tree;
	};
	unsigned long generations[]; /* snapshot: of each CPU, when it was taken */
};

/* Counts kept only for table 3.1 of Q; what crosses from one CPU's memory to another's step. */
struct qdo_counts {
	unsigned long steps;
	unsigned long communications; /* words of another CPU's part, or the root's, when new */
	unsigned long completed;
};

/* generation.c: the operations of a CPU. Counts only grow, but for a fork. */
struct qdo_operations {
	unsigned long generation; /* compare-and-swap, by steps */
	/* By this CPU's restartable steps, read by any step that judges them. */
	unsigned long entered[2];
	unsigned long left[2];
	/* Atomic: by threads that have no restartable steps, or left on another CPU. */
	unsigned long entered_elsewhere[2] __attribute__((aligned(64)));
	unsigned long left_elsewhere[2];
};

/* submit.c: requests not yet taken, newest first, in words that hold pointers. */
struct qdo_submissions {
	unsigned long listed; /* by compare and swap, or the lock */
	unsigned long stepped; /* by restartable steps; never emptied */
	unsigned long stepped_taken; /* up to here stepped was taken; by this CPU's step */
	struct lull_lock lock;
};

/* token.c: the single token, at a CPU. */
struct qdo_token_cpu {
	unsigned long number; /* of the token that lies here, or 0; by the CPU before, and this */
	unsigned long seen; /* the token that `since` belongs to; by this CPU's step, as: */
	unsigned long since; /* this CPU's generation when that token came */
};

/* multi_token.c: requests on their way to this CPU, newest first. */
struct qdo_multi_token_cpu {
	unsigned long arrived;
};

/* tree.c: a CPU as a node. */
struct qdo_tree_cpu {
	unsigned long number; /* the batch for which the whole subtree is quiescent */
	unsigned long seen; /* the batch that `since` belongs to; only by this CPU's step, as: */
	unsigned long since; /* this CPU's generation when that batch began */
	unsigned long wake; /* the wake that this CPU has passed on */
};

struct qdo_cpu {
	struct qdo_operations operations;
	struct qdo_submissions submissions __attribute__((aligned(64)));
	/* One of the three is used: the instance's algorithm's. */
	struct qdo_token_cpu token __attribute__((aligned(64)));
	struct qdo_multi_token_cpu multi_token;
	struct qdo_tree_cpu tree;
	/* Only this CPU's step touches what follows. */
	struct qdo_request *waiting __attribute__((aligned(64))); /* oldest first */
	struct qdo_request **waiting_end;
	struct qdo_counts counts;
} __attribute__((aligned(64)));

/* token.c: the single token, in the instance. */
struct qdo_token_core {
	unsigned long at; /* where the token was passed last */
};

/* tree.c: the root. */
struct qdo_tree_core {
	unsigned long batch;
	unsigned long wakes; /* how often requests came when there were none */
};

struct qdo_core {
	unsigned int cpu_count;
	enum qdo_algorithm algorithm;
	enum qdo_submission submission;
	int own_generation_only; /* as Q: a CPU's generation moves in its own step only */
	int prompting; /* tell qdo_port_prompt() whose step has something to do; else step all */
	struct qdo_cpu *cpus;
	unsigned long pending __attribute__((aligned(64))); /* requests submitted and not done */
	struct qdo_tree_core tree;
	struct qdo_token_core token;
};

/* What a step gives back. */
struct qdo_step {
	struct qdo_request *done; /* oldest first; quiescent: to be executed */
	struct qdo_request **done_end; /* the core's */
	unsigned long pending; /* requests of all CPUs not yet done; 0: checking may stop */
	int waits; /* 1: operations keep this CPU from going on; step it again after a while */
};

/* Bytes of memory for @cpu_count CPUs, to be zeroed and aligned to 64. */
size_t qdo_core_bytes(unsigned int cpu_count);
size_t qdo_core_request_bytes(const struct qdo_core *core);

/*
 * qdo_core_start() - Make an instance ready; @core's first five members are set by the caller.
 * Return: 0, or -EINVAL: no CPU, too many, an unknown algorithm or technique, or prompting with
 * own_generation_only: a step that waits for another CPU's generation is not told that it moved.
 */
int qdo_core_start(struct qdo_core *core, void *memory);

/*
 * qdo_core_reset() - In a forked child: no request, no operation; generations stay.
 * The host then enters again, by qdo_core_enter(), for each operation of the forking thread.
 * Context: no other thread. What was submitted is forgotten; its memory is the host's.
 */
void qdo_core_reset(struct qdo_core *core);

/*
 * Operations. Context: any, signal handlers too. Progress: wait-free (a bounded number of
 * restarts, then an atomic add). Ordering: what follows enter is after it for any request taken
 * by a step that does not see the operation; what precedes leave is before it. Paper: Q 2.2.2.
 */
struct qdo_ticket qdo_core_enter(struct qdo_core *core);
void qdo_core_leave(struct qdo_core *core, struct qdo_ticket ticket);

/*
 * qdo_core_submit() - Hand in a request, on the CPU where the caller runs.
 * Context: any; with QDO_SUBMIT_LOCK no signal handlers. Progress: lock-free, or blocking with
 * the lock. Return: the CPU whose step will take it; the host prompts that one.
 */
unsigned int qdo_core_submit(struct qdo_core *core, struct qdo_request *request);

/*
 * qdo_core_step() - One pass of a CPU's monitor: takes requests, moves generations, tells other
 * CPUs, finds what is quiescent. Context: thread; one at a time for each CPU, on any CPU (with
 * own_generation_only: on that CPU). Does not wait. Paper: Q 4.7.
 */
void qdo_core_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);

/*
 * Asked of the host: the step of @cpu has something to do now. Called within steps. A step of
 * @cpu begins after this; it sees what this step has stored before.
 */
void qdo_port_prompt(struct qdo_core *core, unsigned int cpu);

/* Among the core's files. */

/* Each file's part of qdo_core_reset(). */
void qdo_operations_reset(struct qdo_operations *operations);
void qdo_submissions_reset(struct qdo_submissions *submissions);
void qdo_token_reset(struct qdo_core *core);
void qdo_multi_token_reset(struct qdo_core *core);
void qdo_tree_reset(struct qdo_core *core);

/* generation.c: let a CPU's generation move as far as its operations allow, at most @most. */
unsigned long qdo_generation_advance(struct qdo_core *core, unsigned int cpu, unsigned long most);
/*
 * Whether a CPU is quiescent since it had generation *@since, which was read after the request
 * was taken; lets it move first if it may. *@since is set back when one generation less is enough.
 */
int qdo_generation_passed(struct qdo_core *core, unsigned int stepping, unsigned int cpu,
			  unsigned long *since);
/* submit.c: all requests submitted to a CPU, oldest first. */
struct qdo_request *qdo_submitted_take(struct qdo_core *core, unsigned int cpu);
/* submit.c: lock-free lists that are written newest first and taken whole, oldest first. */
void qdo_list_push(unsigned long *head, struct qdo_request *request);
struct qdo_request *qdo_list_take(unsigned long *head);
/* core.c: a request joins those that wait on a CPU, or is given back by its step. */
void qdo_wait(struct qdo_cpu *cpu, struct qdo_request *request);
void qdo_done(struct qdo_cpu *cpu, struct qdo_request *request, struct qdo_step *result);
/* core.c: all that wait, oldest first, to be judged: each waits again or is done. */
struct qdo_request *qdo_waiting_all(struct qdo_cpu *cpu);
/* core.c: the first CPU of a set that is at least @from, or @until. */
unsigned int qdo_set_next(const struct qdo_set *set, unsigned int from, unsigned int until);

/* Each algorithm: a request was taken; then, in every step, what can go on goes on. */
void qdo_snapshot_begin(struct qdo_core *core, unsigned int cpu, struct qdo_request *request);
void qdo_snapshot_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);
void qdo_token_begin(struct qdo_core *core, unsigned int cpu, struct qdo_request *request);
void qdo_token_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);
void qdo_multi_token_begin(struct qdo_core *core, unsigned int cpu, struct qdo_request *request,
			   struct qdo_step *result);
void qdo_multi_token_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);
void qdo_tree_begin(struct qdo_core *core, unsigned int cpu, struct qdo_request *request);
void qdo_tree_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);

static inline int qdo_number_reached(unsigned long number, unsigned long target)
{
	return (long)(number - target) >= 0;
}

#endif
