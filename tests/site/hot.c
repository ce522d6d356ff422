/* SPDX-License-Identifier: MIT */
/* For the disassembler: what a disabled site is made of. The runner reads hot_path(). */
#include <lull/trace.h>

#ifdef __cplusplus
extern "C"
#endif
	int
	hot_path(int value);

int hot_path(int value)
{
	lull_event("hot:path", lull_i32(value, value));
	return value + 1;
}

#ifdef HOT_MAIN
int main(int count, char **arguments)
{
	(void)arguments;
	return hot_path(count) - count - 1;
}
#endif
