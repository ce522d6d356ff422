// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The search: depth first through every choice in every state, each state once.
 *
 * A choice is one of: a thread makes its pending access; a handler starts; a thread dies (only
 * before a write) or migrates (only before a write, or before a load that may return an old value:
 * before other accesses no thread sees a difference); a buffered store lands. A store needs to land
 * only when a pending access can see it: to land later makes no difference. No state repeats on one
 * schedule unless a scenario allows waiting: so all threads finish whatever the scheduler does,
 * which is wait-freedom within the bounds.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "world.h"

#define DEPTH_MAX 4096u
#define CHOICES_MAX 64u
#define STATES_DEFAULT 40000000u
#define SNAPSHOT_BYTES (1ul << 30)

FILE *tracing;

enum choice_kind {
	CHOICE_STEP,
	CHOICE_START,
	CHOICE_DIE,
	CHOICE_MIGRATE,
	CHOICE_LAND,
	CHOICE_WAKE /* a futex sleeper, without cause */
};

struct choice {
	uint8_t kind;
	uint8_t who; /* thread, or CPU whose store lands */
	uint8_t variant; /* of a step; target CPU; index of a store */
};

/* A state on the path being searched. */
struct frame {
	struct hash key;
	double paths;
	size_t snapshot; /* offset into snapshots */
	uint32_t choice_count;
	uint32_t next;
	uint32_t stale; /* the choice taken last loads an old value */
	struct choice choice[CHOICES_MAX];
};

static struct frame frames[DEPTH_MAX];
static uint8_t *snapshots;
static size_t snapshot_used;

/* Whether no handler runs above this thread on its CPU; the thread may wait for another thread. */
static int ready(uint32_t thread)
{
	return world.thread[thread].state == THREAD_READY && !thread_interrupted(thread);
}

static int runnable(uint32_t thread)
{
	return ready(thread) && !op_blocked(thread);
}

static void add_choice(struct frame *frame, uint32_t kind, uint32_t who, uint32_t variant)
{
	if (frame->choice_count == CHOICES_MAX)
		failure_set("more choices in one state than CHOICES_MAX");
	else
		frame->choice[frame->choice_count++] =
			(struct choice){ (uint8_t)kind, (uint8_t)who, (uint8_t)variant };
}

static int preempts(uint32_t thread, uint32_t last)
{
	return last != NO_THREAD && last != thread && runnable(last);
}

/* Count a step against the scenario's bounds. Return: 0 when they do not allow it. */
static int bounds_allow(uint32_t thread, int count)
{
	uint8_t *last_on = &world.last_on[world.thread[thread].cpu];

	if (fixture.scenario->preemptions != SCHED_UNBOUNDED) {
		int preemption = preempts(thread, world.last);

		if (preemption && !world.preemptions_left)
			return 0;
		if (count) {
			world.preemptions_left -= (uint8_t)preemption;
			world.last = (uint8_t)thread;
		}
	}
	if (fixture.scenario->slices) {
		int slice = preempts(thread, *last_on);

		if (slice && !world.slices_left)
			return 0;
		if (count) {
			world.slices_left -= (uint8_t)slice;
			*last_on = (uint8_t)thread;
		}
	}
	return 1;
}

static void thread_choices(struct frame *frame, uint32_t thread)
{
	const struct thread *self = &world.thread[thread];
	uint32_t i, variants;

	if (self->state == THREAD_IDLE && self->runs_left && ready(self->host))
		add_choice(frame, CHOICE_START, thread, 0);
	if (self->asleep && world.wakeups_left && ready(thread))
		add_choice(frame, CHOICE_WAKE, thread, 0);
	if (!runnable(thread) || !bounds_allow(thread, 0))
		return;
	variants = op_variants(thread, &self->op);
	for (i = 0; i < variants; i++)
		add_choice(frame, CHOICE_STEP, thread, i);
	if (op_writes(&self->op) && self->may_die && world.crashes_left)
		add_choice(frame, CHOICE_DIE, thread, 0);
	if (!op_writes(&self->op) &&
	    !(fixture.scenario->memory == SCHED_STALE && op_loads(&self->op)))
		return;
	for (i = 0; self->may_migrate && world.migrations_left && i < fixture.cpu_count; i++)
		if (i != self->cpu)
			add_choice(frame, CHOICE_MIGRATE, thread, i);
}

/* Does it matter to anyone, now, when this store lands? */
static int store_seen(uint32_t cpu, const struct store *store)
{
	uint32_t i, j, busy = 0, rival = 0;

	for (i = 0; i < fixture.cpu_count; i++)
		for (j = 0; i != cpu && j < world.cpu[i].count; j++)
			rival |= overlap(store->offset, store->bytes, world.cpu[i].store[j].offset,
					 world.cpu[i].store[j].bytes);
	for (i = 0; i < fixture.thread_count; i++) {
		const struct thread *thread = &world.thread[i];

		if (!ready(i) || thread->asleep)
			continue;
		busy |= runnable(i);
		if (thread->cpu != cpu && op_reads_range(&thread->op, store->offset, store->bytes))
			return 1;
		if (rival && (op_reads_range(&thread->op, store->offset, store->bytes) ||
			      op_lands(&thread->op)))
			return 1;
	}
	return rival && !busy;
}

static void land_choices(struct frame *frame, uint32_t cpu)
{
	const struct cpu *buffer = &world.cpu[cpu];
	uint32_t i, begin = 0;

	for (i = 0; i < buffer->count; i++) {
		if (buffer->store[i].first)
			begin = i;
		if (!store_seen(cpu, &buffer->store[i]))
			continue;
		add_choice(frame, CHOICE_LAND, cpu, begin);
		while (i + 1 < buffer->count && !buffer->store[i + 1].first)
			i++;
	}
}

static void choices_list(struct frame *frame)
{
	uint32_t i;

	frame->choice_count = 0;
	frame->next = 0;
	for (i = 0; i < fixture.thread_count; i++)
		thread_choices(frame, i);
	for (i = 0; i < fixture.cpu_count; i++)
		land_choices(frame, i);
}

static uint32_t is_stale(struct choice choice)
{
	return choice.kind == CHOICE_STEP && choice.variant &&
	       op_loads(&world.thread[choice.who].op);
}

/* A kill takes the thread, what it interrupted and what interrupts it. */
static void die(uint32_t thread)
{
	uint32_t i, j;

	while (world.thread[thread].host != NO_THREAD)
		thread = world.thread[thread].host;
	world.crashes_left--;
	for (i = 0; i < fixture.thread_count; i++) {
		uint32_t root = i;

		while (world.thread[root].host != NO_THREAD)
			root = world.thread[root].host;
		if (root != thread)
			continue;
		world.thread[i].state = THREAD_DEAD;
		world.thread[i].asleep = 0;
		world.thread[i].stack_hash = (struct hash){ 0, 0 };
		for (j = world.owned_count; j-- > 0;)
			if (world.owned[j].thread == i)
				world.owned[j] = world.owned[--world.owned_count];
	}
}

static void step(uint32_t thread, uint32_t variant)
{
	struct thread *self = &world.thread[thread];
	const struct op op = self->op;

	bounds_allow(thread, 1);
	self->result = op_perform(thread, &op, variant);
	if (tracing)
		trace_step(thread, &op, variant, self->result);
	if (!failed && !self->asleep)
		thread_resume(thread);
	version_forget_unread(self->cpu);
}

static void apply(struct choice choice)
{
	switch (choice.kind) {
	case CHOICE_STEP:
		step(choice.who, choice.variant);
		break;
	case CHOICE_START:
		if (tracing)
			trace_event(choice.who, "starts", world.thread[choice.who].run);
		bounds_allow(choice.who, 1);
		version_forget_all(world.thread[world.thread[choice.who].host].cpu);
		thread_start(choice.who);
		version_forget_unread(world.thread[choice.who].cpu);
		break;
	case CHOICE_DIE:
		if (tracing)
			trace_event(choice.who, "dies on CPU", world.thread[choice.who].cpu);
		die(choice.who);
		break;
	case CHOICE_MIGRATE:
		if (tracing)
			trace_event(choice.who, "migrates to CPU", choice.variant);
		buffer_land_all(world.thread[choice.who].cpu);
		world.thread[choice.who].cpu = choice.variant;
		version_forget_all(choice.variant);
		world.migrations_left--;
		break;
	case CHOICE_LAND:
		buffer_land(choice.who, choice.variant);
		break;
	case CHOICE_WAKE:
		if (tracing)
			trace_event(choice.who, "wakes without cause on CPU",
				    world.thread[choice.who].cpu);
		world.wakeups_left--;
		world.thread[choice.who].asleep = 0;
		world.thread[choice.who].woken = 1;
		break;
	}
}

static void check_state(void)
{
	if (!failed && fixture.scenario->invariant)
		fixture.scenario->invariant();
}

/* The end of a schedule: all stores land, then the scenario checks the final state. */
static void check_end(void)
{
	uint32_t i;

	for (i = 0; i < fixture.cpu_count; i++)
		buffer_land_all(i);
	for (i = 0; i < fixture.thread_count; i++)
		if (world.thread[i].state == THREAD_READY)
			sched_fail(__FILE__, __LINE__, "ended", "deadlock: %s waits for ever",
				   fixture.thread[i].name);
	if (fixture.scenario->finish)
		fixture.scenario->finish();
}

/* Enter the present state as frame @depth. Return: 1 to search on from it, 0 at an end. */
static int enter(uint32_t depth, struct hash key, struct sched_result *result)
{
	struct frame *frame = &frames[depth];

	frame->key = key;
	frame->paths = 0;
	frame->snapshot = snapshot_used;
	choices_list(frame);
	if (depth > result->depth)
		result->depth = depth;
	if (frame->choice_count) {
		if (frame->choice_count > 1) /* nobody comes back to a state with one way on */
			snapshot_used += (state_move(snapshots + snapshot_used, 1) + 15) & ~15ul;
		if (snapshot_used > SNAPSHOT_BYTES - sizeof(world) * 4)
			failure_set("snapshots of one schedule need more than SNAPSHOT_BYTES");
		return 1;
	}
	check_end();
	result->ends++;
	return 0;
}

static void leave(struct frame *frame, double paths)
{
	int fresh;

	snapshot_used = frame->snapshot;
	*visited_find(frame->key, &fresh) = paths;
}

static int takes(const struct frame *frame, const struct choice *choice, int taken)
{
	uint32_t i, begin = taken ? frame->next - 1 : 0;
	uint32_t until = taken ? frame->next : frame->choice_count;

	for (i = begin; i < until; i++)
		if (frame->choice[i].kind == choice->kind && frame->choice[i].who == choice->who)
			return 1;
	return 0;
}

/* Whether an old value is loaded on the way: no cycle, for stores reach all CPUs in the end. */
static int cycle_is_stale(uint32_t begin, uint32_t depth)
{
	uint32_t i;

	for (i = begin; i <= depth; i++)
		if (frames[i].stale)
			return 1;
	return 0;
}

/* Whether, on the way from a state back to it, each thread and store that could move did move. */
static int cycle_is_fair(uint32_t begin, uint32_t depth)
{
	uint32_t i, j, kind;

	for (j = 0; j < SCHED_THREADS_MAX; j++)
		for (kind = CHOICE_STEP; kind <= CHOICE_LAND; kind += CHOICE_LAND - CHOICE_STEP) {
			const struct choice choice = { (uint8_t)kind, (uint8_t)j, 0 };
			int able = 0, moved = 0;

			for (i = begin; i <= depth; i++) {
				able |= takes(&frames[i], &choice, 0);
				moved |= takes(&frames[i], &choice, 1);
			}
			if (able && !moved)
				return 0;
		}
	return 1;
}

static int livelock(uint32_t depth, struct hash key)
{
	uint32_t begin = depth;

	while (begin && (frames[begin].key.a != key.a || frames[begin].key.b != key.b))
		begin--;
	if (cycle_is_stale(begin, depth))
		return 0;
	switch (fixture.scenario->cycles_allowed) {
	case 0:
		return 1;
	case 1:
		return 0;
	}
	return cycle_is_fair(begin, depth);
}

/* One choice of the deepest frame. Return: the depth to go on at, -1 when all is searched. */
static int advance(uint32_t depth, struct sched_result *result)
{
	struct frame *frame = &frames[depth];
	struct hash key;
	double *paths;
	int fresh;

	if (frame->next == frame->choice_count) {
		leave(frame, frame->paths);
		if (depth)
			frames[depth - 1].paths += frame->paths;
		return (int)depth - 1;
	}
	if (frame->next)
		state_move(snapshots + frame->snapshot, 0);
	frame->stale = is_stale(frame->choice[frame->next]);
	apply(frame->choice[frame->next++]);
	result->transitions++;
	check_state();
	if (failed)
		return (int)depth;
	key = state_key();
	paths = visited_find(key, &fresh);
	if (!fresh) {
		if (*paths < 0 && livelock(depth, key))
			failure_set("livelock: this schedule can go on for ever");
		frame->paths += *paths < 0 ? 0 : *paths;
		return (int)depth;
	}
	*paths = -1;
	if (depth + 1 == DEPTH_MAX) {
		failure_set("a schedule is longer than DEPTH_MAX steps");
		return (int)depth;
	}
	if (!enter(depth + 1, key, result)) {
		leave(&frames[depth + 1], 1);
		frame->paths += 1;
		return (int)depth;
	}
	return (int)depth + 1;
}

/* The first state: setup, then every thread up to its first access. */
static void begin(const struct sched_scenario *scenario)
{
	uint32_t i;

	memset(&world, 0, sizeof(world));
	memset(&fixture, 0, sizeof(fixture));
	trace_reset();
	fixture.scenario = scenario;
	fixture.cpu_count = 1;
	world.crashes_left = scenario->crashes;
	world.migrations_left = scenario->migrations;
	world.preemptions_left = scenario->preemptions;
	world.slices_left = (uint8_t)(scenario->slices - 1);
	world.wakeups_left = scenario->wakeups;
	world.last = NO_THREAD;
	memset(world.last_on, NO_THREAD, sizeof(world.last_on));
	failed = 0;
	snapshot_used = 0;
	scenario->setup(scenario);
	for (i = 0; i < fixture.thread_count && !failed; i++)
		if (world.thread[i].state == THREAD_READY)
			thread_start(i);
	arena_hash_all();
}

static uint32_t search(const struct sched_scenario *scenario, struct sched_result *result)
{
	uint64_t limit = scenario->states_max ? scenario->states_max : STATES_DEFAULT;
	volatile int depth = 0;
	int fresh;

	visited_reset();
	if (setjmp(explorer_return)) /* a check failed in setup, invariant or finish */
		return (uint32_t)depth;
	begin(scenario);
	check_state();
	if (failed)
		return 0;
	frames[0].key = state_key();
	*visited_find(frames[0].key, &fresh) = -1;
	if (!enter(0, frames[0].key, result))
		return 0;
	while (depth >= 0 && !failed && visited_count() < limit)
		depth = advance((uint32_t)depth, result);
	return depth < 0 ? 0 : (uint32_t)depth;
}

/* Run the failing schedule once more, printing each step. */
static void replay(const struct sched_scenario *scenario, uint32_t depth, FILE *report)
{
	static char message[sizeof(failure)];
	volatile uint32_t i = 0;

	memcpy(message, failure, sizeof(message));
	tracing = report;
	if (!setjmp(explorer_return)) {
		begin(scenario);
		for (i = 0; i <= depth && frames[i].next && !failed; i++)
			apply(frames[i].choice[frames[i].next - 1]);
		if (!failed)
			check_end();
	}
	tracing = NULL;
	failed = 1;
	memcpy(failure, message, sizeof(failure));
	fprintf(report, "\t=> %s\n", failure);
}

void sched_explore(const struct sched_scenario *scenario, struct sched_result *result, FILE *report)
{
	struct timespec before, after;
	uint32_t depth;

	if (!snapshots)
		snapshots = malloc(SNAPSHOT_BYTES); /* touched only as far as schedules go */
	if (!snapshots)
		exit(2);
	memset(result, 0, sizeof(*result));
	clock_gettime(CLOCK_MONOTONIC, &before);
	depth = search(scenario, result);
	clock_gettime(CLOCK_MONOTONIC, &after);
	result->seconds = (double)(after.tv_sec - before.tv_sec) +
			  (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	result->states = visited_count();
	result->schedules = frames[0].paths;
	result->outcome = failed ? SCHED_FAILED : SCHED_PASSED;
	if (!failed &&
	    result->states >= (scenario->states_max ? scenario->states_max : STATES_DEFAULT))
		result->outcome = SCHED_TOO_LARGE;
	memcpy(result->message, failed ? failure : "", failed ? sizeof(failure) : 1);
	if (failed)
		result->depth = depth + 1;
	if (failed && report)
		replay(scenario, depth, report);
}
