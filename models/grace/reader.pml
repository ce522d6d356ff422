/* SPDX-License-Identifier: MIT */
/*
 * The read sides of grace periods, statement by statement as in rcu/include/lull/rcu/domain.h;
 * included first by the models of this folder. Paper: T 6.4.2-6.4.4, figures 6.4, 6.6, 6.8.
 *
 *	light			full (mb)		quiescent (qsbr)
 *	word = counter		word = counter, full	word == counter? nothing
 *	light fence		...			word = counter, full
 *	...			word = 0, full		waited? reader_left
 *	word - 1, release	waited? reader_left
 *	light fence
 *	waited? reader_left
 *
 * A reader's load of its own word shares the step of the access after it: only handlers of the
 * same thread write that word too, and they leave it as they found it.
 * The machines execute in order, so a light fence is only that the statements stand in their
 * order; its mutants exchange statements as a compiler could. A full store is one step where it is
 * one instruction (TSO, SC); elsewhere it is a store and a fence, and a handler can run between.
 *
 * rcu_reader_enter_auto() is enter_light() in a thread that has registered before (REGISTERS), or,
 * with VISITS, in one that is registered for each section and that the driver does not mark.
 * Each reader has the locals word and slot. Words are a period above 2 bits of nesting depth.
 */
#define NEST_MASK 3

byte linked; /* both lists of readers: a bit for each */
byte left_count, ended_count; /* futex words */
bit driver_queued; /* in the kernel's queue of left */

/* What begins as something else than 0. */
#ifdef MACHINE_ALPHA
#define SET_UP(v, x) \
	mem[v] = x; for (each_ : 0 .. CPUS - 1) { cached[LINE(each_, v)] = x }; each_ = 0
#else
#define SET_UP(v, x) mem[v] = x
#endif

#if defined(MACHINE_TSO) || defined(MACHINE_SC)
#define store_full(cpu, v, x) STORE_FULL(cpu, v, x)
#else
#define store_full(cpu, v, x) STORE_RELEASE(cpu, v, x); SMP_MB(cpu)
#endif

#ifdef SLEEP
/* rcu_domain_reader_left(): the wake is a step of its own, for the lock is not held. */
inline reader_left(cpu, r)
{
#ifdef VISITS
	unlink_reader(cpu, r)
#else
#ifndef MUTANT_CLEAR_LATE
	STORE(cpu, WAITED(r), 0);
#endif
	d_step { barrier_(cpu); left_count = (left_count + 1) & 7 };
#ifdef COVER_READER_WAKES
	assert(!driver_queued);
#endif
#ifdef MUTANT_CLEAR_LATE
	STORE(cpu, WAITED(r), 0);
#endif
	d_step { barrier_(cpu); driver_queued = 0 }
#endif
}

inline reader_wake(cpu, r)
{
	if
	:: LOAD(cpu, WAITED(r)) ->
		if
		:: !(LOAD(cpu, WORD(r)) & NEST_MASK) -> reader_left(cpu, r)
		:: else
		fi
	:: else
	fi
}
#elif defined(VISITS)
#define reader_wake(cpu, r) unlink_reader(cpu, r)
#else
#define reader_wake(cpu, r) skip
#endif

inline enter_look(cpu, r)
{
	atomic {
		if
		:: LOAD(cpu, WORD(r)) & NEST_MASK -> word = LOAD(cpu, WORD(r)) + 1
		:: else -> word = LOAD(cpu, COUNTER)
		fi
	}
}

inline enter_light(cpu, r)
{
	enter_look(cpu, r);
#ifdef MUTANT_ENTER_NO_LIGHT
	hold(cpu);
#endif
	atomic {
#ifdef MUTANT_ENTER_RELAXED
		STORE(cpu, WORD(r), word);
#else
		STORE_RELEASE(cpu, WORD(r), word); /* [grace.enter:A] */
#endif
		word = 0
	}
	/* [grace.enter:B] */
}

inline leave_light(cpu, r)
{
#ifdef MUTANT_LEAVE_NO_LIGHT
	slot = LOAD(cpu, WAITED(r));
#endif
	atomic {
		word = LOAD(cpu, WORD(r)) - 1;
#ifdef MUTANT_LEAVE_RELAXED
		STORE(cpu, WORD(r), word);
#else
		STORE_RELEASE(cpu, WORD(r), word); /* [grace.leave:A] */
#endif
		word = 0
	};
#ifdef MUTANT_LEAVE_NO_LIGHT
	if
	:: slot -> slot = 0; reader_left(cpu, r)
	:: else
	fi
#else
	/* [grace.leave:B] */
	reader_wake(cpu, r)
#endif
}

/* rcu_grace_link_visitor(), and how rcu_reader_enter_auto() goes on. */
inline enter_visiting(cpu, r)
{
#ifdef SLEEP
	STORE(cpu, WAITED(r), 1);
#endif
	atomic { word = LOAD(cpu, COUNTER); STORE(cpu, WORD(r), word); word = 0 };
	link_reader(cpu, r);
	word = LOAD(cpu, COUNTER);
	atomic { STORE_RELEASE(cpu, WORD(r), word); word = 0 } /* [grace.enter:A] */
	/* [grace.enter:B] */
}

inline enter_full(cpu, r)
{
	enter_look(cpu, r);
#ifdef MUTANT_ENTER_FULL_LIGHT
	STORE_RELEASE(cpu, WORD(r), word);
#else
#ifdef MUTANT_ENTER_NESTED_PLAIN
	if
	:: (word & NEST_MASK) > 1 -> STORE(cpu, WORD(r), word)
	:: else -> store_full(cpu, WORD(r), word)
	fi;
#else
	store_full(cpu, WORD(r), word); /* [grace.enter:C] */
#endif
#endif
	word = 0
}

inline leave_full(cpu, r)
{
	word = LOAD(cpu, WORD(r)) - 1;
	if
	:: word & NEST_MASK -> atomic { STORE(cpu, WORD(r), word); word = 0 }
	:: else ->
#if defined(MUTANT_LEAVE_FULL_RELAXED)
		STORE(cpu, WORD(r), word);
		SMP_MB(cpu);
#elif defined(MUTANT_LEAVE_FULL_LIGHT)
		STORE_RELEASE(cpu, WORD(r), word);
#else
		store_full(cpu, WORD(r), word); /* [grace.leave:C] */
#endif
		word = 0;
		reader_wake(cpu, r)
	fi
}

inline quiescent(cpu, r)
{
#ifdef MUTANT_COUNTER_RELAXED
	word = LOAD(cpu, COUNTER);
#else
	LOAD_ACQUIRE(cpu, COUNTER, word); /* [grace.quiescent:B] */
#endif
	if
	:: LOAD(cpu, WORD(r)) == word
	:: else ->
#ifdef MUTANT_QUIESCENT_LIGHT
		STORE_RELEASE(cpu, WORD(r), word);
#else
		store_full(cpu, WORD(r), word); /* [grace.quiescent:A] */
#endif
#ifdef SLEEP
		if
		:: LOAD(cpu, WAITED(r)) -> reader_left(cpu, r)
		:: else
		fi
#endif
	fi;
	word = 0
}

inline offline(cpu, r)
{
#ifdef MUTANT_OFFLINE_LIGHT
	STORE_RELEASE(cpu, WORD(r), 0);
#else
	store_full(cpu, WORD(r), 0); /* as [grace.leave:C] */
#endif
	reader_wake(cpu, r)
}

inline online(cpu, r)
{
	LOAD_ACQUIRE(cpu, COUNTER, word); /* as [grace.quiescent:B] */
#ifdef MUTANT_ONLINE_LIGHT
	STORE_RELEASE(cpu, WORD(r), word);
#else
	store_full(cpu, WORD(r), word); /* as [grace.enter:C] */
#endif
	word = 0
}
