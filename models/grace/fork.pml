/* SPDX-License-Identifier: MIT */
/*
 * fork() beside threads that use the library: the order of the locks, the signals that are held
 * meanwhile, and what the child keeps. Paper: T 6.4.4. Source: rcu/grace/host/fork.c, thread.c,
 * rcu_grace_keep_only() in rcu/grace/grace.c, struct lull_lock in port/user/rcu/rcu_port.h.
 *
 *	forking thread		| other threads			| a signal's handler
 *	hold signals		| take PART, then READERS,	| on the forking thread, while
 *	take FORK, register,	|   change what they guard	| signals are not held: reads, and
 *	PART, READERS		| wait for a grace period:	| so registers under READERS if the
 *	fork			|   READERS while all readers	| thread is not registered; forks
 *	give all back; in the	|   answer the barrier signal
 *	child keep own reader	| fork, too
 *
 * PART stands for the locks of workers, tables and QDo. A lock is the two mutexes of lull_lock:
 * threads of the parent that wait for one leave it taken in the child, which makes it anew.
 * One address space: the process goes on as the parent, or as the child, in which the other
 * threads stop where they are.
 *
 * Proved, beside no deadlock: at the fork nothing is half changed and no answer is outstanding; in
 * the child a grace period ends, and a second fork is possible; each thread has its signal mask
 * back.
 *
 * Mutants and what shows them. A deadlock: FORK_ORDER (READERS before PART), FORK_SIGNALS_OPEN
 * (signals are not held), FORK_BARRIER_HELD (the barrier signal is), FORK_UNREGISTERED (the thread
 * is not registered, and the fork handler of another library reads), FORK_KEEP_ALL (the child keeps
 * the readers of all threads), FORK_NOT_RENEWED (it keeps the parent's locks). An assertion:
 * FORK_PART_FREE, FORK_READERS_FREE (the lock is not taken), FORK_TOGETHER (no FORK: two threads
 * save their masks in one place).
 *
 * Not modelled: memory orders (locks have them), the five domains, which are locked in one order;
 * the words of readers, which the other models of this folder have; callbacks.
 * 1.2 million states, 4 seconds. Partial-order reduction is off, because one process
 * blocks another, as a handler does.
 */
#define FORK 0
#define PART 1
#define READERS 2
#define LOCKS 3

/* Threads: two that fork, one that uses both locks, one that waits for grace periods. */
#define THREADS 4
#define OWN(thread) (1 << (thread))

bit turn[LOCKS];
bit mutex[LOCKS];
bit half[LOCKS]; /* what the lock guards is being changed */
byte linked; /* the registered readers, one bit per thread */
byte inside; /* those in a section */
byte pending; /* those that the grace period waits for */
bit period_runs;
byte asked; /* those that have not answered the barrier signal */
bit held[THREADS]; /* the thread's signals are held, by the program or by the library */
bit barrier_held[THREADS];
bit saved; /* signals_before */
bit forked; /* the process is the child, of thread 0 */
bit interrupted; /* a handler runs on thread 0 */
bit waits; /* thread 0 waits for a grace period: handlers read then, and do not fork */

inline take(lock)
{
	atomic { !turn[lock] -> turn[lock] = 1 };
	atomic { !mutex[lock] -> mutex[lock] = 1 };
	turn[lock] = 0
}

inline release(lock)
{
	mutex[lock] = 0
}

inline renew(lock)
{
#ifndef MUTANT_FORK_NOT_RENEWED
	d_step { turn[lock] = 0; mutex[lock] = 0 }
#else
	mutex[lock] = 0
#endif
}

/* add() and drop() in thread.c, signals held. */
inline link(thread)
{
	take(READERS);
	half[READERS] = 1;
	linked = linked | OWN(thread);
	half[READERS] = 0;
	release(READERS)
}

inline unlink(thread)
{
	take(READERS);
	half[READERS] = 1;
	d_step { linked = linked & ~OWN(thread); pending = pending & ~OWN(thread) };
	half[READERS] = 0;
	release(READERS)
}

/* A section of a thread that registers itself: as far as locks see it. */
inline read(thread)
{
	if
	:: linked & OWN(thread)
	:: else -> link(thread)
	fi
}

/* rcu_grace_synchronize(): a grace period that runs already goes on, as in the child. */
inline synchronize(thread)
{
	take(READERS);
	if
	:: period_runs
	:: else -> atomic { period_runs = 1; pending = linked; asked = linked & ~OWN(thread) }
	fi;
	asked == 0;
	do
	:: !(pending & inside) -> break
	:: else -> release(READERS); !(pending & inside); take(READERS)
	od;
	atomic { pending = 0; period_runs = 0 };
	release(READERS)
}

/* before_fork(). */
inline prepare(thread, before, visits)
{
	d_step {
		before = held[thread];
#ifndef MUTANT_FORK_SIGNALS_OPEN
		held[thread] = 1
#endif
	};
#ifdef MUTANT_FORK_BARRIER_HELD
	barrier_held[thread] = 1;
#endif
#ifndef MUTANT_FORK_TOGETHER
	take(FORK);
#endif
	saved = before;
#ifndef MUTANT_FORK_UNREGISTERED
	if
	:: linked & OWN(thread)
	:: else -> link(thread); visits = 1
	fi;
#endif
#ifdef MUTANT_FORK_ORDER
	take(READERS);
	take(PART)
#else
#ifndef MUTANT_FORK_PART_FREE
	take(PART);
#endif
#ifndef MUTANT_FORK_READERS_FREE
	take(READERS);
#endif
	skip
#endif
}

/* end_visits() and what follows it. */
inline give_back(thread, before, visits)
{
	if
	:: visits -> unlink(thread); visits = 0
	:: else
	fi;
	before = saved;
#ifndef MUTANT_FORK_TOGETHER
	release(FORK);
#endif
#ifdef MUTANT_FORK_BARRIER_HELD
	barrier_held[thread] = 0;
#endif
	held[thread] = before
}

inline parent(thread, before, visits)
{
#ifndef MUTANT_FORK_READERS_FREE
	release(READERS);
#endif
#ifndef MUTANT_FORK_PART_FREE
	release(PART);
#endif
	give_back(thread, before, visits)
}

/* after_fork_child(); keep_own_reader(). */
inline child(thread, before, visits)
{
	renew(FORK);
	take(FORK);
#ifndef MUTANT_FORK_KEEP_ALL
	d_step { linked = linked & OWN(thread); pending = (period_runs -> linked : 0) };
#endif
	renew(READERS);
	renew(PART);
	give_back(thread, before, visits)
}

proctype forker() provided (!interrupted)
{
	bit before, visits;

	if
	:: held[0] = 1; link(0); held[0] = 0
	:: held[0] = 1; link(0); inside = inside | OWN(0); held[0] = 0
	:: skip
	fi;
	prepare(0, before, visits);
	read(0); /* the fork handler of another library */
	if
	:: parent(0, before, visits)
	:: atomic {
		assert(!half[PART] && !half[READERS] && !asked);
		forked = 1
	   };
#ifdef COVER_OTHER_WAITS
	   assert(!turn[PART] || !period_runs);
#endif
	   child(0, before, visits)
	fi;
	assert(!held[0]);
	inside = inside & ~OWN(0);
	if
	:: forked ->
		held[0] = 1;
		read(0); /* register_self() */
		held[0] = 0;
		waits = 1;
		synchronize(0);
		waits = 0;
		prepare(0, before, visits);
		parent(0, before, visits);
#ifdef COVER_SECOND_FORK
		assert(false);
#endif
		assert(!held[0])
	:: else
	fi
}

proctype other_forker()
{
	bit before, visits;

	{
		held[1] = 1; /* the program's own mask */
		prepare(1, before, visits);
		parent(1, before, visits);
		assert(held[1])
	} unless { forked }
}

proctype user()
{
	{
		take(PART);
		half[PART] = 1;
		take(READERS);
		half[READERS] = 1;
		half[READERS] = 0;
		release(READERS);
		half[PART] = 0;
		release(PART);
		link(2);
		inside = inside | OWN(2);
		inside = inside & ~OWN(2)
	} unless { forked }
}

proctype driver()
{
	synchronize(3) unless { forked }
}

/* Once, between any two steps of the forking thread while its signals are not held. */
proctype handler()
{
end:	do
	:: atomic { !held[0] && !interrupted -> interrupted = 1 };
	   read(0);
	   if
	   :: !waits -> take(PART); take(READERS); release(READERS); release(PART)
	   :: waits
	   fi;
	   interrupted = 0;
	   break
	od
}

/* The barrier signal's handler of each thread; it runs over all that the thread does. */
active proctype answers()
{
	byte thread;

end:	do
	:: atomic {
		asked ->
		if
		:: (asked & OWN(0)) && !barrier_held[0] -> asked = asked & ~OWN(0)
		:: (asked & OWN(1)) && !barrier_held[1] -> asked = asked & ~OWN(1)
		:: asked & OWN(2) -> asked = asked & ~OWN(2)
		fi
	   }
	od
}

init
{
	atomic {
		run forker();
		run other_forker();
		run user();
		run driver();
		run handler()
	}
}
