/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations on numbers and pointers, under liburcu's names.
 *
 * xchg, cmpxchg, add_return and sub_return are full barriers. set and read order nothing; and, or,
 * add, sub, inc, dec order nothing unless the cmm_smp_mb__... macro stands beside them. On x86
 * every locked instruction is a full barrier, so that those macros cost nothing there.
 */
#ifndef LULL_URCU_UATOMIC_H
#define LULL_URCU_UATOMIC_H

#include <urcu/arch.h>
#include <urcu/system.h>

#define UATOMIC_HAS_ATOMIC_BYTE 1
#define UATOMIC_HAS_ATOMIC_SHORT 1
#if __SIZEOF_LONG__ == 8
#define UATOMIC_HAS_ATOMIC_LLONG 1
#endif

/*
 * Where exchanges are made of other instructions than locked ones, a sequentially consistent one
 * is not yet a barrier for the accesses around it, and a fence follows.
 */
#ifdef URCU_ARCH_X86
#define URCU_AFTER_FULL_() cmm_barrier()
#define URCU_WEAK_ORDER_ __ATOMIC_SEQ_CST
#define URCU_BESIDE_WEAK_() cmm_barrier()
#else
#define URCU_AFTER_FULL_() cmm_smp_mb()
#define URCU_WEAK_ORDER_ __ATOMIC_RELAXED
#define URCU_BESIDE_WEAK_() cmm_smp_mb()
#endif

#define URCU_FULL_(operation)                               \
	__extension__({                                     \
		URCU_AUTO_TYPE_ urcu_result_ = (operation); \
		URCU_AFTER_FULL_();                         \
		urcu_result_;                               \
	})

#define uatomic_read(addr) __atomic_load_n((addr), __ATOMIC_RELAXED)
#define uatomic_set(addr, v) __atomic_store_n((addr), (__typeof__(*(addr)))(v), __ATOMIC_RELAXED)

#define uatomic_xchg(addr, v) \
	URCU_FULL_(__atomic_exchange_n((addr), (__typeof__(*(addr)))(v), __ATOMIC_SEQ_CST))
#define uatomic_cmpxchg(addr, old, _new)                                                          \
	__extension__({                                                                           \
		URCU_AUTO_TYPE_ urcu_found_ = (__typeof__(*(addr)))(old);                         \
		__atomic_compare_exchange_n((addr), &urcu_found_, (__typeof__(*(addr)))(_new), 0, \
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
		URCU_AFTER_FULL_();                                                               \
		urcu_found_;                                                                      \
	})
#define uatomic_add_return(addr, v) URCU_FULL_(__atomic_add_fetch((addr), (v), __ATOMIC_SEQ_CST))
#define uatomic_sub_return(addr, v) URCU_FULL_(__atomic_sub_fetch((addr), (v), __ATOMIC_SEQ_CST))

#define uatomic_and(addr, v) ((void)__atomic_fetch_and((addr), (v), URCU_WEAK_ORDER_))
#define uatomic_or(addr, v) ((void)__atomic_fetch_or((addr), (v), URCU_WEAK_ORDER_))
#define uatomic_add(addr, v) ((void)__atomic_fetch_add((addr), (v), URCU_WEAK_ORDER_))
#define uatomic_sub(addr, v) ((void)__atomic_fetch_sub((addr), (v), URCU_WEAK_ORDER_))
#define uatomic_inc(addr) uatomic_add((addr), 1)
#define uatomic_dec(addr) uatomic_sub((addr), 1)

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
