/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a dump copies of a socket while the lock of the table of descriptors is held.
 */
#ifndef LULL_KERNEL_DUMP_SOCKET_H
#define LULL_KERNEL_DUMP_SOCKET_H

#include <linux/un.h>
#include "dump/dump.h"

struct file;
struct task_struct;

struct lull_dump_socket {
	bool is_there;
	uint16_t family, type, protocol;
	uint8_t state; /* as TCP numbers its states */
	uint16_t local_port, remote_port;
	uint32_t local_bytes, remote_bytes; /* of the addresses; 0: there is none */
	uint8_t local[UNIX_PATH_MAX], remote[16];
};

/* lull_dump_socket_copy() - Context: the file stays open. May be in a spinlock. */
void lull_dump_socket_copy(struct file *file, struct lull_dump_socket *found);

void lull_dump_socket_record(struct dump *dump, const struct task_struct *task, unsigned int fd,
			     const struct lull_dump_socket *found);

#endif
