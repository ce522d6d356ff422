// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page cache.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <trace/events/filemap.h>
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
