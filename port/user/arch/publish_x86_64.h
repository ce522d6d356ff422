/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reservation step as a restartable sequence, x86-64.
 *
 * The kernel restarts the sequence at its abort label when the thread is preempted, migrates
 * or takes a signal between labels 1 and 2, so no other writer of this CPU's ring can come
 * between the comparison and the last store, which is the reservation. Measured, it costs
 * nothing beside rdtsc, where a locked compare-and-swap costs 3.6 ns (docs/adr/0002).
 */
#ifndef LULL_PORT_PUBLISH_H
#define LULL_PORT_PUBLISH_H

#define LULL_RSEQ_SIGNATURE "0x53053053"

/*
 * One sequence: compare the CPU and the write count, store run, time stamp and mark, then the
 * write count. @marks stores the mark, and the physical index where a run begins.
 */
#define LULL_PUBLISH(marks, ...)                                                                \
	__asm__ goto(".pushsection __rseq_cs, \"aw\"\n\t"                                       \
		     ".balign 32\n"                                                             \
		     "3: .long 0, 0\n\t"                                                        \
		     ".quad 1f, 2f - 1f, 4f\n\t"                                                \
		     ".popsection\n\t"                                                          \
		     "leaq 3b(%%rip), %%rax\n\t"                                                \
		     "movq %%rax, %%fs:%c[sequence](%[place])\n"                                \
		     "1: cmpl %[cpu], %%fs:%c[cpu_now](%[place])\n\t"                           \
		     "jnz %l[refused]\n\t"                                                      \
		     "cmpq %[expect], %c[write_count](%[shared])\n\t"                           \
		     "jnz %l[refused]\n\t"                                                      \
		     "movq %[run], %c[run_at](%[shared])\n\t" marks                             \
		     "movq %[cycles], %c[cycles_at](%[shared])\n\t"                             \
		     "movq %[until], %c[write_count](%[shared])\n"                              \
		     "2:\n\t"                                                                   \
		     ".pushsection .text.restarts, \"ax\"\n\t"                                  \
		     ".byte 0x0f, 0xb9, 0x3d\n\t" /* an undefined instruction, then */          \
		     ".long " LULL_RSEQ_SIGNATURE "\n"                                          \
		     "4: jmp %l[refused]\n\t"                                                   \
		     ".popsection\n\t"                                                          \
		     :                                                                          \
		     : [place] "r"(r->place), [shared] "r"(r->shared), [cpu] "r"(r->cpu),       \
		       [expect] "r"(r->expect), [until] "r"(r->until), [run] "r"(r->run),       \
		       [cycles] "r"(r->cycles), [sequence] "i"(offsetof(struct rseq, rseq_cs)), \
		       [cpu_now] "i"(offsetof(struct rseq, cpu_id)),                            \
		       [write_count] "i"(offsetof(struct lull_ring_shared, write_count)),       \
		       [run_at] "i"(offsetof(struct lull_ring_shared, run)),                    \
		       [cycles_at] "i"(offsetof(struct lull_ring_shared, last_cycles)),         \
		       __VA_ARGS__                                                              \
		     : "memory", "cc", "rax"                                                    \
		     : refused)

static inline int lull_publish_rseq(const struct lull_reservation *r)
{
	long distance_bytes = (char *)r->slot_high - (char *)r->slot_low;

	/*
	 * In the fast path the compiler knows that the words are neighbours: one store. And the run
	 * goes on, so that the physical index is there.
	 */
	if (__builtin_constant_p(distance_bytes == 4) && distance_bytes == 4) {
		uint64_t mark = (uint64_t)r->mark_high << 32 | r->mark_low;

		LULL_PUBLISH(
			"movq %[mark], (%[slot])\n\t", [mark] "r"(mark), [slot] "r"(r->slot_low));
	} else {
		LULL_PUBLISH("movq %[physical], %c[physical_at](%[shared])\n\t"
			     "movl %[mark_low], (%[slot_low])\n\t"
			     "movl %[mark_high], (%[slot_high])\n\t",
			     [mark_low] "r"(r->mark_low), [mark_high] "r"(r->mark_high),
			     [slot_low] "r"(r->slot_low), [slot_high] "r"(r->slot_high),
			     [physical] "r"(r->physical),
			     [physical_at] "i"(offsetof(struct lull_ring_shared, physical)));
	}
	return 1;
refused:
	return 0;
}

#endif
