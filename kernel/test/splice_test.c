// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's half of tests/boot/splice_test.py: sub-buffers of the kernel's go to a file or to a
 * socket while the functions of the kernel's that copy are traced, in this thread only.
 *
 * Usage: splice_test splice|write FILE|socket. With `splice`, pages of the ring are lent to a pipe
 * and from there to the file, which is opened to bypass the page cache, or to a TCP socket. A byte
 * of each sub-buffer is changed when the pipe, or the socket, has it: where it arrives changed, it
 * was the ring's own page that was there. With `write` the same bytes are written from the mapping:
 * those are copied, which shows that the count counts. Prints how many sub-buffers went, and how
 * many pages of the file are in the page cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "session.h"
#include "switches.h"

#define SUBBUF_BYTES 16384u
#define SUBBUFS 4
#define PAGE_BYTES 4096
#define TRACING_ON "/sys/kernel/tracing/tracing_on"
#define LATE 0xa5 /* what is written to a page that is lent already */

static int tracing;

static void must(int holds, const char *what)
{
	if (holds)
		return;
	printf("FAIL %s: %s\n", what, strerror(errno));
	exit(1);
}

static void trace(const char *on)
{
	must(pwrite(tracing, on, 1, 0) == 1, TRACING_ON);
}

/* The ends of a connection that the kernel makes of packets on its loopback device. */
static void connection_make(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), room = 1 << 20;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	must(!bind(listener, (struct sockaddr *)&address, bytes) && !listen(listener, 1), "listen");
	must(!getsockname(listener, (struct sockaddr *)&address, &bytes), "getsockname");
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	must(!connect(ends[1], (struct sockaddr *)&address, bytes), "connect");
	ends[0] = accept(listener, NULL, NULL);
	must(ends[0] >= 0, "accept");
	close(listener);
}

static void splice_all(int from, int to)
{
	for (size_t left = SUBBUF_BYTES; left;) {
		ssize_t part = splice(from, NULL, to, NULL, left, 0);

		must(part > 0, "splice");
		left -= (size_t)part;
	}
}

/* Read a sub-buffer from the peer. Return: its last byte. */
static unsigned char drain(int peer)
{
	static unsigned char bytes[SUBBUF_BYTES];

	must(recv(peer, bytes, sizeof(bytes), MSG_WAITALL) == sizeof(bytes), "recv");
	return bytes[sizeof(bytes) - 1];
}

struct route {
	int ring, pipe[2], target, peer; /* peer: -1 for a file */
	int is_spliced;
};

/* Read what is in a file, as it was opened to be read. Return: the last byte before @until. */
static unsigned char last_stored(int file, long until)
{
	static _Alignas(PAGE_BYTES) unsigned char page[PAGE_BYTES];

	must(pread(file, page, sizeof(page), until - PAGE_BYTES) == sizeof(page), "pread");
	return page[PAGE_BYTES - 1];
}

/* Move a sub-buffer. Return: whether it arrived with what was written there on its way. */
static int subbuf_move(struct route *route, unsigned char *packet, int number)
{
	unsigned char *last = packet + SUBBUF_BYTES - 1, before = *last, found;

	if (route->is_spliced) {
		splice_all(route->ring, route->pipe[1]);
		if (route->peer < 0)
			*last = before ^ LATE;
		splice_all(route->pipe[0], route->target);
	} else {
		must(write(route->target, packet, SUBBUF_BYTES) == SUBBUF_BYTES, "write");
	}
	*last = before ^ LATE;
	if (route->peer >= 0)
		found = drain(route->peer);
	else
		found = last_stored(route->target, (number + 1) * SUBBUF_BYTES);
	*last = before;
	return found == (before ^ LATE);
}

/* Pages of the file that are in the page cache. */
static int pages_cached(const char *path)
{
	static unsigned char resident[SUBBUFS * SUBBUF_BYTES / PAGE_BYTES];
	int file = open(path, O_RDONLY), count = 0;
	void *mapped = mmap(NULL, SUBBUFS * SUBBUF_BYTES, PROT_READ, MAP_SHARED, file, 0);

	must(mapped != MAP_FAILED && !mincore(mapped, SUBBUFS * SUBBUF_BYTES, resident), path);
	for (size_t i = 0; i < sizeof(resident); i++)
		count += resident[i] & 1;
	return count;
}

static void subbuf_put(int ring)
{
	struct lull_kernel_subbuf subbuf = { .bytes = sizeof(subbuf) };

	/* Bound: the peer has read all; what holds the pages is an acknowledgement on its way. */
	while (ioctl(ring, LULL_KERNEL_PUT, &subbuf)) {
		must(errno == EBUSY, "put");
		usleep(1000);
	}
}

static void target_open(struct route *route, const char *where)
{
	int ends[2];

	if (!strcmp(where, "socket")) {
		connection_make(ends);
		route->peer = ends[0];
		route->target = ends[1];
		return;
	}
	route->peer = -1;
	route->target = open(where, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	must(route->target >= 0 && (route->is_spliced || !fcntl(route->target, F_SETFL, 0)), where);
}

int main(int argc, char **argv)
{
	struct lull_kernel_plan plan = plan_of("sched:sched_switch", LULL_MODE_DISCARD);
	struct lull_kernel_ring ring = { .bytes = sizeof(ring) };
	struct lull_kernel_subbuf subbuf = { .bytes = sizeof(subbuf) };
	struct route route = { 0 };
	struct recorder recorder;
	unsigned char *data;

	must(argc == 3, "usage: splice_test splice|write FILE|socket");
	route.is_spliced = !strcmp(argv[1], "splice");
	target_open(&route, argv[2]);
	plan.subbuf_size_bytes = SUBBUF_BYTES;
	plan.subbuf_count = 32;
	must(!recorder_open(&recorder, &plan), "plan");
	route.ring = ioctl(recorder.descriptor, LULL_KERNEL_RING, &ring);
	data = recorder.base + recorder.layout.data_offset_bytes;
	tracing = open(TRACING_ON, O_WRONLY);
	must(route.ring >= 0 && tracing >= 0 && !pipe(route.pipe), "ring");
	must(recorder_enable(&recorder).enabled_count == 1, "enable");
	switches_make(4000);
	must(!ioctl(recorder.descriptor, LULL_KERNEL_DISABLE), "disable");
	trace("1");
	for (int i = 0; i < SUBBUFS; i++) {
		must(!ioctl(route.ring, LULL_KERNEL_GET, &subbuf), "get");
		must(subbuf_move(&route, data + subbuf.offset_bytes, i) == route.is_spliced,
		     "whose page was on the way");
		subbuf_put(route.ring);
	}
	trace("0");
	printf("moved %d, cached %d\n", SUBBUFS, route.peer < 0 ? pages_cached(argv[2]) : 0);
	return 0;
}
