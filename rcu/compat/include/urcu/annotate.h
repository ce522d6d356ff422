/* SPDX-License-Identifier: MIT */
/*
 * Tells ThreadSanitizer, which does not know fences, what they order.
 *
 * Each access that a fence orders is told in a group, a variable that cmm_annotate_define() makes,
 * and so is the fence: loads and then an acquiring fence, or a releasing fence and then stores.
 * Steps that come out of this order end the program. Without ThreadSanitizer nothing is told or
 * checked.
 */
#ifndef LULL_URCU_ANNOTATE_H
#define LULL_URCU_ANNOTATE_H

#include <stdio.h>
#include <stdlib.h>

#include <urcu/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cmm_annotate { CMM_ANNOTATE_VOID, CMM_ANNOTATE_LOAD, CMM_ANNOTATE_STORE, CMM_ANNOTATE_MB };

typedef enum cmm_annotate cmm_annotate_t;

#define cmm_annotate_define(name) cmm_annotate_t name __attribute__((unused)) = CMM_ANNOTATE_VOID

#ifdef CMM_SANITIZE_THREAD

extern void __tsan_acquire(void *memory);
extern void __tsan_release(void *memory);

/* Takes a group from one of two states, or ends the program. */
static inline void urcu_annotate_(cmm_annotate_t *group, cmm_annotate_t from,
				  cmm_annotate_t or_from, cmm_annotate_t to, const char *order)
{
	if (*group != from && *group != or_from) {
		fprintf(stderr, "urcu/annotate.h: steps of a group out of order: %s\n", order);
		abort();
	}
	*group = to;
}

#define cmm_annotate_group_mem_acquire(group, memory)                                     \
	(urcu_annotate_((group), CMM_ANNOTATE_VOID, CMM_ANNOTATE_LOAD, CMM_ANNOTATE_LOAD, \
			"a load comes before the acquiring fence"),                       \
	 cmm_annotate_mem_acquire(memory))
#define cmm_annotate_group_mb_acquire(group)                                           \
	urcu_annotate_((group), CMM_ANNOTATE_VOID, CMM_ANNOTATE_LOAD, CMM_ANNOTATE_MB, \
		       "one acquiring fence comes after the loads")
#define cmm_annotate_group_mb_release(group)                                           \
	urcu_annotate_((group), CMM_ANNOTATE_VOID, CMM_ANNOTATE_VOID, CMM_ANNOTATE_MB, \
		       "the releasing fence comes first, and once")
#define cmm_annotate_group_mem_release(group, memory)                               \
	(urcu_annotate_((group), CMM_ANNOTATE_MB, CMM_ANNOTATE_MB, CMM_ANNOTATE_MB, \
			"a store comes after the releasing fence"),                 \
	 cmm_annotate_mem_release(memory))
#define cmm_annotate_mem_acquire(memory) __tsan_acquire((void *)(uintptr_t)(memory))
#define cmm_annotate_mem_release(memory) __tsan_release((void *)(uintptr_t)(memory))

#else

#define cmm_annotate_group_mem_acquire(group, memory) ((void)(group))
#define cmm_annotate_group_mb_acquire(group) ((void)(group))
#define cmm_annotate_group_mb_release(group) ((void)(group))
#define cmm_annotate_group_mem_release(group, memory) ((void)(group))
#define cmm_annotate_mem_acquire(memory) ((void)0)
#define cmm_annotate_mem_release(memory) ((void)0)

#endif

#ifdef __cplusplus
}
#endif

#endif
