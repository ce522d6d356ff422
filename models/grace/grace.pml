/* SPDX-License-Identifier: MIT */
/*
 * The updater's side of grace periods, statement by statement as in rcu/grace/grace.c; included
 * by the models of this folder after reader.pml. Paper: T 6.4.2-6.4.4, 7.6; ADR 0009.
 *
 *	synchronize	drive			advance			end
 *	snap		until seq >= target	seq even? begin		seq + 1, release
 *	lock		  advance		scan			ended + 1, wake all
 *	driven? sleep	  missing? mark, heavy	all seen? end		driven: left + 1, wake
 *	  else drive	  scan, sleep on left
 *	unlock, fence	ended + 1, wake all
 *
 * One shared access per step. A step may also contain accesses to what only the holder of the lock
 * touches: the lists (pending and linked, a bit for each reader; their order is left out), phase,
 * driven, driver_asleep, sleepers, and the holder's own load of counter or seq, which no other
 * thread can change then. A fence shares the step of the access after it, because memory may do at
 * any time what a fence makes it do.
 *
 * Differences from the source, and why no error is missed because of them:
 *	left, ended	are outside of the machines' memory, modulo 8. They are changed by full
 *			operations, and read by a thread that has just taken the lock; an older
 *			value would only make the kernel's comparison fail, which is the same as
 *			a wake-up without cause (SPURIOUS)
 *	lock		take acquires, release releases. A word of memory on TSO and with
 *			BARRIERS_ORDER_ONLY; elsewhere free at once: a thread that sees it taken
 *			for longer acts like one that arrived earlier
 *	RCU_SPINS	0 with SLEEP; without SLEEP the driver spins for ever and no thread sleeps
 *	seq, counter	count modulo 16 and 8 (8 and 4 with ENDLESS); no model has so many grace
 *			periods beside one section or one call
 *	fence_heavy	membarrier: all CPUs, in any order; signals: the readers' only, one step
 *			each. barrier.pml models how signals are sent and answered
 *
 * Not modelled: fork (keep_only), what thread.c tells the kernel about threads.
 *
 * Mutants: those of rcu/grace in port/sched/mutants.h, which says what each changes, and those of
 * period.pml, sleep.pml and schedule.pml, whose headers say what catches them.
 *
 * A model defines, before it includes this: READERS, UPDATERS, one of FLAVOUR_MEMB,
 * FLAVOUR_SIGNAL, FLAVOUR_FULL, FLAVOUR_QSBR; OWN(cpu), the bit of the caller's own reader, or 0;
 * perhaps TWO_PHASES, SLEEP, SPURIOUS. Each updater has the locals target, seen, look, advanced.
 */
byte pending; /* list: readers not yet seen outside old sections */
byte phase;
bit driven, driver_asleep;
byte sleepers;
byte sleepers_queued; /* in the kernel's queue of ended: a bit for each CPU */

#ifdef ENDLESS
#define SEQ_MASK 7
#define PERIOD_MASK 12
#else
#define SEQ_MASK 15
#define PERIOD_MASK 28
#endif
#ifdef TWO_PHASES
#undef PERIOD_MASK
#define PERIOD_MASK 4
#endif

#define NEXT_COUNTER(counter) (((((counter) & PERIOD_MASK) + NEST_MASK + 1) & PERIOD_MASK) | 1)
#ifdef MUTANT_WAIT_FOR_NEW
#define IS_OLD(word, counter) ((word) & NEST_MASK)
#else
#define IS_OLD(word, counter) (((word) & NEST_MASK) && (((word) ^ (counter)) & PERIOD_MASK))
#endif
#define IS_PENDING(r) ((pending >> (r)) & 1)
#define SEQ_REACHED(seq, to) ((((seq) + SEQ_MASK + 1 - (to)) & SEQ_MASK) <= SEQ_MASK / 2)

/* I2 of the source, seen whenever the lock is released. */
#define PERIOD_RUNS(cpu) (LOAD(cpu, SEQ) & 1)

#ifdef LOCK
inline lock_take(cpu)
{
#ifdef MACHINE_TSO
	d_step { mem[LOCK] == 0 -> barrier_(cpu); mem[LOCK] = 1 }
#else
	d_step { mem[LOCK] == 0 -> fetch_all_(cpu); write_through_(cpu, LOCK, 1) }
#endif
}

inline lock_release(cpu)
{
	assert(PERIOD_RUNS(cpu) || pending == 0);
	STORE_RELEASE(cpu, LOCK, 0)
}
#define LOCK_IS_FREE (mem[LOCK] == 0)
#else
bit lock;

inline lock_take(cpu)
{
	d_step { lock == 0 -> lock = 1; fetch_all_(cpu) }
}

inline lock_release(cpu)
{
	assert(PERIOD_RUNS(cpu) || pending == 0);
	d_step { order_stores_(cpu); lock = 0 }
}
#define LOCK_IS_FREE (lock == 0)
#endif

/* rcu_grace_fence_heavy(), which begins with [grace.ask:A] and ends with [grace.ask:B]. */
inline fence_heavy(cpu)
{
#if defined(FLAVOUR_MEMB)
	atomic {
		if
		:: linked == OWN(cpu) -> SMP_MB(cpu)
		:: else -> HEAVY_BEGIN(cpu)
		fi
	};
	HEAVY_END(cpu)
#elif defined(FLAVOUR_SIGNAL)
	/* Threads get the signals, not processors, and only readers do. Reader r is on CPU r. */
	d_step { barrier_(cpu); heavy_wanted[cpu] = linked & ~OWN(cpu) };
	HEAVY_END(cpu)
#else
	SMP_MB(cpu)
#endif
}

/* The add and the wake are one step: a thread that sleeps on ended read it under the lock. */
inline wake_sleepers(cpu)
{
#ifdef SLEEP
	d_step { barrier_(cpu); ended_count = (ended_count + 1) & 7; sleepers_queued = 0 }
#else
	SMP_MB(cpu)
#endif
}

/* Likewise, for the driver is asleep or holds the lock. */
inline wake_driver(cpu)
{
	d_step {
		barrier_(cpu);
		left_count = (left_count + 1) & 7;
		if
		:: driver_asleep -> driver_queued = 0
		:: else
		fi
	}
}

inline phase_begin(cpu)
{
	atomic {
		look = LOAD(cpu, COUNTER);
		look = NEXT_COUNTER(look);
		STORE(cpu, COUNTER, look);
		pending = linked;
		look = 0
	}
}

inline begin(cpu)
{
	atomic {
		look = (LOAD(cpu, SEQ) + 1) & SEQ_MASK;
		STORE(cpu, SEQ, look);
		look = 0
	};
#ifdef MUTANT_FLIP_EARLY
	phase_begin(cpu);
	fence_heavy(cpu)
#else
#ifndef MUTANT_BEGIN_NO_FENCE
	fence_heavy(cpu); /* [grace.begin:A] */
#endif
	phase_begin(cpu)
#endif
}

inline end(cpu)
{
	atomic {
		look = (LOAD(cpu, SEQ) + 1) & SEQ_MASK;
#ifdef MUTANT_END_RELAXED
		STORE(cpu, SEQ, look);
#else
		STORE_RELEASE(cpu, SEQ, look); /* [grace.end:A] */
#endif
		look = 0;
		phase = 0
	};
	wake_sleepers(cpu);
#if defined(SLEEP) && !defined(MUTANT_END_NO_WAKE)
	atomic {
		if
		:: driven -> wake_driver(cpu)
		:: else
		fi
	}
#endif
#ifdef COVER_ENDED_FOR_A_SLEEPING_DRIVER
	assert(!driver_asleep);
#endif
}

inline scan_reader(cpu, r)
{
	atomic {
		if
		:: IS_PENDING(r) ->
#ifdef MUTANT_SCAN_RELAXED
			look = LOAD(cpu, WORD(r));
#else
			LOAD_ACQUIRE(cpu, WORD(r), look); /* [grace.scan:A] */
#endif
			if
			:: IS_OLD(look, LOAD(cpu, COUNTER)) -> look = 0
			:: else -> look = 1; pending = pending & ~(1 << (r))
			fi
		:: else
		fi
	};
#ifdef SLEEP
	/* The look at waited and its clearing: meanwhile others can only clear it too. */
	atomic {
		if
#if !defined(VISITS) || defined(MUTANT_VISITOR_CLEARED)
		:: look && LOAD(cpu, WAITED(r)) -> STORE(cpu, WAITED(r), 0)
#endif
		:: else
		fi;
		look = 0
	}
#else
	look = 0
#endif
}

inline scan(cpu)
{
	scan_reader(cpu, 0);
#if READERS > 1
	scan_reader(cpu, 1);
#endif
	skip
}

inline end_if_seen(cpu)
{
	if
#ifdef MUTANT_END_EARLY
	:: pending = 0; end(cpu); advanced = 1
#else
	:: pending == 0 -> end(cpu); advanced = 1
	:: else -> advanced = 0
#endif
	fi
}

inline advance(cpu)
{
	if
	:: LOAD(cpu, SEQ) & 1
	:: else -> begin(cpu)
	fi;
	scan(cpu);
#if defined(TWO_PHASES) && !defined(MUTANT_ONE_PHASE)
	if
	:: pending == 0 && phase == 0 ->
		atomic { phase = 1; phase_begin(cpu) };
#if defined(SLEEP) && !defined(MUTANT_PHASE_NO_WAKE)
		atomic {
			if
			:: driver_asleep -> wake_driver(cpu)
			:: else
			fi
		};
#endif
		scan(cpu)
	:: else
	fi;
	if
	:: phase == 1 -> end_if_seen(cpu)
	:: else -> advanced = 0
	fi
#else
	end_if_seen(cpu)
#endif
}

inline spin(cpu)
{
	atomic { lock_release(cpu) };
	lock_take(cpu)
}

#ifdef SLEEP
#ifdef SPURIOUS
#define FUTEX_SLEEP(queued, unqueue) \
	if \
	:: !(queued) \
	:: atomic { queued -> unqueue } \
	fi
#else
#define FUTEX_SLEEP(queued, unqueue) !(queued)
#endif

inline mark(cpu, r)
{
	atomic {
		if
		:: IS_PENDING(r) -> STORE(cpu, WAITED(r), 1)
		:: else
		fi
	}
}

inline sleep_for_readers(cpu)
{
	seen = left_count;
	mark(cpu, 0);
#if READERS > 1
	mark(cpu, 1);
#endif
#ifndef MUTANT_SLEEP_NO_FENCE
	fence_heavy(cpu); /* [grace.sleep:A] */
#endif
	scan(cpu);
	if
	:: pending == 0
	:: else ->
		atomic { driver_asleep = 1; lock_release(cpu) };
		d_step { /* lull_futex_wait(): compares with its queue locked */
			barrier_(cpu);
			driver_queued = (left_count == seen);
			seen = 0
		};
#ifdef COVER_DRIVER_SLEEPS
		assert(!driver_queued);
#endif
		FUTEX_SLEEP(driver_queued, driver_queued = 0);
		atomic { lock_take(cpu); driver_asleep = 0 }
	fi
}

inline sleep_for_driver(cpu)
{
	atomic { seen = ended_count; sleepers++; lock_release(cpu) };
	d_step {
		barrier_(cpu);
		if
		:: ended_count == seen -> sleepers_queued = sleepers_queued | (1 << (cpu))
		:: else
		fi;
		seen = 0
	};
#ifdef COVER_CALLER_SLEEPS
	assert(!((sleepers_queued >> (cpu)) & 1));
#endif
	FUTEX_SLEEP((sleepers_queued >> (cpu)) & 1,
		    sleepers_queued = sleepers_queued & ~(1 << (cpu)));
	atomic { lock_take(cpu); sleepers-- }
}

#else
inline sleep_for_readers(cpu)
{
	spin(cpu)
}

inline sleep_for_driver(cpu)
{
	spin(cpu)
}
#endif

inline drive(cpu)
{
	driven = 1;
	do
	:: SEQ_REACHED(LOAD(cpu, SEQ), target) -> break
	:: else ->
		advance(cpu);
		if
		:: advanced
		:: else -> sleep_for_readers(cpu)
		fi
	od;
	atomic {
		driven = 0;
#ifndef MUTANT_DRIVE_NO_WAKE
		wake_sleepers(cpu)
#endif
	}
}

/* The seq that is reached when a grace period has run that begins from now on. */
inline snap(cpu)
{
	atomic {
#ifndef MUTANT_SNAP_NO_FENCE
		SMP_MB(cpu); /* [grace.snap:A] */
#endif
#ifdef MUTANT_SNAP_RUNNING
		target = (LOAD(cpu, SEQ) + 2) & SEQ_MASK & 254 /* the one that runs, or the next */
#else
		target = (LOAD(cpu, SEQ) + 3) & SEQ_MASK & 254
#endif
	}
}

inline synchronize(cpu)
{
	snap(cpu);
	lock_take(cpu);
	do
	:: SEQ_REACHED(LOAD(cpu, SEQ), target) -> break
	:: else ->
		if
		:: driven -> sleep_for_driver(cpu)
		:: else -> drive(cpu)
		fi
	od;
	atomic { lock_release(cpu); target = 0 };
#ifndef MUTANT_RETURN_NO_FENCE
	SMP_MB(cpu); /* [grace.return:A] */
#endif
	skip
}

inline synchronize_expedited(cpu)
{
	snap(cpu);
	lock_take(cpu);
	do
	:: SEQ_REACHED(LOAD(cpu, SEQ), target) -> break
	:: else ->
		advance(cpu);
		if
		:: advanced
		:: else -> spin(cpu)
		fi
	od;
	atomic { lock_release(cpu); target = 0 };
#ifndef MUTANT_RETURN_NO_FENCE
	SMP_MB(cpu); /* [grace.return:A] */
#endif
	skip
}

/* advanced is the answer. */
inline is_done(cpu)
{
	atomic {
#ifdef MUTANT_DONE_RELAXED
		look = LOAD(cpu, SEQ);
#else
		LOAD_ACQUIRE(cpu, SEQ, look); /* [grace.done:A] */
#endif
		advanced = SEQ_REACHED(look, target);
		look = 0
	}
}

inline poll(cpu)
{
	is_done(cpu);
	if
	:: advanced
	:: else ->
		if
		:: atomic { LOCK_IS_FREE -> lock_take(cpu) };
			advance(cpu);
			if
			:: advanced && !SEQ_REACHED(LOAD(cpu, SEQ), target) -> advance(cpu)
			:: else
			fi;
			atomic { lock_release(cpu) }
		:: else
		fi;
		is_done(cpu)
	fi
}

inline start(cpu)
{
	snap(cpu);
	poll(cpu)
}

/* Readers that come and go. */
inline link_reader(cpu, r)
{
	lock_take(cpu);
	atomic { linked = linked | (1 << (r)); lock_release(cpu) }
}

inline unlink_reader(cpu, r)
{
	lock_take(cpu);
	d_step { linked = linked & ~(1 << (r)); pending = pending & ~(1 << (r)) };
#ifdef SLEEP
	STORE(cpu, WAITED(r), 0);
#endif
#if defined(SLEEP) && !defined(MUTANT_UNLINK_NO_WAKE)
	atomic {
		if
		:: driven && pending == 0 -> wake_driver(cpu)
		:: else
		fi
	};
#endif
	atomic { lock_release(cpu) }
}
