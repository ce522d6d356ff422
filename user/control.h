/* SPDX-License-Identifier: MIT */
/*
 * Sessions that come, change and end while the process runs: what a recorder makes one of its
 * threads call, at any instruction.
 *
 * The thread may be within a probe, the allocator or the dynamic linker, and hold any lock. So
 * these functions take none, wait for nothing, allocate nothing by the C library, leave errno as it
 * is, and need LULL_CONTROL_STACK_BYTES of stack. Only one thread of a process at a time gets
 * through; -EBUSY says that another change, or a load or unload of a library, is under way, and the
 * caller tries again later. Signals should not be delivered to the thread meanwhile: their handlers
 * would run on that stack. -EPERM: the program forbids itself system calls.
 * Flow: the recorder's tools/tracee calls these; interposers call lull_control_notice().
 * Design: docs/design/90-live.md, docs/adr/0016. Paper: T 4.6.1, B 3.4.
 */
#ifndef LIBLULL_CONTROL_H
#define LIBLULL_CONTROL_H

#define LULL_CONTROL_STACK_BYTES 65536

#define LULL_CONTROL __attribute__((visibility("default")))

/**
 * lull_control_join() - take part in a session from now on.
 * @directory: the session's, as in LULL_SESSION.
 *
 * Events that begin after the call are recorded in it, if its rules want them.
 * Context: async-signal-safe, see above. Progress: blocking (system calls).
 * Return: the place among the process's sessions, from 0; also where the process takes part
 * already. -ENOSPC when it takes part in LULL_SESSIONS_MAX sessions, -ENOENT when the session has
 * no memory for the process's user, -EAGAIN when it is not ready, -EINVAL when it is none that this
 * process can be in, -ENAMETOOLONG, -ENOMEM, -E2BIG, -EBUSY, -EPERM.
 */
LULL_CONTROL int lull_control_join(const char *directory);

/**
 * lull_control_leave() - leave a session.
 * @directory: the session's, as it was joined or with another path.
 *
 * Its sites are as before, but for those that other sessions want; its memory is unmapped. A probe
 * that began before writes to private zeros.
 * Return: 0; -ENOENT when the process is not in it, -ENOMEM when its memory had to stay, -E2BIG,
 * -EBUSY, -EPERM.
 */
LULL_CONTROL int lull_control_leave(const char *directory);

/**
 * lull_control_poll() - take over the rules of all sessions, where they have changed, and leave
 * those that have ended.
 *
 * Return: how many probes and sites are different from before; -EAGAIN when a recorder changes
 * rules just now, -EINVAL when they are damaged, -ENOMEM, -E2BIG, -EBUSY, -EPERM.
 */
LULL_CONTROL int lull_control_poll(void);

/**
 * lull_control_abandon() - give up a call of the functions above that ended by a signal.
 *
 * The thread that made the call makes this one next. What the call has changed stays; the process
 * makes the change of all sessions when it next looks at them.
 * Return: 0.
 */
LULL_CONTROL int lull_control_abandon(void);

/*
 * The calling thread loads a library, forks or creates a thread: take over what has changed, if
 * anything has. One load for each session where nothing has.
 */
void lull_control_notice(void);

#endif
