/* SPDX-License-Identifier: MIT */
/* When values are evaluated, for which sessions, and what a changing string leaves behind. */
#include <signal.h>
#include <string.h>
#include <lull/trace.h>
#include "harness.h"

static int calls;
static int order[8];
static char changing[16];

static uint64_t count_call(int which)
{
	if (calls < 8)
		order[calls] = which;
	calls++;
	return (uint64_t)which;
}

static void one(void)
{
	lull_event("evaluation:one", lull_u64(a, count_call(1)), lull_u64(b, count_call(2)),
		   lull_u64(c, count_call(3)));
}

static void debug(void)
{
	lull_event_level(LULL_LEVEL_DEBUG, "evaluation:debug", lull_u64(a, count_call(1)));
}

static void disabled_evaluates_nothing(void)
{
	calls = 0;
	sites_set("", 0);
	one();
	CHECK("a_disabled_event_evaluates_nothing", calls == 0 && reserve_count == 0);
	sites_set("other:*", 1);
	one();
	CHECK("an_event_no_session_wants_evaluates_nothing", calls == 0);
}

/* A site may be patched while no session wants the event any more. */
static void mask_decides(void)
{
	calls = 0;
	sites_set("evaluation:*", 1);
	sites_set("evaluation:*", 0);
	one();
	CHECK("a_patched_site_with_an_empty_mask_evaluates_nothing", calls == 0);
}

static void once_for_all_sessions(void)
{
	calls = 0;
	capture_reset();
	sites_set("evaluation:*", 0xa5);
	one();
	CHECK("values_are_evaluated_once_for_four_sessions", calls == 3);
	CHECK("values_are_evaluated_in_order", order[0] == 1 && order[1] == 2 && order[2] == 3);
	CHECK("each_session_in_the_mask_gets_the_event",
	      capture_count == 4 && captures[0].session == 0 && captures[1].session == 2 &&
		      captures[2].session == 5 && captures[3].session == 7);
	CHECK("each_session_has_its_own_identifier",
	      captures[0].id == 100 && captures[1].id == 102 && captures[3].id == 107);
	CHECK("each_session_gets_the_same_payload",
	      !memcmp(captures[0].payload, captures[3].payload, 24) && captures[3].bytes == 24);
}

static void lost_events(void)
{
	capture_reset();
	reserve_refuses = 1;
	one();
	reserve_refuses = 0;
	CHECK("an_event_without_a_slot_is_not_committed", reserve_count == 4 && capture_count == 0);
}

static void levels(void)
{
	calls = 0;
	sites_set("evaluation:*@info", 1);
	debug();
	CHECK("a_pattern_with_a_level_leaves_less_severe_events_out", calls == 0);
	one();
	CHECK("and_takes_the_others", calls == 3);
	sites_set("evaluation:*@debug", 1);
	debug();
	CHECK("the_level_of_an_event_is_in_its_description", calls == 4);
}

static void string_grows(void)
{
	strcpy(changing, "much longer");
}

static void string_shrinks(void)
{
	strcpy(changing, "a");
}

static void changing_strings(void)
{
	sites_set("evaluation:*", 1);
	capture_reset();
	strcpy(changing, "short");
	reserve_hook = string_grows;
	lull_event("evaluation:grows", lull_str(text, changing), lull_u8(after, 9));
	CHECK("a_string_that_grows_is_cut_at_its_measured_length",
	      captures[0].bytes == 8 && !memcmp(captures[0].payload, "much \0\x09\0", 8));
	capture_reset();
	strcpy(changing, "longer");
	reserve_hook = string_shrinks;
	lull_event("evaluation:shrinks", lull_str(text, changing), lull_u8(after, 9));
	CHECK("a_string_that_shrinks_keeps_the_fields_after_it_in_place",
	      captures[0].bytes == 8 && !memcmp(captures[0].payload, "a#nger\0\x09", 8));
	reserve_hook = NULL;
}

static void too_big(void)
{
	static char big[PAYLOAD_BYTES_MAX + 1];
	volatile size_t huge = SIZE_MAX;

	capture_reset();
	memset(big, 'x', PAYLOAD_BYTES_MAX);
	lull_event("evaluation:big", lull_str(text, big));
	CHECK("an_event_too_big_for_a_slot_is_asked_for_and_refused",
	      reserve_count == 1 && capture_count == 0);
	lull_event("evaluation:huge", lull_bytes(data, big, huge), lull_bytes(more, big, huge));
	CHECK("a_count_beyond_any_buffer_is_refused_before_it_is_read",
	      reserve_count == 2 && capture_count == 0);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	signals++;
	lull_event("evaluation:signal", lull_i32(number, number));
}

static void handlers(void)
{
	capture_reset();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	CHECK("events_work_in_signal_handlers",
	      signals == 1 && capture_count == 1 && captures[0].payload[0] == SIGUSR1);
}

static void braceless(void)
{
	int number = 1;

	capture_reset();
	if (number == 2)
		lull_event("evaluation:then");
	else
		lull_event("evaluation:else");
	for (int i = 0; i < 3; i++)
		lull_event("evaluation:loop", lull_i32(i, i));
	CHECK("an_event_is_one_statement", capture_count == 4 && captures[3].payload[0] == 2);
}

int main(void)
{
	sites_scan();
	disabled_evaluates_nothing();
	mask_decides();
	once_for_all_sessions();
	lost_events();
	levels();
	changing_strings();
	too_big();
	handlers();
	braceless();
	return 0;
}
