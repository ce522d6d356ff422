/* SPDX-License-Identifier: MIT */
/*
 * io: waiting until descriptors are ready (poll, select, epoll).
 *
 * Times to wait are in milliseconds where the function takes milliseconds. A struct timespec or
 * timeval is not read before the call, and some of these functions change it: the events of such
 * functions tell only whether there is a limit.
 */
#include "interpose.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

BLOCKING("io:poll", poll, int, (struct pollfd * fds, nfds_t fd_count, int timeout_ms),
	 (fds, fd_count, timeout_ms), lull_u64(fd_count, fd_count),
	 lull_i32(timeout_ms, timeout_ms))
BLOCKING("io:ppoll", ppoll, int,
	 (struct pollfd * fds, nfds_t fd_count, const struct timespec *timeout,
	  const sigset_t *signals),
	 (fds, fd_count, timeout, signals), lull_u64(fd_count, fd_count),
	 lull_bool(limited, timeout != NULL))
FORTIFIED(__poll_chk, int, (struct pollfd * fds, nfds_t fd_count, int timeout_ms, size_t fds_bytes),
	  (fds, fd_count, timeout_ms, fds_bytes), fd_count <= fds_bytes / sizeof(*fds),
	  poll(fds, fd_count, timeout_ms))
FORTIFIED(__ppoll_chk, int,
	  (struct pollfd * fds, nfds_t fd_count, const struct timespec *timeout,
	   const sigset_t *signals, size_t fds_bytes),
	  (fds, fd_count, timeout, signals, fds_bytes), fd_count <= fds_bytes / sizeof(*fds),
	  ppoll(fds, fd_count, timeout, signals))

BLOCKING("io:select", select, int,
	 (int fd_limit, fd_set *readable, fd_set *writable, fd_set *exceptional,
	  struct timeval *timeout),
	 (fd_limit, readable, writable, exceptional, timeout), lull_i32(fd_limit, fd_limit),
	 lull_bool(limited, timeout != NULL))
BLOCKING("io:pselect", pselect, int,
	 (int fd_limit, fd_set *readable, fd_set *writable, fd_set *exceptional,
	  const struct timespec *timeout, const sigset_t *signals),
	 (fd_limit, readable, writable, exceptional, timeout, signals),
	 lull_i32(fd_limit, fd_limit), lull_bool(limited, timeout != NULL))

BLOCKING("io:epoll_wait", epoll_wait, int,
	 (int fd, struct epoll_event *events, int event_limit, int timeout_ms),
	 (fd, events, event_limit, timeout_ms), lull_i32(fd, fd),
	 lull_i32(event_limit, event_limit), lull_i32(timeout_ms, timeout_ms))
BLOCKING("io:epoll_pwait", epoll_pwait, int,
	 (int fd, struct epoll_event *events, int event_limit, int timeout_ms,
	  const sigset_t *signals),
	 (fd, events, event_limit, timeout_ms, signals), lull_i32(fd, fd),
	 lull_i32(event_limit, event_limit), lull_i32(timeout_ms, timeout_ms))
BLOCKING("io:epoll_pwait2", epoll_pwait2, int,
	 (int fd, struct epoll_event *events, int event_limit, const struct timespec *timeout,
	  const sigset_t *signals),
	 (fd, events, event_limit, timeout, signals), lull_i32(fd, fd),
	 lull_i32(event_limit, event_limit), lull_bool(limited, timeout != NULL))

IMMEDIATE("io:epoll_create", epoll_create, int, (int size), (size), lull_i32(size, size))
IMMEDIATE("io:epoll_create1", epoll_create1, int, (int flags), (flags), lull_x32(flags, flags))
IMMEDIATE("io:eventfd", eventfd, int, (unsigned int count, int flags), (count, flags),
	  lull_u32(count, count), lull_x32(flags, flags))
CHATTY("io:epoll_ctl", epoll_ctl, int,
       (int fd, int operation, int watched_fd, struct epoll_event *event),
       (fd, operation, watched_fd, event), lull_i32(fd, fd), lull_i32(operation, operation),
       lull_i32(watched_fd, watched_fd))
