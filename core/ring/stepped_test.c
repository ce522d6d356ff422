/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A thread whose every instruction is interrupted, as under a debugger: its restartable sequences
 * never come to their end. It steps itself, by the trap flag of x86-64; elsewhere there is no such
 * flag, and with a C library that registers no restartable sequences nothing to interrupt.
 *
 * Paper: T 8.5; docs/adr/0002.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../check/test.h"
#include "ring_words.h"

#define NAME "writer_that_is_interrupted_without_a_cause_is_sent_elsewhere"
#define SUBBUF 4096u
#define COUNT 2u
#define PHYSICAL (2 * COUNT)

__thread struct rseq *lull_rseq_area;

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>

static unsigned int steps;

static void stepped(int number)
{
	(void)number;
	steps++;
}

static void step_begin(void)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

static void step_end(void)
{
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

/* Return: 0 when the thread stays on one CPU and is interrupted at each instruction of it. */
static int stepping_begin(void)
{
	struct sigaction action = { .sa_handler = stepped };
	cpu_set_t one;

	if (__rseq_size == 0)
		return -1;
	lull_rseq_area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	CPU_ZERO(&one);
	CPU_SET(lull_cpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one) || sigaction(SIGTRAP, &action, NULL);
}

static int writer_that_is_interrupted_without_a_cause_is_sent_elsewhere(void)
{
	const struct lull_ring_writer writer = { .pid = 10, .tid = 11, .name = "writer" };
	struct lull_ring_geometry geometry = { .subbuf_size_bytes = SUBBUF,
					       .subbuf_count = COUNT,
					       .physical_count = PHYSICAL,
					       .cpu_id = lull_cpu() };
	struct lull_ring_slot slot;
	struct lull_ring ring;
	int free_result, result;

	lull_ring_attach(&ring, &geometry, aligned_alloc(64, 4096),
			 (struct lull_ring_memory){ calloc(PHYSICAL, SUBBUF), NULL });
	lull_ring_reset(&ring, 0);
	free_result = lull_ring_reserve(&ring, &writer, 9, 4, &slot);
	lull_ring_commit(&slot);
	step_begin();
	result = lull_ring_reserve(&ring, &writer, 9, 4, &slot);
	step_end();
	return free_result == 0 && result == -EBUSY && steps > LULL_REFUSED_MAX &&
	       ring.shared->write_count == sizeof(struct lull_packet_header) + 40 + 8 &&
	       !lull_ring_lost(&ring, LULL_LOST_OVERFLOW);
}

int main(void)
{
	if (stepping_begin()) {
		skip(NAME, "the C library has registered no restartable sequences");
		return sums();
	}
	check(writer_that_is_interrupted_without_a_cause_is_sent_elsewhere(), NAME);
	return sums();
}
#else
int main(void)
{
	skip(NAME, "no trap flag, or no restartable sequences of the C library");
	return sums();
}
#endif
