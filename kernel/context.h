/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Context: what is known of the thread that an event interrupts (lull/abi/context.h).
 */
#ifndef LULL_KERNEL_CONTEXT_H
#define LULL_KERNEL_CONTEXT_H

#include "filter/filter.h"

/*
 * lull_context_read() - read contexts of the running thread.
 * @values: by enum lull_context; those that are wanted are filled in, each text NUL-terminated
 * @wanted: 1 << LULL_CONTEXT_... for each
 * Context: in a probe. Progress: wait-free.
 */
void lull_context_read(struct lull_filter_value *values, uint32_t wanted);

/* lull_context_bytes() - how many bytes contexts have in an event: a multiple of 4. */
uint32_t lull_context_bytes(uint32_t wanted);

/*
 * lull_context_store() - write contexts of the running thread into an event, in ascending order.
 * @to: has room for lull_context_bytes(@wanted)
 * Context: in a probe. Progress: wait-free. Return: where they end.
 */
unsigned char *lull_context_store(unsigned char *to, uint32_t wanted);

#endif
