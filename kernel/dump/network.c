// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network devices of all namespaces, in the order of namespace and number, and the IP addresses of
 * each.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
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

#define ADDRESSES_MAX 1024 /* of one device */

struct address {
	uint16_t family;
	uint8_t bytes[16], prefix_bits;
};

static void __maybe_unused address_keep(struct address *found, uint16_t family, const void *bytes,
					uint8_t prefix_bits)
{
	found->family = family;
	found->prefix_bits = prefix_bits;
	memcpy(found->bytes, bytes, family == AF_INET ? 4 : 16);
}

/* Of version 4, the address at a position; those that are passed by are taken off it. */
static bool address_four_copy(const struct net_device *device, unsigned int *position,
			      struct address *found)
{
#ifdef CONFIG_INET
	const struct in_device *four = __in_dev_get_rcu(device);
	const struct in_ifaddr *address;

	if (!four)
		return false;
	in_dev_for_each_ifa_rcu(address, four) if (!(*position)--)
	{
		address_keep(found, AF_INET, &address->ifa_local, address->ifa_prefixlen);
		return true;
	}
#endif
	return false;
}

/* The same of version 6. */
static bool address_six_copy(const struct net_device *device, unsigned int position,
			     struct address *found)
{
	bool is_found = false;
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *six = __in6_dev_get(device);
	struct inet6_ifaddr *address;

	if (!six)
		return false;
	read_lock_bh(&six->lock);
	list_for_each_entry(address, &six->addr_list, if_list)
		if (!position--) {
			address_keep(found, AF_INET6, &address->addr, (uint8_t)address->prefix_len);
			is_found = true;
			break;
		}
	read_unlock_bh(&six->lock);
#endif
	return is_found;
}

/* The address at a position: first those of version 4. Return: false where there is none. */
static bool address_copy(const struct net_device *device, unsigned int position,
			 struct address *found)
{
	return address_four_copy(device, &position, found) ||
	       address_six_copy(device, position, found);
}

/* The same of the device with this key, if that is still there. */
static bool address_find(uint64_t key, unsigned int position, struct address *found)
{
	struct net_device *device;
	bool is_found = false;
	struct net *space;

	rcu_read_lock();
	for_each_net_rcu(space)
		for_each_netdev_rcu(space, device)
			if (key_of(device) == key)
				is_found = address_copy(device, position, found);
	rcu_read_unlock();
	return is_found;
}

void lull_dump_addresses(struct dump *dump)
{
	struct found device = { 0 };
	struct address found;
	unsigned int position;

	/* Bound: keys ascend, and ADDRESSES_MAX. */
	while (lull_dump_goes_on(dump) && device_next(&device))
		for (position = 0; position < ADDRESSES_MAX; position++) {
			if (!address_find(device.key, position, &found))
				break;
			LULL_DUMP_EVENT(
				&dump->counts[DUMP_ADDRESS], "state:address",
				lull_u32(net_namespace, (uint32_t)(device.key >> 32)),
				lull_u32(number, (uint32_t)device.key),
				lull_enum(family, found.family, "AF_INET=2,AF_INET6=10"),
				lull_bytes(address, found.bytes, found.family == AF_INET ? 4 : 16),
				lull_u8(prefix_bits, found.prefix_bits));
		}
}
