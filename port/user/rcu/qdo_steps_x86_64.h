/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Restartable steps on words of one CPU, x86-64: add 1, and compare and replace.
 *
 * The kernel leaves a step by its abort label when the thread is preempted, migrates or takes a
 * signal between labels 1 and 2; so no other thread or handler runs on this CPU in between. Every
 * store has release order here. Paper: Q 4.8.3, which disables the scheduler instead.
 */
#ifndef LULL_QDO_STEPS_MACHINE_H
#define LULL_QDO_STEPS_MACHINE_H

#define LULL_PERCPU_STEPS 1

/*
 * The CPU is compared first; then come @body and its one store. The abort label is in a section of
 * its own: in one that functions are put into, it could come to lie in the middle of one.
 */
#define LULL_PERCPU_STEP(body, ...)                                                    \
	__asm__ goto(".pushsection __rseq_cs, \"aw\"\n\t"                              \
		     ".balign 32\n"                                                    \
		     "3: .long 0, 0\n\t"                                               \
		     ".quad 1f, 2f - 1f, 4f\n\t"                                       \
		     ".popsection\n\t"                                                 \
		     "leaq 3b(%%rip), %%rax\n\t"                                       \
		     "movq %%rax, %c[sequence](%[area])\n"                             \
		     "1: cmpl %[cpu], %c[cpu_now](%[area])\n\t"                        \
		     "jnz %l[refused]\n\t" body "2:\n\t"                               \
		     ".pushsection .text.restarts, \"ax\"\n\t"                         \
		     ".byte 0x0f, 0xb9, 0x3d\n\t" /* an undefined instruction, then */ \
		     ".long 0x53053053\n" /* the signature */                          \
		     "4: jmp %l[refused]\n\t"                                          \
		     ".popsection\n\t"                                                 \
		     :                                                                 \
		     : [area] "r"(area), [cpu] "r"(cpu),                               \
		       [sequence] "i"(offsetof(struct rseq, rseq_cs)),                 \
		       [cpu_now] "i"(offsetof(struct rseq, cpu_id)), __VA_ARGS__       \
		     : "memory", "cc", "rax"                                           \
		     : refused)

/* Return: 1 when done. */
static inline int lull_percpu_add(struct rseq *area, unsigned int cpu, unsigned long *counter)
{
	LULL_PERCPU_STEP("addq $1, (%[counter])\n", [counter] "r"(counter));
	return 1;
refused:
	return 0;
}

/* Return: 1 when done. */
static inline int lull_percpu_replace(struct rseq *area, unsigned int cpu, void **head,
				      void *expect, void *desired)
{
	LULL_PERCPU_STEP("cmpq %[expect], (%[head])\n\t"
			 "jnz %l[refused]\n\t"
			 "movq %[desired], (%[head])\n",
			 [head] "r"(head), [expect] "r"(expect), [desired] "r"(desired));
	return 1;
refused:
	return 0;
}

#endif
