// SPDX-License-Identifier: MIT
/*
 * One function for each access of lull/rcu/memory.h and pointer.h that orders, compiled for a
 * machine on which orders are instructions of their own; `run` looks at those. Never run.
 */
#include "lull/rcu/memory.h"
#include "lull/rcu/pointer.h"

typedef unsigned long word;

word load_acquire(const word *p)
{
	return lull_mem_load_acquire(p);
}

void store_release(word *p, word v)
{
	lull_mem_store_release(p, v);
}

void decrement_release(word *p)
{
	lull_mem_decrement_release(p);
}

void fence(void)
{
	lull_mem_fence();
}

/* Without a fence the first store says nothing. */
void fence_light(word *p)
{
	*p = 1;
	lull_mem_fence_light();
	*p = 2;
}

word exchange(word *p, word v)
{
	return lull_mem_exchange(p, v);
}

void store_full(word *p, word v)
{
	lull_mem_store_full(p, v);
}

word cas(word *p, word expect, word v)
{
	return lull_mem_cas(p, expect, v);
}

word add(word *p, word v)
{
	return lull_mem_add(p, v);
}

word or_bits(word *p, word bits)
{
	return lull_mem_or(p, bits);
}

uint32_t load32_acquire(const uint32_t *p)
{
	return lull_mem_load32_acquire(p);
}

void store32_release(uint32_t *p, uint32_t v)
{
	lull_mem_store32_release(p, v);
}

void store32_full(uint32_t *p, uint32_t v)
{
	lull_mem_store32_full(p, v);
}

uint32_t add32(uint32_t *p, uint32_t v)
{
	return lull_mem_add32(p, v);
}

uint32_t cas32(uint32_t *p, uint32_t expect, uint32_t v)
{
	return lull_mem_cas32(p, expect, v);
}

uint64_t load64_acquire(const uint64_t *p)
{
	return lull_mem_load64_acquire(p);
}

uint64_t add64(uint64_t *p, uint64_t v)
{
	return lull_mem_add64(p, v);
}

void *load_pointer_acquire(void *const *p)
{
	return lull_mem_load_pointer_acquire(p);
}

void store_pointer_release(void **p, void *v)
{
	lull_mem_store_pointer_release(p, v);
}

void *dereference(void **p)
{
	return rcu_dereference(*p);
}

void assign_pointer(void **p, void *v)
{
	rcu_assign_pointer(*p, v);
}

void *xchg_pointer(void **p, void *v)
{
	return rcu_xchg_pointer(p, v);
}

void *cmpxchg_pointer(void **p, void *expect, void *v)
{
	return rcu_cmpxchg_pointer(p, expect, v);
}
