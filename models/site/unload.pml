/* SPDX-License-Identifier: MIT */
/*
 * Objects with sites come and go, as shipped: liblull keeps nothing of an object but the address of
 * its headers, which it compares. Papers: O 4.1, T 8.1; docs/design/20-site.md (shared objects).
 * C: user/objects.c object_scan(), lull_objects_scan(); user/process.c lull_object_loaded().
 *
 *	a thread                     | another thread
 *	dlopen an object at AT       | dlopen another object:
 *	  its constructor: scan all  |   its constructor: scan all
 *	run through its site         | dlclose it
 *	dlclose it, AT is free again |
 *
 * A scan runs within the dynamic linker's lock. If the count of unloads has changed, the scan
 * forgets the list of objects seen. Then for each object that is not in the list, it adds the
 * object, sets its record, and patches its site.
 *
 * Proved, by assertions: nothing is written to an object that is gone or not yet there; an object
 * that dlopen returned is enabled, also if another one was at its address before. No thread waits
 * for anything but the linker's lock. No grace period is needed: code, record and probe of a site
 * belong to one object, so a thread that runs in them keeps the object, and the session's memory is
 * never unmapped (probes.pml is the other design).
 *
 * Mutants that an assertion catches: SEEN_KEPT (the list outlives an unload), SCAN_UNLOCKED (the
 * scan runs outside the linker's lock), COUNTED_AGAIN (a site is counted at each scan). This model
 * found the last one in the source; the COUNTS runs check that site_count has each site once,
 * because an object's own record tells that it was set up.
 *
 * Bounds: two objects, any number of rounds; a list of SEEN_MAX addresses: an object that finds no
 * room in it is scanned again. Not modelled: dlclose under a thread that still runs in the object,
 * which is an error of the program; the text store (patch.pml).
 */
#ifndef SEEN_MAX
#define SEEN_MAX 2
#endif

bit lock; /* the dynamic linker's */
bit mapped[2]; /* object i is in memory, at address i */
bit patched[2]; /* its site jumps, its record is set */
byte counted[2]; /* times that its site was counted since it was loaded */
bit unloads; /* objects were unloaded since the last scan: dlpi_subs is not seen.unloads */
bit seen[2]; /* address i is in the list */
byte seen_count;

#ifdef COVER_LOOKED_TWICE
#define COVER_PATCHED(i) assert(!patched[i])
#else
#define COVER_PATCHED(i) skip
#endif

inline object_scan(i)
{
	if
	:: seen[i]
	:: else ->
		if
		:: seen_count < SEEN_MAX -> d_step { seen[i] = 1; seen_count++ }
		:: else
		fi;
		/* Its notes are read, its record set, its site changed. */
		assert(mapped[i]);
		COVER_PATCHED(i);
		d_step {
#ifndef MUTANT_COUNTED_AGAIN
			if
			:: !patched[i] -> counted[i]++ /* its record is its own, and new */
			:: else
			fi;
#else
			counted[i] = (counted[i] < 2 -> counted[i] + 1 : 2);
#endif
			patched[i] = mapped[i]
		}
	fi
}

inline scan()
{
	if
	:: unloads ->
#ifdef MUTANT_SEEN_KEPT
		unloads = 0
#else
		d_step { unloads = 0; seen[0] = 0; seen[1] = 0; seen_count = 0 }
#endif
	:: else
	fi;
	if
	:: mapped[0] -> object_scan(0)
	:: else
	fi;
	if
	:: mapped[1] -> object_scan(1)
	:: else
	fi
}

#ifdef MUTANT_SCAN_UNLOCKED
#define UNLOCK skip
#else
#define UNLOCK lock = 0
#endif

active [2] proctype thread()
{
end:	do
	:: d_step { !lock -> lock = 1 };
		mapped[_pid] = 1;
#ifdef MUTANT_SCAN_UNLOCKED
		lock = 0;
#endif
		scan();
		UNLOCK;
		/* dlopen has returned. */
		assert(patched[_pid]); /* what the object does is recorded */
#ifdef COUNTS
		assert(counted[_pid] == 1); /* the verdict names as many sites as there are */
#endif
		d_step { !lock -> lock = 1 };
		d_step { mapped[_pid] = 0; patched[_pid] = 0; counted[_pid] = 0; unloads = 1 };
		lock = 0
	od
}
