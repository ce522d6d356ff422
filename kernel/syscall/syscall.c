// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls: syscalls:sys_enter_NAME and sys_exit_NAME for each call in table.h, and
 * raw_syscalls:sys_enter and sys_exit for calls that the table lacks and for those of 32-bit
 * programs, whose numbers mean other calls.
 *
 * The kernel has one tracepoint for the entries of all calls and one for all exits. An entry goes
 * through a table of functions, which the compiler makes from table.h, one for each call: it stores
 * that call's arguments and nothing else. All exits but those of calls that give something in
 * memory are alike, so one function writes them, and only the record with its identifiers is the
 * call's own.
 *
 * Paper: O 4.2 (instrumentation of system calls).
 */
#include <linux/compat.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/inotify.h>
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <uapi/linux/memfd.h>
#include <linux/mman.h>
#include <uapi/linux/mount.h>
#include <linux/net.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <linux/splice.h>
#include <linux/stat.h>
#include <linux/timerfd.h>
#include <linux/wait.h>
#include <linux/eventfd.h>
#include <linux/futex.h>
#include <uapi/linux/wait.h>
#include <asm/ioctls.h>
#include <asm/syscall.h>
#include <asm/termbits.h>
#include <trace/events/syscalls.h>
#include "arguments.h"
#include "compat/call_mode.h"
#include "syscall/argument.h"
#include "syscall/syscall.h"

/* The kernel has no names for the modes of access(2), CALL_ACCESS. */
/* clang-format off */
CALL_NAMES_CHECK(CALL_OPEN)
CALL_NAMES_CHECK(CALL_RESOLVE)
CALL_NAMES_CHECK(CALL_AT)
CALL_NAMES_CHECK(CALL_AT_REMOVE)
CALL_NAMES_CHECK(CALL_AT_ACCESS)
CALL_NAMES_CHECK(CALL_PROT)
CALL_NAMES_CHECK(CALL_MAP)
CALL_NAMES_CHECK(CALL_MREMAP)
CALL_NAMES_CHECK(CALL_MSYNC)
CALL_NAMES_CHECK(CALL_MLOCK)
CALL_NAMES_CHECK(CALL_CLONE)
CALL_NAMES_CHECK(CALL_FUTEX)
CALL_NAMES_CHECK(CALL_SOCKET)
CALL_NAMES_CHECK(CALL_MESSAGE)
CALL_NAMES_CHECK(CALL_WAIT)
CALL_NAMES_CHECK(CALL_SIGACTION)
CALL_NAMES_CHECK(CALL_EVENTS)
CALL_NAMES_CHECK(CALL_RANDOM)
CALL_NAMES_CHECK(CALL_LOCK)
CALL_NAMES_CHECK(CALL_MOUNT)
CALL_NAMES_CHECK(CALL_UMOUNT)
CALL_NAMES_CHECK(CALL_RENAME)
CALL_NAMES_CHECK(CALL_ALLOCATE)
CALL_NAMES_CHECK(CALL_SPLICE)
CALL_NAMES_CHECK(CALL_STATX)
CALL_NAMES_CHECK(CALL_WATCH)
CALL_NAMES_CHECK(CALL_EVENT_FD)
CALL_NAMES_CHECK(CALL_TIMER)
CALL_NAMES_CHECK(CALL_MEMFD)
CALL_NAMES_CHECK(CALL_URING_ENTER)
CALL_NAMES_CHECK(CALL_FILE_TYPE)
CALL_NAMES_CHECK(CALL_FD)
CALL_NAMES_CHECK(CALL_REQUEST)
CALL_NAMES_CHECK(CALL_IP_PROTOCOL)
/* clang-format on */

/* Strings of the call whose event this CPU makes. No call has more. */
#define TEXTS_MAX 3
/* Of a list of strings, such as the arguments of a program. */
#define STRINGS_MAX 16
#define STRINGS_BYTES 256
struct texts {
	char text[TEXTS_MAX][PATH_MAX];
	char string[STRINGS_BYTES + 1];
	char strings[STRINGS_MAX + 2 * STRINGS_BYTES]; /* a blank before each; each byte escaped */
};
static struct texts __percpu *texts;

int lull_syscall_init(void)
{
	texts = alloc_percpu(struct texts);
	return texts ? 0 : -ENOMEM;
}

void lull_syscall_exit(void)
{
	free_percpu(texts);
}

/*
 * Context: preemption is off, in a thread: an event of another context is not one of a call's
 * entry, so nothing else uses this CPU's strings.
 */
static noinline struct lull_string call_text(struct call *call, unsigned int position)
{
	const char __user *from = (const char __user *)call_argument(call->regs, position);
	char *to = raw_cpu_ptr(texts)->text[call->texts++ % TEXTS_MAX];
	struct lull_string measured = { "(null)", 6 };
	long bytes;

	if (!from)
		return measured;
	pagefault_disable();
	bytes = strncpy_from_user(to, from, PATH_MAX);
	pagefault_enable();
	if (bytes < 0 || bytes == PATH_MAX)
		call->unread |= 1u << position;
	measured.text = bytes < 0 ? "(unreadable)" : to;
	measured.bytes = bytes < 0 ? 12 : (uint32_t)bytes;
	return measured;
}

/* Read the program's pointer at @from. Return: false where that is not in memory. */
static bool pointer_read(const char __user *const __user *from, const char __user **to)
{
	unsigned long left;

	pagefault_disable();
	left = access_ok(from, sizeof(*from)) ? raw_copy_from_user(to, from, sizeof(*to)) :
						sizeof(*to);
	pagefault_enable();
	return !left;
}

/*
 * Read a list of strings that ends with a null pointer into one text, with blanks between them:
 * at most STRINGS_MAX of them, and STRINGS_BYTES of all. call->is_cut: there are more.
 */
static noinline struct lull_string call_strings_read(struct call *call, unsigned int position)
{
	const char __user *const __user *list;
	const char __user *string;
	struct texts *own = raw_cpu_ptr(texts);
	uint32_t i, left = STRINGS_BYTES;
	char *to = own->strings;
	long bytes;

	list = (const char __user *const __user *)call_argument(call->regs, position);
	call->is_cut = false;
	for (i = 0; list; i++) {
		if (!pointer_read(list + i, &string))
			goto unread;
		call->is_cut = string && (i == STRINGS_MAX || !left);
		if (!string || call->is_cut)
			break;
		pagefault_disable();
		bytes = strncpy_from_user(own->string, string, left + 1);
		pagefault_enable();
		if (bytes < 0)
			goto unread;
		call->is_cut = bytes > left;
		bytes = min_t(long, bytes, left);
		if (i)
			*to++ = ' ';
		to = lull_argument_append(to, own->string, (uint32_t)bytes);
		if (call->is_cut)
			break;
		left -= (uint32_t)bytes;
	}
	return (struct lull_string){ own->strings, (uint32_t)(to - own->strings) };
unread:
	call->unread |= 1u << position;
	return (struct lull_string){ own->strings, (uint32_t)(to - own->strings) };
}

/* Read a structure into call->memory. Return: where the program has it. */
static noinline void *call_memory(struct call *call, unsigned int position, uint32_t bytes)
{
	unsigned long from = call_argument(call->regs, position);
	unsigned long left;

	bytes = min_t(uint32_t, bytes, sizeof(call->memory));
	memset(&call->memory, 0, sizeof(call->memory));
	if (!from)
		return NULL;
	pagefault_disable();
	left = access_ok((void __user *)from, bytes) ?
		       raw_copy_from_user(&call->memory, (void __user *)from, bytes) :
		       bytes;
	pagefault_enable();
	if (left) {
		memset(&call->memory, 0, sizeof(call->memory));
		call->unread |= 1u << position;
	}
	return (void *)from;
}

/* Read what a call gave into call->memory; zeros where it gave nothing. Return: call->memory. */
static noinline const union called *call_given(struct call *call, unsigned int position,
					       uint32_t bytes, bool is_given)
{
	if (is_given)
		call_memory(call, position, bytes);
	else
		memset(&call->memory, 0, sizeof(call->memory));
	return &call->memory;
}

/* Read the first elements of a list, of this size each. Return: where the program has it. */
static void *elements_read(struct call *call, unsigned int position, uint64_t count, uint32_t bytes)
{
	void *from;

	call->elements = (uint32_t)min_t(uint64_t, count, CALL_ELEMENTS_MAX);
	from = call_memory(call, position, call->elements * bytes);
	if (!from || call->unread & 1u << position)
		call->elements = 0;
	return from;
}

static noinline void *call_iovec_read(struct call *call, unsigned int position, uint64_t count)
{
	void *from = elements_read(call, position, count, sizeof(struct iovec));
	uint32_t i;

	for (i = 0; i < call->elements; i++)
		call->sizes[i] = call->memory.iovec[i].iov_len;
	return from;
}

static noinline void *call_pollfd_read(struct call *call, unsigned int position, uint32_t count)
{
	void *from = elements_read(call, position, count, sizeof(struct pollfd));
	uint32_t i;

	for (i = 0; i < call->elements; i++) {
		call->fds[i] = call->memory.pollfd[i].fd;
		call->events[i] = (uint16_t)call->memory.pollfd[i].events;
	}
	return from;
}

/* The events of the descriptors that poll() was asked for. Return: how many are kept. */
static noinline uint32_t call_given_revents(struct call *call, unsigned int position,
					    uint32_t count)
{
	uint32_t i;

	elements_read(call, position, count, sizeof(struct pollfd));
	for (i = 0; i < call->elements; i++)
		call->events[i] = (uint16_t)call->memory.pollfd[i].revents;
	return call->elements;
}

static noinline uint32_t call_given_events(struct call *call, unsigned int position, long count)
{
	uint32_t i;

	elements_read(call, position, count < 0 ? 0 : (uint64_t)count, sizeof(struct epoll_event));
	for (i = 0; i < call->elements; i++) {
		call->masks[i] = (uint32_t)call->memory.given_events[i].events;
		call->data[i] = (uint64_t)call->memory.given_events[i].data;
	}
	return call->elements;
}

/* An address that a call gave, and its length beside it. Return: its family. */
static noinline int32_t call_given_address(struct call *call, unsigned int position,
					   unsigned int length, bool is_given)
{
	is_given &= call_argument(call->regs, position) != 0;
	call->given_bytes =
		(uint32_t)call_given(call, length, sizeof(call->memory.number), is_given)->number;
	return call_given(call, position, call->given_bytes, is_given)->un.sun_family;
}

/* Of a socket's address: the port, and where the address itself is. */
static uint16_t call_port(const struct call *call)
{
	switch (call->memory.un.sun_family) {
	case AF_INET:
	case AF_INET6: /* at the same place */
		return ntohs(call->memory.in.sin_port);
	default:
		return 0;
	}
}

static const void *call_address(const struct call *call)
{
	switch (call->memory.un.sun_family) {
	case AF_INET:
		return &call->memory.in.sin_addr;
	case AF_INET6:
		return &call->memory.in6.sin6_addr;
	default:
		return call->memory.un.sun_path;
	}
}

static uint32_t call_address_bytes(const struct call *call, uint32_t given_bytes)
{
	uint32_t before_bytes = offsetof(struct sockaddr_un, sun_path);

	switch (call->memory.un.sun_family) {
	case AF_INET:
		return sizeof(call->memory.in.sin_addr);
	case AF_UNSPEC: /* a null pointer, too */
		return 0;
	case AF_INET6:
		return sizeof(call->memory.in6.sin6_addr);
	default:
		given_bytes = min_t(uint32_t, given_bytes, sizeof(call->memory.un));
		return given_bytes > before_bytes ? given_bytes - before_bytes : 0;
	}
}

/*
 * The exit of each call that gives nothing in memory: a record in this array, and a note that
 * locates it and describes the event. The note stands in the entry's function, so that the two
 * events of a call have identifiers that are next to each other, and those of the calls that the
 * table has first are small.
 */
static struct lull_probe_record exit_records[__NR_syscalls];
#define EXIT_NOTE(name)                                                                          \
	LULL_ASM __volatile__(                                                                   \
		LULL_SITE_NOTE(                                                                  \
			"2", "\t.long %c[record] - .\n",                                         \
			LULL_SITE_TEXT("syscalls:sys_exit_" #name, "\t.ascii \"i64 ret\\n\"\n")) \
		:                                                                                \
		: [record] "i"(&exit_records[__NR_##name]), [level] "i"(LULL_LEVEL_INFO))

/* What each call's entry does. The compiler is to keep the table's order, for the notes. */
#ifdef CONFIG_CC_IS_GCC
#define IN_ORDER __attribute__((__no_reorder__))
#else
#define IN_ORDER
#endif
#define LULL_CALL(name, ...)                                            \
	static void IN_ORDER enter_##name(const struct pt_regs *regs)   \
	{                                                               \
		const struct call call = { .regs = regs };              \
                                                                        \
		(void)call;                                             \
		EXIT_NOTE(name);                                        \
		lull_event("syscalls:sys_enter_" #name, ##__VA_ARGS__); \
	}
#define LULL_CALL_USER(name, ...)                                     \
	static void IN_ORDER enter_##name(const struct pt_regs *regs) \
	{                                                             \
		struct call call;                                     \
                                                                      \
		call.regs = regs;                                     \
		call.texts = 0;                                       \
		call.unread = 0;                                      \
		EXIT_NOTE(name);                                      \
		lull_event("syscalls:sys_enter_" #name, __VA_ARGS__,  \
			   lull_x8(unread, call.unread));             \
	}
/* The same of a call that gives something in memory, whose exit is an event like its entry. */
#define CALL_RESULTS(...) __VA_ARGS__
#define CALL_EXIT(name, results)                                                                 \
	static void IN_ORDER exit_##name(const struct pt_regs *regs, long ret)                   \
	{                                                                                        \
		struct call call;                                                                \
                                                                                                 \
		call.regs = regs;                                                                \
		call.unread = 0;                                                                 \
		lull_event("syscalls:sys_exit_" #name, lull_i64(ret, ret), CALL_RESULTS results, \
			   lull_x8(unread, call.unread));                                        \
	}
#define LULL_CALL_GIVES(name, results, ...)                             \
	CALL_EXIT(name, results)                                        \
	static void IN_ORDER enter_##name(const struct pt_regs *regs)   \
	{                                                               \
		const struct call call = { .regs = regs };              \
                                                                        \
		(void)call;                                             \
		lull_event("syscalls:sys_enter_" #name, ##__VA_ARGS__); \
	}
#define LULL_CALL_USER_GIVES(name, results, ...)                      \
	CALL_EXIT(name, results)                                      \
	static void IN_ORDER enter_##name(const struct pt_regs *regs) \
	{                                                             \
		struct call call;                                     \
                                                                      \
		call.regs = regs;                                     \
		call.texts = 0;                                       \
		call.unread = 0;                                      \
		lull_event("syscalls:sys_enter_" #name, __VA_ARGS__,  \
			   lull_x8(unread, call.unread));             \
	}
#include "syscall/table.h"
#undef LULL_CALL
#undef LULL_CALL_USER
#undef LULL_CALL_GIVES
#undef LULL_CALL_USER_GIVES

#define LULL_CALL(name, ...) [__NR_##name] = enter_##name,
#define LULL_CALL_USER LULL_CALL
#define LULL_CALL_GIVES LULL_CALL
#define LULL_CALL_USER_GIVES LULL_CALL
static void (*const enter_functions[__NR_syscalls])(const struct pt_regs *) = {
#include "syscall/table.h"
};
#undef LULL_CALL
#undef LULL_CALL_USER
#undef LULL_CALL_GIVES
#undef LULL_CALL_USER_GIVES

/* Of calls that give something in memory. */
#define LULL_CALL(name, ...)
#define LULL_CALL_USER(name, ...)
#define LULL_CALL_GIVES(name, ...) [__NR_##name] = exit_##name,
#define LULL_CALL_USER_GIVES LULL_CALL_GIVES
static void (*const exit_functions[__NR_syscalls])(const struct pt_regs *, long) = {
#include "syscall/table.h"
};
#undef LULL_CALL
#undef LULL_CALL_USER
#undef LULL_CALL_GIVES
#undef LULL_CALL_USER_GIVES

/* Return: the call's number, or -1 where the table has no such call. */
static __always_inline long number_known(long number)
{
	if (unlikely((unsigned long)number >= __NR_syscalls || lull_call_is_32bit()))
		return -1;
	number = array_index_nospec(number, __NR_syscalls);
	return likely(enter_functions[number]) ? number : -1;
}

static noinline void enter_unknown(struct pt_regs *regs, long id)
{
	unsigned long arguments[6];

	syscall_get_arguments(current, regs, arguments);
	lull_event("raw_syscalls:sys_enter", lull_i64(id, id),
		   lull_bool(compat, in_compat_syscall()), lull_au64(args, arguments, 6));
}

static void probe_sys_enter(void *data, struct pt_regs *regs, long id)
{
	long number = number_known(id);

	if (likely(number >= 0))
		enter_functions[number](regs);
	else
		enter_unknown(regs, id);
}

static __always_inline void exit_write(long ret, struct lull_probe_record *lull_record_)
{
	if (LULL_MASK_READ(lull_record_, __ATOMIC_RELAXED)) {
		LULL_PROBE("", lull_i64(ret, ret))
	}
}

static noinline void exit_unknown(long id, long ret)
{
	lull_event("raw_syscalls:sys_exit", lull_i64(id, id),
		   lull_bool(compat, in_compat_syscall()), lull_i64(ret, ret));
}

static void probe_sys_exit(void *data, struct pt_regs *regs, long ret)
{
	long id = syscall_get_nr(current, regs);
	long number = number_known(id);

	if (unlikely(number < 0))
		exit_unknown(id, ret);
	else if (unlikely(exit_functions[number]))
		exit_functions[number](regs, ret);
	else
		exit_write(ret, &exit_records[number]);
}

#define LULL_CALL(name, ...)                                                            \
	LULL_TRACEPOINT_EVENT(sys_enter, "syscalls:sys_enter_" #name, probe_sys_enter); \
	LULL_TRACEPOINT_EVENT(sys_exit, "syscalls:sys_exit_" #name, probe_sys_exit);
#define LULL_CALL_USER LULL_CALL
#define LULL_CALL_GIVES LULL_CALL
#define LULL_CALL_USER_GIVES LULL_CALL
#include "syscall/table.h"
LULL_TRACEPOINT_EVENT(sys_enter, "raw_syscalls:sys_enter", probe_sys_enter);
LULL_TRACEPOINT_EVENT(sys_exit, "raw_syscalls:sys_exit", probe_sys_exit);
