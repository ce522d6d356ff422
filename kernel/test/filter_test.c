// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters of /dev/lull: which are refused, and what is recorded with those that are not. Run in a
 * kernel that has loaded lull.ko, by tests/boot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "../../check/test.h"
#include "lull/abi/filter.h"
#include "session.h"
#include "site/note.h"
#include "switches.h"

#define EVENT "sched:sched_switch"
#define PREV_COMM 0 /* fields of it */
#define PREV_PID 1

/* A program of one test. */
struct program {
	struct lull_filter head;
	struct lull_filter_test only;
};

static struct program program_of(uint8_t left, uint64_t constant)
{
	return (struct program){
		.head = { .bytes = sizeof(struct program), .test_count = 1 },
		.only = { .kind = LULL_FILTER_EQUAL,
			  .left = left,
			  .right = LULL_FILTER_CONSTANT,
			  .then = LULL_FILTER_ACCEPT,
			  .otherwise = LULL_FILTER_REJECT,
			  .mask = UINT64_MAX,
			  .operand = constant },
	};
}

/* Return: 0, or errno. */
static int filter(const struct recorder *recorder, uint64_t hash, const struct program *program)
{
	struct lull_kernel_filter filter = {
		.bytes = sizeof(filter),
		.event_hash = hash,
		.program = (uintptr_t)program,
		.program_bytes = sizeof(*program),
	};

	return ioctl(recorder->descriptor, LULL_KERNEL_FILTER, &filter) ? errno : 0;
}

/* By its hash the module knows the event: from another session, which has it enabled. */
static uint64_t hash_of_event(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct recorder recorder;
	uint64_t hash = 0;
	char *text;

	if (recorder_open(&recorder, &plan))
		return 0;
	recorder_enable(&recorder);
	text = recorder_description(&recorder, recorder_event(&recorder, EVENT));
	if (text)
		hash = lull_description_hash(text, strlen(text));
	free(text);
	recorder_close(&recorder);
	return hash;
}

static int filters_that_do_not_fit_their_event_are_refused(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct program good = program_of(PREV_PID, 1), text = program_of(PREV_COMM, 1);
	struct program backwards = good;
	struct lull_kernel_filter call = { .bytes = sizeof(call), .program = (uintptr_t)&good };
	uint64_t hash = hash_of_event();
	struct recorder recorder;

	backwards.only.then = 0;
	CHECK(hash && recorder_open(&recorder, &plan) == 0);
	CHECK(filter(&recorder, hash ^ 1, &good) == ENOENT);
	CHECK(filter(&recorder, hash, &text) == EINVAL);
	CHECK(filter(&recorder, hash, &backwards) == EINVAL);
	CHECK(filter(&recorder, hash, (void *)8) == EFAULT);
	call.event_hash = hash;
	for (call.program_bytes = 0; call.program_bytes < sizeof(good); call.program_bytes++)
		CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	call.flags = 1;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	call.program_bytes = UINT32_MAX;
	call.flags = 0;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_FILTER, &call) && errno == EINVAL);
	CHECK(filter(&recorder, hash, &good) == 0);
	CHECK(filter(&recorder, hash, &good) == EEXIST);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(filter(&recorder, hash, &good) == EBUSY);
	recorder_close(&recorder);
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

/* Records switches under a program, which both of two sessions do not have. */
static int recorded_under(struct program program)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct recorder recorder, all;
	struct seen seen = { 0 }, seen_all = { 0 };

	plan.subbuf_size_bytes = 4096;
	plan.subbuf_count = 128;
	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(filter(&recorder, hash_of_event(), &program) == 0);
	CHECK(recorder_open(&all, &plan) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(recorder_enable(&all).enabled_count == 1);
	switches_make(1000); /* those in an open sub-buffer stay there */
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	ioctl(all.descriptor, LULL_KERNEL_DISABLE);
	seen.id = recorder_event(&recorder, EVENT);
	seen_all.id = recorder_event(&all, EVENT);
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

static int filters_read_the_context_of_the_running_thread(void)
{
	return recorded_under(
		program_of(LULL_FILTER_CONTEXT + LULL_CONTEXT_TID, (uint64_t)getpid()));
}

int main(void)
{
	RUN(filters_that_do_not_fit_their_event_are_refused);
	RUN(sessions_record_what_their_own_filter_takes);
	RUN(filters_read_the_context_of_the_running_thread);
	return sums();
}
