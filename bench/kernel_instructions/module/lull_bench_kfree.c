// SPDX-License-Identifier: MIT
/*
 * What the kernel's event of a long and a pointer takes by the cycle counter: kfree(NULL) reaches
 * its tracepoint, kmem:kfree (call_site, ptr), and returns. Loaded in a guest whose counter counts
 * instructions.
 *
 * A number that is written to the parameter `count` makes so many calls, with preemption off; the
 * parameter then reads as their median and mean.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <asm/msr.h>

#define COUNT_MAX 100000

static u64 samples[COUNT_MAX];
static unsigned long count;
static u64 sum;

static int compare(const void *left, const void *right)
{
	u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return (a > b) - (a < b);
}

static int count_set(const char *text, const struct kernel_param *parameter)
{
	unsigned long i, wanted;
	u64 first;
	int error = kstrtoul(text, 0, &wanted);

	if (error)
		return error;
	if (!wanted || wanted > COUNT_MAX)
		return -ERANGE;
	preempt_disable();
	first = rdtsc_ordered();
	for (i = 0; i < wanted; i++) {
		u64 begin = rdtsc_ordered();

		kfree(NULL);
		samples[i] = rdtsc_ordered() - begin;
	}
	sum = rdtsc_ordered() - first;
	preempt_enable();
	sort(samples, wanted, sizeof(samples[0]), compare, NULL);
	count = wanted;
	return 0;
}

static int count_get(char *buffer, const struct kernel_param *parameter)
{
	if (!count)
		return sprintf(buffer, "none\n");
	return sprintf(buffer, "median=%llu mean=%llu.%llu\n", samples[count / 2], sum / count,
		       sum % count * 10 / count);
}

static const struct kernel_param_ops count_ops = { .set = count_set, .get = count_get };
module_param_cb(count, &count_ops, NULL, 0600);
MODULE_DESCRIPTION("Counts what kfree(NULL) takes");
MODULE_LICENSE("Dual MIT/GPL");
