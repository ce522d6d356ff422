/* SPDX-License-Identifier: MIT */
/* Every type of field, in C and in C++: the payload and the description of each event. */
#include <string.h>
#include <lull/trace.h>
#include "harness.h"

struct flags {
	unsigned int low : 3;
	int high : 5;
};

/* Append to what the payload should be. */
static unsigned char expected[PAYLOAD_BYTES_MAX];
static uint32_t expected_bytes;

static void expect(const void *data, size_t bytes)
{
	memcpy(expected + expected_bytes, data, bytes);
	expected_bytes += (uint32_t)bytes;
}

#define EXPECT(type, value)                            \
	do {                                           \
		type expected_value = (value);         \
		expect(&expected_value, sizeof(type)); \
	} while (0)

static void compare(const char *name)
{
	while (expected_bytes & 3)
		expected[expected_bytes++] = 0;
	check(capture_count == 1, name, "one event was committed");
	check(captures[0].bytes == expected_bytes &&
		      !memcmp(captures[0].payload, expected, expected_bytes),
	      name, "the payload is as laid down");
	expected_bytes = 0;
	capture_reset();
}

static void integers(void)
{
	uint8_t u8 = 0xfe;
	uint16_t u16 = 0xfedc;
	uint32_t u32 = 0xfedcba98;
	uint64_t u64 = 0xfedcba9876543210u;
	int8_t i8 = -3;
	int16_t i16 = -300;
	int32_t i32 = -300000;
	int64_t i64 = -30000000000;

	lull_event("fields:unsigned", lull_u8(a, u8), lull_u16(b, u16), lull_u32(c, u32),
		   lull_u64(d, u64));
	EXPECT(uint8_t, u8);
	EXPECT(uint16_t, u16);
	EXPECT(uint32_t, u32);
	EXPECT(uint64_t, u64);
	compare("unsigned_integers_are_packed_in_order");

	lull_event("fields:signed", lull_i8(a, i8), lull_i16(b, i16), lull_i32(c, i32),
		   lull_i64(d, i64));
	EXPECT(int8_t, i8);
	EXPECT(int16_t, i16);
	EXPECT(int32_t, i32);
	EXPECT(int64_t, i64);
	compare("signed_integers_are_packed_in_order");

	lull_event("fields:hex", lull_x8(a, i8), lull_x16(b, u16), lull_x32(c, i8),
		   lull_x64(d, u32));
	EXPECT(uint8_t, 0xfd);
	EXPECT(uint16_t, u16);
	EXPECT(uint32_t, 0xfffffffd);
	EXPECT(uint64_t, u32);
	compare("hexadecimal_fields_take_both_signs");
}

static void widening_and_constants(void)
{
	uint8_t u8 = 0xfe;
	int8_t i8 = -3;
	struct flags flags = { 5, -7 };
	size_t size = 77;
	long number = -5;
	unsigned long long big = 1ull << 63;

	lull_event("fields:widened", lull_u64(a, u8), lull_i64(b, i8), lull_i16(c, u8),
		   lull_u32(d, flags.low), lull_i32(e, flags.high), lull_u64(f, size),
		   lull_i64(g, number), lull_u64(h, big), lull_u8(i, 2 > 1));
	EXPECT(uint64_t, 0xfe);
	EXPECT(int64_t, -3);
	EXPECT(int16_t, 0xfe);
	EXPECT(uint32_t, 5);
	EXPECT(int32_t, -7);
	EXPECT(uint64_t, 77);
	EXPECT(int64_t, -5);
	EXPECT(uint64_t, 1ull << 63);
	EXPECT(uint8_t, 1);
	compare("narrower_integers_widen");

	lull_event("fields:constants", lull_u8(a, 255), lull_i8(b, -128), lull_x8(c, -1),
		   lull_u16(d, sizeof(int)), lull_u64(e, 'x'), lull_x32(f, 0xffffffff));
	EXPECT(uint8_t, 255);
	EXPECT(int8_t, -128);
	EXPECT(uint8_t, 255);
	EXPECT(uint16_t, 4);
	EXPECT(uint64_t, 'x');
	EXPECT(uint32_t, 0xffffffff);
	compare("constants_that_fit_are_taken");
}

enum state { IDLE, BUSY = 5 };

static void others(void)
{
	float f32 = 1.5f;
	double f64 = -2.25;
	int truth = 12;
	enum state state = BUSY;
	int numbers[2] = { 1, 2 };
	uint64_t top = 1ull << 63;

	lull_event("fields:others", lull_f32(a, f32), lull_f64(b, f64), lull_f64(c, f32),
		   lull_bool(d, truth), lull_bool(e, truth > 20),
		   lull_enum(f, state, "IDLE=0,BUSY=5"), lull_ptr(g, numbers), lull_ptr(h, &others),
		   lull_enum(i, -1, "NONE=-1"), lull_flags8(j, 0x81, "LOW=1,HIGH=0x80"),
		   lull_flags64(k, top, "TOP=0x8000000000000000"));
	EXPECT(float, f32);
	EXPECT(double, f64);
	EXPECT(double, 1.5);
	EXPECT(uint8_t, 1);
	EXPECT(uint8_t, 0);
	EXPECT(int32_t, 5);
	EXPECT(uint64_t, (uint64_t)(uintptr_t)numbers);
	EXPECT(uint64_t, (uint64_t)(uintptr_t)&others);
	EXPECT(int32_t, -1);
	EXPECT(uint8_t, 0x81);
	EXPECT(uint64_t, 1ull << 63);
	compare("floats_booleans_enumerations_and_pointers");

	lull_event("fields:none");
	compare("an_event_may_have_no_fields");

	lull_event("fields:sixteen", lull_u8(a, 1), lull_u8(b, 2), lull_u8(c, 3), lull_u8(d, 4),
		   lull_u8(e, 5), lull_u8(f, 6), lull_u8(g, 7), lull_u8(h, 8), lull_u8(i, 9),
		   lull_u8(j, 10), lull_u8(k, 11), lull_u8(l, 12), lull_u8(m, 13), lull_u8(n, 14),
		   lull_u8(o, 15), lull_u8(p, 16));
	for (uint8_t i = 1; i <= 16; i++)
		EXPECT(uint8_t, i);
	compare("an_event_may_have_16_fields");
}

static void strings(void)
{
	char buffer[16] = "in a buffer";
	const char *null = NULL;
	int limit = -1;

	lull_event("fields:strings", lull_str(a, "abc"), lull_str(b, buffer), lull_str(c, null),
		   lull_str(d, ""), lull_u8(e, 7));
	expect("abc", 4);
	expect(buffer, strlen(buffer) + 1);
	expect("(null)", 7);
	expect("", 1);
	EXPECT(uint8_t, 7);
	compare("strings_end_at_their_nul_and_null_is_said");

	lull_event("fields:limited", lull_strn(a, "abcdef", 3), lull_strn(b, "ab", 100),
		   lull_strn(c, "abc", limit), lull_strn(d, buffer, SIZE_MAX));
	expect("abc", 4);
	expect("ab", 3);
	expect("", 1);
	expect(buffer, strlen(buffer) + 1);
	compare("limited_strings_are_cut_at_their_limit");
}

static void arrays(void)
{
	uint8_t u8[3] = { 1, 2, 3 };
	int8_t i8[2] = { -1, -2 };
	uint16_t u16[3] = { 1, 2, 3 };
	int16_t i16[2] = { -1, -2 };
	const uint32_t u32[3] = { 1, 2, 3 };
	int i32[2] = { -1, -2 };
	unsigned long u64[1] = { 99 };
	long long i64[2] = { -1, -2 };
	const int *null = NULL;
	int negative = -4;
	struct flags flags = { 2, -1 };

	lull_event("fields:unsigned_arrays", lull_au8(a, u8, 3), lull_au16(b, u16, 3u),
		   lull_au32(c, u32, (size_t)3), lull_au64(d, u64, 1));
	EXPECT(uint32_t, 3);
	expect(u8, sizeof(u8));
	EXPECT(uint32_t, 3);
	expect(u16, sizeof(u16));
	EXPECT(uint32_t, 3);
	expect(u32, sizeof(u32));
	EXPECT(uint32_t, 1);
	expect(u64, sizeof(u64));
	compare("arrays_carry_their_count");

	lull_event("fields:signed_arrays", lull_ai8(a, i8, 2), lull_ai16(b, i16, 2),
		   lull_ai32(c, i32, 2), lull_ai64(d, i64, 2));
	EXPECT(uint32_t, 2);
	expect(i8, sizeof(i8));
	EXPECT(uint32_t, 2);
	expect(i16, sizeof(i16));
	EXPECT(uint32_t, 2);
	expect(i32, sizeof(i32));
	EXPECT(uint32_t, 2);
	expect(i64, sizeof(i64));
	compare("signed_arrays_too");

	lull_event("fields:bytes", lull_bytes(a, i32, sizeof(i32)), lull_bytes(b, "xyz", 2),
		   lull_ai32(c, null, 5), lull_ai32(d, i32, negative));
	EXPECT(uint32_t, sizeof(i32));
	expect(i32, sizeof(i32));
	EXPECT(uint32_t, 2);
	expect("xy", 2);
	EXPECT(uint32_t, 0);
	EXPECT(uint32_t, 0);
	compare("null_and_negative_counts_record_no_elements");

	lull_event("fields:bit_fields", lull_bytes(a, "xyz", flags.low),
		   lull_bytes(b, "xyz", flags.high), lull_strn(c, "xyz", flags.low),
		   lull_strn(d, "xyz", flags.high));
	EXPECT(uint32_t, 2);
	expect("xy", 2);
	EXPECT(uint32_t, 0);
	expect("xy", 3);
	expect("", 1);
	compare("counts_in_bit_fields_have_their_sign");
}

static void descriptions(void)
{
	const char *text = description_of("fields:others");
	const char *fields = "\nf32 a\nf64 b\nf64 c\nbool d\nbool e\nenum f IDLE=0,BUSY=5\nptr g\n"
			     "ptr h\nenum i NONE=-1\nx8 j LOW=1,HIGH=0x80\n"
			     "x64 k TOP=0x8000000000000000\n";

	check(text && !strncmp(text, "fields:others\n6\n", 16),
	      "description_begins_with_name_and_level", text ? text : "none");
	check(text && strstr(text, "fields.c:") && strstr(text, fields) &&
		      !strcmp(strstr(text, fields), fields),
	      "description_lists_the_fields_in_order", text ? text : "none");
}

int main(void)
{
	sites_scan();
	check(!sites_set("*", 1), "all_sites_can_be_patched", "some could not");
	integers();
	widening_and_constants();
	others();
	strings();
	arrays();
	descriptions();
	return 0;
}
