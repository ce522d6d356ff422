/* SPDX-License-Identifier: MIT */
/* What the tests of the compatible headers count with. */
#ifndef COMPAT_CHECK_H
#define COMPAT_CHECK_H

#include <stdio.h>

static int passed, failed;

static void check(int condition, const char *name)
{
	printf("%s %s\n", condition ? "pass" : "fail", name);
	passed += !!condition;
	failed += !condition;
}

static int summary(void)
{
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}

#endif
