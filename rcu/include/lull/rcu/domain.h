/* SPDX-License-Identifier: MIT */
/*
 * A domain: readers and the grace periods that wait for them. One per flavour.
 *
 * Programs use a flavour's header (lull/rcu/memb.h and its sisters); these are the pieces that
 * those are made of, and what structures take that work with any flavour.
 *
 * A reader's word holds, like the counter, the grace period above RCU_NEST_BITS and the nesting
 * depth below. The counter's own depth is 1, so that entering an outermost section is one copy
 * (T 6.4.3). With 64-bit words the grace period is a free-running number, which cannot wrap in
 * the life of a machine, and one phase is enough; with 32-bit words it is one bit and two
 * phases (T 6.4.3). QSBR readers use the same word: depth 1 online, 0 offline.
 *
 * Who writes, who reads:
 *	counter	the thread that drives the grace period; read by readers as they enter
 *	word	its thread (and handlers on it); read by the driver
 *	waited	set by the driver, cleared by the reader that wakes it
 * Barrier pairs: rcu/grace/grace.c. Paper: T 6.4.2-6.4.4.
 */
#ifndef LULL_RCU_DOMAIN_H
#define LULL_RCU_DOMAIN_H

#include <stdint.h>
#include "lull/rcu/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RCU_NEST_BITS 16
#define RCU_NEST_MASK ((1UL << RCU_NEST_BITS) - 1)
/* A depth that nesting does not reach: a thread that a self-registering flavour has not seen. */
#define RCU_UNREGISTERED (1UL << (RCU_NEST_BITS - 1))

struct rcu_grace; /* rcu/grace/grace.h: registry, lock and state of the grace period */

/** enum rcu_kind - Whose barriers order readers before the driver of a grace period. */
enum rcu_kind {
	RCU_KIND_QSBR, /* the reader's, in its quiescent states */
	RCU_KIND_FULL, /* the reader's, in every section */
	RCU_KIND_SIGNAL, /* those that the driver forces by signals */
	RCU_KIND_MEMBARRIER /* those it forces by sys_membarrier; by signals where there is none */
};

/**
 * struct rcu_domain - What readers and updaters of one flavour share.
 * @counter: the current grace period, with a depth of 1.
 * @grace: what only the library sees.
 * @name: the flavour's.
 * @index: the domain's number: its place in RCU_FLAVOURS.
 * @kind: whose barriers order readers.
 * @self_registering: not 0: a thread registers when it first reads.
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
 * fork takes the domains' locks. A new one has its row here and its read side in
 * rcu/flavour/generate.
 */
#define RCU_FLAVOURS(X)        \
	X(qsbr, QSBR, 0)       \
	X(mb, FULL, 0)         \
	X(signal, SIGNAL, 0)   \
	X(memb, MEMBARRIER, 0) \
	X(bp, MEMBARRIER, 1)

/**
 * struct rcu_reader - A thread, as a domain's reader. Lives in thread-local storage.
 * @word: nesting depth and grace period at entry.
 * @waited: not 0 while a grace period sleeps until this reader leaves.
 * @fence_wanted: a signal to this thread is on its way (signal flavour).
 * @next: in the registry.
 * @previous: in the registry.
 * @tid: the thread, as the kernel numbers it.
 * @registered: not 0 between registration and unregistration.
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
 * struct rcu_gp_poll_state - A grace period to poll for.
 * @seq: the sequence number at which it has ended.
 */
struct rcu_gp_poll_state {
	unsigned long seq;
};

/* What the inline read sides call when something rare has happened. */
void rcu_domain_register(struct rcu_domain *domain, struct rcu_reader *reader, int debug);
void rcu_domain_unregister(struct rcu_domain *domain, struct rcu_reader *reader);
void rcu_domain_reader_left(struct rcu_domain *domain, struct rcu_reader *reader);
void rcu_domain_misuse(const struct rcu_reader *reader, const char *what);

void rcu_domain_synchronize(struct rcu_domain *domain);
void rcu_domain_synchronize_expedited(struct rcu_domain *domain);
struct rcu_gp_poll_state rcu_domain_start_poll(struct rcu_domain *domain);
int rcu_domain_poll_state(struct rcu_domain *domain, struct rcu_gp_poll_state state);

/**
 * rcu_domain_self() - The calling thread as a reader of a domain.
 * @domain: a flavour's, as &rcu_memb_domain.
 *
 * Context: any. Progress: wait-free. Return: its reader, registered or not.
 */
struct rcu_reader *rcu_domain_self(const struct rcu_domain *domain);

/**
 * rcu_domain_name() - The name of a domain's flavour.
 * @domain: a flavour's, as &rcu_memb_domain.
 *
 * Context: any. Progress: wait-free. Return: the name in lower case, as "memb".
 */
const char *rcu_domain_name(const struct rcu_domain *domain);

/* initial-exec: one load from the thread pointer, no call, in whatever object includes this. */
#define RCU_READER_TLS __attribute__((tls_model("initial-exec")))

/* The flavours' domains, and the calling thread as a reader of each. */
#define RCU_FLAVOUR_DECLARE(flavour, kind, self_registering) \
	extern struct rcu_domain rcu_##flavour##_domain;     \
	extern __thread struct rcu_reader rcu_##flavour##_reader RCU_READER_TLS;
RCU_FLAVOURS(RCU_FLAVOUR_DECLARE)
#undef RCU_FLAVOUR_DECLARE

/* Programs compiled with -DLULL_RCU_DEBUG check their use of the read side. */
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
		rcu_domain_misuse(reader, "read-side critical sections nested 32767 deep");
}

static inline void rcu_reader_check_leave(const struct rcu_reader *reader)
{
	if (LULL_RCU_CHECKS && !rcu_reader_ongoing(reader))
		rcu_domain_misuse(reader, "read-side critical section left more often than "
					  "entered");
}

/* Wakes the driver of a grace period that sleeps until this reader has left. */
static inline void rcu_reader_wake(struct rcu_domain *domain, struct rcu_reader *reader)
{
	if (__builtin_expect(!lull_mem_is_zero32(&reader->waited), 0) &&
	    !(lull_mem_load(&reader->word) & RCU_NEST_MASK))
		rcu_domain_reader_left(domain, reader);
}

/* Enters for a driver that forces barriers: membarrier or signals (T 6.4.4). */
static inline void rcu_reader_enter_light(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	rcu_reader_check_enter(reader);
	if (__builtin_expect(!(word & RCU_NEST_MASK), 1))
		word = lull_mem_load(&domain->counter);
	else
		word++;
	/*
	 * [grace.enter:A] no order of its own: that of [grace.leave:A], of the section before, to
	 * whose release sequence this store belongs (C11 5.1.2.4). Pairs with [grace.scan:A].
	 * Orders: that section before this word, which the driver may see in its word's place. The
	 * models pass without more (ENTER_RELAXED).
	 */
	lull_mem_store(&reader->word, word);
	/*
	 * [grace.enter:B] light. Pairs with [grace.begin:A].
	 * Orders: the word before the section's reads.
	 * Else: the driver sees no reader, and the reader sees the old pointer.
	 * Mutant: ENTER_NO_LIGHT.
	 */
	lull_mem_fence_light();
}

static inline void rcu_reader_leave_light(struct rcu_domain *domain, struct rcu_reader *reader)
{
	rcu_reader_check_leave(reader);
	/*
	 * [grace.leave:A] release. Pairs with [grace.scan:A].
	 * Orders: the section before the word that ends it.
	 * Else: what the section reads is reclaimed under it. Mutant: LEAVE_RELAXED.
	 */
	lull_mem_decrement_release(&reader->word);
	/*
	 * [grace.leave:B] light. Pairs with [grace.sleep:A].
	 * Orders: the word before the look at waited.
	 * Else: the driver sleeps for ever. Mutant: LEAVE_NO_LIGHT.
	 */
	lull_mem_fence_light();
	rcu_reader_wake(domain, reader);
}

/* Enters with a barrier of its own (T 6.4.3). */
static inline void rcu_reader_enter_full(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	rcu_reader_check_enter(reader);
	/*
	 * [grace.enter:C] full. Pairs with [grace.begin:A].
	 * Orders: the section before, which ended, before this word; the word before the section's
	 * reads.
	 * Else: the driver sees no reader, and the reader sees the old pointer.
	 * Mutants: ENTER_FULL_LIGHT, ENTER_NESTED_PLAIN.
	 */
	if (__builtin_expect(!(word & RCU_NEST_MASK), 1))
		lull_mem_store_full(&reader->word, lull_mem_load(&domain->counter));
	else if (LULL_MEM_STORE_FULL_DIVISIBLE) /* a handler, before the fence of its host */
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
	 * Orders: the section before the word that ends it; the word before the look at waited.
	 * Else: what the section reads is reclaimed under it; or the driver sleeps for ever.
	 * Mutants: LEAVE_FULL_RELAXED, LEAVE_FULL_LIGHT.
	 */
	lull_mem_store_full(&reader->word, word);
	rcu_reader_wake(domain, reader);
}

/* Enters for a flavour whose threads register when they first read. */
static inline void rcu_reader_enter_auto(struct rcu_domain *domain, struct rcu_reader *reader)
{
	unsigned long word = lull_mem_load(&reader->word);

	if (__builtin_expect(!(word & RCU_NEST_MASK), 1)) {
		word = lull_mem_load(&domain->counter);
	} else if (__builtin_expect(word == RCU_UNREGISTERED, 0)) {
		rcu_domain_register(domain, reader, 0);
		word = lull_mem_load(&domain->counter);
	} else {
		word++;
	}
	/* As in rcu_reader_enter_light(): [grace.enter:B]. */
	lull_mem_store(&reader->word, word);
	lull_mem_fence_light();
}

/*
 * Tells that this thread holds nothing now (T 6.4.2). Until a grace period begins there is
 * nobody to tell, and the word says so: then this is two loads.
 */
static inline void rcu_reader_quiescent(struct rcu_domain *domain, struct rcu_reader *reader)
{
	/*
	 * [grace.quiescent:B] acquire. Pairs with [grace.begin:A].
	 * Orders: the counter, which changes after the removal, before what a handler reads between
	 * the word below and its fence.
	 * Else: the handler reads what was removed, and the word says that nobody does.
	 * Mutant: COUNTER_RELAXED.
	 */
	unsigned long counter = lull_mem_load_acquire(&domain->counter);

	if (LULL_RCU_CHECKS && !rcu_reader_ongoing(reader))
		rcu_domain_misuse(reader, "quiescent state of a thread that is offline");
	if (lull_mem_load(&reader->word) == counter)
		return;
	/*
	 * [grace.quiescent:A] full. Pairs with [grace.begin:A], [grace.scan:A], [grace.sleep:A].
	 * Orders: reads before it before the word; the word before reads after it and before the
	 * look at waited.
	 * Else: what the thread reads is reclaimed under it, before the quiescent state or after
	 * it; or the driver sleeps for ever.
	 * Mutant: QUIESCENT_LIGHT.
	 */
	lull_mem_store_full(&reader->word, counter);
	if (__builtin_expect(lull_mem_load32(&reader->waited) != 0, 0))
		rcu_domain_reader_left(domain, reader);
}

static inline void rcu_reader_offline(struct rcu_domain *domain, struct rcu_reader *reader)
{
	/* As [grace.leave:C], in rcu_reader_leave_full(). Mutant: OFFLINE_LIGHT. */
	lull_mem_store_full(&reader->word, 0);
	rcu_reader_wake(domain, reader);
}

static inline void rcu_reader_online(struct rcu_domain *domain, struct rcu_reader *reader)
{
	/*
	 * As [grace.enter:C], in rcu_reader_enter_full(), and [grace.quiescent:B], in
	 * rcu_reader_quiescent(). Mutant: ONLINE_LIGHT.
	 */
	lull_mem_store_full(&reader->word, lull_mem_load_acquire(&domain->counter));
}

#ifdef __cplusplus
}
#endif

#endif
