/* SPDX-License-Identifier: MIT */
/*
 * Requests and steps of CPUs, as rcu/qdo/core.c has them, and the threads that call them; included
 * last by the models of the four algorithms. Paper: Q 3.3, 4.5, 4.7.
 *
 *	operation		| requester		| monitor of a CPU
 *	enters (operation.pml)	| pointer away		| when prompted, or after a while
 *	sees the pointer?	| pending + 1		|   while operations delay it:
 *	writes to the object	| into the list, prompt	| take, heavy fence, begin
 *	leaves			|			| go_on; pending - completed
 *
 * The C names: qdo_core_step, qdo_core_submit, qdo_done, qdo_port_prompt.
 *
 * A model defines before it includes this:
 *	REQUESTS, SET(r), ORIGIN(r)	how many, for which CPUs (bits), made on which CPU
 *	OPERATIONS, OPERATION_AT(i)	how many, on which CPUs
 *	PENDING, POINTER(r), OBJECT	its words; operation 0 writes to the object of request 0
 *	begin(cpu, c, r)		a request was taken
 *	go_on(cpu, c)			continues all requests that can continue; sets waits[c]
 *
 * Each CPU's step is made on that CPU, or on CPU 0 with STEPS_ELSEWHERE. A list is a bit for each
 * request, and one step with full order changes it: submit.pml models lists. The same holds for a
 * prompt, of which qdo_port_prompt() promises full order: host.pml models prompts.
 *
 * Time: while an operation runs, the monitor may step the CPU that the operation delays again at
 * any moment; when nothing else can happen, FINAL_LOOKS times more. Then time ends: a request that
 * is not done by then is lost, and its requester is at an invalid end state, which SPIN reports.
 */
#if defined(OWN_GENERATION_ONLY)
#define FINAL_LOOKS 12
#else
#define FINAL_LOOKS 2
#endif
#ifdef STEPS_ELSEWHERE
#define STEP_CPU(c) 0
#else
#define STEP_CPU(c) (c)
#endif
#define ALL_DONE ((1 << REQUESTS) - 1)

/* From the start: in memory, and in every cache. */
inline begin_with(v, x)
{
	mem[v] = x;
#ifdef MACHINE_ALPHA
	cached[LINE(0, v)] = x;
#if CPUS > 1
	cached[LINE(1, v)] = x;
#endif
#endif
	skip
}

inline submit(cpu, r)
{
	atomic {
		ADD(cpu, PENDING, 1, found);
		since[r] = (found == 1);
		found = 0
	};
	d_step { barrier_(cpu); submitted[ORIGIN(r)] = submitted[ORIGIN(r)] | (1 << (r)) };
#ifndef OWN_GENERATION_ONLY
	PROMPT(cpu, ORIGIN(r))
#endif
}

proctype requester(byte r)
{
	byte found;

	STORE(ORIGIN(r), POINTER(r), 1);
	submit(ORIGIN(r), r);
	/* never lost */
	is_done >> r & 1
}

#if OPERATIONS > 0
proctype operation(byte number)
{
	byte parity, found, r;
	bit pointer;

	enter(OPERATION_AT(number), OPERATION_AT(number));
	do
	:: r < REQUESTS ->
		atomic {
			pointer = LOAD(OPERATION_AT(number), POINTER(r));
			if
			:: !pointer -> saw[number] = saw[number] | (1 << r)
			:: else
			fi;
			r++
		}
	:: else -> break
	od;
	if
	:: number == 0 && saw[number] & 1 ->
		atomic { STORE(OPERATION_AT(number), OBJECT, 1); stored = 1; saw[number] = 0 }
	:: else -> saw[number] = 0
	fi;
	leave(OPERATION_AT(number), OPERATION_AT(number));
	d_step { parity = 0; found = 0; r = 0; pointer = 0; running_count-- }
}
#endif

inline take(cpu, c)
{
	if
	:: submitted[c] ->
		d_step { barrier_(cpu); taken = submitted[c]; submitted[c] = 0 };
#ifndef MUTANT_QDO_TAKE_NO_FENCE
		HEAVY_BEGIN(cpu); /* [qdo.take:A] */
		HEAVY_END(cpu);
#endif
		r = 0;
		do
		:: r < REQUESTS && (taken >> r & 1) -> begin(cpu, c, r); r++
		:: r < REQUESTS && !(taken >> r & 1) -> r++
		:: r == REQUESTS -> break
		od;
		atomic { r = 0; taken = 0 }
	:: else
	fi
}

#ifdef OWN_GENERATION_ONLY
/* Every CPU has its timer, and none is faster than others by a look. */
#define IS_DUE(c) (is_done != ALL_DONE && looks[c] <= looks[((c) + 1) % PLACES])
#else
#define IS_DUE(c) waits[c]
#endif
#define IS_WOKEN(c) (prompted[c] || \
	IS_DUE(c) && (running_count > 0 || (timeout && looks[c] < FINAL_LOOKS)))

proctype monitor(byte c)
{
	STEP_LOCALS;
	byte taken, r, completed, scratch;

end:	do
	:: atomic {
			IS_WOKEN(c) ->
			looks[c] = looks[c] + (!prompted[c] && running_count == 0);
			waits[c] = 0;
			if
			:: prompted[c] -> SMP_MB(STEP_CPU(c)); prompted[c] = 0
			:: else
			fi
		};
		take(STEP_CPU(c), c);
		go_on(STEP_CPU(c), c);
		atomic {
			if
			:: completed -> ADD(STEP_CPU(c), PENDING, -completed, found)
			:: else
			fi;
			completed = 0;
			found = 0;
			scratch = 0
		}
	od
}

init {
	atomic {
		begin_all();
		running_count = OPERATIONS;
#if OPERATIONS > 0
		for (pid_ : 0 .. OPERATIONS - 1) {
			run operation(pid_)
		}
#endif
		for (pid_ : 0 .. PLACES - 1) {
			run monitor(pid_)
		}
		for (pid_ : 0 .. REQUESTS - 1) {
			run requester(pid_)
		}
		pid_ = 0
	}
}
