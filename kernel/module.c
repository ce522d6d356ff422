// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading and unloading lull.ko.
 */
#include <linux/module.h>

static int __init lull_init(void)
{
	return 0;
}

static void __exit lull_exit(void)
{
}

module_init(lull_init);
module_exit(lull_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Lull: events of the kernel, in the rings that programs write to");
