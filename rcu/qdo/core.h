/* SPDX-License-Identifier: MIT */
/*
 * The core of QDo: operations, generations, requests, and what CPUs tell each other.
 *
 * The core is freestanding: port/RCU.md says what it asks of its surroundings. The host, which has
 * threads, timers and executors, gives it memory, calls qdo_core_step() for each CPU and runs the
 * callbacks of the requests that come back.
 * Papers: Q 2.2.2, 3.2, 3.3, 4.5, 4.8. Design: docs/design/41-qdo.md.
 *
 * generation.c counts operations; submit.c takes requests; core.c steps; each algorithm has a file.
 */
#ifndef LULL_QDO_CORE_H
#define LULL_QDO_CORE_H

#include <stddef.h>
#include "lull/qdo.h"
#include "lull/rcu/memory.h"
#include "qdo_port.h"
#include "rcu_port.h"

/*
 * How many times a CPU's generation must move after a request. Two moves show that both parities
 * had no operation (Q 2.2.2). But the first move after the request may rest on counts that another
 * CPU's step read before it, while an operation counted itself late; so one move more is needed,
 * unless the step that waits has judged the generation under way itself (generation.c).
 */
#define QDO_GENERATIONS 3ul

/* Where an operation is counted. Its thread keeps the ticket until it leaves, on any CPU. */
struct qdo_ticket {
	uint32_t cpu; /* the CPU where it entered */
	uint32_t parity; /* of the generation to which it belongs */
};

struct qdo_core;

/* What each algorithm keeps in a request, to see when it is quiescent. Only steps touch it. */
struct qdo_snapshot_request {
	unsigned long at; /* the CPU for which the request waits now */
};

struct qdo_token_request {
	unsigned long since; /* the token's number when it came after the request; 0: not yet */
};

struct qdo_multi_token_request {
	unsigned long since; /* the generation of the request's present CPU when it came there */
};

struct qdo_tree_request {
	unsigned long since; /* the batch in which the request was taken */
};

/*
 * A request. The host allocates qdo_core_request_bytes() for it, zeroed, and writes callback,
 * argument and sets before qdo_core_submit(); the core writes the rest.
 */
struct qdo_request {
	struct qdo_request *next; /* in the core's lists; then in the list of done requests */
	void (*callback)(void *argument);
	void *argument;
	struct qdo_set quiescence;
	struct qdo_set execution;
	uint32_t origin; /* the CPU into whose list it was submitted */
	uint32_t is_first; /* not 0: no request was pending before this one */
	union {
		struct qdo_snapshot_request snapshot;
		struct qdo_token_request token;
		struct qdo_multi_token_request multi_token;
		struct qdo_tree_request tree;
	};
	unsigned long generations[]; /* snapshot: each CPU's, when the request was taken */
};

/* What a CPU's steps have done, counted for table 3.1 of Q and for statistics. */
struct qdo_counts {
	unsigned long steps;
	unsigned long communications; /* words read from or written to another CPU's part */
	unsigned long completed;
};

/* generation.c: the operations of a CPU. Counts only grow; a forked child sets them to 0. */
struct qdo_operations {
	unsigned long generation; /* steps move it, by compare-and-swap */
	/* By parity. Operations write these by restartable steps on this CPU; steps read them. */
	unsigned long entered[2];
	unsigned long left[2];
	/* The same, atomically: by threads without restartable steps, or that left elsewhere. */
	unsigned long entered_elsewhere[2] __attribute__((aligned(64)));
	unsigned long left_elsewhere[2];
};

/* submit.c: lists of requests not yet taken, newest first. A word is the newest one's address. */
struct qdo_submissions {
	unsigned long listed; /* requests join it by compare-and-swap, or under the lock */
	unsigned long stepped; /* requests join it by restartable steps; it is never emptied */
	unsigned long stepped_taken; /* the head of `stepped` that this CPU's step took last */
	struct lull_lock lock;
};

/* token.c: a CPU's part of the single token ring. */
struct qdo_token_cpu {
	unsigned long number; /* of the token that lies here, or 0; the CPU before puts it */
	unsigned long seen; /* the number of the token to which `since` belongs */
	unsigned long since; /* this CPU's generation when that token came */
};

/* multi_token.c: requests on their way to this CPU, newest first. */
struct qdo_multi_token_cpu {
	unsigned long arrived;
};

/* tree.c: a CPU as a node. */
struct qdo_tree_cpu {
	unsigned long number; /* the batch in which this CPU's whole subtree was quiescent last */
	unsigned long seen; /* the batch to which `since` belongs; only this CPU's step touches */
	unsigned long since; /* it, its generation when that batch began, */
	unsigned long wake; /* and the number of the last wake that it has passed to its children */
};

struct qdo_cpu {
	struct qdo_operations operations;
	struct qdo_submissions submissions __attribute__((aligned(64)));
	/* At most one of these three is used: that of the instance's algorithm. */
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
	unsigned long at; /* the CPU to which the token was passed last */
};

/* tree.c: the root. */
struct qdo_tree_core {
	unsigned long batch; /* the number of the batch that runs */
	unsigned long wakes; /* how often a request came while no other was pending */
};

struct qdo_core {
	unsigned int cpu_count;
	enum qdo_algorithm algorithm;
	enum qdo_submission submission;
	int own_generation_only; /* not 0, as in Q: only a CPU's own step moves its generation */
	int prompting; /* not 0: qdo_port_prompt() says which CPU to step; 0: the host steps all */
	struct qdo_cpu *cpus;
	unsigned long pending __attribute__((aligned(64))); /* requests submitted and not done */
	struct qdo_tree_core tree;
	struct qdo_token_core token;
};

/* What a step gives back. */
struct qdo_step {
	struct qdo_request *done; /* requests that are quiescent, oldest first, to be executed */
	struct qdo_request **done_end; /* their end, for the core only */
	unsigned long pending; /* requests of all CPUs not yet done; 0: the host may stop to step */
	int waits; /* 1: operations hold this CPU up; the host steps it again after a while */
};

/* Bytes of memory for @cpu_count CPUs. The host zeroes the memory and aligns it to 64 bytes. */
size_t qdo_core_bytes(unsigned int cpu_count);
/* Bytes of memory for a request of this instance. */
size_t qdo_core_request_bytes(const struct qdo_core *core);

/*
 * qdo_core_start() - Make an instance ready. The caller has set the first five members of @core.
 * Return: 0; -EINVAL: no CPU, too many CPUs, an unknown algorithm or submission, or prompting
 * together with own_generation_only, where nothing would prompt a step that waits until another
 * CPU's generation moves.
 */
int qdo_core_start(struct qdo_core *core, void *memory);

/*
 * qdo_core_reset() - Forget all requests and operations, at the start and in a forked child.
 * Generations stay. In a child the host then calls qdo_core_enter() again for each operation of the
 * thread that forked. The host frees the requests.
 * Context: no other thread runs.
 */
void qdo_core_reset(struct qdo_core *core);

/*
 * Operations. Context: any, signal handlers too. Progress: wait-free (a bounded number of
 * restarts, then an atomic addition). Ordering: accesses after the entry see what was done before
 * any request whose step does not see the operation; accesses before the leaving are before the
 * callbacks of requests that wait for the operation. Paper: Q 2.2.2.
 */
struct qdo_ticket qdo_core_enter(struct qdo_core *core);
void qdo_core_leave(struct qdo_core *core, struct qdo_ticket ticket);

/*
 * qdo_core_submit() - Hand in a request, on the CPU where the caller runs.
 * Context: any; with QDO_SUBMIT_LOCK no signal handlers. Progress: lock-free; with QDO_SUBMIT_LOCK
 * blocking. Return: the CPU whose step will take the request; the host steps that CPU.
 */
unsigned int qdo_core_submit(struct qdo_core *core, struct qdo_request *request);

/*
 * qdo_core_step() - One step of a CPU: it takes requests, moves generations, tells other CPUs, and
 * finds the requests that are quiescent. Context: thread; one step at a time for each CPU, made on
 * any CPU, with own_generation_only on that CPU. Progress: does not wait. Paper: Q 4.7.
 */
void qdo_core_step(struct qdo_core *core, unsigned int cpu, struct qdo_step *result);

/*
 * The host gives this call, which steps make: the step of @cpu has something to do now. The host
 * begins a step of @cpu after the call; that step sees what the caller has stored before.
 */
void qdo_port_prompt(struct qdo_core *core, unsigned int cpu);

/* The rest is for the core's files among each other. */

/* Each file's part of qdo_core_reset(). */
void qdo_operations_reset(struct qdo_operations *operations);
void qdo_submissions_reset(struct qdo_submissions *submissions);
void qdo_token_reset(struct qdo_core *core);
void qdo_multi_token_reset(struct qdo_core *core);
void qdo_tree_reset(struct qdo_core *core);

/*
 * generation.c: moves a CPU's generation as far as its operations allow, @most times at most.
 * Return: the generation then.
 */
unsigned long qdo_generation_advance(struct qdo_core *core, unsigned int cpu, unsigned long most);
/*
 * generation.c: whether @cpu was quiescent since it had generation *@since, which was read after
 * the request was taken. The call first moves that generation if it may; @stepping is the CPU whose
 * step makes the call. *@since is lowered by 1 when one move less is enough.
 */
int qdo_generation_passed(struct qdo_core *core, unsigned int stepping, unsigned int cpu,
			  unsigned long *since);
/* submit.c: takes all requests submitted to a CPU. Return: the requests, oldest first. */
struct qdo_request *qdo_submitted_take(struct qdo_core *core, unsigned int cpu);
/* submit.c: lock-free lists: a push puts a request in front, a take returns all, oldest first. */
void qdo_list_push(unsigned long *head, struct qdo_request *request);
struct qdo_request *qdo_list_take(unsigned long *head);
/* core.c: puts a request behind those that wait on a CPU; gives it back in the CPU's step. */
void qdo_wait(struct qdo_cpu *cpu, struct qdo_request *request);
void qdo_done(struct qdo_cpu *cpu, struct qdo_request *request, struct qdo_step *result);
/* core.c: takes all requests that wait on a CPU, oldest first; each then waits again or is done. */
struct qdo_request *qdo_waiting_all(struct qdo_cpu *cpu);
/* core.c: the first CPU of a set from @from on; @until when none is left below that. */
unsigned int qdo_set_next(const struct qdo_set *set, unsigned int from, unsigned int until);

/* Each algorithm has a call for a request that was just taken, and a call for every step. */
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
