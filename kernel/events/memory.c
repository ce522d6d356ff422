// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that the kernel takes and gives back.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <trace/events/kmem.h>
#include <trace/events/percpu.h>
#include <trace/events/page_isolation.h>
#include <trace/events/pagemap.h>
#include <trace/events/mmap.h>
#include <trace/events/mmap_lock.h>
#include <trace/events/tlb.h>
#include "compat/gfp_names.h"
#include "events/fields.h"

static __always_inline unsigned long pfn_of(const struct page *page)
{
	return page ? page_to_pfn(page) : -1ul;
}

/* Of struct kmem_cache, only the kernel's own file knows the sizes and the name. */
LULL_KERNEL_EVENT(kmem, kmem_cache_alloc,
		  TP_PROTO(unsigned long call_site, const void *ptr, struct kmem_cache *s,
			   gfp_t gfp_flags, int node),
		  lull_x64(call_site, call_site), lull_ptr(ptr, ptr),
		  lull_gfp(gfp_flags, gfp_flags), lull_i32(node, node));
LULL_KERNEL_EVENT(kmem, kmalloc,
		  TP_PROTO(unsigned long call_site, const void *ptr, size_t bytes_req,
			   size_t bytes_alloc, gfp_t gfp_flags, int node),
		  lull_x64(call_site, call_site), lull_ptr(ptr, ptr),
		  lull_u64(bytes_req, bytes_req), lull_u64(bytes_alloc, bytes_alloc),
		  lull_gfp(gfp_flags, gfp_flags), lull_i32(node, node));
LULL_KERNEL_EVENT(kmem, kfree, TP_PROTO(unsigned long call_site, const void *ptr),
		  lull_x64(call_site, call_site), lull_ptr(ptr, ptr));
LULL_KERNEL_EVENT(kmem, kmem_cache_free,
		  TP_PROTO(unsigned long call_site, const void *ptr, const struct kmem_cache *s),
		  lull_x64(call_site, call_site), lull_ptr(ptr, ptr));
LULL_KERNEL_EVENT(kmem, mm_page_free, TP_PROTO(struct page *page, unsigned int order),
		  lull_u64(pfn, page_to_pfn(page)), lull_u32(order, order));
LULL_KERNEL_EVENT(kmem, mm_page_free_batched, TP_PROTO(struct page *page),
		  lull_u64(pfn, page_to_pfn(page)));
LULL_KERNEL_EVENT(kmem, mm_page_alloc,
		  TP_PROTO(struct page *page, unsigned int order, gfp_t gfp_flags, int migratetype),
		  lull_u64(pfn, pfn_of(page)), lull_u32(order, order),
		  lull_gfp(gfp_flags, gfp_flags), lull_i32(migratetype, migratetype));

#define MM_PAGE_FIELDS                                                                           \
	lull_u64(pfn, pfn_of(page)), lull_u32(order, order), lull_i32(migratetype, migratetype), \
		lull_i32(percpu_refill, percpu_refill)

LULL_KERNEL_EVENT(kmem, mm_page_alloc_zone_locked,
		  TP_PROTO(struct page *page, unsigned int order, int migratetype,
			   int percpu_refill),
		  MM_PAGE_FIELDS);
LULL_KERNEL_EVENT(kmem, mm_page_pcpu_drain,
		  TP_PROTO(struct page *page, unsigned int order, int migratetype),
		  lull_u64(pfn, pfn_of(page)), lull_u32(order, order),
		  lull_i32(migratetype, migratetype));

LULL_KERNEL_EVENT(percpu, percpu_alloc_percpu,
		  TP_PROTO(unsigned long call_site, bool reserved, bool is_atomic, size_t size,
			   size_t align, void *base_addr, int off, void __percpu *ptr,
			   size_t bytes_alloc, gfp_t gfp_flags),
		  lull_x64(call_site, call_site), lull_bool(reserved, reserved),
		  lull_bool(is_atomic, is_atomic), lull_u64(size, size), lull_u64(align, align),
		  lull_ptr(base_addr, base_addr), lull_i32(off, off), lull_ptr(ptr, ptr),
		  lull_u64(bytes_alloc, bytes_alloc), lull_gfp(gfp_flags, gfp_flags));
LULL_KERNEL_EVENT(percpu, percpu_free_percpu,
		  TP_PROTO(void *base_addr, int off, void __percpu *ptr),
		  lull_ptr(base_addr, base_addr), lull_i32(off, off), lull_ptr(ptr, ptr));
LULL_KERNEL_EVENT(percpu, percpu_alloc_percpu_fail,
		  TP_PROTO(bool reserved, bool is_atomic, size_t size, size_t align),
		  lull_bool(reserved, reserved), lull_bool(is_atomic, is_atomic),
		  lull_u64(size, size), lull_u64(align, align));
LULL_KERNEL_EVENT(percpu, percpu_create_chunk, TP_PROTO(void *base_addr),
		  lull_ptr(base_addr, base_addr));
LULL_KERNEL_EVENT(percpu, percpu_destroy_chunk, TP_PROTO(void *base_addr),
		  lull_ptr(base_addr, base_addr));

LULL_KERNEL_EVENT(page_isolation, test_pages_isolated,
		  TP_PROTO(unsigned long start_pfn, unsigned long end_pfn, unsigned long fin_pfn),
		  lull_u64(start_pfn, start_pfn), lull_u64(end_pfn, end_pfn),
		  lull_u64(fin_pfn, fin_pfn));

LULL_KERNEL_EVENT(pagemap, mm_lru_activate, TP_PROTO(struct folio *folio), lull_ptr(folio, folio),
		  lull_u64(pfn, folio_pfn(folio)));

LULL_KERNEL_EVENT(mmap, vm_unmapped_area,
		  TP_PROTO(unsigned long addr, struct vm_unmapped_area_info *info),
		  lull_x64(addr, addr), lull_u64(total_vm, current->mm->total_vm),
		  lull_x64(flags, info->flags), lull_u64(length, info->length),
		  lull_u64(low_limit, info->low_limit), lull_u64(high_limit, info->high_limit),
		  lull_x64(align_mask, info->align_mask),
		  lull_u64(align_offset, info->align_offset));
LULL_KERNEL_EVENT(mmap, vma_mas_szero,
		  TP_PROTO(struct maple_tree *mt, unsigned long start, unsigned long end),
		  lull_ptr(mt, mt), lull_u64(start, start), lull_u64(end, end));
LULL_KERNEL_EVENT(mmap, vma_store, TP_PROTO(struct maple_tree *mt, struct vm_area_struct *vma),
		  lull_ptr(mt, mt), lull_ptr(vma, vma), lull_u64(vm_start, vma->vm_start),
		  lull_u64(vm_end, vma->vm_end - 1));
LULL_KERNEL_EVENT(mmap, exit_mmap, TP_PROTO(struct mm_struct *mm), lull_ptr(mm, mm),
		  lull_ptr(mt, &mm->mm_mt));

#define MMAP_LOCK_FIELDS lull_ptr(mm, mm), lull_str(memcg_path, memcg_path), lull_bool(write, write)

LULL_KERNEL_EVENT(mmap_lock, mmap_lock_start_locking,
		  TP_PROTO(struct mm_struct *mm, const char *memcg_path, bool write),
		  MMAP_LOCK_FIELDS);
LULL_KERNEL_EVENT(mmap_lock, mmap_lock_released,
		  TP_PROTO(struct mm_struct *mm, const char *memcg_path, bool write),
		  MMAP_LOCK_FIELDS);
LULL_KERNEL_EVENT(mmap_lock, mmap_lock_acquire_returned,
		  TP_PROTO(struct mm_struct *mm, const char *memcg_path, bool write, bool success),
		  lull_ptr(mm, mm), lull_str(memcg_path, memcg_path), lull_bool(write, write),
		  lull_bool(success, success));

LULL_KERNEL_EVENT(tlb, tlb_flush, TP_PROTO(int reason, unsigned long pages),
		  lull_i32(reason, reason), lull_u64(pages, pages));
