// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing dirty pages back.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/backing-dev.h>
#include <linux/cgroup.h>
#include <trace/events/writeback.h>
#include "events/fields.h"

/* As the kernel's bdi_dev_name(), which is no inline function. */
static __always_inline const char *name_of(const struct backing_dev_info *bdi)
{
	return bdi && bdi->dev ? bdi->dev_name : "(unknown)";
}

static __always_inline unsigned long cgroup_of(const struct bdi_writeback *wb)
{
#ifdef CONFIG_CGROUP_WRITEBACK
	if (wb)
		return cgroup_ino(wb->memcg_css->cgroup);
#endif
	return 1;
}

static __always_inline unsigned long cgroup_written(const struct writeback_control *wbc)
{
#ifdef CONFIG_CGROUP_WRITEBACK
	return cgroup_of(wbc->wb);
#else
	return cgroup_of(NULL);
#endif
}

static __always_inline unsigned long kib_per_second(unsigned long pages)
{
	return pages << (PAGE_SHIFT - 10);
}

#ifdef CONFIG_CGROUP_WRITEBACK
LULL_KERNEL_EVENT(writeback, flush_foreign,
		  TP_PROTO(struct bdi_writeback *wb, unsigned int frn_bdi_id,
			   unsigned int frn_memcg_id),
		  lull_strn(name, name_of(wb->bdi), 31), lull_u64(cgroup_ino, cgroup_of(wb)),
		  lull_u32(frn_bdi_id, frn_bdi_id), lull_u32(frn_memcg_id, frn_memcg_id));
#endif
LULL_KERNEL_EVENT(writeback, writeback_pages_written, TP_PROTO(long pages_written),
		  lull_i64(pages, pages_written));

#define WRITEBACK_FIELDS lull_strn(name, name_of(wb->bdi), 31), lull_u64(cgroup_ino, cgroup_of(wb))

LULL_KERNEL_EVENT(writeback, writeback_wake_background, TP_PROTO(struct bdi_writeback *wb),
		  WRITEBACK_FIELDS);
LULL_KERNEL_EVENT(writeback, writeback_bdi_register, TP_PROTO(struct backing_dev_info *bdi),
		  lull_strn(name, name_of(bdi), 31));

#define WBC_FIELDS                                                                                 \
	lull_strn(name, name_of(bdi), 31), lull_i64(nr_to_write, wbc->nr_to_write),                \
		lull_i64(pages_skipped, wbc->pages_skipped),                                       \
		lull_i32(sync_mode, (int)wbc->sync_mode), lull_i32(for_kupdate, wbc->for_kupdate), \
		lull_i32(for_background, wbc->for_background),                                     \
		lull_i32(for_reclaim, wbc->for_reclaim),                                           \
		lull_i32(range_cyclic, wbc->range_cyclic),                                         \
		lull_i64(range_start, (long)wbc->range_start),                                     \
		lull_i64(range_end, (long)wbc->range_end),                                         \
		lull_u64(cgroup_ino, cgroup_written(wbc))

LULL_KERNEL_EVENT(writeback, wbc_writepage,
		  TP_PROTO(struct writeback_control *wbc, struct backing_dev_info *bdi),
		  WBC_FIELDS);
LULL_KERNEL_EVENT(writeback, bdi_dirty_ratelimit,
		  TP_PROTO(struct bdi_writeback *wb, unsigned long dirty_rate,
			   unsigned long task_ratelimit),
		  lull_strn(bdi, name_of(wb->bdi), 31),
		  lull_u64(write_bw, kib_per_second(wb->write_bandwidth)),
		  lull_u64(avg_write_bw, kib_per_second(wb->avg_write_bandwidth)),
		  lull_u64(dirty_rate, kib_per_second(dirty_rate)),
		  lull_u64(dirty_ratelimit, kib_per_second(wb->dirty_ratelimit)),
		  lull_u64(task_ratelimit, kib_per_second(task_ratelimit)),
		  lull_u64(balanced_dirty_ratelimit, kib_per_second(wb->balanced_dirty_ratelimit)),
		  lull_u64(cgroup_ino, cgroup_of(wb)));

#define WRITEBACK_INODE_FIELDS                                                  \
	lull_u32(dev, inode->i_sb->s_dev), lull_u64(ino, inode->i_ino),         \
		lull_u64(state, inode->i_state), lull_u16(mode, inode->i_mode), \
		lull_u64(dirtied_when, inode->dirtied_when)

LULL_KERNEL_EVENT(writeback, writeback_lazytime, TP_PROTO(struct inode *inode),
		  WRITEBACK_INODE_FIELDS);
LULL_KERNEL_EVENT(writeback, writeback_lazytime_iput, TP_PROTO(struct inode *inode),
		  WRITEBACK_INODE_FIELDS);
LULL_KERNEL_EVENT(writeback, writeback_dirty_inode_enqueue, TP_PROTO(struct inode *inode),
		  WRITEBACK_INODE_FIELDS);
LULL_KERNEL_EVENT(writeback, sb_mark_inode_writeback, TP_PROTO(struct inode *inode),
		  WRITEBACK_INODE_FIELDS);
LULL_KERNEL_EVENT(writeback, sb_clear_inode_writeback, TP_PROTO(struct inode *inode),
		  WRITEBACK_INODE_FIELDS);
