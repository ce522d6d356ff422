/* SPDX-License-Identifier: MIT */
/*
 * Tells ThreadSanitizer of the order that the library makes, and that ThreadSanitizer does not see.
 *
 * The installed library is not compiled with that sanitizer. So the public headers tell the
 * sanitizer, in a program that is compiled with -fsanitize=thread, what calls order; and the
 * library tells it what its own threads order. For that the library has weak references to the
 * sanitizer's functions: in a program without the sanitizer they are NULL. No read side looks at
 * them, nor does call_rcu().
 *
 * An order is told by an address: what a thread did before it released the address is before what
 * another thread does after it has acquired the address.
 */
#ifndef LULL_RCU_ANNOTATE_H
#define LULL_RCU_ANNOTATE_H

#include "lull/rcu/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* LULL_RCU_LIBRARY: this is compiled as a part of the library, with a sanitizer or without. */
#ifdef LULL_RCU_LIBRARY
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));
#define LULL_RCU_TELL(function, address)                        \
	do {                                                    \
		if (__builtin_expect((function) != 0, 0))       \
			function((void *)(uintptr_t)(address)); \
	} while (0)
#elif defined(LULL_MEM_SANITIZED)
extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);
#define LULL_RCU_TELL(function, address) function((void *)(uintptr_t)(address))
/* Some functions of the library are replaced by functions that tell what these order. */
#define LULL_RCU_ANNOTATED_CALLS 1
#else
#define LULL_RCU_TELL(function, address) ((void)(address))
#endif

static inline void rcu_annotate_acquire(const void *address)
{
	LULL_RCU_TELL(__tsan_acquire, address);
}

static inline void rcu_annotate_release(const void *address)
{
	LULL_RCU_TELL(__tsan_release, address);
}

/* An acquire that the library needs only where it is compiled with the sanitizer itself. */
static inline void rcu_annotate_reach(const void *address)
{
#ifdef LULL_MEM_SANITIZED
	LULL_RCU_TELL(__tsan_acquire, address);
#else
	(void)address;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
