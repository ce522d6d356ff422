/* SPDX-License-Identifier: MIT */
/*
 * Total store order: x86's memory, as a FIFO of stores on their way from each CPU. A CPU's loads
 * see its own stores; an atomic operation or a full barrier waits until they have landed.
 *
 * A store waits while the FIFO is full, so a model covers all x86 processors only if TSO_DEPTH is
 * not less than its stores between two full barriers.
 */
byte tso_count[CPUS];
byte tso_var[CPUS * TSO_DEPTH];
VALUE tso_value[CPUS * TSO_DEPTH];

#define TSO_AT(cpu, i) ((cpu) * TSO_DEPTH + (i))
#define TSO_HAS(cpu, i, v) (tso_count[cpu] > (i) && tso_var[TSO_AT(cpu, i)] == (v))

#define TSO_LOAD_1(cpu, v) (TSO_HAS(cpu, 0, v) -> tso_value[TSO_AT(cpu, 0)] : mem[v])
#define TSO_LOAD_2(cpu, v) \
	(TSO_HAS(cpu, 1, v) -> tso_value[TSO_AT(cpu, 1)] : TSO_LOAD_1(cpu, v))
#define TSO_LOAD_3(cpu, v) \
	(TSO_HAS(cpu, 2, v) -> tso_value[TSO_AT(cpu, 2)] : TSO_LOAD_2(cpu, v))
#define TSO_LOAD_4(cpu, v) \
	(TSO_HAS(cpu, 3, v) -> tso_value[TSO_AT(cpu, 3)] : TSO_LOAD_3(cpu, v))

#if TSO_DEPTH == 1
#define LOAD(cpu, v) TSO_LOAD_1(cpu, v)
#elif TSO_DEPTH == 2
#define LOAD(cpu, v) TSO_LOAD_2(cpu, v)
#elif TSO_DEPTH == 3
#define LOAD(cpu, v) TSO_LOAD_3(cpu, v)
#elif TSO_DEPTH == 4
#define LOAD(cpu, v) TSO_LOAD_4(cpu, v)
#else
#error "TSO_DEPTH is 1 to 4"
#endif

/* The oldest store lands. Slots that are free hold 0, so that equal states look equal. */
inline tso_land_(cpu)
{
	mem[tso_var[TSO_AT(cpu, 0)]] = tso_value[TSO_AT(cpu, 0)];
	for (each_ : 1 .. TSO_DEPTH) {
		if
		:: each_ < tso_count[cpu] ->
			tso_var[TSO_AT(cpu, each_ - 1)] = tso_var[TSO_AT(cpu, each_)];
			tso_value[TSO_AT(cpu, each_ - 1)] = tso_value[TSO_AT(cpu, each_)]
		:: each_ == tso_count[cpu] ->
			tso_var[TSO_AT(cpu, each_ - 1)] = 0;
			tso_value[TSO_AT(cpu, each_ - 1)] = 0
		:: else
		fi
	}
	tso_count[cpu]--
}

inline barrier_(cpu)
{
	do
	:: tso_count[cpu] > 0 -> tso_land_(cpu)
	:: else -> break
	od;
	each_ = 0 /* a step may not end in a loop's end */
}

#define STORE(cpu, v, x) \
	d_step { tso_count[cpu] < TSO_DEPTH -> \
		tso_value[TSO_AT(cpu, tso_count[cpu])] = (x); \
		tso_var[TSO_AT(cpu, tso_count[cpu])] = (v); tso_count[cpu]++ }
#define STORE_RELEASE(cpu, v, x) STORE(cpu, v, x)
#define ADD_LOCAL(cpu, v, x, result) \
	d_step { tso_count[cpu] < TSO_DEPTH -> \
		result = LOAD(cpu, v) + (x); \
		tso_value[TSO_AT(cpu, tso_count[cpu])] = result; \
		tso_var[TSO_AT(cpu, tso_count[cpu])] = (v); tso_count[cpu]++ }
#define LANDED(cpu) (tso_count[cpu] == 0)
/* One locked instruction: xchg. */
#define STORE_FULL(cpu, v, x) d_step { add_ = (x); barrier_(cpu); mem[v] = add_ }

#define fetch_all_(cpu) skip
#define order_stores_(cpu) skip
/* An atomic operation has no weaker form: it is locked, and what precedes it has landed. */
#define land_all_(cpu) barrier_(cpu)
#define write_through_(cpu, v, x) mem[v] = (x)
