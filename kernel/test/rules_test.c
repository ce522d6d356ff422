// SPDX-License-Identifier: GPL-2.0-only
/*
 * LULL_KERNEL_RULES: what a session records after a change of its patterns and filters, and which
 * changes are refused. Run in a kernel that has loaded lull.ko, by tests/boot.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "../../check/test.h"
#include "filter_program.h"
#include "session.h"
#include "switches.h"

#define EVENT "sched:sched_switch"
#define BEFORE "sched:sched_waking" /* one that the module has before that */
#define PREV_PID 1 /* a field of it */
#define CHANGES 40

/* Return: 0, or errno. */
static int rules_give(const struct recorder *recorder, const char *patterns)
{
	struct lull_kernel_rules rules = { .bytes = sizeof(rules),
					   .patterns = (uintptr_t)patterns,
					   .patterns_bytes = (uint32_t)strlen(patterns) + 1 };

	return ioctl(recorder->descriptor, LULL_KERNEL_RULES, &rules) ? errno : 0;
}

/* A session of small sub-buffers, so that few events stay in open ones. Return: 0, or errno. */
static int session_open(struct recorder *recorder, const char *patterns)
{
	struct lull_kernel_plan plan = plan_of(patterns, LULL_MODE_DISCARD);

	plan.subbuf_size_bytes = 4096;
	plan.subbuf_count = 128;
	return recorder_open(recorder, &plan);
}

static int changes_that_are_none_are_refused(void)
{
	struct lull_kernel_source source = { .bytes = sizeof(source),
					     .kind = LULL_SOURCE_TRACEPOINT,
					     .target = (uintptr_t) "sys_enter",
					     .description = (uintptr_t) "own:call\n6\n-:1\n",
					     .target_bytes = sizeof("sys_enter"),
					     .description_bytes = sizeof("own:call\n6\n-:1\n") };
	struct lull_kernel_rules rules = { .bytes = sizeof(rules),
					   .patterns = (uintptr_t)EVENT,
					   .patterns_bytes = sizeof(EVENT) };
	struct program good = program_of(PREV_PID, 1);
	struct recorder recorder;

	CHECK(session_open(&recorder, EVENT) == 0);
	rules.flags = 1;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_RULES, &rules) && errno == EINVAL);
	rules = (struct lull_kernel_rules){ .bytes = sizeof(rules), .patterns = (uintptr_t)EVENT };
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_RULES, &rules) && errno == EINVAL);
	rules.patterns_bytes = LULL_KERNEL_PATTERNS_MAX + 1;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_RULES, &rules) && errno == EINVAL);
	rules.patterns_bytes = sizeof(EVENT) - 1; /* without the NUL */
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_RULES, &rules) && errno == EINVAL);
	rules.patterns = 8;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_RULES, &rules) && errno == EFAULT);
	CHECK(rules_give(&recorder, "a[") == EINVAL);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(filter_give(&recorder, 7, &good) == EBUSY);
	CHECK(rules_give(&recorder, EVENT) == 0);
	CHECK(filter_give(&recorder, 7, &good) == 0);
	CHECK(filter_give(&recorder, 7, &good) == EEXIST);
	CHECK(rules_give(&recorder, EVENT) == 0 && filter_give(&recorder, 7, &good) == 0);
	CHECK(recorder_enable(&recorder).unused_filter_count == 1);
	CHECK(filter_give(&recorder, 8, &good) == EBUSY);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_SOURCE, &source) == 0);
	CHECK(rules_give(&recorder, EVENT) == EBUSY);
	recorder_close(&recorder);
	return 0;
}

struct seen {
	uint32_t id;
	long own, others, unlike; /* switches from this thread, from others; other events */
};

static void look(const struct recorded *event, void *context)
{
	struct seen *seen = context;
	int32_t prev_pid;

	if (event->id != seen->id) {
		seen->unlike++;
		return;
	}
	memcpy(&prev_pid, event->payload + strlen((const char *)event->payload) + 1,
	       sizeof(prev_pid));
	seen->own += prev_pid == getpid();
	seen->others += prev_pid != getpid();
}

/* What a session records of many switches under the rules that it has now. */
static int switches_seen(struct recorder *recorder, struct seen *seen)
{
	/* What open sub-buffers have from before. */
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		switches_make_on(cpu, 300);
	*seen = (struct seen){ .id = recorder_event(recorder, EVENT) };
	CHECK(recorder_read(recorder, look, seen) >= 0);
	*seen = (struct seen){ .id = seen->id };
	switches_make(1000);
	CHECK(recorder_read(recorder, look, seen) >= 0);
	return 0;
}

static int session_that_runs_records_by_the_patterns_and_filters_of_now(void)
{
	struct program nobody = program_of(PREV_PID, UINT32_MAX >> 1);
	struct program self = program_of(PREV_PID, (uint64_t)getpid());
	uint64_t hash = event_hash(EVENT);
	struct recorder recorder;
	struct seen seen;
	uint32_t id;

	CHECK(session_open(&recorder, EVENT) == 0);
	CHECK(filter_give(&recorder, hash, &nobody) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	id = recorder_event(&recorder, EVENT);
	CHECK(switches_seen(&recorder, &seen) == 0 && seen.own + seen.others + seen.unlike == 0);

	CHECK(rules_give(&recorder, BEFORE "\n" EVENT) == 0);
	CHECK(filter_give(&recorder, hash, &self) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 2);
	CHECK(recorder_event(&recorder, EVENT) == id);
	CHECK(switches_seen(&recorder, &seen) == 0);
	printf("  filtered: %ld own, %ld others, %ld unlike\n", seen.own, seen.others, seen.unlike);
	CHECK(seen.own > 500 && seen.others == 0 && seen.unlike > 500);

	CHECK(rules_give(&recorder, EVENT) == 0);
	CHECK(switches_seen(&recorder, &seen) == 0);
	CHECK(seen.own > 500 && seen.others > 500 && seen.unlike == 0);
	CHECK(recorder_enable(&recorder).unused_filter_count == 0);
	CHECK(switches_seen(&recorder, &seen) == 0);
	CHECK(seen.own > 500 && seen.others > 500 && seen.unlike == 0);

	CHECK(rules_give(&recorder, "!*") == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 0);
	CHECK(switches_seen(&recorder, &seen) == 0);
	CHECK(switches_seen(&recorder, &seen) == 0 && seen.own + seen.others + seen.unlike == 0);
	recorder_close(&recorder);
	return 0;
}

static atomic_bool is_over;

static void *switch_until_over(void *unused)
{
	while (!atomic_load(&is_over))
		switches_make(50);
	return unused;
}

/* Two threads change one session while its events happen. */
static void *change_often(void *of)
{
	const struct recorder *recorder = of;
	struct program self = program_of(PREV_PID, (uint64_t)getpid());
	uint64_t hash = event_hash(EVENT);
	struct lull_kernel_enable enable = { .bytes = sizeof(enable) };

	for (int i = 0; i < CHANGES; i++) {
		rules_give(recorder, i % 3 ? EVENT "\n" BEFORE : BEFORE);
		if (i % 2)
			filter_give(recorder, hash, &self);
		ioctl(recorder->descriptor, LULL_KERNEL_ENABLE, &enable);
		if (i % 5 == 4)
			ioctl(recorder->descriptor, LULL_KERNEL_DISABLE);
	}
	return NULL;
}

static int changes_at_once_under_events_harm_nobody(void)
{
	pthread_t changers[2], switcher;
	struct recorder recorder;
	long count = 0;

	CHECK(session_open(&recorder, EVENT) == 0);
	CHECK(pthread_create(&switcher, NULL, switch_until_over, NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&changers[i], NULL, change_often, &recorder) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(changers[i], NULL);
	atomic_store(&is_over, true);
	pthread_join(switcher, NULL);
	CHECK(recorder_read(&recorder, events_of_this_thread, &count) >= 0);
	recorder_close(&recorder);
	return 0;
}

int main(void)
{
	RUN(changes_that_are_none_are_refused);
	RUN(session_that_runs_records_by_the_patterns_and_filters_of_now);
	RUN(changes_at_once_under_events_harm_nobody);
	return sums();
}
