// SPDX-License-Identifier: MIT
/* The memory orders of liburcu 0.15: every operation in each order, and what the orders forbid. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include <urcu/annotate.h>
#include <urcu/assert.h>
#include <urcu/pointer.h>
#include <urcu/uatomic.h>

#include "../../../check/test.h"

#define ROUNDS 100000

urcu_static_assert(CMM_SEQ_CST_FENCE > CMM_SEQ_CST, "an order of its own", order_of_its_own);
#ifndef UATOMIC_HAS_ATOMIC_INT
#error "every machine has atomic operations on int"
#endif

/* Return: whether each operation that reads and writes does what plain arithmetic says. */
#define UPDATES_DO(type, order)                                                            \
	__extension__({                                                                    \
		type v = 10;                                                               \
		int good = uatomic_xchg(&v, 20, order) == 10;                              \
                                                                                           \
		good &= uatomic_xchg_mo(&v, 21, order) == 20;                              \
		good &= uatomic_cmpxchg(&v, 21, 30, order) == 21;                          \
		good &= uatomic_cmpxchg(&v, 21, 40, order, CMM_RELAXED) == 30;             \
		good &= uatomic_cmpxchg_mo(&v, 30, 31, order, CMM_RELAXED) == 30;          \
		good &= uatomic_add_return(&v, 5, order) == 36;                            \
		good &= uatomic_sub_return(&v, 6, order) == 30;                            \
		good &= uatomic_add_return_mo(&v, 2, order) == 32;                         \
		good &= uatomic_sub_return_mo(&v, 1, order) == 31;                         \
		uatomic_add(&v, 3, order), uatomic_sub(&v, 2, order);                      \
		uatomic_add_mo(&v, 3, order), uatomic_sub_mo(&v, 4, order);                \
		good &= v == 31;                                                           \
		uatomic_inc(&v, order), uatomic_inc_mo(&v, order), uatomic_dec(&v, order); \
		uatomic_dec_mo(&v, order);                                                 \
		uatomic_inc(&v), uatomic_dec(&v);                                          \
		uatomic_and(&v, 0x1c, order), uatomic_or(&v, 0x40, order);                 \
		good &= v == 0x5c;                                                         \
		uatomic_and_mo(&v, 0x18, order), uatomic_or_mo(&v, 0x20, order);           \
		good &&v == 0x38;                                                          \
	})

#define ON_TYPE(type)                                                                      \
	static void on_##type(void)                                                        \
	{                                                                                  \
		int good = UPDATES_DO(type, CMM_RELAXED) && UPDATES_DO(type, CMM_CONSUME); \
		type v = 1;                                                                \
                                                                                           \
		good &= UPDATES_DO(type, CMM_ACQUIRE) && UPDATES_DO(type, CMM_RELEASE);    \
		good &= UPDATES_DO(type, CMM_ACQ_REL) && UPDATES_DO(type, CMM_SEQ_CST);    \
		good &= UPDATES_DO(type, CMM_SEQ_CST_FENCE);                               \
		check(good, "updates_do_what_they_say_in_each_order_on_" #type);           \
		uatomic_store(&v, 2), uatomic_store(&v, 3, CMM_RELAXED);                   \
		good = uatomic_load(&v) == 3 && uatomic_load(&v, CMM_RELAXED) == 3;        \
		uatomic_set(&v, 4, CMM_RELEASE);                                           \
		good &= uatomic_load(&v, CMM_ACQUIRE) == 4;                                \
		good &= uatomic_read(&v, CMM_CONSUME) == 4;                                \
		uatomic_store_mo(&v, 5, CMM_SEQ_CST);                                      \
		good &= uatomic_load_mo(&v, CMM_SEQ_CST) == 5;                             \
		uatomic_store(&v, -1, CMM_SEQ_CST_FENCE);                                  \
		good &= uatomic_load(&v, CMM_SEQ_CST_FENCE) == (type)-1;                   \
		check(good, "loads_and_stores_do_what_they_say_on_" #type);                \
	}

typedef unsigned long unsigned_long;
ON_TYPE(uint8_t)
ON_TYPE(int16_t)
ON_TYPE(int)
ON_TYPE(unsigned_long)

static int one, two, unrelated, first_saw, second_saw;
static unsigned int arrived;

/* Which of the ways to a full barrier stands between the store and the load. */
static int way;

static void barrier_of_a_way(void)
{
	int found;

	switch (way) {
	case 0:
		found = uatomic_load(&unrelated, CMM_SEQ_CST_FENCE);
		break;
	case 1:
		found = uatomic_cmpxchg(&unrelated, 1, 2, CMM_SEQ_CST_FENCE, CMM_SEQ_CST_FENCE);
		break;
	default:
		found = uatomic_cmpxchg(&unrelated, 1, 2);
	}
	urcu_posix_assert(found == 0);
}

/* Both threads leave at nearly the same time, where there are two processors. */
static void meet(unsigned int *meetings)
{
	unsigned int until = 2 * ++*meetings;

	uatomic_inc(&arrived, CMM_SEQ_CST);
	for (int spins = 0; uatomic_load(&arrived, CMM_SEQ_CST) < until; spins++)
		if (spins % 1000 == 999)
			sched_yield();
}

static void *second(void *unused)
{
	unsigned int meetings = 0;

	for (int i = 0; i < ROUNDS; i++) {
		meet(&meetings);
		uatomic_store(&two, 1);
		barrier_of_a_way();
		second_saw = uatomic_load(&one);
		meet(&meetings);
	}
	return unused;
}

/* Two threads that store and then load what the other one stores: one of them sees it. */
static void full_barriers(int which, const char *name)
{
	unsigned int meetings = 0;
	pthread_t other;
	int unseen = 0;

	way = which;
	arrived = one = two = 0;
	pthread_create(&other, NULL, second, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		meet(&meetings);
		uatomic_store(&one, 1);
		barrier_of_a_way();
		first_saw = uatomic_load(&two);
		meet(&meetings);
		unseen += !first_saw && !second_saw;
		one = two = 0;
	}
	pthread_join(other, NULL);
	check(unseen == 0, name);
}

struct object {
	int value;
};

static struct object *volatile published;

#ifdef URCU_ARCH_X86
/* Reads a value, which changes in between, by two equal pointers: 1, then 2. */
static __attribute__((noinline)) int read_twice(void)
{
	struct object *a = published, *b;
	int before = a->value;

	/* Does not tell the compiler, as another thread does not. */
	__asm__ __volatile__("movl $2, (%0)" : : "r"(&a->value), "r"(before));
	b = published;
	return cmm_ptr_eq(a, b) ? 10 * before + b->value : 0;
}
#endif

static void pointers(void)
{
	struct object *x = malloc(sizeof(*x)), *y = malloc(sizeof(*y));

	x->value = y->value = 1;
	published = x;
	check(cmm_ptr_eq(x, published) && !cmm_ptr_eq(x, y) && cmm_ptr_eq(NULL, NULL),
	      "pointers_are_compared");
#ifdef URCU_ARCH_X86
	check(read_twice() == 12, "what_was_read_by_an_equal_pointer_is_read_again");
#endif
	free(x);
	free(y);
}

static void checks(void)
{
	int evaluated = 0, value = 1;

	urcu_posix_assert(value == 1);
	urcu_assert_debug(++evaluated);
	(void)CAA_COMBINE_TOKENS(val, ue);
	check(evaluated == 0, "a_check_that_is_not_made_is_not_evaluated");
	check(cmm_cast_volatile(&value) == &value, "a_pointer_is_cast");
}

int main(void)
{
	on_uint8_t();
	on_int16_t();
	on_int();
	on_unsigned_long();
	full_barriers(0, "a_load_with_a_fence_is_a_full_barrier");
	full_barriers(1, "a_comparison_that_fails_has_the_order_for_that");
	full_barriers(2, "a_comparison_without_an_order_is_a_full_barrier");
	pointers();
	checks();
	return sums();
}
