/* SPDX-License-Identifier: MIT */
/*
 * io: sockets.
 *
 * Addresses are recorded as text, at the exit of the call that used them (address.h).
 */
#include "interpose.h"
#include <sys/socket.h>
#include "address.h"

IMMEDIATE("io:socket", socket, int, (int family, int type, int protocol), (family, type, protocol),
	  lull_i32(family, family), lull_x32(type, type), lull_i32(protocol, protocol))
IMMEDIATE("io:socketpair", socketpair, int, (int family, int type, int protocol, int fds[2]),
	  (family, type, protocol, fds), lull_i32(family, family), lull_x32(type, type),
	  lull_i32(first_fd, stored_after(&fds[0], result)),
	  lull_i32(second_fd, stored_after(&fds[1], result)))
IMMEDIATE("io:listen", listen, int, (int fd, int backlog), (fd, backlog), lull_i32(fd, fd),
	  lull_i32(backlog, backlog))
IMMEDIATE("io:shutdown", shutdown, int, (int fd, int how), (fd, how), lull_i32(fd, fd),
	  lull_i32(how, how))

INTERPOSE(bind, int, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes))
{
	struct address_text text;
	int result = REAL(bind)(fd, address, bytes);

	EVENT("io:bind", lull_i32(fd, fd),
	      lull_str(address, lull_address_text(&text, address.__sockaddr__, bytes, result)),
	      lull_i64(result, result), ERROR_FIELD(result));
	return result;
}

INTERPOSE(connect, int, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes))
{
	struct address_text text;
	int result;

	EVENT("io:connect_entry", lull_i32(fd, fd));
	result = REAL(connect)(fd, address, bytes);
	EVENT("io:connect_exit",
	      lull_str(address, lull_address_text(&text, address.__sockaddr__, bytes, result)),
	      lull_i64(result, result), ERROR_FIELD(result));
	return result;
}

static inline __attribute__((always_inline)) void accept_entry(int fd)
{
	EVENT("io:accept_entry", lull_i32(fd, fd));
}

static inline __attribute__((always_inline)) int accept_exit(const struct sockaddr *address,
							     const socklen_t *bytes, int result)
{
	struct address_text text;

	EVENT("io:accept_exit",
	      lull_str(address, lull_address_text(&text, result < 0 ? NULL : address,
						  address && result >= 0 ? *bytes : 0, result)),
	      lull_i64(result, result), ERROR_FIELD(result));
	return result;
}

INTERPOSE(accept, int, (int fd, __SOCKADDR_ARG address, socklen_t *bytes))
{
	accept_entry(fd);
	return accept_exit(address.__sockaddr__, bytes, REAL(accept)(fd, address, bytes));
}

INTERPOSE(accept4, int, (int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags))
{
	accept_entry(fd);
	return accept_exit(address.__sockaddr__, bytes, REAL(accept4)(fd, address, bytes, flags));
}

BLOCKING("io:send", send, ssize_t, (int fd, const void *buffer, size_t count, int flags),
	 (fd, buffer, count, flags), lull_i32(fd, fd), lull_u64(count, count),
	 lull_x32(flags, flags))
BLOCKING("io:sendto", sendto, ssize_t,
	 (int fd, const void *buffer, size_t count, int flags, __CONST_SOCKADDR_ARG address,
	  socklen_t bytes),
	 (fd, buffer, count, flags, address, bytes), lull_i32(fd, fd), lull_u64(count, count),
	 lull_x32(flags, flags))
BLOCKING("io:sendmsg", sendmsg, ssize_t, (int fd, const struct msghdr *message, int flags),
	 (fd, message, flags), lull_i32(fd, fd), lull_x32(flags, flags))
BLOCKING("io:sendmmsg", sendmmsg, int,
	 (int fd, struct mmsghdr *messages, unsigned int message_count, int flags),
	 (fd, messages, message_count, flags), lull_i32(fd, fd),
	 lull_u32(message_count, message_count), lull_x32(flags, flags))

BLOCKING("io:recv", recv, ssize_t, (int fd, void *buffer, size_t count, int flags),
	 (fd, buffer, count, flags), lull_i32(fd, fd), lull_u64(count, count),
	 lull_x32(flags, flags))
BLOCKING("io:recvfrom", recvfrom, ssize_t,
	 (int fd, void *buffer, size_t count, int flags, __SOCKADDR_ARG address, socklen_t *bytes),
	 (fd, buffer, count, flags, address, bytes), lull_i32(fd, fd), lull_u64(count, count),
	 lull_x32(flags, flags))
BLOCKING("io:recvmsg", recvmsg, ssize_t, (int fd, struct msghdr *message, int flags),
	 (fd, message, flags), lull_i32(fd, fd), lull_x32(flags, flags))
BLOCKING("io:recvmmsg", recvmmsg, int,
	 (int fd, struct mmsghdr *messages, unsigned int message_count, int flags,
	  struct timespec *timeout),
	 (fd, messages, message_count, flags, timeout), lull_i32(fd, fd),
	 lull_u32(message_count, message_count), lull_x32(flags, flags))

FORTIFIED(__recv_chk, ssize_t, (int fd, void *buffer, size_t count, size_t buffer_bytes, int flags),
	  (fd, buffer, count, buffer_bytes, flags), count <= buffer_bytes,
	  recv(fd, buffer, count, flags))
FORTIFIED(__recvfrom_chk, ssize_t,
	  (int fd, void *buffer, size_t count, size_t buffer_bytes, int flags,
	   __SOCKADDR_ARG address, socklen_t *bytes),
	  (fd, buffer, count, buffer_bytes, flags, address, bytes), count <= buffer_bytes,
	  recvfrom(fd, buffer, count, flags, address, bytes))
