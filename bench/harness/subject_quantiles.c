/* SPDX-License-Identifier: MIT */
/*
 * Order statistics of the measured program's samples; see subject.h. Cycle counters may
 * advance in steps (10 ns on some machines), which hides in quantiles: the mean of the middle
 * nine tenths is printed too, because steps average out in it.
 */
#include "subject.h"

static int sample_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

void subject_print_quantiles(const char *prefix, uint64_t *samples, unsigned int count,
			     double cycles_per_ns)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = { { "p50", 0.5 }, { "p99", 0.99 }, { "p999", 0.999 }, { "max", 1.0 } };

	double sum = 0;

	if (!count)
		return;
	qsort(samples, count, sizeof(*samples), sample_compare);
	for (unsigned int i = count / 20; i < count - count / 20; i++)
		sum += (double)samples[i];
	printf(" %smiddle_ns=%.2f", prefix,
	       sum / (double)(count - 2 * (count / 20)) / cycles_per_ns);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		unsigned int index = (unsigned int)(quantiles[i].share * (count - 1));

		printf(" %s%s_ns=%.1f", prefix, quantiles[i].name,
		       (double)samples[index] / cycles_per_ns);
	}
}
