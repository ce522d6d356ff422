// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets that have a descriptor: kind, state, addresses.
 *
 * The file is open while its socket is copied, so that the socket stays; what is in it may change,
 * and a change that the copy meets half-way is told by an event, too.
 */
#include <linux/net.h>
#include <linux/sched.h>
#include <net/af_unix.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include "dump/record.h"
#include "dump/socket.h"

static void unix_copy(const struct sock *sock, struct lull_dump_socket *found)
{
	/* Set once, and freed with the socket. */
	const struct unix_address *address = smp_load_acquire(&unix_sk(sock)->addr);
	int before_bytes = offsetof(struct sockaddr_un, sun_path);

	if (!address || address->len <= before_bytes)
		return;
	found->local_bytes = min_t(int, address->len - before_bytes, sizeof(found->local));
	memcpy(found->local, address->name->sun_path, found->local_bytes);
}

static void inet_copy(const struct sock *sock, struct lull_dump_socket *found)
{
	const struct inet_sock *inet = inet_sk(sock);

	found->local_port = ntohs(READ_ONCE(inet->inet_sport));
	found->remote_port = ntohs(READ_ONCE(inet->inet_dport));
	if (found->family == AF_INET) {
		found->local_bytes = found->remote_bytes = sizeof(inet->inet_rcv_saddr);
		memcpy(found->local, &inet->inet_rcv_saddr, found->local_bytes);
		memcpy(found->remote, &inet->inet_daddr, found->remote_bytes);
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (found->family == AF_INET6) {
		found->local_bytes = found->remote_bytes = sizeof(sock->sk_v6_daddr);
		memcpy(found->local, &sock->sk_v6_rcv_saddr, found->local_bytes);
		memcpy(found->remote, &sock->sk_v6_daddr, found->remote_bytes);
	}
#endif
}

void lull_dump_socket_copy(struct file *file, struct lull_dump_socket *found)
{
	const struct socket *socket = sock_from_file(file);
	const struct sock *sock = socket ? READ_ONCE(socket->sk) : NULL;

	*found = (struct lull_dump_socket){ .is_there = sock != NULL };
	if (!sock)
		return;
	found->family = sock->sk_family;
	found->type = sock->sk_type;
	found->protocol = sock->sk_protocol;
	found->state = READ_ONCE(sock->sk_state);
	if (found->family == AF_UNIX)
		unix_copy(sock, found);
	else if (found->family == AF_INET || found->family == AF_INET6)
		inet_copy(sock, found);
}

void lull_dump_socket_record(struct dump *dump, const struct task_struct *task, unsigned int fd,
			     const struct lull_dump_socket *found)
{
	LULL_DUMP_EVENT(&dump->counts[DUMP_SOCKET], "state:socket", lull_i32(pid, task->tgid),
			lull_i32(fd, (int)fd), lull_u16(family, found->family),
			lull_u16(type, found->type), lull_u16(protocol, found->protocol),
			lull_u8(state, found->state), lull_u16(local_port, found->local_port),
			lull_u16(remote_port, found->remote_port),
			lull_bytes(local_address, found->local, found->local_bytes),
			lull_bytes(remote_address, found->remote, found->remote_bytes));
}
