/* SPDX-License-Identifier: MIT */
/*
 * The reader's side: core/ring/reader.c, one shared access per step, and the checks of what
 * it read.
 *
 * Between get and put the reader owns the sub-buffer that get returned, so the model checks the
 * whole of it in one step. Writers may still write what take and peek return, so the model reads
 * that slot by slot.
 * Paper: B 4.3.2 (algorithms 6, 7), T 8.6.1, 8.6.2.
 */
#define READER                                                                  \
	byte read, write, count, physical, seen, added, seq, unit, mark; \
	byte writer, round;                                             \
	bit ok, fine

#define READER_ROUNDS 4 /* of get, C: 8; each needs a writer to have moved in between */
#define NEXT(position) WRAP((position) + SUBBUF)


/* Each packet once, in order; in discard mode every one. */
#ifdef FLIGHT
#define OBTAIN(position) assert(!LATER(expected, position)); expected = NEXT(position)
#else
#define OBTAIN(position) assert(position == expected); expected = NEXT(position)
#endif

#define OWN assert(busy[physical] == 0); owned = physical + 1; OBTAIN(read)

inline commit_fill(place)
{
	atomic { commit_count[place] = WRAP(count_commit_empty(read) + SUBBUF) };
	atomic { commit_seq[place] = WRAP(count_commit_empty(read) + SUBBUF) }
}

/* ok: the sub-buffer of @read, in @physical, is all committed. */
inline subbuf_ready()
{
	atomic { ok = equation_subbuf_ready(commit_seq[physical], read) }; /* [ring.get:A] */
	if
	:: !ok ->
		atomic { added = commit_count[physical] };
		if
		:: equation_subbuf_ready(added, read) -> deliver(read, physical, added); ok = 1
		:: else
		fi;
		added = 0
	:: else
	fi
}

/* read_count_behind() */
#if defined(FLIGHT) && !defined(MUTANT_PUSH_NOT_HELPED)
#define BEHIND LATER(write - read - BUFFER, 0)
#else
#define BEHIND false
#endif

/* One slot of a packet said to be complete: an event of this packet, its thread known. */
#define AUDIT_SLOT(position)                                                            \
	assert(IS_EVENT(mark)); assert(MARK_STAMP(mark) == STAMP(position));            \
	assert((mark & RECORD) || writer == TID(MARK_WRITER(mark)));                     \
	writer = TID(MARK_WRITER(mark));                                                 \
	unit = unit + MARK_SIZE(mark)

/* The packet in @physical is whole: its header, then one event after another to its end. */
inline audit_complete()
{
	d_step {
		assert(DATA(physical, 0) == MARK(1, 0, 0, read));
		assert((header_end[physical] & 224) == STAMP(read));
		unit = 1;
		do
		:: unit < CONTENT(header_end[physical]) ->
			mark = DATA(physical, unit);
			AUDIT_SLOT(read);
			COUNT_READ
		:: else -> break
		od;
		assert(unit == CONTENT(header_end[physical]));
		assert(unit == SUBBUF || DATA(physical, unit) == MARK(EVENT, 0, 0, read));
		unit = 0; mark = 0; writer = 0
	}
}

/*
 * A plain ring's sub-buffers are zeroed in discard mode. An endless model does so always, for
 * fewer states: what was read is nothing where C leaves old bytes, and neither is an event.
 */
#if (defined(PLAIN) && !defined(FLIGHT)) || defined(ENDLESS)
#define FORGET(place) \
	d_step { \
		do \
		:: unit < SUBBUF -> DATA(place, unit) = 0; unit++ \
		:: else -> break \
		od; \
		unit = 0; header_end[place] = 0 }
#else
#define FORGET(place) skip
#endif

/* lull_ring_put() */
inline put()
{
	atomic { /* [ring.put:A] */
		if
		:: read_count == read -> read_count = NEXT(read)
		:: else
		fi;
		SINCE_ENDS(READS)
	}
}

/* lull_ring_get(), then read what it gave and put it back. ok: there was something. */
inline consume_full()
{
	do
	:: atomic { read = read_count; SINCE(READS, read) };
		atomic { write = write_count };
		ok = 0;
		if
		:: BEHIND -> push_reader(count_begin(write - 1)); ok = 1
		:: else ->
			if
			:: equation_subbuf_written(write, read)
			:: else ->
				atomic { seen = reference[count_index(read)];
					physical = reference_physical(seen) };
				subbuf_ready()
			fi;
			if
			:: !ok -> break
			:: else
			fi;
#ifdef FLIGHT
#ifdef MUTANT_EXCHANGE_WRITING
			seen = reference_tag(seen);
#else
#ifndef MUTANT_DELIVER_NOT_HELPED
			if
			:: reference_tag(seen) == (reference_state(read) | WRITING) ->
				deliver(read, physical,
					WRAP(count_commit_empty(read) + SUBBUF));
				goto again
			:: else
			fi;
#endif
			seen = reference_state(read);
#endif
#ifndef MUTANT_FILL_LATE
			commit_fill(spare);
#endif
			atomic {
				if
				:: reference[count_index(read)] == (seen | physical) ->
					reference[count_index(read)] = seen | spare;
#ifdef MUTANT_FILL_LATE
					count = spare;
#endif
					spare = physical; fine = 1;
					OWN
				:: else
				fi
			};
			if
			:: fine ->
#ifdef MUTANT_FILL_LATE
				commit_fill(count); count = 0;
#endif
				break
			:: else
			fi
#else
			fine = 1;
			atomic { OWN };
			break
#endif
		fi;
again:		seen = 0;
		if
		:: round < READER_ROUNDS -> round++
		:: else -> break
		fi
	od;
	seen = 0; write = 0; round = 0;
	if
	:: fine ->
		fine = 0; ok = 1;
#ifdef MUTANT_PUT_EARLY
		put();
#endif
		audit_complete();
		FORGET(physical);
		owned = 0;
#ifndef MUTANT_PUT_EARLY
		put()
#endif
	:: else -> ok = 0; SINCE_ENDS(READS)
	fi;
	read = 0; physical = 0
}

#ifdef TAKES
byte quarantined; /* 1 + the physical sub-buffer last taken, if it is not settled yet */
byte quarantined_position;

#ifdef MUTANT_TAKE_ANY_LAP
#define TAKE_STATE true
#else
#define TAKE_STATE \
	(reference_tag(seen) == (reference_state(read) | WRITING) || \
	 reference_tag(seen) == reference_state(read - BUFFER))
#endif

/* The lowest of the sub-buffers that take may hand in; the caller knows there is one. */
inline choose_spare()
{
	d_step {
		count = 0;
		do
		:: (pool >> count) & 1 -> break
		:: else -> count++
		od;
		skip
	}
}

/* The recorder's walk over what was taken: [ring.walk:A]. */
inline audit_taken()
{
	unit = 1;
	do
	:: unit < SUBBUF ->
		atomic {
			mark = DATA(physical, unit);
			if
			:: IS_EVENT(mark) -> AUDIT_SLOT(read); COUNT_READ
			:: IS_END(mark) -> assert(MARK_STAMP(mark) == STAMP(read)); unit = SUBBUF
			:: IS_HOLE(mark) ->
				/* given up, counted: its writer is writing, or died at it */
				assert(MARK_STAMP(mark) == STAMP(read));
				assert(in_flight[MARK_WRITER(mark)]);
				if
				:: mark & RECORD -> writer = TID(MARK_WRITER(mark))
				:: else
				fi;
				unit = unit + MARK_SIZE(mark)
			:: else -> /* only a slot of a plain ring can be without a mark */
#ifdef PLAIN
				unit = SUBBUF
#else
				assert(false)
#endif
			fi;
			mark = 0
		}
	:: else -> break
	od;
	unit = 0; writer = 0
}

/* lull_ring_take(), then read what it gave and put it back. ok: there was something. */
inline consume_taken()
{
	atomic { read = read_count; SINCE(READS, read) };
	atomic { write = write_count }; /* [ring.take:A] */
	ok = 0;
	if
	:: BEHIND -> push_reader(count_begin(write - 1))
	:: else ->
		if
		:: equation_subbuf_written(write, read)
		:: else ->
			atomic { seen = reference[count_index(read)];
				physical = reference_physical(seen); fine = TAKE_STATE };
			if
			:: fine ->
				subbuf_ready();
				fine = !ok; ok = 0
			:: else
			fi
		fi
	fi;
	if
	:: fine ->
		choose_spare();
		commit_fill(count);
		atomic {
			if
			:: reference[count_index(read)] == seen ->
				reference[count_index(read)] = reference_state(read) | count;
				pool = pool & ~(1 << count);
				quarantined = physical + 1; quarantined_position = read;
				ok = 1;
				OBTAIN(read)
			:: else
			fi
		};
		fine = 0; count = 0
	:: else
	fi;
	seen = 0; write = 0;
	if
	:: ok -> audit_taken(); put()
	:: else -> SINCE_ENDS(READS)
	fi;
	read = 0; physical = 0
}

/* lull_ring_settled(): what all its writers left is as good as new. */
inline settle()
{
	atomic {
		if
		:: equation_subbuf_ready(commit_count[quarantined - 1], quarantined_position) ->
			assert(busy[quarantined - 1] == 0);
			FORGET(quarantined - 1);
			pool = pool | (1 << (quarantined - 1));
			quarantined = 0; quarantined_position = 0
		:: else
		fi
	}
}
#endif

#ifdef PEEKS
/* lull_ring_peek(); if it says complete, what it gave is. */
inline peek()
{
	atomic { read = read_count; SINCE(READS, read) };
	atomic { write = write_count };
	if
	:: count_begin(write) == count_begin(read) && count_offset(write) != 0 ->
		atomic { seen = reference[count_index(read)]; physical = reference_physical(seen) };
		if
		:: reference_tag(seen) == (reference_state(read) | WRITING) ->
			atomic { added = commit_bytes(commit_count[physical], read) };
#ifdef MUTANT_PEEK_ONCE
			fine = 1;
#else
			atomic { fine = write_count == write }; /* [ring.peek:A] */
#endif
			fine = fine && added == count_offset(write);
			added = 0
		:: else
		fi
	:: else
	fi;
	if
	:: fine -> unit = 1;
		do
		:: unit < count_offset(write) ->
			atomic {
				mark = DATA(physical, unit);
				if
				:: IS_EVENT(mark) && MARK_STAMP(mark) == STAMP(read) &&
				   ((mark & RECORD) || writer == TID(MARK_WRITER(mark))) ->
					writer = TID(MARK_WRITER(mark));
					unit = unit + MARK_SIZE(mark)
				:: else -> fine = 0; unit = SUBBUF
				fi;
				mark = 0
			}
		:: else -> break
		od;
#ifdef FLIGHT
		/* lull_ring_unchanged(): else what was read counts for nothing */
		atomic { assert(fine || reference[count_index(read)] !=
				(reference_state(read) | WRITING | physical)) }
#else
		assert(fine)
#endif
	:: else
	fi;
	SINCE_ENDS(READS);
	read = 0; write = 0; seen = 0; physical = 0; unit = 0; writer = 0; fine = 0
}
#endif

/* All writers ended or died, and the reader found nothing more: nothing is left behind. */
inline audit_end()
{
	d_step {
		assert(count_begin(write_count) == read_count);
		physical = reference_physical(reference[count_index(write_count)]);
		unit = 1;
		do
		:: unit < count_offset(write_count) ->
			mark = DATA(physical, unit);
			if
			:: IS_HOLE(mark) -> assert(dead); unit = unit + MARK_SIZE(mark)
#ifdef PLAIN
			:: !MARK_SIZE(mark) -> assert(dead); unit = count_offset(write_count)
#endif
			:: else -> AUDIT_SLOT(read_count)
			fi
		:: else -> break
		od;
		assert(unit == count_offset(write_count) || count_offset(write_count) == 0);
		unit = 0; mark = 0; writer = 0; physical = 0
	}
}
