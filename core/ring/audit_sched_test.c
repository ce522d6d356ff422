// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What must hold of every packet read, and of the books at the end of every schedule.
 *
 * Each committed event is read once, whole, in its writer's order and with the time stamp of
 * its place; each event lost is counted under one cause; a complete packet has no hole.
 * Paper: B 3.2 (lost counters), T 8.6.2.
 */
#include <string.h>
#include "ring_sched_test.h"

/* A place in a sub-buffer being read. */
struct walk {
	const struct lull_ring_subbuf *subbuf;
	const uint8_t *early; /* first words are judged by this copy */
	const uint8_t *late; /* and read in full from this one */
	uint32_t offset;
	uint32_t until;
	uint32_t tid; /* of the last thread record */
	uint64_t cycles; /* of the last slot */
};

static uint32_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint32_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint64_t cycles_at(const struct walk *walk, uint32_t offset, uint32_t first_word)
{
	uint64_t mask = (1ull << LULL_COMPACT_TIMESTAMP_BITS) - 1, cycles;

	if ((first_word & 0xff) == LULL_TAG_EXTENDED) {
		memcpy(&cycles, walk->late + offset + 8, sizeof(cycles));
		return cycles;
	}
	cycles = (walk->cycles & ~mask) | first_word >> 8;
	return cycles < walk->cycles ? cycles + mask + 1 : cycles;
}

/* The event's header and payload; the walk is at the header. */
static void audit_event(struct walk *walk, uint32_t first_word, uint32_t slot, int consume)
{
	uint64_t slot_count = (walk->subbuf->position & ~(uint64_t)(SUBBUF_BYTES - 1)) + slot;
	uint32_t bytes = (uint32_t)parameter[PAYLOAD];
	uint32_t id = first_word & 0xff, writer, number, i;

	walk->cycles = cycles_at(walk, walk->offset, first_word);
	sched_check(walk->cycles == clock_at(slot_count), "time stamp %llu in the slot of %llu",
		    (unsigned long long)walk->cycles, (unsigned long long)clock_at(slot_count));
	walk->offset += LULL_COMPACT_HEADER_BYTES;
	if (id == LULL_TAG_EXTENDED) {
		id = word_at(walk->late, walk->offset);
		walk->offset += LULL_EXTENDED_HEADER_BYTES - LULL_COMPACT_HEADER_BYTES;
	}
	writer = id - LULL_EVENT_FIRST;
	number = word_at(walk->late, walk->offset) & 0xff;
	sched_check(writer < WRITERS_MAX && number < EVENTS_MAX, "event %u of writer %u", number,
		    writer);
	sched_check(walk->tid == writer + 1, "an event of thread %u among those of %u", writer + 1,
		    walk->tid);
	sched_check(word_at(walk->late, walk->offset) == (0xe0000000u | writer << 8 | number) &&
			    word_at(walk->late, walk->offset + 4) ==
				    ~word_at(walk->late, walk->offset),
		    "the payload of event %u of writer %u is not whole", number, writer);
	for (i = 2; i < bytes / 4; i++)
		sched_check(word_at(walk->late, walk->offset + i * 4) ==
				    (word_at(walk->late, walk->offset) ^ i),
			    "the payload of event %u of writer %u is not whole", number, writer);
	walk->offset += bytes;
	sched_check(books->status[writer][number] >= EVENT_COMMITTING,
		    "event %u of writer %u is read but not committed", number, writer);
	if (!consume)
		return;
	sched_check(!books->read[writer][number], "event %u of writer %u is read twice", number,
		    writer);
	sched_check(number >= books->next[writer], "event %u of writer %u is read late", number,
		    writer);
	books->read[writer][number] = 1;
	books->next[writer] = (uint8_t)(number + 1);
}

static void audit_thread_record(struct walk *walk)
{
	struct lull_thread_record record;

	walk->cycles = cycles_at(walk, walk->offset, LULL_TAG_EXTENDED);
	memcpy(&record, walk->late + walk->offset + LULL_EXTENDED_HEADER_BYTES, sizeof(record));
	sched_check(record.pid == 7 && record.tid >= 1 && record.tid <= WRITERS_MAX &&
			    !strcmp(record.name, "w"),
		    "thread record of pid %u, tid %u", record.pid, record.tid);
	walk->tid = record.tid;
	walk->offset += THREAD_BYTES;
}

static void audit_hole(struct walk *walk, uint32_t first_word)
{
	uint32_t bytes = first_word >> 8;

	sched_check(bytes >= 4 && walk->offset + bytes <= SUBBUF_BYTES, "a hole of %u bytes",
		    bytes);
	books->holes++;
	walk->offset += bytes;
}

/* Return: the offset at which the chain of slots ends. */
static uint32_t audit_slots(struct walk *walk, int complete, int consume)
{
	while (walk->offset < walk->until) {
		uint32_t slot = walk->offset;
		uint32_t first = word_at(walk->early, slot);

		if ((first & 0xff) == LULL_TAG_END)
			break;
		if ((first & 0xff) == LULL_TAG_EMPTY) {
			sched_check(!complete && parameter[PLAIN], "nothing where a slot must be");
			books->broken |= 1u << subbuf_number(walk->subbuf->position);
			break;
		}
		if ((first & 0xff) == LULL_TAG_HOLE) {
			sched_check(!complete, "a hole in a complete sub-buffer at %u", slot);
			audit_hole(walk, first);
			continue;
		}
		if ((first & 0xff) == LULL_TAG_EXTENDED &&
		    word_at(walk->late, slot + 4) == LULL_EVENT_THREAD) {
			audit_thread_record(walk);
			first = word_at(walk->late, walk->offset);
		}
		audit_event(walk, first, slot, consume);
	}
	return walk->offset;
}

static struct walk walk_begin(const struct lull_ring_subbuf *subbuf, const uint8_t *early,
			      const uint8_t *late, uint32_t until)
{
	return (struct walk){ .subbuf = subbuf,
			      .early = early,
			      .late = late,
			      .offset = (uint32_t)LULL_HEADER_BYTES,
			      .until = until,
			      .cycles = clock_at(subbuf->position) };
}

static void obtain(const struct lull_ring_subbuf *subbuf)
{
	uint32_t number = subbuf_number(subbuf->position);

	sched_check(count_offset(&ring, subbuf->position) == 0, "the read count is not aligned");
	sched_check(number >= books->last_number, "sub-buffer %u is read again or late", number);
	books->last_number = (uint8_t)(number + 1);
	books->obtained |= 1u << number;
}

/* A packet that its writers have finished. */
static void audit_packet(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes, int consume)
{
	struct lull_packet_header header;
	struct walk walk;
	uint64_t lost = 0;
	uint32_t content;
	int cause;

	memcpy(&header, bytes, sizeof(header));
	sched_check(header.magic == LULL_PACKET_MAGIC && header.stream_id == 3 &&
			    header.cpu_id == 0,
		    "magic 0x%x, stream %u, CPU %u", header.magic, header.stream_id, header.cpu_id);
	sched_check(header.packet_size_bits == SUBBUF_BYTES * 8, "packet size");
	sched_check(header.packet_seq_num == subbuf->position >> ring.subbuf_bits,
		    "packet %llu in sub-buffer %llu", (unsigned long long)header.packet_seq_num,
		    (unsigned long long)(subbuf->position >> ring.subbuf_bits));
	content = (uint32_t)(header.content_size_bits / 8);
	sched_check(content >= LULL_HEADER_BYTES && content <= SUBBUF_BYTES, "content of %u bytes",
		    content);
	for (cause = 0; cause < LULL_LOST_CAUSES; cause++) {
		lost += header.lost[cause];
		sched_check(header.lost[cause] <= sched_newest(&ring.shared->lost[cause]),
			    "more lost than were");
	}
	sched_check(header.events_discarded == lost, "sum of lost events");
	walk = walk_begin(subbuf, bytes, bytes, content);
	sched_check(header.timestamp_begin_cycles <= walk.cycles, "begins after its first slot");
	sched_check(audit_slots(&walk, 1, consume) == content, "slots end at %u, content at %u",
		    walk.offset, content);
	sched_check(header.timestamp_end_cycles >= walk.cycles || content == LULL_HEADER_BYTES,
		    "ends before its last slot");
}

void audit_full(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes)
{
	obtain(subbuf);
	audit_packet(subbuf, bytes, 1);
}

void audit_looked(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes)
{
	audit_packet(subbuf, bytes, 0);
}

void audit_taken(const struct lull_ring_subbuf *subbuf, const uint8_t *early, const uint8_t *late)
{
	struct walk walk = walk_begin(subbuf, early, late, SUBBUF_BYTES);

	obtain(subbuf);
	audit_slots(&walk, 0, 1);
}

void audit_stuck(const struct lull_ring_subbuf *subbuf, const uint8_t *early, const uint8_t *late)
{
	struct walk walk = walk_begin(subbuf, early, late, SUBBUF_BYTES);
	uint8_t holes = books->holes; /* it stays in the ring, and is read again */

	audit_slots(&walk, 0, 0);
	books->holes = holes;
}

void audit_peeked(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes)
{
	struct walk walk = walk_begin(subbuf, bytes, bytes, (uint32_t)subbuf->content_bytes);

	sched_check(audit_slots(&walk, 1, 0) == subbuf->content_bytes, "slots end at %u",
		    walk.offset);
	sched_check(!subbuf->last_cycles || subbuf->last_cycles == walk.cycles,
		    "last_cycles is %llu, the last slot's %llu",
		    (unsigned long long)subbuf->last_cycles, (unsigned long long)walk.cycles);
}

/*
 * In flight-recorder mode: was this sub-buffer overwritten before the reader came to it? In a
 * plain ring: did a writer die before it marked its slot, so that those after it are unknown?
 */
static int unreadable(uint32_t number, uint32_t read_number)
{
	if (books->broken & 1u << number)
		return 1;
	return parameter[MODE] == LULL_MODE_FLIGHT_RECORDER && number < read_number &&
	       !(books->obtained & 1u << number);
}

/* How many events, in all. */
struct sums {
	uint64_t lost; /* for a cause, by their writers' account */
	uint64_t missing; /* committed, but neither read nor overwritten */
	uint32_t missing_subbuf; /* the last of those was there */
	uint64_t in_flight; /* reserved by a writer that died */
};

/* What became of one writer's events. */
static void audit_writer(uint32_t writer, uint32_t read_number, struct sums *sums)
{
	uint32_t number;

	for (number = 0; number < EVENTS_MAX; number++) {
		uint8_t status = books->status[writer][number];

		sums->lost += status == EVENT_LOST;
		sums->in_flight += status == EVENT_RESERVED || status == EVENT_COMMITTING;
		sched_check(status >= EVENT_COMMITTING || !books->read[writer][number],
			    "event %u of writer %u is read", number, writer);
		sched_check(status != EVENT_LOST || !books->read[writer][number],
			    "event %u of writer %u is lost and read", number, writer);
		if (status != EVENT_COMMITTED || books->read[writer][number] ||
		    unreadable(books->subbuf[writer][number], read_number))
			continue;
		sums->missing++;
		sums->missing_subbuf = books->subbuf[writer][number];
	}
}

/* Number of the oldest sub-buffer that the reader may still ask for. */
static uint32_t oldest_number(void)
{
	uint64_t written = lull_load(&ring.shared->write_count) - (uint64_t)parameter[START];
	uint32_t read = subbuf_number(lull_load(&ring.shared->read_count));
	uint32_t begun = (uint32_t)((written + SUBBUF_BYTES - 1) / SUBBUF_BYTES);

	if (parameter[MODE] != LULL_MODE_FLIGHT_RECORDER || begun < read + SUBBUF_COUNT)
		return read;
	return begun - SUBBUF_COUNT; /* a writer that died may not have pushed the reader */
}

void audit_end(void)
{
	uint32_t read_number = oldest_number();
	struct sums sums = { 0, 0, 0, 0 };
	uint64_t counted = 0, dead = 0;
	uint32_t writer;
	int cause, thread;

	drain();
	for (thread = 0; thread < WRITERS_MAX; thread++)
		dead += (uint64_t)sched_dead(thread);
	for (writer = 0; writer < WRITERS_MAX; writer++)
		audit_writer(writer, read_number, &sums);
	for (cause = 0; cause < LULL_LOST_CAUSES; cause++)
		counted += lull_load(&ring.shared->lost[cause]);
	sched_check(counted >= sums.lost && counted <= sums.lost + dead, "%llu lost, %llu counted",
		    (unsigned long long)sums.lost, (unsigned long long)counted);
	sched_check(!parameter[LOSSES] || (long)sums.lost == parameter[LOSSES] - 1, "%llu lost",
		    (unsigned long long)sums.lost);
	sched_check(sums.missing <= books->holes,
		    "%llu committed events are neither read nor lost, one in packet %u",
		    (unsigned long long)sums.missing, sums.missing_subbuf);
	sched_check(books->broken || books->holes <= sums.missing + sums.in_flight + dead,
		    "%u holes for %llu events in flight", books->holes,
		    (unsigned long long)(sums.missing + sums.in_flight));
}
