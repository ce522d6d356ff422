// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session's memory: single pages, those of a ring from its CPU's node, mapped side by side.
 *
 * The layout is that of abi/session.h, with two choices of the kernel's own: a ring's control words
 * begin on a page, so that they come from its CPU's node too; and there are no plain rings, because
 * every probe can hold off preemption. Addresses of vmap() lie in page tables that all processes
 * share on the architectures that the module builds for, so a probe takes no fault. Paper: B 4.5.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat/vm_flags.h"
#include "lull_port.h"
#include "memory.h"

/* The same as in tools/session: more events than any kernel has, and room to describe them. */
#define EVENT_CAPACITY 8192u
#define ARENA_BYTES (1u << 20)
#define LINE_BYTES 64u
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

static struct lull_ring_geometry geometry_of(const struct lull_session_control *layout,
					     unsigned int cpu)
{
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = layout->subbuf_size_bytes,
		.subbuf_count = layout->subbuf_count,
		.physical_count = layout->physical_count,
		.mode = layout->mode,
		.cpu_id = cpu,
		.stream_id = layout->stream_id,
	};

	memcpy(geometry.uuid, layout->uuid, sizeof(geometry.uuid));
	return geometry;
}

/* Everything before the rings. The patterns' size was checked. */
static void head_plan(struct lull_session_control *layout)
{
	layout->own_offset_bytes = sizeof(struct lull_session_control);
	layout->patterns_offset_bytes = layout->own_offset_bytes + sizeof(struct lull_own_events);
	layout->events_offset_bytes =
		ALIGN(layout->patterns_offset_bytes + layout->patterns_bytes, LINE_BYTES);
	layout->event_capacity = EVENT_CAPACITY;
	layout->arena_offset_bytes =
		layout->events_offset_bytes + EVENT_CAPACITY * (u32)sizeof(struct lull_event_entry);
	layout->arena_bytes = ARENA_BYTES;
	layout->control_bytes = PAGE_ALIGN(layout->arena_offset_bytes + layout->arena_bytes);
}

int lull_memory_plan(struct memory *memory, const struct lull_kernel_plan *plan,
		     enum lull_clock_kind clock)
{
	struct lull_session_control *layout = &memory->layout;
	struct lull_ring_geometry geometry;

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
	layout->physical_count = roundup_pow_of_two(plan->subbuf_count + LULL_KERNEL_SPARES_MAX);
	geometry = geometry_of(layout, 0);
	if (lull_ring_check(&geometry) || !IS_ALIGNED(plan->subbuf_size_bytes, PAGE_SIZE))
		return -EINVAL;
	head_plan(layout);
	layout->rings_offset_bytes = layout->control_bytes;
	layout->ring_stride_bytes = PAGE_ALIGN(lull_ring_control_bytes(&geometry));
	layout->data_offset_bytes =
		layout->rings_offset_bytes + layout->cpu_count * layout->ring_stride_bytes;
	layout->data_stride_bytes = layout->physical_count * layout->subbuf_size_bytes;
	layout->memory_bytes =
		layout->data_offset_bytes + layout->cpu_count * layout->data_stride_bytes;
	spin_lock_init(&memory->lock);
	memory->page_count = layout->data_offset_bytes >> PAGE_SHIFT;
	memory->ring_page_count =
		(plan->subbuf_count + plan->spare_count) * (plan->subbuf_size_bytes >> PAGE_SHIFT);
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
		struct lull_ring_geometry geometry = geometry_of(layout, cpu);

		lull_ring_attach(&memory->rings[cpu], &geometry,
				 memory->base + layout->rings_offset_bytes +
					 cpu * layout->ring_stride_bytes,
				 none);
		lull_ring_reset(&memory->rings[cpu], 0);
		memory->ring_memory[cpu].spare = layout->subbuf_count;
	}
}

int lull_memory_create(struct memory *memory, const char *patterns)
{
	const struct lull_session_control *layout = &memory->layout;
	int error;

	if (!memory_is_available(memory))
		return -ENOMEM;
	memory->pages = array_alloc(memory->page_count, sizeof(*memory->pages));
	memory->ring_memory = array_alloc(layout->cpu_count, sizeof(*memory->ring_memory));
	memory->rings = array_alloc(layout->cpu_count, sizeof(*memory->rings));
	memory->scratch = alloc_page(PAGES_GFP);
	if (!memory->pages || !memory->ring_memory || !memory->rings || !memory->scratch)
		return -ENOMEM;
	error = head_pages_fill(memory);
	if (error)
		return error;
	memory->base = vmap(memory->pages, memory->page_count, VM_MAP, PAGE_KERNEL);
	if (!memory->base)
		return -ENOMEM;
	memcpy(memory->base + layout->patterns_offset_bytes, patterns, layout->patterns_bytes);
	memcpy(memory->base, layout, offsetof(struct lull_session_control, arena_used_bytes));
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

int lull_memory_give(struct memory *memory, unsigned int cpu)
{
	struct lull_ring_geometry geometry = geometry_of(&memory->layout, cpu);
	struct ring_memory *ring = &memory->ring_memory[cpu];
	struct page **pages;
	int error = -ENOMEM;

	if (ring->pages)
		return 0;
	pages = array_alloc(memory->ring_page_count, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	error = pages_fill(pages, memory->ring_page_count, cpu_to_node(cpu));
	if (error)
		goto failed;
	error = -ENOMEM;
	ring->base = ring_map(memory, pages);
	if (!ring->base)
		goto failed;
	lull_ring_attach(&memory->rings[cpu], &geometry, memory->rings[cpu].shared,
			 (struct lull_ring_memory){ .base = ring->base });
	spin_lock(&memory->lock);
	ring->pages = pages;
	spin_unlock(&memory->lock);
	return 0;
failed:
	pages_free(pages, memory->ring_page_count);
	return error;
}

struct page *lull_memory_page(struct memory *memory, unsigned long page_offset)
{
	unsigned long stride = memory->layout.data_stride_bytes >> PAGE_SHIFT;
	unsigned long ring, page;
	struct page **pages;

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

int lull_memory_area(struct vm_area_struct *area, uint64_t bytes, unsigned long never)
{
	if (!(area->vm_flags & VM_SHARED) || vma_pages(area) + area->vm_pgoff > bytes >> PAGE_SHIFT)
		return -EINVAL;
	if (area->vm_flags & VM_EXEC)
		return -EPERM;
	lull_vm_flags_change(area, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, VM_MAYEXEC | never);
	return 0;
}

void lull_memory_free(struct memory *memory)
{
	unsigned int cpu;

	for (cpu = 0; memory->ring_memory && cpu < memory->layout.cpu_count; cpu++) {
		vunmap(memory->ring_memory[cpu].base);
		pages_free(memory->ring_memory[cpu].pages, memory->ring_page_count);
	}
	vunmap(memory->base);
	pages_free(memory->pages, memory->page_count);
	if (memory->scratch)
		__free_page(memory->scratch);
	kvfree(memory->ring_memory);
	kvfree(memory->rings);
}
