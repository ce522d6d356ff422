/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that the kernel's command line kept free, which the module's parameter `memory` names:
 * one session can lie there, and be read after a crash of the machine.
 */
#ifndef LULL_KERNEL_RESERVED_H
#define LULL_KERNEL_RESERVED_H

#include "left.h"
#include "lull/abi/kernel.h"

/*
 * lull_reserved_init(), _exit() - take the range that the parameter names, and look what is there.
 * Return: 0, also without a parameter; -EINVAL for one that is no range that was reserved; -EBUSY,
 * -ENOMEM.
 */
int lull_reserved_init(void);
void lull_reserved_exit(void);

/* lull_reserved_answer() - what LULL_KERNEL_RESERVED says. */
void lull_reserved_answer(struct lull_kernel_reserved *answer);

/*
 * lull_reserved_take() - make the range a session's.
 * @range: its size is filled in
 * Return: where the range is mapped, or an error as in abi/kernel.h for LULL_KERNEL_PLAN_RESERVED.
 */
unsigned char *lull_reserved_take(const struct lull_session_control *layout,
				  struct lull_range *range);

/* lull_reserved_keep() - note that the session is there: its head is filled in. */
void lull_reserved_keep(const struct lull_session_control *layout, const struct lull_range *range);

/* lull_reserved_give_back() - the session has ended, and the range is free. */
void lull_reserved_give_back(void);

/* lull_reserved_frame() - the number of the page frame at an offset of the range. */
unsigned long lull_reserved_frame(uint64_t offset);

/*
 * lull_reserved_open() - become the only one who reads the session that was left.
 * @note: a copy that was checked
 * Return: where the range is mapped, or an error as in abi/kernel.h for LULL_KERNEL_LEFT.
 */
const unsigned char *lull_reserved_open(struct lull_left_note *note);

/* lull_reserved_close() - the end of that. */
void lull_reserved_close(void);

/* lull_reserved_forget() - what was left is not wanted now. Context: between open and close. */
void lull_reserved_forget(void);

#endif
