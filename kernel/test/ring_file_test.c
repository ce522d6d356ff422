// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring's descriptor: poll, get and put, splice, mmap. Run in a kernel that has loaded lull.ko, by
 * tests/boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../check/test.h"
#include "session.h"
#include "switches.h"

#define SUBBUF_BYTES 16384u
/* A limit would hide a kernel that does not wake: poll() looks once more when it is over. */
#define POLL_LIMIT_MS -1

#define OCCUPIED_MS 300 /* while the CPU runs, the timer looks in vain, more than once */

/* A session of switches, and the descriptor of the ring that switches_make() writes to. */
struct reader {
	struct recorder recorder;
	struct lull_kernel_subbuf subbuf;
	const unsigned char *data; /* the ring's sub-buffers */
	int ring;
};

static int ring_open(int session, uint32_t cpu)
{
	struct lull_kernel_ring ring = { .bytes = sizeof(ring), .cpu = cpu };

	return ioctl(session, LULL_KERNEL_RING, &ring);
}

static int reader_open(struct reader *reader, uint32_t mode)
{
	struct lull_kernel_plan plan = plan_of("sched:sched_switch", mode);

	plan.subbuf_size_bytes = SUBBUF_BYTES;
	plan.subbuf_count = 32;
	CHECK(recorder_open(&reader->recorder, &plan) == 0);
	reader->subbuf = (struct lull_kernel_subbuf){ .bytes = sizeof(reader->subbuf) };
	reader->ring = ring_open(reader->recorder.descriptor, 0);
	CHECK(reader->ring >= 0);
	reader->data = mmap(NULL, reader->recorder.layout.data_stride_bytes, PROT_READ, MAP_SHARED,
			    reader->ring, 0);
	CHECK(reader->data != MAP_FAILED);
	CHECK(recorder_enable(&reader->recorder).enabled_count == 1);
	return 0;
}

static void reader_close(struct reader *reader)
{
	munmap((void *)reader->data, reader->recorder.layout.data_stride_bytes);
	close(reader->ring);
	recorder_close(&reader->recorder);
}

static int ring_call(struct reader *reader, unsigned long call)
{
	return ioctl(reader->ring, call, &reader->subbuf) ? errno : 0;
}

static const struct lull_packet_header *packet(const struct reader *reader)
{
	return (const void *)(reader->data + reader->subbuf.offset_bytes);
}

static int ring_has_one_descriptor_and_no_writer(void)
{
	struct reader reader;
	struct lull_kernel_ring ring = { .bytes = sizeof(ring), .flags = 1 };

	CHECK(reader_open(&reader, LULL_MODE_DISCARD) == 0);
	CHECK(ring_open(reader.recorder.descriptor, 0) == -1 && errno == EBUSY);
	CHECK(ring_open(reader.recorder.descriptor, ~0u) == -1 && errno == EINVAL);
	CHECK(ioctl(reader.recorder.descriptor, LULL_KERNEL_RING, &ring) == -1 && errno == EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reader.ring, 0) == MAP_FAILED);
	CHECK(mprotect((void *)reader.data, 4096, PROT_READ | PROT_WRITE) == -1);
	CHECK(ring_call(&reader, LULL_KERNEL_PUT) == EINVAL);
	CHECK(ring_call(&reader, LULL_KERNEL_ENABLE) == ENOTTY);
	munmap((void *)reader.data, reader.recorder.layout.data_stride_bytes);
	close(reader.ring);
	reader.ring = ring_open(reader.recorder.descriptor, 0);
	CHECK(reader.ring >= 0);
	reader_close(&reader);
	return 0;
}

/* Run on CPU 0 without a switch that matters: a CPU that sleeps has no timer that can wait. */
static void cpu_occupy(void)
{
	struct timespec begin, now;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
	       OCCUPIED_MS);
}

static int poll_sleeps_until_a_sub_buffer_is_closed(void)
{
	struct reader reader;
	struct pollfd one = { .events = POLLIN | POLLPRI };

	CHECK(reader_open(&reader, LULL_MODE_DISCARD) == 0);
	one.fd = reader.ring;
	CHECK(poll(&one, 1, 0) == 0);
	CHECK(ring_call(&reader, LULL_KERNEL_GET) == EAGAIN);
	if (!fork()) {
		cpu_occupy();
		switches_make(1000);
		_exit(0);
	}
	CHECK(poll(&one, 1, POLL_LIMIT_MS) == 1 && one.revents & POLLIN);
	wait(NULL);
	CHECK(!(one.revents & POLLPRI) || reader.recorder.rings[0].shared->lost[0] == 0);
	while (!recorder_lost(&reader.recorder))
		switches_make(1000);
	CHECK(poll(&one, 1, 0) == 1 && one.revents == (POLLIN | POLLPRI));
	reader_close(&reader);
	return 0;
}

/* Reads all sub-buffers, the open one too. Return: how many events, by the packets' own sizes. */
static long packets_read(struct reader *reader)
{
	uint64_t next = 0, bytes = 0;
	int error;

	if (ring_call(reader, LULL_KERNEL_SWITCH))
		return -1;
	while (!(error = ring_call(reader, LULL_KERNEL_GET))) {
		const struct lull_packet_header *header = packet(reader);

		if (header->magic != LULL_PACKET_MAGIC || header->packet_seq_num != next++ ||
		    ring_call(reader, LULL_KERNEL_GET) != EBUSY)
			return -1;
		bytes += header->content_size_bits / 8 - sizeof(*header);
		if (ring_call(reader, LULL_KERNEL_PUT))
			return -1;
	}
	return error == EAGAIN ? (long)bytes : -1;
}

static int session_that_is_over_is_read_to_its_end(uint32_t mode)
{
	struct reader reader;
	struct pollfd one = { .events = POLLIN };
	uint64_t written;
	long bytes;

	CHECK(reader_open(&reader, mode) == 0);
	one.fd = reader.ring;
	switches_make(1000);
	CHECK(ioctl(reader.recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	written = reader.recorder.rings[0].shared->write_count;
	CHECK(written < 32 * SUBBUF_BYTES);
	bytes = packets_read(&reader);
	printf("  %ld bytes of events in %lu bytes\n", bytes, written);
	CHECK(bytes > 2000 * 40 && bytes < (long)written);
	CHECK(poll(&one, 1, POLL_LIMIT_MS) == 1 && one.revents == POLLHUP);
	reader_close(&reader);
	return 0;
}

static int session_that_is_over_is_read_to_its_end_in_discard_mode(void)
{
	return session_that_is_over_is_read_to_its_end(LULL_MODE_DISCARD);
}

static int session_that_is_over_is_read_to_its_end_in_flight_recorder_mode(void)
{
	return session_that_is_over_is_read_to_its_end(LULL_MODE_FLIGHT_RECORDER);
}

static int pages_are_lent_to_a_pipe_and_put_waits_for_them(void)
{
	static unsigned char copied[SUBBUF_BYTES + 1];
	struct reader reader;
	size_t bytes = 0;
	ssize_t part;
	int ends[2];

	CHECK(pipe(ends) == 0 && reader_open(&reader, LULL_MODE_DISCARD) == 0);
	CHECK(splice(reader.ring, NULL, ends[1], NULL, SUBBUF_BYTES, 0) == -1 && errno == EINVAL);
	switches_make(1000);
	CHECK(ring_call(&reader, LULL_KERNEL_GET) == 0);
	CHECK(splice(reader.ring, NULL, ends[1], NULL, 1000, 0) == 1000);
	CHECK(splice(reader.ring, NULL, ends[1], NULL, ~0u >> 1, 0) == SUBBUF_BYTES - 1000);
	CHECK(splice(reader.ring, NULL, ends[1], NULL, SUBBUF_BYTES, SPLICE_F_NONBLOCK) == 0);
	CHECK(ring_call(&reader, LULL_KERNEL_PUT) == EBUSY);
	while (bytes < SUBBUF_BYTES &&
	       (part = read(ends[0], copied + bytes, sizeof(copied) - bytes)) > 0)
		bytes += (size_t)part;
	CHECK(bytes == SUBBUF_BYTES && !memcmp(copied, packet(&reader), bytes));
	CHECK(ring_call(&reader, LULL_KERNEL_PUT) == 0);
	reader_close(&reader);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static int pipe_keeps_its_pages_when_the_session_ends(void)
{
	static unsigned char before[SUBBUF_BYTES], after[SUBBUF_BYTES];
	struct reader reader;
	int ends[2];

	CHECK(pipe(ends) == 0 && reader_open(&reader, LULL_MODE_DISCARD) == 0);
	switches_make(1000);
	CHECK(ring_call(&reader, LULL_KERNEL_GET) == 0);
	memcpy(before, packet(&reader), sizeof(before));
	CHECK(splice(reader.ring, NULL, ends[1], NULL, SUBBUF_BYTES, 0) == SUBBUF_BYTES);
	CHECK(ioctl(reader.recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	reader_close(&reader);
	switches_make(1000);
	CHECK(read(ends[0], after, sizeof(after)) == SUBBUF_BYTES);
	CHECK(!memcmp(before, after, sizeof(before)));
	close(ends[0]);
	close(ends[1]);
	return 0;
}

int main(void)
{
	RUN(ring_has_one_descriptor_and_no_writer);
	RUN(poll_sleeps_until_a_sub_buffer_is_closed);
	RUN(session_that_is_over_is_read_to_its_end_in_discard_mode);
	RUN(session_that_is_over_is_read_to_its_end_in_flight_recorder_mode);
	RUN(pages_are_lent_to_a_pipe_and_put_waits_for_them);
	RUN(pipe_keeps_its_pages_when_the_session_ends);
	return sums();
}
