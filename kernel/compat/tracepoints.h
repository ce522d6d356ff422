/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints whose parameters differ between the versions of Linux that the module is tested with,
 * 6.1 and 6.12: what they take, and the fields that only one of the two has, with their comma.
 */
#ifndef LULL_KERNEL_COMPAT_TRACEPOINTS_H
#define LULL_KERNEL_COMPAT_TRACEPOINTS_H

#include <linux/version.h>

struct folio; /* headers of 6.12 that name it do not declare it */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)

#define LULL_STAT_RUNTIME TP_PROTO(struct task_struct *tsk, u64 runtime)
#define LULL_STAT_RUNTIME_FIELDS
#define LULL_TIMER_START TP_PROTO(struct timer_list *timer, unsigned long bucket_expiry)
#define LULL_TIMER_START_FIELDS                                                    \
	lull_u64(expires, timer->expires), lull_u64(bucket_expiry, bucket_expiry), \
		lull_u64(now, jiffies), lull_x32(flags, timer->flags)
#define LULL_KFREE_SKB                                                             \
	TP_PROTO(struct sk_buff *skb, void *location, enum skb_drop_reason reason, \
		 struct sock *rx_sk)
#define LULL_KFREE_SKB_FIELDS , lull_ptr(rx_sk, rx_sk)
#define LULL_CONSUME_SKB TP_PROTO(struct sk_buff *skb, void *location)
#define LULL_CONSUME_SKB_FIELDS , lull_ptr(location, location)
#define LULL_MIGRATE_PAGES                                                                   \
	TP_PROTO(unsigned long succeeded, unsigned long failed, unsigned long thp_succeeded, \
		 unsigned long thp_failed, unsigned long thp_split,                          \
		 unsigned long large_folio_split, enum migrate_mode mode, int reason)
#define LULL_MIGRATE_PAGES_FIELDS , lull_u64(large_folio_split, large_folio_split)
#define LULL_KHUGEPAGED_SCAN_FILE                                                           \
	TP_PROTO(struct mm_struct *mm, struct folio *folio, struct file *file, int present, \
		 int swap, int result)
#define LULL_KHUGEPAGED_SCAN_FILE_PAGE (folio ? &folio->page : NULL)
#define LULL_LRU_ISOLATE                                                                     \
	TP_PROTO(int highest_zoneidx, int order, unsigned long nr_requested,                 \
		 unsigned long nr_scanned, unsigned long nr_skipped, unsigned long nr_taken, \
		 int lru)
#define LULL_LRU_ISOLATE_FIELDS
#define LULL_URING_TASK_WORK TP_PROTO(void *tctx, unsigned int count)
#define LULL_URING_TASK_WORK_FIELDS
#define LULL_ACTIVATE_WORK_FIELDS , lull_ptr(function, work->func)
#define LULL_BLOCK_PRIORITY lull_u16(ioprio, req_get_ioprio(rq)),
#define LULL_BLOCK_RESERVED BLK_STS_RESV_CONFLICT
#define LULL_BLOCK_ERRORS [BLK_STS_DURATION_LIMIT] = -ETIME, [BLK_STS_INVAL] = -EINVAL
#define LULL_REQ_ATOMIC REQ_ATOMIC
#define LULL_RSEQ_UPDATE_FIELDS \
	, lull_i32(node_id, numa_node_id()), lull_i32(mm_cid, task_mm_cid(t))

#else

#define LULL_STAT_RUNTIME TP_PROTO(struct task_struct *tsk, u64 runtime, u64 vruntime)
#define LULL_STAT_RUNTIME_FIELDS , lull_u64(vruntime, vruntime)
#define LULL_TIMER_START \
	TP_PROTO(struct timer_list *timer, unsigned long expires, unsigned int flags)
#define LULL_TIMER_START_FIELDS \
	lull_u64(expires, expires), lull_u64(now, jiffies), lull_x32(flags, flags)
#define LULL_KFREE_SKB TP_PROTO(struct sk_buff *skb, void *location, enum skb_drop_reason reason)
#define LULL_KFREE_SKB_FIELDS
#define LULL_CONSUME_SKB TP_PROTO(struct sk_buff *skb)
#define LULL_CONSUME_SKB_FIELDS
#define LULL_MIGRATE_PAGES                                                                   \
	TP_PROTO(unsigned long succeeded, unsigned long failed, unsigned long thp_succeeded, \
		 unsigned long thp_failed, unsigned long thp_split, enum migrate_mode mode,  \
		 int reason)
#define LULL_MIGRATE_PAGES_FIELDS
#define LULL_KHUGEPAGED_SCAN_FILE                                                         \
	TP_PROTO(struct mm_struct *mm, struct page *page, struct file *file, int present, \
		 int swap, int result)
#define LULL_KHUGEPAGED_SCAN_FILE_PAGE page
#define LULL_LRU_ISOLATE                                                                     \
	TP_PROTO(int highest_zoneidx, int order, unsigned long nr_requested,                 \
		 unsigned long nr_scanned, unsigned long nr_skipped, unsigned long nr_taken, \
		 isolate_mode_t isolate_mode, int lru)
#define LULL_LRU_ISOLATE_FIELDS , lull_u32(isolate_mode, (__force unsigned int)isolate_mode)
#define LULL_URING_TASK_WORK TP_PROTO(void *tctx, unsigned int count, unsigned int loops)
#define LULL_URING_TASK_WORK_FIELDS , lull_u32(loops, loops)
#define LULL_ACTIVATE_WORK_FIELDS
#define LULL_BLOCK_PRIORITY
#define LULL_BLOCK_RESERVED BLK_STS_NEXUS
#define LULL_BLOCK_ERRORS
#define LULL_REQ_ATOMIC 0
#define LULL_RSEQ_UPDATE_FIELDS
#define LULL_HAS_TCP_SEND_RESET /* 6.12 has other fields */
#define LULL_HAS_UDP_FAIL /* and here */
#define LULL_HAS_URING_SUBMIT_SQE /* 6.12 has another name */

#endif
#endif
