// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A ring beside a process that writes what it likes into the shared words.
 *
 * The hostile thread stores values of a list into words of a list, at every moment of a writer
 * and of a reader. Whatever it does, no access may leave the ring (the explorer fails on one that
 * leaves the arena, whose end the ring's data is), every slot that a writer is given lies in one
 * sub-buffer, every loop ends by its own bound, and every sub-buffer that a reader is given is one
 * of the ring's. Built with a small LULL_ROUNDS_MAX, so that the bounds themselves are reached.
 * What the trace then says is worthless and not looked at.
 */
#include <string.h>
#include "ring_words.h"
#include "sched.h"

#define SUBBUF_BYTES 256u
#define SUBBUF_COUNT 2u
#define PHYSICAL_COUNT 4u
#define WORDS 13u
#define VALUES 6u

/* Indexes of a scenario's parameters. */
enum {
	MODE, /* enum lull_mode */
	PLAIN, /* 1: a ring that any CPU writes to */
	PAYLOAD, /* bytes of each event */
	EVENTS, /* of the writer */
	READS, /* rounds of the reader */
	SCRIBBLES, /* stores of the hostile thread */
	FIRST, /* the first word that it may write, */
	UNTIL /* and the one after the last: indexes of word_at() */
};

static struct lull_ring ring;
static const long *parameter;

static uint64_t clock_now(void)
{
	return 1000;
}

/* The words that other processes can write, but for the events' own bytes. */
static uint64_t *word_at(uint32_t which)
{
	uint64_t *const words[WORDS] = {
		&ring.shared->write_count, &ring.shared->run,	   &ring.shared->last_cycles,
		&ring.shared->read_count,  &ring.shared->physical, &ring.reference[0],
		&ring.reference[1],	   &ring.commit[0].count,  &ring.commit[0].seq,
		&ring.commit[1].count,	   &ring.commit[1].seq,	   &ring.commit[2].count,
		&ring.commit[2].seq,
	};

	return words[which];
}

/* Values that lead astray: no number at all, every bit, odd, a lap further, a foreign index. */
static uint64_t value_of(uint32_t which, uint64_t old)
{
	const uint64_t values[VALUES] = {
		0,
		~0ull,
		old + 3,
		old + SUBBUF_BYTES * SUBBUF_COUNT,
		old | 0xffff,
		(old & ~0xffffull) | LULL_REFERENCE_WRITING | PHYSICAL_COUNT,
	};

	return values[which];
}

static void hostile_thread(long scribbles)
{
	for (long i = 0; i < scribbles; i++) {
		uint32_t words = (uint32_t)(parameter[UNTIL] - parameter[FIRST]);
		uint64_t *word = word_at((uint32_t)parameter[FIRST] + sched_choose(words));

		lull_store(word, value_of(sched_choose(VALUES), lull_load(word)));
	}
}

static void slot_check(const struct lull_ring_slot *slot)
{
	uint64_t begin = (uint64_t)(slot->start - ring.memory.base);

	sched_check(slot->start >= ring.memory.base &&
			    begin < (uint64_t)PHYSICAL_COUNT * SUBBUF_BYTES,
		    "a slot at byte %lld of the ring", (long long)begin);
	sched_check(begin % LULL_SLOT_ALIGN == 0 &&
			    begin % SUBBUF_BYTES + slot->slot_bytes <= SUBBUF_BYTES,
		    "a slot of %u bytes at byte %u of its sub-buffer", slot->slot_bytes,
		    (uint32_t)(begin % SUBBUF_BYTES));
	sched_check(slot->payload >= slot->start &&
			    slot->payload + parameter[PAYLOAD] <= slot->start + slot->slot_bytes,
		    "the payload lies outside of the slot");
}

static void writer_thread(long events)
{
	static const struct lull_ring_writer self = { .pid = 7, .tid = 1, .name = "w" };
	unsigned char payload[SUBBUF_BYTES] = { 0 };
	struct lull_ring_slot slot;

	for (long i = 0; i < events; i++) {
		int error;

		sched_attempts_reset();
		error = lull_ring_reserve(&ring, &self, LULL_EVENT_FIRST,
					  (uint32_t)parameter[PAYLOAD], &slot);
		/* Each round of reserve may find a reference that is opened in its own rounds. */
		sched_check(sched_attempts() <= LULL_ROUNDS_MAX * (LULL_ROUNDS_MAX + 1),
			    "%u attempts to reserve", sched_attempts());
		sched_check(!error || error == -ENOBUFS || error == -EAGAIN || error == -EBUSY,
			    "reserve says %d", error);
		if (error)
			continue;
		slot_check(&slot);
		lull_copy(slot.payload, payload, (size_t)parameter[PAYLOAD]);
		lull_ring_commit(&slot);
	}
}

static void subbuf_check(const struct lull_ring_subbuf *subbuf)
{
	uint64_t begin = (uint64_t)(subbuf->data - ring.memory.base);

	sched_check(subbuf->data >= ring.memory.base && begin % SUBBUF_BYTES == 0 &&
			    begin / SUBBUF_BYTES == subbuf->physical &&
			    subbuf->physical < PHYSICAL_COUNT,
		    "the reader is given physical sub-buffer %u", subbuf->physical);
	sched_check(subbuf->content_bytes <= SUBBUF_BYTES &&
			    subbuf->committed_bytes <= SUBBUF_BYTES,
		    "%llu of %llu bytes are committed", (unsigned long long)subbuf->committed_bytes,
		    (unsigned long long)subbuf->content_bytes);
}

static void reader_thread(long rounds)
{
	struct lull_ring_subbuf subbuf;
	uint32_t spare = SUBBUF_COUNT;

	for (long i = 0; i < rounds; i++) {
		(void)lull_ring_poll(&ring);
		(void)lull_ring_overwrites_next(&ring);
		if (!lull_ring_peek(&ring, &subbuf)) {
			subbuf_check(&subbuf);
			(void)lull_ring_unchanged(&ring, &subbuf);
		}
		if (!lull_ring_stuck(&ring, &subbuf))
			subbuf_check(&subbuf);
		if (lull_ring_get(&ring, &spare, &subbuf) &&
		    lull_ring_take(&ring, SUBBUF_COUNT + 1, &subbuf))
			continue;
		subbuf_check(&subbuf);
		sched_check(spare < PHYSICAL_COUNT, "the reader's spare is %u", spare);
		(void)lull_ring_settled(&ring, &subbuf);
		lull_ring_put(&ring, &subbuf);
	}
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

	parameter = scenario->parameter;
	memory.base = sched_alloc((size_t)PHYSICAL_COUNT * SUBBUF_BYTES, 64);
	lull_ring_attach(&ring, &geometry, control, memory);
	lull_ring_reset(&ring, 0);
	if (parameter[EVENTS])
		sched_thread("writer", 0, writer_thread, parameter[EVENTS]);
	if (parameter[READS])
		sched_thread("reader", 1, reader_thread, parameter[READS]);
	sched_thread("hostile", 2, hostile_thread, parameter[SCRIBBLES]);
}

#define SCENARIO(scenario_name, ...)                                                           \
	{                                                                                      \
		.name = scenario_name, .setup = setup, .clock = clock_now, .memory = SCHED_SC, \
		.preemptions = SCHED_UNBOUNDED, .slices = 0, .parameter = {                    \
			__VA_ARGS__                                                            \
		}                                                                              \
	}
#define DISCARD [MODE] = LULL_MODE_DISCARD
#define FLIGHT [MODE] = LULL_MODE_FLIGHT_RECORDER
#define ANY_WORD [FIRST] = 0, [UNTIL] = WORDS
#define COUNTERS [FIRST] = 0, [UNTIL] = 5
#define REFERENCES [FIRST] = 5, [UNTIL] = 7
#define SMALL 8
#define LARGE 92

static const struct sched_scenario scenarios[] = {
	SCENARIO("hostile_store_at_any_step_of_a_writer",
		 DISCARD, [PAYLOAD] = SMALL, [EVENTS] = 2, [SCRIBBLES] = 1, ANY_WORD),
	SCENARIO("hostile_stores_at_any_step_of_an_opener",
		 DISCARD, [PAYLOAD] = LARGE, [EVENTS] = 2, [SCRIBBLES] = 2, ANY_WORD),
	SCENARIO("hostile_counters_beside_an_opener",
		 DISCARD, [PAYLOAD] = LARGE, [EVENTS] = 1, [SCRIBBLES] = 3, COUNTERS),
	SCENARIO("hostile_references_beside_an_opener",
		 DISCARD, [PAYLOAD] = LARGE, [EVENTS] = 1, [SCRIBBLES] = 3, REFERENCES),
	SCENARIO("hostile_stores_beside_a_plain_ring",
		 DISCARD, [PLAIN] = 1, [PAYLOAD] = LARGE, [EVENTS] = 2, [SCRIBBLES] = 2, ANY_WORD),
	SCENARIO("hostile_stores_beside_a_flight_recorder",
		 FLIGHT, [PAYLOAD] = LARGE, [EVENTS] = 3, [SCRIBBLES] = 2, ANY_WORD),
	SCENARIO("hostile_store_beside_a_reader",
		 DISCARD, [PAYLOAD] = LARGE, [EVENTS] = 2, [READS] = 1, [SCRIBBLES] = 1, ANY_WORD),
	SCENARIO("hostile_store_beside_a_flight_recorders_reader",
		 FLIGHT, [PAYLOAD] = LARGE, [EVENTS] = 2, [READS] = 1, [SCRIBBLES] = 1, ANY_WORD),
	SCENARIO("hostile_stores_beside_a_reader_alone",
		 FLIGHT, [PAYLOAD] = LARGE, [READS] = 1, [SCRIBBLES] = 2, ANY_WORD),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_HOSTILE(SCHED_FAULT) };

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
