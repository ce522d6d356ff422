// SPDX-License-Identifier: MIT
/*
 * What QDo's core promises, without threads: order, sets, wrap-around, reset, random histories.
 *
 * qdo_sched_test.c explores concurrency. Here the program is interrupted only within enter and
 * submit, by anything else that the machine can do. Paper: Q 3.1-3.3, 4.6, 4.8.
 */
#include "simulation_test.h"

#include <errno.h>
#include <limits.h>

#define ALGORITHMS 4
#define SUBMISSIONS 3

static const char *const names[] = { "snapshot", "token", "multi-token", "tree" };

static void check_of(int condition, const char *who, const char *what)
{
	char name[120];

	snprintf(name, sizeof(name), "%s%s_%s", core.prompting ? "" : "timer_", who, what);
	behaves(condition, name);
}

static struct qdo_ticket enter_on(unsigned int cpu)
{
	here = cpu;
	return qdo_core_enter(&core);
}

static void leave_on(unsigned int cpu, struct qdo_ticket ticket)
{
	here = cpu;
	qdo_core_leave(&core, ticket);
}

/* Steps as the host does: prompted CPUs at once, waiting ones after a time; or all, in rounds. */
static struct qdo_request *machine_pass_time(void)
{
	struct qdo_request *done = NULL;
	unsigned int cpu;

	for (cpu = 0; cpu < core.cpu_count; cpu++)
		if (!core.prompting || waits[cpu])
			done = list_append(done, machine_step(cpu));
	return core.prompting ? list_append(done, machine_settle()) : done;
}

static unsigned int done_within(unsigned int rounds)
{
	unsigned int done = core.prompting ? list_free(machine_settle()) : 0;

	while (rounds--)
		done += list_free(machine_pass_time());
	return done;
}

static void start_checks(void)
{
	struct qdo_core bad = { .cpu_count = 2, .own_generation_only = 1, .prompting = 1 };
	struct qdo_cpu *room = aligned_alloc(64, qdo_core_bytes(2));
	int errors = 0;

	if (!room)
		abort();
	memset(room, 0, qdo_core_bytes(2));
	errors += qdo_core_start(&bad, room) == -EINVAL;
	bad.prompting = 0;
	bad.cpu_count = 0;
	errors += qdo_core_start(&bad, room) == -EINVAL;
	bad.cpu_count = QDO_CPUS_MAX + 1;
	errors += qdo_core_start(&bad, room) == -EINVAL;
	bad.cpu_count = 2;
	bad.algorithm = (enum qdo_algorithm)ALGORITHMS;
	errors += qdo_core_start(&bad, room) == -EINVAL;
	bad.algorithm = QDO_TREE;
	bad.submission = (enum qdo_submission)SUBMISSIONS;
	errors += qdo_core_start(&bad, room) == -EINVAL;
	bad.submission = QDO_SUBMIT_LOCK;
	behaves(errors == 5 && !qdo_core_start(&bad, room), "start_refuses_what_it_does_not_know");
	free(room);
}

/* An operation on CPU 1 of 8; requests for all, and for CPUs 2 and 3 only. */
static void operations_delay(enum qdo_algorithm algorithm, int timer)
{
	const int sets_count = algorithm == QDO_SNAPSHOT || algorithm == QDO_MULTI_TOKEN;
	struct qdo_request *some;
	struct qdo_ticket ticket, nested;
	unsigned int early, subset;

	machine_start(8, algorithm, QDO_SUBMIT_LOCK_FREE, timer);
	ticket = enter_on(1);
	nested = enter_on(1);
	request_submit(request_of_all(), 5);
	early = done_within(40);
	leave_on(6, nested);
	early += done_within(40);
	check_of(!early, names[algorithm], "waits_for_an_operation_that_had_begun");
	some = request_make();
	qdo_set_add(&some->quiescence, 2);
	qdo_set_add(&some->quiescence, 3);
	request_submit(some, 5);
	subset = done_within(40);
	check_of(subset == (unsigned int)sets_count, names[algorithm],
		 sets_count ? "ignores_cpus_outside_of_the_set" :
			      "waits_for_cpus_outside_of_the_set");
	leave_on(7, ticket);
	check_of(done_within(40) + subset == 2, names[algorithm],
		 "completes_when_the_operation_left_on_another_cpu");
	EXPECT(!core.pending, "%lu are pending", core.pending);
}

/*
 * One operation follows the other without a gap. Only two algorithms are not delayed by that: the
 * token and the tree's batches go over each CPU twice; and in timer mode a snapshot cannot judge
 * the CPU for which it waits, and needs the third generation.
 */
static void operations_follow(enum qdo_algorithm algorithm, int timer)
{
	struct qdo_ticket ticket, later;
	unsigned int early;

	if (algorithm != QDO_MULTI_TOKEN && (algorithm != QDO_SNAPSHOT || timer))
		return;
	machine_start(8, algorithm, QDO_SUBMIT_LOCK_FREE, timer);
	ticket = enter_on(1);
	request_submit(request_of_all(), 5);
	early = done_within(40);
	later = enter_on(1);
	leave_on(1, ticket);
	check_of(!early && done_within(40) == 1, names[algorithm],
		 "is_not_delayed_by_operations_that_begin_later");
	leave_on(1, later);
}

static void order(enum qdo_algorithm algorithm, enum qdo_submission submission)
{
	static const char *const how[] = { "lock_free", "restartable", "lock" };
	struct qdo_request *all[6], *done;
	char name[80];
	int i;

	machine_start(4, algorithm, submission, 0);
	for (i = 0; i < 6; i++) {
		all[i] = request_of_all();
		request_submit(all[i], 2);
	}
	done = machine_settle();
	for (i = 0; i < 6; i++) {
		EXPECT(done == all[i], "request %d is not the next", i);
		done = done ? done->next : NULL;
	}
	EXPECT(!done, "more is done than was submitted");
	for (i = 0; i < 6; i++)
		free(all[i]);
	snprintf(name, sizeof(name), "hands_out_in_the_order_of_submission_by_%s", how[submission]);
	check_of(1, names[algorithm], name);
}

/* All numbers start shortly before they overflow. */
static void wrap_around(enum qdo_algorithm algorithm, int timer)
{
	unsigned long back;
	unsigned int cpu, i, early = 0, done = 0;

	for (back = 1; back < 9; back++) {
		machine_start(3, algorithm, QDO_SUBMIT_RESTARTABLE, timer);
		for (cpu = 0; cpu < 3; cpu++) {
			struct qdo_cpu *part = &core.cpus[cpu];

			part->operations.generation = 0 - back;
			for (i = 0; i < 2; i++) {
				part->operations.entered[i] = part->operations.left[i] = ULONG_MAX;
				part->operations.entered_elsewhere[i] = ULONG_MAX;
				part->operations.left_elsewhere[i] = ULONG_MAX;
			}
		}
		core.tree.batch = 0 - back;
		core.cpus[0].token.number = 0 - back;
		for (i = 0; i < 6; i++) {
			struct qdo_ticket ticket = enter_on(i % 3);

			request_submit(request_of_all(), (i + 1) % 3);
			early += done_within(20);
			no_steps = (int)i % 3;
			leave_on(0, ticket);
			done += done_within(20);
			no_steps = 0;
		}
	}
	check_of(!early && done == 48, names[algorithm], "survives_overflow");
}

/* A fork while requests and operations are under way; the forking thread is in one operation. */
static void reset(enum qdo_algorithm algorithm, enum qdo_submission submission)
{
	struct qdo_request *before[3], *request;
	struct qdo_ticket ticket;
	unsigned int i, early;

	for (i = 0; i < 8; i++) {
		unsigned int step;

		machine_start(3, algorithm, submission, 0);
		/* Counted in each of the ways there are. */
		leave_on(0, enter_on(2));
		no_steps = 1;
		enter_on(1);
		no_steps = 0;
		enter_on(1);
		enter_on(2);
		enter_on(2);
		for (step = 0; step < 3; step++) {
			before[step] = request_of_all();
			request_submit(before[step], step);
		}
		for (step = 0; step < i; step++)
			EXPECT(!machine_step(step * 2 % 3), "done beside operations");
		qdo_core_reset(&core);
		for (step = 0; step < 3; step++)
			free(before[step]);
		here = 2;
		ticket = qdo_core_enter(&core);
		request = request_of_all();
		request_submit(request, 0);
		early = done_within(20);
		leave_on(1, ticket);
		EXPECT(!early && core.pending == 1, "early, or requests of the parent");
		EXPECT(done_within(20) == 1 && !core.pending, "the child's request is not done");
	}
	check_of(1, names[algorithm], "starts_anew_in_a_forked_child");
}

/* Submits the same memory again and again: the restartable list must never look as if taken. */
static void same_memory(enum qdo_algorithm algorithm)
{
	struct qdo_request *request, *done;
	int i;

	machine_start(2, algorithm, QDO_SUBMIT_RESTARTABLE, 0);
	request = request_of_all();
	for (i = 0; i < 5; i++) {
		request_submit(request, 1);
		done = machine_settle();
		EXPECT(done == request, "round %d: not done", i);
	}
	free(request);
	check_of(1, names[algorithm], "completes_a_request_in_the_same_memory_again");
}

static void empty_set(enum qdo_algorithm algorithm)
{
	machine_start(4, algorithm, QDO_SUBMIT_LOCK, 0);
	request_submit(request_make(), 3);
	check_of(list_free(machine_settle()) == 1, names[algorithm],
		 "completes_a_request_that_waits_for_no_cpu");
}

/* Random histories. */

#define OPERATIONS 24
#define REQUESTS 12
#define MOVES 3000

static struct {
	struct qdo_ticket ticket;
	unsigned int cpu; /* the CPU where it began */
	int inside;
} operation[OPERATIONS];
static struct {
	struct qdo_request *request;
	unsigned int before; /* operations that had begun on its CPUs when it was made */
} requested[REQUESTS];
static unsigned int submitted_count, completed_count;
static unsigned long number = 1;
static int depth;

static unsigned int any(unsigned int count)
{
	number = number * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned int)(number >> 33) % count;
}

static void complete(struct qdo_request *done)
{
	unsigned int i, j;

	for (; done; done = done->next) {
		for (i = 0; i < REQUESTS && requested[i].request != done; i++)
			;
		EXPECT(i < REQUESTS, "a request is done that is not pending");
		if (i == REQUESTS)
			return;
		for (j = 0; j < OPERATIONS; j++)
			EXPECT(!(requested[i].before >> j & 1), "operation %u is still inside", j);
		requested[i].request = NULL;
		completed_count++;
	}
}

static void submit_any(void)
{
	static struct qdo_request *memory_of[REQUESTS];
	unsigned int i = any(REQUESTS), cpu;
	struct qdo_request *request;

	if (requested[i].request)
		return;
	free(memory_of[i]);
	request = memory_of[i] = request_make();
	for (cpu = 0; cpu < core.cpu_count; cpu++)
		if (any(3))
			qdo_set_add(&request->quiescence, cpu);
	requested[i].request = request;
	requested[i].before = 0;
	for (cpu = 0; cpu < OPERATIONS; cpu++)
		if (operation[cpu].inside == 1 &&
		    qdo_set_has(&request->quiescence, operation[cpu].ticket.cpu))
			requested[i].before |= 1u << cpu;
	submitted_count++;
	here = any(core.cpu_count);
	prompted[qdo_core_submit(&core, request)] = 1;
}

static void enter_or_leave(unsigned int i)
{
	unsigned int j;

	here = any(core.cpu_count);
	if (!operation[i].inside) {
		operation[i].inside = 2; /* on its way in: no request waits for it */
		operation[i].ticket = qdo_core_enter(&core);
		operation[i].inside = 1;
	} else if (operation[i].inside == 1) {
		operation[i].inside = 2;
		for (j = 0; j < REQUESTS; j++)
			requested[j].before &= ~(1u << i);
		qdo_core_leave(&core, operation[i].ticket);
		operation[i].inside = 0;
	}
}

/* Does anything that another thread, or a handler, can do; then perhaps changes the CPU. */
static void move(void)
{
	const unsigned int was_here = here, steps = (unsigned int)no_steps;
	unsigned int what = any(10), cpu = any(core.cpu_count);

	if (depth == 3)
		return;
	depth++;
	no_steps = any(8) ? 0 : (int)any(3);
	if (what < 4)
		enter_or_leave(any(OPERATIONS));
	else if (what < 6)
		submit_any();
	else if (!core.prompting || waits[cpu] || prompted[cpu])
		complete(machine_step(cpu));
	no_steps = (int)steps;
	here = any(4) ? was_here : any(core.cpu_count);
	depth--;
}

static void interrupt(void)
{
	while (!any(3))
		move();
}

static void random_history(enum qdo_algorithm algorithm, enum qdo_submission submission, int timer,
			   unsigned int cpus)
{
	unsigned int i;

	machine_start(cpus, algorithm, submission, timer);
	interruption = interrupt;
	memset(operation, 0, sizeof(operation));
	memset(requested, 0, sizeof(requested));
	submitted_count = completed_count = 0;
	for (i = 0; i < MOVES; i++)
		move();
	interruption = NULL;
	for (i = 0; i < OPERATIONS; i++)
		if (operation[i].inside)
			enter_or_leave(i);
	if (core.prompting)
		complete(machine_settle());
	for (i = 0; i < 6 * cpus + 40 && core.pending; i++)
		complete(machine_pass_time());
	EXPECT(!core.pending && completed_count == submitted_count,
	       "%u of %u requests are done, %lu pending", completed_count, submitted_count,
	       core.pending);
	EXPECT(submitted_count > 20, "only %u requests", submitted_count);
}

static void random_histories(enum qdo_algorithm algorithm)
{
	unsigned int i;

	for (i = 0; i < 300; i++)
		random_history(algorithm, (enum qdo_submission)(i % SUBMISSIONS), (int)(i / 3 % 2),
			       1 + i % 7);
	check_of(1, names[algorithm], "is_never_early_and_never_late_in_random_histories");
}

int main(void)
{
	int algorithm, submission;

	start_checks();
	for (algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
		operations_delay((enum qdo_algorithm)algorithm, 0);
		operations_delay((enum qdo_algorithm)algorithm, 1);
		operations_follow((enum qdo_algorithm)algorithm, 0);
		operations_follow((enum qdo_algorithm)algorithm, 1);
		for (submission = 0; submission < SUBMISSIONS; submission++) {
			order((enum qdo_algorithm)algorithm, (enum qdo_submission)submission);
			reset((enum qdo_algorithm)algorithm, (enum qdo_submission)submission);
		}
		wrap_around((enum qdo_algorithm)algorithm, 0);
		wrap_around((enum qdo_algorithm)algorithm, 1);
		same_memory((enum qdo_algorithm)algorithm);
		empty_set((enum qdo_algorithm)algorithm);
		random_histories((enum qdo_algorithm)algorithm);
	}
	return machine_result();
}
