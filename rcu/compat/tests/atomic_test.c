// SPDX-License-Identifier: MIT
/* Atomics, barriers, what the compiler offers, counts and futexes, as in programs for liburcu. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <urcu/arch.h>
#include <urcu/compiler.h>
#include <urcu/futex.h>
#include <urcu/ref.h>
#include <urcu/tls-compat.h>
#include <urcu/uatomic.h>

#include "../../../check/test.h"

#define ROUNDS 4000000
#define TURNS 2000

/* Every operation on one type, against what plain arithmetic says. */
#define ON_TYPE(type)                                                                       \
	static void on_##type(void)                                                         \
	{                                                                                   \
		volatile type v = 1;                                                        \
		int good;                                                                   \
                                                                                            \
		uatomic_set(&v, 10);                                                        \
		good = uatomic_read(&v) == 10;                                              \
		good &= uatomic_xchg(&v, 20) == 10 && v == 20;                              \
		good &= uatomic_cmpxchg(&v, 20, 30) == 20 && v == 30;                       \
		good &= uatomic_cmpxchg(&v, 20, 40) == 30 && v == 30;                       \
		good &= uatomic_add_return(&v, 5) == 35 && uatomic_sub_return(&v, 6) == 29; \
		uatomic_add(&v, 3), uatomic_sub(&v, 2);                                     \
		good &= v == 30;                                                            \
		uatomic_inc(&v), uatomic_inc(&v), uatomic_dec(&v);                          \
		good &= v == 31;                                                            \
		uatomic_and(&v, 0x1c), uatomic_or(&v, 0x40);                                \
		good &= v == 0x5c;                                                          \
		uatomic_set(&v, -1);                                                        \
		good &= uatomic_read(&v) == (type)-1 && uatomic_add_return(&v, 1) == 0;     \
		check(good, "operations_do_what_they_say_on_" #type);                       \
	}

typedef unsigned int unsigned_int;
typedef unsigned long unsigned_long;
ON_TYPE(int8_t)
ON_TYPE(uint8_t)
ON_TYPE(int16_t)
ON_TYPE(uint16_t)
ON_TYPE(int)
ON_TYPE(unsigned_int)
ON_TYPE(long)
ON_TYPE(unsigned_long)
ON_TYPE(uint64_t)

static void pointers(void)
{
	int a, b;
	int *p = &a;
	const int *volatile q = &b;

	check(uatomic_xchg(&p, &b) == &a && p == &b, "a_pointer_is_exchanged");
	check(uatomic_cmpxchg(&p, &b, NULL) == &b && !p, "a_pointer_is_compared_and_set_to_null");
	check(uatomic_read(&q) == &b, "a_pointer_to_const_is_read");
	CMM_STORE_SHARED(p, &a);
	check(CMM_LOAD_SHARED(p) == &a && CMM_ACCESS_ONCE(p) == &a, "shared_accesses_see_a_store");
}

static long sum, ticket;
static pthread_barrier_t both;
static int serving, guarded;

static void *counter(void *unused)
{
	pthread_barrier_wait(&both);
	for (int i = 0; i < ROUNDS; i++) {
		uatomic_add(&sum, 2);
		uatomic_dec(&sum);
	}
	return unused;
}

/* A lock of atomics and barriers alone, over a counter that is none. */
static void *locker(void *unused)
{
	pthread_barrier_wait(&both);
	for (int i = 0; i < TURNS; i++) {
		long mine = uatomic_add_return(&ticket, 1);

		for (int spin = 0; uatomic_read(&serving) != mine; spin++)
			if (spin % 64 == 63)
				sched_yield();
			else
				caa_cpu_relax();
		cmm_smp_mb();
		guarded++;
		cmm_smp_mb();
		uatomic_set(&serving, mine + 1);
	}
	return unused;
}

static void two(void *(*body)(void *))
{
	pthread_t other;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&other, NULL, body, NULL);
	body(NULL);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&both);
}

static void threads(void)
{
	two(counter);
	check(sum == 2 * ROUNDS, "sums_of_two_threads_lose_nothing");
	serving = 1;
	two(locker);
	check(guarded == 2 * TURNS, "a_lock_of_atomics_excludes");
}

struct object {
	char before[12];
	struct urcu_ref ref;
};

static const struct object *released;

static void release(struct urcu_ref *ref)
{
	released = caa_container_of(ref, struct object, ref);
}

static void references(void)
{
	struct object object;

	urcu_ref_init(&object.ref);
	urcu_ref_get(&object.ref);
	urcu_ref_put(&object.ref, release);
	check(!released, "an_object_lives_while_it_is_referred_to");
	check(urcu_ref_get_unless_zero(&object.ref), "a_count_that_is_not_zero_is_taken");
	urcu_ref_put(&object.ref, release);
	urcu_ref_put(&object.ref, release);
	check(released == &object, "the_last_reference_releases");
	check(!urcu_ref_get_unless_zero(&object.ref), "a_count_of_zero_is_not_taken");
	urcu_ref_set(&object.ref, LONG_MAX);
	check(!urcu_ref_get_safe(&object.ref) && object.ref.refcount == LONG_MAX,
	      "a_count_that_would_overflow_is_not_taken");
}

static int32_t word;

static void *waker(void *unused)
{
	uatomic_set(&word, 1);
	futex_async(&word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return unused;
}

static void futexes(void)
{
	pthread_t other;
	int woken = 0;

	check(futex_noasync(&word, FUTEX_WAIT, 7, NULL, NULL, 0) == -1 && errno == EAGAIN,
	      "a_futex_of_another_value_does_not_sleep");
	pthread_create(&other, NULL, waker, NULL);
	while (!uatomic_read(&word))
		woken = futex_noasync(&word, FUTEX_WAIT, 0, NULL, NULL, 0);
	pthread_join(other, NULL);
	check(woken == 0 || errno == EAGAIN, "a_futex_is_woken");
}

extern DECLARE_URCU_TLS(int, local);
DEFINE_URCU_TLS(int, local);
static DEFINE_URCU_TLS_INIT(long, begun, 5);

static void *set_local(void *seen)
{
	URCU_TLS(local) = 2;
	*(long *)seen = URCU_TLS(begun);
	return NULL;
}

static void compiler(void)
{
	unsigned char array[7];
	pthread_t other;
	long seen = 0;

	URCU_TLS(local) = 1;
	URCU_TLS(begun) = 6;
	pthread_create(&other, NULL, set_local, &seen);
	pthread_join(other, NULL);
	check(URCU_TLS(local) == 1 && seen == 5, "a_thread_has_its_own_variable");
	check(caa_max(3, -4) == 3 && caa_min(3, -4) == -4, "the_larger_and_the_smaller");
	check(CAA_ARRAY_SIZE(array) == 7 && CAA_BITS_PER_LONG == 8 * sizeof(long), "sizes");
	check(caa_cast_long_keep_sign(-1) == -1UL &&
		      caa_cast_long_keep_sign(0xffffffffU) == (long)0xffffffffUL,
	      "an_integer_widens_by_its_own_sign");
	check(CAA_BUILD_BUG_ON_ZERO(sizeof(int) != 4) == 0, "what_holds_compiles");
	check(caa_likely(2) && !caa_unlikely(0), "likely_keeps_the_truth");
	check(caa_container_of_check_null((struct urcu_ref *)NULL, struct object, ref) == NULL,
	      "no_member_has_no_container");
	caa_cycles_t begin = caa_get_cycles();

	for (int i = 0; i < 1000; i++)
		cmm_mb(), cmm_rmb(), cmm_wmb(), cmm_smp_rmb(), cmm_smp_wmb(), cmm_barrier();
	check(caa_get_cycles() > begin, "cycles_grow");
}

int main(void)
{
	on_int8_t(), on_uint8_t(), on_int16_t(), on_uint16_t();
	on_int(), on_unsigned_int(), on_long(), on_unsigned_long(), on_uint64_t();
	pointers();
	threads();
	references();
	futexes();
	compiler();
	return sums();
}
