// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block devices: disks and their partitions, in the order of their numbers.
 *
 * The kernel gives modules no list of disks. But each disk and each partition has an inode in the
 * file system of block devices, which is hashed for as long as the device is there: what the inode
 * leads to is freed a grace period after that at the earliest.
 */
#include <linux/blkdev.h>
#include <linux/fs.h>
#include "dump/record.h"

#ifdef CONFIG_BLOCK
struct found {
	dev_t device, disk;
	char name[BDEVNAME_SIZE];
	uint64_t sectors;
	bool is_read_only;
};

static void device_copy(struct block_device *device, struct found *found)
{
	found->device = device->bd_dev;
	found->disk = disk_devt(device->bd_disk);
	snprintf(found->name, sizeof(found->name), "%pg", device);
	found->sectors = bdev_nr_sectors(device);
	found->is_read_only = bdev_read_only(device);
}

/* The device with the least number above @found's. Return: false where there is none. */
static bool device_next(struct found *found)
{
	struct block_device *device, *next = NULL;
	struct inode *inode;

	rcu_read_lock();
	spin_lock(&blockdev_superblock->s_inode_list_lock);
	list_for_each_entry(inode, &blockdev_superblock->s_inodes, i_sb_list) {
		device = I_BDEV(inode);
		if (!inode_unhashed(inode) && device->bd_dev > found->device &&
		    (!next || device->bd_dev < next->bd_dev))
			next = device;
	}
	spin_unlock(&blockdev_superblock->s_inode_list_lock);
	if (next)
		device_copy(next, found);
	rcu_read_unlock();
	return next != NULL;
}

void lull_dump_block_devices(struct dump *dump)
{
	struct found found = { 0 };

	/* Bound: numbers ascend. */
	while (lull_dump_goes_on(dump) && device_next(&found))
		LULL_DUMP_EVENT(&dump->counts[DUMP_BLOCK_DEVICE], "state:block_device",
				lull_u32(device, found.device), lull_u32(disk, found.disk),
				lull_strn(name, found.name, BDEVNAME_SIZE - 1),
				lull_u64(sectors, found.sectors),
				lull_bool(is_read_only, found.is_read_only));
}
#else
void lull_dump_block_devices(struct dump *dump)
{
}
#endif
