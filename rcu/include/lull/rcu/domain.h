/* SPDX-License-Identifier: MIT */
/*
 * A domain: readers, and the grace periods that wait for them. Each flavour of RCU has one.
 *
 * Programs include a flavour's header: lull/rcu/memb.h or one of its sisters. This header has the
 * pieces of which those headers are made, and the types that a structure takes which works with
 * every flavour, as the hash table does.
 *
 * A reader's word and the domain's counter have one form: the number of a grace period in the bits
 * from RCU_NEST_BITS on, and a nesting depth in the bits below. The counter's depth is always 1, so
 * a reader enters an outermost section by copying the counter to its word (T 6.4.3). In a word of
 * 64 bits the number has 40 bits, and 2^39 grace periods do not pass while a reader enters one
 * section, so one phase per grace period is enough. In a word of 32 bits the number is one bit, and
 * a grace period has two phases (T 6.4.3).
 * QSBR readers use the same word: its depth is 1 while the thread is online, 0 while it is offline.
 *
 * Which threads write and read each word:
 *	counter	written by the thread that drives the grace period; read by readers that enter
 *	word	written by its thread, and by handlers on that thread; read by the driver
 *	waited	set by the driver; cleared by the reader that wakes the driver. A visitor's: by
 *		the visitor alone
 * Barrier pairs: rcu/grace/grace.c. Paper: T 6.4.2-6.4.4.
 */
#ifndef LULL_RCU_DOMAIN_H
#define LULL_RCU_DOMAIN_H

#include <stdint.h>
#include "lull/rcu/annotate.h"
#include "lull/rcu/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RCU_NEST_BITS 24
#define RCU_NEST_MASK ((1UL << RCU_NEST_BITS) - 1)
/*
 * The word of a thread that has not registered yet with a flavour that registers threads by itself:
 * a depth that nesting does not reach.
 */
#define RCU_UNREGISTERED (1UL << (RCU_NEST_BITS - 1))

/* A reader's registered: until its outermost section ends. */
#define RCU_VISITOR 3u

struct rcu_grace; /* rcu/grace/grace.h: registry, lock and state of the grace period */

/** enum rcu_kind - Which barriers order readers before the driver of a grace period. */
enum rcu_kind {
	RCU_KIND_QSBR, /* the reader executes them, in its quiescent states */
	RCU_KIND_FULL, /* the reader executes them, in every section */
	RCU_KIND_SIGNAL, /* the driver forces them on readers, by signals */
	RCU_KIND_MEMBARRIER /* the driver forces them, by sys_membarrier; without that by signals */
};

/**
 * struct rcu_domain - What readers and updaters of one flavour share.
 * @counter: the number of the current grace period, with a depth of 1.
 * @grace: the state of grace periods, which only the library touches.
 * @name: the flavour's name in lower case.
 * @index: the domain's place in RCU_FLAVOURS, from 0.
 * @kind: which barriers order readers.
 * @self_registering: not 0 when a thread registers by itself as it enters its first section.
 */
struct rcu_domain {
	unsigned long counter;
	struct rcu_grace *grace;
	const char *name;
	uint32_t index;
	enum rcu_kind kind;
	uint32_t self_registering;
} __attribute__((aligned(64)));

/*
 * X(flavour, end of its enum rcu_kind, self_registering) for each flavour, in the order in which a
 * fork takes the domains' locks. A new flavour gets a row here and a read side in
 * rcu/flavour/generate.
 */
#define RCU_FLAVOURS(X)        \
	X(qsbr, QSBR, 0)       \
	X(mb, FULL, 0)         \
	X(signal, SIGNAL, 0)   \
	X(memb, MEMBARRIER, 0) \
	X(bp, MEMBARRIER, 1)

/**
 * struct rcu_reader - A thread, as a domain's reader. It lies in thread-local storage.
 * @word: the nesting depth, and the grace period that ran when the outermost section began.
 * @waited: not 0 while the driver of a grace period sleeps until this reader leaves; a visitor's
 *	is not 0 in its section.
 * @fence_wanted: futex; not 0 while a signal that forces a barrier on this thread is on its way.
 * @next: the next reader in the domain's registry.
 * @previous: the previous reader in the registry.
 * @tid: the kernel's number of the thread.
 * @registered: not 0 between registration and unregistration; RCU_VISITOR if that is one section.
 */
struct rcu_reader {
	unsigned long word;
	uint32_t waited;
	uint32_t fence_wanted;
	struct rcu_reader *next;
	struct rcu_reader *previous;
	int32_t tid;
	uint32_t registered;
};

/**
 * struct rcu_gp_poll_state - A grace period that a thread polls for.
 * @seq: the sequence number that the domain has when this grace period has ended.
 */
struct rcu_gp_poll_state {
	unsigned long seq;
};

/* The flavours' inline functions call these five, on rare occasions only. */
void rcu_domain_register(struct rcu_domain *domain, struct rcu_reader *reader, int debug);
void rcu_domain_unregister(struct rcu_domain *domain, struct rcu_reader *reader);
/* As a thread enters a section unregistered; in one that is ending, for that section only. */
void rcu_domain_arrive(struct rcu_domain *domain, struct rcu_reader *reader);
void rcu_domain_reader_left(struct rcu_domain *domain, struct rcu_reader *reader);
void rcu_domain_misuse(const struct rcu_reader *reader, const char *what);

void rcu_domain_synchronize(struct rcu_domain *domain);
void rcu_domain_synchronize_expedited(struct rcu_domain *domain);
struct rcu_gp_poll_state rcu_domain_start_poll(struct rcu_domain *domain);
int rcu_domain_poll_state(struct rcu_domain *domain, struct rcu_gp_poll_state state);

/**
 * rcu_domain_self() - The calling thread as a reader of a domain.
 * @domain: the domain of a flavour, as &rcu_memb_domain.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Return: the calling thread's reader, registered or not.
 */
struct rcu_reader *rcu_domain_self(const struct rcu_domain *domain);

/**
 * rcu_domain_name() - The name of a domain's flavour.
 * @domain: the domain of a flavour, as &rcu_memb_domain.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Return: the name in lower case, as "memb".
 */
const char *rcu_domain_name(const struct rcu_domain *domain);

/*
 * initial-exec: an object that includes this header finds its thread's reader by one load and the
 * thread pointer, without a call.
 */
#define RCU_READER_TLS __attribute__((tls_model("initial-exec")))

/* Each flavour's domain, and the calling thread as a reader of it. */
#define RCU_FLAVOUR_DECLARE(flavour, kind, self_registering) \
	extern struct rcu_domain rcu_##flavour##_domain;     \
	extern __thread struct rcu_reader rcu_##flavour##_reader RCU_READER_TLS;
RCU_FLAVOURS(RCU_FLAVOUR_DECLARE)
#undef RCU_FLAVOUR_DECLARE

/* A program that is compiled with -DLULL_RCU_DEBUG checks how it uses the read side. */
#ifdef LULL_RCU_DEBUG
#define LULL_RCU_CHECKS 1
#else
#define LULL_RCU_CHECKS 0
#endif

static inline int rcu_reader_ongoing(const struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	return (word & RCU_NEST_MASK) != 0 && word != RCU_UNREGISTERED;
}

static inline void rcu_reader_check_enter(const struct rcu_reader *reader)
{
	if (LULL_RCU_CHECKS && !reader->registered)
		rcu_domain_misuse(reader, "read-side critical section in a thread that is not "
					  "registered");
	if (LULL_RCU_CHECKS && (reader->word & RCU_NEST_MASK) == RCU_UNREGISTERED - 1)
		rcu_domain_misuse(reader, "read-side critical sections nested 8388607 deep");
}

static inline void rcu_reader_check_leave(const struct rcu_reader *reader)
{
	if (LULL_RCU_CHECKS && !rcu_reader_ongoing(reader))
		rcu_domain_misuse(reader, "read-side critical section left more often than "
					  "entered");
}

/* Wakes the driver of a grace period if it sleeps until this reader has left. */
static inline void rcu_reader_wake(struct rcu_domain *domain, struct rcu_reader *reader)
{
	if (__builtin_expect(!lull_mem_is_zero32(&reader->waited), 0) &&
	    !(lull_mem_load(&reader->word) & RCU_NEST_MASK))
		rcu_domain_reader_left(domain, reader);
}

/* Enters a section of a flavour whose driver forces the barriers on readers (T 6.4.4). */
static inline void rcu_reader_enter_light(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	rcu_reader_check_enter(reader);
	if (__builtin_expect(!(word & RCU_NEST_MASK), 1))
		word = lull_mem_load(&domain->counter);
	else
		word++;
	/*
	 * [grace.enter:A] relaxed. Pairs with [grace.scan:A].
	 * Orders: the thread's previous section before this word, which the driver may read in
	 * place of the word that ended that section. This store needs no order of its own for
	 * that: it follows the release store which ended that section, in the same word and by the
	 * same thread, and so belongs to the release sequence of that store (C11 5.1.2.4). The
	 * models pass without more (ENTER_RELAXED).
	 */
	lull_mem_store(&reader->word, word);
	/*
	 * [grace.enter:B] light. Pairs with [grace.begin:A].
	 * Orders: the store to the word, which tells the driver of this section, before the
	 * section's reads.
	 * Else: the driver sees no section here, and lets an element be reclaimed that this reader,
	 * which has read the old pointer, goes on reading.
	 * Mutant: ENTER_NO_LIGHT.
	 */
	lull_mem_fence_light();
}

static inline void rcu_reader_leave_light(struct rcu_domain *domain, struct rcu_reader *reader)
{
	rcu_reader_check_leave(reader);
	/*
	 * [grace.leave:A] release. Pairs with [grace.scan:A].
	 * Orders: the section's reads before the word that tells the driver of its end.
	 * Else: an element is reclaimed while the section still reads it. Mutant: LEAVE_RELAXED.
	 */
	lull_mem_decrement_release(&reader->word);
	/*
	 * [grace.leave:B] light. Pairs with [grace.sleep:A].
	 * Orders: the word that ends the section before the look at waited.
	 * Else: this reader finds that nobody waits, the driver finds the section still open, and
	 * so the driver sleeps for ever. Mutant: LEAVE_NO_LIGHT.
	 */
	lull_mem_fence_light();
	rcu_reader_wake(domain, reader);
}

/* Enters a section of the flavour whose readers execute the barriers themselves (T 6.4.3). */
static inline void rcu_reader_enter_full(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	rcu_reader_check_enter(reader);
	/*
	 * [grace.enter:C] full. Pairs with [grace.begin:A].
	 * Orders: the thread's previous section before the word; the word, which tells the driver
	 * of this section, before the section's reads.
	 * Else: the driver sees no section here, and lets an element be reclaimed that this reader,
	 * which has read the old pointer, goes on reading.
	 * Mutants: ENTER_FULL_LIGHT, ENTER_NESTED_PLAIN.
	 */
	if (__builtin_expect(!(word & RCU_NEST_MASK), 1))
		lull_mem_store_full(&reader->word, lull_mem_load(&domain->counter));
	else if (LULL_MEM_STORE_FULL_DIVISIBLE) /* a handler came before its host's fence */
		lull_mem_store_full(&reader->word, word + 1);
	else
		lull_mem_store(&reader->word, word + 1);
}

static inline void rcu_reader_leave_full(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word) - 1;

	rcu_reader_check_leave(reader);
	if (__builtin_expect((word & RCU_NEST_MASK) != 0, 0)) {
		lull_mem_store(&reader->word, word);
		return;
	}
	/*
	 * [grace.leave:C] full. Pairs with [grace.scan:A] and [grace.sleep:A].
	 * Orders: the section's reads before the word that tells the driver of its end; that word
	 * before the look at waited.
	 * Else: an element is reclaimed while the section still reads it; or this reader finds that
	 * nobody waits, the driver finds the section still open, and the driver sleeps for ever.
	 * Mutants: LEAVE_FULL_RELAXED, LEAVE_FULL_LIGHT.
	 */
	lull_mem_store_full(&reader->word, word);
	rcu_reader_wake(domain, reader);
}

/* Enters a section of the flavour whose threads register in their first section. */
static inline void rcu_reader_enter_auto(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	if (__builtin_expect(!(word & RCU_NEST_MASK), 1)) {
		word = lull_mem_load(&domain->counter);
	} else if (__builtin_expect(word == RCU_UNREGISTERED, 0)) {
		rcu_domain_arrive(domain, reader);
		word = lull_mem_load(&domain->counter);
	} else {
		word++;
	}
	/* [grace.enter:B]: the store tells the driver of this section before the section reads. */
	lull_mem_store(&reader->word, word);
	lull_mem_fence_light();
}

/*
 * Tells the driver that this thread holds no reference now (T 6.4.2). While the counter is as this
 * thread last told it, no grace period waits for this thread, and two loads are all that is done.
 */
static inline void rcu_reader_quiescent(struct rcu_domain *domain, struct rcu_reader *reader)
{
	/*
	 * [grace.quiescent:B] acquire. Pairs with [grace.begin:A].
	 * Orders: the counter, which changes after an element was removed, before the reads of a
	 * handler that interrupts this thread between the store of the word below and its fence.
	 * Else: the handler reads the removed element, while the word says that this thread holds
	 * nothing.
	 * Mutant: COUNTER_RELAXED.
	 */
	unsigned long counter = lull_mem_load_acquire(&domain->counter);

	if (LULL_RCU_CHECKS && !rcu_reader_ongoing(reader))
		rcu_domain_misuse(reader, "quiescent state of a thread that is offline");
	if (lull_mem_load(&reader->word) == counter)
		return;
	/*
	 * [grace.quiescent:A] full. Pairs with [grace.begin:A], [grace.scan:A], [grace.sleep:A].
	 * Orders: the thread's earlier reads before the word; the word before its later reads, and
	 * before the look at waited.
	 * Else: an element is reclaimed while this thread, before the quiescent state or after it,
	 * reads that element; or the driver sleeps for ever, because this thread finds that nobody
	 * waits and the driver finds the old word.
	 * Mutant: QUIESCENT_LIGHT.
	 */
	rcu_annotate_release(&reader->word);
	lull_mem_store_full(&reader->word, counter);
	if (__builtin_expect(lull_mem_load32(&reader->waited) != 0, 0))
		rcu_domain_reader_left(domain, reader);
}

static inline void rcu_reader_offline(struct rcu_domain *domain, struct rcu_reader *reader)
{
	/*
	 * As [grace.leave:C]: earlier reads stay before the word, which tells the driver that this
	 * thread reads no more, and the word before the look at waited. Mutant: OFFLINE_LIGHT.
	 */
	rcu_annotate_release(&reader->word);
	lull_mem_store_full(&reader->word, 0);
	rcu_reader_wake(domain, reader);
}

static inline void rcu_reader_online(struct rcu_domain *domain, struct rcu_reader *reader)
{
	/*
	 * As [grace.enter:C]: the word, which tells the driver that this thread reads again, stays
	 * before later reads. As [grace.quiescent:B]: the counter stays before the reads of a
	 * handler that comes before the fence. Mutant: ONLINE_LIGHT.
	 */
	lull_mem_store_full(&reader->word, lull_mem_load_acquire(&domain->counter));
}

#ifdef __cplusplus
}
#endif

#endif
