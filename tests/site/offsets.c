/* SPDX-License-Identifier: MIT */
/* A site at every offset of a word: each is one instruction, and can be changed both ways. */
#include <stdio.h>
#include <lull/trace.h>
#include "harness.h"

#ifdef __x86_64__
#define SHIFT(n) __asm__ volatile(".p2align 3\n\t.fill " #n ", 1, 0x90")
#else
#define SHIFT(n) __asm__ volatile("nop")
#endif

#define SITE_AT(n)                                                   \
	__attribute__((noinline)) static int site_##n(int value)     \
	{                                                            \
		SHIFT(n);                                            \
		lull_event("offsets:at" #n, lull_i32(value, value)); \
		return value + n;                                    \
	}
SITE_AT(0)
SITE_AT(1)
SITE_AT(2)
SITE_AT(3)
SITE_AT(4)
SITE_AT(5)
SITE_AT(6)
SITE_AT(7)

static int (*const sites[])(int) = {
	site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7
};

int main(void)
{
	char name[32];
	uintptr_t code, target;
	int right = 1, offsets = 0;

	sites_scan();
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "offsets:at%d", i);
		if (site_address(name, &code, &target))
			offsets |= 1 << (code & 7);
		right &= sites[i](5) == 5 + i && capture_count == 0;
		right &= !sites_set(name, 1) && sites[i](5) == 5 + i && capture_count == 1;
		right &= sites[(i + 1) & 7](5) == 5 + ((i + 1) & 7) && capture_count == 1;
		right &= !sites_set("", 0) && sites[i](5) == 5 + i && capture_count == 1;
		capture_reset();
	}
	CHECK("a_site_at_any_offset_is_enabled_and_disabled", right);
#ifdef __x86_64__
	CHECK("no_site_begins_in_the_last_byte_of_a_word", offsets == 0x7f);
#else
	CHECK("sites_are_instructions", !(offsets & ~0x11));
#endif
	return 0;
}
