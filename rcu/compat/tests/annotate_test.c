// SPDX-License-Identifier: MIT
/* What a program tells ThreadSanitizer, which this file stands in for. */
#define CMM_SANITIZE_THREAD
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <urcu/annotate.h>

#include "../../../check/test.h"

static void *acquired, *released;

void __tsan_acquire(void *memory)
{
	acquired = memory;
}

void __tsan_release(void *memory)
{
	released = memory;
}

static int one, two;

static void in_order(void)
{
	cmm_annotate_define(acquiring);
	cmm_annotate_define(releasing);

	cmm_annotate_group_mem_acquire(&acquiring, &two);
	cmm_annotate_group_mem_acquire(&acquiring, &one);
	cmm_annotate_group_mb_acquire(&acquiring);
	check(acquired == &one, "loads_and_then_a_fence_acquire");
	cmm_annotate_group_mb_release(&releasing);
	check(!released, "a_fence_alone_releases_nothing");
	cmm_annotate_group_mem_release(&releasing, &one);
	cmm_annotate_group_mem_release(&releasing, &two);
	check(released == &two, "a_fence_and_then_stores_release");
	cmm_annotate_mem_acquire(&two);
	cmm_annotate_mem_release(&one);
	check(acquired == &two && released == &one, "accesses_are_told_without_a_group");
}

static void load_after_the_fence(cmm_annotate_t *group)
{
	cmm_annotate_group_mb_acquire(group);
	cmm_annotate_group_mem_acquire(group, &one);
}

static void two_acquiring_fences(cmm_annotate_t *group)
{
	cmm_annotate_group_mb_acquire(group);
	cmm_annotate_group_mb_acquire(group);
}

static void store_before_the_fence(cmm_annotate_t *group)
{
	cmm_annotate_group_mem_release(group, &one);
}

static void load_before_a_releasing_fence(cmm_annotate_t *group)
{
	cmm_annotate_group_mem_acquire(group, &one);
	cmm_annotate_group_mb_release(group);
}

static void ends(void (*wrong)(cmm_annotate_t *group), const char *name)
{
	cmm_annotate_define(group);
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		wrong(&group);
		_exit(0);
	}
	waitpid(child, &status, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, name);
}

int main(void)
{
	in_order();
	fflush(stdout);
	ends(load_after_the_fence, "a_load_after_the_fence_ends_the_program");
	ends(two_acquiring_fences, "two_acquiring_fences_end_the_program");
	ends(store_before_the_fence, "a_store_before_the_fence_ends_the_program");
	ends(load_before_a_releasing_fence, "a_load_before_a_releasing_fence_ends_the_program");
	return sums();
}
