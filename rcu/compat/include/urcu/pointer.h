/* SPDX-License-Identifier: MIT */
/*
 * Pointers that readers follow while updaters change them. lull/rcu/pointer.h has the field's
 * names already; these are the rest.
 */
#ifndef LULL_URCU_POINTER_H
#define LULL_URCU_POINTER_H

#include <urcu/annotate.h>
#include <urcu/arch.h>
#include <urcu/compiler.h>
#include <urcu/uatomic.h>

#include "lull/rcu/pointer.h"

/* Publishes a pointer by its address, as rcu_assign_pointer() does by its name. */
#define rcu_set_pointer(p, v) rcu_assign_pointer(*(p), (v))

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Whether two pointers are equal, where the compiler must not know it afterwards: else it may read
 * by way of one what is to be read by way of the other, which was published later.
 */
static inline int cmm_ptr_eq(const void *a, const void *b)
{
	__asm__("" : "+r"(a));
	__asm__("" : "+r"(b));
	return a == b;
}

#ifdef __cplusplus
}
#endif

/* liburcu's names for what is inline whatever the licence. */
#define _rcu_dereference(p) rcu_dereference(p)
#define _rcu_assign_pointer(p, v) rcu_assign_pointer(p, v)
#define _rcu_set_pointer(p, v) rcu_set_pointer(p, v)
#define _rcu_xchg_pointer(p, v) rcu_xchg_pointer(p, v)
#define _rcu_cmpxchg_pointer(p, old, _new) rcu_cmpxchg_pointer(p, old, _new)

#endif
