// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of filters, from user space: copied once, checked, and then run by probes.
 * Design: docs/design/70-filter.md.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "filtering.h"

#define PROGRAM_BYTES_MAX                                     \
	(sizeof(struct lull_filter) + LULL_FILTER_TEXTS_MAX + \
	 LULL_FILTER_TESTS_MAX * sizeof(struct lull_filter_test))

struct lull_filtering *lull_filtering_create(uint64_t from, uint32_t bytes)
{
	struct lull_filtering *filtering;

	if (bytes < sizeof(filtering->program) || bytes > PROGRAM_BYTES_MAX)
		return ERR_PTR(-EINVAL);
	filtering = kvzalloc(offsetof(struct lull_filtering, program) + bytes, GFP_KERNEL_ACCOUNT);
	if (!filtering)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(&filtering->program, u64_to_user_ptr(from), bytes)) {
		filtering->bytes = bytes;
		return filtering;
	}
	kvfree(filtering);
	return ERR_PTR(-EFAULT);
}

int lull_filtering_check(struct lull_filtering *filtering, const char *description)
{
	uint8_t inputs[LULL_FILTER_FIELDS_MAX];
	size_t count = lull_filter_fields(description, inputs);

	if (lull_filter_check(&filtering->program, filtering->bytes, inputs, count))
		return -EINVAL;
	filtering->contexts = lull_filter_contexts(&filtering->program);
	return 0;
}
