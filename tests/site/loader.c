/* SPDX-License-Identifier: MIT */
/*
 * Loading and unloading a library with events, again and again. lull_object_loaded() is the
 * call by which a library asks to be looked at before its own constructors run.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include "harness.h"

#define ROUNDS 200

static int announced;
static uint32_t failures;

void lull_object_loaded(void);

__attribute__((visibility("default"))) void lull_object_loaded(void)
{
	announced++;
	sites_scan();
	failures += sites_set("plugin:*", 1);
}

int main(int count, char **arguments)
{
	uint32_t started = 0, worked = 0, right = 0;

	if (count < 2)
		return 2;
	for (int round = 0; round < ROUNDS; round++) {
		void *library = dlopen(arguments[1], RTLD_NOW);
		int (*work)(int) = library ? (int (*)(int))dlsym(library, "plugin_work") : NULL;

		if (!work)
			return 1;
		started += capture_count == 1;
		capture_reset();
		right += work(round) == 2 * round;
		worked += capture_count == 1 && captures[0].payload[0] == (unsigned char)round;
		capture_reset();
		if (round & 1)
			failures += sites_set("", 0);
		dlclose(library);
		sites_scan();
	}
	CHECK("a_library_announces_itself_each_time_it_is_loaded", announced == ROUNDS);
	CHECK("events_in_its_constructors_are_recorded", started == ROUNDS);
	CHECK("events_in_its_functions_are_recorded", worked == ROUNDS && right == ROUNDS);
	CHECK("its_text_could_always_be_patched", failures == 0);
	return 0;
}
