/* SPDX-License-Identifier: MIT */
/*
 * A writer counts to three. For the tests of the runner: each mutant brings about one kind of
 * error, each COVER define asks for one state. The label is the ring's, to have one.
 */
byte count;

#ifndef LIMIT
#define LIMIT 3
#endif

active proctype writer()
{
	byte i;

	do
	:: i < LIMIT ->
		count = count + 1; /* [ring.commit:B] */
#ifdef MUTANT_TOO_FAR
		count++;
#endif
		assert(count <= LIMIT);
#ifdef COVER_TWO
		assert(count != 2);
#endif
		i++
	:: else -> break
	od;
#ifdef MUTANT_STUCK
	count == 0;
#endif
#ifdef MUTANT_SPINS
	do
	:: i = 0
	:: i = 1
	od;
#endif
#ifdef MUTANT_HARMLESS
	skip;
#endif
#ifdef MUTANT_OUTSIDE
	byte seen[2];
	seen[i] = 1;
#endif
progress:
	i = 0
}

ltl small { [] (count <= LIMIT) }
ltl not_two { [] (count != 2) }
ltl comes_to_rest { <> (writer@progress) }
