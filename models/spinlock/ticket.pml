/* SPDX-License-Identifier: MIT */
/*
 * The ticket lock: processes get the lock in the order in which they ask. Read unfair.pml first.
 * Paper: T 7.3.2, figure 7.3 (the x86 lock of Linux 2.6.30).
 *
 *	process		lock, one word of two halves
 *	take		ticket = high half; high half + 1	one atomic step
 *	wait		until the low half is the ticket
 *	release		low half + 1
 *
 * -DBITS=... is the width of a half, -DPROCESSES=... the number of processes. A process holds or
 * waits for one ticket at a time, so no two tickets are equal while there are at most 2^BITS
 * processes. Found: then the lock is safe and fair. With one more process two may be inside,
 * because the high half overflows to the ticket that is being served. Then the lock is not fair
 * either: the low half can pass a process's ticket.
 *
 * All processes but one are alike; process_A has the progress label.
 * Not modelled: memory that is out of order.
 * 4 processes and 2 bits: 7,911 states, 16,000 for fairness.
 */
#ifndef BITS
#define BITS 1
#endif
#ifndef PROCESSES
#define PROCESSES 2
#endif

#define HALF_MASK ((1 << BITS) - 1)
#define LOW_HALF(lock) ((lock) & HALF_MASK)
#define HIGH_HALF(lock) (((lock) >> BITS) & HALF_MASK)
#define WORD(high, low) ((((high) & HALF_MASK) << BITS) | ((low) & HALF_MASK))

byte lock;	/* BITS is 4 at most */
byte inside;

inline spin_lock(lock, ticket)
{
#ifdef MUTANT_TAKE_NOT_ATOMIC
	ticket = HIGH_HALF(lock);
	lock = WORD(ticket + 1, LOW_HALF(lock));
#else
	atomic {
		ticket = HIGH_HALF(lock);
		lock = WORD(ticket + 1, LOW_HALF(lock))
	};
#endif
	do
	:: LOW_HALF(lock) == ticket -> break
	:: else -> skip		/* not yet: look again */
	od;
	ticket = 0	/* no longer needed: states that differ by it alone are one */
}

/* The low half alone: what overflows it must not reach the tickets. */
inline spin_unlock(lock)
{
#ifdef MUTANT_CARRY
	lock = (lock + 1) & (HALF_MASK << BITS | HALF_MASK)
#else
	lock = WORD(HIGH_HALF(lock), LOW_HALF(lock) + 1)
#endif
}

inline critical_section()
{
	inside++;
#ifndef FAIRNESS_ONLY
	assert(inside == 1);
#endif
#ifdef COVER_WRAPPED
	assert(lock != WORD(0, HALF_MASK)); /* the high half has come round, the low one not */
#endif
	inside--
}

active proctype process_A()
{
	byte ticket;

	do
	:: spin_lock(lock, ticket);
progress:
	   critical_section();
	   spin_unlock(lock)
	od
}

/* [n] runs n processes of this text. */
active [PROCESSES - 1] proctype others()
{
	byte ticket;

	do
	:: spin_lock(lock, ticket);
	   critical_section();
	   spin_unlock(lock)
	od
}
