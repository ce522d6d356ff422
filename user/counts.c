/* SPDX-License-Identifier: MIT */
/*
 * Counting an occurrence of an event where it happens: a table in the session's memory, to which
 * any thread of any process of the user adds at any time, signal handlers included.
 *
 * States of a slot: free -> claimed -> ready, and no way back. A claimant fills the slot in alone,
 * with its own occurrence; who finds a slot claimed goes on to the next one, because the claimant
 * may be dead, or interrupted by who finds it. So two slots of a table may have one key, and the
 * reader adds them up. An occurrence is counted by the step that publishes its slot, or by one
 * addition. Memory that others write over costs counts of that user, and nothing else.
 *
 * Barrier pairs:
 *	[count.publish:A]	key and first occurrence before ready	[count.read:A]
 *	[count.read:A]		ready before the key, in the recorder	[count.publish:A]
 *
 * Design, and what was rejected: docs/design/72-count.md.
 */
#include "counts.h"
#include "lull_port.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15ull
#define STATE_BITS ((uint64_t)LULL_COUNT_READY)
#define SIGN_BIT (1ull << 63)

static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * HASH_FACTOR;
	return hash ^ hash >> 32;
}

/* Words of a value that tell it from others. */
static inline uint32_t words_of(const struct lull_count_value *value)
{
	uint32_t bytes = value->bytes;

	if (value->kind != LULL_COUNT_TEXT)
		return value->kind != LULL_COUNT_NONE;
	return ((bytes < LULL_COUNT_TEXT_BYTES ? bytes : LULL_COUNT_TEXT_BYTES) + 7) / 8;
}

/* A text, which others may change while it is copied: a copy is hashed and compared. */
static void text_copy(struct lull_count_value *to, const struct lull_filter_value *from)
{
	uint64_t bytes = from->number;

	to->bytes = bytes <= LULL_COUNT_TEXT_BYTES ? (uint32_t)bytes : LULL_COUNT_TEXT_BYTES + 1;
	if (bytes > LULL_COUNT_TEXT_BYTES)
		bytes = LULL_COUNT_TEXT_BYTES;
	if (bytes < LULL_COUNT_TEXT_BYTES)
		to->words[bytes / 8] = 0; /* the first word also of a text of no bytes */
	lull_fetch(to->words, from->text, bytes);
}

static inline const struct lull_filter_value *input_read(const struct lull_count_input *input,
							 const struct lull_filter_value *fields,
							 const struct lull_filter_value *contexts)
{
	return input->input < LULL_FILTER_CONTEXT ? &fields[input->input] :
						    &contexts[input->input - LULL_FILTER_CONTEXT];
}

static void key_make(struct lull_count_key *key, const struct lull_counting *counting,
		     const struct lull_filter_value *fields,
		     const struct lull_filter_value *contexts)
{
	uint64_t hash = hash_add(0, key->event);

	/* Bound: LULL_COUNT_BY_MAX. */
	for (uint32_t i = 0; i < key->by_count; i++) {
		const struct lull_count_input *input = &counting->by[i];
		struct lull_count_value *value = &key->by[i];

		value->kind = input->kind;
		value->bytes = 0;
		if (input->kind == LULL_COUNT_NONE)
			continue;
		if (input->kind != LULL_COUNT_TEXT) {
			value->words[0] = input_read(input, fields, contexts)->number;
			hash = hash_add(hash, value->words[0]);
			continue;
		}
		text_copy(value, input_read(input, fields, contexts));
		hash = hash_add(hash, value->bytes);
		for (uint32_t word = 0; word < words_of(value); word++)
			hash = hash_add(hash, value->words[word]);
	}
	key->hash = hash;
}

static struct lull_count_value *slot_values(struct lull_count_slot *slot)
{
	return (struct lull_count_value *)(slot + 1);
}

static uint64_t *slot_buckets(struct lull_count_slot *slot, const struct lull_count_plan *plan)
{
	return (uint64_t *)(slot_values(slot) + plan->by_count);
}

/* An event's values have the same kinds in all processes: they are those of its description. */
static inline int slot_has(struct lull_count_slot *slot, const struct lull_count_key *key)
{
	if (lull_load32(&slot->event) != key->event)
		return 0;
	for (uint32_t i = 0; i < key->by_count; i++) {
		const struct lull_count_value *own = &key->by[i];
		const struct lull_count_value *found = &slot_values(slot)[i];

		if (own->kind == LULL_COUNT_NONE)
			continue;
		if (lull_load(&found->words[0]) != own->words[0])
			return 0;
		if (own->kind != LULL_COUNT_TEXT)
			continue;
		if (lull_load32(&found->bytes) != own->bytes)
			return 0;
		for (uint32_t word = 0; word < words_of(own); word++)
			if (lull_load(&found->words[word]) != own->words[word])
				return 0;
	}
	return 1;
}

uint32_t lull_count_bucket(uint64_t value, uint32_t value_kind)
{
	uint32_t power;

	if (value_kind == LULL_COUNT_SIGNED && value & SIGN_BIT)
		return 0;
	if (value < 1u << LULL_COUNT_STEP_BITS)
		return LULL_COUNT_BUCKET_ZERO + (uint32_t)value;
	power = 63 - (uint32_t)__builtin_clzll(value);
	return LULL_COUNT_BUCKET_ZERO +
	       ((power - LULL_COUNT_STEP_BITS + 1) << LULL_COUNT_STEP_BITS) +
	       (uint32_t)(value >> (power - LULL_COUNT_STEP_BITS) &
			  ((1u << LULL_COUNT_STEP_BITS) - 1));
}

/*
 * Raise a word that only rises. After so many rounds another thread's value stands in for ours; the
 * reader takes the limits of the outermost buckets where the words do not lie in these.
 */
static inline void raise(uint64_t *word, uint64_t value)
{
	uint64_t found = lull_load(word);

	for (int round = 0; round < 8 && found < value; round++) {
		uint64_t now = lull_cas_relaxed(word, found, value);

		if (now == found)
			return;
		found = now;
	}
}

static inline void occurrence_add(struct lull_count_slot *slot, const struct lull_count_plan *plan,
				  uint64_t value, uint32_t value_kind)
{
	uint64_t ordered = value_kind == LULL_COUNT_SIGNED ? value ^ SIGN_BIT : value;

	if (value_kind == LULL_COUNT_NONE) {
		lull_add_relaxed(&slot->count, 1);
		return;
	}
	raise(&slot->least_inverted, ~ordered);
	raise(&slot->greatest, ordered);
	lull_add_relaxed(&slot_buckets(slot, plan)[lull_count_bucket(value, value_kind)], 1);
}

static void slot_fill(struct lull_count_slot *slot, const struct lull_count_plan *plan,
		      const struct lull_count_key *key, uint64_t value, uint32_t value_kind)
{
	lull_store32(&slot->event, key->event);
	lull_store32(&slot->value_kind, value_kind);
	for (uint32_t i = 0; i < key->by_count; i++) {
		struct lull_count_value *to = &slot_values(slot)[i];

		lull_store32(&to->kind, key->by[i].kind);
		lull_store32(&to->bytes, key->by[i].bytes);
		for (uint32_t word = 0; word < words_of(&key->by[i]); word++)
			lull_store(&to->words[word], key->by[i].words[word]);
	}
	occurrence_add(slot, plan, value, value_kind);
	/*
	 * [count.publish:A] release. Pairs with [count.read:A].
	 * Orders: the stores of the key and of the first occurrence before that of the state, by
	 * which the recorder tells that they are there.
	 * Else: the recorder tells counts under values that nobody had.
	 * Mutants: COUNT_EARLY, COUNT_RELAXED.
	 */
	lull_store_release(&slot->state, key->hash | LULL_COUNT_READY);
}

int lull_count_slot_add(unsigned char *slots, const struct lull_count_plan *plan,
			const struct lull_count_key *key, uint64_t value, uint32_t value_kind)
{
	uint64_t ready = key->hash | LULL_COUNT_READY;
	uint64_t claimed = (key->hash & ~STATE_BITS) | LULL_COUNT_CLAIMED;
	uint32_t limit = plan->capacity < LULL_COUNT_PROBES ? plan->capacity : LULL_COUNT_PROBES;

	for (uint32_t i = 0; i < limit; i++) {
		uint32_t at = ((uint32_t)(key->hash >> 32) + i) & (plan->capacity - 1);
		struct lull_count_slot *slot =
			(struct lull_count_slot *)(slots + (uint64_t)at * plan->slot_bytes);
		uint64_t state;

		/*
		 * Relaxed: who sees the state and not yet the key takes the slot for another key's,
		 * and gets a second slot, which the reader adds up.
		 */
		state = lull_load(&slot->state);
		if (!state)
			state = lull_cas_relaxed(&slot->state, 0, claimed);
		if (!state) {
			slot_fill(slot, plan, key, value, value_kind);
			return 1;
		}
		if (state == ready && slot_has(slot, key)) {
			occurrence_add(slot, plan, value, value_kind);
			return 1;
		}
	}
	return 0;
}

static __attribute__((noinline)) int told_apart_add(const struct lull_counts *counts,
						    const struct lull_counting *counting,
						    uint32_t event, unsigned char *table,
						    const struct lull_filter_value *fields,
						    const struct lull_filter_value *contexts)
{
	const struct lull_count_plan *plan = &counts->plan;
	struct lull_count_key key;
	uint64_t value = 0;

	key.event = event;
	key.by_count = plan->by_count;
	key_make(&key, counting, fields, contexts);
	if (counting->value.kind != LULL_COUNT_NONE)
		value = input_read(&counting->value, fields, contexts)->number;
	return lull_count_slot_add(table + (uint64_t)counts->event_capacity * sizeof(uint64_t),
				   plan, &key, value, counting->value.kind);
}

void lull_count_add(const struct lull_counts *counts, const struct lull_counting *counting,
		    uint32_t event, uint32_t cpu, const struct lull_filter_value *fields,
		    const struct lull_filter_value *contexts)
{
	unsigned char *table = counts->tables + (uint64_t)(cpu & (counts->plan.table_count - 1)) *
							counts->plan.stride_bytes;

	if (!counting->is_plain && told_apart_add(counts, counting, event, table, fields, contexts))
		return;
	lull_add_relaxed((uint64_t *)table + event, 1);
}
