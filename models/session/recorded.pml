/* SPDX-License-Identifier: MIT */
/*
 * How far a ring is on disk, as shipped: what a recorder that is killed leaves for `lull recover`.
 * docs/formats/session.md (recorded_index). Rust: tools/consumer Ring::tell_on_disk(), on_disk().
 *
 *	recorder, after each packet	| lull recover, once the recorder is dead
 *	the file has the packet		| index
 *	the pair that is not valid:	| the pair that it names:
 *	  count, then bytes		|   count and bytes
 *	index names that pair		|
 *	  [session.recorded:A]		|   [session.recover:A]
 *
 * A kill comes between two instructions of the recorder, and what was executed before it is in
 * memory when its death is known: so one machine is enough, and the order at stake is that of the
 * instructions, which the compiler chooses. Paper: B 4.5.
 *
 * Proved: what is found is of one packet, the last that is in the file or the one before it. The
 * mutants are the orders that a compiler could choose without the release (RECORDED_EARLY), and
 * one pair for both (RECORDED_IN_PLACE). Bounds: PACKETS packets. 40 states.
 */
#ifndef PACKETS
#define PACKETS 4
#endif

byte count[2], bytes[2];
bit index;
byte in_file; /* packets */
bit dead;

#define MAY_DIE \
	if :: true -> dead = 1; goto killed :: true fi

#ifdef COVER_LAST
#define COVER_FOUND assert(count[index] != in_file)
#else
#define COVER_FOUND skip
#endif

active proctype recorder()
{
	bit to;

	do
	:: in_file == PACKETS -> break
	:: in_file < PACKETS ->
		in_file++;
		MAY_DIE;
#ifdef MUTANT_RECORDED_IN_PLACE
		to = index;
#else
		to = !index;
#endif
#ifdef MUTANT_RECORDED_EARLY
		index = to; /* [session.recorded:A] */
		MAY_DIE;
#endif
		count[to] = in_file;
		MAY_DIE;
		bytes[to] = in_file;
		MAY_DIE;
#ifndef MUTANT_RECORDED_EARLY
		index = to; /* [session.recorded:A] */
		MAY_DIE;
#endif
	od;
	dead = 1;
killed:	skip
}

active proctype recover()
{
	dead; /* [session.recover:A] */
	COVER_FOUND;
	assert(count[index] == bytes[index]);
	assert(count[index] == in_file || count[index] + 1 == in_file)
}
