/* SPDX-License-Identifier: MIT */
/*
 * What the order models share: how a word names its lap, and accesses with an order removed.
 * Paper: B 4.1, 4.4. Included after machine.pml by order.pml, order_plain.pml, order_peek.pml,
 * order_take.pml and order_commit.pml.
 *
 * A lap is one round of the buffer; laps count from 0, and no count overflows here (ring.pml
 * models overflow). The value of a word tells which lap wrote it; zero means that none did.
 *	REFERENCE	state of core/ring/ring_words.h, times 2, plus the physical sub-buffer
 *	a slot's first word	a hole when reserved, an event when committed
 *	a payload word	the lap, plus 1
 */
#define FREE(lap) (2 * (lap) + 2) /* given back to the reader, or never used: FREE(-1) is 0 */
#define WRITING(lap) (2 * (lap) + 3)
#define BEFORE(lap) (2 * (lap)) /* FREE(lap - 1) */

#define TAG(reference) ((reference) >> 1)
#define PHYSICAL(reference) ((reference) & 1)
#define REFER(tag, physical) (((tag) << 1) | (physical))

#define HOLE(lap) (2 * (lap) + 2)
#define EVENT(lap) (2 * (lap) + 3)
#define PAYLOAD(lap) ((lap) + 1)

/* An acquire removed: the load alone. */
#define LOAD_RELAXED(cpu, v, result) result = LOAD(cpu, v)

/*
 * Atomic operations that order nothing but accesses to their own word. An x86 processor has
 * none: there they stay as they are, and a mutant made of them cannot be told.
 */
#if defined(MACHINE_POWER) || defined(MACHINE_ALPHA)
#define OWN_LINE_(cpu, v)                               \
	if                                              \
	:: IS_DIRTY(cpu, v) -> write_back_(cpu, v)      \
	:: else                                         \
	fi
#define ADD_RELAXED(cpu, v, x, result)                  \
	d_step { OWN_LINE_(cpu, v);                     \
		result = mem[v] + (x); write_through_(cpu, v, result) }
#define CAS_RELAXED(cpu, v, expect, desired, found)                             \
	d_step { expect_ = (expect); add_ = (desired);                          \
		OWN_LINE_(cpu, v); found = mem[v];                              \
		if                                                              \
		:: mem[v] == expect_ -> write_through_(cpu, v, add_)            \
		:: else -> write_through_(cpu, v, mem[v])                       \
		fi }
#else
#define ADD_RELAXED(cpu, v, x, result) ADD(cpu, v, x, result)
#define CAS_RELAXED(cpu, v, expect, desired, found) CAS(cpu, v, expect, desired, found)
#endif
