/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reservation step as a restartable sequence, aarch64. See publish_x86_64.h.
 *
 * The last store has release order, so that a reader on another CPU that acquires the write
 * count also sees the mark; on x86-64 every store has it.
 */
#ifndef LULL_PORT_PUBLISH_H
#define LULL_PORT_PUBLISH_H

#define LULL_RSEQ_SIGNATURE "0xd428bc00" /* BRK #0x45E0 */

static inline int lull_publish_rseq(const struct lull_reservation *r)
{
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + r->place);

	__asm__ goto(
		".pushsection __rseq_cs, \"aw\"\n\t"
		".balign 32\n"
		"3:\n\t"
		".long 0, 0\n\t"
		".quad 1f, 2f - 1f, 4f\n\t"
		".popsection\n\t"
		"adrp x15, 3b\n\t"
		"add x15, x15, :lo12:3b\n\t"
		"str x15, %[sequence]\n"
		"1:\n\t"
		"ldr w15, %[cpu_now]\n\t"
		"cmp w15, %w[cpu]\n\t"
		"b.ne %l[refused]\n\t"
		"ldr x15, [%[write_count]]\n\t"
		"cmp x15, %[expect]\n\t"
		"b.ne %l[refused]\n\t"
		"str %[run], %[run_at]\n\t"
		"str %[physical], %[physical_at]\n\t"
		"str %[cycles], %[cycles_at]\n\t"
		"str %w[mark_low], [%[slot_low]]\n\t"
		"str %w[mark_high], [%[slot_high]]\n\t"
		"stlr %[until], [%[write_count]]\n"
		"2:\n\t"
		".pushsection .text.restarts, \"ax\"\n\t"
		".long " LULL_RSEQ_SIGNATURE "\n"
		"4:\n\t"
		"b %l[refused]\n\t"
		".popsection\n\t"
		:
		: [sequence] "Q"(area->rseq_cs), [cpu] "r"(r->cpu), [cpu_now] "Q"(area->cpu_id),
		  [expect] "r"(r->expect), [write_count] "r"(&r->shared->write_count),
		  [run] "r"(r->run), [run_at] "Q"(r->shared->run), [physical] "r"(r->physical),
		  [physical_at] "Q"(r->shared->physical), [cycles] "r"(r->cycles),
		  [cycles_at] "Q"(r->shared->last_cycles), [mark_low] "r"(r->mark_low),
		  [slot_low] "r"(r->slot_low), [mark_high] "r"(r->mark_high),
		  [slot_high] "r"(r->slot_high), [until] "r"(r->until)
		: "memory", "cc", "x15"
		: refused);
	return 1;
refused:
	return 0;
}

#endif
