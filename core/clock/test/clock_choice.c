// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Tests of the choice of the trace clock: which machine gets which kind.
 */
#include <string.h>
#include "lull/clock.h"
#include "step.h"

#define INVARIANT LULL_CLOCK_CPUID_INVARIANT

static enum lull_clock_kind choose(struct lull_clock_facts facts)
{
	return lull_clock_choose(&facts, 0);
}

static int invariant_tsc_that_the_kernel_uses_is_chosen(void)
{
	STEP_CHECK(choose((struct lull_clock_facts){ 1, INVARIANT, 0, "tsc" }) == LULL_CLOCK_TSC);
	STEP_CHECK(choose((struct lull_clock_facts){ 1, ~0u, 0, "tsc\n" }) == LULL_CLOCK_TSC);
	return 0;
}

static int doubtful_tsc_is_not_chosen(void)
{
	static const struct lull_clock_facts doubtful[] = {
		{ 0, INVARIANT, 0, "tsc" }, /* rdtsc is forbidden here */
		{ 1, ~INVARIANT, 0, "tsc" }, /* rate changes */
		{ 1, INVARIANT, 0, "hpet\n" }, /* the kernel gave it up */
		{ 1, INVARIANT, 0, "kvm-clock" },
		{ 1, INVARIANT, 0, "tsc-early" }, /* not calibrated yet */
		{ 1, INVARIANT, 0, "ts" },
		{ 1, INVARIANT, 0, "usc" },
		{ 1, INVARIANT, 0, "" },
		{ 1, INVARIANT, 0, 0 },
		{ 0, 0, 0, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++)
		STEP_CHECK(choose(doubtful[i]) == LULL_CLOCK_MONOTONIC);
	return 0;
}

static int architected_counter_is_chosen(void)
{
	STEP_CHECK(choose((struct lull_clock_facts){ 0, 0, 1, 0 }) == LULL_CLOCK_CNTVCT);
	STEP_CHECK(choose((struct lull_clock_facts){ 0, 0, 1, "arch_sys_counter" }) ==
		   LULL_CLOCK_CNTVCT);
	return 0;
}

static int every_choice_has_a_reason(void)
{
	static const char *const sources[] = { "tsc", "hpet", 0 };
	unsigned int bits, i;

	for (bits = 0; bits < 8; bits++) {
		for (i = 0; i < 3; i++) {
			struct lull_clock_facts facts = { bits & 1, bits & 2 ? INVARIANT : 0,
							  bits >> 2, sources[i] };
			const char *reason = 0;

			lull_clock_choose(&facts, &reason);
			STEP_CHECK(reason && strlen(reason) > 10);
		}
	}
	return 0;
}

static int kinds_have_names_and_other_numbers_none(void)
{
	STEP_CHECK(!strcmp(lull_clock_name(LULL_CLOCK_TSC), "tsc"));
	STEP_CHECK(!strcmp(lull_clock_name(LULL_CLOCK_MONOTONIC), "monotonic"));
	STEP_CHECK(!strcmp(lull_clock_name(LULL_CLOCK_CNTVCT), "cntvct"));
	STEP_CHECK(!lull_clock_name(LULL_CLOCK_CNTVCT + 1));
	STEP_CHECK(!lull_clock_name(~0u));
	return 0;
}

int main(void)
{
	static const struct step_test tests[] = {
		{ "invariant_tsc_that_the_kernel_uses_is_chosen",
		  invariant_tsc_that_the_kernel_uses_is_chosen, 0 },
		{ "doubtful_tsc_is_not_chosen", doubtful_tsc_is_not_chosen, 0 },
		{ "architected_counter_is_chosen", architected_counter_is_chosen, 0 },
		{ "every_choice_has_a_reason", every_choice_has_a_reason, 0 },
		{ "kinds_have_names_and_other_numbers_none",
		  kinds_have_names_and_other_numbers_none, 0 },
	};

	return step_run(tests, sizeof(tests) / sizeof(tests[0]));
}
