/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Changing sites under running threads. Paper: T 8.3, O 4.1; docs/design/20-site.md.
 *
 *	            lull_patch_site(.., 1)
 *	  no-op  ------------------------>  jump
 *	         <------------------------
 *	            lull_patch_site(.., 0)
 *
 * One store changes a site: 2 bytes of an aligned word of 8 on x86-64, 4 on aarch64. A thread
 * that fetches the site meanwhile gets one form or the other, and both are right: the probe
 * loads its record's mask before anything else. There is no state between the two forms, so no
 * thread has to bypass one, no signal handler is needed, and no thread waits.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[site.store:A]	nothing: the one store that changes a site	[site.sync:A]
 *	[site.sync:A]	the new bytes before the return		[site.store:A]
 *	[site.enable:A]	interface and identifier before the mask	[site.probe:A]
 *	[site.probe:A]	the mask before interface and identifier	[site.enable:A]
 *
 * Invariants:
 *  I1 The bytes of a site, except the first LULL_CHANGE_BYTES, never change. A thread
 *     that is inside the site (x86-64: between the short jump and the long one) goes on
 *     to the target, whatever happens to the first bytes.
 *  I2 Nothing is written where the bytes are not a site with this target.
 *  I3 Text that is executable stays so at every moment.
 *
 * Rejected: the temporary breakpoint of the paper. In user space a breakpoint is a signal, and
 * the kernel kills a thread that meets one while it blocks SIGTRAP, as threads do that block
 * all signals; the handler would also be taken from the program for that time.
 */
#include <errno.h>
#include "site.h"
#if defined(__x86_64__)
#include "code_x86_64.h"
#elif defined(__aarch64__)
#include "code_aarch64.h"
#else
#error "core/site/patch.c: this architecture's sites test their records; leave this file out"
#endif

void lull_patch_begin(struct lull_patch *patch)
{
	__builtin_memset(patch, 0, sizeof(*patch));
}

int lull_patch_site(struct lull_patch *patch, uintptr_t code, uintptr_t target, int enable)
{
	unsigned char bytes[LULL_CHANGE_BYTES];
	int result, form;

	result = lull_text_open(&patch->pages, code, LULL_CODE_BYTES);
	if (result)
		return result;
	form = lull_code_read(code, target);
	if (form < 0)
		return -EINVAL;
	if (form == !!enable)
		return 0;
	if (lull_code_write(bytes, !!enable, code, target))
		return -EINVAL;
	/*
	 * [site.store:A] one store of an aligned word. Pairs with [site.sync:A].
	 * Orders: nothing. A CPU that fetches the site meanwhile gets one form or the other.
	 */
	result = lull_text_store(&patch->pages, code, bytes, LULL_CHANGE_BYTES);
	if (!result)
		patch->changed_count++;
	return result;
}

int lull_patch_is_enabled(uintptr_t code, uintptr_t target)
{
	int form = lull_code_read(code, target);

	return form < 0 ? -EINVAL : form;
}

void lull_patch_end(struct lull_patch *patch)
{
	lull_text_close(&patch->pages);
	/*
	 * [site.sync:A] core synchronization of every thread. Pairs with [site.store:A].
	 * Orders: the store of the new bytes before every instruction that any thread executes
	 * after lull_patch_end() has returned.
	 * Else: a thread on another CPU still runs the old form after the return, so that it misses
	 * events of a site that is enabled. Mutant: NO_SYNC.
	 */
	if (patch->changed_count)
		lull_text_sync();
}
