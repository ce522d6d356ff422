/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flags of a mapping: from Linux 6.3 on they are changed by functions.
 */
#ifndef LULL_KERNEL_COMPAT_VM_FLAGS_H
#define LULL_KERNEL_COMPAT_VM_FLAGS_H

#include <linux/mm.h>
#include <linux/version.h>

static inline void lull_vm_flags_change(struct vm_area_struct *area, unsigned long set,
					unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(area, set, clear);
#else
	area->vm_flags = (area->vm_flags | set) & ~clear;
#endif
}

#endif
