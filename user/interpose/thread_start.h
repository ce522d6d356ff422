/* SPDX-License-Identifier: MIT */
/* What the interposer of fork has to tell those of threads. */
#ifndef LULL_INTERPOSE_THREAD_START_H
#define LULL_INTERPOSE_THREAD_START_H

/*
 * In a forked child: threads that its parent was creating will never start here.
 * Context: a child that has one thread.
 */
void lull_thread_starts_forget(void);

#endif
