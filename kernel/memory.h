/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a session, as core/include/lull/abi/session.h lays it out.
 *
 * Whoever maps it can write to it. So this side keeps its own copies of all that it relies on: the
 * layout, the rings' geometry, the addresses.
 */
#ifndef LULL_KERNEL_MEMORY_H
#define LULL_KERNEL_MEMORY_H

#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include "lull/abi/kernel.h"
#include "layout.h"
#include "ring.h"

/* One CPU's sub-buffers. */
struct ring_memory {
	struct page **pages; /* of the physical sub-buffers with memory; NULL: none, or reserved */
	void *base; /* of all physical sub-buffers; those without memory share the scratch page */
	uint32_t spare; /* the physical sub-buffer that the reader of a ring's descriptor owns */
};

struct memory {
	struct lull_session_control layout; /* this side's copy */
	struct page **pages; /* of everything before the rings' data */
	unsigned long page_count;
	void *base; /* where the pages are mapped */
	unsigned long ring_page_count; /* pages of one ring's sub-buffers with memory */
	struct page *scratch;
	struct lull_range range; /* of the reserved memory; all zero: the memory is pages */
	unsigned char *reserved; /* where that is mapped; NULL until it is this session's */
	spinlock_t lock; /* of ring_memory: faults look while a ring gets memory */
	struct ring_memory *ring_memory; /* [cpu_count] */
	struct lull_ring *rings; /* [cpu_count], for probes */
};

/*
 * lull_memory_plan() - lay a session's memory out.
 * @patterns_bytes: size of the patterns with their NUL
 * Return: 0; -EINVAL for sizes that a ring cannot have.
 */
int lull_memory_plan(struct memory *memory, const struct lull_kernel_plan *plan,
		     enum lull_clock_kind clock);

/*
 * lull_memory_create() - get the memory of everything but the rings' data, and fill it in.
 * Context: may sleep; after lull_memory_plan().
 * Return: 0; -ENOMEM; -EINTR when the caller is being killed; for reserved memory, as
 * lull_reserved_take(). lull_memory_free() frees what it got.
 */
int lull_memory_create(struct memory *memory, const char *patterns);

/*
 * lull_memory_give() - get memory for one CPU's sub-buffers, from that CPU's node.
 * Context: may sleep; before the CPU runs probes of this session, one caller at a time.
 * Return: 0, also where the ring has memory; -ENOMEM; -EINTR.
 */
int lull_memory_give(struct memory *memory, unsigned int cpu);

/* lull_memory_keep() - from now on, reserved memory is found after a crash; nothing for pages. */
void lull_memory_keep(const struct memory *memory);

/*
 * lull_memory_page() - the page at an offset of the mapping.
 * Return: NULL where there is none, and for all of reserved memory, which has no struct page.
 */
struct page *lull_memory_page(struct memory *memory, unsigned long page_offset);

/* lull_memory_fault() - give a fault in a mapping the memory at an offset of the session's. */
vm_fault_t lull_memory_fault(struct memory *memory, struct vm_fault *fault,
			     unsigned long page_offset);

/*
 * lull_memory_area() - check a mapping that is asked for, and keep it from becoming more.
 * @bytes: what there is to map
 * @never: flags VM_MAY... that the mapping must not get, beside VM_MAYEXEC
 * Return: 0; -EINVAL for a private one, or one that is too long; -EPERM for an executable one.
 */
int lull_memory_area(const struct memory *memory, struct vm_area_struct *area, uint64_t bytes,
		     unsigned long never);

/* lull_memory_free() - free what there is. Mappings keep the pages that they have. */
void lull_memory_free(struct memory *memory);

static inline bool memory_is_reserved(const struct memory *memory)
{
	return memory->range.given_count;
}

/* What all sides may write to, for those who read it once. */
static inline struct lull_session_control *memory_control(const struct memory *memory)
{
	return memory->base;
}

#endif
