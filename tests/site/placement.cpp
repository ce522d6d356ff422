/* SPDX-License-Identifier: MIT */
/* Events in all the places that C++ has for them. */
#include <cstring>
#include "harness.h"
#include "placement.h"

static int at_start = [] {
	lull_event("placement:initialiser", lull_str(when, "before main"));
	return 42;
}();

#define TWICE(number)                                                   \
	do {                                                            \
		lull_event("placement:twice", lull_i32(value, number)); \
		lull_event("placement:twice", lull_i32(value, number)); \
	} while (0)

enum class color : unsigned char { red, green };
enum plain_enumeration { first, second };

template <int n> struct unrolled {
	static void run()
	{
		lull_event("placement:unrolled", lull_i32(n, n));
		unrolled<n - 1>::run();
	}
};
template <> struct unrolled<0> {
	static void run()
	{
	}
};

static void count_is(const char *name, uint32_t count)
{
	check(capture_count == count, name, "that many events");
	capture_reset();
}

/* Jumps that may not pass a declaration, and declarations that events stand around. */
static int jumping(int value)
{
	constexpr int level = LULL_LEVEL_DEBUG;

	lull_event("placement:before", lull_i32(value, value));
	counter guard;
	int result = value * 2;
	switch (value) {
	case 0:
		lull_event_level(level, "placement:case", lull_i32(result, result));
		goto end;
	default:
		break;
	}
	result++;
end:
	lull_event("placement:after", lull_i32(result, result));
	return result;
}

static void throwing(void)
{
	counter guard;

	lull_event("placement:throws");
	throw 1;
}

/* Text that is there as long as its owner is. */
struct owner {
	char *place;

	owner(char *to, const char *text) : place(to)
	{
		std::strcpy(place, text);
	}
	~owner()
	{
		std::strcpy(place, "gone");
	}
};

static void temporaries(void)
{
	static char text[8], bytes[8];

	lull_event("placement:temporary", lull_str(text, owner(text, "here").place),
		   lull_bytes(bytes, owner(bytes, "also").place, 4));
	check(!std::memcmp(captures[0].payload, "here\0\4\0\0\0also", 13),
	      "temporaries_live_until_the_event_is_recorded", "the payload");
	check(!std::strcmp(text, "gone") && !std::strcmp(bytes, "gone"),
	      "temporaries_end_with_the_event", "text of theirs");
	count_is("an_event_of_temporaries_records", 1);
}

int main()
{
	sites_scan();
	check(sites_named("placement:initialiser") == 1 && at_start == 42,
	      "static_initialisers_may_hold_events", "a site");
	check(!sites_set("*", 1), "all_sites_can_be_patched", "some could not");

	other_unit(1);
	count_is("the_other_unit_records_its_inlines_and_templates", 4);
	shared_inline(1);
	shared_template<long>(2);
	shared_template<short>(3);
	count_is("duplicates_in_two_units_are_all_enabled", 3);
	unrolled<7>::run();
	count_is("each_instance_of_a_template_records", 7);
	TWICE(5);
	count_is("two_events_on_one_line_both_record", 2);

	auto lambda = [](auto value) { lull_event("placement:lambda", lull_f64(v, value)); };
	lambda(1.5);
	lambda(2.5f);
	count_is("generic_lambdas_record", 2);

	try {
		throwing();
	} catch (int) {
		lull_event("placement:caught", lull_bool(ok, true));
	}
	count_is("events_live_with_exceptions", 3);

	jumping(0);
	count_is("events_live_with_jumps_and_declarations", 4);

	const char *null = nullptr;
	lull_event("placement:types", lull_enum(color, color::green, "RED=0,GREEN=1"),
		   lull_u8(raw, color::green), lull_u32(plain, second), lull_ptr(none, nullptr),
		   lull_str(text, null));
	check(captures[0].bytes == 4 + 1 + 4 + 8 + 7 && captures[0].payload[0] == 1,
	      "enumerations_and_nullptr_are_fields", "the payload");
	capture_reset();

	temporaries();
	check(sites_named("placement:template") == probes_named("placement:template") &&
		      sites_named("placement:template") >= 2,
	      "the_linker_drops_notes_with_their_duplicates", "a probe for each site");
	sites_set("", 0);
	other_unit(1);
	shared_template<short>(3);
	count_is("all_duplicates_can_be_disabled", 0);
	return 0;
}
