/* SPDX-License-Identifier: MIT */
/*
 * What monitor.pml and an algorithm share: the requests' and the CPUs' own words, prompts, and
 * what is checked of a callback. Paper: Q 3.3.1.
 *
 * saw, stored and is_done belong to the check; the C source has no such words.
 */
byte submitted[PLACES]; /* bits: requests */
byte waiting[PLACES]; /* bits: requests */
byte since[REQUESTS];
bit prompted[PLACES];
bit waits[PLACES];
byte looks[PLACES];
byte saw[2]; /* bits: requests whose pointer it has read, and may still use */
byte stored; /* to the object */
byte is_done; /* bits: requests */
byte pid_;

#define PROMPT(cpu, c) d_step { barrier_(cpu); prompted[c] = 1 }
#define QDO_WAIT(c, r) waiting[c] = waiting[c] | (1 << (r))
#define WAITING_ALL(c, list) list = waiting[c]; waiting[c] = 0

/* Whether an operation on a CPU of the set may still use what the request took away. */
#define IS_BESIDE(i, r) ((SET(r) >> OPERATION_AT(i) & 1) && (saw[i] >> (r) & 1))

/* Handed out: from here on the callback may run. */
inline qdo_done(cpu, r)
{
	atomic {
		/* once */
		assert(!(is_done >> (r) & 1));
#if OPERATIONS > 0
		/* never early */
		assert(!IS_BESIDE(0, r));
#if OPERATIONS > 1
		assert(!IS_BESIDE(1, r));
#endif
		/* what the operation wrote is seen, if the request waited for its CPU */
		assert((r) != 0 || !(SET(0) >> OPERATION_AT(0) & 1) ||
		       LOAD(cpu, OBJECT) == stored);
#endif
#ifdef COVER_DONE_BESIDE_LATER
		assert(running_count == 0);
#endif
		is_done = is_done | (1 << (r));
		completed++
	}
}
