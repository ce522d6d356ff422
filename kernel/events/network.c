// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network devices and packets.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>
#include <trace/events/net.h>
#include <trace/events/napi.h>
#include <trace/events/skb.h>
#include <trace/events/qdisc.h>
#include "events/fields.h"

/* As the kernel's netdev_drivername(), which is no inline function. */
static __always_inline const char *driver_of(const struct net_device *dev)
{
	const struct device *parent = dev->dev.parent;

	return parent && parent->driver && parent->driver->name ? parent->driver->name : "";
}

LULL_KERNEL_EVENT(net, net_dev_xmit,
		  TP_PROTO(struct sk_buff *skb, int rc, struct net_device *dev,
			   unsigned int skb_len),
		  lull_ptr(skbaddr, skb), lull_u32(len, skb_len), lull_i32(rc, rc),
		  lull_str16(name, dev->name));
LULL_KERNEL_EVENT(net, net_dev_xmit_timeout, TP_PROTO(struct net_device *dev, int queue_index),
		  lull_str16(name, dev->name), lull_str(driver, driver_of(dev)),
		  lull_i32(queue_index, queue_index));

#define NET_DEV_FIELDS \
	lull_ptr(skbaddr, skb), lull_u32(len, skb->len), lull_str16(name, skb->dev->name)

LULL_KERNEL_EVENT(net, net_dev_queue, TP_PROTO(struct sk_buff *skb), NET_DEV_FIELDS);
LULL_KERNEL_EVENT(net, netif_receive_skb, TP_PROTO(struct sk_buff *skb), NET_DEV_FIELDS);
LULL_KERNEL_EVENT(net, netif_rx, TP_PROTO(struct sk_buff *skb), NET_DEV_FIELDS);

#define NET_DEV_RX_EXIT_FIELDS lull_i32(ret, ret)

LULL_KERNEL_EVENT(net, napi_gro_frags_exit, TP_PROTO(int ret), NET_DEV_RX_EXIT_FIELDS);
LULL_KERNEL_EVENT(net, napi_gro_receive_exit, TP_PROTO(int ret), NET_DEV_RX_EXIT_FIELDS);
LULL_KERNEL_EVENT(net, netif_receive_skb_exit, TP_PROTO(int ret), NET_DEV_RX_EXIT_FIELDS);
LULL_KERNEL_EVENT(net, netif_rx_exit, TP_PROTO(int ret), NET_DEV_RX_EXIT_FIELDS);
LULL_KERNEL_EVENT(net, netif_receive_skb_list_exit, TP_PROTO(int ret), NET_DEV_RX_EXIT_FIELDS);

LULL_KERNEL_EVENT(napi, napi_poll, TP_PROTO(struct napi_struct *napi, int work, int budget),
		  lull_ptr(napi, napi),
		  lull_str(dev_name, napi->dev ? (const char *)napi->dev->name : "(no_device)"),
		  lull_i32(work, work), lull_i32(budget, budget));

LULL_KERNEL_EVENT(skb, kfree_skb, LULL_KFREE_SKB, lull_ptr(skbaddr, skb),
		  lull_ptr(location, location) LULL_KFREE_SKB_FIELDS,
		  lull_u16(protocol, ntohs(skb->protocol)), lull_i32(reason, (int)reason));
LULL_KERNEL_EVENT(skb, consume_skb, LULL_CONSUME_SKB,
		  lull_ptr(skbaddr, skb) LULL_CONSUME_SKB_FIELDS);
LULL_KERNEL_EVENT(skb, skb_copy_datagram_iovec, TP_PROTO(const struct sk_buff *skb, int len),
		  lull_ptr(skbaddr, skb), lull_i32(len, len));

LULL_KERNEL_EVENT(qdisc, qdisc_dequeue,
		  TP_PROTO(struct Qdisc *qdisc, const struct netdev_queue *txq, int packets,
			   struct sk_buff *skb),
		  lull_ptr(qdisc, qdisc), lull_ptr(txq, txq), lull_i32(packets, skb ? packets : 0),
		  lull_ptr(skbaddr, skb), lull_i32(ifindex, txq->dev ? txq->dev->ifindex : 0),
		  lull_u32(handle, qdisc->handle), lull_u32(parent, qdisc->parent),
		  lull_u64(txq_state, txq->state));
LULL_KERNEL_EVENT(qdisc, qdisc_enqueue,
		  TP_PROTO(struct Qdisc *qdisc, const struct netdev_queue *txq,
			   struct sk_buff *skb),
		  lull_ptr(qdisc, qdisc), lull_ptr(txq, txq), lull_ptr(skbaddr, skb),
		  lull_i32(ifindex, txq->dev ? txq->dev->ifindex : 0),
		  lull_u32(handle, qdisc->handle), lull_u32(parent, qdisc->parent));
LULL_KERNEL_EVENT(qdisc, qdisc_reset, TP_PROTO(struct Qdisc *q),
		  lull_str(dev, qdisc_dev(q) ? (const char *)qdisc_dev(q)->name : NULL),
		  lull_str16(kind, q->ops->id), lull_u32(parent, q->parent),
		  lull_u32(handle, q->handle));
LULL_KERNEL_EVENT(qdisc, qdisc_destroy, TP_PROTO(struct Qdisc *q),
		  lull_str16(dev, qdisc_dev(q)->name), lull_str16(kind, q->ops->id),
		  lull_u32(parent, q->parent), lull_u32(handle, q->handle));
LULL_KERNEL_EVENT(qdisc, qdisc_create,
		  TP_PROTO(const struct Qdisc_ops *ops, struct net_device *dev, u32 parent),
		  lull_str16(dev, dev->name), lull_str16(kind, ops->id), lull_u32(parent, parent));
