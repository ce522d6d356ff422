/* SPDX-License-Identifier: MIT */
/*
 * OoOisched: out-of-order scheduling of instructions, by the processor or the compiler.
 * Paper: T 7.5. Include beside machine.pml, with MACHINE_POWER or MACHINE_ALPHA.
 *
 * A process keeps one word of tokens, with a bit for each instruction. Its program is a loop of
 * guarded steps, one per instruction:
 *
 *	:: atomic { INSTRUCTION(tokens, NEEDS, OWN) -> ...; PRODUCE_TOKENS(tokens, OWN) }
 *
 * Such a step can run once all tokens that it NEEDS are there, and while its OWN token is not. So
 * the instructions run in any order that dependencies allow. A load may run long before its result
 * is used (speculation); a store may not run before the branch is taken, so it needs the branch's
 * token. The last instruction of the loop needs all others, clears all tokens and leaves the loop.
 *
 * A fault is injected by producing an instruction's token before the loop begins: the instruction
 * does not run, and the instructions that need it do not wait (T 7.5.1).
 *
 * SYNC_CORE is an instruction that only orders: a full barrier is a write barrier, SYNC_CORE,
 * and a read barrier, each with a token of its own (T 7.5.2).
 *
 * A heavy barrier arrives by an interrupt, which finds all instructions before it done and none
 * after it begun. Tokens numbered in program order tell when that is so (T 7.6); a model that
 * uses HEAVY_BEGIN defines, before it includes machine.pml,
 *
 *	#define HEAVY_WHEN(cpu) IN_PROGRAM_ORDER(tokens of that cpu)
 *
 * and includes this file before that one.
 */
#define PRODUCE_TOKENS(tokens, produced) tokens = tokens | (produced)
#define CLEAR_TOKENS(tokens, cleared) tokens = tokens & ~(cleared)
#define CONSUME_TOKENS(tokens, enable, inhibit) \
	(((tokens) & (inhibit)) == 0 && ((tokens) & (enable)) == (enable))
#define INSTRUCTION(tokens, needs, own) CONSUME_TOKENS(tokens, needs, own)
#define IN_PROGRAM_ORDER(tokens) (((tokens) & ((tokens) + 1)) == 0)
