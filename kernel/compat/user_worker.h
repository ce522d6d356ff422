/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads of the kernel's that have a program's memory and run nothing of the program: since 6.4
 * those of vhost are among them, too.
 */
#ifndef LULL_COMPAT_USER_WORKER_H
#define LULL_COMPAT_USER_WORKER_H

#include <linux/sched.h>

#ifdef PF_USER_WORKER
#define LULL_PF_WORKER (PF_IO_WORKER | PF_USER_WORKER)
#else
#define LULL_PF_WORKER PF_IO_WORKER
#endif

#endif
