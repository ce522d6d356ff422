// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters of /dev/lull: which are refused, and what is recorded with those that are not. Run in a
 * kernel that has loaded lull.ko, by tests/boot.
 *
 * Usage: filter_test [SEED].
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../../check/test.h"
#include "filter_program.h"
#include "session.h"
#include "site/note.h"
#include "switches.h"

#define EVENT "sched:sched_switch"
#define BEFORE "sched:sched_waking" /* one that the module has before that */
#define PREV_COMM 0 /* fields of it */
#define PREV_PID 1
#define RANDOM_FILTERS 100

static uint64_t seed = 1;

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static int filters_that_are_none_are_refused(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct program good = program_of(PREV_PID, 1);
	struct lull_kernel_filter call = { .bytes = sizeof(call), .program = (uintptr_t)&good };
	struct recorder recorder;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(filter_give(&recorder, 1, (void *)8) == EFAULT);
	for (call.program_bytes = 0; call.program_bytes < sizeof(good.head); call.program_bytes++)
		CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	call.program_bytes = UINT32_MAX;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	call.program_bytes = sizeof(struct lull_filter) + LULL_FILTER_TEXTS_MAX + 1 +
			     LULL_FILTER_TESTS_MAX * sizeof(struct lull_filter_test);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	call.program_bytes = good.head.bytes;
	call.flags = 1;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	call.flags = 0;
	call.unused = 1;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	for (uint64_t hash = 0; hash < recorder.layout.event_capacity; hash++)
		CHECK(filter_give(&recorder, hash, &good) == 0);
	CHECK(filter_give(&recorder, 7, &good) == EEXIST);
	CHECK(filter_give(&recorder, recorder.layout.event_capacity, &good) == ENOSPC);
	CHECK(recorder_enable(&recorder).unused_filter_count == recorder.layout.event_capacity);
	CHECK(filter_give(&recorder, 7, &good) == EBUSY);
	recorder_close(&recorder);
	return 0;
}

/* Enables the event under a program, and a source that has the program too. */
static int event_refused_under(struct program program)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	const char *const description = "own:call\n6\n-:1\n";
	struct lull_kernel_source source = { .bytes = sizeof(source),
					     .kind = LULL_SOURCE_TRACEPOINT,
					     .target = (uintptr_t) "sys_enter",
					     .description = (uintptr_t)description,
					     .target_bytes = sizeof("sys_enter"),
					     .description_bytes =
						     (uint32_t)strlen(description) + 1 };
	struct lull_kernel_enable enable;
	struct recorder recorder;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(filter_give(&recorder, event_hash(EVENT), &program) == 0);
	CHECK(filter_give(&recorder, lull_description_hash(description, strlen(description)),
			  &program) == 0);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_SOURCE, &source) == -1 && errno == EINVAL);
	enable = recorder_enable(&recorder);
	CHECK(enable.matched_count == 1 && enable.enabled_count == 0 && enable.failed_count == 1);
	CHECK(enable.unused_filter_count == 2);
	recorder_close(&recorder);
	return 0;
}

static int events_that_their_filter_does_not_fit_are_not_recorded(void)
{
	struct program backwards = program_of(PREV_PID, 1), large = backwards;

	backwards.only.then = 0;
	large.head.bytes += 8; /* of which the kernel has no more than before */
	CHECK(event_refused_under(program_of(PREV_COMM, 1)) == 0);
	CHECK(event_refused_under(backwards) == 0);
	CHECK(event_refused_under(large) == 0);
	return 0;
}

struct seen {
	uint32_t id;
	long count, others;
};

/* A visitor: switches, and those that are not from the thread that they were filtered for. */
static void look(const struct recorded *event, void *context)
{
	struct seen *seen = context;
	int32_t prev_pid;

	if (event->id != seen->id)
		return;
	memcpy(&prev_pid, event->payload + strlen((const char *)event->payload) + 1,
	       sizeof(prev_pid));
	seen->count++;
	seen->others += prev_pid != getpid();
}

/*
 * Records switches under a program, which both of two sessions do not have. The event has another
 * identifier in each, because the one without the program records an event more.
 */
static int recorded_under(struct program program)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct lull_kernel_plan more = plan_of(BEFORE "\n" EVENT, LULL_MODE_DISCARD);
	struct recorder recorder, all;
	struct seen seen = { 0 }, seen_all = { 0 };

	more.subbuf_size_bytes = plan.subbuf_size_bytes = 4096;
	more.subbuf_count = plan.subbuf_count = 128;
	CHECK(recorder_open(&all, &more) == 0);
	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(filter_give(&recorder, event_hash(EVENT), &program) == 0);
	CHECK(recorder_enable(&recorder).unused_filter_count == 0);
	CHECK(recorder_enable(&all).enabled_count == 2);
	switches_make(1000); /* those in an open sub-buffer stay there */
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	ioctl(all.descriptor, LULL_KERNEL_DISABLE);
	seen.id = recorder_event(&recorder, EVENT);
	seen_all.id = recorder_event(&all, EVENT);
	CHECK(seen_all.id != seen.id);
	CHECK(recorder_read(&recorder, look, &seen) >= 0);
	CHECK(recorder_read(&all, look, &seen_all) >= 0);
	printf("  %ld of %ld switches, %ld others\n", seen.count, seen_all.count, seen.others);
	CHECK(seen.count > 800 && seen.others == 0 && recorder_lost(&recorder) == 0);
	CHECK(seen_all.count > 1600 && seen_all.others > 800);
	recorder_close(&recorder);
	recorder_close(&all);
	return 0;
}

static int sessions_record_what_their_own_filter_takes(void)
{
	return recorded_under(program_of(PREV_PID, (uint64_t)getpid()));
}

/*
 * A source whose fields are of each kind that a filter reads, at calls that open files: the first
 * has another name, the others have this one.
 */
#define NAME "/run/there is no such file"
#define OPENS 20

static const struct lull_source_field opening[] = {
	{ .from = LULL_FROM_ARGUMENT },
	{ .from = LULL_FROM_ARGUMENT, .index = 1, .step_count = 1, .is_user = 1 },
	{ .from = LULL_FROM_CONSTANT, .constant = 0x1234567890ull },
	{ .from = LULL_FROM_CONSTANT, .constant = 6 },
	{ .from = LULL_FROM_CONSTANT, .constant = 0x80 },
};
static const char opened[] = "own:open\n6\n-:1\ni32 dfd\nstr name\nu16 cut\nbool is\ni8 low\n";

/*
 * Two sources at the same place, which have one description and so one filter. Return: how many of
 * the calls each of them records under a program; -1 where it is refused.
 */
static long opens_under(const struct program *program)
{
	struct lull_kernel_plan plan = plan_of("no:event", LULL_MODE_DISCARD);
	struct lull_kernel_source source = { .bytes = sizeof(source),
					     .kind = LULL_SOURCE_FUNCTION,
					     .field_count = 5,
					     .fields = (uintptr_t)opening,
					     .target = (uintptr_t) "do_sys_openat2",
					     .description = (uintptr_t)opened,
					     .target_bytes = sizeof("do_sys_openat2"),
					     .description_bytes = sizeof(opened) };
	struct recorder recorder;
	long count = -1;
	int bad;

	if (recorder_open(&recorder, &plan))
		return -1;
	if (!filter_give(&recorder, lull_description_hash(opened, strlen(opened)), program) &&
	    ioctl(recorder.descriptor, LULL_KERNEL_SOURCE, &source) == 0 &&
	    ioctl(recorder.descriptor, LULL_KERNEL_SOURCE, &source) == 1 &&
	    recorder_enable(&recorder).unused_filter_count == 0) {
		for (int i = 0; i <= OPENS; i++)
			syscall(SYS_openat, AT_FDCWD, i ? NAME : "/run/another", O_RDONLY, 0);
		ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
		count = 0;
		bad = recorder_read(&recorder, events_of_this_thread, &count) < 0 ||
		      recorder_peek(&recorder, events_of_this_thread, &count) < 0;
		count = bad || count % 2 ? -1 : count / 2;
	}
	recorder_close(&recorder);
	return count;
}

static int sources_are_filtered_by_fields_of_the_types_that_they_have(void)
{
	struct program negative = program_of(0, 0), named = text_program_of(1, NAME);
	struct program number = program_of(2, 0x7890), truth = program_of(3, 1);
	struct program below = program_of(4, (uint64_t)-128);

	negative.only.kind = LULL_FILTER_LESS_SIGNED;
	CHECK(opens_under(&negative) == OPENS + 1);
	CHECK(opens_under(&named) == OPENS);
	CHECK(opens_under(&number) == OPENS + 1);
	CHECK(opens_under(&truth) == OPENS + 1);
	CHECK(opens_under(&below) == OPENS + 1);
	below.only.operand = 0x80;
	CHECK(opens_under(&below) == 0);
	named.only.kind = LULL_FILTER_EQUAL;
	CHECK(opens_under(&named) == -1);
	return 0;
}

/* Programs that are nearly right, for events and sources that are recorded all the while. */
static int random_filters_harm_nobody(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	uint64_t hash = event_hash(EVENT);
	int taken = 0;

	for (int i = 0; i < RANDOM_FILTERS; i++) {
		uint64_t what = random_next();
		struct program program = what & 1 ? text_program_of(what >> 1 & 1, NAME) :
						    program_of((what >> 1) % 80, what >> 9);
		size_t at = sizeof(uint32_t) + random_next() % (program.head.bytes - 4);
		struct recorder recorder;

		((unsigned char *)&program)[at] = (unsigned char)random_next();
		if (i & 1) {
			taken += opens_under(&program) >= 0;
			continue;
		}
		CHECK(recorder_open(&recorder, &plan) == 0);
		CHECK(filter_give(&recorder, hash, &program) == 0);
		taken += recorder_enable(&recorder).enabled_count == 1;
		switches_make(10);
		CHECK(recorder_read(&recorder, events_of_this_thread, &(long){ 0 }) >= 0);
		recorder_close(&recorder);
	}
	printf("  %d of %d were taken\n", taken, RANDOM_FILTERS);
	CHECK(taken > RANDOM_FILTERS / 20 && taken < RANDOM_FILTERS);
	return 0;
}

int main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		seed = strtoull(arguments[1], NULL, 0) | 1;
	RUN(filters_that_are_none_are_refused);
	RUN(events_that_their_filter_does_not_fit_are_not_recorded);
	RUN(sessions_record_what_their_own_filter_takes);
	RUN(sources_are_filtered_by_fields_of_the_types_that_they_have);
	RUN(random_filters_harm_nobody);
	return sums();
}
