// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of what was left in reserved memory, on the host: notes that nobody wrote, with hashes
 * that fit, so that nothing but the check of sizes and places stands between them and the kernel.
 *
 * Usage: left_test [ROUNDS [SEED]].
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../check/test.h"
#include "left.h"
#include "lull/abi/kernel.h"

#define PAGE_BYTES 4096u
#define RANGE_BYTES (64ull << 20)
#define ROUNDS 400000u

static uint64_t state = 1;
static unsigned long rounds = ROUNDS;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static struct lull_left_note honest(void)
{
	struct lull_left_note note = {
		.magic = LULL_LEFT_MAGIC,
		.version = LULL_LEFT_VERSION,
		.bytes = sizeof(note),
		.range = { RANGE_BYTES, PAGE_BYTES, 9 },
		.layout = {
			.magic = LULL_SESSION_MAGIC,
			.version = LULL_SESSION_VERSION,
			.mode = LULL_MODE_FLIGHT_RECORDER,
			.cpu_count = 4,
			.subbuf_size_bytes = 1 << 20,
			.subbuf_count = 8,
			.patterns_bytes = 100,
			.uuid = "0123456789abcde",
		},
	};

	if (!lull_layout_make(&note.layout, note.range.given_count, PAGE_BYTES))
		abort();
	note.hash = lull_left_hash(&note);
	return note;
}

static const char *refusal(const struct lull_left_note *note)
{
	return lull_left_check(note, RANGE_BYTES, PAGE_BYTES);
}

/* Does every page of the session that has memory lie in the range, behind the note? */
static int lies_in_range(const struct lull_left_note *note)
{
	const struct lull_session_control *layout = &note->layout;
	uint64_t last = layout->memory_bytes - 1;
	uint64_t edges[] = { 0,
			     layout->data_offset_bytes - 1,
			     layout->data_offset_bytes,
			     layout->data_offset_bytes + layout->data_stride_bytes - 1,
			     layout->data_offset_bytes + layout->data_stride_bytes,
			     last };

	for (unsigned int i = 0; i < 64; i++) {
		uint64_t at = i < 6 ? edges[i] : any() % layout->memory_bytes;
		uint64_t offset = at <= last ? lull_range_at(layout, &note->range, at) : 0;

		if (offset && (offset < PAGE_BYTES || offset >= RANGE_BYTES ||
			       offset % PAGE_BYTES != at % PAGE_BYTES))
			return 0;
	}
	return layout->memory_bytes > layout->data_offset_bytes &&
	       layout->data_offset_bytes >= layout->rings_offset_bytes &&
	       lull_range_at(layout, &note->range, 0) == PAGE_BYTES;
}

static int note_that_the_module_wrote_is_accepted(void)
{
	struct lull_left_note note = honest();

	CHECK(!refusal(&note) && lies_in_range(&note));
	CHECK(lull_range_ring(&note.layout, &note.range, 3));
	CHECK(!lull_range_ring(&note.layout, &note.range, 4));
	return 0;
}

static int rings_that_do_not_fit_have_no_memory(void)
{
	struct lull_left_note note = honest();

	note.layout.cpu_count = 8;
	CHECK(lull_layout_make(&note.layout, note.range.given_count, PAGE_BYTES));
	note.hash = lull_left_hash(&note);
	CHECK(!refusal(&note) && lies_in_range(&note));
	/* 64 MiB: a head of some 1.2, and as often 9 as 16 fit behind the last. */
	CHECK(lull_range_ring(&note.layout, &note.range, 5));
	CHECK(!lull_range_ring(&note.layout, &note.range, 6));
	CHECK(!lull_range_at(&note.layout, &note.range, note.layout.memory_bytes - 1));
	note.layout.subbuf_size_bytes = 8 << 20;
	CHECK(lull_layout_make(&note.layout, note.range.given_count, PAGE_BYTES));
	note.hash = lull_left_hash(&note);
	CHECK(refusal(&note));
	return 0;
}

static int note_of_another_version_range_or_hash_is_refused_for_what_it_is(void)
{
	struct lull_left_note note = honest();

	CHECK(strstr(lull_left_check(&note, RANGE_BYTES * 2, PAGE_BYTES), "another size"));
	CHECK(strstr(lull_left_check(&note, RANGE_BYTES, PAGE_BYTES * 4), "another size"));
	note.begun_ns ^= 1;
	CHECK(strstr(refusal(&note), "damaged"));
	note = honest();
	note.version++;
	CHECK(strstr(refusal(&note), "version"));
	note = honest();
	note.magic = 0;
	CHECK(strstr(refusal(&note), "no session"));
	return 0;
}

/* One change or some, of bits, of words to odd values, or of bytes. */
static void change(struct lull_left_note *note)
{
	static const uint64_t odd[] = { 0,	    1,		 2,	     0x7fffffff,
					0x80000000, 0xffffffff,	 1ull << 32, 1ull << 63,
					~0ull,	    RANGE_BYTES, PAGE_BYTES, 1ull << 20 };
	unsigned char *bytes = (unsigned char *)note;
	uint64_t count = 1 + any() % 4;

	while (count--) {
		size_t at = any() % offsetof(struct lull_left_note, hash) & ~(size_t)3;
		uint64_t value = odd[any() % (sizeof(odd) / sizeof(*odd))] + any() % 3 - 1;

		switch (any() % 4) {
		case 0:
			bytes[at] ^= (unsigned char)(1u << any() % 8);
			break;
		case 1:
			memcpy(bytes + at, &value, 4);
			break;
		case 2:
			memcpy(bytes + (at & ~(size_t)7), &value, 8);
			break;
		default:
			value = any();
			memcpy(bytes + at, &value, 4);
		}
	}
}

static int changed_notes_are_refused_or_lie_in_the_range(void)
{
	unsigned long accepted = 0;

	for (unsigned long round = 0; round < rounds; round++) {
		struct lull_left_note note = honest();

		change(&note);
		/* Half of them placed as this module does it, by numbers that it may not take. */
		if (round % 2)
			lull_layout_make(&note.layout, note.range.given_count, PAGE_BYTES);
		note.hash = lull_left_hash(&note);
		if (refusal(&note))
			continue;
		accepted++;
		CHECK(lies_in_range(&note));
	}
	printf("     %lu of %lu accepted\n", accepted, rounds);
	CHECK(accepted > rounds / 100 && accepted < rounds);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		state = strtoul(argv[2], NULL, 0) | 1;
	RUN(note_that_the_module_wrote_is_accepted);
	RUN(rings_that_do_not_fit_have_no_memory);
	RUN(note_of_another_version_range_or_hash_is_refused_for_what_it_is);
	RUN(changed_notes_are_refused_or_lie_in_the_range);
	return sums();
}
