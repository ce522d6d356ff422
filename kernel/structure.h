/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structures that calls take and answer in: they begin with their size (abi/kernel.h).
 */
#ifndef LULL_KERNEL_STRUCTURE_H
#define LULL_KERNEL_STRUCTURE_H

#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/*
 * lull_structure_copy() - copy what a caller gives, once.
 * Return: the size that the caller says; -EFAULT; -EINVAL for a size that no version has; -E2BIG
 * for bytes that this version does not have, and that are not zero.
 */
static inline long lull_structure_copy(void *structure, size_t bytes, void __user *from)
{
	uint32_t from_bytes;
	int error;

	if (get_user(from_bytes, (uint32_t __user *)from))
		return -EFAULT;
	if (from_bytes < sizeof(from_bytes) || from_bytes > PAGE_SIZE)
		return -EINVAL;
	error = copy_struct_from_user(structure, bytes, from, from_bytes);
	return error ? error : (long)from_bytes;
}

/* lull_structure_answer() - copy back as much as the caller has room for. Return: 0; -EFAULT. */
static inline long lull_structure_answer(void __user *to, const void *structure, size_t bytes,
					 long to_bytes)
{
	return copy_to_user(to, structure, min_t(size_t, bytes, to_bytes)) ? -EFAULT : 0;
}

/*
 * lull_text_copy() - copy a text that a caller gives, once.
 * @bytes: with the NUL at its end; at least 1, and at most what the call allows
 * Return: what kvfree() frees; -EFAULT; -ENOMEM; -EINVAL where the first NUL is not the last byte.
 */
static inline char *lull_text_copy(uint64_t at, uint32_t bytes)
{
	char *text = vmemdup_user(u64_to_user_ptr(at), bytes);

	if (IS_ERR(text) || strnlen(text, bytes) == bytes - 1)
		return text;
	kvfree(text);
	return ERR_PTR(-EINVAL);
}

#endif
