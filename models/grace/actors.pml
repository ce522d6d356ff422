/* SPDX-License-Identifier: MIT */
/*
 * What readers and updaters do with a pointer and the elements that it has named, as in T 7.6:
 * an element is written, published, replaced, and after a grace period reclaimed. Elements are
 * numbered in the order in which they are published, and reclaimed once. Included after grace.pml;
 * readers have the locals word, slot and left_sections, updaters old.
 *
 * Proved, by assertions:
 *	no section finds or still reads an element that is reclaimed (equation 7.1)
 *	ARENA: no section reads an element before it was written, or after it was poisoned
 *	MARKS: what a section stored has reached memory when the element is reclaimed
 *
 * Mutants that an assertion catches: ASSIGN_RELAXED (the pointer is published without release),
 * DEREFERENCE_RELAXED (the pointer is loaded without acquire), ENTER_NO_LIGHT (a section loads the
 * pointer before it stores its word).
 */
#define POISON 0
#define LIVE 1

byte reclaimed; /* a bit for each element */
bit marked; /* a section has stored into element 0 */

inline hold(cpu)
{
	atomic {
#ifdef MUTANT_DEREFERENCE_RELAXED
		slot = LOAD(cpu, PTR);
#else
		LOAD_ACQUIRE(cpu, PTR, slot);
#endif
		assert(!((reclaimed >> slot) & 1))
	}
}

inline look_at_data(cpu)
{
	atomic {
		assert(!((reclaimed >> slot) & 1));
#ifdef COVER_OLD_SECTION
		assert(!(slot == 0 && mem[PTR] == 1 && (mem[SEQ] & 1)));
#endif
#ifdef COVER_NEW_ELEMENT
		assert(!(slot == 1 && (reclaimed & 1)));
#endif
#ifdef ARENA
		assert(LOAD(cpu, DATA(slot)) == LIVE);
#endif
#ifndef MARKS
		slot = 0
	}
#else
		skip
	};
	atomic {
		if
		:: slot == 0 -> STORE(cpu, MARK, 1); marked = 1
		:: else -> slot = 0
		fi
	}
#endif
}

#if defined(FLAVOUR_QSBR)
#define enter(cpu, r) skip
#define leave(cpu, r) skip
#elif defined(FLAVOUR_FULL)
#define enter(cpu, r) enter_full(cpu, r)
#define leave(cpu, r) leave_full(cpu, r)
#elif defined(VISITS)
#define enter(cpu, r) enter_visiting(cpu, r)
#define leave(cpu, r) leave_light(cpu, r)
#else
#define enter(cpu, r) enter_light(cpu, r)
#define leave(cpu, r) leave_light(cpu, r)
#endif

inline section(cpu, r)
{
	enter(cpu, r);
#ifndef MUTANT_ENTER_NO_LIGHT
	hold(cpu);
#endif
#ifdef NESTED
	if
	:: left_sections == SECTIONS -> enter(cpu, r); leave(cpu, r)
	:: else
	fi;
#endif
	look_at_data(cpu);
	leave(cpu, r)
}

inline replace(cpu)
{
#ifdef ARENA
	STORE(cpu, DATA(old + 1), LIVE);
#endif
#ifdef MUTANT_ASSIGN_RELAXED
	STORE(cpu, PTR, old + 1)
#else
	STORE_RELEASE(cpu, PTR, old + 1)
#endif
}

inline reclaim(cpu)
{
#ifdef MARKS
	assert(!(old == 0 && marked) || LOAD(cpu, MARK) == 1);
#endif
	atomic {
#ifdef ARENA
		STORE(cpu, DATA(old), POISON);
#endif
		reclaimed = reclaimed | (1 << old)
	}
}
