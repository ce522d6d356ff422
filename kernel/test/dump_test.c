// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dump of the state as a recorder asks for it and ends it. Run in a kernel that has loaded
 * lull.ko, by tests/boot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "../../check/test.h"
#include "session.h"

#define LOOKS 2000

/* What was seen of a dump. */
struct seen {
	const struct recorder *recorder;
	uint32_t end, thread, file;
	int dumps_whole, dumps_cut_off;
	uint32_t number; /* of the last dump that ended */
	int own_thread, own_file; /* of this process */
};

static void look(const struct recorded *event, void *context)
{
	struct seen *seen = context;
	int32_t numbers[3];

	memcpy(numbers, event->payload, sizeof(numbers));
	if (event->id == seen->end) {
		seen->number = (uint32_t)numbers[0];
		if (event->payload[4])
			seen->dumps_whole++;
		else
			seen->dumps_cut_off++;
	}
	seen->own_thread |= event->id == seen->thread && numbers[0] == getpid();
	seen->own_file |= event->id == seen->file && numbers[1] == getpid() &&
			  numbers[2] == seen->recorder->descriptor;
}

static struct seen seen_of(const struct recorder *recorder)
{
	return (struct seen){
		.recorder = recorder,
		.end = recorder_event(recorder, "state:end"),
		.thread = recorder_event(recorder, "state:thread"),
		.file = recorder_event(recorder, "state:file"),
	};
}

/* Looks at sub-buffers that are open, which are read again later. Return: less than 0 on error. */
static long peek(struct recorder *recorder, struct seen *seen)
{
	size_t bytes = recorder->layout.cpu_count * sizeof(*recorder->seen);
	uint64_t(*before)[2] = malloc(bytes);
	long events;

	memcpy(before, recorder->seen, bytes);
	events = recorder_peek(recorder, look, seen);
	memcpy(recorder->seen, before, bytes);
	free(before);
	return events;
}

static int all_read(struct recorder *recorder, struct seen *seen)
{
	return recorder_read(recorder, look, seen) >= 0 && peek(recorder, seen) >= 0;
}

/*
 * Reads until a dump of this number has ended, and once more: its end may be seen in an open
 * sub-buffer when one before that was not full yet at the moment of reading.
 */
static struct seen dump_read(struct recorder *recorder, uint32_t number)
{
	struct seen seen = seen_of(recorder);

	for (int i = 0; i < LOOKS && seen.number != number && all_read(recorder, &seen); i++)
		usleep(10000);
	all_read(recorder, &seen);
	return seen;
}

static int session_begins_with_a_dump_and_gets_another_when_it_asks(void)
{
	struct lull_kernel_plan plan = plan_of("state:*", LULL_MODE_DISCARD);
	struct recorder recorder;
	struct seen seen;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DUMP) == -1 && errno == ENOENT);
	CHECK(recorder_enable(&recorder).enabled_count > 3);
	seen = dump_read(&recorder, 1);
	CHECK(seen.number == 1);
	CHECK(seen.dumps_whole && !seen.dumps_cut_off);
	CHECK(seen.own_thread && seen.own_file);
	recorder_enable(&recorder);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DUMP) == 0);
	seen = dump_read(&recorder, 2);
	CHECK(seen.number == 2);
	CHECK(seen.dumps_whole && !seen.dumps_cut_off);
	CHECK(seen.own_thread);
	CHECK(recorder_lost(&recorder) == 0);
	recorder_close(&recorder);
	return 0;
}

/* A dump that waits for a reader who does not come, so that it runs for as long as is needed. */
static struct lull_kernel_plan plan_without_room(void)
{
	struct lull_kernel_plan plan = plan_of("state:*", LULL_MODE_DISCARD);

	plan.subbuf_size_bytes = 4096;
	plan.subbuf_count = 2;
	return plan;
}

static int dump_that_is_disabled_ends_and_says_that_it_is_not_whole(void)
{
	struct lull_kernel_plan plan = plan_without_room();
	struct recorder recorder;
	struct seen seen;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(recorder_enable(&recorder).enabled_count > 3);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DUMP) == -1 && errno == EBUSY);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DUMP) == -1 && errno == ENOENT);
	seen = seen_of(&recorder);
	CHECK(recorder_read(&recorder, look, &seen) >= 0);
	CHECK(peek(&recorder, &seen) >= 0);
	CHECK(!seen.dumps_whole && seen.dumps_cut_off == 1);
	recorder_enable(&recorder);
	recorder_close(&recorder); /* while the next one runs */
	return 0;
}

static int dumps_of_two_sessions_are_not_in_one_another(void)
{
	struct lull_kernel_plan plan = plan_of("state:*", LULL_MODE_DISCARD);
	struct recorder first, second;
	struct seen seen;

	CHECK(recorder_open(&first, &plan) == 0 && recorder_open(&second, &plan) == 0);
	recorder_enable(&first);
	CHECK(dump_read(&first, 1).dumps_whole);
	recorder_enable(&second);
	CHECK(dump_read(&second, 1).dumps_whole);
	CHECK(ioctl(first.descriptor, LULL_KERNEL_DISABLE) == 0);
	seen = seen_of(&first);
	CHECK(recorder_read(&first, look, &seen) >= 0);
	CHECK(peek(&first, &seen) >= 0);
	CHECK(seen.dumps_whole == 1);
	recorder_close(&first);
	recorder_close(&second);
	return 0;
}

int main(void)
{
	RUN(session_begins_with_a_dump_and_gets_another_when_it_asks);
	RUN(dump_that_is_disabled_ends_and_says_that_it_is_not_whole);
	RUN(dumps_of_two_sessions_are_not_in_one_another);
	return sums();
}
