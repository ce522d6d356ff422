/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations on numbers and pointers, under liburcu's names.
 *
 * Each takes its memory order as the last argument; without one, xchg, cmpxchg, add_return and
 * sub_return are full barriers, cmpxchg also when it fails, and the others order nothing unless the
 * cmm_smp_mb__... macro stands beside them. On x86 every locked instruction is a full barrier, so
 * that those macros cost nothing there. The names that end in _mo always have the argument.
 *
 * load and store are the same as read and set.
 */
#ifndef LULL_URCU_UATOMIC_H
#define LULL_URCU_UATOMIC_H

#include <stdlib.h>

#include <urcu/arch.h>
#include <urcu/system.h>

#define UATOMIC_HAS_ATOMIC_BYTE 1
#define UATOMIC_HAS_ATOMIC_SHORT 1
#define UATOMIC_HAS_ATOMIC_INT 1
#if __SIZEOF_LONG__ == 8
#define UATOMIC_HAS_ATOMIC_LLONG 1
#endif

/* The orders of C11, and one more: sequentially consistent, and a full barrier behind it. */
enum cmm_memorder {
	CMM_RELAXED = __ATOMIC_RELAXED,
	CMM_CONSUME = __ATOMIC_CONSUME,
	CMM_ACQUIRE = __ATOMIC_ACQUIRE,
	CMM_RELEASE = __ATOMIC_RELEASE,
	CMM_ACQ_REL = __ATOMIC_ACQ_REL,
	CMM_SEQ_CST = __ATOMIC_SEQ_CST,
	CMM_SEQ_CST_FENCE = 6
};

/*
 * Where exchanges are made of other instructions than locked ones, a sequentially consistent one
 * is not yet a barrier for the accesses around it, and a fence follows.
 */
#ifdef URCU_ARCH_X86
#define URCU_AFTER_FULL_() cmm_barrier()
#define URCU_WEAK_ORDER_ CMM_SEQ_CST
#define URCU_BESIDE_WEAK_() cmm_barrier()
#else
#define URCU_AFTER_FULL_() cmm_smp_mb()
#define URCU_WEAK_ORDER_ CMM_RELAXED
#define URCU_BESIDE_WEAK_() cmm_smp_mb()
#endif

/* The compiler's order for ours: a constant where ours is one. */
#define URCU_C11_(order) ((int)(order) == CMM_SEQ_CST_FENCE ? __ATOMIC_SEQ_CST : (int)(order))

/* An operation that reads and writes, and the fence that its order asks for. */
#define URCU_UPDATE_(operation, order)                      \
	__extension__({                                     \
		URCU_AUTO_TYPE_ urcu_result_ = (operation); \
		if ((order) == CMM_SEQ_CST_FENCE)           \
			URCU_AFTER_FULL_();                 \
		urcu_result_;                               \
	})

#define uatomic_load_mo(addr, order)                                                      \
	__extension__({                                                                   \
		URCU_AUTO_TYPE_ urcu_loaded_ = __atomic_load_n((addr), URCU_C11_(order)); \
		if ((order) == CMM_SEQ_CST_FENCE)                                         \
			cmm_smp_mb();                                                     \
		urcu_loaded_;                                                             \
	})
#define uatomic_store_mo(addr, v, order)                                              \
	__extension__({                                                               \
		__atomic_store_n((addr), (__typeof__(*(addr)))(v), URCU_C11_(order)); \
		if ((order) == CMM_SEQ_CST_FENCE)                                     \
			cmm_smp_mb();                                                 \
		(void)0;                                                              \
	})

#define uatomic_xchg_mo(addr, v, order) \
	URCU_UPDATE_(__atomic_exchange_n((addr), (__typeof__(*(addr)))(v), URCU_C11_(order)), order)
/* The second order is that of a comparison that fails. */
#define uatomic_cmpxchg_mo(addr, old, _new, order, failed)                                         \
	__extension__({                                                                            \
		URCU_AUTO_TYPE_ urcu_found_ = (__typeof__(*(addr)))(old);                          \
		int urcu_done_ = __atomic_compare_exchange_n((addr), &urcu_found_,                 \
							     (__typeof__(*(addr)))(_new), 0,       \
							     URCU_C11_(order), URCU_C11_(failed)); \
		if ((urcu_done_ ? (int)(order) : (int)(failed)) == CMM_SEQ_CST_FENCE)              \
			URCU_AFTER_FULL_();                                                        \
		urcu_found_;                                                                       \
	})
#define uatomic_add_return_mo(addr, v, order) \
	URCU_UPDATE_(__atomic_add_fetch((addr), (v), URCU_C11_(order)), order)
#define uatomic_sub_return_mo(addr, v, order) \
	URCU_UPDATE_(__atomic_sub_fetch((addr), (v), URCU_C11_(order)), order)
#define uatomic_and_mo(addr, v, order) \
	((void)URCU_UPDATE_(__atomic_fetch_and((addr), (v), URCU_C11_(order)), order))
#define uatomic_or_mo(addr, v, order) \
	((void)URCU_UPDATE_(__atomic_fetch_or((addr), (v), URCU_C11_(order)), order))
#define uatomic_add_mo(addr, v, order) \
	((void)URCU_UPDATE_(__atomic_fetch_add((addr), (v), URCU_C11_(order)), order))
#define uatomic_sub_mo(addr, v, order) \
	((void)URCU_UPDATE_(__atomic_fetch_sub((addr), (v), URCU_C11_(order)), order))
#define uatomic_inc_mo(addr, order) uatomic_add_mo((addr), 1, order)
#define uatomic_dec_mo(addr, order) uatomic_sub_mo((addr), 1, order)

/* The order that was given, or, behind the given arguments, the default. */
#define URCU_WITH_1_(operation, addr, order, ...) operation(addr, order)
#define URCU_WITH_2_(operation, addr, v, order, ...) operation(addr, v, order)
#define URCU_SIXTH_(a, b, c, d, e, f, ...) f
#define URCU_CMPXCHG_3_(addr, old, _new) \
	uatomic_cmpxchg_mo(addr, old, _new, CMM_SEQ_CST_FENCE, CMM_SEQ_CST_FENCE)
#define URCU_CMPXCHG_4_(addr, old, _new, order) \
	uatomic_cmpxchg_mo(addr, old, _new, order, CMM_RELAXED)

#define uatomic_load(...) URCU_WITH_1_(uatomic_load_mo, __VA_ARGS__, CMM_RELAXED, 0)
#define uatomic_read(...) URCU_WITH_1_(uatomic_load_mo, __VA_ARGS__, CMM_RELAXED, 0)
#define uatomic_store(...) URCU_WITH_2_(uatomic_store_mo, __VA_ARGS__, CMM_RELAXED, 0)
#define uatomic_set(...) URCU_WITH_2_(uatomic_store_mo, __VA_ARGS__, CMM_RELAXED, 0)
#define uatomic_xchg(...) URCU_WITH_2_(uatomic_xchg_mo, __VA_ARGS__, CMM_SEQ_CST_FENCE, 0)
#define uatomic_cmpxchg(...)                                                              \
	URCU_SIXTH_(__VA_ARGS__, uatomic_cmpxchg_mo, URCU_CMPXCHG_4_, URCU_CMPXCHG_3_, 0) \
	(__VA_ARGS__)
#define uatomic_add_return(...) \
	URCU_WITH_2_(uatomic_add_return_mo, __VA_ARGS__, CMM_SEQ_CST_FENCE, 0)
#define uatomic_sub_return(...) \
	URCU_WITH_2_(uatomic_sub_return_mo, __VA_ARGS__, CMM_SEQ_CST_FENCE, 0)
#define uatomic_and(...) URCU_WITH_2_(uatomic_and_mo, __VA_ARGS__, CMM_SEQ_CST, 0)
#define uatomic_or(...) URCU_WITH_2_(uatomic_or_mo, __VA_ARGS__, URCU_WEAK_ORDER_, 0)
#define uatomic_add(...) URCU_WITH_2_(uatomic_add_mo, __VA_ARGS__, URCU_WEAK_ORDER_, 0)
#define uatomic_sub(...) URCU_WITH_2_(uatomic_sub_mo, __VA_ARGS__, URCU_WEAK_ORDER_, 0)
#define uatomic_inc(...) URCU_WITH_1_(uatomic_inc_mo, __VA_ARGS__, URCU_WEAK_ORDER_, 0)
#define uatomic_dec(...) URCU_WITH_1_(uatomic_dec_mo, __VA_ARGS__, URCU_WEAK_ORDER_, 0)

#define cmm_smp_mb__before_uatomic_and() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__after_uatomic_and() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__before_uatomic_or() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__after_uatomic_or() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__before_uatomic_add() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__after_uatomic_add() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__before_uatomic_sub() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__after_uatomic_sub() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__before_uatomic_inc() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__after_uatomic_inc() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__before_uatomic_dec() URCU_BESIDE_WEAK_()
#define cmm_smp_mb__after_uatomic_dec() URCU_BESIDE_WEAK_()

#endif
