/* SPDX-License-Identifier: MIT */
/*
 * Pointers that readers follow while updaters change them: the publication guarantee.
 *
 * These are macros, because macros keep the pointer's type. Context: any, signal handlers too.
 * Progress: wait-free. Paper: T 6.2.4 (equation 6.2).
 *
 * The two that replace a pointer are sequentially consistent in the sense of C11. On x86 that is a
 * full order. On other machines a later relaxed load may be made before the new pointer is visible.
 */
#ifndef LULL_RCU_POINTER_H
#define LULL_RCU_POINTER_H

/**
 * rcu_dereference() - Read a pointer that an updater may change.
 * @p: the pointer, an lvalue.
 *
 * Use it within a read-side critical section: the element to which it leads stays valid until the
 * section ends.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Ordering: what an updater wrote before rcu_assign_pointer() is seen through the pointer
 * (consume).
 * Return: the pointer.
 * Paper: T 6.2.4.
 */
#define rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_CONSUME)

/**
 * rcu_assign_pointer() - Publish a pointer to readers.
 * @p: the pointer, an lvalue.
 * @v: its new value.
 *
 * Updaters exclude each other by means of their own.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Ordering: what the caller wrote before is seen through the pointer (release).
 * Paper: T 6.2.4.
 */
#define rcu_assign_pointer(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)

/**
 * rcu_xchg_pointer() - Replace a published pointer and take the old one.
 * @p: address of the pointer.
 * @v: its new value.
 *
 * Context: any, signal handlers too. Progress: wait-free. Ordering: sequentially consistent.
 * Return: the old pointer. Free the element to which it leads after a grace period.
 * Paper: T 6.5.4.
 */
#define rcu_xchg_pointer(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/**
 * rcu_cmpxchg_pointer() - Replace a published pointer if it is still what was expected.
 * @p: address of the pointer.
 * @expect: the value that the pointer must have.
 * @v: its new value.
 *
 * Context: any, signal handlers too. Progress: wait-free. Ordering: sequentially consistent.
 * Return: the value found: @expect when the pointer was replaced.
 * Paper: T 6.5.4.
 */
#define rcu_cmpxchg_pointer(p, expect, v)                                               \
	__extension__({                                                                 \
		__typeof__(*(p)) rcu_found_ = (expect);                                 \
		__atomic_compare_exchange_n((p), &rcu_found_, (v), 0, __ATOMIC_SEQ_CST, \
					    __ATOMIC_SEQ_CST);                          \
		rcu_found_;                                                             \
	})

#endif
