// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading and unloading lull.ko. docs/design/60-kernel.md says what is where.
 *
 * While anyone has the device open, the module stays: so there is no session when it goes.
 */
#include <linux/module.h>
#include "catalogue.h"
#include "compat/kernel_version.h"
#include "device.h"
#include "reserved.h"
#include "session.h"
#include "source/source.h"
#include "syscall/syscall.h"

static int __init lull_init(void)
{
	int error = lull_syscall_init();

	if (error)
		return error;
	error = lull_catalogue_init();
	if (error)
		goto failed_catalogue;
	error = lull_sessions_init();
	if (error)
		goto failed_sessions;
	error = lull_reserved_init();
	if (error)
		goto failed_reserved;
	error = lull_tracepoints_init();
	if (error)
		goto failed_tracepoints;
	error = lull_device_register();
	if (!error)
		return 0;
	lull_tracepoints_exit();
failed_tracepoints:
	lull_reserved_exit();
failed_reserved:
	lull_sessions_exit();
failed_sessions:
	lull_catalogue_exit();
failed_catalogue:
	lull_syscall_exit();
	return error;
}

static void __exit lull_exit(void)
{
	lull_device_unregister();
	lull_tracepoints_exit();
	lull_reserved_exit();
	lull_sessions_exit();
	lull_catalogue_exit();
	lull_syscall_exit();
}

module_init(lull_init);
module_exit(lull_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Lull: events of the kernel, in the rings that programs write to");
