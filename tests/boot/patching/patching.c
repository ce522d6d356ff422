// SPDX-License-Identifier: MIT
/*
 * Code that is patched while two CPUs run it all the time: a static key is switched on and off, as
 * tracepoints are. The parameter `rounds` says how often that has been done. A guest whose CPUs see
 * old code stops in the middle.
 */
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#define CPUS 2
#define TURNS 2000 /* between two looks whether to stop */

static DEFINE_STATIC_KEY_FALSE(key);
static struct task_struct *runners[CPUS], *patcher;
static unsigned long rounds;
static unsigned long taken[CPUS];
module_param(rounds, ulong, 0444);

#define SITE                              \
	if (static_branch_unlikely(&key)) \
		taken[cpu]++;
#define FOUR_SITES SITE SITE SITE SITE

static int run(void *data)
{
	long cpu = (long)data;
	int turn;

	while (!kthread_should_stop()) {
		for (turn = 0; turn < TURNS; turn++) {
			FOUR_SITES FOUR_SITES FOUR_SITES FOUR_SITES
		}
		cond_resched();
	}
	return 0;
}

static int patch(void *data)
{
	while (!kthread_should_stop()) {
		static_branch_enable(&key);
		static_branch_disable(&key);
		rounds++;
		cond_resched();
	}
	return 0;
}

static void stop(struct task_struct *thread)
{
	if (!IS_ERR_OR_NULL(thread))
		kthread_stop(thread);
}

static void patching_end(void)
{
	int cpu;

	stop(patcher);
	for (cpu = 0; cpu < CPUS; cpu++)
		stop(runners[cpu]);
}

static int __init patching_begin(void)
{
	long cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		runners[cpu] = kthread_create(run, (void *)cpu, "patched/%ld", cpu);
		if (IS_ERR(runners[cpu]))
			goto fail;
		kthread_bind(runners[cpu], cpu);
		wake_up_process(runners[cpu]);
	}
	patcher = kthread_run(patch, NULL, "patcher");
	if (!IS_ERR(patcher))
		return 0;
fail:
	patching_end();
	return -ENOMEM;
}

module_init(patching_begin);
module_exit(patching_end);
MODULE_DESCRIPTION("Code that is patched all the time");
MODULE_LICENSE("Dual MIT/GPL");
