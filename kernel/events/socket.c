// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets and the protocols above devices.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <net/inet_sock.h>
#include <net/tcp.h>
#include <trace/events/sock.h>
#include <trace/events/tcp.h>
#include <trace/events/udp.h>
#include "events/fields.h"

/* The two ends of a connection, as the kernel's own events have them. */
struct ends {
	uint16_t sport, dport;
	uint8_t saddr[4], daddr[4];
	uint8_t saddr_v6[16], daddr_v6[16];
};

/* An IPv4 address within IPv6: ::ffff:A.B.C.D. */
static __always_inline void address_map(uint8_t to[16], const uint8_t from[4])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	__builtin_memcpy(to, prefix, 12);
	__builtin_memcpy(to + 12, from, 4);
}

static __always_inline struct ends ends_of(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct ends ends = { .sport = ntohs(inet->inet_sport), .dport = ntohs(inet->inet_dport) };

	__builtin_memcpy(ends.saddr, &inet->inet_saddr, 4);
	__builtin_memcpy(ends.daddr, &inet->inet_daddr, 4);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		__builtin_memcpy(ends.saddr_v6, &sk->sk_v6_rcv_saddr, 16);
		__builtin_memcpy(ends.daddr_v6, &sk->sk_v6_daddr, 16);
		return ends;
	}
#endif
	address_map(ends.saddr_v6, ends.saddr);
	address_map(ends.daddr_v6, ends.daddr);
	return ends;
}

static __always_inline struct ends ends_of_request(const struct sock *sk,
						   const struct request_sock *req)
{
	const struct inet_request_sock *ireq = inet_rsk(req);
	struct ends ends = { .sport = ireq->ir_num, .dport = ntohs(ireq->ir_rmt_port) };

	__builtin_memcpy(ends.saddr, &ireq->ir_loc_addr, 4);
	__builtin_memcpy(ends.daddr, &ireq->ir_rmt_addr, 4);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		__builtin_memcpy(ends.saddr_v6, &ireq->ir_v6_loc_addr, 16);
		__builtin_memcpy(ends.daddr_v6, &ireq->ir_v6_rmt_addr, 16);
		return ends;
	}
#endif
	address_map(ends.saddr_v6, ends.saddr);
	address_map(ends.daddr_v6, ends.daddr);
	return ends;
}

#define ENDS_FIELDS                                                         \
	lull_bytes(saddr, ends.saddr, 4), lull_bytes(daddr, ends.daddr, 4), \
		lull_bytes(saddr_v6, ends.saddr_v6, 16), lull_bytes(daddr_v6, ends.daddr_v6, 16)

LULL_KERNEL_EVENT(sock, sock_rcvqueue_full, TP_PROTO(struct sock *sk, struct sk_buff *skb),
		  lull_i32(rmem_alloc, atomic_read(&sk->sk_rmem_alloc)),
		  lull_u32(truesize, skb->truesize), lull_i32(sk_rcvbuf, READ_ONCE(sk->sk_rcvbuf)));
LULL_KERNEL_EVENT(sock, sock_exceed_buf_limit,
		  TP_PROTO(struct sock *sk, struct proto *prot, long allocated, int kind),
		  lull_strn(name, prot->name, 31), lull_ai64(sysctl_mem, prot->sysctl_mem, 3),
		  lull_i64(allocated, allocated), lull_i32(sysctl_rmem, sk_get_rmem0(sk, prot)),
		  lull_i32(rmem_alloc, atomic_read(&sk->sk_rmem_alloc)),
		  lull_i32(sysctl_wmem, sk_get_wmem0(sk, prot)),
		  lull_i32(wmem_alloc, (int)refcount_read(&sk->sk_wmem_alloc)),
		  lull_i32(wmem_queued, READ_ONCE(sk->sk_wmem_queued)), lull_i32(kind, kind));
LULL_KERNEL_EVENT_WITH(sock, inet_sock_set_state,
		       TP_PROTO(const struct sock *sk, const int oldstate, const int newstate),
		       const struct ends ends = ends_of(sk), lull_ptr(skaddr, sk),
		       lull_i32(oldstate, oldstate), lull_i32(newstate, newstate),
		       lull_u16(sport, ends.sport), lull_u16(dport, ends.dport),
		       lull_u16(family, sk->sk_family), lull_u16(protocol, sk->sk_protocol),
		       ENDS_FIELDS);
LULL_KERNEL_EVENT_WITH(sock, inet_sk_error_report, TP_PROTO(const struct sock *sk),
		       const struct ends ends = ends_of(sk), lull_i32(error, sk->sk_err),
		       lull_u16(sport, ends.sport), lull_u16(dport, ends.dport),
		       lull_u16(family, sk->sk_family), lull_u16(protocol, sk->sk_protocol),
		       ENDS_FIELDS);

#define TCP_EVENT_SK_SKB_FIELDS                                                           \
	lull_ptr(skbaddr, skb), lull_ptr(skaddr, sk), lull_i32(state, (int)sk->sk_state), \
		lull_u16(sport, ends.sport), lull_u16(dport, ends.dport),                 \
		lull_u16(family, sk->sk_family), ENDS_FIELDS

LULL_KERNEL_EVENT_WITH(tcp, tcp_retransmit_skb,
		       TP_PROTO(const struct sock *sk, const struct sk_buff *skb),
		       const struct ends ends = ends_of(sk), TCP_EVENT_SK_SKB_FIELDS);
#ifdef LULL_HAS_TCP_SEND_RESET
LULL_KERNEL_EVENT_WITH(tcp, tcp_send_reset,
		       TP_PROTO(const struct sock *sk, const struct sk_buff *skb),
		       const struct ends ends = ends_of(sk), TCP_EVENT_SK_SKB_FIELDS);
#endif

#define TCP_EVENT_SK_FIELDS                                                             \
	lull_ptr(skaddr, sk), lull_u16(sport, ends.sport), lull_u16(dport, ends.dport), \
		lull_u16(family, sk->sk_family), ENDS_FIELDS,                           \
		lull_u64(sock_cookie, (u64)atomic64_read(&sk->sk_cookie))

LULL_KERNEL_EVENT_WITH(tcp, tcp_receive_reset, TP_PROTO(struct sock *sk),
		       const struct ends ends = ends_of(sk), TCP_EVENT_SK_FIELDS);
LULL_KERNEL_EVENT_WITH(tcp, tcp_destroy_sock, TP_PROTO(struct sock *sk),
		       const struct ends ends = ends_of(sk), TCP_EVENT_SK_FIELDS);
LULL_KERNEL_EVENT_WITH(tcp, tcp_rcv_space_adjust, TP_PROTO(struct sock *sk),
		       const struct ends ends = ends_of(sk), TCP_EVENT_SK_FIELDS);
LULL_KERNEL_EVENT_WITH(tcp, tcp_retransmit_synack,
		       TP_PROTO(const struct sock *sk, const struct request_sock *req),
		       const struct ends ends = ends_of_request(sk, req), lull_ptr(skaddr, sk),
		       lull_ptr(req, req), lull_u16(sport, ends.sport), lull_u16(dport, ends.dport),
		       lull_u16(family, sk->sk_family), ENDS_FIELDS);
LULL_KERNEL_EVENT_WITH(tcp, tcp_cong_state_set, TP_PROTO(struct sock *sk, const u8 ca_state),
		       const struct ends ends = ends_of(sk), lull_ptr(skaddr, sk),
		       lull_u16(sport, ends.sport), lull_u16(dport, ends.dport),
		       lull_u16(family, sk->sk_family), ENDS_FIELDS, lull_u8(cong_state, ca_state));

#ifdef LULL_HAS_UDP_FAIL
LULL_KERNEL_EVENT(udp, udp_fail_queue_rcv_skb, TP_PROTO(int rc, struct sock *sk), lull_i32(rc, rc),
		  lull_u16(lport, inet_sk(sk)->inet_num));
#endif
