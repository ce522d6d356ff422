/* SPDX-License-Identifier: MIT */
/*
 * The words of the machines' memory that grace periods use, numbered; included before
 * machine.pml. A model numbers its own from FREE_VARS on.
 */
#define COUNTER 0
#define SEQ 1
#define WORD(r) (2 + (r))
#define WORDS_END_ (2 + READERS)
#ifdef SLEEP
#define WAITED(r) (WORDS_END_ + (r))
#define WAITED_END_ (WORDS_END_ + READERS)
#else
#define WAITED_END_ WORDS_END_
#endif
#if defined(MACHINE_TSO) || defined(BARRIERS_ORDER_ONLY)
#define LOCK WAITED_END_
#define FREE_VARS (WAITED_END_ + 1)
#else
#define FREE_VARS WAITED_END_
#endif
/* Those of actors.pml. */
#define PTR FREE_VARS
#ifdef MARKS
#define MARK (PTR + 1)
#define DATA(i) (PTR + 2 + (i))
#else
#define DATA(i) (PTR + 1 + (i))
#endif
#ifdef ARENA
#define ACTORS_END (DATA(0) + UPDATES + 1)
#else
#define ACTORS_END DATA(0)
#endif

/* Which CPU loads what, where readers and updaters have CPUs of their own. */
#ifdef CPUS_OF_THEIR_OWN
#define READS(cpu, v) \
	((cpu) < READERS -> READER_READS(cpu, v) : (v) < WORDS_END_ || UPDATER_READS(v))
#define READER_READS(cpu, v) \
	((v) == COUNTER || (v) == WORD(cpu) || (v) == PTR || (v) >= DATA(0) || \
	 READS_WAITED(cpu, v) || READS_SEQ(v))
#ifdef SLEEP
#define READS_WAITED(cpu, v) ((v) == WAITED(cpu))
#define UPDATER_READS(v) ((v) < WAITED_END_ || READS_MARK(v))
#else
#define READS_WAITED(cpu, v) false
#define UPDATER_READS(v) READS_MARK(v)
#endif
#if defined(REGISTERS) || defined(ENDS) || defined(VISITS)
#define READS_SEQ(v) ((v) == SEQ) /* for I2, as it releases the lock */
#else
#define READS_SEQ(v) false
#endif
#ifdef MARKS
#define READS_MARK(v) ((v) == MARK)
#else
#define READS_MARK(v) false
#endif
#endif
