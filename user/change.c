/* SPDX-License-Identifier: MIT */
/*
 * One change at a time (change.h): two words, of which each side writes its own and reads the
 * other's.
 *
 *	a change                            | a thread that loads or unloads
 *	changing: 0 -> generation [begin]   | loading + 1 [load]
 *	loading? then changing = 0, -EBUSY  | wait while changing is this process's generation
 *	walk the list of objects, write     | let the linker unload; walk all objects, write
 *	  masks and sites                   |   the list, masks and sites
 *	changing = 0 [finish]               | loading - 1 [scan]
 *
 * So at most one of the two writes masks, sites and the list, and no object goes while a change
 * reads it. A thread that ends in the midst of an unload, by a destructor that never returns,
 * leaves loading behind: no change is made in that process any more, and nobody waits. In a forked
 * child a change of another thread of the parent's is known by the parent's generation.
 * Model: models/session/change.pml. Paper: none.
 */
#include <errno.h>
#include <time.h>
#include "change.h"
#include "liblull.h"
#include "lull_port.h"
#include "syscall.h"

#define WAIT_NS 100000l
#define WAITS (LULL_CHANGE_WAIT_MS * 1000000u / (uint32_t)WAIT_NS)

AT_START static uint32_t changing; /* the generation of the process that makes a change, or 0 */
AT_START static uint32_t loading; /* threads that load or unload, once for each time they do */
AT_START static uint32_t interrupted; /* a change was, by a fork or a fault */
static __thread uint32_t loading_here; /* of these, by this thread */
static __thread uint32_t changing_here; /* this thread makes the change */

/* Is a change under way in this process? @state: of its fork page; 0 in a child not seen yet. */
static int is_changing(uint32_t state)
{
	/*
	 * [objects.wait:A] acquire. Pairs with [objects.finish:A].
	 * Orders: the load that finds the change ended before this thread's loads of masks, sites
	 * and the list of objects.
	 * Else: a scan reads masks as they were before the change, and writes them back.
	 * Mutant: WAIT_READ_RELAXED.
	 */
	uint32_t found = lull_load32_acquire(&changing);

	return found && found == state;
}

int lull_change_begin(void)
{
	uint32_t found, state;

	if (!lull_load(&lull_fork_page.state))
		lull_thread_refresh();
	state = (uint32_t)lull_load(&lull_fork_page.state);
	found = lull_load32(&changing);
	if (found == state)
		return -EBUSY;
	/*
	 * [objects.begin:A] compare-and-swap, full. Pairs with [objects.load:A].
	 * Orders: the store of changing before the load of loading.
	 * Else: a change and an unload do not see each other, and the change writes to an object
	 * that is gone. Mutant: BEGIN_RELAXED.
	 */
	if (lull_cas32(&changing, found, state) != found)
		return -EBUSY;
	changing_here = 1;
	/*
	 * [objects.move:A] acquire. Pairs with [objects.scan:A].
	 * Orders: the load of loading before those of the list of objects.
	 * Else: this thread sees the end of another thread's scan, and not all of its list: probes
	 * of an object stay in a session that is left. Mutant: MOVE_READ_RELAXED.
	 */
	if (!lull_load32_acquire(&loading))
		return 0;
	lull_change_end();
	return -EBUSY;
}

void lull_change_end(void)
{
	changing_here = 0;
	/*
	 * [objects.finish:A] release. Pairs with [objects.wait:A].
	 * Orders: all that the change wrote before the store by which others see that it ended.
	 * Else: a scan that waited for it reads masks as they were before the change, and writes
	 * them back. Mutant: FINISH_RELAXED.
	 */
	lull_store32_release(&changing, 0);
}

void lull_change_abandon(void)
{
	if (!changing_here)
		return;
	lull_store32(&interrupted, 1);
	lull_change_end();
}

int lull_loading_begin(void)
{
	struct timespec wait = { .tv_nsec = WAIT_NS };

	loading_here++;
	/*
	 * [objects.load:A] add, full. Pairs with [objects.begin:A].
	 * Orders: the addition to loading before the load of changing.
	 * Else: a change and an unload do not see each other, and the change writes to an object
	 * that is gone. Mutant: LOAD_RELAXED.
	 */
	lull_add32(&loading, 1);
	/* Bound: WAITS. */
	for (uint32_t i = 0; is_changing((uint32_t)lull_load(&lull_fork_page.state)); i++) {
		if (i == WAITS || lull_confined)
			return 0;
		lull_syscall(__NR_nanosleep, (long)&wait, 0, 0, 0, 0, 0);
	}
	return 1;
}

void lull_loading_end(void)
{
	loading_here--;
	/*
	 * [objects.scan:A] add, full, of which release is needed. Pairs with [objects.move:A].
	 * Orders: the stores to the list of objects before loading is 0, after which the list is
	 * complete.
	 * Else: a change in another thread sees the end of the scan, and not all of the list:
	 * probes of an object stay in a session that is left. Mutant: SCANNED_RELAXED.
	 */
	lull_add32(&loading, -1u);
}

void lull_change_forked(void)
{
	lull_store32(&loading, loading_here);
	if (lull_load32(&changing))
		lull_store32(&interrupted, 1);
}

int lull_change_is_interrupted(void)
{
	return lull_load32(&interrupted) != 0;
}

void lull_change_mended(void)
{
	lull_store32(&interrupted, 0);
}
