// SPDX-License-Identifier: MIT
/*
 * A module of the kernel's with events of its own.
 *
 *	echo 3 > /sys/module/lull_example/parameters/jobs
 *
 * makes it do three jobs, each an event in the thread that wrote and one in an interrupt.
 * `lull record -k -e 'example:*'` records them where lull.ko is loaded; without lull.ko they are
 * no-ops. Kbuild says how to build it.
 */
#include <linux/irq_work.h>
#include <linux/module.h>
#include <lull/module.h>

static void job_finished(struct irq_work *unused)
{
	lull_event("example:finished", lull_bool(interrupt, in_hardirq()));
}

static struct irq_work finished = IRQ_WORK_INIT_HARD(job_finished);

static void job_do(unsigned int number)
{
	static const char *const kinds[] = { "copy", "sort", "check" };

	lull_event("example:job", lull_u32(number, number),
		   lull_str(kind, kinds[number % ARRAY_SIZE(kinds)]));
	irq_work_queue(&finished);
	irq_work_sync(&finished);
}

static int jobs_set(const char *text, const struct kernel_param *unused)
{
	unsigned int count, i;
	int error = kstrtouint(text, 0, &count);

	if (error)
		return error;
	for (i = 0; i < count; i++)
		job_do(i);
	return 0;
}

static const struct kernel_param_ops jobs_operations = { .set = jobs_set };

module_param_cb(jobs, &jobs_operations, NULL, 0200);
MODULE_PARM_DESC(jobs, "how many jobs to do now");

static int __init example_init(void)
{
	lull_event_level(LULL_LEVEL_NOTICE, "example:loaded");
	return 0;
}

static void __exit example_exit(void)
{
	lull_event_level(LULL_LEVEL_NOTICE, "example:unloaded");
}

module_init(example_init);
module_exit(example_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Lull: events in a module of the kernel's");
