/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes in programs: from Linux 6.12 on the kernel gives a handle of the probe, to leave it by.
 */
#ifndef LULL_KERNEL_COMPAT_UPROBES_H
#define LULL_KERNEL_COMPAT_UPROBES_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/uprobes.h>
#include <linux/version.h>

static inline int lull_uprobe_register(struct inode *inode, loff_t offset,
				       struct uprobe_consumer *consumer, struct uprobe **uprobe)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	*uprobe = uprobe_register(inode, offset, 0, consumer);
	return PTR_ERR_OR_ZERO(*uprobe);
#else
	*uprobe = NULL;
	return uprobe_register(inode, offset, consumer);
#endif
}

static inline void lull_uprobe_unregister(struct inode *inode, loff_t offset,
					  struct uprobe_consumer *consumer, struct uprobe *uprobe)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	uprobe_unregister_nosync(uprobe, consumer);
	uprobe_unregister_sync();
#else
	uprobe_unregister(inode, offset, consumer);
#endif
}

#endif
