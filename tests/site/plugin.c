/* SPDX-License-Identifier: MIT */
/* A shared library with events, one of them in its constructor. */
#include <lull/trace.h>

int plugin_work(int value);

static __attribute__((constructor)) void start(void)
{
	lull_event("plugin:start", lull_str(library, "plugin"));
}

int plugin_work(int value)
{
	lull_event("plugin:work", lull_i32(value, value));
	return value * 2;
}
