/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The writer's side of the ring: reserve, commit, switch. reader.c is the other side.
 *
 * Papers: B 3.2, 4.1-4.4 (algorithms 1-4), T 8.5. Design: docs/design/10-ring.md.
 *
 * States of a sub-buffer k (reference[k], see ring_words.h):
 *
 *	 free, lap L-1 --open (reserve)--> writing, lap L --last commit--> free, lap L
 *	       ^                                |                             |
 *	       |                             reader takes (writer died)    reader exchanges
 *	       +--------------------------------+-------- lap L becomes L-1 --+
 *
 * Writers and readers of each word:
 *	write_count	writers, by lull_publish only; read by all
 *	run, last_cycles, physical	writers, by lull_publish only; valid while run's low
 *			half is write_count's
 *	read_count	reader; in flight-recorder mode also the writer that pushes it
 *	reference[k]	writers (open, deliver), reader (exchange, take); compare-and-swap only
 *	commit[p].count	writers of p, by add; reader before it hands p in
 *	commit[p].seq	the writer that fills p, or a writer or reader that helps it
 *	slot bytes	its writer from reserve to commit; the reader of p after that
 *
 * Barrier pairs (label: which accesses it orders; partner):
 *	[ring.commit:A]	payload before the header word		[ring.walk:A], tools/consumer
 *	[ring.commit:B]	slot before commit.count		[ring.get:A], [ring.open:B],
 *								[ring.take:B]
 *	[ring.deliver:A]	commit.count before commit.seq	[ring.get:A]
 *	[ring.open:A]	read_count before reuse of memory	[ring.put:A]
 *	[ring.open:C]	a reference before the counts behind it	[ring.exchange:A],
 *								[ring.peek:B]
 *	[ring.exchange:A]	a spare's full counts before its reference	[ring.open:C]
 *	[ring.publish:A]	run, last_cycles, physical, mark before write_count
 *								[ring.peek:A], [ring.take:A],
 *								[ring.reserve:A], [ring.reserve:B]
 *	[ring.reserve:A]	last_cycles before run		[ring.publish:A]
 *	[ring.reserve:B]	write_count before run, last_cycles	[ring.publish:A]
 *	[ring.take:B]	commit.count before the walk		[ring.commit:B]
 *	[ring.peek:B]	the walk before the reference again	[ring.open:C]
 *	[session.close:A]	the flag before write_count	[session.close:B]
 *	[session.close:B]	write_count before the flag	[session.close:A]
 *
 * Invariants:
 *	I1 a count names its sub-buffer and lap; commit[p].count says how many bytes are committed
 *	I2 a slot is written only while the reference of its sub-buffer is writing in the slot's
 *	   lap, or after the reader has taken the sub-buffer, which no other writer then uses
 *	I3 time stamps do not decrease from slot to slot of a ring
 *	I4 run is valid only for one value of write_count, so what an interrupted lull_publish()
 *	   left in run, last_cycles or beyond write_count is never believed; in physical it leaves
 *	   what is true of the sub-buffer of write_count
 *	I5 the bytes from a sub-buffer's start to write_count are a chain of slots and holes
 *
 * Progress: reserve and commit are wait-free; on a plain ring a reservation that others overtake
 * LULL_ROUNDS_PLAIN_MAX times is given up and counted. Nothing here waits, allocates or calls the
 * system. Other processes may store anything in the shared words: docs/design/10-ring.md.
 *
 * Rejected: locked compare-and-swap on write_count (3.6 ns of 9.3, and holes of unknown size
 * when a writer dies); an owner per sub-buffer (wastes space and waits); opening a sub-buffer
 * and reserving in it in one step (the first slot's mark would go to memory that the reader
 * may exchange).
 */
#include "ring_fast.h"

/* The thread record that opens a run: extended header, then struct lull_thread_record. */
#define THREAD_SLOT_BYTES (LULL_EXTENDED_HEADER_BYTES + (uint32_t)sizeof(struct lull_thread_record))

/* The layout of a slot, given what the slots before it tell the reader. */
struct layout {
	uint32_t thread_bytes; /* 0 or THREAD_SLOT_BYTES */
	uint32_t header_bytes; /* of the event itself */
	uint64_t slot_bytes;
};

/* Rounds of reading a reference, which an honest reader changes at most once meanwhile. */
#define REFERENCE_ROUNDS 3
/* Attempts to raise a count that honest helpers raise once a lap. */
#define DELIVER_ROUNDS 4

static void lose(struct lull_ring *ring, enum lull_lost_cause cause)
{
	lull_add(&ring->shared->lost[cause], 1);
}

void lull_ring_deliver(const struct lull_ring *ring, uint64_t position, uint32_t physical,
		       uint64_t count)
{
	struct lull_commit *commit = &ring->commit[physical];
	uint64_t state = reference_state(ring, position) | physical;
	uint64_t seq = lull_load(&commit->seq);

	int rounds = DELIVER_ROUNDS;

	/*
	 * [ring.deliver:A] compare-and-swap, release. Pairs with [ring.get:A].
	 * Orders: every addition to commit.count in this lap before the store of commit.seq.
	 * Else: the reader gets a sub-buffer whose slots are not all written.
	 * Mutants: SEQ_EARLY, DELIVER_RELAXED.
	 * Bound: seq moves forward once per lap; DELIVER_ROUNDS in a damaged ring. Counts are
	 * compared without their top bits, which the count of a former spare does not have.
	 */
	while ((int64_t)((count - seq) << commit_lap_bits(ring)) > 0 && rounds--) {
		uint64_t found = lull_cas(&commit->seq, seq, count);

		if (found == seq)
			break;
		seq = found;
	}
	lull_cas(&ring->reference[count_index(ring, position)], state | LULL_REFERENCE_WRITING,
		 state);
}

static void commit_add(const struct lull_ring *ring, uint64_t position, struct lull_commit *commit,
		       uint64_t bytes)
{
	uint64_t count = commit_count(commit, bytes);

	if (count_offset(ring, count) == 0 || LULL_MUTANT(SEQ_EARLY))
		lull_ring_deliver(ring, position, (uint32_t)(commit - ring->commit), count);
}

/*
 * Find the physical sub-buffer that is open where @count lies, and set its reference to writing if
 * the thread that opened it has not done so yet.
 * Return: 1 when the reference is writing in the lap of @count, with @physical; 0 when it is not,
 * because the sub-buffer is full already, taken, or of a later lap, so that @count is out of date,
 * or because the reference changed in each of REFERENCE_ROUNDS rounds. @physical is then of no use.
 */
static int reference_open(const struct lull_ring *ring, uint64_t count, uint32_t *physical)
{
	uint64_t *word = &ring->reference[count_index(ring, count)];
	uint64_t writing = reference_state(ring, count) | LULL_REFERENCE_WRITING;
	uint64_t before = reference_state(ring, count - buffer_bytes(ring));

	/*
	 * Bound: the reader exchanges a free reference at most once while the lap lasts; further
	 * rounds are those of a damaged ring.
	 */
	for (int round = 0; round < REFERENCE_ROUNDS; round++) {
		/* [ring.open:C], as in may_open(): the reference before the counts that it names */
		uint64_t reference = lull_load_acquire(word);

		*physical = reference_physical(ring, reference);
		if (reference_tag(reference) == writing)
			return 1;
		if (reference_tag(reference) != before || LULL_MUTANT(REFERENCE_NOT_SET))
			return LULL_MUTANT(REFERENCE_NOT_SET);
		if (lull_cas(word, reference, writing | *physical) == reference)
			return 1;
		lull_port_stuck();
	}
	return 0;
}

/* The first fields of a packet header, written by the writer that opens the sub-buffer. */
static void header_begin(const struct lull_ring *ring, unsigned char *data, uint64_t cycles)
{
	struct lull_packet_header *to = (struct lull_packet_header *)data;
	struct lull_packet_header header = {
		.magic = LULL_PACKET_MAGIC,
		.stream_id = ring->geometry.stream_id,
		.timestamp_begin_cycles = cycles,
		.cpu_id = ring->geometry.cpu_id,
	};

	__builtin_memcpy(header.uuid, ring->geometry.uuid, sizeof(header.uuid));
	lull_copy(to, &header, offsetof(struct lull_packet_header, timestamp_end_cycles));
	lull_copy(&to->cpu_id, &header.cpu_id, 2 * sizeof(header.cpu_id));
}

/* The last fields, written by the writer that closes the sub-buffer at @content_bytes. */
static void header_end(const struct lull_ring *ring, unsigned char *data, uint64_t position,
		       uint64_t content_bytes, uint64_t cycles)
{
	struct lull_packet_header *to = (struct lull_packet_header *)data;
	struct lull_packet_header header = {
		.timestamp_end_cycles = cycles,
		.content_size_bits = content_bytes * 8,
		.packet_size_bits = subbuf_bytes(ring) * 8,
		.packet_seq_num = position >> ring->subbuf_bits,
	};

	for (int cause = 0; cause < LULL_LOST_CAUSES; cause++) {
		header.lost[cause] = lull_load(&ring->shared->lost[cause]);
		header.events_discarded += header.lost[cause];
	}
	lull_copy(&to->timestamp_end_cycles, &header.timestamp_end_cycles,
		  offsetof(struct lull_packet_header, cpu_id) -
			  offsetof(struct lull_packet_header, timestamp_end_cycles));
}

static int publish(const struct lull_ring *ring, const struct lull_reservation *reservation)
{
	/*
	 * [ring.publish:A] release, inside the port's step. Pairs with [ring.peek:A],
	 * [ring.take:A], [ring.reserve:A], [ring.reserve:B].
	 * Orders: the stores of the slot's mark, run and last_cycles before that of write_count.
	 * Else: a reader that sees the new write_count walks into a slot whose mark is not there
	 * yet, and takes old bytes for an event. Mutant: TAKE_NO_BARRIER.
	 */
	return ring->geometry.plain ? lull_publish_plain(reservation) : lull_publish(reservation);
}

void lull_ring_push_reader(const struct lull_ring *ring, uint64_t begin)
{
	uint64_t target = begin + subbuf_bytes(ring) - buffer_bytes(ring);
	uint64_t read = lull_load(&ring->shared->read_count);
	uint32_t rounds = ring->geometry.subbuf_count;

	/*
	 * Bound: the number of sub-buffers, whatever the words hold: reader and writers move
	 * read_count in the same direction (T 8.6.3).
	 */
	while ((int64_t)(target - read) > 0 && rounds--) {
		uint64_t found = lull_cas(&ring->shared->read_count, read, target);

		if (found == read)
			break;
		read = found;
	}
}

/* B 4.3.1 SwitchOldSubBuf: close the sub-buffer of @count there, padding the rest. */
static void switch_old(const struct lull_ring *ring, uint64_t count, uint32_t physical,
		       uint64_t cycles)
{
	uint64_t offset = count_offset(ring, count);

	header_end(ring, physical_data(ring, physical), count, offset, cycles);
	/* [ring.commit:B], for the packet header: its stores before the addition, else the reader
	 * reads a header that is not written yet */
	lull_barrier_light();
	commit_add(ring, count, &ring->commit[physical], subbuf_bytes(ring) - offset);
}

/* B 4.3.1 SwitchNewSubBuf: write the header of the sub-buffer opened at @begin. */
static void switch_new(const struct lull_ring *ring, uint64_t begin, uint64_t cycles)
{
	uint32_t physical;

	if (!reference_open(ring, begin, &physical))
		return; /* the reader took the sub-buffer meanwhile, and makes the header itself */
	header_begin(ring, physical_data(ring, physical), cycles);
	lull_barrier_light(); /* [ring.commit:B], for the packet header, as in switch_old() */
	commit_add(ring, begin, &ring->commit[physical], LULL_HEADER_BYTES);
}

/*
 * May the sub-buffer at @begin be opened? B algorithm 1, lines 5-16.
 * Return: 1: yes; 0: the words changed meanwhile, try again; -1: no, and @cause says why.
 */
static int may_open(const struct lull_ring *ring, uint64_t begin, enum lull_lost_cause *cause)
{
	/*
	 * [ring.open:C] acquire. Pairs with [ring.exchange:A], [ring.peek:B].
	 * Orders: the load of the reference before those of the counts of the sub-buffer that the
	 * reference names.
	 * Else: this writer sees the reference to a spare, and counts from before the reader filled
	 * them: the spare looks as if it were still being written, and an event is lost.
	 * Mutant: OPEN_REFERENCE_RELAXED.
	 */
	uint64_t reference = lull_load_acquire(&ring->reference[count_index(ring, begin)]);
	uint64_t before = reference_state(ring, begin - buffer_bytes(ring));
	uint32_t physical = reference_physical(ring, reference);
	uint64_t count, read;

	/*
	 * [ring.open:B] acquire. Pairs with [ring.commit:B].
	 * Orders: the load of commit.count, which shows that the last lap's writers have stored all
	 * their slots, before our stores to this memory.
	 * Else: a store of the last lap lands after ours and overwrites it.
	 */
	count = lull_load_acquire(&ring->commit[physical].count);
	if (reference_tag(reference) == (before | LULL_REFERENCE_WRITING) &&
	    equation_fully_committed(ring, count, begin)) {
		lull_ring_deliver(ring, begin - buffer_bytes(ring), physical, count);
		return 0;
	}
	if (reference_tag(reference) != before &&
	    reference_tag(reference) != (before | LULL_REFERENCE_WRITING))
		return 0; /* opened by another writer: the write count read is out of date */
	if (!equation_fully_committed(ring, count, begin)) {
		/*
		 * The count is of the present lap only if the reference is still the same: the
		 * reader may have taken the sub-buffer meanwhile and filled its counts as those of
		 * a spare. [ring.open:C], the other way round: the count was loaded before.
		 */
		if (!LULL_MUTANT(REFERENCE_ONCE) && !LULL_MUTANT(LOST_UNCHECKED) &&
		    lull_load_acquire(&ring->reference[count_index(ring, begin)]) != reference)
			return 0;
		*cause = LULL_LOST_OVERFLOW;
		return -1;
	}
	/*
	 * [ring.open:A] acquire. Pairs with [ring.put:A].
	 * Orders: the load of read_count, which shows that the reader is done with this memory,
	 * before our stores to it.
	 * Else: the reader reads bytes of the next lap. Mutant: OPEN_UNREAD.
	 */
	read = lull_load_acquire(&ring->shared->read_count);
	if (ring->geometry.mode == LULL_MODE_DISCARD && !LULL_MUTANT(OPEN_UNREAD) &&
	    equation_buffer_full(ring, begin, read)) {
		*cause = LULL_LOST_FULL;
		return -1;
	}
	return 1;
}

/*
 * Close the sub-buffer of @count and, with @open, open the next one.
 * @tid: this thread, which the end mark names in case it dies before it has written both headers.
 * Return: 1 when done; 0 when another was first or the step was interrupted; -ENOBUFS when the next
 * one is not free and an event is lost.
 */
static int switch_subbuf(struct lull_ring *ring, uint32_t tid, uint64_t count, uint64_t cycles,
			 int open)
{
	uint64_t offset = count_offset(ring, count);
	uint64_t begin = offset ? count_begin(ring, count) + subbuf_bytes(ring) : count;
	uint32_t physical = 0, scratch;
	enum lull_lost_cause cause;
	struct lull_reservation reservation = {
		.shared = ring->shared,
		.expect = count,
		.until = open ? begin + LULL_HEADER_BYTES : begin,
		.cycles = cycles,
		.slot_low = &scratch,
		.slot_high = &scratch,
		.mark_low = LULL_END(tid),
		.cpu = ring->geometry.cpu_id,
		.place = lull_place(),
	};

	if (open) {
		int may = may_open(ring, begin, &cause);

		/* Only if no writer has moved write_count on meanwhile do the words that may_open()
		 * read, each with acquire, belong together. */
		if (may < 0 && (LULL_MUTANT(LOST_UNCHECKED) ||
				lull_load(&ring->shared->write_count) == count)) {
			lose(ring, cause);
			return -ENOBUFS;
		}
		if (may <= 0)
			return 0;
	}
	if (offset) {
		if (!reference_open(ring, count, &physical))
			return 0;
		reservation.slot_low = physical_data(ring, physical) + slot_offset(ring, count);
		reservation.physical = physical;
	}
	if (!publish(ring, &reservation))
		return 0;
	if (open && ring->geometry.mode == LULL_MODE_FLIGHT_RECORDER)
		lull_ring_push_reader(ring, begin);
	if (offset)
		switch_old(ring, count, physical, cycles);
	if (open)
		switch_new(ring, begin, cycles);
	return 1;
}

static struct layout slot_layout(const struct lull_ring *ring,
				 const struct lull_ring_writer *writer, uint64_t count,
				 uint64_t elapsed, uint32_t id, uint32_t payload_bytes)
{
	int same_run = lull_load(&ring->shared->run) == run_word(writer->tid, count);
	struct layout layout = { .header_bytes = LULL_COMPACT_HEADER_BYTES };

	if (!same_run)
		layout.thread_bytes = THREAD_SLOT_BYTES;
	if (id > LULL_TAG_COMPACT_MAX || (same_run && elapsed >> LULL_COMPACT_TIMESTAMP_BITS))
		layout.header_bytes = LULL_EXTENDED_HEADER_BYTES;
	layout.slot_bytes = (uint64_t)layout.thread_bytes + layout.header_bytes + payload_bytes;
	layout.slot_bytes =
		(layout.slot_bytes + LULL_SLOT_ALIGN - 1) & ~(uint64_t)(LULL_SLOT_ALIGN - 1);
	return layout;
}

static uint32_t extended_header(unsigned char *at, uint32_t id, uint64_t cycles)
{
	lull_copy(at + 4, &id, sizeof(id));
	lull_copy(at + 8, &cycles, sizeof(cycles));
	return LULL_TAG_EXTENDED;
}

/* Write all of a reserved slot but its first word, which lull_ring_commit() writes. */
static void slot_begin(struct lull_ring_slot *slot, const struct lull_ring_writer *writer,
		       const struct layout *layout, uint32_t id, uint64_t cycles)
{
	unsigned char *event = slot->start + layout->thread_bytes;
	uint32_t header = compact_header(id, cycles);

	if (layout->header_bytes == LULL_EXTENDED_HEADER_BYTES)
		header = extended_header(event, id, cycles);
	slot->header = header;
	slot->payload = event + layout->header_bytes;
	if (layout->thread_bytes) {
		struct lull_thread_record record = { .pid = writer->pid,
						     .tid = writer->tid & LULL_TID_MASK };

		__builtin_memcpy(record.name, writer->name, sizeof(record.name));
		lull_copy(event, &header, sizeof(header));
		lull_copy(slot->start + LULL_EXTENDED_HEADER_BYTES, &record, sizeof(record));
		slot->header = extended_header(slot->start, LULL_EVENT_THREAD, cycles);
	}
}

/*
 * Publish the reservation of a slot that begins at @slot->position, and write its headers.
 * Return: 1 when @slot is reserved; 0 when another writer was first or the step was interrupted.
 */
static int slot_publish(struct lull_ring *ring, const struct lull_ring_writer *writer,
			const struct layout *layout, uint32_t physical, uint32_t id,
			uint64_t cycles, struct lull_ring_slot *slot)
{
	uint64_t count = slot->position, until = count + layout->slot_bytes;
	int goes_on = count_offset(ring, until) != 0 || LULL_MUTANT(RUN_AT_END);
	uint32_t scratch;
	struct lull_reservation reservation;

	slot->start = physical_data(ring, physical) + slot_offset(ring, count);
	reservation = (struct lull_reservation){
		.shared = ring->shared,
		.expect = count,
		.until = until,
		.run = goes_on ? run_word(writer->tid, until) : 0,
		.cycles = cycles,
		.physical = physical,
		.slot_low = slot->start,
		.slot_high = &scratch,
		.mark_low = (uint32_t)LULL_HOLE(layout->slot_bytes, 0),
		.mark_high = writer->tid,
		.cpu = ring->geometry.cpu_id,
		.place = lull_place(),
	};
	if (layout->slot_bytes >= 2 * sizeof(uint32_t))
		reservation.slot_high = slot->start + sizeof(uint32_t);
	else
		reservation.mark_low = compact_header(id, cycles);
	if (!publish(ring, &reservation))
		return 0;
	slot->ring = ring;
	slot->commit = &ring->commit[physical];
	slot->slot_bytes = (uint32_t)layout->slot_bytes;
	if (count_offset(ring, until) == 0) /* B 4.3.1 EndSwitchCurrent: it fits exactly */
		header_end(ring, physical_data(ring, physical), count, subbuf_bytes(ring), cycles);
	slot_begin(slot, writer, layout, id, cycles);
	return 1;
}

/* Every reservation that is not the common one: a new run, the end of a sub-buffer, a long time. */
int lull_ring_reserve_slow(struct lull_ring *ring, const struct lull_ring_writer *writer,
			   uint32_t id, uint32_t payload_bytes, struct lull_ring_slot *slot)
{
	uint64_t count, cycles = 0, last;
	struct layout layout;
	uint32_t physical;
	int rounds = ring->geometry.plain ? LULL_ROUNDS_PLAIN_MAX : LULL_ROUNDS_MAX;
	int refused = 0;

	/*
	 * Bound: each round follows a success of another writer, or an interruption of this thread.
	 * There are more rounds only in a damaged ring.
	 */
	for (int round = 0; round < rounds;
	     round += !LULL_MUTANT(ROUNDS_UNBOUNDED), lull_port_stuck()) {
		if (refused > LULL_REFUSED_MAX)
			return -EBUSY;
		if (!ring->geometry.plain && lull_cpu() != ring->geometry.cpu_id)
			return -EAGAIN;
		/* [ring.reserve:B], as in ring_fast.h: write_count before last_cycles and run, else
		 * a run that another thread has ended meanwhile is taken for the present one */
		count = lull_load_acquire(&ring->shared->write_count);
		/*
		 * [session.close:B] the acquire of write_count. Pairs with [session.close:A].
		 * Orders: the load of write_count before that of the flag, in each round.
		 * Else: a thread that found the flag set begins a run at the write count that
		 * lull_ring_close() moved to, and no one reads its event. A common reservation
		 * needs no such order: it goes on with a run, and the close has ended that.
		 * Mutant: FLAG_FIRST.
		 */
		if (ring->active && !lull_load(ring->active))
			return -ESHUTDOWN;
		if (!LULL_MUTANT(TIME_ONCE) || !cycles)
			cycles = ring->geometry.plain ? lull_clock_cycles_ordered() :
							lull_clock_cycles();
		/* [ring.reserve:A], as in ring_fast.h: last_cycles before run, which slot_layout()
		 * loads; else an interrupted reservation's time is taken for the last slot's */
		last = lull_load_acquire(&ring->shared->last_cycles);
		if ((int64_t)(cycles - last) < 0)
			cycles = last; /* I3, if the clock steps back from one CPU to another */
		layout = slot_layout(ring, writer, count, cycles - last, id, payload_bytes);
		if (layout.slot_bytes > subbuf_bytes(ring) - LULL_HEADER_BYTES) {
			lose(ring, LULL_LOST_TOO_BIG);
			return -ENOBUFS;
		}
		if (count_offset(ring, count) == 0 ||
		    slot_offset(ring, count) + layout.slot_bytes > subbuf_bytes(ring)) {
			if (switch_subbuf(ring, writer->tid, count, cycles, 1) < 0)
				return -ENOBUFS;
			continue;
		}
		if (!reference_open(ring, count, &physical))
			continue;
		slot->position = count;
		if (slot_publish(ring, writer, &layout, physical, id, cycles, slot))
			return 0;
		if (!ring->geometry.plain && lull_load(&ring->shared->write_count) == count)
			refused++;
	}
	lose(ring, LULL_LOST_OVERFLOW);
	return -ENOBUFS;
}

int lull_ring_reserve(struct lull_ring *ring, const struct lull_ring_writer *writer, uint32_t id,
		      uint32_t payload_bytes, struct lull_ring_slot *slot)
{
	const struct caller caller = {
		.tid = writer->tid,
		.cpu = ring->geometry.cpu_id,
		.place = lull_place(),
		.clock = lull_clock_cycles,
	};

	if (!ring->memory.pages && reserve_fast(ring, &caller, id, payload_bytes, slot))
		return 0;
	return lull_ring_reserve_slow(ring, writer, id, payload_bytes, slot);
}

void lull_ring_commit(struct lull_ring_slot *slot)
{
	uint64_t count;

	if (commit_fast(slot, &count))
		lull_ring_deliver(slot->ring, slot->position,
				  (uint32_t)(slot->commit - slot->ring->commit), count);
}

/*
 * Close the open sub-buffer where more than @bytes of it are used, by a step of this thread's:
 * another's may go on with a run, and does not end it.
 * Return: 1 when done; 0 when another was first or the step was interrupted; -ENODATA when there is
 * nothing to close; -EAGAIN when not on the ring's CPU.
 */
static int switch_used(struct lull_ring *ring, uint64_t bytes)
{
	/* [ring.reserve:B], as in ring_fast.h: write_count before last_cycles, else the packet's
	 * end may get a time before that of its last slot */
	uint64_t count = lull_load_acquire(&ring->shared->write_count);
	uint64_t cycles = lull_clock_cycles_ordered();
	uint64_t last = lull_load(&ring->shared->last_cycles);

	if (count_offset(ring, count) <= bytes)
		return -ENODATA;
	if (!ring->geometry.plain && lull_cpu() != ring->geometry.cpu_id)
		return -EAGAIN;
	if ((int64_t)(cycles - last) < 0)
		cycles = last;
	return switch_subbuf(ring, 0, count, cycles, 0);
}

int lull_ring_force_switch(struct lull_ring *ring)
{
	int result = switch_used(ring, LULL_HEADER_BYTES);

	return result == -ENODATA ? 0 : result;
}

int lull_ring_close(struct lull_ring *ring)
{
	int result = 0;

	/*
	 * [session.close:A] heavy barrier. Pairs with [session.close:B].
	 * Orders: the caller's store of 0 to the flag before the load of write_count.
	 * Else: a thread that finds the flag set reserves where this thread saw no sub-buffer open,
	 * and no one reads the event. Mutant: CLOSED_FROM_AFAR.
	 */
	if (!LULL_MUTANT(CLOSED_FROM_AFAR))
		lull_barrier_heavy();
	/*
	 * Where nothing is open, writers open a sub-buffer before they reserve in it, and look at
	 * the flag in between. Bound: each round follows a success of another writer, or an
	 * interruption of this thread; there are more only in a damaged ring.
	 */
	for (int round = 0; round < LULL_ROUNDS_MAX && !result; round++, lull_port_stuck())
		result = switch_used(ring, 0);
	return result > 0 || result == -ENODATA ? 0 : result ? result : -EBUSY;
}
