// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The end of a session, at one ring: what threads reserve that had found its flag set.
 *
 * A recorder stores 0 to the flag, closes the ring, and looks for the last time how far writers
 * have come. Proved within these bounds: whoever reserves did so before that, on whichever CPU it
 * looked at the ring and at the flag; and where the recorder is on another CPU than the ring's, it
 * closes the ring only if no sub-buffer is open. models/session/stop.pml shows the same of two
 * rings.
 * Paper: T 4.6.1 (a session ends when its probes have left); docs/design/90-live.md.
 */
#include "ring_words.h"
#include "sched.h"

#define SUBBUF_BYTES 256u
#define SUBBUF_COUNT 2u
#define PHYSICAL_COUNT 4u
#define EVENTS_MAX 4

/* Indexes of a scenario's parameters. */
enum {
	MODE, /* enum lull_mode */
	PLAIN, /* 1: a ring that any CPU writes to */
	PAYLOAD, /* bytes of each event */
	PREFILL, /* events before anyone starts */
	EVENTS, /* of the writer */
	WRITER_CPU,
	SECOND, /* 1: a second writer, on CPU 0, has an event */
	RECORDER_CPU
};

/* Ghost memory. */
struct notes {
	uint64_t position[EVENTS_MAX]; /* 1 + where an event was reserved */
	uint64_t final; /* the write count that the recorder read last */
	uint64_t is_closed;
};

static struct lull_ring ring;
static uint64_t *flag;
static struct notes *notes;
static const long *parameter;

static uint64_t clock_now(void)
{
	return 1000 + sched_newest(&ring.shared->write_count);
}

static int event_write(uint64_t *position)
{
	const struct lull_ring_writer self = { .pid = 7, .tid = 1, .name = "w" };
	static const unsigned char payload[SUBBUF_BYTES];
	struct lull_ring_slot slot;
	int error = lull_ring_reserve(&ring, &self, LULL_EVENT_FIRST, (uint32_t)parameter[PAYLOAD],
				      &slot);

	if (error)
		return error;
	*position = slot.position;
	lull_copy(slot.payload, payload, (size_t)parameter[PAYLOAD]);
	lull_ring_commit(&slot);
	return 0;
}

/* The events from @first on; a second writer's are the last of all. */
static void writer_thread(long first)
{
	long until = first ? EVENTS_MAX : parameter[EVENTS];

	for (long i = first; i < until; i++) {
		uint64_t position;
		int error = event_write(&position);

		sched_check(!error || error == -ESHUTDOWN || error == -EAGAIN || error == -ENOBUFS,
			    "reserve says %d", error);
		if (!error)
			notes->position[i] = 1 + position;
	}
}

static void recorder_thread(long cpu)
{
	int result;

	lull_store(flag, 0);
	result = lull_ring_close(&ring);
	sched_check(!result || (cpu && result == -EAGAIN), "close says %d", result);
	notes->is_closed = !result;
	notes->final = lull_load_acquire(&ring.shared->write_count);
}

static void finish(void)
{
	for (int i = 0; i < EVENTS_MAX; i++)
		sched_check(!notes->is_closed || notes->position[i] <= notes->final,
			    "event %d lies at %llu of %llu", i,
			    (unsigned long long)notes->position[i] - 1,
			    (unsigned long long)notes->final);
}

static void setup(const struct sched_scenario *scenario)
{
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = SUBBUF_BYTES,
		.subbuf_count = SUBBUF_COUNT,
		.physical_count = PHYSICAL_COUNT,
		.mode = (uint32_t)scenario->parameter[MODE],
		.plain = (uint32_t)scenario->parameter[PLAIN],
	};
	struct lull_ring_memory memory = { NULL, NULL };
	void *control = sched_alloc(lull_ring_control_bytes(&geometry), 64);
	uint64_t position;

	parameter = scenario->parameter;
	flag = sched_alloc(sizeof(*flag), 64);
	notes = sched_ghost(sizeof(*notes));
	sched_name(flag, sizeof(*flag), "flag");
	memory.base = sched_alloc((size_t)PHYSICAL_COUNT * SUBBUF_BYTES, 64);
	lull_ring_attach(&ring, &geometry, control, memory);
	lull_ring_reset(&ring, 0);
	sched_name(&ring.shared->write_count, sizeof(uint64_t), "write_count");
	ring.active = flag;
	*flag = 1;
	for (long i = 0; i < parameter[PREFILL]; i++)
		sched_check(!event_write(&position), "the ring cannot be filled");
	sched_may_migrate(
		sched_thread("writer", (uint32_t)parameter[WRITER_CPU], writer_thread, 0));
	if (parameter[SECOND])
		sched_thread("second", 0, writer_thread, EVENTS_MAX - 1);
	sched_thread("recorder", (uint32_t)parameter[RECORDER_CPU], recorder_thread,
		     parameter[RECORDER_CPU] && !parameter[PLAIN]);
}

#define ON(machine, scenario_name, ...)                                                      \
	{                                                                                    \
		.name = scenario_name, .setup = setup, .finish = finish, .clock = clock_now, \
		.memory = machine, .preemptions = SCHED_UNBOUNDED, __VA_ARGS__               \
	}
#define DISCARD [MODE] = LULL_MODE_DISCARD
#define FLIGHT [MODE] = LULL_MODE_FLIGHT_RECORDER
#define SMALL 8 /* two first events of a run fit, or a run of more */
#define LARGE 92 /* one event fits */
#define WHOLE 100 /* a first event of a run fills a sub-buffer */

static const struct sched_scenario scenarios[] = {
	ON(SCHED_PSO, "ring_is_closed_between_events_of_a_run", .refusals = 1,
	   .parameter = { DISCARD, [PAYLOAD] = SMALL, [PREFILL] = 1, [EVENTS] = 2 }),
	ON(SCHED_PSO, "ring_is_closed_between_two_writers",
	   .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS] = 1, [SECOND] = 1 }),
	ON(SCHED_PSO, "ring_is_closed_that_was_never_used",
	   .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS] = 2 }),
	ON(SCHED_PSO, "ring_is_closed_at_the_end_of_a_subbuf",
	   .parameter = { FLIGHT, [PAYLOAD] = WHOLE, [PREFILL] = 1, [EVENTS] = 1 }),
	ON(SCHED_PSO, "ring_is_closed_while_its_writer_switches",
	   .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS] = 2 }),
	ON(SCHED_PSO, "full_ring_is_closed",
	   .parameter = { DISCARD, [PAYLOAD] = WHOLE, [PREFILL] = 2, [EVENTS] = 1 }),
	ON(SCHED_PSO, "ring_is_closed_from_another_cpu", .publish_releases = 1,
	   .parameter = { DISCARD, [PAYLOAD] = WHOLE, [EVENTS] = 2, [RECORDER_CPU] = 1 }),
	ON(SCHED_PSO, "plain_ring_is_closed_from_another_cpu",
	   .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = SMALL, [PREFILL] = 1, [EVENTS] = 2,
			  [WRITER_CPU] = 1 }),
	ON(SCHED_STALE, "writer_leaves_a_ring_that_is_closed_and_returns_by_old_values",
	   .migrations = 2, .publish_releases = 1,
	   .parameter = { DISCARD, [PAYLOAD] = SMALL, [PREFILL] = 1, [EVENTS] = 1 }),
	ON(SCHED_STALE, "writer_opens_a_ring_that_is_closed_by_old_values", .migrations = 2,
	   .publish_releases = 1, .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS] = 1 }),
	ON(SCHED_STALE, "ring_is_closed_from_another_cpu_by_old_values", .publish_releases = 1,
	   .parameter = { DISCARD, [PAYLOAD] = WHOLE, [EVENTS] = 1, [RECORDER_CPU] = 1 }),
	ON(SCHED_STALE, "plain_ring_is_closed_by_old_values",
	   .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = SMALL, [PREFILL] = 1, [EVENTS] = 1,
			  [WRITER_CPU] = 1 }),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_CLOSE(SCHED_FAULT) };

/* close_sched_test [scenarios | mutants [NAME]] */
int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
