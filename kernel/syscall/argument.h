/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of arguments in table.h: each becomes one or several fields of a call's event.
 *
 * Memory of the program's is read without faulting: a page that is not in memory is not brought in.
 * What could not be read is told: a string is "(unreadable)", a structure is all zeros, and the
 * event's field unread has the bit of the argument's position. A null pointer is no fault: a string
 * is "(null)", a structure zeros.
 * Of lists, the first elements are read; how many there are is another argument of the call. A list
 * of strings ends with a null pointer, and the event says whether it goes on behind what is there.
 *
 * What a call gives back in memory is read at its exit, in the same way, where its result says that
 * it was given; it is zeros elsewhere. Other threads of the program may have changed it by then.
 */
#ifndef LULL_SYSCALL_ARGUMENT_H
#define LULL_SYSCALL_ARGUMENT_H

#include <linux/eventpoll.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/openat2.h>
#include <linux/poll.h>
#include <linux/resource.h>
#include <linux/sched/types.h>
#include <linux/signal.h>
#include <linux/socket.h>
#include <linux/stat.h>
#include <linux/time_types.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/un.h>
#include <asm/unistd.h>
#include "event.h"
#include "syscall/flags.h"
#include "syscall/names.h"

/* Elements of a list that an event has. */
#define CALL_ELEMENTS_MAX 8

/* One call while its event is made. */
struct call {
	const struct pt_regs *regs;
	uint32_t texts; /* how many strings it has so far */
	uint32_t elements; /* of the list that was read last */
	uint8_t unread; /* bit i: the memory that argument i leads to */
	bool is_cut; /* the list of strings that was read last goes on */
	uint32_t given_bytes; /* of the socket's address that was read last */
	union {
		struct {
			uint64_t data[CALL_ELEMENTS_MAX];
			uint32_t masks[CALL_ELEMENTS_MAX];
		};
		uint64_t sizes[CALL_ELEMENTS_MAX];
		struct {
			int32_t fds[CALL_ELEMENTS_MAX];
			uint16_t events[CALL_ELEMENTS_MAX];
		};
	}; /* the list's elements */
	union called {
		struct __kernel_timespec timespec;
		struct __kernel_itimerspec itimerspec;
		struct __kernel_old_timeval timeval;
		struct __kernel_old_itimerval itimerval;
		struct rlimit64 rlimit;
		struct open_how open_how;
		struct clone_args clone_args;
		struct epoll_event epoll_event;
		struct sigaction sigaction;
		struct user_msghdr msghdr;
		struct iovec iovec[CALL_ELEMENTS_MAX];
		struct pollfd pollfd[CALL_ELEMENTS_MAX];
		uint64_t sigset;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct stat stat;
		struct epoll_event given_events[CALL_ELEMENTS_MAX];
		int32_t pair[2];
		int32_t number;
		unsigned char bytes[sizeof(struct sockaddr_un)];
	} memory; /* what call_memory() read last */
};

/* Argument 0 to 5, as the machine passes it to a system call. */
static __always_inline unsigned long call_argument(const struct pt_regs *regs,
						   unsigned int position)
{
#if defined(CONFIG_X86_64)
	switch (position) {
	case 0:
		return regs->di;
	case 1:
		return regs->si;
	case 2:
		return regs->dx;
	case 3:
		return regs->r10;
	case 4:
		return regs->r8;
	default:
		return regs->r9;
	}
#elif defined(CONFIG_ARM64)
	return position ? regs->regs[position] : regs->orig_x0;
#else
#error "how does this machine pass the arguments of a system call?"
#endif
}

/* Each family has numbers of its own for its protocols. Return: -1 where it is none of IP's. */
static __always_inline int32_t call_ip_protocol(unsigned long family, unsigned long protocol)
{
	bool is_ip = (int32_t)family == AF_INET || (int32_t)family == AF_INET6;

	return is_ip ? (int32_t)protocol : -1;
}

/* The kind TEXT: a string that is measured already, in memory that nobody changes. */
#define LULL_CHECK_LULL_TEXT(text)
#define LULL_VARIABLE_LULL_TEXT(variable, ...) struct lull_string variable;
#define LULL_VALUE_LULL_TEXT(variable, text) variable = text
#define LULL_BYTES_LULL_TEXT(variable, ...) variable.bytes + 1u
#define LULL_STORE_LULL_TEXT(variable, ...)                        \
	__builtin_memcpy(lull_at_, variable.text, variable.bytes); \
	lull_at_ += variable.bytes;                                \
	*lull_at_++ = 0;
#define LULL_INPUT_LULL_TEXT(variable, ...) variable.bytes, (uintptr_t)variable.text

#define CALL(position) call_argument(call.regs, position)
#define call_i32(name, position) lull_i32(name, (int32_t)CALL(position))
#define call_i64(name, position) lull_i64(name, (int64_t)CALL(position))
#define call_u32(name, position) lull_u32(name, (uint32_t)CALL(position))
#define call_u64(name, position) lull_u64(name, (uint64_t)CALL(position))
#define call_x16(name, position) lull_x16(name, (uint16_t)CALL(position))
#define call_x32(name, position) lull_x32(name, (uint32_t)CALL(position))
#define call_x64(name, position) lull_x64(name, (uint64_t)CALL(position))
#define call_ptr(name, position) lull_ptr(name, (void *)CALL(position))
#define call_enum(name, position, names) lull_enum(name, (int32_t)CALL(position), names)
/* A descriptor of a folder, or the number that stands for the current one. */
#define call_folder(name, position) call_enum(name, position, CALL_FOLDER)
/* A socket's protocol; the names are those of the internet's families. */
#define call_protocol(name, position, family)                                        \
	call_i32(name, position),                                                    \
		lull_enum(name##_ip, call_ip_protocol(CALL(family), CALL(position)), \
			  CALL_NAMES(CALL_IP_PROTOCOL))
#define call_flags32(name, position, list) \
	lull_flags32(name, (uint32_t)CALL(position), CALL_NAMES(list))
#define call_flags64(name, position, list) \
	lull_flags64(name, (uint64_t)CALL(position), CALL_NAMES(list))
#define call_str(name, position) \
	(LULL_TEXT, "str " #name, name##_lull_, 1, "", call_text(&call, position))

/* The strings of a program, as one; whether they go on behind it. */
#define call_strings(name, position)                                        \
	call_ptr(name, position),                                           \
		(LULL_TEXT, "str " #name "_text", name##_text_lull_, 1, "", \
		 call_strings_read(&call, position)),                       \
		lull_bool(name##_is_cut, call.is_cut)

/* Lists: the pointer under the argument's name, then an array for each member that matters. */
#define call_iovec(name, position, count)                                        \
	lull_ptr(name, call_iovec_read(&call, position, (uint64_t)CALL(count))), \
		lull_au64(name##_len, call.sizes, call.elements)
#define call_pollfd(name, position, count)                                        \
	lull_ptr(name, call_pollfd_read(&call, position, (uint32_t)CALL(count))), \
		lull_ai32(name##_fd, call.fds, call.elements),                    \
		lull_au16(name##_events, call.events, call.elements)

/* Structures: the pointer under the argument's name, then members under NAME_MEMBER. */
#define CALL_MEMORY(name, position, member) \
	lull_ptr(name, call_memory(&call, position, sizeof(call.memory.member)))
#define call_timespec(name, position)                                                             \
	CALL_MEMORY(name, position, timespec), lull_i64(name##_sec, call.memory.timespec.tv_sec), \
		lull_i64(name##_nsec, call.memory.timespec.tv_nsec)
#define call_timeval(name, position)                                                            \
	CALL_MEMORY(name, position, timeval), lull_i64(name##_sec, call.memory.timeval.tv_sec), \
		lull_i64(name##_usec, call.memory.timeval.tv_usec)
#define call_itimerspec(name, position)                                                     \
	CALL_MEMORY(name, position, itimerspec),                                            \
		lull_i64(name##_interval_sec, call.memory.itimerspec.it_interval.tv_sec),   \
		lull_i64(name##_interval_nsec, call.memory.itimerspec.it_interval.tv_nsec), \
		lull_i64(name##_value_sec, call.memory.itimerspec.it_value.tv_sec),         \
		lull_i64(name##_value_nsec, call.memory.itimerspec.it_value.tv_nsec)
#define call_itimerval(name, position)                                                     \
	CALL_MEMORY(name, position, itimerval),                                            \
		lull_i64(name##_interval_sec, call.memory.itimerval.it_interval.tv_sec),   \
		lull_i64(name##_interval_usec, call.memory.itimerval.it_interval.tv_usec), \
		lull_i64(name##_value_sec, call.memory.itimerval.it_value.tv_sec),         \
		lull_i64(name##_value_usec, call.memory.itimerval.it_value.tv_usec)
#define call_rlimit(name, position)                                                             \
	CALL_MEMORY(name, position, rlimit), lull_u64(name##_cur, call.memory.rlimit.rlim_cur), \
		lull_u64(name##_max, call.memory.rlimit.rlim_max)
#define call_sigset(name, position) \
	CALL_MEMORY(name, position, sigset), lull_x64(name##_mask, call.memory.sigset)
#define call_sigaction(name, position)                                                \
	CALL_MEMORY(name, position, sigaction),                                       \
		lull_x64(name##_handler, (uint64_t)call.memory.sigaction.sa_handler), \
		lull_flags64(name##_flags, call.memory.sigaction.sa_flags,            \
			     CALL_NAMES(CALL_SIGACTION))
#define call_open_how(name, position)                                                          \
	CALL_MEMORY(name, position, open_how),                                                 \
		lull_flags64(name##_flags, call.memory.open_how.flags, CALL_NAMES(CALL_OPEN)), \
		lull_x64(name##_mode, call.memory.open_how.mode),                              \
		lull_flags64(name##_resolve, call.memory.open_how.resolve,                     \
			     CALL_NAMES(CALL_RESOLVE))
#define call_clone_args(name, position)                                                           \
	lull_ptr(name, call_memory(&call, position, CLONE_ARGS_SIZE_VER0)),                       \
		lull_flags64(name##_flags, call.memory.clone_args.flags, CALL_NAMES(CALL_CLONE)), \
		lull_u64(name##_exit_signal, call.memory.clone_args.exit_signal),                 \
		lull_x64(name##_stack, call.memory.clone_args.stack),                             \
		lull_u64(name##_stack_size, call.memory.clone_args.stack_size)
#define call_epoll_event(name, position)                                              \
	CALL_MEMORY(name, position, epoll_event),                                     \
		lull_flags32(name##_events, (uint32_t)call.memory.epoll_event.events, \
			     CALL_NAMES(CALL_EVENTS)),                                \
		lull_x64(name##_data, (uint64_t)call.memory.epoll_event.data)
#define call_msghdr(name, position)                                               \
	CALL_MEMORY(name, position, msghdr),                                      \
		lull_i32(name##_namelen, call.memory.msghdr.msg_namelen),         \
		lull_u64(name##_iovlen, (uint64_t)call.memory.msghdr.msg_iovlen), \
		lull_u64(name##_controllen, (uint64_t)call.memory.msghdr.msg_controllen)
#define call_sockaddr(name, position, length)                                     \
	lull_ptr(name, call_memory(&call, position, (uint32_t)CALL(length))),     \
		lull_enum(name##_family, call.memory.un.sun_family, CALL_FAMILY), \
		lull_u16(name##_port, call_port(&call)),                          \
		lull_bytes(name##_address, call_address(&call),                   \
			   call_address_bytes(&call, (uint32_t)CALL(length)))

/* Results: the call's result is the variable ret. */
#define GIVEN(position, bytes, is_given) call_given(&call, position, bytes, is_given)
#define given_stat(name, position)                                                               \
	lull_u64(name##_dev, GIVEN(position, sizeof(struct stat), ret >= 0)->stat.st_dev),       \
		lull_u64(name##_ino, call.memory.stat.st_ino),                                   \
		lull_flags32(name##_mode, call.memory.stat.st_mode, CALL_NAMES(CALL_FILE_TYPE)), \
		lull_i64(name##_size, call.memory.stat.st_size)
/* Of this structure, what is before the times; it lies where `bytes` is. */
#define GIVEN_STATX ((const struct statx *)(const void *)call.memory.bytes)
#define given_statx(name, position)                                                           \
	lull_flags32(name##_mask,                                                             \
		     (GIVEN(position, offsetof(struct statx, stx_atime), ret >= 0),           \
		      GIVEN_STATX->stx_mask),                                                 \
		     CALL_NAMES(CALL_STATX)),                                                 \
		lull_u64(name##_ino, GIVEN_STATX->stx_ino),                                   \
		lull_flags32(name##_mode, GIVEN_STATX->stx_mode, CALL_NAMES(CALL_FILE_TYPE)), \
		lull_i64(name##_size, (int64_t)GIVEN_STATX->stx_size)
#define given_timespec(name, position)                                                      \
	lull_i64(name##_sec,                                                                \
		 GIVEN(position, sizeof(call.memory.timespec), ret >= 0)->timespec.tv_sec), \
		lull_i64(name##_nsec, call.memory.timespec.tv_nsec)
/* The rest of a sleep that a signal ended. */
#define given_rest(name, position)                                                 \
	lull_i64(name##_sec, GIVEN(position, sizeof(call.memory.timespec),         \
				   ret == -EINTR || ret == -ERESTART_RESTARTBLOCK) \
				     ->timespec.tv_sec),                           \
		lull_i64(name##_nsec, call.memory.timespec.tv_nsec)
#define given_pair(name, position, first, second)                                               \
	lull_i32(name##_##first, GIVEN(position, sizeof(call.memory.pair), ret >= 0)->pair[0]), \
		lull_i32(name##_##second, call.memory.pair[1])
#define given_status(name, position) \
	lull_x32(name##_status,      \
		 (uint32_t)GIVEN(position, sizeof(call.memory.number), ret > 0)->number)
#define given_sockaddr(name, position, length)                                          \
	lull_enum(name##_family, call_given_address(&call, position, length, ret >= 0), \
		  CALL_FAMILY),                                                         \
		lull_u16(name##_port, call_port(&call)),                                \
		lull_bytes(name##_address, call_address(&call),                         \
			   call_address_bytes(&call, call.given_bytes))
/* An array's address and its count may be evaluated in either order: the count reads. */
#define given_epoll_events(name, position)                                             \
	lull_au32(name##_events, call.masks, call_given_events(&call, position, ret)), \
		lull_au64(name##_data, call.data, call.elements)
#define given_pollfd(name, position, count)    \
	lull_au16(name##_revents, call.events, \
		  call_given_revents(&call, position, ret < 0 ? 0 : (uint32_t)CALL(count)))

#endif
