// SPDX-License-Identifier: GPL-2.0-only
/*
 * Context that sessions of /dev/lull record: what is refused, and that what is recorded is true.
 * Run in a kernel that has loaded lull.ko, by tests/boot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../check/test.h"
#include "lull/abi/context.h"
#include "session.h"
#include "switches.h"

#define EVENT "sched:sched_switch"
#define ALL ((1u << LULL_CONTEXTS) - 1)

/* Return: 0, or errno. */
static int ask(int descriptor, struct lull_kernel_context asked)
{
	return ioctl(descriptor, LULL_KERNEL_CONTEXT, &asked) ? errno : 0;
}

static struct lull_kernel_context asking_for(uint32_t contexts)
{
	return (struct lull_kernel_context){ .bytes = sizeof(struct lull_kernel_context),
					     .contexts = contexts };
}

static int contexts_that_cannot_be_recorded_are_refused(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct lull_kernel_context wrong = asking_for(1);
	struct recorder recorder;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(ask(recorder.descriptor, asking_for(0)) == EINVAL);
	for (uint32_t bit = LULL_CONTEXTS; bit < 32; bit++)
		CHECK(ask(recorder.descriptor, asking_for(1u | 1u << bit)) == EINVAL);
	wrong.flags = 1;
	CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	wrong.flags = 0;
	wrong.unused = 1;
	CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	wrong.unused = 0;
	for (wrong.bytes = 0; wrong.bytes < 4; wrong.bytes++)
		CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_CONTEXT, (void *)8) && errno == EFAULT);
	CHECK(ask(recorder.descriptor, asking_for(1)) == 0);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EEXIST);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EEXIST);
	recorder_close(&recorder);
	return 0;
}

static int contexts_are_decided_before_the_first_event(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct recorder recorder;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EBUSY);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EBUSY);
	recorder_close(&recorder);
	return 0;
}

/* Where each field of all contexts lies. */
struct __attribute__((packed)) fields {
	int32_t pid, tid;
	char comm[16];
	int32_t prio;
	uint32_t cpu, uid;
	uint64_t cgroup;
	uint32_t namespaces[7];
	uint32_t gid;
};

struct seen {
	uint32_t id;
	struct fields expected;
	long count, wrong, others_as_us;
};

static uint32_t namespace_of(const char *name)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return stat(path, &status) ? 0 : (uint32_t)status.st_ino;
}

static void expect_us(struct fields *fields)
{
	static const char *const names[] = { "pid", "net", "mnt", "uts", "ipc", "cgroup", "user" };

	*fields = (struct fields){ .pid = getpid(), .tid = getpid(), .prio = 120 + 3 };
	prctl(PR_GET_NAME, fields->comm);
	for (int i = 0; i < 7; i++)
		fields->namespaces[i] = namespace_of(names[i]);
	fields->uid = geteuid();
	fields->gid = getegid();
}

/* A visitor: switches from this thread have its context, and others have theirs. */
static void look(const struct recorded *event, void *context)
{
	struct seen *seen = context;
	struct fields found;

	if (event->id != seen->id)
		return;
	memcpy(&found, event->context, sizeof(found));
	if (event->tid != (uint32_t)getpid()) {
		seen->others_as_us += found.tid == getpid();
		return;
	}
	seen->count++;
	seen->wrong += found.cpu != event->cpu || !found.cgroup;
	found.cpu = 0;
	found.cgroup = 0;
	seen->wrong += memcmp(&found, &seen->expected, sizeof(found)) != 0;
}

/* Two sessions record the same events, and only one of them context. */
static int context_is_that_of_the_thread_and_of_its_session_only(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct recorder recorder, without;
	struct seen seen = { 0 };
	long all;

	plan.subbuf_size_bytes = 4096;
	plan.subbuf_count = 256;
	CHECK(recorder_open(&recorder, &plan) == 0 && recorder_open(&without, &plan) == 0);
	CHECK(nice(3) == 3 && setegid(7) == 0 && seteuid(9) == 0);
	expect_us(&seen.expected);
	CHECK(ask(recorder.descriptor, asking_for(ALL)) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(recorder_enable(&without).enabled_count == 1);
	switches_make(500);
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	ioctl(without.descriptor, LULL_KERNEL_DISABLE);
	seen.id = recorder_event(&recorder, EVENT);
	CHECK(recorder_read(&recorder, look, &seen) >= 0);
	all = recorder_read(&without, NULL, NULL);
	printf("  %ld switches, %ld wrong, %ld of others; %ld without\n", seen.count, seen.wrong,
	       seen.others_as_us, all);
	CHECK(seen.count > 400 && seen.wrong == 0 && seen.others_as_us == 0 && all > 800);
	CHECK(recorder_lost(&recorder) == 0 && recorder_lost(&without) == 0);
	recorder_close(&recorder);
	recorder_close(&without);
	CHECK(seteuid(0) == 0 && setegid(0) == 0);
	return 0;
}

int main(void)
{
	RUN(contexts_that_cannot_be_recorded_are_refused);
	RUN(contexts_are_decided_before_the_first_event);
	RUN(context_is_that_of_the_thread_and_of_its_session_only);
	return sums();
}
