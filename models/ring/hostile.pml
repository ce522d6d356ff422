/* SPDX-License-Identifier: MIT */
/*
 * A ring whose shared words another process changes at will. Papers: B 4.3 (the bounds that hold
 * while every process is honest); the hostile neighbour is ours. C: core/ring/ring_fast.h
 * reserve_fast(), core/ring/ring.c lull_ring_reserve_slow(), switch_subbuf(), reference_open(),
 * lull_ring_deliver(), lull_ring_push_reader(), core/ring/reader.c lull_ring_get(),
 * lull_ring_take(), lull_ring_stuck(), lull_ring_peek().
 *
 *	writer                                   | reader
 *	write count: any value                   | read count, write count: any value
 *	reference: any value, masked             | reference: any value, masked
 *	slot fits: publish, or another round     | commit count: any value, at most a sub-buffer
 *	does not fit: open, close, push, deliver | exchange, or another round
 *	after ROUNDS rounds the event is lost    | after ROUNDS rounds there is nothing to read
 *	write the slot; add to the commit count  | read the sub-buffer
 *
 * A process that may store any value at any moment has the effect that every load returns any
 * value, and that every compare-and-swap succeeds or fails arbitrarily. Therefore this model has
 * neither a hostile process nor memory: LOOK() chooses a value. Because the writer and the reader
 * then share nothing, each is searched alone. The result holds beside any number of hostile
 * processes and on any machine.
 *
 * Proved: each byte that the writer writes or the reader reads lies in one sub-buffer of the ring,
 * within the slot or the packet header that the call is about (assert); each call ends, however
 * long the words are changed (progress). The model says nothing about what the trace then holds.
 *
 * Mutants, and what catches each:
 *	PHYSICAL_UNMASKED	the index in a reference is used as it is; assert
 *	SLOT_UNALIGNED		a slot begins at the write count, aligned or not; assert
 *	COMMITTED_UNBOUNDED	a commit count may exceed the size of a sub-buffer; assert
 *	ROUNDS_UNBOUNDED	the rounds of reserve are not counted; progress
 *	STEPS_UNBOUNDED		a failed compare-and-swap is tried again without end; progress
 *
 * Bounds: a sub-buffer of 16 units, slots of 2 and of 8 units at multiples of 2, a header of 4;
 * four physical sub-buffers, and references that can name eight. Left out: the clock, the lost
 * counters, and the words of the commit, because no index or bound is computed from them.
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

/* C: header_begin(), header_end(): by the writer that opens or closes. */
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
