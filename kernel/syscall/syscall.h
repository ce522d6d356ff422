/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that events of system calls need: taken when the module is loaded, before their probes
 * can run, and given back when these cannot run any more.
 */
#ifndef LULL_SYSCALL_SYSCALL_H
#define LULL_SYSCALL_SYSCALL_H

/* Context: may sleep. Return: 0, or -ENOMEM. */
int lull_syscall_init(void);

/* Context: may sleep; after a grace period of RCU since the last probe was unregistered. */
void lull_syscall_exit(void);

#endif
