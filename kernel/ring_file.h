/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A descriptor of one CPU's ring: poll, get and put, splice, mmap.
 */
#ifndef LULL_KERNEL_RING_FILE_H
#define LULL_KERNEL_RING_FILE_H

#include "session.h"

/*
 * lull_ring_file_create() - a descriptor of a session's ring, for the caller's process.
 * Return: the descriptor; -EINVAL for a ring that there is not; -EBUSY for one that has a
 * descriptor; -ENOMEM, -EMFILE.
 */
int lull_ring_file_create(struct session *session, uint32_t cpu);

#endif
