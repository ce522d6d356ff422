/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sites: turning the no-op of a site into a jump, and back, while threads run through it.
 *
 *	struct lull_patch patch;
 *
 *	lull_patch_begin(&patch);
 *	for each site note (note.h) of the object, by address:
 *		failed += lull_patch_site(&patch, note->code, note->target, 1) != 0;
 *	lull_patch_end(&patch);
 *
 * Set the records of all probes up before the first site is patched. A site whose note has
 * code 0 needs no patching: it tests its record. site/patch.c says how and why.
 * Paper: T 8.3 (static jumps, code modification under load), docs/design/20-site.md.
 */
#ifndef LULL_SITE_SITE_H
#define LULL_SITE_SITE_H

#include <stdint.h>
#include "lull_text.h"

/* A series of changes. The pages of a change stay writable until the next needs other pages. */
struct lull_patch {
	struct lull_text_pages pages;
	uint32_t changed_count;
};

/**
 * lull_patch_begin() - start a series of changes.
 * @patch: on the caller's stack.
 * Context: any; callers of this and the next two exclude each other. Progress: wait-free.
 */
void lull_patch_begin(struct lull_patch *patch);

/**
 * lull_patch_site() - enable or disable one site.
 * @patch: begun.
 * @code: address of the no-op.
 * @target: address where its jump goes.
 * @enable: 1 to jump, 0 to fall through.
 *
 * Other threads, and signal handlers of this one, may run through the site at any moment:
 * they see the old form or the new. A site already in the wanted form is left alone.
 *
 * Context: ordinary or constructor; not async-signal-safe. No allocation, no libc, no errno.
 * Progress: blocking (system calls).
 * Return: 0; -EINVAL when the bytes at code are not a site that jumps to target, and nothing
 * was written; -EFAULT when code is not in executable memory; -EACCES when the text cannot be
 * made writable: the caller counts it, the site stays as it was.
 */
int lull_patch_site(struct lull_patch *patch, uintptr_t code, uintptr_t target, int enable);

/**
 * lull_patch_is_enabled() - which form does a site have?
 * @code: address of the no-op, in text that can be read.
 * @target: address where its jump goes.
 *
 * Context: any, async-signal-safe. Progress: wait-free.
 * Return: 1 when it jumps, 0 when it falls through; -EINVAL when the bytes are no such site.
 */
int lull_patch_is_enabled(uintptr_t code, uintptr_t target);

/**
 * lull_patch_end() - restore the protection of the text and wait for all threads to see it.
 * @patch: begun; another series begins with lull_patch_begin() again.
 *
 * Ordering: when it has returned, no thread still decodes an old form, where the kernel offers
 * membarrier(); without membarrier(), a thread sees the new form when its CPU's caches do.
 * Context: as lull_patch_site(). Progress: blocking.
 */
void lull_patch_end(struct lull_patch *patch);

#endif
