/* SPDX-License-Identifier: MIT */
/*
 * Who is writing: thread identity, and finding out that it changed.
 *
 * Identity is cached in thread-local memory, which fork copies. A forked child notices by a
 * page that the kernel zeroes in it (MADV_WIPEONFORK), however it was forked; a vfork child,
 * which shares its parent's memory, by a mark that our vfork sets (vfork_*.S).
 */
#include <linux/mman.h>
#include <linux/prctl.h>
#include <sys/rseq.h>
#include "liblull.h"
#include "lull_port.h"
#include "syscall.h"

struct process lull_process;
/* Neither a generation, nor what a forked child finds in the page of the process's state. */
#define STATE_NEW 1u
#define GENERATION_FIRST 2u

__thread struct thread lull_thread = { .state = STATE_NEW };
__thread struct rseq *lull_rseq_area;

/* Absent from C libraries before 2.35, which register no area. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static uint64_t state_fallback = GENERATION_FIRST;

static int rseq_find(void)
{
	struct rseq *area;

	if (!&__rseq_size || !__rseq_size)
		return 0;
	area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	lull_rseq_area = area;
	return (int32_t)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED) >= 0;
}

void lull_thread_renamed(void)
{
	char name[16] = "";

	lull_syscall(__NR_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
	__builtin_memcpy(lull_thread.writer.name, name, sizeof(name));
}

void lull_thread_refresh(void)
{
	struct thread *thread = &lull_thread;

	if (!lull_load(lull_process.state)) {
		lull_process.pid = (uint32_t)lull_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
		for (uint32_t i = 0; i < lull_process.session_count; i++)
			__atomic_add_fetch(&lull_process.sessions[i].control->process_count, 1,
					   __ATOMIC_RELAXED);
		lull_store(lull_process.state, ++lull_process.generation);
	}
	thread->writer.pid = lull_process.pid;
	thread->writer.tid = (uint32_t)lull_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0);
	lull_thread_renamed();
	thread->state = (thread->state & THREAD_IN_VFORK) | lull_process.generation |
			(rseq_find() ? 0 : THREAD_NO_RSEQ);
}

void lull_vfork_writer(struct lull_ring_writer *writer)
{
	writer->pid = (uint32_t)lull_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
	writer->tid = (uint32_t)lull_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

void lull_fork_watch(void)
{
	long page = lull_syscall(__NR_mmap, 0, 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	lull_process.pid = (uint32_t)lull_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
	lull_process.generation = GENERATION_FIRST;
	lull_process.state = &state_fallback;
	if (page < 0 && page > -4096)
		return;
	if (lull_syscall(__NR_madvise, page, 4096, MADV_WIPEONFORK, 0, 0, 0) < 0)
		return; /* before Linux 4.14 a forked child keeps its parent's identity */
	lull_process.state = (uint64_t *)page;
	lull_store(lull_process.state, lull_process.generation);
}
