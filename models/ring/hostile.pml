/* SPDX-License-Identifier: MIT */
/*
 * A ring whose shared words another process changes at will. Papers: B 4.3 (what is bounded when
 * every process is honest); the hostile neighbour is ours. C: core/ring/ring_fast.h
 * reserve_fast(), core/ring/ring.c lull_ring_reserve_slow(), switch_subbuf(), reference_open(),
 * lull_ring_deliver(), lull_ring_push_reader(), core/ring/reader.c lull_ring_get(),
 * lull_ring_take(), lull_ring_stuck(), lull_ring_peek().
 *
 *	writer                                   | reader
 *	write count: any                         | read count, write count: any
 *	reference: any, masked                   | reference: any, masked
 *	fits: publish, or look again             | commit count: any, bounded by a sub-buffer
 *	does not fit: open, close, push, deliver | exchange, or look again
 *	at most ROUNDS looks, then it is lost    | at most ROUNDS looks, then nothing
 *	write the slot; add to the commit count  | read the sub-buffer
 *
 * A process that may store any value at any moment is a memory whose every load returns any value,
 * and in which a compare-and-swap succeeds or fails as it likes. So there is no hostile process
 * here, and no memory: LOOK() chooses; writer and reader have nothing in common and are searched
 * one by one. What holds, holds beside any number of such processes, and
 * on any machine.
 *
 * Proved: each byte that the writer writes and the reader reads lies in one sub-buffer of the
 * ring, in the bytes of the slot or of the packet header (assert); a call ends, however long the
 * words are changed (progress). Nothing is said about what the trace then holds.
 *
 * Bounds: a sub-buffer of 16 units, slots of 2 and of 8 at multiples of 2, a header of 4;
 * four physical sub-buffers, references that name up to eight. Left out: the clock, the lost
 * counters, the words of the commit, which no index or bound comes from.
 */
#define SUBBUF 16
#define ALIGN 2
#define HEADER 4
#define SLOT_SMALL 2
#define SLOT_LARGE 8
#define PHYSICAL 4
#define REFERENCES 8 /* values of a reference: physical indexes that fit its bits */
#define ROUNDS 3 /* C: LULL_ROUNDS_MAX, REFERENCE_ROUNDS, READER_ROUNDS */

#define LOOK(word, values) select(word : 0 .. ((values) - 1))

#ifdef MUTANT_PHYSICAL_UNMASKED
#define reference_physical(word) (word)
#else
#define reference_physical(word) ((word) & (PHYSICAL - 1))
#endif
#ifdef MUTANT_SLOT_UNALIGNED
#define slot_offset(count) (count)
#else
#define slot_offset(count) ((count) - (count) % ALIGN)
#endif
#ifdef MUTANT_ROUNDS_UNBOUNDED
#define ROUND_NEXT skip
#else
#define ROUND_NEXT round++
#endif
#ifdef MUTANT_STEPS_UNBOUNDED
#define STEP_NEXT skip
#else
#define STEP_NEXT step++
#endif

/* Units from @from on, @units of them, of physical sub-buffer @which, are written or read. */
inline touch(which, from, units)
{
	assert(which < PHYSICAL);
	assert((from) + (units) <= SUBBUF);
}

/* C: reference_open(). @open: 1 when it found or made the reference a writing one. */
inline reference_open()
{
	atomic { step = 0; open = 0 };
	do
	:: step == ROUNDS -> break
	:: else ->
		LOOK(reference, REFERENCES);
		physical = reference_physical(reference);
		if
		:: open = 1; break /* writing already, or set by our compare-and-swap */
		:: break /* of another lap */
		:: STEP_NEXT /* the compare-and-swap failed */
		fi
	od
}

/* C: lull_ring_deliver(), lull_ring_push_reader(): a word is raised, unless others raise it. */
inline raise()
{
	step = 0;
	do
	:: step == ROUNDS -> break
	:: else ->
		if
		:: break
		:: STEP_NEXT
		fi
	od
}

/* C: header_begin(), header_end(): by whoever opens or closes. */
inline header_write()
{
	touch(physical, 0, HEADER)
}

/* C: switch_subbuf(); its caller looks again in any case, or gives the event up. */
inline switch_subbuf(offset)
{
	LOOK(reference, REFERENCES); /* may_open() */
	physical = reference_physical(reference);
	raise(); /* it delivers what a dead writer left */
	reference_open();
	if
	:: open ->
		touch(physical, slot_offset(offset), 1); /* the end mark */
		if
		:: skip /* the publication failed */
		:: raise(); header_write(); raise(); reference_open();
			if
			:: open -> header_write()
			:: else
			fi
		fi
	:: else
	fi
}

#ifndef READER
active proctype writer()
{
	byte offset, reference, physical, units, round, step;
	bit open, reserved;

	do
	:: if
		:: units = SLOT_SMALL
		:: units = SLOT_LARGE
		fi;
		atomic { round = 0; reserved = 0 };
		LOOK(offset, SUBBUF);
		if
		:: slot_offset(offset) + units < SUBBUF -> /* C: reserve_fast() */
			LOOK(reference, REFERENCES);
			physical = reference_physical(reference);
			if
			:: reserved = 1
			:: skip
			fi
		:: skip
		fi;
		do
		:: reserved || round == ROUNDS -> break
		:: else ->
			LOOK(offset, SUBBUF);
			if
			:: offset == 0 || slot_offset(offset) + units > SUBBUF ->
				switch_subbuf(offset)
			:: else ->
				reference_open();
				if
				:: open -> reserved = 1
				:: skip
				fi
			fi;
			ROUND_NEXT
		od;
		if
		:: reserved ->
			touch(physical, slot_offset(offset), units);
			assert(slot_offset(offset) % ALIGN == 0);
			raise()
		:: else /* lost, and counted */
		fi;
progress:	atomic { offset = 0; reference = 0; physical = 0; open = 0 }
	od
}

#else
active proctype reader()
{
	byte reference, physical, committed, round, step;

	do
	:: atomic { round = 0; step = 0 };
		do
		:: round == ROUNDS -> break
		:: else ->
			LOOK(reference, REFERENCES);
			physical = reference_physical(reference);
			LOOK(committed, 2 * SUBBUF);
#ifndef MUTANT_COMMITTED_UNBOUNDED
			if
			:: committed > SUBBUF -> committed = SUBBUF
			:: else
			fi;
#endif
			touch(physical, 0, committed);
			if
			:: raise(); break /* got, taken or looked at */
			:: round++ /* the exchange failed: C: a for loop of READER_ROUNDS */
			fi
		od;
progress:	atomic { reference = 0; physical = 0; committed = 0 }
	od
}
#endif
