/* SPDX-License-Identifier: MIT */
/*
 * What programs written for liburcu expect of the compiler: likely branches, containers of
 * members, checks at compile time. The names are theirs, the bodies ours; C11 and C++17.
 */
#ifndef LULL_URCU_COMPILER_H
#define LULL_URCU_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#include <urcu/config.h>

#define caa_likely(condition) __builtin_expect(!!(condition), 1)
#define caa_unlikely(condition) __builtin_expect(!!(condition), 0)

#define cmm_barrier() __extension__({ __asm__ __volatile__("" : : : "memory"); })
/* By way of an integer: compilers warn of a cast that makes what a pointer points to volatile. */
#define CMM_ACCESS_ONCE(x) (*(__volatile__ __typeof__(x) *)(uintptr_t) & (x))

/* A variable that takes its type from its value, without the qualifiers of what that came from. */
#ifdef __cplusplus
#define URCU_AUTO_TYPE_ auto
#else
#define URCU_AUTO_TYPE_ __auto_type
#endif

#define caa_max(a, b)                                                  \
	__extension__({                                                \
		URCU_AUTO_TYPE_ urcu_max_a_ = (a);                     \
		URCU_AUTO_TYPE_ urcu_max_b_ = (b);                     \
		urcu_max_a_ > urcu_max_b_ ? urcu_max_a_ : urcu_max_b_; \
	})
#define caa_min(a, b)                                                  \
	__extension__({                                                \
		URCU_AUTO_TYPE_ urcu_min_a_ = (a);                     \
		URCU_AUTO_TYPE_ urcu_min_b_ = (b);                     \
		urcu_min_a_ < urcu_min_b_ ? urcu_min_a_ : urcu_min_b_; \
	})

#define CAA_BITS_PER_LONG (__SIZEOF_LONG__ * 8)
#define CAA_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * By way of an integer, so that a null pointer gives a plain, if useless, address, which programs
 * make and do not follow, and so that no qualifier is seen to be cast away.
 */
#define caa_container_of(ptr, type, member)                                     \
	__extension__({                                                         \
		const __typeof__(((type *)NULL)->member) *urcu_member_ = (ptr); \
		(type *)((uintptr_t)urcu_member_ - offsetof(type, member));     \
	})
#define caa_container_of_check_null(ptr, type, member)                                        \
	__extension__({                                                                       \
		const __typeof__(((type *)NULL)->member) *urcu_checked_ = (ptr);              \
		urcu_checked_ ? caa_container_of(urcu_checked_, type, member) : (type *)NULL; \
	})

/* Refused by the compiler when the condition holds; the first is an expression of value 0. */
#define CAA_BUILD_BUG_ON_ZERO(condition) (sizeof(char[1 - 2 * !!(condition)]) - 1)
#define CAA_BUILD_BUG_ON(condition) ((void)CAA_BUILD_BUG_ON_ZERO(condition))

/* Marks pointers for checkers of the kernel's kind. */
#ifndef __rcu
#define __rcu
#endif

/* A cast between pointers that asks for no qualifier to be kept, as C's casts do. */
#ifdef __cplusplus
#define URCU_FORCE_CAST(type, value) (reinterpret_cast<type>((uintptr_t)(value)))
#else
#define URCU_FORCE_CAST(type, value) ((type)(value))
#endif

#define caa_is_signed_type(type) ((type)-1 < (type)1)
/* Widens by the sign of the value's own type: int -1 gives all ones, unsigned int -1 does not. */
#define caa_cast_long_keep_sign(v) ((unsigned long)(v))

/* A pointer's value: that liburcu makes it volatile has no effect on a value. */
#define cmm_cast_volatile(ptr) (ptr)

#define URCU_COMBINE_(first, second) first##second
#define CAA_COMBINE_TOKENS(prefix, counter) URCU_COMBINE_(prefix, counter)

/*
 * Refused by the compiler when the condition does not hold. The third parameter, a name for
 * the declaration, serves languages that are older than those of these headers.
 */
#ifdef __cplusplus
#define urcu_static_assert(condition, message, name) static_assert(condition, message)
#else
#define urcu_static_assert(condition, message, name) \
	__extension__ _Static_assert(condition, message)
#endif

/* Programs may define it themselves, where the compiler does not tell. */
#ifndef CMM_SANITIZE_THREAD
#ifdef __SANITIZE_THREAD__
#define CMM_SANITIZE_THREAD
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CMM_SANITIZE_THREAD
#endif
#endif
#endif

#define CDS_DEPRECATED(message) __attribute__((deprecated(message)))

#if defined(__GNUC__) && !defined(__clang__)
#define URCU_GCC_VERSION (__GNUC__ * 10000 + __GNUC_MINOR__ * 100 + __GNUC_PATCHLEVEL__)
#endif

#endif
