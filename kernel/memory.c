// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session's memory: single pages, those of a ring from its CPU's node, mapped side by side; or a
 * range that was reserved at boot, where kernel/layout.h says what lies where.
 *
 * Addresses of vmap() and memremap() lie in page tables that all processes share on the
 * architectures that the module builds for, so a probe takes no fault. Paper: B 4.5.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat/vm_flags.h"
#include "lull_port.h"
#include "memory.h"
#include "reserved.h"

/* Memory that is left to others. */
#define SLACK_BYTES (16ull << 20)

#define ARRAY_GFP (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define PAGES_GFP (ARRAY_GFP | __GFP_ZERO)

static void pages_free(struct page **pages, unsigned long count)
{
	unsigned long i;

	for (i = 0; pages && i < count; i++)
		if (pages[i])
			__free_page(pages[i]);
	kvfree(pages);
}

/* Fill what is empty of an array. Return: 0; -ENOMEM; -EINTR. The caller frees what there is. */
static int pages_fill(struct page **pages, unsigned long count, int node)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		pages[i] = alloc_pages_node(node, PAGES_GFP, 0);
		if (!pages[i])
			return -ENOMEM;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static void *array_alloc(unsigned long count, size_t bytes)
{
	return kvcalloc(count, bytes, ARRAY_GFP);
}

int lull_memory_plan(struct memory *memory, const struct lull_kernel_plan *plan,
		     enum lull_clock_kind clock)
{
	struct lull_session_control *layout = &memory->layout;
	uint32_t given_count = plan->subbuf_count + plan->spare_count;
	bool is_reserved = plan->flags & LULL_KERNEL_PLAN_RESERVED;

	*layout = (struct lull_session_control){
		.magic = LULL_SESSION_MAGIC,
		.version = LULL_SESSION_VERSION,
		.mode = plan->mode,
		.clock_kind = clock,
		.cpu_count = nr_cpu_ids,
		.subbuf_size_bytes = plan->subbuf_size_bytes,
		.subbuf_count = plan->subbuf_count,
		.patterns_bytes = plan->patterns_bytes,
		.user_id = from_kuid_munged(&init_user_ns, current_euid()),
		.stream_id = plan->stream_id,
	};
	memcpy(layout->uuid, plan->uuid, sizeof(layout->uuid));
	if (plan->subbuf_count > LULL_SUBBUF_COUNT_MAX || plan->spare_count < 1 ||
	    plan->spare_count > LULL_KERNEL_SPARES_MAX || nr_cpu_ids > LULL_CPU_COUNT_MAX)
		return -EINVAL;
	/* Of reserved memory, none is for sub-buffers that have no memory of their own. */
	if (!IS_ALIGNED(plan->subbuf_size_bytes, PAGE_SIZE) ||
	    !lull_layout_make(
		    layout, is_reserved ? given_count : plan->subbuf_count + LULL_KERNEL_SPARES_MAX,
		    PAGE_SIZE))
		return -EINVAL;
	if (is_reserved)
		memory->range =
			(struct lull_range){ .page_bytes = PAGE_SIZE, .given_count = given_count };
	spin_lock_init(&memory->lock);
	memory->page_count = layout->data_offset_bytes >> PAGE_SHIFT;
	memory->ring_page_count =
		(unsigned long)given_count * (plan->subbuf_size_bytes >> PAGE_SHIFT);
	return 0;
}

/* Is there memory for this? It may be gone when it is asked for, which is an error then. */
static bool memory_is_available(const struct memory *memory)
{
	u64 page_count = memory->page_count + (u64)num_online_cpus() * memory->ring_page_count;

	return page_count + (SLACK_BYTES >> PAGE_SHIFT) < (u64)si_mem_available();
}

/* The pages of the control block, the table and the arena, then those of each ring's words. */
static int head_pages_fill(struct memory *memory)
{
	const struct lull_session_control *layout = &memory->layout;
	unsigned long filled = layout->rings_offset_bytes >> PAGE_SHIFT;
	unsigned long stride = layout->ring_stride_bytes >> PAGE_SHIFT;
	unsigned int cpu;
	int error = pages_fill(memory->pages, filled, NUMA_NO_NODE);

	for (cpu = 0; cpu < layout->cpu_count && !error; cpu++) {
		int node = cpu_possible(cpu) ? cpu_to_node(cpu) : NUMA_NO_NODE;

		error = pages_fill(memory->pages + filled, stride, node);
		filled += stride;
	}
	return error;
}

static void rings_attach(struct memory *memory)
{
	const struct lull_session_control *layout = &memory->layout;
	struct lull_ring_memory none = { NULL, NULL };
	unsigned int cpu;

	for (cpu = 0; cpu < layout->cpu_count; cpu++) {
		struct lull_ring_geometry geometry = lull_layout_geometry(layout, cpu);

		lull_ring_attach(&memory->rings[cpu], &geometry,
				 memory->base + layout->rings_offset_bytes +
					 cpu * layout->ring_stride_bytes,
				 none);
		lull_ring_reset(&memory->rings[cpu], 0);
		memory->ring_memory[cpu].spare = layout->subbuf_count;
	}
}

/* Get the pages of the head, mapped. */
static int head_create(struct memory *memory)
{
	int error;

	if (!memory_is_available(memory))
		return -ENOMEM;
	memory->pages = array_alloc(memory->page_count, sizeof(*memory->pages));
	memory->scratch = alloc_page(PAGES_GFP);
	if (!memory->pages || !memory->scratch)
		return -ENOMEM;
	error = head_pages_fill(memory);
	if (error)
		return error;
	memory->base = vmap(memory->pages, memory->page_count, VM_MAP, PAGE_KERNEL);
	return memory->base ? 0 : -ENOMEM;
}

/* Make the reserved memory this session's, if there is room for the rings of running CPUs. */
static int reserved_create(struct memory *memory)
{
	unsigned char *reserved;

	reserved = lull_reserved_take(&memory->layout, &memory->range);
	if (IS_ERR(reserved))
		return PTR_ERR(reserved);
	memory->reserved = reserved;
	memory->base = reserved + PAGE_SIZE;
	memset(memory->base, 0, memory->layout.data_offset_bytes);
	return 0;
}

int lull_memory_create(struct memory *memory, const char *patterns)
{
	const struct lull_session_control *layout = &memory->layout;
	int error;

	memory->ring_memory = array_alloc(layout->cpu_count, sizeof(*memory->ring_memory));
	memory->rings = array_alloc(layout->cpu_count, sizeof(*memory->rings));
	if (!memory->ring_memory || !memory->rings)
		return -ENOMEM;
	error = memory_is_reserved(memory) ? reserved_create(memory) : head_create(memory);
	if (error)
		return error;
	memcpy(memory->base + layout->patterns_offset_bytes, patterns, layout->patterns_bytes);
	memcpy(memory->base, layout, offsetof(struct lull_session_control, arena_used_bytes));
	lull_store(&memory_control(memory)->active, 1);
	rings_attach(memory);
	return 0;
}

/* Map the pages of a ring, and the scratch page wherever a physical sub-buffer has none. */
static void *ring_map(const struct memory *memory, struct page *const *pages)
{
	unsigned long i, count = memory->layout.data_stride_bytes >> PAGE_SHIFT;
	struct page **all = array_alloc(count, sizeof(*all));
	void *base;

	if (!all)
		return NULL;
	for (i = 0; i < count; i++)
		all[i] = i < memory->ring_page_count ? pages[i] : memory->scratch;
	base = vmap(all, count, VM_MAP, PAGE_KERNEL);
	kvfree(all);
	return base;
}

/* Let probes and faults come to a ring's memory. */
static void ring_give(struct memory *memory, unsigned int cpu, void *base, struct page **pages)
{
	struct lull_ring_geometry geometry = lull_layout_geometry(&memory->layout, cpu);
	struct ring_memory *ring = &memory->ring_memory[cpu];

	lull_ring_attach(&memory->rings[cpu], &geometry, memory->rings[cpu].shared,
			 (struct lull_ring_memory){ .base = base });
	spin_lock(&memory->lock);
	ring->base = base;
	ring->pages = pages;
	spin_unlock(&memory->lock);
}

static int pages_give(struct memory *memory, unsigned int cpu)
{
	struct page **pages = array_alloc(memory->ring_page_count, sizeof(*pages));
	void *base;
	int error;

	if (!pages)
		return -ENOMEM;
	error = pages_fill(pages, memory->ring_page_count, cpu_to_node(cpu));
	if (error)
		goto failed;
	error = -ENOMEM;
	base = ring_map(memory, pages);
	if (!base)
		goto failed;
	ring_give(memory, cpu, base, pages);
	return 0;
failed:
	pages_free(pages, memory->ring_page_count);
	return error;
}

static int reserved_give(struct memory *memory, unsigned int cpu)
{
	uint64_t begin = lull_range_ring(&memory->layout, &memory->range, cpu);

	if (!begin)
		return -ENOMEM;
	/* What was there before is not for those who may read this session. */
	memset(memory->reserved + begin, 0, memory->ring_page_count << PAGE_SHIFT);
	ring_give(memory, cpu, memory->reserved + begin, NULL);
	return 0;
}

int lull_memory_give(struct memory *memory, unsigned int cpu)
{
	if (memory->ring_memory[cpu].base)
		return 0;
	return memory_is_reserved(memory) ? reserved_give(memory, cpu) : pages_give(memory, cpu);
}

void lull_memory_keep(const struct memory *memory)
{
	if (memory_is_reserved(memory))
		lull_reserved_keep(&memory->layout, &memory->range);
}

struct page *lull_memory_page(struct memory *memory, unsigned long page_offset)
{
	unsigned long stride = memory->layout.data_stride_bytes >> PAGE_SHIFT;
	unsigned long ring, page;
	struct page **pages;

	if (memory_is_reserved(memory))
		return NULL;
	if (page_offset < memory->page_count)
		return memory->pages[page_offset];
	ring = (page_offset - memory->page_count) / stride;
	page = (page_offset - memory->page_count) % stride;
	if (ring >= memory->layout.cpu_count)
		return NULL;
	spin_lock(&memory->lock);
	pages = memory->ring_memory[ring].pages;
	spin_unlock(&memory->lock);
	if (!pages)
		return NULL;
	return page < memory->ring_page_count ? pages[page] : memory->scratch;
}

/* Reserved memory has no struct page: its frames are mapped by their numbers. */
static vm_fault_t reserved_fault(struct memory *memory, struct vm_fault *fault,
				 unsigned long page_offset)
{
	const struct lull_session_control *layout = &memory->layout;
	uint64_t at = (uint64_t)page_offset << PAGE_SHIFT;
	uint64_t offset = lull_range_at(layout, &memory->range, at);
	bool is_there = offset;

	if (is_there && at >= layout->data_offset_bytes) {
		uint64_t ring = (at - layout->data_offset_bytes) / layout->data_stride_bytes;

		spin_lock(&memory->lock);
		is_there = memory->ring_memory[ring].base;
		spin_unlock(&memory->lock);
	}
	if (!is_there)
		return VM_FAULT_SIGBUS;
	return vmf_insert_pfn(fault->vma, fault->address, lull_reserved_frame(offset));
}

vm_fault_t lull_memory_fault(struct memory *memory, struct vm_fault *fault,
			     unsigned long page_offset)
{
	struct page *page;

	if (memory_is_reserved(memory))
		return reserved_fault(memory, fault, page_offset);
	page = lull_memory_page(memory, page_offset);
	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	fault->page = page;
	return 0;
}

int lull_memory_area(const struct memory *memory, struct vm_area_struct *area, uint64_t bytes,
		     unsigned long never)
{
	unsigned long flags = VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY;

	if (!(area->vm_flags & VM_SHARED) || vma_pages(area) + area->vm_pgoff > bytes >> PAGE_SHIFT)
		return -EINVAL;
	if (area->vm_flags & VM_EXEC)
		return -EPERM;
	if (memory_is_reserved(memory))
		flags |= VM_PFNMAP;
	lull_vm_flags_change(area, flags, VM_MAYEXEC | never);
	return 0;
}

void lull_memory_free(struct memory *memory)
{
	unsigned int cpu;

	if (memory_is_reserved(memory)) {
		if (memory->reserved)
			lull_reserved_give_back();
		goto arrays;
	}
	for (cpu = 0; memory->ring_memory && cpu < memory->layout.cpu_count; cpu++) {
		vunmap(memory->ring_memory[cpu].base);
		pages_free(memory->ring_memory[cpu].pages, memory->ring_page_count);
	}
	vunmap(memory->base);
	pages_free(memory->pages, memory->page_count);
	if (memory->scratch)
		__free_page(memory->scratch);
arrays:
	kvfree(memory->ring_memory);
	kvfree(memory->rings);
}
