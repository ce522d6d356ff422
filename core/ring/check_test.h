/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a test of the ring says when it fails; a test returns 0 when it has passed. */
#ifndef LULL_RING_CHECK_TEST_H
#define LULL_RING_CHECK_TEST_H

#include <stdio.h>

#define CHECK(condition)                                                         \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("  %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			return 1;                                                \
		}                                                                \
	} while (0)

#endif
