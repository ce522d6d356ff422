// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page cache and locks of files.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <trace/events/filemap.h>
#include <trace/events/filelock.h>
#include "events/fields.h"

static __always_inline dev_t device_of(const struct inode *inode)
{
	return inode->i_sb ? inode->i_sb->s_dev : inode->i_rdev;
}

#define MM_FILEMAP_OP_PAGE_CACHE_FIELDS                                                          \
	lull_u64(pfn, folio_pfn(folio)), lull_u64(i_ino, folio->mapping->host->i_ino),           \
		lull_u64(index, folio->index), lull_u32(s_dev, device_of(folio->mapping->host)), \
		lull_u8(order, (u8)folio_order(folio))

LULL_KERNEL_EVENT(filemap, mm_filemap_delete_from_page_cache, TP_PROTO(struct folio *folio),
		  MM_FILEMAP_OP_PAGE_CACHE_FIELDS);
LULL_KERNEL_EVENT(filemap, mm_filemap_add_to_page_cache, TP_PROTO(struct folio *folio),
		  MM_FILEMAP_OP_PAGE_CACHE_FIELDS);
LULL_KERNEL_EVENT(filemap, filemap_set_wb_err,
		  TP_PROTO(struct address_space *mapping, errseq_t eseq),
		  lull_u64(i_ino, mapping->host->i_ino), lull_u32(s_dev, device_of(mapping->host)),
		  lull_u32(errseq, eseq));
LULL_KERNEL_EVENT(filemap, file_check_and_advance_wb_err, TP_PROTO(struct file *file, errseq_t old),
		  lull_ptr(file, file), lull_u64(i_ino, file->f_mapping->host->i_ino),
		  lull_u32(s_dev, device_of(file->f_mapping->host)), lull_u32(old, old),
		  lull_u32(new, file->f_wb_err));

LULL_KERNEL_EVENT(filelock, locks_get_lock_context,
		  TP_PROTO(struct inode *inode, int type, struct file_lock_context *ctx),
		  lull_u64(i_ino, inode->i_ino), lull_u32(s_dev, inode->i_sb->s_dev),
		  lull_u8(type, (u8)type), lull_ptr(ctx, ctx));

#define FILELOCK_LOCK_FIELDS                                                                       \
	lull_ptr(fl, fl), lull_u64(i_ino, inode->i_ino), lull_u32(s_dev, inode->i_sb->s_dev),      \
		lull_ptr(fl_blocker, fl ? fl->fl_blocker : NULL),                                  \
		lull_ptr(fl_owner, fl ? fl->fl_owner : NULL),                                      \
		lull_u32(fl_pid, fl ? fl->fl_pid : 0u), lull_x32(fl_flags, fl ? fl->fl_flags : 0), \
		lull_u8(fl_type, (u8)(fl ? fl->fl_type : 0)),                                      \
		lull_i64(fl_start, fl ? fl->fl_start : 0), lull_i64(fl_end, fl ? fl->fl_end : 0),  \
		lull_i32(ret, ret)

LULL_KERNEL_EVENT(filelock, posix_lock_inode,
		  TP_PROTO(struct inode *inode, struct file_lock *fl, int ret),
		  FILELOCK_LOCK_FIELDS);
LULL_KERNEL_EVENT(filelock, fcntl_setlk,
		  TP_PROTO(struct inode *inode, struct file_lock *fl, int ret),
		  FILELOCK_LOCK_FIELDS);
LULL_KERNEL_EVENT(filelock, locks_remove_posix,
		  TP_PROTO(struct inode *inode, struct file_lock *fl, int ret),
		  FILELOCK_LOCK_FIELDS);
LULL_KERNEL_EVENT(filelock, flock_lock_inode,
		  TP_PROTO(struct inode *inode, struct file_lock *fl, int ret),
		  FILELOCK_LOCK_FIELDS);

#define FILELOCK_LEASE_FIELDS                                                                 \
	lull_ptr(fl, fl), lull_u64(i_ino, inode->i_ino), lull_u32(s_dev, inode->i_sb->s_dev), \
		lull_ptr(fl_blocker, fl ? fl->fl_blocker : NULL),                             \
		lull_ptr(fl_owner, fl ? fl->fl_owner : NULL),                                 \
		lull_x32(fl_flags, fl ? fl->fl_flags : 0),                                    \
		lull_u8(fl_type, (u8)(fl ? fl->fl_type : 0)),                                 \
		lull_u64(fl_break_time, fl ? fl->fl_break_time : 0),                          \
		lull_u64(fl_downgrade_time, fl ? fl->fl_downgrade_time : 0)

LULL_KERNEL_EVENT(filelock, break_lease_noblock,
		  TP_PROTO(struct inode *inode, struct file_lock *fl), FILELOCK_LEASE_FIELDS);
LULL_KERNEL_EVENT(filelock, break_lease_block, TP_PROTO(struct inode *inode, struct file_lock *fl),
		  FILELOCK_LEASE_FIELDS);
LULL_KERNEL_EVENT(filelock, break_lease_unblock,
		  TP_PROTO(struct inode *inode, struct file_lock *fl), FILELOCK_LEASE_FIELDS);
LULL_KERNEL_EVENT(filelock, generic_delete_lease,
		  TP_PROTO(struct inode *inode, struct file_lock *fl), FILELOCK_LEASE_FIELDS);
LULL_KERNEL_EVENT(filelock, time_out_leases, TP_PROTO(struct inode *inode, struct file_lock *fl),
		  FILELOCK_LEASE_FIELDS);
LULL_KERNEL_EVENT(filelock, generic_add_lease, TP_PROTO(struct inode *inode, struct file_lock *fl),
		  lull_u64(i_ino, inode->i_ino),
		  lull_i32(wcount, atomic_read(&inode->i_writecount)),
		  lull_i32(rcount, atomic_read(&inode->i_readcount)),
		  lull_i32(icount, atomic_read(&inode->i_count)),
		  lull_u32(s_dev, inode->i_sb->s_dev), lull_ptr(fl_owner, fl->fl_owner),
		  lull_x32(fl_flags, fl->fl_flags), lull_u8(fl_type, (u8)fl->fl_type));
LULL_KERNEL_EVENT(filelock, leases_conflict,
		  TP_PROTO(bool conflict, struct file_lock *lease, struct file_lock *breaker),
		  lull_ptr(lease, lease), lull_ptr(breaker, breaker),
		  lull_x32(l_fl_flags, lease->fl_flags), lull_x32(b_fl_flags, breaker->fl_flags),
		  lull_u8(l_fl_type, (u8)lease->fl_type), lull_u8(b_fl_type, (u8)breaker->fl_type),
		  lull_bool(conflict, conflict));
