/* SPDX-License-Identifier: MIT */
/*
 * What a system call takes by the cycle counter: getppid(), which does next to nothing. Run in a
 * guest whose counter counts instructions.
 *
 * Usage: getppid COUNT. Prints the median and the mean of COUNT calls.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT_MAX 100000

static uint64_t samples[COUNT_MAX];

static uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

int main(int argument_count, char **arguments)
{
	long count = argument_count == 2 ? atol(arguments[1]) : 0;
	uint64_t first, sum;

	if (count < 1 || count > COUNT_MAX)
		return 2;
	for (long i = 0; i < count; i++) /* the pages of the array, too */
		samples[i] = (uint64_t)syscall(SYS_getppid);
	first = cycles();
	for (long i = 0; i < count; i++) {
		uint64_t begin = cycles();

		syscall(SYS_getppid);
		samples[i] = cycles() - begin;
	}
	sum = cycles() - first;
	qsort(samples, (size_t)count, sizeof(samples[0]), compare);
	printf("median=%lu mean=%.1f\n", samples[count / 2], (double)sum / (double)count);
	return 0;
}
