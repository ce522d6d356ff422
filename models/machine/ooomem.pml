/* SPDX-License-Identifier: MIT */
/*
 * OoOmem: out-of-order memory. Each CPU has a cache line for each word, and nothing obliges a
 * line to be exchanged with memory soon, or before another. Paper: T 7.4.1.
 *
 * A store goes to the CPU's line and makes it dirty. A dirty line is written to memory at any
 * time after, or by a write barrier. On ALPHA a clean line is fetched at any time, or by a read
 * barrier, so that even dependent loads are reordered. On POWER a clean line always equals memory:
 * that machine stands for T's Intel, PowerPC and Sparc, and there ooisched.pml reorders independent
 * loads.
 *
 * Stronger than a real machine may be, in three ways:
 * - A write barrier lets all earlier stores land at once, where a real one may only keep later
 *   ones behind them. So a store, a write barrier, a read barrier and a load stay in order here;
 *   not on TSO, and not with BARRIERS_ORDER_ONLY. That one remembers one barrier: behind a
 *   second, or behind a second store to the same word, the stores before the first do land.
 * - A line once in memory is seen by all other CPUs at once. POWER itself does not promise that;
 *   ARMv8, x86 and Alpha do.
 * - A load is not delayed behind a later store: ooisched.pml does that, too.
 */
#if VARS > 8
#define LINE_BITS short
#else
#define LINE_BITS byte
#endif
LINE_BITS dirty[CPUS]; /* a bit for each line */
VALUE cached[CPUS * VARS];

#define LINE(cpu, v) ((cpu) * VARS + (v))
#define IS_DIRTY(cpu, v) ((dirty[cpu] >> (v)) & 1)
#define LANDED(cpu) (dirty[cpu] == 0)

#ifdef MACHINE_ALPHA
#ifdef READS
#define NO_LINE (CPUS * VARS) /* out of bounds, which the verifier reports */
#define LOAD(cpu, v) cached[LINE(cpu, v) + (READS(cpu, v) -> 0 : NO_LINE)]
#define KEEP_(cpu, v, x) cached[LINE(cpu, v)] = (READS(cpu, v) -> (x) : 0)
#define CLEAN_(cpu, v) KEEP_(cpu, v, cached[LINE(cpu, v)])
#define STALE_(cpu, v) (READS(cpu, v) && !IS_DIRTY(cpu, v) && cached[LINE(cpu, v)] != mem[v])
#else
#define LOAD(cpu, v) cached[LINE(cpu, v)]
#define KEEP_(cpu, v, x) cached[LINE(cpu, v)] = (x)
#define CLEAN_(cpu, v) skip
#define STALE_(cpu, v) (!IS_DIRTY(cpu, v) && cached[LINE(cpu, v)] != mem[v])
#endif
#define fetch_(cpu, v) cached[LINE(cpu, v)] = mem[v]
inline fetch_all_(cpu)
{
	for (each_ : 0 .. VARS - 1) {
		if
		:: STALE_(cpu, each_) -> fetch_(cpu, each_)
		:: else
		fi
	};
	each_ = 0 /* a step may not end in a loop's end */
}
#else
#define LOAD(cpu, v) (IS_DIRTY(cpu, v) -> cached[LINE(cpu, v)] : mem[v])
#define KEEP_(cpu, v, x) cached[LINE(cpu, v)] = 0
#define CLEAN_(cpu, v) cached[LINE(cpu, v)] = 0 /* so that equal states look equal */
#define fetch_all_(cpu) skip
#endif

#ifdef BARRIERS_ORDER_ONLY
LINE_BITS land_first[CPUS]; /* of the dirty lines, those that the others must land behind */
#define IS_FIRST(cpu, v) ((land_first[cpu] >> (v)) & 1)
#define MAY_LAND(cpu, v) (IS_DIRTY(cpu, v) && (land_first[cpu] == 0 || IS_FIRST(cpu, v)))
#define FORGET_FIRST_(cpu, v) land_first[cpu] = land_first[cpu] & ~(1 << (v))
#else
#define MAY_LAND(cpu, v) IS_DIRTY(cpu, v)
#define FORGET_FIRST_(cpu, v) skip
#endif

inline write_back_(cpu, v)
{
	mem[v] = cached[LINE(cpu, v)];
	dirty[cpu] = dirty[cpu] & ~(1 << (v));
	FORGET_FIRST_(cpu, v);
	CLEAN_(cpu, v)
}

inline land_all_(cpu)
{
	for (each_ : 0 .. VARS - 1) {
		if
		:: IS_DIRTY(cpu, each_) -> write_back_(cpu, each_)
		:: else
		fi
	};
	each_ = 0
}

#ifdef BARRIERS_ORDER_ONLY
inline order_stores_(cpu)
{
	for (each_ : 0 .. VARS - 1) {
		if
		:: IS_FIRST(cpu, each_) -> write_back_(cpu, each_)
		:: else
		fi
	};
	each_ = 0;
	land_first[cpu] = dirty[cpu]
}
#else
#define order_stores_(cpu) land_all_(cpu)
#endif

inline barrier_(cpu)
{
	land_all_(cpu);
	fetch_all_(cpu)
}

inline write_line_(cpu, v, x)
{
#ifdef BARRIERS_ORDER_ONLY
	if
	:: IS_FIRST(cpu, v) -> write_back_(cpu, v)
	:: else
	fi;
#endif
	cached[LINE(cpu, v)] = (x);
	dirty[cpu] = dirty[cpu] | (1 << (v))
}

/* Past the line, straight to memory: atomic operations, which own the line meanwhile. */
inline write_through_(cpu, v, x)
{
	mem[v] = (x);
	KEEP_(cpu, v, mem[v])
}

#ifdef BARRIERS_ORDER_ONLY
#define STORE(cpu, v, x) d_step { add_ = (x); write_line_(cpu, v, add_) }
#else
#define STORE(cpu, v, x) d_step { write_line_(cpu, v, x) }
#endif
#define STORE_RELEASE(cpu, v, x) \
	d_step { add_ = (x); order_stores_(cpu); write_line_(cpu, v, add_) }
/* The store, then a full barrier: what a handler may come between is the model's to say. */
#define STORE_FULL(cpu, v, x) d_step { add_ = (x); write_line_(cpu, v, add_); barrier_(cpu) }
#define ADD_LOCAL(cpu, v, x, result) \
	d_step { result = LOAD(cpu, v) + (x); order_stores_(cpu); write_line_(cpu, v, result) }
