// SPDX-License-Identifier: GPL-2.0-only
/*
 * The probe of all sources: it copies by the layout, without faulting, in any context.
 *
 * Numbers are collected first, strings are copied into memory of the stack, so that the slot is
 * reserved when the event's size is known, and nothing between reserve and commit can be
 * interrupted by a fault. Paper: B 3.3 (probe data flow), T 8.5 (every context).
 */
#include <linux/ptrace.h>
#include <linux/uaccess.h>
#include "event.h"
#include "source/source.h"

struct values {
	struct lull_filter_value fields[LULL_SOURCE_FIELDS_MAX]; /* as filters read them */
	char strings[LULL_SOURCE_STRINGS_BYTES];
	uint32_t strings_bytes;
	uint32_t unread;
};

/*
 * Below PAGE_OFFSET the kernel has nothing to read. Its own check of addresses goes by what the CPU
 * could have, so where a CPU that can have five levels of page tables runs with four, it lets
 * through addresses that the CPU refuses, and warns of them.
 */
static long memory_read(void *to, uint64_t address, size_t bytes, bool is_user)
{
	if (is_user)
		return copy_from_user_nofault(to, (const void __user *)address, bytes);
	if (address < PAGE_OFFSET)
		return -EFAULT;
	return copy_from_kernel_nofault(to, (const void *)address, bytes);
}

static uint64_t begin_read(const struct source_field *field, const struct hit *hit)
{
	const struct lull_source_field *asked = &field->asked;

	switch (asked->from) {
	case LULL_FROM_ARGUMENT:
		return hit->arguments ? hit->arguments[asked->index] :
					regs_get_kernel_argument(hit->regs, asked->index);
	case LULL_FROM_REGISTER:
		return regs_get_register(hit->regs, asked->index);
	case LULL_FROM_RESULT:
		return regs_return_value(hit->regs);
	default:
		return asked->constant;
	}
}

/* The bytes of a string up to its NUL, or to the end of the memory that can be read. */
static uint32_t text_read(char *to, uint64_t address, uint32_t limit, bool is_user)
{
	uint32_t done = 0;

	/* Bound: LULL_SOURCE_STRINGS_BYTES; a chunk ends with its page, to be there or not. */
	while (done < limit) {
		uint32_t left = PAGE_SIZE - ((address + done) & (PAGE_SIZE - 1));
		uint32_t bytes = min(left, limit - done);
		const char *nul;

		if (memory_read(to + done, address + done, bytes, is_user))
			break;
		nul = __builtin_memchr(to + done, 0, bytes);
		if (nul)
			return nul - to + 1;
		done += bytes;
	}
	return done;
}

/* A string becomes whole with a NUL, cut where it is too long. */
static struct lull_filter_value string_read(struct values *values, const struct source *source,
					    uint64_t address, bool is_user, bool *is_unread)
{
	char *to = values->strings + values->strings_bytes;
	uint32_t bytes = 0;
	const char *instead = address < PAGE_SIZE ? "(null)" : "(unreadable)";

	if (address >= PAGE_SIZE && !*is_unread)
		bytes = text_read(to, address, source->string_bytes, is_user);
	if (!bytes) {
		*is_unread |= address >= PAGE_SIZE;
		bytes = min_t(uint32_t, *instead ? __builtin_strlen(instead) + 1 : 1,
			      source->string_bytes);
		__builtin_memcpy(to, instead, bytes);
	} else if (to[bytes - 1] && bytes < source->string_bytes) {
		*is_unread = true; /* its memory ended before it did */
		bytes++;
	}
	to[bytes - 1] = 0;
	values->strings_bytes += bytes;
	return (struct lull_filter_value){ .number = bytes - 1, .text = to };
}

/* The bits that a number's type has, extended as filters read them. */
static uint64_t number_of(const struct source_field *field, uint64_t value)
{
	uint32_t unused_bits = 64 - 8 * field->bytes;

	if (field->is_truth)
		return !!value;
	value <<= unused_bits;
	return field->is_signed ? (uint64_t)((int64_t)value >> unused_bits) : value >> unused_bits;
}

static void field_read(struct values *values, const struct source *source, const struct hit *hit,
		       uint32_t number)
{
	const struct source_field *field = &source->fields[number];
	const struct lull_source_field *asked = &field->asked;
	uint64_t value = begin_read(field, hit);
	bool is_unread = false;
	uint32_t i;

	/* Bound: LULL_SOURCE_STEPS_MAX. */
	for (i = 0; i < asked->step_count && !is_unread; i++) {
		bool is_last = i + 1 == asked->step_count;
		uint64_t address = value + (int64_t)asked->steps[i];

		value = 0;
		if (is_last && !field->bytes)
			value = address;
		else
			is_unread = memory_read(&value, address, is_last ? field->bytes : 8,
						is_last && asked->is_user);
	}
	if (is_unread)
		value = 0;
	if (asked->from == LULL_FROM_UNREAD)
		value = values->unread;
	if (field->bytes)
		values->fields[number].number = number_of(field, value);
	else
		values->fields[number] = string_read(values, source, is_unread ? PAGE_SIZE : value,
						     asked->is_user, &is_unread);
	values->unread |= is_unread << number;
}

static void values_store(unsigned char *to, const struct source *source,
			 const struct values *values)
{
	uint32_t i;

	for (i = 0; i < source->asked.field_count; i++) {
		const struct lull_filter_value *value = &values->fields[i];
		uint32_t bytes = source->fields[i].bytes;

		if (!bytes) {
			bytes = value->number + 1;
			__builtin_memcpy(to, value->text, bytes);
		} else {
			__builtin_memcpy(to, &value->number, bytes);
		}
		to += bytes;
	}
}

void lull_source_hit(const struct source *source, const struct hit *hit)
{
	struct values values;
	struct lull_slot slot;
	uint32_t mask = lull_probe_enter(&slot, &source->record), session, bytes, i;

	if (!mask)
		return;
	session = __builtin_ctz(mask);
	values.strings_bytes = 0;
	values.unread = 0;
	for (i = 0; i < source->asked.field_count; i++)
		field_read(&values, source, hit, i);
	if (unlikely(mask & LULL_MASK_FILTERED))
		mask = lull_probe_filter(&source->record, mask, &values.fields[0].number);
	bytes = source->numbers_bytes + values.strings_bytes;
	if (mask &&
	    lull_slot_reserve(&slot, session, source->record.id[session], (bytes + 3u) & ~3u)) {
		lull_padding_store(slot.payload, bytes);
		values_store(slot.payload, source, &values);
		lull_slot_commit(&slot);
	}
	lull_probe_leave(&slot);
}
