/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Restartable steps on words of one CPU, aarch64. See qdo_steps_x86_64.h.
 *
 * The last store has release order. Paper: Q 4.8.3, which disables the scheduler instead.
 */
#ifndef LULL_QDO_STEPS_MACHINE_H
#define LULL_QDO_STEPS_MACHINE_H

#define LULL_PERCPU_STEPS 1

/*
 * The CPU is compared first; then come @body and its one store. The abort label is in a section of
 * its own: in one that functions are put into, it could come to lie in the middle of one.
 */
#define LULL_PERCPU_STEP(body, ...)                                                                \
	__asm__ goto(".pushsection __rseq_cs, \"aw\"\n\t"                                          \
		     ".balign 32\n"                                                                \
		     "3: .long 0, 0\n\t"                                                           \
		     ".quad 1f, 2f - 1f, 4f\n\t"                                                   \
		     ".popsection\n\t"                                                             \
		     "adrp x15, 3b\n\t"                                                            \
		     "add x15, x15, :lo12:3b\n\t"                                                  \
		     "str x15, %[sequence]\n"                                                      \
		     "1: ldr w15, %[cpu_now]\n\t"                                                  \
		     "cmp w15, %w[cpu]\n\t"                                                        \
		     "b.ne %l[refused]\n\t" body "2:\n\t"                                          \
		     ".pushsection .text.restarts, \"ax\"\n\t"                                     \
		     ".long 0xd428bc00\n" /* BRK #0x45E0: the signature */                         \
		     "4: b %l[refused]\n\t"                                                        \
		     ".popsection\n\t"                                                             \
		     :                                                                             \
		     : [sequence] "Q"(area->rseq_cs), [cpu] "r"(cpu), [cpu_now] "Q"(area->cpu_id), \
		       __VA_ARGS__                                                                 \
		     : "memory", "cc", "x15"                                                       \
		     : refused)

/* Return: 1 when done. */
static inline int lull_percpu_add(struct rseq *area, unsigned int cpu, unsigned long *counter)
{
	LULL_PERCPU_STEP("ldr x15, [%[counter]]\n\t"
			 "add x15, x15, #1\n\t"
			 "stlr x15, [%[counter]]\n",
			 [counter] "r"(counter));
	return 1;
refused:
	return 0;
}

/* Return: 1 when done. */
static inline int lull_percpu_replace(struct rseq *area, unsigned int cpu, void **head,
				      void *expect, void *desired)
{
	LULL_PERCPU_STEP("ldr x15, [%[head]]\n\t"
			 "cmp x15, %[expect]\n\t"
			 "b.ne %l[refused]\n\t"
			 "stlr %[desired], [%[head]]\n",
			 [head] "r"(head), [expect] "r"(expect), [desired] "r"(desired));
	return 1;
refused:
	return 0;
}

#endif
