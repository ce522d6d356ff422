/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What core/site asks of its surroundings: a way to write program text, and a way to make every
 * thread see the change. text.c implements it for user space.
 */
#ifndef LULL_TEXT_H
#define LULL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A mapping, as /proc/self/maps tells it. */
struct lull_text_mapping {
	uintptr_t begin;
	uintptr_t until;
	int protection; /* PROT_* */
	int is_shared;
};

/* Part of a mapping, open for writing. All zero: none. */
struct lull_text_pages {
	uintptr_t begin;
	uintptr_t until;
	int by_file; /* 1: not writable in place, written through /proc/self/mem */
	struct lull_text_mapping mapping; /* the last one looked up */
};

/**
 * lull_text_open() - make text writable, and readable.
 * @pages: all zero, or the result of earlier calls; pages open already are kept when they
 *	hold the range, and closed otherwise.
 * @address: of the text.
 * @bytes: its size, at most a page.
 *
 * Context: ordinary or constructor. Progress: blocking.
 * Return: 0; -EFAULT when that is not executable memory of this process; -EACCES when it may
 * not be written: a shared mapping, or a system that forbids it while other threads run.
 */
int lull_text_open(struct lull_text_pages *pages, uintptr_t address, size_t bytes);

/**
 * lull_text_store() - change 2 or 4 bytes of open text in one step.
 * @pages: open, and holding the bytes.
 * @address: where; within an aligned word of 8 bytes.
 * @from: the new bytes.
 * @bytes: 2 or 4.
 *
 * Ordering: another thread, or a signal handler of this one, fetches all the old bytes or all
 * the new ones.
 * Return: 0, or -EACCES.
 */
int lull_text_store(struct lull_text_pages *pages, uintptr_t address, const void *from,
		    size_t bytes);

/**
 * lull_text_close() - give open text the protection that it had.
 * @pages: open or not.
 */
void lull_text_close(struct lull_text_pages *pages);

/**
 * lull_text_sync() - make every thread of the process discard what it decoded of older text.
 *
 * Ordering: a thread that runs after this call executes the text as stored before it.
 * Return: 0, or -ENOSYS where the kernel does not offer it (membarrier, SYNC_CORE).
 */
int lull_text_sync(void);

#endif
