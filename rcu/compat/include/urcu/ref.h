/* SPDX-License-Identifier: MIT */
/*
 * Reference counts, under liburcu's names. The last urcu_ref_put() calls the release function.
 *
 * A count that would overflow is not taken: urcu_ref_get() stops the program,
 * urcu_ref_get_safe() and urcu_ref_get_unless_zero() return false.
 */
#ifndef LULL_URCU_REF_H
#define LULL_URCU_REF_H

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include <urcu/assert.h>
#include <urcu/uatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct urcu_ref {
	long refcount;
};

static inline void urcu_ref_set(struct urcu_ref *ref, long val)
{
	uatomic_set(&ref->refcount, val);
}

static inline void urcu_ref_init(struct urcu_ref *ref)
{
	urcu_ref_set(ref, 1);
}

/* Counts one more, unless the count is what is refused or cannot grow. */
static inline bool urcu_ref_get_unless_(struct urcu_ref *ref, long refused)
{
	long count = uatomic_read(&ref->refcount);

	while (count != refused && count != LONG_MAX) {
		long found = uatomic_cmpxchg(&ref->refcount, count, count + 1);

		if (found == count)
			return true;
		count = found;
	}
	return false;
}

static inline bool __attribute__((warn_unused_result)) urcu_ref_get_safe(struct urcu_ref *ref)
{
	return urcu_ref_get_unless_(ref, LONG_MAX);
}

static inline bool __attribute__((warn_unused_result))
urcu_ref_get_unless_zero(struct urcu_ref *ref)
{
	return urcu_ref_get_unless_(ref, 0);
}

static inline void urcu_ref_get(struct urcu_ref *ref)
{
	if (!urcu_ref_get_safe(ref))
		abort();
}

static inline void urcu_ref_put(struct urcu_ref *ref, void (*release)(struct urcu_ref *))
{
	long count = uatomic_sub_return(&ref->refcount, 1);

	urcu_posix_assert(count >= 0);
	if (count == 0)
		release(ref);
}

#ifdef __cplusplus
}
#endif

#endif
