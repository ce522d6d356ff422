// SPDX-License-Identifier: MIT
/*
 * Grace periods of one domain: begin, look at readers, wait for them, end.
 *
 * Papers: T 6.4.2-6.4.4 (figures 6.5, 6.7, 6.10). Design: docs/design/40-rcu.md.
 *
 * States of a domain, by seq:
 *
 *	even: idle --begin--> odd: runs --every reader seen outside old sections--> even + 2
 *
 * A grace period is a state of the domain, not of a caller: a thread that holds the lock may
 * take it a step further. So concurrent callers share grace periods, and polling needs no thread.
 * A caller takes a target: the even seq by which a whole grace period has run after its call.
 * One caller at a time is the driver: it spins a little, then marks the readers it misses as
 * waited for and sleeps; the others sleep until it is done.
 *
 * Which threads write and read each word:
 *	counter, seq	holder of the lock; read by anyone
 *	word		its reader; read by holders of the lock
 *	waited		1 by the driver, 0 by its reader or a holder of the lock; of a visitor,
 *			only by itself, without the lock
 *	left		readers that leave, holders of the lock; the driver sleeps on it
 *	ended		holders of the lock; callers sleep on it
 *
 * Barrier pairs (label: what it orders; partner):
 *	[grace.snap:A]	the caller's updates before seq		[grace.begin:A]
 *	[grace.begin:A]	seq, updates before words; readers': words before reads
 *								[grace.enter:B], [grace.enter:C],
 *								[grace.quiescent:A]
 *	[grace.quiescent:B]	the counter before a handler's reads	[grace.begin:A]
 *	[grace.scan:A]	words before what follows the grace period
 *								[grace.leave:A], [grace.leave:C],
 *								[grace.enter:A], [grace.quiescent:A]
 *	[grace.end:A]	words before seq			[grace.done:A]
 *	[grace.return:A]	sections before what the caller does next	[grace.scan:A]
 *	[grace.ask:A]	updates before each thread's barrier		[grace.answer:A]
 *	[grace.ask:B]	each thread's barrier before words		[grace.answer:A]
 *	[grace.answer:A]	what a thread did, its answer, what it does next
 *								[grace.ask:A], [grace.ask:B]
 *	[grace.install:A]	the signal's number before the signal	[grace.install:B]
 *	[grace.install:B]	the handler before its number		[grace.install:A]
 *	[grace.sleep:A]	waited before words			[grace.leave:B], [grace.leave:C],
 *								[grace.quiescent:A]
 *
 * Invariants:
 *	I1 a reader whose outermost section began before [grace.begin:A] is in pending from begin
 *	   until its section has ended
 *	I2 seq is even only when pending is empty
 *	I3 the driver sleeps only while each reader in pending will see waited when it leaves;
 *	   a thread that changes that, with the lock held, wakes the driver
 *
 * Progress: readers are wait-free. A grace period ends when the sections end that ran when it
 * began; new ones carry the new counter and do not prolong it.
 *
 * Deviation from figure 6.10: no barrier is forced on readers at the end. The words that end
 * sections are released and acquired instead, which costs nothing on x86-64 and one stlr on
 * aarch64, and halves the signals or interrupts (docs/adr/0009).
 */
#include "grace.h"

/* Looks at readers before the driver sleeps: a section is over in less, mostly. Tests say 0. */
#ifndef RCU_SPINS
#define RCU_SPINS 200u
#endif
/* Moments between two looks, at most: the first come at once, as most sections are short. */
#define RELAXES_MAX 10u

static void list_unlink(struct rcu_reader *reader)
{
	reader->next->previous = reader->previous;
	reader->previous->next = reader->next;
}

static void list_append(struct rcu_reader *head, struct rcu_reader *reader)
{
	reader->next = head;
	reader->previous = head->previous;
	head->previous->next = reader;
	head->previous = reader;
}

static int list_empty(const struct rcu_reader *head)
{
	return head->next == head;
}

/* Moves all of one list to another, which is empty. */
static void list_move(struct rcu_reader *from, struct rcu_reader *to)
{
	if (list_empty(from))
		return;
	to->next = from->next;
	to->previous = from->previous;
	to->next->previous = to;
	to->previous->next = to;
	from->next = from;
	from->previous = from;
}

/* Wakes the driver: what it sleeps for may have happened. */
static void wake_driver(struct rcu_grace *grace)
{
	lull_mem_add32(&grace->left, 1);
	if (grace->asleep)
		lull_futex_wake(&grace->left, 1);
}

static void wake_sleepers(struct rcu_grace *grace)
{
	lull_mem_add32(&grace->ended, 1);
	if (grace->sleepers)
		lull_futex_wake(&grace->ended, INT_MAX);
}

/* The lock is held: nobody else changes it. */
static unsigned long seq_of(const struct rcu_grace *grace)
{
	return lull_mem_load(&grace->seq);
}

static void phase_begin(struct rcu_grace *grace)
{
	struct rcu_domain *domain = grace->domain;
	unsigned long counter = lull_mem_load(&domain->counter);
	unsigned long period = (counter & RCU_PERIOD_MASK) + (RCU_NEST_MASK + 1);

	lull_mem_store(&domain->counter, (period & RCU_PERIOD_MASK) | 1);
	list_move(&grace->readers, &grace->pending);
}

static void begin(struct rcu_grace *grace)
{
	lull_mem_store(&grace->seq, seq_of(grace) + 1);
	/*
	 * [grace.begin:A] heavy. Pairs with [grace.enter:B], [grace.enter:C], [grace.quiescent:A],
	 * [grace.quiescent:B], [grace.snap:A].
	 * Orders: what callers changed before they saw seq even, before the look at words; in each
	 * reader, the word of a section before its reads.
	 * Else: a reader holds what was removed, and its word is not seen.
	 * Mutants: BEGIN_NO_FENCE, FLIP_EARLY.
	 *
	 * Before the counter changes: a reader that copies the new one has seen the removal.
	 */
	if (!LULL_MUTANT(BEGIN_NO_FENCE))
		rcu_grace_fence_heavy(grace);
	grace->phase = 0;
	phase_begin(grace);
}

static void end(struct rcu_grace *grace)
{
	/*
	 * [grace.end:A] release. Pairs with [grace.done:A].
	 * Orders: the look at the last word before seq.
	 * Else: a caller that finds seq reached reclaims under a reader. Mutant: END_EARLY.
	 */
	rcu_annotate_release(&grace->seq);
	lull_mem_store_release(&grace->seq, seq_of(grace) + 1);
	wake_sleepers(grace);
	if (grace->driven && !LULL_MUTANT(END_NO_WAKE))
		wake_driver(grace);
}

/* Whether a reader is in a section that began before this phase. */
static int is_old(const struct rcu_reader *reader, unsigned long counter)
{
	/*
	 * [grace.scan:A] acquire. Pairs with [grace.leave:A], [grace.leave:C], [grace.enter:A],
	 * [grace.quiescent:A], [grace.return:A].
	 * Orders: the section that ended with this word, and those before it, before what follows
	 * the grace period.
	 * Else: memory is reclaimed while it is still read. Mutants: LEAVE_RELAXED,
	 * LEAVE_FULL_RELAXED.
	 */
	unsigned long word = lull_mem_load_acquire(&reader->word);

	if (!(word & RCU_NEST_MASK))
		return 0;
	return ((word ^ counter) & RCU_PERIOD_MASK) != 0;
}

/* One that is registered for the section that it is in: its waited has it unregister at the end. */
static int is_visitor(const struct rcu_reader *reader)
{
	return reader->registered == RCU_VISITOR && !LULL_MUTANT(VISITOR_CLEARED);
}

/* Bound: the number of readers. */
static void scan(struct rcu_grace *grace)
{
	unsigned long counter = lull_mem_load(&grace->domain->counter);
	struct rcu_reader *reader, *next;

	for (reader = grace->pending.next; reader != &grace->pending; reader = next) {
		next = reader->next;
		if (is_old(reader, counter))
			continue;
		rcu_annotate_acquire(&reader->word);
		if (lull_mem_load32(&reader->waited) && !is_visitor(reader))
			lull_mem_store32(&reader->waited, 0);
		list_unlink(reader);
		list_append(&grace->readers, reader);
	}
}

/*
 * Takes the grace period as far as it goes without waiting; begins one if none runs.
 * Return: 1 when it has ended, 0 while a reader is missing. Bound: RCU_PHASES.
 */
static int advance(struct rcu_grace *grace)
{
	if (!(seq_of(grace) & 1))
		begin(grace);
	for (;;) {
		scan(grace);
		if (!list_empty(&grace->pending) && !LULL_MUTANT(END_EARLY))
			return 0;
		if (++grace->phase >= RCU_PHASES || LULL_MUTANT(ONE_PHASE))
			break;
		phase_begin(grace);
		/* It has not asked the readers of this phase to wake it. */
		if (grace->asleep && !LULL_MUTANT(PHASE_NO_WAKE))
			wake_driver(grace);
	}
	end(grace);
	return 1;
}

/* Sleeps until a reader that is waited for leaves, unless it has. */
static void sleep_for_readers(struct rcu_grace *grace)
{
	uint32_t seen = lull_mem_load32(&grace->left);
	struct rcu_reader *reader;

	for (reader = grace->pending.next; reader != &grace->pending; reader = reader->next)
		lull_mem_store32(&reader->waited, 1);
	/*
	 * [grace.sleep:A] heavy. Pairs with [grace.leave:B], [grace.leave:C], [grace.quiescent:A].
	 * Orders: waited before the second look at words; in each reader, the word that ends a
	 * section before its look at waited.
	 * Else: the reader leaves unseen and wakes nobody. Mutant: SLEEP_NO_FENCE.
	 */
	if (!LULL_MUTANT(SLEEP_NO_FENCE))
		rcu_grace_fence_heavy(grace);
	scan(grace);
	if (list_empty(&grace->pending))
		return;
	grace->asleep = 1;
	lull_lock_release(&grace->lock);
	lull_futex_wait(&grace->left, seen);
	lull_lock_take(&grace->lock);
	grace->asleep = 0;
}

/* Waits a little, without the lock, for the @looks-th time. */
static void spin(struct rcu_grace *grace, unsigned int looks)
{
	unsigned int i;

	lull_lock_release(&grace->lock);
	for (i = 0; i < looks && i < RELAXES_MAX; i++)
		lull_relax();
	lull_lock_take(&grace->lock);
}

/* Bound: the sections that ran when the grace periods up to @target began. */
static void drive(struct rcu_grace *grace, unsigned long target)
{
	unsigned int spins = 0;

	grace->driven = 1;
	while (!rcu_seq_reached(seq_of(grace), target)) {
		if (advance(grace))
			continue;
		if (spins == RCU_SPINS) {
			sleep_for_readers(grace);
		} else {
			spin(grace, spins++);
		}
	}
	grace->driven = 0;
	if (!LULL_MUTANT(DRIVE_NO_WAKE))
		wake_sleepers(grace); /* one of them drives on, if there is more to do */
}

static void sleep_for_driver(struct rcu_grace *grace)
{
	uint32_t seen = lull_mem_load32(&grace->ended);

	grace->sleepers++;
	lull_lock_release(&grace->lock);
	lull_futex_wait(&grace->ended, seen);
	lull_lock_take(&grace->lock);
	grace->sleepers--;
}

/* The seq that is reached when a grace period has run that begins from now on. */
static unsigned long snap(struct rcu_grace *grace)
{
	/*
	 * [grace.snap:A] full. Pairs with [grace.begin:A].
	 * Orders: the caller's updates before the look at seq.
	 * Else: a grace period that began without them counts for them. Mutant: SNAP_NO_FENCE.
	 */
	if (!LULL_MUTANT(SNAP_NO_FENCE))
		lull_mem_fence();
	return (lull_mem_load(&grace->seq) + (LULL_MUTANT(SNAP_RUNNING) ? 2 : 3)) & ~1UL;
}

static int is_done(struct rcu_grace *grace, unsigned long target)
{
	/*
	 * [grace.done:A] acquire. Pairs with [grace.end:A].
	 * Orders: all sections of that grace period before what the caller does next.
	 * Else: the caller reclaims what a section still reads.
	 * Mutant: DONE_RELAXED.
	 */
	if (!rcu_seq_reached(lull_mem_load_acquire(&grace->seq), target))
		return 0;
	rcu_annotate_acquire(&grace->seq);
	return 1;
}

/**
 * rcu_grace_synchronize() - Wait for a grace period that begins after the call.
 * @grace: the domain's.
 * @expedited: not 0 to spin instead of sleeping.
 *
 * Context: thread, outside sections. Progress: blocking. Ordering: full. Paper: T figure 6.10.
 */
void rcu_grace_synchronize(struct rcu_grace *grace, int expedited)
{
	unsigned long target = snap(grace);

	lull_lock_take(&grace->lock);
	while (!rcu_seq_reached(seq_of(grace), target)) {
		if (expedited) {
			if (!advance(grace))
				spin(grace, RELAXES_MAX);
		} else if (grace->driven) {
			sleep_for_driver(grace);
		} else {
			drive(grace, target);
		}
	}
	lull_lock_release(&grace->lock);
	/*
	 * [grace.return:A] full. Pairs with [grace.scan:A].
	 * Orders: sections that ended, as every thread sees them, before what the caller does next.
	 * Else: on machines where a store reaches one CPU before another, a third thread orders the
	 * two the other way round. Mutant: none can tell on machines that have no such stores.
	 */
	lull_mem_fence();
}

/**
 * rcu_grace_start() - Name a grace period that begins after the call, and begin it if none runs.
 * @grace: the domain's.
 *
 * Context: thread. Progress: does not wait for readers. Return: its target.
 */
unsigned long rcu_grace_start(struct rcu_grace *grace)
{
	unsigned long target = snap(grace);

	rcu_grace_poll(grace, target);
	return target;
}

/**
 * rcu_grace_poll() - Whether a grace period has ended; does what can be done now.
 * @grace: the domain's.
 * @target: from rcu_grace_start().
 *
 * Context: thread. Progress: does not wait for readers, nor for another that holds the lock.
 * Return: not 0 when it has.
 */
int rcu_grace_poll(struct rcu_grace *grace, unsigned long target)
{
	if (!is_done(grace, target) && lull_lock_try(&grace->lock)) {
		if (advance(grace) && !rcu_seq_reached(seq_of(grace), target))
			advance(grace);
		lull_lock_release(&grace->lock);
	}
	return is_done(grace, target);
}

/*
 * The reader's word tells the driver that the reader has left; this call tells the driver to
 * look. Signal handlers call it too. It clears waited before it changes left: when the driver has
 * seen left and marks the reader again, that mark stays. A visitor's section ends its registration,
 * which wakes the driver if it waits for no other.
 */
void rcu_domain_reader_left(struct rcu_domain *domain, struct rcu_reader *reader)
{
	if (reader->registered == RCU_VISITOR) {
		rcu_domain_unregister(domain, reader);
		return;
	}
	lull_mem_store32(&reader->waited, 0);
	lull_mem_add32(&domain->grace->left, 1);
	lull_futex_wake(&domain->grace->left, 1);
}

/* Adds a reader, online at once if it is one of QSBR's. O(1). Paper: T 6.4.4 (registry). */
void rcu_grace_link(struct rcu_grace *grace, struct rcu_reader *reader, int online)
{
	lull_lock_take(&grace->lock);
	list_append(&grace->readers, reader);
	grace->reader_count++;
	lull_lock_release(&grace->lock);
	if (online)
		rcu_reader_online(grace->domain, reader);
}

/*
 * Adds a reader for the section that it is entering. Handlers on its thread that read do so within
 * that section: they do not end it.
 */
void rcu_grace_link_visitor(struct rcu_grace *grace, struct rcu_reader *reader)
{
	lull_mem_store32(&reader->waited, 1);
	lull_mem_store(&reader->word, lull_mem_load(&grace->domain->counter));
	rcu_grace_link(grace, reader, 0);
}

/* Removes a reader, which is in no section. O(1). */
void rcu_grace_unlink(struct rcu_grace *grace, struct rcu_reader *reader)
{
	lull_lock_take(&grace->lock);
	list_unlink(reader);
	lull_mem_store32(&reader->waited, 0);
	grace->reader_count--;
	if (grace->driven && list_empty(&grace->pending) && !LULL_MUTANT(UNLINK_NO_WAKE))
		wake_driver(grace);
	lull_lock_release(&grace->lock);
}

/*
 * In the child of a fork, with the lock free: of all readers only @reader is left, or none.
 * A grace period that ran goes on, and has only that one to wait for.
 */
void rcu_grace_keep_only(struct rcu_grace *grace, struct rcu_reader *reader)
{
	grace->readers.next = grace->readers.previous = &grace->readers;
	grace->pending.next = grace->pending.previous = &grace->pending;
	grace->reader_count = reader ? 1 : 0;
	if (reader) {
		if (reader->registered != RCU_VISITOR)
			reader->waited = 0;
		list_append(seq_of(grace) & 1 ? &grace->pending : &grace->readers, reader);
	}
	grace->driven = grace->asleep = grace->sleepers = 0;
}
