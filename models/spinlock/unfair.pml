/* SPDX-License-Identifier: MIT */
/*
 * A first model: the spinlock of two states, held or free. Start reading here if Promela and its
 * verifier SPIN are new to you. Paper: T 7.3.2, figure 7.1 (the PowerPC lock of Linux 2.6.30).
 *
 *	process A			process B
 *	take the lock			take the lock
 *	be inside			be inside
 *	release it			release it
 *	again				again
 *
 * SPIN runs the processes in every order in which their steps can follow each other, remembers
 * each state of all variables and processes that it has been in, and stops when there is no new
 * one. What holds in all of them is proved, for this model.
 *
 * Found: two processes are never inside at once. But B can spin for ever while A takes the lock
 * again and again.
 *
 * Run it:	models/run --only spinlock/unfair
 * By hand:	spin -a unfair.pml && gcc -DSAFETY -DNOCLAIM -o pan pan.c && ./pan
 *	and for fairness: gcc -DNP -o pan pan.c && ./pan -l -f && spin -t -p unfair.pml
 *
 * Not modelled: memory that is out of order (models/litmus is about that); interrupts. Two
 * processes, 23 states, 0 seconds.
 */
bit lock;		/* a global variable is shared by all processes; it begins as 0: free */
byte inside;		/* how many are inside: for the claims below, no program would have it */

/*
 * An inline is text that is put where it is named. do ... od repeats: of the options, which begin
 * with ::, it takes one whose first statement can be executed, and any one where several can.
 * An expression such as "lock" is a statement that can be executed when it is not 0; "else" can
 * when none of the others can. atomic { } makes one step of several, as a processor's lwarx and
 * stwcx. do when no other store came between. The loop is a busy one, like the lock's: the process
 * is always able to do a step, even if it is only to look again.
 */
inline spin_lock(lock)
{
	do
	:: atomic {
		if
		:: lock ->
			skip	/* held: look again */
		:: else ->
#ifdef MUTANT_NOT_ATOMIC
			break	/* to the store below, a step of its own */
#else
			lock = 1;
			break
#endif
		fi
	}
	od;
#ifdef MUTANT_NOT_ATOMIC
	lock = 1
#endif
}

inline spin_unlock(lock)
{
	lock = 0
}

/*
 * An assertion is checked whenever a run comes by it. This one could also be put as the formula
 * at the end of the file, in linear temporal logic: [] is "always".
 */
inline critical_section()
{
	inside++;
	assert(inside == 1);
#ifdef COVER_INSIDE
	assert(inside == 0);	/* wrong on purpose: a failure shows that a process gets inside */
#endif
	inside--
}

active proctype process_A()
{
	do
	:: spin_lock(lock);
	   critical_section();
	   spin_unlock(lock)
	od
}

/*
 * A label that begins with "progress" marks a step that counts as getting on. SPIN's search for
 * non-progress cycles looks for a run without end that comes by none. With a label in B only, such
 * a run starves B. "Weak fairness" (pan -f) leaves out the runs in which a process that always
 * could do a step never does one: what remains is not a slow process, but an unfair lock.
 */
active proctype process_B()
{
	do
	:: spin_lock(lock);
progress:
	   critical_section();
	   spin_unlock(lock)
	od
}

/* Never are two inside. */
ltl mutual_exclusion { [] (inside <= 1) }
