/* SPDX-License-Identifier: MIT */
/*
 * The synthetic clock: reads, the update, and an NMI's reads over both, at every instruction,
 * while time passes. Paper: T 4.6.3, figures 4.1 to 4.5; docs/design/30-clock.md.
 * C: core/clock/synthetic.h lull_synthetic_read(), _extend(); synthetic.c time_note(),
 * copy_publish().
 *
 *	thread                   | timer interrupt             | NMI, over either
 *	index     [clock.read:A] | index, that copy            | as the thread
 *	its copy  [clock.read:B] | counter                     |
 *	counter                  | other copy [clock.update:A] |
 *	extend                   | light barrier               |
 *	                         | index      [clock.update:B] |
 *
 * Everything happens on one CPU, which sees its own stores in program order, so no machine is
 * included. The light barrier restrains the compiler only: an update stores its four words in any
 * order, and the index after them.
 *
 * Proved, by assertions: a read returns a time between those at its beginning and its end, low by
 * at most JITTER. So reads that follow each other on a CPU do not go back, except by the jitter.
 * Proved, by wait_free: every cycle in which the thread executes contains the end of a read.
 * Beyond LATE, or when a read lasts over two updates (HELD_LONGER), a read returns a wrong time:
 * the caller's promises are needed.
 *
 * Mutants, and what catches each:
 *	CLOCK_NO_LIGHT		the index may be stored before the copy's words; assert
 *	CLOCK_INDEX_EARLY	the index is stored before the copy's words; assert
 *	CLOCK_ONE_COPY		the update writes the copy that readers use; assert
 *	CLOCK_NO_FLIP		the index is not changed; assert
 *	CLOCK_COUNTER_EARLY	a read loads the counter before the index; assert
 *	CLOCK_NO_TOLERANCE	a small step back of the counter counts as a period; assert
 *	SEQUENCE_LOCK		an NMI waits for the update that it interrupts; deadlock
 *	READ_AGAIN		a read starts again after an update; wait_free
 *
 * Bounds: a counter of BITS bits; halves of HALF_BITS bits, so that a counter has two of them;
 * times modulo 2^TIME_BITS, for ever: counter, low half and high half all overflow. At any step,
 * any time passes that keeps the caller's promises I2 and I3 of synthetic.c; the process named
 * time and the timer's guard enforce these. JITTER is how far a counter may read low. LATE is the
 * longest time between an update and a read that extends from it: three quarters of the period,
 * less the jitter, which the update's own load of the counter may have.
 *
 * Not modelled: a first time below one period, which start raises; sleep and wake-up, which are in
 * sleep.pml. Within the update, a pair of loads of words that only the update writes is one step.
 * 2.7 million states in 3 s unaltered, 2.3 million with jitter.
 */
#ifndef JITTER
#define JITTER 0
#endif
#ifndef BITS
#define BITS 3
#endif
#define HALF_BITS (BITS - 1)
#define TIME_BITS (BITS + 1)
#define PERIOD (1 << BITS)
#define MASK (PERIOD - 1)
#define BACKWARD_CYCLES (MASK >> 2)
#define TIME_MASK ((1 << TIME_BITS) - 1)
#define HALF_MASK ((1 << HALF_BITS) - 1)
#ifndef LATE
#define LATE (3 * PERIOD / 4 - JITTER)
#endif

/* Which process has the CPU; a process of a higher number may take it from a lower one. */
#define THREAD 0
#define TIMER 1
#define NMI 2
byte running;
#ifdef WAIT_FREE
/* They flip at each step of the thread, and at the end of each of its reads. */
bit stepped, finished;
#define STEP(me) running == me -> stepped = (me == THREAD -> !stepped : stepped);
#define FINISH finished = !finished
#else
#define STEP(me) running == me ->
#define FINISH skip
#endif

/* struct lull_synthetic */
byte index;
byte cycles_low[2], cycles_high[2], counter_low[2], counter_high[2];
#define JOIN(half, copy) (half##_high[copy] << HALF_BITS | half##_low[copy])

/* The stores of copy_publish() that took place, a bit each. */
byte stored;
#define CYCLES_LOW 1
#define CYCLES_HIGH 2
#define COUNTER_LOW 4
#define COUNTER_HIGH 8
#define INDEX 16

/* The world: true time, and what the caller has promised about it. */
byte now;
byte updated; /* when the last complete update looked at the counter */
bit holds[2]; /* this context is between taking the index and its counter */
byte base[2]; /* and this is the update that it extends from, at the latest */
bit updating; /* an update is under way */
bit outdated; /* the thread's read was interrupted by an update */
#define AGE(then) ((now - (then)) & TIME_MASK)

#ifdef COVER_UPDATED_WITHIN
#define COVER_READ assert(!outdated)
#else
#define COVER_READ skip
#endif
#ifdef COVER_NMI_OVER_STORES
#define COVER_NMI assert(!(outdated && stored == CYCLES_LOW))
#else
#define COVER_NMI skip
#endif
#ifdef COVER_BACKWARD
#define COVER_EXTEND(backward) assert(!((backward) > 0 && (backward) <= BACKWARD_CYCLES))
#else
#define COVER_EXTEND(backward) skip
#endif

/* The counter, with some of its jitter: any of it by the choice among these. */
inline counter_read(found)
{
	if
	:: found = now & MASK
#if JITTER > 0
	:: found = (now - JITTER) & MASK
#endif
	fi
}

#ifdef MUTANT_CLOCK_NO_TOLERANCE
#define IS_STEP_BACK(then, counter) false
#else
#define IS_STEP_BACK(then, counter) (((then) - (counter)) & MASK) <= BACKWARD_CYCLES
#endif

/* lull_synthetic_extend(): cycles becomes the time. */
inline extend(cycles, then, counter)
{
	COVER_EXTEND((then - counter) & MASK);
	if
	:: IS_STEP_BACK(then, counter) -> cycles = (cycles - ((then - counter) & MASK)) & TIME_MASK
	:: else -> cycles = (cycles + ((counter - then) & MASK)) & TIME_MASK
	fi
}

/* No time before the read began, less jitter; none after it ended. */
#define IS_RIGHT(cycles, begin) \
	(((cycles) - (begin) + JITTER) & TIME_MASK) <= AGE(begin) + JITTER

inline read_interrupted(me)
{
#ifdef MUTANT_READ_AGAIN
	skip;
again:
#endif
	atomic { STEP(me) begin = now; base[me] = updated; holds[me] = 1;
#ifdef MUTANT_CLOCK_COUNTER_EARLY
		counter_read(counter) };
	atomic { STEP(me)
#endif
		copy = index }; /* [clock.read:A] */
	atomic { STEP(me) cycles = cycles_high[copy] << HALF_BITS }; /* [clock.read:B] */
	atomic { STEP(me) cycles = cycles | cycles_low[copy] }; /* [clock.read:B] */
	atomic { STEP(me) then = counter_high[copy] << HALF_BITS }; /* [clock.read:B] */
#ifdef MUTANT_READ_AGAIN
	/* With a sequence lock, a reader that an update interrupted starts over. */
	if
	:: atomic { STEP(me) index != copy -> outdated = 0; goto again }
	:: atomic { STEP(me) index == copy -> skip }
	fi;
#endif
	atomic { STEP(me) then = then | counter_low[copy]; copy = 0 }; /* [clock.read:B] */
	atomic { STEP(me)
#ifndef MUTANT_CLOCK_COUNTER_EARLY
		counter_read(counter);
#endif
		extend(cycles, then, counter);
		COVER_READ;
		assert(IS_RIGHT(cycles, begin)); /* an event's time is the time it happened */
		holds[me] = 0; base[me] = 0;
		begin = 0; cycles = 0; then = 0; counter = 0 }
}

proctype thread()
{
	byte begin, copy, cycles, then, counter;

	do
	:: read_interrupted(THREAD);
		atomic { STEP(THREAD) outdated = 0; FINISH }
	od
}

/*
 * No other process runs on this CPU meanwhile, and time that passes within makes its result no
 * wronger: it is one step.
 */
proctype nmi()
{
	byte begin, copy, cycles, then, counter, under;

	do
	:: atomic { running != NMI -> under = running; running = NMI;
#ifdef MUTANT_SEQUENCE_LOCK
		/* The rejected design: a process that interrupts an update waits for its end. */
		!updating;
#endif
		begin = now;
		copy = index; /* [clock.read:A] */
		cycles = JOIN(cycles, copy); /* [clock.read:B] */
		then = JOIN(counter, copy); /* [clock.read:B] */
		counter_read(counter);
		extend(cycles, then, counter);
		COVER_NMI;
		assert(IS_RIGHT(cycles, begin)); /* also of an event in an NMI */
		begin = 0; copy = 0; cycles = 0; then = 0; counter = 0;
		running = under; under = 0 }
	od
}

#define WORDS (CYCLES_LOW | CYCLES_HIGH | COUNTER_LOW | COUNTER_HIGH)
#if JITTER > 0
#define MAY_FOLLOW(which) (stored & ((which) - 1)) == (which) - 1 /* their order in the text */
#else
#define MAY_FOLLOW(which) true
#endif
#define NOT_YET(which) running == TIMER && !(stored & (which))
#define COPY_STORE(which) NOT_YET(which) && MAY_FOLLOW(which)
#ifdef MUTANT_CLOCK_NO_LIGHT
#define BARRIER_LIGHT true
#else
#define BARRIER_LIGHT (stored & WORDS) == WORDS
#endif

inline copy_publish(next, cycles, counter)
{
#ifdef MUTANT_CLOCK_INDEX_EARLY
	atomic { STEP(TIMER) index = next };
#endif
	do
	:: atomic { COPY_STORE(CYCLES_LOW) -> cycles_low[next] = cycles & HALF_MASK;
		stored = stored | CYCLES_LOW } /* [clock.update:A] */
	:: atomic { COPY_STORE(CYCLES_HIGH) -> cycles_high[next] = cycles >> HALF_BITS;
		stored = stored | CYCLES_HIGH } /* [clock.update:A] */
	:: atomic { COPY_STORE(COUNTER_LOW) -> counter_low[next] = counter & HALF_MASK;
		stored = stored | COUNTER_LOW } /* [clock.update:A] */
	:: atomic { COPY_STORE(COUNTER_HIGH) -> counter_high[next] = counter >> HALF_BITS;
		stored = stored | COUNTER_HIGH } /* [clock.update:A] */
	:: atomic { NOT_YET(INDEX) && BARRIER_LIGHT ->
#ifndef MUTANT_CLOCK_NO_FLIP
		index = next; /* [clock.update:B] */
#endif
		stored = stored | INDEX }
	:: atomic { STEP(TIMER) stored == (WORDS | INDEX) -> stored = 0; break }
	od
}

proctype timer()
{
	byte copy, cycles, then, counter, noted;

	do
	:: atomic {
#ifdef HELD_LONGER
		running == THREAD ->
#else
		/* I3: a read is over before the update after next. */
		running == THREAD && !outdated ->
#endif
		running = TIMER; outdated = holds[THREAD];
		updating = 1; base[TIMER] = updated; holds[TIMER] = 1 };
		/* Only this process writes the copies, so its own loads are one step. */
		atomic { STEP(TIMER) copy = index;
			cycles = JOIN(cycles, copy); then = JOIN(counter, copy) };
		atomic { STEP(TIMER) counter_read(counter); noted = now;
			extend(cycles, then, counter);
			holds[TIMER] = 0; base[TIMER] = 0; then = 0;
#ifndef MUTANT_CLOCK_ONE_COPY
			copy = 1 - copy
#endif
			};
		copy_publish(copy, cycles, counter);
		atomic { STEP(TIMER) updated = noted; updating = 0; running = THREAD;
			copy = 0; cycles = 0; counter = 0; noted = 0 }
	od
}

#define PROMISED(since) (AGE(since) < LATE)
#define PROMISED_TO(me) (!holds[me] || PROMISED(base[me]))

/*
 * I2: time does not outrun the counter's period. Between the stores of an update none passes:
 * they do not look at it, an NMI between them has none before it that changed anything, and so
 * the same time may as well have passed before the first store.
 */
proctype time()
{
	do
	:: atomic { stored == 0 && PROMISED(updated) && PROMISED_TO(THREAD) && PROMISED_TO(TIMER) ->
		 now = (now + 1) & TIME_MASK }
#ifdef COVER_OVERFLOW
		; assert(now > 0 || updated < PERIOD)
#endif
	od
}

/* lull_synthetic_start() */
init
{
	atomic {
		/* The free copy holds no time at all. */
		cycles_low[1] = HALF_MASK; cycles_high[1] = HALF_MASK; counter_low[1] = HALF_MASK;
		run time();
		run thread();
		run timer();
		run nmi()
	}
}

#ifdef WAIT_FREE
/* A thread that goes on executing finishes its reads, whatever interrupts it how often. */
ltl wait_free { ([] <> stepped && [] <> !stepped) -> ([] <> finished && [] <> !finished) }
#endif
