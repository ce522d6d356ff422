// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/lull as a recorder sees it: what is refused, what is recorded, and what ends a session. Run
 * in a kernel that has loaded lull.ko, by tests/boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../check/test.h"
#include "session.h"
#include "switches.h"

#define SWITCHES 2000

static int refused(int error, int descriptor, unsigned long call, void *argument)
{
	int result = ioctl(descriptor, call, argument);

	if (result == -1 && errno == error)
		return 1;
	printf("  call %#lx: %d, %s\n", call, result, strerror(errno));
	return 0;
}

static int device_without_a_plan_knows_its_version_and_no_session(void)
{
	int descriptor = open(LULL_KERNEL_DEVICE, O_RDWR);
	struct lull_kernel_enable enable = { .bytes = sizeof(enable) };

	CHECK(descriptor >= 0);
	CHECK(ioctl(descriptor, LULL_KERNEL_VERSION) == LULL_KERNEL_INTERFACE);
	CHECK(ioctl(descriptor, LULL_KERNEL_BARRIER) == 0);
	CHECK(refused(ENODEV, descriptor, LULL_KERNEL_ENABLE, &enable));
	CHECK(refused(ENODEV, descriptor, LULL_KERNEL_DISABLE, NULL));
	CHECK(refused(ENOTTY, descriptor, LULL_KERNEL_VERSION + 99, NULL));
	CHECK(refused(EFAULT, descriptor, LULL_KERNEL_PLAN, NULL));
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, descriptor, 0) == MAP_FAILED);
	CHECK(errno == ENODEV);
	close(descriptor);
	return 0;
}

/* Is a plan refused that differs from a good one by these words? */
#define REFUSED(error, change)                                                        \
	do {                                                                          \
		struct lull_kernel_plan plan = plan_of("sched:*", LULL_MODE_DISCARD); \
		change;                                                               \
		CHECK(refused(error, descriptor, LULL_KERNEL_PLAN, &plan));           \
	} while (0)

static int plans_that_no_ring_can_have_are_refused(void)
{
	/* A structure of a later version, with a member that this one does not have. */
	struct {
		struct lull_kernel_plan plan;
		uint64_t later;
	} longer = { plan_of("sched:*", LULL_MODE_DISCARD), 1 };
	int descriptor = open(LULL_KERNEL_DEVICE, O_RDWR);

	REFUSED(EINVAL, plan.bytes = 0);
	REFUSED(EINVAL, plan.bytes = ~0u);
	REFUSED(EINVAL, plan.flags = LULL_KERNEL_PLAN_RESERVED << 1);
	REFUSED(ENXIO, plan.flags = LULL_KERNEL_PLAN_RESERVED);
	REFUSED(EINVAL, plan.mode = 2);
	REFUSED(EINVAL, plan.subbuf_size_bytes = 0);
	REFUSED(EINVAL, plan.subbuf_size_bytes = 2048);
	REFUSED(EINVAL, plan.subbuf_size_bytes = 12288);
	REFUSED(EINVAL, plan.subbuf_size_bytes = 1ull << 63);
	REFUSED(EINVAL, plan.subbuf_count = 0);
	REFUSED(EINVAL, plan.subbuf_count = 3);
	REFUSED(EINVAL, plan.subbuf_count = ~0u);
	REFUSED(EINVAL, plan.spare_count = 0);
	REFUSED(EINVAL, plan.spare_count = LULL_KERNEL_SPARES_MAX + 1);
	REFUSED(EINVAL, plan.patterns_bytes = 0);
	REFUSED(EINVAL, plan.patterns_bytes = LULL_KERNEL_PATTERNS_MAX + 1);
	REFUSED(EINVAL, plan.patterns_bytes--);
	REFUSED(EINVAL, plan.patterns = (uintptr_t) "sched:*\0x"; plan.patterns_bytes += 2);
	REFUSED(EINVAL, plan.patterns = (uintptr_t) "sched:[");
	REFUSED(EFAULT, plan.patterns = 0);
	REFUSED(ENOMEM, plan.subbuf_size_bytes = LULL_SUBBUF_BYTES_MAX;
		plan.subbuf_count = LULL_SUBBUF_COUNT_MAX);
	longer.plan.bytes = sizeof(longer);
	CHECK(refused(E2BIG, descriptor, LULL_KERNEL_PLAN, &longer));
	longer.later = 0;
	CHECK(ioctl(descriptor, LULL_KERNEL_PLAN, &longer) == 0);
	CHECK(longer.plan.bytes == sizeof(longer) && longer.plan.memory_bytes > 0);
	CHECK(refused(EEXIST, descriptor, LULL_KERNEL_PLAN, &longer));
	close(descriptor);
	return 0;
}

static int mapping_is_shared_and_never_executable(void)
{
	struct lull_kernel_plan plan = plan_of("sched:*", LULL_MODE_DISCARD);
	struct recorder recorder;
	const size_t page = 4096;
	int of = recorder_open(&recorder, &plan), is_private, is_executable, is_long, is_changed;

	CHECK(of == 0);
	of = recorder.descriptor;
	is_private = mmap(NULL, page, PROT_READ, MAP_PRIVATE, of, 0) == MAP_FAILED;
	is_executable = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, of, 0) == MAP_FAILED;
	is_long = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, of,
		       (off_t)(plan.memory_bytes - page)) == MAP_FAILED;
	is_changed = mprotect(recorder.base, page, PROT_READ | PROT_EXEC) != 0;
	CHECK(is_private && is_executable && is_long && is_changed);
	CHECK(recorder.layout.magic == LULL_SESSION_MAGIC);
	CHECK(recorder.layout.version == LULL_SESSION_VERSION);
	CHECK(!memcmp(recorder.layout.uuid, plan.uuid, sizeof(plan.uuid)));
	CHECK(!strcmp((char *)recorder.base + recorder.layout.patterns_offset_bytes, "sched:*"));
	recorder_close(&recorder);
	return 0;
}

static int switches_are_recorded(uint32_t mode)
{
	struct lull_kernel_plan plan = plan_of("sched:*\n!sched:sched_waking", mode);
	struct recorder recorder;
	struct lull_kernel_enable enable;
	struct chain chain;
	long events;

	plan.subbuf_count = 64;
	CHECK(recorder_open(&recorder, &plan) == 0);
	enable = recorder_enable(&recorder);
	CHECK(enable.matched_count > 0 && enable.event_count > enable.matched_count);
	CHECK(enable.enabled_count == enable.matched_count);
	CHECK(!recorder_event(&recorder, "sched:sched_waking"));
	chain = chain_begin(&recorder);
	CHECK(chain.id);
	switches_make(SWITCHES);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	events = recorder_read(&recorder, chain_follow, &chain);
	printf("  %ld events, %ld switches linked, %ld of this thread, %lu lost\n", events,
	       chain.links, chain.of_this_thread, recorder_lost(&recorder));
	CHECK(events > SWITCHES && chain.breaks == 0 && chain.links > SWITCHES);
	CHECK(chain.of_this_thread > SWITCHES / 2);
	recorder_close(&recorder);
	return 0;
}

static int switches_follow_each_other_in_discard_mode(void)
{
	return switches_are_recorded(LULL_MODE_DISCARD);
}

static int switches_follow_each_other_in_flight_recorder_mode(void)
{
	return switches_are_recorded(LULL_MODE_FLIGHT_RECORDER);
}

static struct lull_session_control *control_of(const struct recorder *recorder)
{
	return (struct lull_session_control *)recorder->base;
}

static int session_that_is_disabled_records_nothing_and_can_go_on(void)
{
	struct lull_kernel_plan plan = plan_of("sched:sched_switch", LULL_MODE_FLIGHT_RECORDER);
	struct recorder recorder;
	uint64_t before, after;

	CHECK(recorder_open(&recorder, &plan) == 0);
	before = recorder.rings[0].shared->write_count;
	switches_make(100);
	CHECK(recorder.rings[0].shared->write_count == before);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	switches_make(100);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	after = recorder.rings[0].shared->write_count;
	CHECK(after > before);
	switches_make(100);
	CHECK(recorder.rings[0].shared->write_count == after);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	control_of(&recorder)->active = 0;
	after = recorder.rings[0].shared->write_count;
	switches_make(100);
	CHECK(recorder.rings[0].shared->write_count == after);
	control_of(&recorder)->active = 1;
	switches_make(100);
	CHECK(recorder.rings[0].shared->write_count > after);
	recorder_close(&recorder);
	return 0;
}

static int sessions_are_as_many_as_their_masks_have_bits(void)
{
	struct lull_kernel_plan plan = plan_of("sched:*", LULL_MODE_DISCARD);
	struct recorder recorders[LULL_SESSIONS_MAX + 1];
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < LULL_SESSIONS_MAX; i++) {
		CHECK(recorder_open(&recorders[i], &plan) == 0);
		CHECK(recorder_enable(&recorders[i]).enabled_count > 1);
	}
	CHECK(recorder_open(&recorders[LULL_SESSIONS_MAX], &plan) == EBUSY);
	switches_make(100);
	for (int i = 0; i < LULL_SESSIONS_MAX; i++)
		if (recorders[i].rings[0].shared->write_count < least)
			least = recorders[i].rings[0].shared->write_count;
	CHECK(least > 100 * sizeof(uint64_t));
	recorder_close(&recorders[3]);
	CHECK(recorder_open(&recorders[3], &plan) == 0);
	for (int i = 0; i < LULL_SESSIONS_MAX; i++)
		recorder_close(&recorders[i]);
	return 0;
}

static int cpu_write(const char *online)
{
	int file = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);
	ssize_t written = write(file, online, 1);

	close(file);
	return written == 1 ? 0 : -1;
}

static void cpu_count_events(const struct recorded *event, void *counts)
{
	((long *)counts)[event->cpu]++;
}

static int cpu_that_comes_has_a_ring_and_one_that_goes_leaves_it(void)
{
	struct lull_kernel_plan plan = plan_of("sched:sched_switch", LULL_MODE_DISCARD);
	struct recorder recorder;
	long counts[64] = { 0 }, before;

	plan.subbuf_count = 32;
	CHECK(cpu_write("0") == 0);
	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(recorder.layout.cpu_count >= 2 && recorder.layout.cpu_count <= 64);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(recorder.rings[1].shared->write_count == 0);
	CHECK(cpu_write("1") == 0);
	switches_make_on(1, 3000);
	CHECK(recorder_read(&recorder, cpu_count_events, counts) > 0);
	CHECK(counts[1] > 3000);
	before = counts[1];
	switches_make_on(1, 3000);
	CHECK(cpu_write("0") == 0);
	CHECK(recorder_read(&recorder, cpu_count_events, counts) > 0);
	printf("  %ld events of the CPU that came, %ld when it had gone, %lu lost\n", before,
	       counts[1], recorder_lost(&recorder));
	CHECK(counts[1] > before + 3000 && recorder_lost(&recorder) == 0);
	recorder_close(&recorder);
	CHECK(cpu_write("1") == 0);
	return 0;
}

static int recorder_that_is_killed_leaves_no_session(void)
{
	struct lull_kernel_plan plan = plan_of("sched:*", LULL_MODE_DISCARD);

	for (int round = 0; round < 3 * LULL_SESSIONS_MAX; round++) {
		int ready[2];
		char byte = 1;
		pid_t child;

		CHECK(pipe(ready) == 0);
		child = fork();
		if (!child) {
			struct recorder recorder;

			byte = recorder_open(&recorder, &plan) == 0 &&
			       recorder_enable(&recorder).enabled_count > 1;
			if (write(ready[1], &byte, 1) == 1 && byte)
				pause();
			_exit(1);
		}
		CHECK(read(ready[0], &byte, 1) == 1 && byte == 1);
		close(ready[0]);
		close(ready[1]);
		kill(child, SIGKILL);
		CHECK(waitpid(child, NULL, 0) == child);
	}
	return 0;
}

/* Usage: device_test [NAME]: all tests, or one. */
#define RUN_WANTED(test)                           \
	do {                                       \
		if (!name || !strcmp(name, #test)) \
			RUN(test);                 \
	} while (0)

int main(int argument_count, char **arguments)
{
	const char *name = argument_count > 1 ? arguments[1] : NULL;

	RUN_WANTED(device_without_a_plan_knows_its_version_and_no_session);
	RUN_WANTED(plans_that_no_ring_can_have_are_refused);
	RUN_WANTED(mapping_is_shared_and_never_executable);
	RUN_WANTED(switches_follow_each_other_in_discard_mode);
	RUN_WANTED(switches_follow_each_other_in_flight_recorder_mode);
	RUN_WANTED(session_that_is_disabled_records_nothing_and_can_go_on);
	RUN_WANTED(sessions_are_as_many_as_their_masks_have_bits);
	RUN_WANTED(cpu_that_comes_has_a_ring_and_one_that_goes_leaves_it);
	RUN_WANTED(recorder_that_is_killed_leaves_no_session);
	return sums();
}
