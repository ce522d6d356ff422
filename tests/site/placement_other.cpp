/* SPDX-License-Identifier: MIT */
/* The second translation unit: uses what placement.cpp uses. */
#include "placement.h"

int other_unit(int value)
{
	counter local;

	local.add(value);
	return shared_inline(value) + int(shared_template<long>(value)) + local.count;
}
