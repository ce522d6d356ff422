/* SPDX-License-Identifier: MIT */
/*
 * From a node to the entry that embeds it, for all structures of the library.
 *
 * This works in C11, and in C++17 if the entry's type has standard layout.
 */
#ifndef LULL_RCU_ENTRY_H
#define LULL_RCU_ENTRY_H

#include <stddef.h>

/**
 * rcu_entry() - The entry that embeds a node.
 * @node: pointer to the node, not NULL.
 * @type: type of the entry.
 * @member: name of the node in @type.
 *
 * The compiler warns when the type of @node is not a pointer to the type of @member.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Return: pointer to the entry.
 */
#define rcu_entry(node, type, member)                                                \
	((type *)(void *)((char *)(1 ? (node) : &((type *)(void *)(node))->member) - \
			  offsetof(type, member)))

#endif
