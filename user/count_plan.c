/* SPDX-License-Identifier: MIT */
/*
 * The plan of a session that counts: copied and checked when the session is attached, linked for
 * each event of the process.
 *
 * The plan lies in memory that others can write to. What is taken from it here is private, and what
 * lull_count_add() computes from it stays in the session's memory. An event whose session has no
 * valid plan is not counted, and the recorder is told that the process could not join.
 */
#include "counts.h"
#include "filter/description.h"
#include "lull_port.h"

/* What a slot takes by a plan. */
static uint64_t slot_bytes_needed(const struct lull_count_plan *plan)
{
	return sizeof(struct lull_count_slot) + plan->by_count * sizeof(struct lull_count_value) +
	       (plan->has_value ? LULL_COUNT_BUCKETS * sizeof(uint64_t) : 0);
}

static int is_power(uint32_t number)
{
	return number && !(number & (number - 1));
}

static int is_valid(const struct lull_count_plan *plan, uint32_t event_capacity, uint64_t bytes)
{
	uint64_t table_bytes = (uint64_t)event_capacity * sizeof(uint64_t) +
			       (uint64_t)plan->capacity * plan->slot_bytes;
	int tells_apart = plan->by_count || plan->has_value;

	/* All numbers but the stride have 32 bits: no overflow before it is compared. */
	return is_power(plan->table_count) && plan->table_count <= LULL_COUNT_TABLES_MAX &&
	       plan->by_count <= LULL_COUNT_BY_MAX && plan->has_value <= 1 &&
	       plan->capacity <= LULL_COUNT_CAPACITY_MAX &&
	       (tells_apart ? is_power(plan->capacity) : !plan->capacity) &&
	       plan->slot_bytes % 64 == 0 && plan->slot_bytes >= slot_bytes_needed(plan) &&
	       plan->stride_bytes % 64 == 0 && plan->stride_bytes >= table_bytes &&
	       plan->stride_bytes <= (bytes - LULL_COUNT_PLAN_BYTES) / plan->table_count;
}

int lull_count_plan_read(struct lull_counts *counts, const struct lull_session_control *control,
			 const struct lull_mapping *map)
{
	uint64_t rings = (uint64_t)control->cpu_count + control->plain_count;
	uint64_t begin = control->data_offset_bytes + rings * control->data_stride_bytes;
	uint64_t bytes = (uint64_t)control->count_pages * LULL_COUNT_PLAN_BYTES;

	/* The rings were found to lie in the segment, so their end is no more than its size. */
	if (begin % 64 || bytes <= LULL_COUNT_PLAN_BYTES || begin > map->bytes ||
	    bytes > map->bytes - begin)
		return -1;
	lull_fetch(&counts->plan, map->base + begin, sizeof(counts->plan));
	counts->tables = map->base + begin + LULL_COUNT_PLAN_BYTES;
	counts->event_capacity = control->event_capacity;
	for (uint32_t i = 0; i < LULL_COUNT_BY_MAX; i++)
		counts->plan.by[(i + 1) * LULL_COUNT_NAME_BYTES - 1] = '\0';
	counts->plan.value[LULL_COUNT_NAME_BYTES - 1] = '\0';
	return is_valid(&counts->plan, control->event_capacity, bytes) ? 0 : -1;
}

static struct lull_count_input input_of(uint32_t place, struct word type)
{
	struct field_type found = lull_description_type(type);
	uint8_t kind = LULL_COUNT_NONE;

	if (is_word(type, "name") || found.input == LULL_FILTER_BYTES)
		kind = LULL_COUNT_TEXT;
	else if (found.input == LULL_FILTER_NUMBER)
		kind = found.is_signed ? LULL_COUNT_SIGNED : LULL_COUNT_UNSIGNED;
	return (struct lull_count_input){ kind, (uint8_t)place };
}

/* The field of a name, or else the context; with $ before it the context only. */
static struct lull_count_input input_find(const char *text, const char *description,
					  uint32_t contexts, uint32_t *read)
{
	static const char *const lines[LULL_CONTEXTS] = { LULL_CONTEXT_LINES };
	struct word name = { text, __builtin_strlen(text) };
	struct field field;
	int place = -1;

	if (*text == '$')
		name = (struct word){ text + 1, name.bytes - 1 };
	else
		place = lull_description_find(description, name, &field);
	if (place >= 0) {
		struct lull_count_input input = input_of((uint32_t)place, field.type);

		/* The probe gives texts, and no arrays of characters. */
		return is_word(field.type, "name") ? (struct lull_count_input){ 0 } : input;
	}
	for (uint32_t i = 0; i < LULL_CONTEXTS; i++) {
		lull_description_field(lines[i], &field);
		if (contexts & 1u << i && is_same_word(field.name, name)) {
			*read |= 1u << i;
			return input_of(LULL_FILTER_CONTEXT + i, field.type);
		}
	}
	return (struct lull_count_input){ 0 };
}

uint32_t lull_count_plan_link(const struct lull_count_plan *plan, const char *description,
			      uint32_t contexts, struct lull_counting *counting)
{
	uint32_t read = 0;

	for (uint32_t i = 0; i < plan->by_count; i++)
		counting->by[i] = input_find(plan->by + i * LULL_COUNT_NAME_BYTES, description,
					     contexts, &read);
	if (plan->has_value)
		counting->value = input_find(plan->value, description, contexts, &read);
	if (counting->value.kind == LULL_COUNT_TEXT)
		counting->value = (struct lull_count_input){ 0 };
	counting->is_plain = !plan->capacity;
	return read;
}
