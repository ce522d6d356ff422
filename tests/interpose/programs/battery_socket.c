/* SPDX-License-Identifier: MIT */
/* Results and errno of sockets and of waiting for descriptors. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "show.h"

static void connections(int family, struct sockaddr *address, socklen_t bytes)
{
	int server = socket(family, SOCK_STREAM, 0), client, peer;
	struct sockaddr_storage from;
	socklen_t from_bytes = sizeof(from);
	char text[16];

	SHOW(server);
	SHOW(bind(server, address, bytes));
	SHOW(bind(server, bad_pointer(), bytes));
	SHOW(listen(server, 4));
	getsockname(server, address, &bytes);
	SHOW(client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	SHOW(connect(client, address, bytes));
	SHOW(connect(client, bad_pointer(), bytes));
	SHOW(connect(client, null_pointer(), 0));
	SHOW(connect(client, bad_pointer(), 100000));
	SHOW(connect(client, bad_pointer(), (socklen_t)-1));
	SHOW(bind(client, bad_pointer(), 100000));
	SHOW(bind(-1, bad_pointer(), bytes));
	SHOW(connect(-1, bad_pointer(), bytes));
	SHOW(peer = accept(server, (struct sockaddr *)&from, &from_bytes));
	SHOW(from.ss_family);
	SHOW(send(client, "hello", 5, 0));
	SHOW(recv(peer, text, 2, MSG_PEEK));
	SHOW(recvfrom(peer, text, sizeof(text), 0, NULL, NULL));
	SHOW(memcmp(text, "hello", 5));
	SHOW(recv(peer, text, 1, MSG_DONTWAIT));
	SHOW(shutdown(client, SHUT_WR));
	SHOW(recv(peer, text, 1, 0));
	SHOW(send(peer, bad_pointer(), 5, 0));
	SHOW(close(peer));
	SHOW(send(client, "x", 1, MSG_NOSIGNAL));
	SHOW(close(client));
	fcntl(server, F_SETFL, O_NONBLOCK);
	SHOW(accept4(server, NULL, NULL, SOCK_CLOEXEC));
	SHOW(accept(server, bad_pointer(), bad_pointer()));
	SHOW(close(server));
	SHOW(connect(socket(family, SOCK_STREAM, 0), address, bytes));
}

static void datagrams(void)
{
	char one[4] = "abc", two[4] = "";
	struct iovec vector = { one, sizeof(one) };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	struct mmsghdr messages[2] = { { .msg_hdr = message }, { .msg_hdr = message } };
	int fds[2];

	/* First, for the kernel may write the numbers of descriptors that it then closes. */
	SHOW(socketpair(AF_INET, SOCK_STREAM, 0, fds));
	SHOW(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	SHOW(sendmsg(fds[0], &message, 0));
	SHOW(sendmmsg(fds[0], messages, 2, 0));
	SHOW(sendto(fds[0], one, 3, 0, NULL, 0));
	vector.iov_base = two;
	SHOW(recvmsg(fds[1], &message, 0));
	SHOW(memcmp(one, two, 4));
	SHOW(recvmmsg(fds[1], messages, 2, 0, NULL));
	SHOW(recvmsg(fds[1], bad_pointer(), 0));
	SHOW(recv(fds[1], two, 4, 0));
	SHOW(recvmsg(fds[1], &message, MSG_DONTWAIT));
	SHOW(socket(AF_INET, 999, 0));
	SHOW(close(fds[0]));
	SHOW(close(fds[1]));
}

static void readiness(void)
{
	struct timespec zero = { 0, 0 };
	struct timeval none = { 0, 0 };
	struct epoll_event event = { .events = EPOLLIN }, ready[2];
	struct pollfd wanted;
	uint64_t count = 1;
	fd_set set;
	int fd, epoll;

	SHOW(fd = eventfd(0, EFD_NONBLOCK));
	SHOW(epoll = epoll_create1(EPOLL_CLOEXEC));
	SHOW(epoll_create(0));
	SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	wanted = (struct pollfd){ .fd = fd, .events = POLLIN };
	SHOW(poll(&wanted, 1, 0));
	SHOW(epoll_wait(epoll, ready, 2, 0));
	SHOW(write(fd, &count, sizeof(count)));
	SHOW(poll(&wanted, 1, -1));
	SHOW(ppoll(&wanted, 1, &zero, NULL));
	SHOW(ppoll(&wanted, 1, NULL, NULL));
	SHOW(poll(bad_pointer(), 1, 0));
	SHOW(epoll_wait(epoll, ready, 2, -1));
	SHOW(epoll_pwait(epoll, ready, 2, -1, NULL));
	SHOW(epoll_pwait2(epoll, ready, 2, &zero, NULL));
	SHOW(epoll_wait(epoll, ready, 0, 0));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	SHOW(select(fd + 1, &set, NULL, NULL, &none));
	SHOW(pselect(fd + 1, &set, NULL, NULL, &zero, NULL));
	SHOW(select(0, NULL, NULL, NULL, &none));
	/*
	 * A closed descriptor that the process has had: the kernel ignores those above its
	 * table, whose size depends on what the parent had open.
	 */
	SHOW(close(epoll));
	FD_SET(epoll, &set);
	SHOW(select(epoll + 1, &set, NULL, NULL, NULL));
	SHOW(close(fd));
}

int main(void)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "socket" };
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	struct sockaddr_in inet = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	snprintf(abstract.sun_path + 1, 64, "lull-test-%d", getpid());
	connections(AF_UNIX, (struct sockaddr *)&local, sizeof(local));
	connections(AF_UNIX, (struct sockaddr *)&abstract, sizeof(abstract));
	connections(AF_INET, (struct sockaddr *)&inet, sizeof(inet));
	datagrams();
	readiness();
	return 0;
}
