// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel does when memory is short.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/vmstat.h>
#include <linux/fs.h>
#include <linux/shrinker.h>
#include <trace/events/vmscan.h>

struct compact_control; /* the kernel's own: of tracepoints that are not here */

#include <trace/events/compaction.h>
#include <trace/events/oom.h>
#include <trace/events/migrate.h>
#include <trace/events/huge_memory.h>
#include "compat/gfp_names.h"
#include "events/fields.h"

static __always_inline unsigned long pfn_of(const struct page *page)
{
	return page ? page_to_pfn(page) : -1ul;
}

LULL_KERNEL_EVENT(vmscan, mm_vmscan_kswapd_sleep, TP_PROTO(int nid), lull_i32(nid, nid));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_kswapd_wake, TP_PROTO(int nid, int zid, int order),
		  lull_i32(nid, nid), lull_i32(zid, zid), lull_i32(order, order));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_wakeup_kswapd,
		  TP_PROTO(int nid, int zid, int order, gfp_t gfp_flags), lull_i32(nid, nid),
		  lull_i32(zid, zid), lull_i32(order, order), lull_gfp(gfp_flags, gfp_flags));

#define MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FIELDS lull_i32(order, order), lull_gfp(gfp_flags, gfp_flags)

LULL_KERNEL_EVENT(vmscan, mm_vmscan_direct_reclaim_begin, TP_PROTO(int order, gfp_t gfp_flags),
		  MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FIELDS);
LULL_KERNEL_EVENT(vmscan, mm_vmscan_memcg_reclaim_begin, TP_PROTO(int order, gfp_t gfp_flags),
		  MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FIELDS);
LULL_KERNEL_EVENT(vmscan, mm_vmscan_memcg_softlimit_reclaim_begin,
		  TP_PROTO(int order, gfp_t gfp_flags), MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FIELDS);

#define MM_VMSCAN_DIRECT_RECLAIM_END_FIELDS lull_u64(nr_reclaimed, nr_reclaimed)

LULL_KERNEL_EVENT(vmscan, mm_vmscan_direct_reclaim_end, TP_PROTO(unsigned long nr_reclaimed),
		  MM_VMSCAN_DIRECT_RECLAIM_END_FIELDS);
LULL_KERNEL_EVENT(vmscan, mm_vmscan_memcg_reclaim_end, TP_PROTO(unsigned long nr_reclaimed),
		  MM_VMSCAN_DIRECT_RECLAIM_END_FIELDS);
LULL_KERNEL_EVENT(vmscan, mm_vmscan_memcg_softlimit_reclaim_end,
		  TP_PROTO(unsigned long nr_reclaimed), MM_VMSCAN_DIRECT_RECLAIM_END_FIELDS);
LULL_KERNEL_EVENT(vmscan, mm_shrink_slab_start,
		  TP_PROTO(struct shrinker *shr, struct shrink_control *sc,
			   long nr_objects_to_shrink, unsigned long cache_items,
			   unsigned long long delta, unsigned long total_scan, int priority),
		  lull_ptr(shr, shr), lull_ptr(shrink, shr->scan_objects), lull_i32(nid, sc->nid),
		  lull_i64(nr_objects_to_shrink, nr_objects_to_shrink),
		  lull_gfp(gfp_flags, sc->gfp_mask), lull_u64(cache_items, cache_items),
		  lull_u64(delta, delta), lull_u64(total_scan, total_scan),
		  lull_i32(priority, (int)priority));
LULL_KERNEL_EVENT(vmscan, mm_shrink_slab_end,
		  TP_PROTO(struct shrinker *shr, int nid, int shrinker_retval, long unused_scan_cnt,
			   long new_scan_cnt, long total_scan),
		  lull_ptr(shr, shr), lull_i32(nid, nid), lull_ptr(shrink, shr->scan_objects),
		  lull_i64(unused_scan, unused_scan_cnt), lull_i64(new_scan, new_scan_cnt),
		  lull_i32(retval, shrinker_retval), lull_i64(total_scan, total_scan));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_lru_isolate, LULL_LRU_ISOLATE,
		  lull_i32(highest_zoneidx, (int)highest_zoneidx), lull_i32(order, order),
		  lull_u64(nr_requested, nr_requested), lull_u64(nr_scanned, nr_scanned),
		  lull_u64(nr_skipped, nr_skipped),
		  lull_u64(nr_taken, nr_taken) LULL_LRU_ISOLATE_FIELDS, lull_i32(lru, lru));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_write_folio, TP_PROTO(struct folio *folio),
		  lull_u64(pfn, folio_pfn(folio)),
		  lull_i32(reclaim_flags, (int)trace_reclaim_flags(folio_is_file_lru(folio))));
LULL_KERNEL_EVENT(
	vmscan, mm_vmscan_lru_shrink_inactive,
	TP_PROTO(int nid, unsigned long nr_scanned, unsigned long nr_reclaimed,
		 struct reclaim_stat *stat, int priority, int file),
	lull_i32(nid, nid), lull_u64(nr_scanned, nr_scanned), lull_u64(nr_reclaimed, nr_reclaimed),
	lull_u64(nr_dirty, stat->nr_dirty), lull_u64(nr_writeback, stat->nr_writeback),
	lull_u64(nr_congested, stat->nr_congested), lull_u64(nr_immediate, stat->nr_immediate),
	lull_u32(nr_activate0, stat->nr_activate[0]), lull_u32(nr_activate1, stat->nr_activate[1]),
	lull_u64(nr_ref_keep, stat->nr_ref_keep), lull_u64(nr_unmap_fail, stat->nr_unmap_fail),
	lull_i32(priority, (int)priority), lull_i32(reclaim_flags, (int)trace_reclaim_flags(file)));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_lru_shrink_active,
		  TP_PROTO(int nid, unsigned long nr_taken, unsigned long nr_active,
			   unsigned long nr_deactivated, unsigned long nr_referenced, int priority,
			   int file),
		  lull_i32(nid, nid), lull_u64(nr_taken, nr_taken), lull_u64(nr_active, nr_active),
		  lull_u64(nr_deactivated, nr_deactivated), lull_u64(nr_referenced, nr_referenced),
		  lull_i32(priority, (int)priority),
		  lull_i32(reclaim_flags, (int)trace_reclaim_flags(file)));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_node_reclaim_begin,
		  TP_PROTO(int nid, int order, gfp_t gfp_flags), lull_i32(nid, nid),
		  lull_i32(order, order), lull_gfp(gfp_flags, gfp_flags));
LULL_KERNEL_EVENT(vmscan, mm_vmscan_node_reclaim_end, TP_PROTO(unsigned long nr_reclaimed),
		  MM_VMSCAN_DIRECT_RECLAIM_END_FIELDS);
LULL_KERNEL_EVENT(vmscan, mm_vmscan_throttled,
		  TP_PROTO(int nid, int usec_timeout, int usec_delayed, int reason),
		  lull_i32(nid, nid), lull_i32(usec_timeout, usec_timeout),
		  lull_i32(usec_delayed, usec_delayed), lull_i32(reason, (int)BIT(reason)));

#define MM_COMPACTION_ISOLATE_FIELDS                                \
	lull_u64(start_pfn, start_pfn), lull_u64(end_pfn, end_pfn), \
		lull_u64(nr_scanned, nr_scanned), lull_u64(nr_taken, nr_taken)

LULL_KERNEL_EVENT(compaction, mm_compaction_isolate_migratepages,
		  TP_PROTO(unsigned long start_pfn, unsigned long end_pfn, unsigned long nr_scanned,
			   unsigned long nr_taken),
		  MM_COMPACTION_ISOLATE_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_isolate_freepages,
		  TP_PROTO(unsigned long start_pfn, unsigned long end_pfn, unsigned long nr_scanned,
			   unsigned long nr_taken),
		  MM_COMPACTION_ISOLATE_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_try_to_compact_pages,
		  TP_PROTO(int order, gfp_t gfp_mask, int prio), lull_i32(order, order),
		  lull_gfp(gfp_mask, gfp_mask), lull_i32(prio, prio));

#define MM_COMPACTION_SUITABLE_FIELDS                                         \
	lull_i32(nid, zone_to_nid(zone)), lull_i32(idx, (int)zone_idx(zone)), \
		lull_i32(order, order), lull_i32(ret, ret)

LULL_KERNEL_EVENT(compaction, mm_compaction_finished,
		  TP_PROTO(struct zone *zone, int order, int ret), MM_COMPACTION_SUITABLE_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_suitable,
		  TP_PROTO(struct zone *zone, int order, int ret), MM_COMPACTION_SUITABLE_FIELDS);

#define MM_COMPACTION_DEFER_FIELDS                                                      \
	lull_i32(nid, zone_to_nid(zone)), lull_i32(idx, (int)zone_idx(zone)),           \
		lull_i32(order, order), lull_u32(considered, zone->compact_considered), \
		lull_u32(defer_shift, zone->compact_defer_shift),                       \
		lull_i32(order_failed, zone->compact_order_failed)

LULL_KERNEL_EVENT(compaction, mm_compaction_deferred, TP_PROTO(struct zone *zone, int order),
		  MM_COMPACTION_DEFER_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_defer_compaction,
		  TP_PROTO(struct zone *zone, int order), MM_COMPACTION_DEFER_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_defer_reset, TP_PROTO(struct zone *zone, int order),
		  MM_COMPACTION_DEFER_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_kcompactd_sleep, TP_PROTO(int nid), lull_i32(nid, nid));

#define KCOMPACTD_WAKE_FIELDS \
	lull_i32(nid, nid), lull_i32(order, order), lull_i32(highest_zoneidx, (int)highest_zoneidx)

LULL_KERNEL_EVENT(compaction, mm_compaction_wakeup_kcompactd,
		  TP_PROTO(int nid, int order, enum zone_type highest_zoneidx),
		  KCOMPACTD_WAKE_FIELDS);
LULL_KERNEL_EVENT(compaction, mm_compaction_kcompactd_wake,
		  TP_PROTO(int nid, int order, enum zone_type highest_zoneidx),
		  KCOMPACTD_WAKE_FIELDS);

LULL_KERNEL_EVENT(oom, oom_score_adj_update, TP_PROTO(struct task_struct *task),
		  lull_i32(pid, task->pid), lull_str16(comm, task->comm),
		  lull_i16(oom_score_adj, task->signal->oom_score_adj));
LULL_KERNEL_EVENT(oom, reclaim_retry_zone,
		  TP_PROTO(struct zoneref *zoneref, int order, unsigned long reclaimable,
			   unsigned long available, unsigned long min_wmark, int no_progress_loops,
			   bool wmark_check),
		  lull_i32(node, zone_to_nid(zoneref->zone)), lull_i32(zone_idx, zoneref->zone_idx),
		  lull_i32(order, order), lull_u64(reclaimable, reclaimable),
		  lull_u64(available, available), lull_u64(min_wmark, min_wmark),
		  lull_i32(no_progress_loops, no_progress_loops),
		  lull_bool(wmark_check, wmark_check));
LULL_KERNEL_EVENT(oom, mark_victim, TP_PROTO(struct task_struct *task, uid_t uid),
		  lull_i32(pid, task->pid), lull_str(comm, task->comm),
		  lull_u64(total_vm, PG_COUNT_TO_KB(task->mm->total_vm)),
		  lull_u64(anon_rss, PG_COUNT_TO_KB(get_mm_counter(task->mm, MM_ANONPAGES))),
		  lull_u64(file_rss, PG_COUNT_TO_KB(get_mm_counter(task->mm, MM_FILEPAGES))),
		  lull_u64(shmem_rss, PG_COUNT_TO_KB(get_mm_counter(task->mm, MM_SHMEMPAGES))),
		  lull_u32(uid, uid), lull_u64(pgtables, mm_pgtables_bytes(task->mm) >> 10),
		  lull_i16(oom_score_adj, task->signal->oom_score_adj));
LULL_KERNEL_EVENT(oom, wake_reaper, TP_PROTO(int pid), lull_i32(pid, pid));
LULL_KERNEL_EVENT(oom, start_task_reaping, TP_PROTO(int pid), lull_i32(pid, pid));
LULL_KERNEL_EVENT(oom, finish_task_reaping, TP_PROTO(int pid), lull_i32(pid, pid));
LULL_KERNEL_EVENT(oom, skip_task_reaping, TP_PROTO(int pid), lull_i32(pid, pid));
LULL_KERNEL_EVENT(oom, compact_retry,
		  TP_PROTO(int order, enum compact_priority priority, enum compact_result result,
			   int retries, int max_retries, bool ret),
		  lull_i32(order, order), lull_i32(priority, (int)priority),
		  lull_i32(result, compact_result_to_feedback(result)), lull_i32(retries, retries),
		  lull_i32(max_retries, max_retries), lull_bool(ret, ret));

LULL_KERNEL_EVENT(migrate, mm_migrate_pages, LULL_MIGRATE_PAGES, lull_u64(succeeded, succeeded),
		  lull_u64(failed, failed), lull_u64(thp_succeeded, thp_succeeded),
		  lull_u64(thp_failed, thp_failed),
		  lull_u64(thp_split, thp_split) LULL_MIGRATE_PAGES_FIELDS,
		  lull_i32(mode, (int)mode), lull_i32(reason, reason));
LULL_KERNEL_EVENT(migrate, mm_migrate_pages_start, TP_PROTO(enum migrate_mode mode, int reason),
		  lull_i32(mode, (int)mode), lull_i32(reason, reason));

#define MIGRATION_PTE_FIELDS lull_x64(addr, addr), lull_u64(pte, pte), lull_i32(order, order)

LULL_KERNEL_EVENT(migrate, set_migration_pte,
		  TP_PROTO(unsigned long addr, unsigned long pte, int order), MIGRATION_PTE_FIELDS);
LULL_KERNEL_EVENT(migrate, remove_migration_pte,
		  TP_PROTO(unsigned long addr, unsigned long pte, int order), MIGRATION_PTE_FIELDS);

LULL_KERNEL_EVENT(huge_memory, mm_khugepaged_scan_pmd,
		  TP_PROTO(struct mm_struct *mm, struct page *page, bool writable, int referenced,
			   int none_or_zero, int status, int unmapped),
		  lull_ptr(mm, mm), lull_u64(pfn, pfn_of(page)), lull_bool(writable, writable),
		  lull_i32(referenced, referenced), lull_i32(none_or_zero, none_or_zero),
		  lull_i32(status, status), lull_i32(unmapped, unmapped));
LULL_KERNEL_EVENT(huge_memory, mm_collapse_huge_page,
		  TP_PROTO(struct mm_struct *mm, int isolated, int status), lull_ptr(mm, mm),
		  lull_i32(isolated, isolated), lull_i32(status, status));
LULL_KERNEL_EVENT(huge_memory, mm_collapse_huge_page_isolate,
		  TP_PROTO(struct page *page, int none_or_zero, int referenced, bool writable,
			   int status),
		  lull_u64(pfn, pfn_of(page)), lull_i32(none_or_zero, none_or_zero),
		  lull_i32(referenced, referenced), lull_bool(writable, writable),
		  lull_i32(status, status));
LULL_KERNEL_EVENT(huge_memory, mm_collapse_huge_page_swapin,
		  TP_PROTO(struct mm_struct *mm, int swapped_in, int referenced, int ret),
		  lull_ptr(mm, mm), lull_i32(swapped_in, swapped_in),
		  lull_i32(referenced, referenced), lull_i32(ret, ret));
LULL_KERNEL_EVENT(huge_memory, mm_khugepaged_scan_file, LULL_KHUGEPAGED_SCAN_FILE, lull_ptr(mm, mm),
		  lull_u64(pfn, pfn_of(LULL_KHUGEPAGED_SCAN_FILE_PAGE)),
		  lull_str(filename, (const char *)file->f_path.dentry->d_iname),
		  lull_i32(present, present), lull_i32(swap, swap), lull_i32(result, result));
