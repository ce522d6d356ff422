/* SPDX-License-Identifier: MIT */
/*
 * Contexts of a program's events: context.h. Paper: B 3.1 (context of events), T 4.5.
 *
 * A call stack is followed by frame pointers, which the program may not have: then any word may be
 * in place of one. So a word is taken for a frame only if it lies ahead in this thread's stack,
 * between the frame before it and the stack's end, where all memory was found to be readable.
 * A thread's descriptor lies at the end of the stack that the C library gave it, and the first
 * thread's stack ends where the dynamic linker began it. The kernel is asked once whether all
 * between is readable (MADV_POPULATE_READ, which fails where something else lies between, as it is
 * while a handler runs on a stack of its own), and again when the stack has become deeper. So
 * nothing is read that could fault, without a file, a lock or a handler of signals.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/time.h>
#include <sys/stat.h>
#include "context.h"
#include "filter/filter.h"
#include "syscall.h"

#define PAGE_BYTES_MIN 4096u
/* A stack that would be larger is none. */
#define STACK_BYTES_MAX (64ull << 20)
#define CGROUP_MAGIC 0x63677270ull
#define TEXT_BYTES 1024u
#define NAME_BYTES 16u

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Of priorities as the scheduler has them. */
#define PRIO_OF_DEADLINE (-1)
#define PRIO_OF_REAL_TIME 99 /* less the priority that the thread was given */
#define PRIO_OF_OTHERS 120 /* and the nice value */

/* What sched_getattr() fills in. */
struct attributes {
	uint32_t bytes;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t deadline[3];
};

/* Where the dynamic linker found the first thread's stack. */
extern void *__libc_stack_end __attribute__((weak));

/* Of the process. Threads that find it out at once find the same. 0: it is not known. */
static struct {
	uint32_t generation; /* of the process that found it out */
	uint32_t wanted; /* contexts, of all sessions so far */
	uint64_t cgroup;
	uint32_t namespaces[LULL_CONTEXTS]; /* by context */
} process;

/* The part of this thread's stack that is known to be readable. */
static __thread struct {
	uintptr_t from;
	uintptr_t until;
} stack;

static uint32_t is_namespace(uint32_t context)
{
	return context >= LULL_CONTEXT_PID_NS && context <= LULL_CONTEXT_USER_NS;
}

static uint64_t inode_of(const char *path)
{
	struct stat found;

	if (lull_syscall(__NR_newfstatat, AT_FDCWD, (long)path, (long)&found, 0, 0, 0))
		return 0;
	return found.st_ino;
}

/* The first bytes of a file, NUL-terminated. Return: how many. */
static uint32_t file_read(const char *path, char *to, uint32_t room)
{
	long file = lull_syscall(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long bytes;

	if (file < 0)
		return 0;
	bytes = lull_syscall(__NR_read, file, (long)to, room - 1, 0, 0, 0);
	lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
	if (bytes < 0)
		bytes = 0;
	to[bytes] = '\0';
	return (uint32_t)bytes;
}

/* Of the line of the hierarchy of version 2: where its path begins; @bytes where there is none. */
static uint32_t path_find(char *text, uint32_t bytes)
{
	static const char line[] = "0::/";
	uint32_t at = 0, until;

	/* Bound: each round takes a line. The text ends with NUL. */
	while (at < bytes && __builtin_memcmp(text + at, line, sizeof(line) - 1)) {
		while (at < bytes && text[at] != '\n')
			at++;
		at++;
	}
	if (at >= bytes)
		return bytes;
	at += sizeof(line) - 2;
	for (until = at; text[until] && text[until] != '\n'; until++)
		/* A path that leads out of this namespace is no path here. */
		if (!__builtin_memcmp(text + until, "/..", 3))
			return bytes;
	if (!text[until])
		return bytes;
	text[until] = '\0';
	return at;
}

/* The control group's number, where the hierarchy of version 2 is where systemd puts it; or 0. */
static uint64_t cgroup_find(void)
{
	static const char root[] = "/sys/fs/cgroup";
	const uint32_t root_bytes = sizeof(root) - 1;
	char text[TEXT_BYTES];
	uint64_t filesystem[16] = { 0 };
	uint32_t bytes, at;

	if (lull_syscall(__NR_statfs, (long)root, (long)filesystem, 0, 0, 0, 0) ||
	    filesystem[0] != CGROUP_MAGIC)
		return 0;
	/* The path's line is moved behind the root's. */
	bytes = file_read("/proc/self/cgroup", text + root_bytes, sizeof(text) - root_bytes - 4);
	__builtin_memset(text + root_bytes + bytes, 0, 4);
	at = path_find(text + root_bytes, bytes);
	if (at >= bytes)
		return 0;
	__builtin_memmove(text + root_bytes, text + root_bytes + at, bytes - at);
	__builtin_memcpy(text, root, root_bytes);
	return inode_of(text);
}

static uint32_t namespace_find(uint32_t context)
{
	static const char *const paths[] = {
		[LULL_CONTEXT_PID_NS] = "/proc/self/ns/pid",
		[LULL_CONTEXT_NET_NS] = "/proc/self/ns/net",
		[LULL_CONTEXT_MNT_NS] = "/proc/self/ns/mnt",
		[LULL_CONTEXT_UTS_NS] = "/proc/self/ns/uts",
		[LULL_CONTEXT_IPC_NS] = "/proc/self/ns/ipc",
		[LULL_CONTEXT_CGROUP_NS] = "/proc/self/ns/cgroup",
		[LULL_CONTEXT_USER_NS] = "/proc/self/ns/user",
	};

	return (uint32_t)inode_of(paths[context]);
}

void lull_context_begin(const struct context_plan *plan)
{
	uint32_t is_confined = lull_load32(&lull_confined);
	uint32_t wanted = lull_load32(&process.wanted) | plan->contexts;

	lull_store32(&process.wanted, wanted);
	for (uint32_t i = 0; i < LULL_CONTEXTS; i++)
		if (is_namespace(i) && wanted & 1u << i)
			lull_store32(&process.namespaces[i], is_confined ? 0 : namespace_find(i));
	if (wanted & 1u << LULL_CONTEXT_CGROUP)
		lull_store(&process.cgroup, is_confined ? 0 : cgroup_find());
	lull_store32(&process.generation, lull_process.generation);
}

static int64_t cpu_time_ns(void)
{
	struct timespec time = { 0 };

	if (lull_load32(&lull_confined) ||
	    lull_syscall(__NR_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&time, 0, 0, 0, 0))
		return -1;
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int32_t prio_ask(void)
{
	struct attributes found = { 0 };

	if (lull_load32(&lull_confined) ||
	    lull_syscall(__NR_sched_getattr, 0, (long)&found, sizeof(found), 0, 0, 0))
		return LULL_SESSION_PRIO_UNKNOWN;
	switch (found.policy) {
	case SCHED_DEADLINE:
		return PRIO_OF_DEADLINE;
	case SCHED_FIFO:
	case SCHED_RR:
		return PRIO_OF_REAL_TIME - (int32_t)found.priority;
	default:
		return PRIO_OF_OTHERS + found.nice;
	}
}

static int is_readable(uintptr_t from, uintptr_t until)
{
	return until > from && until - from <= STACK_BYTES_MAX &&
	       !lull_syscall(__NR_madvise, (long)from, (long)(until - from), MADV_POPULATE_READ, 0,
			     0, 0);
}

/* Find out where the stack at @here ends. Return: 0 where that is not known. */
static __attribute__((cold, noinline)) int stack_find(uintptr_t here)
{
	uintptr_t ends[] = { (uintptr_t)__builtin_thread_pointer(),
			     &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0 };

	if (lull_load32(&lull_confined))
		return 0;
	/* By the smallest page, or else by the largest: one of them is this kernel's, or fits. */
	for (uint32_t i = 0; i < 4; i++) {
		uintptr_t page = i & 1 ? PAGE_BYTES_MAX : PAGE_BYTES_MIN, from = here & ~(page - 1);

		if (!is_readable(from, ends[i / 2]))
			continue;
		/* A handler that interrupts this finds no stack, or a whole one. */
		lull_store(&stack.until, 0);
		lull_store(&stack.from, from);
		lull_store(&stack.until, ends[i / 2]);
		return 1;
	}
	return 0;
}

/* Without the signature that a function may have put into it. */
static uint64_t return_address(uintptr_t called)
{
#if defined(__aarch64__)
	register uint64_t address __asm__("x30") = called;

	__asm__("hint #7" : "+r"(address)); /* xpaclri */
	return address;
#else
	return called;
#endif
}

/* Whether an address is in the part of this thread's stack that is readable. */
static int stack_has(uintptr_t here)
{
	return (here >= lull_load(&stack.from) && here < lull_load(&stack.until)) ||
	       stack_find(here);
}

/* Return: how many frames were put at @to. */
static uint32_t stack_write(unsigned char *to, uint32_t most, const struct context_frame *frame)
{
	uintptr_t here = frame->at, next = frame->next, called = frame->called;
	uintptr_t until;
	uint32_t count = 0;

	if (!stack_has(here))
		most = 1;
	until = lull_load(&stack.until);
	/* Bound: most frames, each further ahead than the one before. */
	for (;;) {
		uint64_t address = return_address(called);

		__builtin_memcpy(to + (size_t)count * sizeof(address), &address, sizeof(address));
		count++;
		if (count >= most || next <= here || next % sizeof(uintptr_t) || next >= until ||
		    until - next < 2 * sizeof(uintptr_t))
			return count;
		here = next;
		next = (uintptr_t)lull_load((const uint64_t *)here);
		called = (uintptr_t)lull_load((const uint64_t *)here + 1);
		if (!called)
			return count;
	}
}

static unsigned char *put32(unsigned char *to, uint32_t number)
{
	__builtin_memcpy(to, &number, sizeof(number));
	return to + sizeof(number);
}

static unsigned char *put64(unsigned char *to, uint64_t number)
{
	__builtin_memcpy(to, &number, sizeof(number));
	return to + sizeof(number);
}

static unsigned char *context_put(unsigned char *to, uint32_t context,
				  const struct lull_filter_value *values)
{
	switch (context) {
	case LULL_CONTEXT_COMM:
		__builtin_memcpy(to, values[context].text, NAME_BYTES);
		return to + NAME_BYTES;
	case LULL_CONTEXT_CGROUP:
		return put64(to, lull_load(&process.cgroup));
	case LULL_CONTEXT_PRIO:
		return put32(to, (uint32_t)prio_ask());
	default:
		return put32(to, is_namespace(context) ? lull_load32(&process.namespaces[context]) :
							 (uint32_t)values[context].number);
	}
}

uint32_t lull_context_write(const struct context_plan *plan, unsigned char *to,
			    const struct context_frame *frame)
{
	struct lull_filter_value values[LULL_CONTEXTS];
	unsigned char *at = to;
	uint32_t count = 0;

	/* This makes known to a forked child that it is one. */
	lull_contexts_read(values, plan->contexts);
	if (lull_load32(&process.generation) != lull_process.generation)
		lull_context_begin(plan);
	/* Bound: LULL_CONTEXTS bits. */
	for (uint32_t left = plan->contexts & ~LULL_SESSION_CPU_TIME; left; left &= left - 1)
		at = context_put(at, (uint32_t)__builtin_ctz(left), values);
	if (plan->contexts & LULL_SESSION_CPU_TIME)
		at = put64(at, (uint64_t)cpu_time_ns());
	if (plan->user_frames) {
		if (frame)
			count = stack_write(at + sizeof(count), plan->user_frames, frame);
		at = put32(at, count) + count * sizeof(uint64_t);
	}
	return (uint32_t)(at - to);
}

int lull_context_copy_find(struct context_copy *copy, const struct context_plan *plan,
			   const struct context_frame *frame)
{
	const uintptr_t word = sizeof(uint64_t);
	uintptr_t from;

	if (!plan->copy_bytes)
		return 0;
	*copy = (struct context_copy){ .bytes = sizeof(uint32_t) };
	if (!frame)
		return 1;
	from = frame->stack;
	copy->registers[0] = return_address(frame->called);
	copy->registers[1] = from;
	copy->registers[2] = frame->next;
	copy->words = (const uint64_t *)from;
	/* The frame lies below the stack pointer of who made it. */
	if (from > frame->at && from % word == 0 && stack_has(frame->at) &&
	    from < lull_load(&stack.until)) {
		copy->word_count = plan->copy_bytes / sizeof(uint64_t);
		if (copy->word_count > (lull_load(&stack.until) - from) / word)
			copy->word_count = (uint32_t)((lull_load(&stack.until) - from) / word);
	}
	copy->bytes += (LULL_SESSION_COPY_REGISTERS + copy->word_count) * (uint32_t)word;
	return 1;
}

void lull_context_copy_write(const struct context_copy *copy, unsigned char *to)
{
	to = put32(to, copy->bytes / (uint32_t)sizeof(uint64_t));
	if (copy->bytes == sizeof(uint32_t))
		return;
	for (uint32_t i = 0; i < LULL_SESSION_COPY_REGISTERS; i++)
		to = put64(to, copy->registers[i]);
	/* Words that others may write to meanwhile, and no call of the C library. */
	for (uint32_t i = 0; i < copy->word_count; i++)
		to = put64(to, lull_load(&copy->words[i]));
}
