// SPDX-License-Identifier: GPL-2.0-only
/*
 * The journal of ext4's transactions (jbd2), where that module is loaded.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/jbd2.h>
#include <trace/events/jbd2.h>
#include "events/fields.h"

LULL_KERNEL_EVENT(jbd2, jbd2_checkpoint, TP_PROTO(journal_t *journal, int result),
		  lull_u32(dev, journal->j_fs_dev->bd_dev), lull_i32(result, result));

#define JBD2_COMMIT_FIELDS                                                          \
	lull_u32(dev, journal->j_fs_dev->bd_dev),                                   \
		lull_i8(sync_commit, (s8)commit_transaction->t_synchronous_commit), \
		lull_u32(transaction, commit_transaction->t_tid)

LULL_KERNEL_EVENT(jbd2, jbd2_start_commit,
		  TP_PROTO(journal_t *journal, transaction_t *commit_transaction),
		  JBD2_COMMIT_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_commit_locking,
		  TP_PROTO(journal_t *journal, transaction_t *commit_transaction),
		  JBD2_COMMIT_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_commit_flushing,
		  TP_PROTO(journal_t *journal, transaction_t *commit_transaction),
		  JBD2_COMMIT_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_commit_logging,
		  TP_PROTO(journal_t *journal, transaction_t *commit_transaction),
		  JBD2_COMMIT_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_drop_transaction,
		  TP_PROTO(journal_t *journal, transaction_t *commit_transaction),
		  JBD2_COMMIT_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_end_commit,
		  TP_PROTO(journal_t *journal, transaction_t *commit_transaction),
		  JBD2_COMMIT_FIELDS, lull_u32(head, journal->j_tail_sequence));
LULL_KERNEL_EVENT(jbd2, jbd2_submit_inode_data, TP_PROTO(struct inode *inode),
		  lull_u32(dev, inode->i_sb->s_dev), lull_u64(ino, inode->i_ino));

#define JBD2_HANDLE_START_FIELDS                                                                  \
	lull_u32(dev, dev), lull_u32(tid, tid), lull_u32(type, type), lull_u32(line_no, line_no), \
		lull_i32(requested_blocks, requested_blocks)

LULL_KERNEL_EVENT(jbd2, jbd2_handle_start,
		  TP_PROTO(dev_t dev, tid_t tid, unsigned int type, unsigned int line_no,
			   int requested_blocks),
		  JBD2_HANDLE_START_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_handle_restart,
		  TP_PROTO(dev_t dev, tid_t tid, unsigned int type, unsigned int line_no,
			   int requested_blocks),
		  JBD2_HANDLE_START_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_handle_extend,
		  TP_PROTO(dev_t dev, tid_t tid, unsigned int type, unsigned int line_no,
			   int buffer_credits, int requested_blocks),
		  lull_u32(dev, dev), lull_u32(tid, tid), lull_u32(type, type),
		  lull_u32(line_no, line_no), lull_i32(buffer_credits, buffer_credits),
		  lull_i32(requested_blocks, requested_blocks));
LULL_KERNEL_EVENT(jbd2, jbd2_handle_stats,
		  TP_PROTO(dev_t dev, tid_t tid, unsigned int type, unsigned int line_no,
			   int interval, int sync, int requested_blocks, int dirtied_blocks),
		  lull_u32(dev, dev), lull_u32(tid, tid), lull_u32(type, type),
		  lull_u32(line_no, line_no), lull_i32(interval, interval), lull_i32(sync, sync),
		  lull_i32(requested_blocks, requested_blocks),
		  lull_i32(dirtied_blocks, dirtied_blocks));
LULL_KERNEL_EVENT(jbd2, jbd2_run_stats,
		  TP_PROTO(dev_t dev, tid_t tid, struct transaction_run_stats_s *stats),
		  lull_u32(dev, dev), lull_u32(tid, tid), lull_u64(wait, stats->rs_wait),
		  lull_u64(request_delay, stats->rs_request_delay),
		  lull_u64(running, stats->rs_running), lull_u64(locked, stats->rs_locked),
		  lull_u64(flushing, stats->rs_flushing), lull_u64(logging, stats->rs_logging),
		  lull_u32(handle_count, stats->rs_handle_count),
		  lull_u32(blocks, stats->rs_blocks),
		  lull_u32(blocks_logged, stats->rs_blocks_logged));
LULL_KERNEL_EVENT(jbd2, jbd2_checkpoint_stats,
		  TP_PROTO(dev_t dev, tid_t tid, struct transaction_chp_stats_s *stats),
		  lull_u32(dev, dev), lull_u32(tid, tid), lull_u64(chp_time, stats->cs_chp_time),
		  lull_u32(forced_to_close, stats->cs_forced_to_close),
		  lull_u32(written, stats->cs_written), lull_u32(dropped, stats->cs_dropped));
LULL_KERNEL_EVENT(jbd2, jbd2_update_log_tail,
		  TP_PROTO(journal_t *journal, tid_t first_tid, unsigned long block_nr,
			   unsigned long freed),
		  lull_u32(dev, journal->j_fs_dev->bd_dev),
		  lull_u32(tail_sequence, journal->j_tail_sequence), lull_u32(first_tid, first_tid),
		  lull_u64(block_nr, block_nr), lull_u64(freed, freed));
LULL_KERNEL_EVENT(jbd2, jbd2_write_superblock, TP_PROTO(journal_t *journal, blk_opf_t write_flags),
		  lull_u32(dev, journal->j_fs_dev->bd_dev), lull_x32(write_flags, write_flags));
LULL_KERNEL_EVENT(jbd2, jbd2_lock_buffer_stall, TP_PROTO(dev_t dev, unsigned long stall_ms),
		  lull_u32(dev, dev), lull_u64(stall_ms, stall_ms));

#define JBD2_JOURNAL_SHRINK_FIELDS                                                  \
	lull_u32(dev, journal->j_fs_dev->bd_dev), lull_u64(nr_to_scan, nr_to_scan), \
		lull_u64(count, count)

LULL_KERNEL_EVENT(jbd2, jbd2_shrink_count,
		  TP_PROTO(journal_t *journal, unsigned long nr_to_scan, unsigned long count),
		  JBD2_JOURNAL_SHRINK_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_shrink_scan_enter,
		  TP_PROTO(journal_t *journal, unsigned long nr_to_scan, unsigned long count),
		  JBD2_JOURNAL_SHRINK_FIELDS);
LULL_KERNEL_EVENT(jbd2, jbd2_shrink_scan_exit,
		  TP_PROTO(journal_t *journal, unsigned long nr_to_scan, unsigned long nr_shrunk,
			   unsigned long count),
		  lull_u32(dev, journal->j_fs_dev->bd_dev), lull_u64(nr_to_scan, nr_to_scan),
		  lull_u64(nr_shrunk, nr_shrunk), lull_u64(count, count));
LULL_KERNEL_EVENT(jbd2, jbd2_shrink_checkpoint_list,
		  TP_PROTO(journal_t *journal, tid_t first_tid, tid_t tid, tid_t last_tid,
			   unsigned long nr_freed, tid_t next_tid),
		  lull_u32(dev, journal->j_fs_dev->bd_dev), lull_u32(first_tid, first_tid),
		  lull_u32(tid, tid), lull_u32(last_tid, last_tid), lull_u64(nr_freed, nr_freed),
		  lull_u32(next_tid, next_tid));
