/* SPDX-License-Identifier: MIT */
/*
 * What loads, stores and barriers do: the same names on four machines, of which -DMACHINE_...
 * chooses one. Paper: T 7.4; tso.pml and sc.pml are ours. models/litmus tests all of them.
 *
 *	machine	file	stores become visible		loads return
 *	SC	sc.pml	at once				what is in memory
 *	TSO	tso.pml	in order, some time later	memory, or an own store on its way
 *	POWER	ooomem.pml	one by one, in any order	memory, or an own store on its way
 *	ALPHA	ooomem.pml	one by one, in any order	what this CPU's cache last fetched
 *
 * Instructions are executed in program order on all of them. ooisched.pml, which is combined with
 * POWER or ALPHA, lets a processor or a compiler reorder them.
 *
 * A model defines before it includes this:
 *	CPUS	how many CPUs there are, at most 4
 *	VARS	how many shared words, at most 16; they are numbered from 0 and begin at 0
 *	VALUE	their type; byte, unless defined
 *	TSO_DEPTH	stores that can be on their way from one CPU, at most 4; 3, unless defined
 *	READS(cpu, v)	false for a word that this CPU never loads: fewer states on ALPHA. The
 *			search ends with an error if the CPU loads the word all the same
 *	HEAVY_FROM(cpu)	0 for a CPU that never calls HEAVY_BEGIN, 1 otherwise: fewer processes with
 *			MEMORY_FAIR. A deadlock is found if the CPU calls it all the same
 *	HEAVY_WHEN(cpu)	when a heavy barrier can arrive at a CPU; always, unless defined. With
 *			ooisched.pml: when execution appears to be in program order
 * and, for machines that T does not have:
 *	BARRIERS_ORDER_ONLY	POWER, ALPHA: a write barrier puts later stores behind earlier
 *			ones and lets none land, which is weaker than T's and what hardware does
 *	MEMORY_LAZY	no store need ever land and no line be fetched, as in T 7.6: for progress
 *			claims.
 *			Memory can idle for ever: no deadlock is found, and a process that has done
 *			its work must stay at a progress label
 *	MEMORY_FAIR	a process for what each CPU has on its way, and one for each CPU's heavy
 *			barrier, so that with weak fairness none waits for ever for the others.
 *			Beyond 6 processes pan is to be built with -DNFAIR=3
 *
 * A handler has the cpu number of the thread that it interrupts, for it runs there.
 * Each name below is one step. LOAD is an expression: its step is the assignment it stands in.
 *	LOAD(cpu, v)	STORE(cpu, v, x)
 *	LOAD_ACQUIRE(cpu, v, result)	STORE_RELEASE(cpu, v, x)	STORE_FULL(cpu, v, x)
 *	SMP_RMB(cpu)	SMP_WMB(cpu)	SMP_MB(cpu)
 *	CAS(cpu, v, expect, desired, found)
 *	EXCHANGE(cpu, v, x, found)	ADD(cpu, v, x, result)
 *					full order, as lull_cas() and lull_mem_add()
 *	ADD_RELEASE(cpu, v, x, result)	earlier stores before it, no more, as lull_add() promises
 *	ADD_LOCAL(cpu, v, x, result)	the same, and in one step for its own CPU only, as the
 *					kernel's local_add_return(): no other CPU may write the word
 *	HEAVY_BEGIN(cpu), then HEAVY_END(cpu)	a barrier on every CPU, in any order, some time
 *					between the two, as sys_membarrier() has it
 *	LANDED(cpu)	whether every store of this CPU is in memory; not a step, for claims
 * A light barrier has no statement here: it restrains the compiler only, and these machines
 * execute in order.
 */
#ifndef VALUE
#define VALUE byte
#endif
#ifndef TSO_DEPTH
#define TSO_DEPTH 3
#endif
#ifndef HEAVY_FROM
#define HEAVY_FROM(cpu) 1
#endif
#ifndef HEAVY_WHEN
#define HEAVY_WHEN(cpu) true
#endif
#ifdef MEMORY_LAZY
#define MEMORY_FAIR /* or the idle steps could keep a heavy barrier from arriving */
#endif

VALUE mem[VARS];
byte heavy_wanted[CPUS]; /* of the call by this CPU: a bit for each CPU not yet visited */
hidden byte each_;
hidden VALUE add_;
hidden VALUE expect_;

#define EVERY_CPU ((1 << CPUS) - 1)

#if defined(MACHINE_SC)
#include "sc.pml"
#elif defined(MACHINE_TSO)
#include "tso.pml"
#elif defined(MACHINE_POWER) || defined(MACHINE_ALPHA)
#include "ooomem.pml"
#else
#error "define one of MACHINE_SC, MACHINE_TSO, MACHINE_POWER, MACHINE_ALPHA"
#endif

#define SMP_RMB(cpu) d_step { fetch_all_(cpu) }
#define SMP_WMB(cpu) d_step { order_stores_(cpu) }
#define SMP_MB(cpu) d_step { barrier_(cpu) }
#define LOAD_ACQUIRE(cpu, v, result) d_step { result = LOAD(cpu, v); fetch_all_(cpu) }
/* What is passed is read first: found and result may be variables that it mentions. */
#define CAS(cpu, v, expect, desired, found)                                     \
	d_step { expect_ = (expect); add_ = (desired);                          \
		barrier_(cpu); found = mem[v];                                  \
		if :: mem[v] == expect_ -> write_through_(cpu, v, add_) :: else fi }
#define EXCHANGE(cpu, v, x, found) \
	d_step { add_ = (x); barrier_(cpu); found = mem[v]; write_through_(cpu, v, add_) }
#define ADD(cpu, v, x, result) \
	d_step { barrier_(cpu); result = mem[v] + (x); write_through_(cpu, v, result) }
/* The old value is read from memory: an atomic operation owns its line. */
#define ADD_RELEASE(cpu, v, x, result)                  \
	d_step { land_all_(cpu);                        \
		result = mem[v] + (x); write_through_(cpu, v, result) }

#define HEAVY_BEGIN(cpu) d_step { barrier_(cpu); heavy_wanted[cpu] = EVERY_CPU & ~(1 << (cpu)) }
#define HEAVY_END(cpu) d_step { heavy_wanted[cpu] == 0 -> barrier_(cpu) }

/* What happens between instructions: stores land, caches fetch, barriers arrive. */
#define VISIT_FROM(from, to) \
	:: d_step { ((heavy_wanted[from] >> (to)) & 1) && HEAVY_WHEN(to) -> \
		heavy_wanted[from] = heavy_wanted[from] & ~(1 << (to)); barrier_(to) }

#ifdef MEMORY_FAIR
#define ALSO_BY(process) od } active proctype process() { end: do
#else
#define ALSO_BY(process)
#endif

active proctype memory()
{
end:	do
#ifdef MACHINE_SC
	:: false /* nothing is ever on its way */
#else
#define CPU_ 0
#include "lines.pml"
#undef CPU_
#if CPUS > 1
	ALSO_BY(memory_1)
#define CPU_ 1
#include "lines.pml"
#undef CPU_
#endif
#if CPUS > 2
	ALSO_BY(memory_2)
#define CPU_ 2
#include "lines.pml"
#undef CPU_
#endif
#if CPUS > 3
	ALSO_BY(memory_3)
#define CPU_ 3
#include "lines.pml"
#undef CPU_
#endif
#endif
#if CPUS > 1 && HEAVY_FROM(0)
	ALSO_BY(heavy_0)
	VISIT_FROM(0, 1)
#if CPUS > 2
	VISIT_FROM(0, 2)
#endif
#if CPUS > 3
	VISIT_FROM(0, 3)
#endif
#endif
#if CPUS > 1 && HEAVY_FROM(1)
	ALSO_BY(heavy_1)
	VISIT_FROM(1, 0)
#if CPUS > 2
	VISIT_FROM(1, 2)
#endif
#if CPUS > 3
	VISIT_FROM(1, 3)
#endif
#endif
#if CPUS > 2 && HEAVY_FROM(2)
	ALSO_BY(heavy_2)
	VISIT_FROM(2, 0)
	VISIT_FROM(2, 1)
#if CPUS > 3
	VISIT_FROM(2, 3)
#endif
#endif
#if CPUS > 3 && HEAVY_FROM(3)
	ALSO_BY(heavy_3)
	VISIT_FROM(3, 0)
	VISIT_FROM(3, 1)
	VISIT_FROM(3, 2)
#endif
	od
}
