/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A descriptor of the session that a crash left in reserved memory.
 */
#ifndef LULL_KERNEL_LEFT_FILE_H
#define LULL_KERNEL_LEFT_FILE_H

/* lull_left_file_create() - Return: the descriptor, or an error as in abi/kernel.h; -EMFILE. */
int lull_left_file_create(void);

#endif
