/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct mnt_namespace is the kernel's own (fs/mount.h): what all namespaces have in common is its
 * first member in 6.1, where tests/boot compares the number with that in /proc.
 */
#ifndef LULL_COMPAT_MOUNT_NAMESPACE_H
#define LULL_COMPAT_MOUNT_NAMESPACE_H

#include <linux/ns_common.h>

struct mnt_namespace;

static inline const struct ns_common *lull_mount_namespace(const struct mnt_namespace *namespace)
{
	return (const struct ns_common *)namespace;
}

#endif
