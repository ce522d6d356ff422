/* SPDX-License-Identifier: MIT */
/*
 * One change at a time: what keeps a change of what probes do apart from loading and unloading.
 *
 * A *change* is made by a thread that was interrupted for it (control.h), or by one that becomes
 * another user. It may hold any lock of the C library's, so it waits for nothing: where another
 * change, a scan of objects or an unload is under way, it is not made, and its caller comes again.
 * Threads that load or unload objects wait for a change, which ends by itself, or is abandoned.
 * Flow: control.c, credentials.c and objects.c call change.c.
 */
#ifndef LIBLULL_CHANGE_H
#define LIBLULL_CHANGE_H

#include <stdint.h>

/*
 * Begin a change. Context: async-signal-safe, no system call. Progress: wait-free.
 * Return: 0, or -EBUSY.
 */
int lull_change_begin(void);

void lull_change_end(void);

/* The calling thread was in the midst of a change, perhaps, and is not any more: it faulted. */
void lull_change_abandon(void);

/*
 * The calling thread is about to look at all objects, or to unload one, and may be so several times
 * at once. Waits for a change that another thread makes, LULL_CHANGE_WAIT_MS at most.
 * Return: 1; 0 when the change did not end in that time: nothing may be written to probes then.
 */
int lull_loading_begin(void);

void lull_loading_end(void);

/* This process was forked just now: its other threads are not here. */
void lull_change_forked(void);

/*
 * Was this process forked in the midst of a change of another thread's, or was a change abandoned?
 * Then it has half of it, until it has made a change of all sessions, and says so.
 */
int lull_change_is_interrupted(void);
void lull_change_mended(void);

#define LULL_CHANGE_WAIT_MS 2000u

#endif
