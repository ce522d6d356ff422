/* SPDX-License-Identifier: MIT */
/*
 * Single accesses to a variable that other threads change: no tearing, no repetition, no order
 * besides. Of any scalar type; numbers and pointers as atomics where ThreadSanitizer watches,
 * which knows nothing of volatile.
 */
#ifndef LULL_URCU_SYSTEM_H
#define LULL_URCU_SYSTEM_H

#include <urcu/arch.h>
#include <urcu/compiler.h>

#ifdef CMM_SANITIZE_THREAD
#define CMM_LOAD_SHARED(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define CMM_STORE_SHARED(x, v)                                          \
	__extension__({                                                 \
		URCU_AUTO_TYPE_ urcu_stored_ = (__typeof__(x))(v);      \
		__atomic_store_n(&(x), urcu_stored_, __ATOMIC_RELAXED); \
		urcu_stored_;                                           \
	})
#else
#define CMM_LOAD_SHARED(x) CMM_ACCESS_ONCE(x)
#define CMM_STORE_SHARED(x, v)                     \
	__extension__({                            \
		__typeof__(x) urcu_stored_ = (v);  \
		CMM_ACCESS_ONCE(x) = urcu_stored_; \
		urcu_stored_;                      \
	})
#endif
/* Both names mean the same here: there is no cache to write back. */
#define _CMM_LOAD_SHARED(x) CMM_LOAD_SHARED(x)
#define _CMM_STORE_SHARED(x, v) CMM_STORE_SHARED(x, v)

#endif
