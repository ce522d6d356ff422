/* SPDX-License-Identifier: MIT */
/* What patching refuses to touch, what it leaves behind, and the way through /proc/self/mem. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <lull/trace.h>
#include "harness.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

__attribute__((noinline)) static int work(int value)
{
	lull_event("refusal:work", lull_i32(value, value));
	return value + 1;
}

/* The permissions of the mapping that holds address, e.g. "r-xp". */
static void permissions_of(uintptr_t address, char *permissions)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, until;
	char line[512];

	strcpy(permissions, "none");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &begin, &until, line + 256) == 3 &&
		    address >= begin && address < until)
			memcpy(permissions, line + 256, 5);
	if (maps)
		fclose(maps);
}

static void refuses_what_is_no_site(uintptr_t code, uintptr_t target)
{
	unsigned char before[16], after[16];
	uintptr_t elsewhere = (uintptr_t)&permissions_of;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(before, (const void *)elsewhere, sizeof(before));
	CHECK("bytes_that_are_no_site_are_refused", site_set(elsewhere, target, 1) == -EINVAL);
	memcpy(after, (const void *)elsewhere, sizeof(after));
	CHECK("and_left_alone", !memcmp(before, after, sizeof(before)));
	CHECK("memory_that_is_not_text_is_refused",
	      site_set((uintptr_t)memory, target, 1) == -EFAULT);
	munmap(memory, page);
	CHECK("memory_that_is_not_mapped_is_refused",
	      site_set((uintptr_t)memory, target, 1) == -EFAULT);
#ifdef __x86_64__
	CHECK("a_site_with_another_target_is_refused", site_set(code, target + 1, 1) == -EINVAL);
#else
	CHECK("a_target_out_of_reach_is_refused",
	      site_set(code, target + ((uintptr_t)1 << 28), 1) == -EINVAL);
#endif
}

static void refuses_shared_mappings(uintptr_t code, uintptr_t target)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, (const void *)code, 8);
	mprotect(memory, page, PROT_READ | PROT_EXEC);
	CHECK("a_shared_mapping_is_refused",
	      site_set((uintptr_t)memory, (uintptr_t)memory + (target - code), 1) == -EACCES);
	munmap(memory, page);
}

static void restores_protection(uintptr_t code, uintptr_t target)
{
	char before[8], after[8];

	permissions_of(code, before);
	CHECK("a_site_can_be_enabled", site_set(code, target, 1) == 0);
	permissions_of(code, after);
	CHECK("the_text_gets_its_protection_back", !strcmp(before, after));
	CHECK("enabling_twice_is_harmless", site_set(code, target, 1) == 0);
	CHECK("a_site_can_be_disabled", site_set(code, target, 0) == 0);
	errno = 77;
	site_set(code, target, 1);
	site_set(code, target, 0);
	CHECK("errno_is_left_alone", errno == 77);
}

static void *hold(void *barrier)
{
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* Last: the kernel never takes this setting back. */
static void writes_through_file(uintptr_t code, uintptr_t target)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0L, 0L, 0L)) {
		printf("# this kernel has no PR_SET_MDWE: /proc/self/mem not tested\n");
		return;
	}
	capture_reset();
	CHECK("text_that_may_not_become_writable_is_written_through_proc",
	      site_set(code, target, 1) == 0 && work(1) == 2 && capture_count == 1);
	CHECK("and_back", site_set(code, target, 0) == 0 && work(1) == 2 && capture_count == 1);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, hold, &barrier);
	pthread_barrier_wait(&barrier);
	CHECK("but_not_while_other_threads_run", site_set(code, target, 1) == -EACCES);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	CHECK("and_the_site_stays_as_it_was", work(1) == 2 && capture_count == 1);
}

int main(void)
{
	uintptr_t code, target;

	sites_scan();
	sites_set("refusal:*", 1);
	sites_set("", 1);
	if (!site_address("refusal:work", &code, &target))
		return 1;
	refuses_what_is_no_site(code, target);
	refuses_shared_mappings(code, target);
	restores_protection(code, target);
	sites_set("refusal:*", 1);
	site_set(code, target, 0);
	writes_through_file(code, target);
	return 0;
}
