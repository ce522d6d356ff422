// SPDX-License-Identifier: MIT
/*
 * QDo's core through every interleaving of operations, requests and steps, within bounds.
 *
 * The explorer runs the shipped core. No request may be done beside an operation that had begun
 * before it, and none may be lost although only prompted CPUs are stepped; there is one token. A
 * step runs on the CPU that it steps unless a scenario says otherwise.
 * Paper: Q 2.2.2, 3.3.1, 3.3.2, 4.6, 4.8.
 */
#include "qdo_port.h"
#include "qdo_sched_test.h"

struct qdo_core *core;
struct qdo_request *requests[REQUESTS];
unsigned long *pointers;
unsigned long *objects;
unsigned long *prompted;
struct books *books;
const long *parameter;

static void names(void)
{
	static const char *const part[] = { "CPU 0", "CPU 1", "CPU 2" };
	static const char *const generation[] = { "0.generation", "1.generation", "2.generation" };
	static const char *const entered[] = { "0.entered", "1.entered", "2.entered" };
	static const char *const left[] = { "0.left", "1.left", "2.left" };
	static const char *const submitted[] = { "0.submitted", "1.submitted", "2.submitted" };
	unsigned int i;

	sched_name(&core->pending, 8, "pending");
	sched_name(&core->tree.batch, 8, "batch");
	sched_name(&core->tree.wakes, 16, "wakes, token_at");
	sched_name(pointers, REQUESTS * sizeof(*pointers), "pointers");
	sched_name(prompted, SCHED_CPUS_MAX * sizeof(*prompted), "prompted");
	sched_name(objects, REQUESTS * sizeof(*objects), "objects");
	for (i = 0; i < core->cpu_count; i++) {
		sched_name(&core->cpus[i].operations.generation, 8, generation[i]);
		sched_name(core->cpus[i].operations.entered, 16, entered[i]);
		sched_name(core->cpus[i].operations.left, 16, left[i]);
		sched_name(&core->cpus[i].submissions.listed, 24, submitted[i]);
		sched_name(&core->cpus[i], sizeof(core->cpus[i]), part[i]);
	}
}

static void core_make(void)
{
	const unsigned int count = (unsigned int)parameter[CPUS];
	unsigned int i;

	core = sched_alloc(sizeof(*core), 64);
	core->cpu_count = count;
	core->algorithm = (enum qdo_algorithm)parameter[ALGORITHM];
	core->submission = (enum qdo_submission)parameter[SUBMISSION];
	core->own_generation_only = (int)parameter[TIMER];
	core->prompting = !parameter[TIMER];
	sched_check(!qdo_core_start(core, sched_alloc(qdo_core_bytes(count), 64)), "start");
	core->cpus[count - 1].operations.generation = (unsigned long)parameter[GENERATION];
	core->cpus[0].token.number = 0;
	core->cpus[parameter[TOKEN_AT]].token.number = 1;
	core->token.at = (unsigned long)parameter[TOKEN_AT];
	for (i = 0; i < count; i++) {
		struct qdo_cpu *cpu = &core->cpus[i];

		sched_plain(&cpu->waiting,
			    offsetof(struct qdo_cpu, counts) - offsetof(struct qdo_cpu, waiting));
		sched_plain(&cpu->token.seen, sizeof(cpu->token) - sizeof(cpu->token.number));
		sched_plain(&cpu->tree.seen, sizeof(cpu->tree) - sizeof(cpu->tree.number));
		if (parameter[BATCH] >> i & 1)
			cpu->tree.number = cpu->tree.seen = 1;
	}
}

static void requests_make(void)
{
	unsigned int i, cpu;

	for (i = 0; i < REQUESTS; i++) {
		size_t bytes = qdo_core_request_bytes(core);

		requests[i] = sched_alloc(bytes, 8);
		sched_plain(requests[i], bytes);
		pointers[i] = 1;
		for (cpu = 0; cpu < core->cpu_count; cpu++)
			if (!parameter[SET] || parameter[SET] >> cpu & 1)
				qdo_set_add(&requests[i]->quiescence, cpu);
	}
}

/* Submits a request now, or makes a thread that will. Return: that thread, or 0. */
static int requester(const char *name, long number)
{
	long what = parameter[number ? REQUEST_B : REQUEST_A];

	if (what < 100 && what > 0)
		return sched_thread(name, (uint32_t)(what % 10 - 1), requester_thread, number);
	if (what) {
		sched_caller_cpu = (unsigned int)(what % 10 - 1);
		submit((unsigned int)number);
		sched_caller_cpu = 0;
	}
	return 0;
}

static void setup(const struct sched_scenario *scenario)
{
	int a = 0, host = 0;

	parameter = scenario->parameter;
	sched_stepless = (uint32_t)parameter[STEPLESS];
	books = sched_ghost(sizeof(*books));
	pointers = sched_alloc(REQUESTS * sizeof(*pointers), 64);
	objects = sched_alloc(REQUESTS * sizeof(*objects), 64);
	prompted = sched_alloc(SCHED_CPUS_MAX * sizeof(*prompted), 64);
	core_make();
	requests_make();
	names();
	books->generation[parameter[CPUS] - 1] = (unsigned long)parameter[GENERATION];
	if (parameter[OPERATION_A]) {
		a = sched_thread("operation A", (uint32_t)parameter[OPERATION_A] - 1,
				 operation_thread, 0);
		sched_may_migrate(a);
		sched_may_die(a);
	}
	if (parameter[OPERATION_B])
		sched_thread("operation B", (uint32_t)parameter[OPERATION_B] - 1, operation_thread,
			     1);
	host = requester("requester A", 0);
	sched_may_die(host);
	if (parameter[HANDLER] != 3)
		requester("requester B", 1);
	if (parameter[HANDLER])
		sched_handler("handler", parameter[HANDLER] == 1 ? a : host, 1,
			      parameter[HANDLER] == 3 ? requester_thread : operation_thread,
			      parameter[HANDLER] == 3 ? 1 : 2);
	if (parameter[STEPS] / 100)
		sched_thread("step 1 from 0", 0, stepper_thread, 2);
	if (parameter[STEPS] / 10 % 10)
		sched_may_die(sched_thread("step 0", 0, stepper_thread, 0));
	if (parameter[STEPS] % 10)
		sched_thread("step 1", 1, stepper_thread, 1);
}

#define ON(machine, label, ...)                                                          \
	{                                                                                \
		.name = label, .setup = setup, .invariant = invariant, .finish = finish, \
		.memory = machine, .preemptions = SCHED_UNBOUNDED, __VA_ARGS__           \
	}
#define SCENARIO(...) ON(SCHED_PSO, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, __VA_ARGS__)
#define WITH .parameter

static const struct sched_scenario scenarios[] = {
	/* operations and who judges them */
	SCENARIO("snapshot_beside_an_operation",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 1, [OPERATION_A] = 1, [REQUEST_A] = 1,
			  [STEPS] = 20 }),
	SCENARIO("snapshot_waits_for_the_other_cpu",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 21 }),
	SCENARIO("snapshot_beside_two_operations",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 1, [OPERATION_A] = 1, [OPERATION_B] = 1,
			  [REQUEST_A] = 21 }),
	SCENARIO("snapshot_beside_another_that_judges",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 3, [SET] = 4, [OPERATION_A] = 3, [REQUEST_A] = 11,
			  [REQUEST_B] = 102, [STEPS] = 1 }),
	SCENARIO("snapshots_of_two_requesters",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [REQUEST_A] = 11,
			  [REQUEST_B] = 12 }),
	SCENARIO("snapshot_by_a_timer",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [REQUEST_A] = 21,
			  [STEPS] = 2, [TIMER] = 1 }),
	SCENARIO("operation_leaves_on_another_cpu", .migrations = 1,
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [OPERATION_A] = 1, [REQUEST_A] = 22 }),
	SCENARIO("operations_migrate_beside_each_other", .migrations = 2,
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 1, [OPERATION_B] = 2,
			  [REQUEST_A] = 11 }),
	SCENARIO("steps_of_operations_fail_without_cause", .refusals = 2,
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [OPERATION_B] = 2,
			  [REQUEST_A] = 11 }),
	SCENARIO("operation_without_restartable_steps",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [OPERATION_B] = 2,
			  [REQUEST_A] = 21, [STEPLESS] = 1 }),
	SCENARIO("handler_at_every_step_of_an_operation",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [HANDLER] = 1,
			  [REQUEST_A] = 21 }),
	SCENARIO("handler_at_every_step_of_a_requester",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 1, [HANDLER] = 2, [OPERATION_A] = 1,
			  [REQUEST_A] = 21 }),

	/* submission */
	SCENARIO("lock_free_submission",
		 WITH = { QDO_SNAPSHOT,
			  QDO_SUBMIT_LOCK_FREE, [CPUS] = 1, [REQUEST_A] = 11, [REQUEST_B] = 1 }),
	SCENARIO("locked_submission",
		 WITH = { QDO_SNAPSHOT,
			  QDO_SUBMIT_LOCK, [CPUS] = 1, [REQUEST_A] = 11, [REQUEST_B] = 1 }),
	SCENARIO("restartable_submission", .refusals = 1,
		 WITH = { QDO_SNAPSHOT,
			  QDO_SUBMIT_RESTARTABLE, [CPUS] = 1, [REQUEST_A] = 11, [REQUEST_B] = 1 }),
	SCENARIO("handler_submits_at_every_step_of_a_lock_free_submission",
		 WITH = { QDO_SNAPSHOT, QDO_SUBMIT_LOCK_FREE, [CPUS] = 1, [HANDLER] = 3,
			  [REQUEST_A] = 11, [REQUEST_B] = 1 }),
	SCENARIO("handler_submits_at_every_step_of_a_restartable_submission",
		 WITH = { QDO_SNAPSHOT, QDO_SUBMIT_RESTARTABLE, [CPUS] = 2, [SET] = 1,
			  [HANDLER] = 3, [REQUEST_A] = 1, [REQUEST_B] = 1, [STEPS] = 10 }),
	SCENARIO("restartable_submission_taken_from_another_cpu",
		 WITH = { QDO_SNAPSHOT, QDO_SUBMIT_RESTARTABLE, [CPUS] = 2, [SET] = 1,
			  [REQUEST_A] = 2, [REQUEST_B] = 2, [STEPS] = 200 }),
	SCENARIO("submission_without_restartable_steps",
		 WITH = { QDO_SNAPSHOT, QDO_SUBMIT_RESTARTABLE, [CPUS] = 1, [REQUEST_A] = 11,
			  [REQUEST_B] = 1, [STEPLESS] = 2 }),
	SCENARIO("same_memory_is_submitted_again",
		 WITH = { QDO_SNAPSHOT, QDO_SUBMIT_RESTARTABLE, [CPUS] = 1, [REQUEST_A] = 11,
			  [REQUEST_B] = 1, [AGAIN] = 1 }),

	/* what CPUs tell each other */
	SCENARIO("token_beside_an_operation",
		 WITH = { QDO_TOKEN, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1, [STEPS] = 11,
			  [TOKEN_AT] = 1 }),
	SCENARIO("token_that_left_before_an_operation",
		 WITH = { QDO_TOKEN, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 11,
			  [REQUEST_B] = 102, [STEPS] = 1, [TOKEN_AT] = 1 }),
	SCENARIO("token_of_two_requesters",
		 WITH = { QDO_TOKEN, [CPUS] = 2, [REQUEST_A] = 21, [REQUEST_B] = 22 }),
	SCENARIO("multi_token_beside_an_operation",
		 WITH = { QDO_MULTI_TOKEN, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1,
			  [STEPS] = 21, [GENERATION] = 6 }),
	SCENARIO("multi_tokens_of_two_requesters",
		 WITH = { QDO_MULTI_TOKEN, [CPUS] = 2, [REQUEST_A] = 21, [REQUEST_B] = 22 }),
	SCENARIO("tree_beside_an_operation",
		 WITH = { QDO_TREE, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1, [STEPS] = 11 }),
	SCENARIO("tree_beside_an_operation_late_in_a_batch",
		 WITH = { QDO_TREE, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 21, [BATCH] = 2 }),
	SCENARIO("tree_of_two_requesters",
		 WITH = { QDO_TREE, [CPUS] = 2, [REQUEST_A] = 21, [REQUEST_B] = 22 }),

	/* fork: all threads but one are gone */
	SCENARIO(
		"fork_while_others_run", .crashes = 1,
		WITH = { QDO_SNAPSHOT,
			 QDO_SUBMIT_RESTARTABLE, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 11 }),
	SCENARIO("fork_while_a_lock_is_held", .crashes = 1,
		 WITH = { QDO_MULTI_TOKEN,
			  QDO_SUBMIT_LOCK, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 11 }),
	SCENARIO("fork_while_the_token_is_passed", .crashes = 1,
		 WITH = { QDO_TOKEN, [CPUS] = 2, [REQUEST_A] = 21, [STEPS] = 2 }),
	SCENARIO("fork_while_a_batch_ends", .crashes = 1,
		 WITH = { QDO_TREE, [CPUS] = 2, [REQUEST_A] = 21, [STEPS] = 2 }),

	/* loads of old values */
	STALE("snapshot_waits_for_the_other_cpu_by_old_values",
	      WITH = { QDO_SNAPSHOT, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 21 }),
	STALE("snapshot_beside_two_operations_by_old_values",
	      WITH = { QDO_SNAPSHOT, [CPUS] = 1, [OPERATION_A] = 1, [OPERATION_B] = 1,
		       [REQUEST_A] = 21 }),
	STALE("snapshot_beside_another_that_judges_by_old_values",
	      WITH = { QDO_SNAPSHOT, [CPUS] = 3, [SET] = 4, [OPERATION_A] = 3, [REQUEST_A] = 11,
		       [REQUEST_B] = 102, [STEPS] = 1 }),
	STALE("operation_leaves_on_another_cpu_by_old_values", .migrations = 1,
	      WITH = { QDO_SNAPSHOT, [CPUS] = 2, [OPERATION_A] = 1, [REQUEST_A] = 22 }),
	STALE("operation_without_restartable_steps_by_old_values",
	      WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [OPERATION_B] = 2,
		       [REQUEST_A] = 21, [STEPLESS] = 1 }),
	STALE("lock_free_submission_by_old_values",
	      WITH = { QDO_SNAPSHOT, QDO_SUBMIT_LOCK_FREE, [CPUS] = 2, [SET] = 1, [REQUEST_A] = 1,
		       [REQUEST_B] = 1, [STEPS] = 200 }),
	STALE("restartable_submission_taken_elsewhere_by_old_values",
	      WITH = { QDO_SNAPSHOT, QDO_SUBMIT_RESTARTABLE, [CPUS] = 2, [SET] = 1, [REQUEST_A] = 2,
		       [REQUEST_B] = 2, [STEPS] = 200 }),
	STALE("token_beside_an_operation_by_old_values",
	      WITH = { QDO_TOKEN, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1, [STEPS] = 11,
		       [TOKEN_AT] = 1 }),
	STALE("token_of_two_requesters_by_old_values",
	      WITH = { QDO_TOKEN, [CPUS] = 2, [REQUEST_A] = 21, [REQUEST_B] = 22 }),
	STALE("multi_token_beside_an_operation_by_old_values",
	      WITH = { QDO_MULTI_TOKEN, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1,
		       [STEPS] = 21, [GENERATION] = 6 }),
	STALE("tree_late_in_a_batch_by_old_values",
	      WITH = { QDO_TREE, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 21, [BATCH] = 2 }),
	STALE("tree_of_two_requesters_by_old_values",
	      WITH = { QDO_TREE, [CPUS] = 2, [REQUEST_A] = 21, [REQUEST_B] = 22 }),
};

/* The same with larger bounds, for the long form, which takes minutes and up to 2 GiB. */
static const struct sched_scenario scenarios_long[] = {
	SCENARIO("snapshot_beside_operations_on_two_cpus",
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [OPERATION_A] = 1, [OPERATION_B] = 2,
			  [REQUEST_A] = 21, [STEPS] = 1 }),
	SCENARIO("operation_migrates_beside_two_requesters", .migrations = 1,
		 WITH = { QDO_SNAPSHOT, [CPUS] = 2, [SET] = 2, [OPERATION_A] = 2, [REQUEST_A] = 11,
			  [REQUEST_B] = 12 }),
	SCENARIO("token_goes_round_beside_an_operation",
		 WITH = { QDO_TOKEN, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1, [STEPS] = 22,
			  [TOKEN_AT] = 1 }),
	SCENARIO("multi_token_on_three_cpus", .migrations = 1,
		 WITH = { QDO_MULTI_TOKEN, [CPUS] = 3, [OPERATION_A] = 3, [REQUEST_A] = 12,
			  [STEPS] = 10 }),
	SCENARIO("batches_follow_beside_an_operation",
		 WITH = { QDO_TREE, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1, [STEPS] = 22 }),
	SCENARIO("batches_follow_late_beside_an_operation",
		 WITH = { QDO_TREE, [CPUS] = 2, [OPERATION_A] = 2, [REQUEST_A] = 1, [STEPS] = 22,
			  [BATCH] = 2 }),
	SCENARIO("fork_beside_two_requesters", .crashes = 1,
		 WITH = { QDO_TREE, QDO_SUBMIT_LOCK, [CPUS] = 2, [OPERATION_A] = 2,
			  [REQUEST_A] = 21, [REQUEST_B] = 12 }),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_QDO(SCHED_FAULT) };

/* qdo_sched_test [scenarios | mutants | long [NAME]] */
int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.longer = SCHED_TABLE(scenarios_long),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
