/* SPDX-License-Identifier: MIT */
/*
 * The identity of the thread that records, and how liblull notices that it changed.
 *
 * The program may forbid itself any system call, so after the start liblull finds identity without
 * one. The kernel writes a thread's identifier into the C library's descriptor of the thread,
 * at the thread's creation and in the child of fork(); the first thread asks the kernel once for
 * the identifier's place in the descriptor. A thread's name is the one that it was given through
 * the C library, or its creator's.
 *
 * Identity is cached in thread-local memory, which fork copies. A forked child notices that it is
 * one by a page that the kernel zeroes in it (MADV_WIPEONFORK), however it was forked; a vfork
 * child, which shares its parent's memory, by a mark that our vfork sets (vfork_*.S). In a child
 * that was not made by the C library, the descriptor still has the parent's identifier: such a
 * child, and its threads, are recorded with identifiers of 0, which no process has.
 */
#include <linux/mman.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <sys/rseq.h>
#include "change.h"
#include "control.h"
#include "liblull.h"
#include "lull_port.h"
#include "sampling.h"
#include "syscall.h"

AT_START struct process lull_process;
struct fork_page lull_fork_page;
AT_START uint32_t lull_confined;
AT_START uint32_t lull_vfork_tells;
/* Neither a generation, nor what a forked child finds in the page of the process's state. */
#define STATE_NEW 1u
#define GENERATION_FIRST 2u

__thread struct thread lull_thread = { .state = STATE_NEW };
__thread struct rseq *lull_rseq_area;

/* Absent from C libraries before 2.35, which register no area. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* At most from the thread pointer to any member of the C library's descriptor of a thread. */
#define DESCRIPTOR_BYTES_MAX 4096u
#define ROBUST_HEAD_BEHIND_TID_BYTES 16u

/* From the thread pointer to the thread's identifier; 0 when that is not known. */
AT_START static ptrdiff_t tid_offset_bytes;

long lull_thread_place(void)
{
	return &__rseq_size ? __rseq_offset : 0;
}

static int rseq_find(void)
{
	struct rseq *area;

	if (!&__rseq_size || !__rseq_size)
		return 0;
	area = (struct rseq *)((char *)__builtin_thread_pointer() + lull_thread_place());
	lull_rseq_area = area;
	return (int32_t)lull_load32(&area->cpu_id) >= 0;
}

/* The identifier of this thread that the kernel keeps in the C library's descriptor. */
static uint32_t descriptor_tid(void)
{
	const char *descriptor = __builtin_thread_pointer();

	if (!tid_offset_bytes)
		return 0;
	return lull_load32((const uint32_t *)(descriptor + tid_offset_bytes));
}

/*
 * The C library keeps the thread's identifier in the word that the kernel clears when this thread
 * ends. If the kernel cannot be asked for that word, it is asked for the list of robust mutexes,
 * whose head every glibc for 64 bits has 16 bytes behind the identifier. Neither answer is believed
 * unless the identifier is there.
 */
static void tid_find(uint32_t tid)
{
	const char *descriptor = __builtin_thread_pointer();
	uintptr_t place = 0, head = 0;
	size_t bytes = 0;

	if (lull_syscall(__NR_prctl, PR_GET_TID_ADDRESS, (long)&place, 0, 0, 0, 0) < 0 &&
	    lull_syscall(__NR_get_robust_list, 0, (long)&head, (long)&bytes, 0, 0, 0) == 0)
		place = head - ROBUST_HEAD_BEHIND_TID_BYTES;
	if (place - (uintptr_t)descriptor + DESCRIPTOR_BYTES_MAX > 2 * DESCRIPTOR_BYTES_MAX ||
	    *(const uint32_t *)place != tid)
		return;
	tid_offset_bytes = (ptrdiff_t)(place - (uintptr_t)descriptor);
}

/*
 * The control block of the session at a place, or NULL where its bit was seen before it. It may be
 * that of a session which is left meanwhile: then nobody reads it any more.
 */
static struct lull_session_control *session_control(uint32_t index)
{
	return lull_load_pointer(&lull_process.controls[index]);
}

/* This process is a new one: its number is @pid, or 0 when that is not known. */
static void process_begin(uint32_t pid)
{
	lull_change_forked();
	EACH_SESSION(i) {
		struct lull_session_control *control = session_control(i);

		if (control)
			lull_add32_relaxed(&control->process_count, 1);
	}
	lull_process.pid = pid;
	lull_store(&lull_fork_page.state, ++lull_process.generation);
}

void lull_process_forked(void)
{
	process_begin(descriptor_tid());
	lull_control_notice();
}

void lull_process_confined(void)
{
	lull_store32(&lull_confined, 1);
	lull_store32(&lull_vfork_tells, 0);
}

uint32_t lull_thread_tid(void)
{
	return lull_process.pid ? descriptor_tid() : 0;
}

/*
 * Tell the thread that has @tid from all that had it before: a ring continues the run of the
 * identifier that wrote last, and with it that run's process and name, which may be those of the
 * program that called exec. A session counts labels, so that all of its processes number them
 * differently: the first of the process's sessions does, in the memory of the process's user
 * (credentials.c has a new user's count go on behind the old one's). (A neighbour that writes
 * other numbers there gets wrong names into its own user's trace, which it can write to anyway.)
 */
static void label_renew(struct thread *thread, uint32_t tid)
{
	uint32_t attached = lull_load32(&lull_process.attached);
	struct lull_session_control *control =
		attached ? session_control((uint32_t)__builtin_ctz(attached)) : NULL;
	uint64_t label = 0;

	if (control)
		label = lull_add_relaxed(&control->label_count, 1);
	lull_store32(&thread->writer.tid,
		     (uint32_t)(label << LULL_TID_BITS) | (tid & LULL_TID_MASK));
}

void lull_thread_rename(struct thread *thread, const char *name)
{
	uint64_t words[2] = { 0 };
	char *text = (char *)words;

	for (size_t i = 0; i < sizeof(words) - 1 && name[i]; i++)
		text[i] = name[i];
	for (size_t i = 0; i < 2; i++)
		lull_store((uint64_t *)(void *)thread->writer.name + i, words[i]);
	lull_store32(&thread->named, 1);
	label_renew(thread, lull_load32(&thread->writer.tid));
}

/* Makes the next event take the slow path, by the state of a new thread. */
void lull_thread_silence(uint32_t silent)
{
	if (lull_thread_is_silent() != silent)
		lull_thread.state = (lull_thread.state & THREAD_IN_VFORK) | STATE_NEW |
				    (silent ? THREAD_SILENT : 0);
}

void lull_thread_refresh(void)
{
	struct thread *thread = &lull_thread;
	uint32_t tid;

	if (!lull_load(&lull_fork_page.state))
		process_begin(0);
	tid = lull_thread_tid();
	thread->writer.pid = lull_process.pid;
	/* A thread that had its name before the process had a session has no label. */
	if (!tid || (thread->writer.tid & LULL_TID_MASK) != tid || thread->writer.tid == tid)
		label_renew(thread, tid);
	if (!lull_load32(&thread->named))
		lull_thread_rename(thread, lull_process.name);
	thread->state = (thread->state & (THREAD_IN_VFORK | THREAD_SILENT)) |
			lull_process.generation | (rseq_find() ? 0 : THREAD_NO_RSEQ);
	lull_sampling_seed(thread);
}

void lull_vfork_writer(struct lull_ring_writer *writer)
{
	writer->pid = lull_thread.vfork_pid;
	writer->tid = lull_thread.vfork_pid;
}

/* Prepares the page by which forked children notice that they are: the kernel zeroes it. */
static void fork_watch(void)
{
	long page = (long)&lull_fork_page;

	lull_process.generation = GENERATION_FIRST;
	/* The advice is for anonymous memory; until now this may be the library's file. */
	page = lull_syscall(__NR_mmap, page, sizeof(lull_fork_page), PROT_READ | PROT_WRITE,
			    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == (long)&lull_fork_page)
		lull_syscall(__NR_madvise, page, sizeof(lull_fork_page), MADV_WIPEONFORK, 0, 0, 0);
	/* Before Linux 4.14 there is no such advice, and only the C library's fork() is noticed. */
	lull_store(&lull_fork_page.state, lull_process.generation);
}

void lull_identity_start(void)
{
	lull_process.pid = (uint32_t)lull_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
	lull_process.user = (uint32_t)lull_syscall(__NR_geteuid, 0, 0, 0, 0, 0, 0);
	lull_process.effective_user = lull_process.user;
	lull_syscall(__NR_prctl, PR_GET_NAME, (long)lull_process.name, 0, 0, 0, 0);
	tid_find((uint32_t)lull_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0));
	fork_watch();
	pthread_atfork(NULL, NULL, lull_process_forked);
}
