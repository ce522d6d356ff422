/* SPDX-License-Identifier: MIT */
/*
 * The writer's side: core/ring/ring.c and ring_fast.h, one shared access per step.
 *
 * Each inline works on the variables that WRITER declares in the process that uses it; they
 * are 0 when they are not in use. A handler does not interrupt the switch of a sub-buffer between
 * the load of a word and the steps that depend on that word alone. Paper: B 4.3.1 (algorithms
 * 1-4), T 8.5, 8.6.
 */
#define WRITER                                                                     \
	byte count, until, begin, physical, seen, added, seq, cycles, size;            \
	bit ok, record, refused_right;                                             \
	byte verdict

#define AGAIN 0
#define YES 1
#define LOST_FULL 2
#define LOST_OVERFLOW 3

/* commit.seq never says more than was committed. */
#define SEQ_RIGHT(place) assert(!LATER(commit_seq[place], commit_count[place]))

/* lull_ring_deliver(): of the sub-buffer of @position, in @place, whose commits say @committed. */
#ifdef MUTANT_SEQ_MASKED
#define IS_LATER(a, b) LATER(a, b)
#else
#define IS_LATER(a, b) LATER_COMMIT(a, b)
#endif

inline deliver(position, place, committed)
{
	atomic { seq = commit_seq[place] };
	do
	:: atomic { IS_LATER(committed, seq) ->
		if
		:: commit_seq[place] == seq -> /* [ring.deliver:A] */
			commit_seq[place] = committed; seq = committed;
			SEQ_RIGHT(place)
		:: else -> seq = commit_seq[place]
		fi }
	:: atomic { !IS_LATER(committed, seq) ->
		if
		:: reference[count_index(position)] ==
				(reference_state(position) | WRITING | (place)) ->
			reference[count_index(position)] = reference_state(position) | (place)
		:: else
		fi;
		seq = 0; break }
	od
}

inline commit_add(position, place, units)
{
	atomic {
		added = WRAP(commit_count[place] + (units)); /* [ring.commit:B] */
		commit_count[place] = added
	};
	if
#ifdef MUTANT_SEQ_EARLY
	:: true -> deliver(position, place, added)
#else
	:: count_offset(added) == 0 -> deliver(position, place, added)
	:: else
#endif
	fi;
	added = 0
}

/* The reference of the open sub-buffer of @at, set to writing. ok: 0 when @at is out of date. */
inline reference_open(at)
{
	do
	:: atomic { seen = reference[count_index(at)]; physical = reference_physical(seen) };
#ifdef MUTANT_REFERENCE_NOT_SET
		ok = 1; break
#else
		if
		:: reference_tag(seen) == (reference_state(at) | WRITING) -> ok = 1; break
		:: reference_tag(seen) != (reference_state(at) | WRITING) &&
		   reference_tag(seen) != reference_state((at) - BUFFER) -> ok = 0; break
		:: reference_tag(seen) == reference_state((at) - BUFFER) ->
			atomic {
				if
				:: reference[count_index(at)] == seen ->
					reference[count_index(at)] =
						reference_state(at) | WRITING | physical;
					ok = 1
				:: else -> ok = 0
				fi
			};
			if
			:: ok -> break
			:: else
			fi
		fi
#endif
	od;
	seen = 0
}

/* The step of lull_publish(): @mark in the first unit of the slot, @word in run. */
#ifdef MUTANT_NO_MARK
#define LEAVE_MARK(mark) skip
#else
#define LEAVE_MARK(mark) MAY_WRITE(physical); DATA(physical, count_offset(count)) = mark
#endif
#ifdef MUTANT_NO_PHYSICAL
#define LEAVE_PHYSICAL skip
#else
#define LEAVE_PHYSICAL physical_ = physical
#endif
/*
 * Counts of few bits overflow soon. Where WINDOWED, no process is overtaken by more than a lap
 * and a half between two loads of the counts; 64 bits suffice for every real overtaking.
 */
#ifdef WINDOWED
#define NEAR(who) !(within[who] && WRAP(until - since[who]) > BUFFER + SUBBUF)
#define WINDOW NEAR(0) && NEAR(1) && NEAR(READS)
#define SINCE(who, at) within[who] = 1; since[who] = at
#define SINCE_ENDS(who) within[who] = 0; since[who] = 0
#define EXPECT_NO_LESS \
	if \
	:: LATER(read_count - SUBBUF, expected) -> expected = WRAP(read_count - SUBBUF) \
	:: else \
	fi
#else
#define WINDOW true
#define SINCE(who, at) skip
#define SINCE_ENDS(who) skip
#define EXPECT_NO_LESS skip
#endif

#ifdef EVENTS_B /* a single writer is not overtaken */
#define WRITER_SINCE(me) SINCE(me, count)
#define WRITER_SINCE_ENDS(me) SINCE_ENDS(me)
#else
#define WRITER_SINCE(me) skip
#define WRITER_SINCE_ENDS(me) skip
#endif

inline publish(marked, mark, word, slot_of)
{
#ifdef PLAIN
	atomic { WINDOW ->
		if
		:: write_count == count ->
			write_count = until; ok = 1;
			if :: slot_of < 2 -> in_flight[slot_of] = 1 :: else fi
		:: else -> ok = 0
		fi
	};
	if
	:: ok && marked -> atomic { LEAVE_MARK(mark) } /* [ring.publish:A] */
	:: else
	fi
#else
	if
	:: atomic { WINDOW ->
		if
		:: write_count == count ->
			if :: marked -> LEAVE_MARK(mark) :: else fi; /* [ring.publish:A] */
			LEAVE_PHYSICAL; run_ = word; write_count = until; ok = 1;
			if :: slot_of < 2 -> in_flight[slot_of] = 1 :: else fi
		:: else -> ok = 0
		fi }
#ifdef INTERRUPTED
	:: atomic { refusals > 0 && write_count == count ->
		refusals--; run_ = word; ok = 0 }
	:: atomic { refusals > 0 && write_count == count ->
		refusals--; run_ = word; LEAVE_PHYSICAL; ok = 0 }
	:: atomic { refusals > 0 && write_count == count ->
		refusals--; run_ = word; LEAVE_PHYSICAL;
		if :: marked -> LEAVE_MARK(mark) :: else fi; ok = 0 }
#endif
	fi
#endif
}

/* lull_ring_push_reader(): past what the sub-buffer opened at @from overwrites. */
inline push_reader(from)
{
	atomic { seen = read_count };
	do
	:: atomic { LATER((from) + SUBBUF - BUFFER, seen) ->
		if
		:: read_count == seen ->
			/* only over a sub-buffer whose place is in use again */
			assert(LATER(write_count, from));
			read_count = WRAP((from) + SUBBUF - BUFFER); seen = read_count;
			EXPECT_NO_LESS
		:: else -> seen = read_count
		fi }
	:: !LATER((from) + SUBBUF - BUFFER, seen) -> seen = 0; break
	od
}

/* What this thread sees of the sub-buffer that was in the place of @begin. verdict: may it? */
#define BEFORE reference_state(begin - BUFFER)
inline may_open()
{
	atomic {
		seen = reference[count_index(begin)]; physical = reference_physical(seen);
		/* the loss is right if at this instant the one before is incomplete */
		refused_right = write_count == count &&
			commit_bytes(commit_count[physical], begin) != 0
	};
	atomic { added = commit_count[physical] }; /* [ring.open:B] */
	if
	:: reference_tag(seen) == (BEFORE | WRITING) && equation_fully_committed(added, begin) ->
		deliver(WRAP(begin - BUFFER), physical, added); verdict = AGAIN
	:: else ->
		if
		:: reference_tag(seen) != BEFORE && reference_tag(seen) != (BEFORE | WRITING) ->
			verdict = AGAIN
		:: else ->
			if
			:: !equation_fully_committed(added, begin) ->
#if !defined(MUTANT_REFERENCE_ONCE) && !defined(MUTANT_LOST_UNCHECKED)
				atomic {
					if
					:: reference[count_index(begin)] == seen ->
						verdict = LOST_OVERFLOW
					:: else -> verdict = AGAIN
					fi
				}
#else
				verdict = LOST_OVERFLOW
#endif
#if defined(FLIGHT) || defined(MUTANT_OPEN_UNREAD)
			:: else -> verdict = YES
#else
			:: else -> atomic { /* [ring.open:A] */
				if
				:: equation_buffer_full(begin, read_count) ->
					verdict = LOST_FULL;
					/* or if at this one it is full */
					refused_right = write_count == count
				:: else -> verdict = YES
				fi }
#endif
			fi
		fi
	fi;
	seen = 0; added = 0; physical = 0
}

/* Leave the sub-buffer of @count; @opens: for the next one. verdict: LOST_..., or another. */
inline switch_subbuf(opens)
{
	verdict = YES;
	begin = count;
	if
	:: count_offset(count) != 0 -> begin = WRAP(count_begin(count) + SUBBUF)
	:: else
	fi;
	if
	:: opens -> may_open()
	:: else
	fi;
	if
	:: verdict == LOST_FULL || verdict == LOST_OVERFLOW ->
		atomic {
			if
#ifndef MUTANT_LOST_UNCHECKED
			:: write_count != count -> verdict = AGAIN
			:: else ->
#else
			:: true ->
#endif
				/* lost only if at one instant there was no room for it */
				assert(refused_right); COUNT_LOST
			fi;
			refused_right = 0
		}
	:: else -> refused_right = 0
	fi;
	ok = 1;
	if
	:: verdict == YES && count_offset(count) != 0 -> reference_open(count)
	:: else
	fi;
	if
	:: verdict == YES && ok ->
		until = begin;
		if
		:: opens -> until = WRAP(begin + 1)
		:: else
		fi;
		publish(count_offset(count) != 0, MARK(EVENT, 0, 0, count), 0, 2)
	:: else -> ok = 0
	fi;
#ifdef FLIGHT
	if
	:: ok && opens -> push_reader(begin)
	:: else
	fi;
#endif
	if
	:: ok && count_offset(count) != 0 -> /* switch_old() */
		atomic { MAY_WRITE(physical);
			header_end[physical] = (count_offset(count) - 1) | STAMP(count) };
		commit_add(count, physical, SUBBUF - count_offset(count))
	:: else
	fi;
	if
	:: ok && opens -> /* switch_new() */
		reference_open(begin);
		if
		:: ok ->
			atomic { MAY_WRITE(physical);
				DATA(physical, 0) = MARK(1, 0, 0, begin) };
			commit_add(begin, physical, 1)
		:: else /* closed and taken by the reader meanwhile */
		fi
	:: else
	fi;
	ok = 0; physical = 0; begin = 0; until = 0
}

/* Its run goes on and the slot fits with room to spare, or not: ring_fast.h's first lines. */
#ifdef MUTANT_RUN_AT_END
#define FAST_OFFSET(units) (count_offset(count) + (units) < SUBBUF)
#else
#define FAST_OFFSET(units) (count_offset(count) != 0 && count_offset(count) + (units) < SUBBUF)
#endif
#define PUBLISH_SLOT(me)                                                                        \
	publish(true, MARK(size, record, me, count), RUN_AFTER(me), me)
#ifdef PLAIN
#define RUN_AFTER(me) 0
#else
#define RUN_AFTER(me) run_word(TID(me), until)
#endif

#ifdef COVER_FAST
#define FAST_REACHED assert(!ok)
#else
#define FAST_REACHED skip
#endif

inline reserve_fast(me, units)
{
	ok = 0;
#ifndef PLAIN
	atomic { count = write_count; WRITER_SINCE(me) };
	atomic { ok = run_ == run_word(TID(me), count) && FAST_OFFSET(units) };
	if
	:: ok ->
		atomic { physical = physical_ };
		atomic { cycles = write_count };
		size = units; record = 0; until = WRAP(count + size);
		PUBLISH_SLOT(me);
		FAST_REACHED
	:: else
	fi
#endif
}

inline reserve_slow(me, units)
{
#ifdef MUTANT_TIME_ONCE
	cycles = WORD;
#endif
	do
	:: atomic { count = write_count; WRITER_SINCE(me) };
#ifdef MUTANT_TIME_ONCE
		if
		:: cycles == WORD -> atomic { cycles = write_count }
		:: else
		fi;
#else
		atomic { cycles = write_count };
#endif
		atomic { record = run_ != run_word(TID(me), count); size = (units) + record };
		if
		:: count_offset(count) == 0 || count_offset(count) + size > SUBBUF ->
			switch_subbuf(true);
			if
			:: verdict == LOST_FULL || verdict == LOST_OVERFLOW -> break
			:: else
			fi
		:: else ->
			verdict = YES;
			reference_open(count);
			if
			:: ok -> until = WRAP(count + size); PUBLISH_SLOT(me)
			:: else
			fi;
			if
			:: ok -> break
			:: else
			fi
		fi
	od
}

/* lull_ring_reserve(), the payload, lull_ring_commit(). */
inline write_event(me, units)
{
	reserve_fast(me, units);
	if
	:: ok -> verdict = YES
	:: else -> reserve_slow(me, units)
	fi;
	if
	:: verdict == YES ->
		/* I3: the slot's time is that of its place, so that time never steps back */
		atomic { assert(cycles == count); cycles = 0 };
		if
		:: count_offset(until) == 0 -> /* EndSwitchCurrent */
			atomic { MAY_WRITE(physical);
				header_end[physical] = (SUBBUF - 1) | STAMP(count) }
		:: else
		fi;
		atomic { /* slot_begin() and the caller's payload: from here to the header word */
			MAY_WRITE(physical);
			assert(!((busy[physical] >> count_offset(count)) & 1));
			busy[physical] = busy[physical] | (1 << count_offset(count))
		};
#ifdef MUTANT_COMMIT_EARLY
		commit_add(count, physical, size);
#endif
		atomic { /* [ring.commit:A], for [ring.walk:A] of the recorder */
			MAY_WRITE(physical);
			busy[physical] = busy[physical] & ~(1 << count_offset(count));
			DATA(physical, count_offset(count)) = EVENT | MARK(size, record, me, count);
			in_flight[me] = 0;
			COUNT_WRITTEN
		};
#ifndef MUTANT_COMMIT_EARLY
		commit_add(count, physical, size);
#endif
	:: else
	fi;
	WRITER_SINCE_ENDS(me);
	count = 0; until = 0; physical = 0; cycles = 0; size = 0; ok = 0; record = 0; verdict = 0
}

/* lull_ring_force_switch() */
inline force_switch()
{
	atomic { count = write_count };
	if
	:: count_offset(count) > 1 -> switch_subbuf(false)
	:: else
	fi;
	count = 0; verdict = 0
}
