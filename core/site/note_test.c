/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Notes and descriptions: what is accepted, what is refused, and that nothing is read past
 * the end whatever the bytes are. The segment ends where the next page is not mapped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../check/test.h"
#include "note.h"

#define MUTATIONS 200000

static const char description[] = "http:request\n6\n/a b/c.c:12\nu64 id\nstr url\nenum s A=0,B=1\n";

static int seen;
static struct lull_note last;

static int take(const struct lull_note *note, void *context)
{
	(void)context;
	seen++;
	last = *note;
	return 0;
}

static int take_one(const struct lull_note *note, void *context)
{
	(void)note;
	seen++;
	return *(int *)context;
}

/* Append a note. Return: its size. */
static size_t note_put(unsigned char *at, const char *owner, uint32_t type, const void *descriptor,
		       size_t bytes)
{
	uint32_t header[3] = { (uint32_t)strlen(owner) + 1, (uint32_t)bytes, type };
	size_t owner_bytes = (header[0] + 3) & ~3u;

	memset(at, 0, sizeof(header) + owner_bytes + ((bytes + 3) & ~(size_t)3));
	memcpy(at, header, sizeof(header));
	memcpy(at + sizeof(header), owner, header[0]);
	memcpy(at + sizeof(header) + owner_bytes, descriptor, bytes);
	return sizeof(header) + owner_bytes + ((bytes + 3) & ~(size_t)3);
}

static size_t site_put(unsigned char *at, int32_t code, int32_t target, const char *text,
		       size_t text_bytes)
{
	unsigned char descriptor[512];

	memcpy(descriptor, &code, sizeof(code));
	memcpy(descriptor + 4, &target, sizeof(target));
	memcpy(descriptor + 8, text, text_bytes);
	return note_put(at, LULL_NOTE_NAME, LULL_NOTE_SITE, descriptor, 8 + text_bytes);
}

static size_t probe_put(unsigned char *at, int32_t record, const char *text, size_t text_bytes)
{
	unsigned char descriptor[512];

	memcpy(descriptor, &record, sizeof(record));
	memcpy(descriptor + 4, text, text_bytes);
	return note_put(at, LULL_NOTE_NAME, LULL_NOTE_PROBE, descriptor, 4 + text_bytes);
}

static int walk(const unsigned char *notes, size_t bytes)
{
	seen = 0;
	return lull_note_walk(notes, bytes, take, NULL);
}

static void walks(unsigned char *page)
{
	size_t bytes = 0, site_at, first, probe_at;
	int stop = 7;

	bytes += note_put(page, "GNU", 3, "12345678901234567890", 20);
	site_at = bytes;
	bytes += site_put(page + bytes, 100, -200, description, sizeof(description));
	first = bytes;
	bytes += note_put(page + bytes, "Lull", 99, "later", 5);
	probe_at = bytes;
	bytes += probe_put(page + bytes, 64, description, sizeof(description));
	check(walk(page, bytes) == 0 && seen == 2, "notes_of_others_and_later_types_are_skipped");
	check(last.record == (uintptr_t)page + probe_at + 20 + 64,
	      "a_record_is_found_relative_to_its_offset");
	check(walk(page, first) == 0 && last.code == (uintptr_t)page + site_at + 20 + 100 &&
		      last.target == (uintptr_t)page + site_at + 24 - 200,
	      "a_site_is_found_relative_to_its_offsets");
	check(last.name_bytes == 12 && !memcmp(last.name, "http:request", 12) && last.level == 6 &&
		      last.description_bytes == sizeof(description) - 1,
	      "name_level_and_description_are_read");
	seen = 0;
	check(lull_note_walk(page, bytes, take_one, &stop) == 7 && seen == 1,
	      "a_visitor_can_end_the_walk");
	bytes = probe_put(page, 64, "headless", 9);
	bytes += probe_put(page + bytes, 64, description, sizeof(description));
	check(walk(page, bytes) == -EINVAL && seen == 1,
	      "a_damaged_description_hides_no_note_behind_it");
	bytes = site_put(page, 0, 0, description, sizeof(description));
	check(walk(page, bytes) == 0 && !last.code && !last.target,
	      "a_site_that_tests_its_record_has_no_code");
}

/* Notes of any owner, the last of which has no padding after it. */
static void any_owner(unsigned char *page)
{
	struct lull_elf_notes notes;
	struct lull_elf_note note;
	size_t bytes = note_put(page, "stapsdt", 3, "123", 3);
	uint32_t huge = UINT32_MAX;

	bytes += note_put(page + bytes, "GNU", 3, "12345", 5) - 3;
	notes = (struct lull_elf_notes){ (const char *)page, bytes };
	check(lull_elf_note_take(&notes, &note) == 1 && note.name_bytes == 8 &&
		      !memcmp(note.name, "stapsdt", 8) && note.descriptor_bytes == 3,
	      "a_note_of_any_owner_is_taken");
	check(lull_elf_note_take(&notes, &note) == 1 && note.type == 3 && note.name_bytes == 4 &&
		      note.descriptor_bytes == 5 && !memcmp(note.descriptor, "12345", 5) &&
		      !lull_elf_note_take(&notes, &note),
	      "the_last_note_needs_no_padding");
	for (size_t word = 0; word < 2; word++) {
		bytes = note_put(page, "GNU", 3, "12345", 5);
		memcpy(page + word * sizeof(huge), &huge, sizeof(huge));
		notes = (struct lull_elf_notes){ (const char *)page, bytes };
		check(lull_elf_note_take(&notes, &note) == -EINVAL && notes.left == bytes,
		      "a_note_longer_than_memory_is_refused");
	}
}

static void refusals(unsigned char *page)
{
	static const char *const headless[] = { "",	    "a:b",	 "a:b\n",  "a:b\n6",
						"a:b\n8\n", "a:b\n66\n", "a:b\n\n" };
	size_t bytes = site_put(page, 4, 8, description, sizeof(description) - 1);

	check(walk(page, bytes) == -EINVAL, "a_description_without_its_nul_is_refused");
	for (size_t i = 0; i < sizeof(headless) / sizeof(*headless); i++) {
		bytes = site_put(page, 4, 8, headless[i], strlen(headless[i]) + 1);
		check(walk(page, bytes) == -EINVAL,
		      "a_description_without_name_and_level_is_refused");
	}
	bytes = site_put(page, 4, 0, description, sizeof(description));
	check(walk(page, bytes) == -EINVAL, "a_site_without_a_target_is_refused");
	bytes = probe_put(page, 0, description, sizeof(description));
	check(walk(page, bytes) == -EINVAL, "a_probe_without_a_record_is_refused");
	bytes = note_put(page, LULL_NOTE_NAME, LULL_NOTE_SITE, "1234567", 7);
	check(walk(page, bytes) == -EINVAL, "a_descriptor_too_short_is_refused");
}

/* What a segment of two notes says when it is cut, as close to @edge as it can be. */
static int cut_anywhere(const unsigned char *good, size_t bytes, unsigned char *edge)
{
	const size_t header_bytes = 3 * sizeof(uint32_t) + 8; /* and the owner's name */
	const size_t first_bytes = header_bytes + 8 + sizeof(description);
	const size_t second_bytes = header_bytes + 4 + sizeof(description);
	const size_t second_at = (first_bytes + 3) & ~(size_t)3;

	for (size_t length = 0; length <= bytes; length++) {
		int whole = (length >= first_bytes) + (length >= second_at + second_bytes);
		/* fewer bytes than three words are no note, and no mistake */
		size_t begun = length - (length >= first_bytes ? second_at : 0);
		int is_between = whole == 2 || length < 12 ||
				 (length >= first_bytes && (length < second_at || begun < 12));

		memcpy(edge - length, good, length);
		if (walk(edge - length, length) != (is_between ? 0 : -EINVAL) || seen != whole) {
			printf("  cut at %zu: %d notes seen\n", length, seen);
			return 0;
		}
	}
	return 1;
}

/* Every length, and random damage, against the edge of a page that may not be touched. */
static void hostile(unsigned char *page, size_t page_bytes)
{
	unsigned char good[1024];
	size_t bytes = site_put(good, 4, 8, description, sizeof(description));
	int damaged = 0;

	bytes += probe_put(good + bytes, 64, description, sizeof(description));
	check(cut_anywhere(good, bytes, page + page_bytes),
	      "a_segment_cut_anywhere_is_read_up_to_its_last_whole_note");
	srand(1);
	for (int i = 0; i < MUTATIONS; i++) {
		unsigned char *at = page + page_bytes - bytes;

		memcpy(at, good, bytes);
		for (int j = 0; j <= i % 4; j++)
			at[(size_t)rand() % bytes] = (unsigned char)(rand() >> 7);
		damaged += walk(at, bytes) == -EINVAL;
	}
	check(damaged > MUTATIONS / 4, "damaged_notes_are_refused_and_never_read_past_their_end");
}

static int accepts(const char *text)
{
	return lull_description_check(text, strlen(text)) == 0;
}

static void descriptions(void)
{
	check(lull_description_check(description, sizeof(description) - 1) == 0,
	      "a_description_is_accepted");
	check(accepts("a:b\n0\nf:1\n") && accepts("a:b:c-d.e_F\n7\n:1\n"),
	      "fields_may_be_absent_and_names_have_parts");
	check(accepts("a0:9b\n0\nf:1\nu8 x09\n"), "names_may_hold_digits");
	check(lull_description_check("a:b\n0\nf\0:1\n", 11) == -EINVAL,
	      "a_description_holds_no_nul");
	check(!accepts("ab\n0\nf:1\n") && !accepts(":b\n0\nf:1\n") && !accepts("a:\n0\nf:1\n") &&
		      !accepts("a::b\n0\nf:1\n") && !accepts("a:b c\n0\nf:1\n") &&
		      !accepts("\n0\nf:1\n"),
	      "names_are_group_and_name");
	check(!accepts("a:b\n8\nf:1\n") && !accepts("a:b\n\nf:1\n") && !accepts("a:b\n10\nf:1\n"),
	      "levels_are_0_to_7");
	check(!accepts("a:b\n0\nf1\n") && !accepts("a:b\n0\nf:\n") && !accepts("a:b\n0\nf:1") &&
		      !accepts("a:b\n0\n"),
	      "the_place_is_a_file_and_a_line");
	check(!accepts("a:b\n0\nf:1\nu65 x\n") && !accepts("a:b\n0\nf:1\nu64\n") &&
		      !accepts("a:b\n0\nf:1\nu64 \n") && !accepts("a:b\n0\nf:1\nu64 1x\n") &&
		      !accepts("a:b\n0\nf:1\nu64 x y\n") && !accepts("a:b\n0\nf:1\n x\n") &&
		      !accepts("a:b\n0\nf:1\nu64 u32 x\n"),
	      "fields_have_a_known_type_and_one_name");
	check(!accepts("a:b\n0\nf:1\nenum x\n") && !accepts("a:b\n0\nf:1\nenum x \n"),
	      "enumerations_have_names");
	check(accepts("a:b\n0\nf:1\nx32 x A=0x1,B=2\nx8 y\n") &&
		      !accepts("a:b\n0\nf:1\nx32 x \n") && !accepts("a:b\n0\nf:1\nu32 x A=1\n"),
	      "bits_may_have_names");
	check(!accepts("a:b\n0\nf:1\nu8 a\nu8 b\nu8 c\nu8 d\nu8 e\nu8 f\nu8 g\nu8 h\nu8 i\nu8 j\n"
		       "u8 k\nu8 l\nu8 m\nu8 n\nu8 o\nu8 p\nu8 q\n"),
	      "there_are_at_most_16_fields");
}

static void segments(void)
{
	const struct lull_segment segments[] = { { 0x1000, 0x2000, 1, 0 },
						 { 0x3000, 0x4000, 0, 1 } };
	struct lull_note site = { .code = 0x1ffc, .target = 0x1000 };
	struct lull_note probe = { .record = 0x3fe0 };

	check(!lull_note_check(&site, segments, 2) && !lull_note_check(&probe, segments, 2),
	      "addresses_in_their_segments_are_accepted");
	site.target = 0x3000;
	check(lull_note_check(&site, segments, 2) == -EFAULT, "a_target_outside_text_is_refused");
	site.target = 0x1000;
	site.code = 0x1ffd;
	check(lull_note_check(&site, segments, 2) == -EFAULT, "a_site_past_its_segment_is_refused");
	probe.record = 0x3fe8;
	check(lull_note_check(&probe, segments, 2) == -EFAULT,
	      "a_record_past_its_segment_is_refused");
	probe.record = 0x3004;
	check(lull_note_check(&probe, segments, 2) == -EFAULT,
	      "a_record_off_its_alignment_is_refused");
}

int main(void)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *page = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || mprotect(page + page_bytes, page_bytes, PROT_NONE))
		return 1;
	walks(page);
	any_owner(page);
	refusals(page);
	hostile(page, page_bytes);
	descriptions();
	segments();
	return sums();
}
