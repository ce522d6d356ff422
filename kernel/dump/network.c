// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network devices of all namespaces, in the order of namespace and number.
 */
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include "dump/record.h"

struct found {
	uint64_t key; /* the namespace's number above the device's */
	char name[IFNAMSIZ];
	uint32_t mtu, flags, address_bytes;
	uint16_t type;
	uint8_t address[MAX_ADDR_LEN];
};

static uint64_t key_of(const struct net_device *device)
{
	return (uint64_t)dev_net(device)->ns.inum << 32 | (uint32_t)device->ifindex;
}

static void device_copy(const struct net_device *device, struct found *found)
{
	found->key = key_of(device);
	memcpy(found->name, device->name, sizeof(found->name));
	found->mtu = device->mtu;
	found->flags = dev_get_flags(device);
	found->type = device->type;
	found->address_bytes = min_t(uint32_t, device->addr_len, sizeof(found->address));
	memcpy(found->address, device->dev_addr, found->address_bytes);
}

/* The device with the least key above @found's. Return: false where there is none. */
static bool device_next(struct found *found)
{
	struct net_device *device, *next = NULL;
	struct net *space;

	rcu_read_lock();
	for_each_net_rcu(space)
		for_each_netdev_rcu(space, device)
			if (key_of(device) > found->key && (!next || key_of(device) < key_of(next)))
				next = device;
	if (next)
		device_copy(next, found);
	rcu_read_unlock();
	return next != NULL;
}

void lull_dump_network(struct dump *dump)
{
	struct found found = { 0 };

	/* Bound: keys ascend. */
	while (lull_dump_goes_on(dump) && device_next(&found))
		LULL_DUMP_EVENT(
			&dump->counts[DUMP_NETWORK_DEVICE], "state:network_device",
			lull_u32(net_namespace, (uint32_t)(found.key >> 32)),
			lull_u32(number, (uint32_t)found.key),
			lull_strn(name, found.name, IFNAMSIZ - 1), lull_u16(type, found.type),
			lull_u32(mtu, found.mtu),
			lull_flags32(flags, found.flags,
				     "IFF_UP=0x1,IFF_BROADCAST=0x2,IFF_LOOPBACK=0x8,"
				     "IFF_POINTOPOINT=0x10,IFF_RUNNING=0x40,IFF_NOARP=0x80,"
				     "IFF_PROMISC=0x100,IFF_ALLMULTI=0x200,IFF_MASTER=0x400,"
				     "IFF_SLAVE=0x800,IFF_MULTICAST=0x1000,IFF_LOWER_UP=0x10000"),
			lull_bytes(address, found.address, found.address_bytes));
}
