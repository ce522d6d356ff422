// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to disks.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <trace/events/block.h>
#include "events/fields.h"

static __always_inline dev_t device_of(const struct request *rq)
{
	return rq->q->disk ? disk_devt(rq->q->disk) : 0;
}

/* As the kernel's blk_status_to_errno(), which is no inline function; its versions have other
 * numbers. */
static __always_inline int error_of(blk_status_t status)
{
	static const short errors[] = { [BLK_STS_NOTSUPP] = -EOPNOTSUPP,
					[BLK_STS_TIMEOUT] = -ETIMEDOUT,
					[BLK_STS_NOSPC] = -ENOSPC,
					[BLK_STS_TRANSPORT] = -ENOLINK,
					[BLK_STS_TARGET] = -EREMOTEIO,
					[LULL_BLOCK_RESERVED] = -EBADE,
					[BLK_STS_MEDIUM] = -ENODATA,
					[BLK_STS_PROTECTION] = -EILSEQ,
					[BLK_STS_RESOURCE] = -ENOMEM,
					[BLK_STS_IOERR] = -EIO,
					[BLK_STS_DM_REQUEUE] = -EREMCHG,
					[BLK_STS_AGAIN] = -EAGAIN,
					[BLK_STS_DEV_RESOURCE] = -EBUSY,
					[BLK_STS_ZONE_OPEN_RESOURCE] = -ETOOMANYREFS,
					[BLK_STS_ZONE_ACTIVE_RESOURCE] = -EOVERFLOW,
					[BLK_STS_OFFLINE] = -ENODEV,
					LULL_BLOCK_ERRORS };
	unsigned int index = (__force unsigned int)status;

	if (!index)
		return 0;
	return index < ARRAY_SIZE(errors) && errors[index] ? errors[index] : -EIO;
}

static __always_inline void letters_add(struct lull_copied *letters, char letter)
{
	letters->low |= (uint64_t)letter << 8 * (letters->bytes++ - 1);
}

/*
 * What a request does, in up to 8 letters, as the kernel's blk_fill_rwbs() spells it: W or R, D for
 * discard, E for secure erase, F for flush, N for nothing; then F for forced unit access, A for
 * read-ahead, S for synchronous, M for metadata, U for all or nothing.
 */
static __always_inline struct lull_copied letters_of(blk_opf_t operation)
{
	struct lull_copied letters = { 0, 0, 1 };

	if (operation & REQ_PREFLUSH)
		letters_add(&letters, 'F');
	switch (operation & REQ_OP_MASK) {
	case REQ_OP_WRITE:
		letters_add(&letters, 'W');
		break;
	case REQ_OP_DISCARD:
		letters_add(&letters, 'D');
		break;
	case REQ_OP_SECURE_ERASE:
		letters_add(&letters, 'D');
		letters_add(&letters, 'E');
		break;
	case REQ_OP_FLUSH:
		letters_add(&letters, 'F');
		break;
	case REQ_OP_READ:
		letters_add(&letters, 'R');
		break;
	default:
		letters_add(&letters, 'N');
	}
	if (operation & REQ_FUA)
		letters_add(&letters, 'F');
	if (operation & REQ_RAHEAD)
		letters_add(&letters, 'A');
	if (operation & REQ_SYNC)
		letters_add(&letters, 'S');
	if (operation & REQ_META)
		letters_add(&letters, 'M');
	if (operation & LULL_REQ_ATOMIC)
		letters_add(&letters, 'U');
	return letters;
}
#define lull_rwbs(field, operation) lull_copied(field, letters_of(operation))

#define BLOCK_BUFFER_FIELDS                                                 \
	lull_u32(dev, bh->b_bdev->bd_dev), lull_u64(sector, bh->b_blocknr), \
		lull_u64(size, bh->b_size)

LULL_KERNEL_EVENT(block, block_touch_buffer, TP_PROTO(struct buffer_head *bh), BLOCK_BUFFER_FIELDS);
LULL_KERNEL_EVENT(block, block_dirty_buffer, TP_PROTO(struct buffer_head *bh), BLOCK_BUFFER_FIELDS);
LULL_KERNEL_EVENT(block, block_rq_requeue, TP_PROTO(struct request *rq),
		  lull_u32(dev, device_of(rq)), lull_u64(sector, blk_rq_trace_sector(rq)),
		  lull_u32(nr_sector, blk_rq_trace_nr_sectors(rq)),
		  LULL_BLOCK_PRIORITY lull_rwbs(rwbs, rq->cmd_flags));

#define BLOCK_RQ_COMPLETION_FIELDS                                                    \
	lull_u32(dev, device_of(rq)), lull_u64(sector, blk_rq_pos(rq)),               \
		lull_u32(nr_sector, nr_bytes >> 9), lull_i32(error, error_of(error)), \
		LULL_BLOCK_PRIORITY lull_rwbs(rwbs, rq->cmd_flags)

LULL_KERNEL_EVENT(block, block_rq_complete,
		  TP_PROTO(struct request *rq, blk_status_t error, unsigned int nr_bytes),
		  BLOCK_RQ_COMPLETION_FIELDS);
LULL_KERNEL_EVENT(block, block_rq_error,
		  TP_PROTO(struct request *rq, blk_status_t error, unsigned int nr_bytes),
		  BLOCK_RQ_COMPLETION_FIELDS);

#define BLOCK_RQ_FIELDS                                                          \
	lull_u32(dev, device_of(rq)), lull_u64(sector, blk_rq_trace_sector(rq)), \
		lull_u32(nr_sector, blk_rq_trace_nr_sectors(rq)),                \
		lull_u32(bytes, blk_rq_bytes(rq)),                               \
		LULL_BLOCK_PRIORITY lull_rwbs(rwbs, rq->cmd_flags),              \
		lull_str16(comm, current->comm)

LULL_KERNEL_EVENT(block, block_rq_insert, TP_PROTO(struct request *rq), BLOCK_RQ_FIELDS);
LULL_KERNEL_EVENT(block, block_rq_issue, TP_PROTO(struct request *rq), BLOCK_RQ_FIELDS);
LULL_KERNEL_EVENT(block, block_rq_merge, TP_PROTO(struct request *rq), BLOCK_RQ_FIELDS);
LULL_KERNEL_EVENT(block, block_bio_complete, TP_PROTO(struct request_queue *q, struct bio *bio),
		  lull_u32(dev, bio_dev(bio)), lull_u64(sector, bio->bi_iter.bi_sector),
		  lull_u32(nr_sector, bio_sectors(bio)), lull_i32(error, error_of(bio->bi_status)),
		  lull_rwbs(rwbs, bio->bi_opf));

#define BLOCK_BIO_FIELDS                                                             \
	lull_u32(dev, bio_dev(bio)), lull_u64(sector, bio->bi_iter.bi_sector),       \
		lull_u32(nr_sector, bio_sectors(bio)), lull_rwbs(rwbs, bio->bi_opf), \
		lull_str16(comm, current->comm)

LULL_KERNEL_EVENT(block, block_bio_bounce, TP_PROTO(struct bio *bio), BLOCK_BIO_FIELDS);
LULL_KERNEL_EVENT(block, block_bio_backmerge, TP_PROTO(struct bio *bio), BLOCK_BIO_FIELDS);
LULL_KERNEL_EVENT(block, block_bio_frontmerge, TP_PROTO(struct bio *bio), BLOCK_BIO_FIELDS);
LULL_KERNEL_EVENT(block, block_bio_queue, TP_PROTO(struct bio *bio), BLOCK_BIO_FIELDS);
LULL_KERNEL_EVENT(block, block_getrq, TP_PROTO(struct bio *bio), BLOCK_BIO_FIELDS);
LULL_KERNEL_EVENT(block, block_plug, TP_PROTO(struct request_queue *q),
		  lull_str16(comm, current->comm));

#define BLOCK_UNPLUG_FIELDS lull_i32(nr_rq, (int)depth), lull_str16(comm, current->comm)

LULL_KERNEL_EVENT(block, block_unplug,
		  TP_PROTO(struct request_queue *q, unsigned int depth, bool explicit),
		  BLOCK_UNPLUG_FIELDS);
LULL_KERNEL_EVENT(block, block_split, TP_PROTO(struct bio *bio, unsigned int new_sector),
		  lull_u32(dev, bio_dev(bio)), lull_u64(sector, bio->bi_iter.bi_sector),
		  lull_u64(new_sector, new_sector), lull_rwbs(rwbs, bio->bi_opf),
		  lull_str16(comm, current->comm));
LULL_KERNEL_EVENT(block, block_bio_remap, TP_PROTO(struct bio *bio, dev_t dev, sector_t from),
		  lull_u32(dev, bio_dev(bio)), lull_u64(sector, bio->bi_iter.bi_sector),
		  lull_u32(nr_sector, bio_sectors(bio)), lull_u32(old_dev, dev),
		  lull_u64(old_sector, from), lull_rwbs(rwbs, bio->bi_opf));
LULL_KERNEL_EVENT(block, block_rq_remap, TP_PROTO(struct request *rq, dev_t dev, sector_t from),
		  lull_u32(dev, device_of(rq)), lull_u64(sector, blk_rq_pos(rq)),
		  lull_u32(nr_sector, blk_rq_sectors(rq)), lull_u32(old_dev, dev),
		  lull_u64(old_sector, from), lull_u32(nr_bios, blk_rq_count_bios(rq)),
		  lull_rwbs(rwbs, rq->cmd_flags));
