/* SPDX-License-Identifier: MIT */
/*
 * What rcu/call calls, for the explorer: domains, grace periods that are one full fence each,
 * memory that is taken once and not used again. Each test program includes this header in one file.
 *
 * rcu/grace/grace_sched_test.c shows what real grace periods promise. Paper: T 6.4.5.
 */
#ifndef LULL_CALL_HOST_SCHED_TEST_H
#define LULL_CALL_HOST_SCHED_TEST_H

#include "sched.h"
#include "start.h"

/* How many bytes of a reused block are zeroed: a worker's lane, a table of CPUs. */
#define ZEROED_BYTES 64u

#define HOST_DOMAIN(flavour, kind_, self_registering) \
	struct rcu_domain rcu_##flavour##_domain = {  \
		.name = #flavour,                     \
		.index = RCU_INDEX_##flavour,         \
		.kind = RCU_KIND_##kind_,             \
	};
RCU_FLAVOURS(HOST_DOMAIN)

#define HOST_ADDRESS(flavour, kind, self_registering) &rcu_##flavour##_domain,
struct rcu_domain *const rcu_domains[RCU_DOMAINS] = { RCU_FLAVOURS(HOST_ADDRESS) };

/* Ghost memory: part of the state, but no access of the library's. */
struct host_books {
	uint32_t graces; /* grace periods that have begun */
	uint32_t heap_used; /* bytes of the heap that were taken */
	uint32_t freed; /* blocks that were given back */
};

static struct rcu_domain *const domain = &rcu_mb_domain;
static struct host_books *host_books;
static struct rcu_reader *host_reader;
static uint8_t *host_heap;
static uint32_t host_heap_bytes;

static void host_setup(uint32_t heap_bytes)
{
	host_books = sched_ghost(sizeof(*host_books));
	host_heap = sched_alloc(heap_bytes, 64);
	host_heap_bytes = heap_bytes;
	host_reader = sched_alloc(sizeof(*host_reader), 64);
}

void *lull_memory_take(size_t bytes)
{
	uint8_t *block = host_heap + host_books->heap_used;

	sched_check(host_books->heap_used + bytes <= host_heap_bytes, "the heap is too small");
	host_books->heap_used += (uint32_t)((bytes + 63) / 64 * 64);
	if (*block) /* other threads may see these zeroes late, as any store of the caller's */
		lull_zero(block, ZEROED_BYTES);
	return block;
}

/* From here on, an access by another thread, or a store that lands late, fails the test. */
void lull_memory_give(void *block)
{
	if (!block)
		return;
	host_books->freed++;
	sched_own(block, 8); /* a barrier's two counts: its users make their last access there */
}

struct rcu_reader *rcu_domain_self(const struct rcu_domain *of)
{
	(void)of;
	return host_reader;
}

const char *rcu_domain_name(const struct rcu_domain *of)
{
	(void)of;
	return "sched";
}

void rcu_domain_register(struct rcu_domain *of, struct rcu_reader *self, int debug)
{
	(void)of;
	(void)self;
	(void)debug;
}

void rcu_domain_unregister(struct rcu_domain *of, struct rcu_reader *self)
{
	(void)of;
	(void)self;
}

void rcu_domain_misuse(const struct rcu_reader *self, const char *what)
{
	(void)self;
	sched_check(0, "%s", what);
}

void rcu_domain_reader_left(struct rcu_domain *of, struct rcu_reader *self)
{
	(void)of;
	(void)self;
}

void rcu_fork_follow(enum rcu_fork_part part, const struct rcu_fork_handler *handler)
{
	(void)part;
	(void)handler;
}

void rcu_fork_begin(void)
{
}

void rcu_fork_end(void)
{
}

void rcu_domain_synchronize(struct rcu_domain *of)
{
	(void)of;
	host_books->graces++;
	lull_mem_fence();
}

#endif
