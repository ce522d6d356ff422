/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reader's side of the ring: poll, get, put; take and peek for what writers left open; look for
 * what stays a flight recorder's.
 *
 * Papers: B 4.3.2 (algorithms 5-7), 4.4. States, barrier pairs and invariants: ring.c.
 * The reader believes nothing it reads from shared memory: an index is masked before use, a
 * size is bounded by the geometry, and a loop by a number of rounds.
 *
 * Beyond the papers, and why the reader never waits for a writer: a sub-buffer that stays
 * incomplete is taken by exchanging its reference, like any other in flight-recorder mode,
 * although its writing flag is set. Commit counters belong to physical sub-buffers, so a late
 * writer completes the one it started in, which no other thread uses (docs/adr/0003).
 */
#include "ring_words.h"

/* Rounds of a loop that each need a writer to have moved in between. */
#define READER_ROUNDS 8

static uint64_t reference_read(const struct lull_ring *ring, uint64_t read)
{
	/*
	 * [ring.open:C], for the reader: the load of the reference before those of the counts of
	 * the sub-buffer that it names. Else the counts may be older than the reference: those of a
	 * spare from before it was filled.
	 */
	return lull_load_acquire(&ring->reference[count_index(ring, read)]);
}

/* Whether a reference names what was written in the lap of @position: open, or delivered. */
static int is_of_lap(const struct lull_ring *ring, uint64_t reference, uint64_t position)
{
	uint64_t writing = reference_state(ring, position) | LULL_REFERENCE_WRITING;

	return (reference_tag(reference) | LULL_REFERENCE_WRITING) == writing;
}

/* Bytes committed in a sub-buffer; at most its size, also if the count is damaged. */
static uint64_t committed_read(const struct lull_ring *ring, uint64_t read, uint32_t physical)
{
	/*
	 * [ring.take:B] acquire. Pairs with [ring.commit:B].
	 * Orders: the load of the count before the walk's loads of the slots that it counts.
	 * Else: the walk finds a hole where a slot is counted as committed.
	 * Mutant: TAKE_COUNT_RELAXED.
	 */
	uint64_t count = lull_load_acquire(&ring->commit[physical].count);
	uint64_t bytes = commit_bytes(ring, count, read);

	if (bytes > subbuf_bytes(ring) && !LULL_MUTANT(COMMITTED_UNBOUNDED))
		return subbuf_bytes(ring);
	return bytes;
}

/* Make @physical look fully committed in the lap of @read, before a reference names it. */
static void commit_fill(const struct lull_ring *ring, uint64_t read, uint32_t physical)
{
	uint64_t full = count_commit_empty(ring, read) + subbuf_bytes(ring);

	lull_store(&ring->commit[physical].count, full);
	lull_store(&ring->commit[physical].seq, full);
}

/*
 * Flight recorder: a writer that died between opening a sub-buffer and pushing the reader left the
 * read count in a sub-buffer that is being overwritten. Push the reader for that writer.
 * Return: 1 when that was necessary.
 */
static int read_count_behind(const struct lull_ring *ring, uint64_t read, uint64_t write)
{
	if (ring->geometry.mode != LULL_MODE_FLIGHT_RECORDER || LULL_MUTANT(PUSH_NOT_HELPED) ||
	    (int64_t)(write - read - buffer_bytes(ring)) <= 0)
		return 0;
	lull_ring_push_reader(ring, count_begin(ring, write - 1));
	return 1;
}

enum lull_ring_readiness lull_ring_poll(const struct lull_ring *ring)
{
	uint64_t read = lull_load(&ring->shared->read_count);
	uint64_t write = lull_load(&ring->shared->write_count);

	if (equation_subbuf_written(ring, write, read))
		return LULL_RING_EMPTY;
	/* The writer is in the last sub-buffer it has, or has filled it. */
	if (equation_buffer_full(ring, count_begin(ring, write - 1) + subbuf_bytes(ring), read))
		return LULL_RING_URGENT;
	return LULL_RING_READABLE;
}

/* Whether a sub-buffer is full. Delivers it for a writer that died before it stored commit.seq. */
static int subbuf_ready(const struct lull_ring *ring, uint64_t read, uint32_t physical)
{
	uint64_t count;

	/*
	 * [ring.get:A] acquire. Pairs with [ring.deliver:A], [ring.commit:B].
	 * Orders: the load of commit.seq, or of commit.count, before those of the sub-buffer's
	 * bytes.
	 * Else: the sub-buffer counts as full, and the reader reads bytes of the lap before.
	 * Mutant: GET_RELAXED.
	 */
	if (equation_subbuf_ready(ring, lull_load_acquire(&ring->commit[physical].seq), read))
		return 1;
	count = lull_load_acquire(&ring->commit[physical].count);
	if (!equation_subbuf_ready(ring, count, read))
		return 0;
	lull_ring_deliver(ring, read, physical, count);
	return 1;
}

int lull_ring_get(struct lull_ring *ring, uint32_t *spare, struct lull_ring_subbuf *subbuf)
{
	for (int round = 0; round < READER_ROUNDS; round++) {
		uint64_t read = lull_load(&ring->shared->read_count);
		uint64_t write = lull_load(&ring->shared->write_count);
		uint64_t free_state = reference_state(ring, read);
		uint64_t reference = reference_read(ring, read);
		uint32_t physical;

		if (read_count_behind(ring, read, write))
			continue;
		if (equation_subbuf_written(ring, write, read))
			return -EAGAIN;
		physical = reference_physical(ring, reference);
		if (!subbuf_ready(ring, read, physical))
			return -EAGAIN;
		if (ring->geometry.mode == LULL_MODE_FLIGHT_RECORDER) {
			if (!LULL_MUTANT(DELIVER_NOT_HELPED) &&
			    reference_tag(reference) == (free_state | LULL_REFERENCE_WRITING)) {
				/* full; its last writer died before it freed the reference */
				lull_ring_deliver(ring, read, physical,
						  count_commit_empty(ring, read) +
							  subbuf_bytes(ring));
				continue;
			}
			commit_fill(ring, read, *spare);
			reference = free_state | physical;
			/*
			 * [ring.exchange:A] compare-and-swap, release. Pairs with [ring.open:C].
			 * Orders: the stores of the spare's full counts before its reference.
			 * Else: a writer that opens the sub-buffer sees old counts, takes the spare
			 * for one that is still being written, and loses an event.
			 * Mutants: FILL_LATE, EXCHANGE_RELAXED.
			 */
			if (lull_cas(&ring->reference[count_index(ring, read)], reference,
				     free_state | *spare) != reference)
				continue; /* a writer has come round and pushed the reader */
			*spare = physical;
		}
		*subbuf = (struct lull_ring_subbuf){
			.data = physical_data(ring, physical),
			.position = read,
			.content_bytes = subbuf_bytes(ring),
			.committed_bytes = subbuf_bytes(ring),
			.physical = physical,
			.complete = 1,
		};
		return 0;
	}
	return -EAGAIN;
}

int lull_ring_take(struct lull_ring *ring, uint32_t spare, struct lull_ring_subbuf *subbuf)
{
	uint64_t read = lull_load(&ring->shared->read_count);
	/*
	 * [ring.take:A] acquire, heavy barrier. Pairs with [ring.publish:A].
	 * Orders: the load of write_count before the walk's loads of the marks of all slots below.
	 * Else: the walk comes to a slot whose mark it does not see yet, takes old bytes for a
	 * slot, and loses the events behind it. Mutant: TAKE_NO_BARRIER.
	 */
	uint64_t write = lull_load_acquire(&ring->shared->write_count);
	uint64_t free_state = reference_state(ring, read);
	uint64_t reference;
	uint32_t physical;

	if (!LULL_MUTANT(TAKE_NO_BARRIER))
		lull_barrier_heavy();
	if (read_count_behind(ring, read, write) || equation_subbuf_written(ring, write, read))
		return -EAGAIN;
	reference = reference_read(ring, read);
	if (reference_tag(reference) != (free_state | LULL_REFERENCE_WRITING) &&
	    reference_tag(reference) != reference_state(ring, read - buffer_bytes(ring)) &&
	    !LULL_MUTANT(TAKE_ANY_LAP))
		return -EAGAIN; /* completed or lapped meanwhile */
	physical = reference_physical(ring, reference);
	if (subbuf_ready(ring, read, physical))
		return -EAGAIN;
	commit_fill(ring, read, spare);
	if (lull_cas(&ring->reference[count_index(ring, read)], reference, free_state | spare) !=
	    reference)
		return -EAGAIN; /* completed, opened or lapped meanwhile */
	*subbuf = (struct lull_ring_subbuf){
		.data = physical_data(ring, physical),
		.position = read,
		.content_bytes = subbuf_bytes(ring),
		.committed_bytes = committed_read(ring, read, physical),
		.physical = physical,
	};
	return 0;
}

int lull_ring_stuck(const struct lull_ring *ring, struct lull_ring_subbuf *subbuf)
{
	uint64_t read = lull_load(&ring->shared->read_count);
	/* [ring.take:A], as in lull_ring_take(): write_count before the marks, over which the
	 * caller may walk; else it does not see the mark of a slot below write_count */
	uint64_t write = lull_load_acquire(&ring->shared->write_count);
	uint64_t committed;
	uint32_t physical;

	if (equation_subbuf_written(ring, write, read))
		return -EAGAIN;
	physical = reference_physical(ring, reference_read(ring, read));
	committed = committed_read(ring, read, physical);
	*subbuf = (struct lull_ring_subbuf){
		.data = physical_data(ring, physical),
		.position = read,
		.content_bytes = subbuf_bytes(ring),
		.committed_bytes = committed,
		.physical = physical,
	};
	return 0;
}

int lull_ring_overwrites_next(const struct lull_ring *ring)
{
	uint64_t read = lull_load(&ring->shared->read_count);
	uint64_t write = lull_load(&ring->shared->write_count);

	return equation_buffer_full(ring, count_begin(ring, write) + subbuf_bytes(ring), read);
}

int lull_ring_settled(const struct lull_ring *ring, const struct lull_ring_subbuf *subbuf)
{
	/* [ring.take:B], as in committed_read(): the count before the caller's later use of the
	 * memory, else a late writer's store may come after it */
	uint64_t count = lull_load_acquire(&ring->commit[subbuf->physical].count);

	return equation_subbuf_ready(ring, count, subbuf->position);
}

void lull_ring_put(struct lull_ring *ring, const struct lull_ring_subbuf *subbuf)
{
	uint64_t next = subbuf->position + subbuf_bytes(ring);

	if (ring->geometry.plain && subbuf->complete && ring->geometry.mode == LULL_MODE_DISCARD) {
		/* A slot whose writer died before it stored the mark then reads as empty. */
		lull_zero(physical_data(ring, subbuf->physical), subbuf_bytes(ring));
	}
	/*
	 * [ring.put:A] compare-and-swap, release. Pairs with [ring.open:A].
	 * Orders: all loads of the sub-buffer's bytes before the store of read_count, after which
	 * writers may store to the sub-buffer again.
	 * Else: the reader reads the next lap's bytes. Mutants: PUT_EARLY, PUT_RELAXED.
	 */
	lull_cas(&ring->shared->read_count, subbuf->position, next);
}

int lull_ring_look(const struct lull_ring *ring, uint64_t position, struct lull_ring_subbuf *subbuf)
{
	/* [ring.take:A], as in lull_ring_take(): write_count before the marks of an incomplete
	 * sub-buffer, over which the caller walks; else the walk takes old bytes for a slot */
	uint64_t write = lull_load_acquire(&ring->shared->write_count);
	uint64_t behind = count_begin(ring, write) - position;
	uint64_t reference, committed;
	uint32_t physical;

	if (behind == 0 || behind > buffer_bytes(ring) || count_offset(ring, position) != 0)
		return -EAGAIN;
	reference = reference_read(ring, position);
	if (!is_of_lap(ring, reference, position))
		return -EAGAIN;
	physical = reference_physical(ring, reference);
	committed = committed_read(ring, position, physical);
	if (committed != subbuf_bytes(ring) && !LULL_MUTANT(TAKE_NO_BARRIER))
		lull_barrier_heavy();
	*subbuf = (struct lull_ring_subbuf){
		.data = physical_data(ring, physical),
		.position = position,
		.content_bytes = subbuf_bytes(ring),
		.committed_bytes = committed,
		.physical = physical,
		.complete = committed == subbuf_bytes(ring),
	};
	return 0;
}

int lull_ring_peek(const struct lull_ring *ring, struct lull_ring_subbuf *subbuf)
{
	uint64_t read = lull_load(&ring->shared->read_count);
	uint64_t write = lull_load(&ring->shared->write_count);
	uint64_t offset = count_offset(ring, write);
	uint64_t reference, committed, last, run = 0;
	uint32_t physical;

	/* What is before it stays in a flight recorder, whose reader does not move on. */
	if (ring->geometry.mode == LULL_MODE_FLIGHT_RECORDER)
		read = count_begin(ring, write);
	if (!equation_subbuf_written(ring, write, read) || offset == 0)
		return -EAGAIN;
	reference = reference_read(ring, read);
	physical = reference_physical(ring, reference);
	if (reference_tag(reference) != (reference_state(ring, read) | LULL_REFERENCE_WRITING))
		return -EAGAIN;
	committed = committed_read(ring, read, physical);
	last = lull_load(&ring->shared->last_cycles);
	/*
	 * [ring.peek:A] heavy barrier, then write_count again. Pairs with [ring.publish:A].
	 * Orders: the loads of the counters above before the second load of write_count. What is
	 * loaded on one side of the barrier may be loaded in any order: counters that are older
	 * than @write make a complete sub-buffer look incomplete, and the reader looks again.
	 * Else: the commit count may include slots behind @write, so that an uncommitted slot below
	 * @write counts as committed. Mutants: PEEK_ONCE, PEEK_NO_BARRIER.
	 * Orders also: the load of last_cycles before that of run. A reservation under way stores
	 * both before write_count, and run shows that it did.
	 * Else: last_cycles is the time of a reservation that is not complete, or of one behind
	 * @write. Mutant: PEEK_RUN_EARLY.
	 */
	lull_barrier_heavy();
	run = lull_load(&ring->shared->run);
	if (!LULL_MUTANT(PEEK_ONCE) && lull_load(&ring->shared->write_count) != write)
		return -EAGAIN;
	*subbuf = (struct lull_ring_subbuf){
		.data = physical_data(ring, physical),
		.position = read,
		.content_bytes = offset,
		.committed_bytes = committed,
		.physical = physical,
		.complete = committed == offset,
		.last_cycles = (uint32_t)run == (uint32_t)run_word(0, write) ? last : 0,
	};
	return 0;
}

int lull_ring_unchanged(const struct lull_ring *ring, const struct lull_ring_subbuf *subbuf)
{
	uint64_t reference;

	/*
	 * [ring.peek:B] heavy. Pairs with [ring.open:C].
	 * Orders: the loads of the sub-buffer's bytes, which the caller copied, before the second
	 * load of its reference.
	 * Else: bytes of the next lap are taken for this one's. Mutant: UNCHANGED_NO_BARRIER.
	 */
	lull_barrier_heavy();
	reference = reference_read(ring, subbuf->position);
	if (LULL_MUTANT(LOOK_ANY_LAP))
		return 1;
	return is_of_lap(ring, reference, subbuf->position) &&
	       reference_physical(ring, reference) == subbuf->physical;
}

uint64_t lull_ring_lost(const struct lull_ring *ring, enum lull_lost_cause cause)
{
	return lull_load(&ring->shared->lost[cause]);
}

void lull_ring_count_lost(struct lull_ring *ring, enum lull_lost_cause cause, uint64_t events)
{
	lull_add(&ring->shared->lost[cause], events);
}
