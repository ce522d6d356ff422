// SPDX-License-Identifier: GPL-2.0-only
/*
 * lull.ko is asked to go while recorders of several users record, wait in poll(), share a session
 * or have only its mapping left; they are killed, and a CPU leaves and comes back all the while.
 * The module goes when the last of them is dead, not before. Run by tests/boot, which then looks
 * for complaints of the kernel's.
 *
 * Usage: unload_test [LOADS].
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../check/test.h"
#include "session.h"
#include "switches.h"

#define MODULE "/modules/lull.ko"
#define GROUP 900 /* its members may open the device */
#define FIRST_USER 1000
#define PATTERNS "sched:sched_sw*\nsched:sched_w*\nirq:softirq_*\nsyscalls:sys_*_read"
#define CHURNERS 2
#define PAUSE_US 2000
#define AWAY_US 50000 /* longer than to have a session for a moment */
#define SUBBUF_BYTES 16384u

static int loads = 2;

static int module_load(void)
{
	int file = open(MODULE, O_RDONLY | O_CLOEXEC);
	int error = syscall(SYS_finit_module, file, "", 0) ? errno : 0;

	close(file);
	return error ? error : chown(LULL_KERNEL_DEVICE, 0, GROUP) ? errno : 0;
}

static int module_unload(void)
{
	return syscall(SYS_delete_module, "lull", O_NONBLOCK) ? errno : 0;
}

static int ring_open(const struct recorder *recorder, uint32_t cpu)
{
	struct lull_kernel_ring ring = { .bytes = sizeof(ring), .cpu = cpu };

	return ioctl(recorder->descriptor, LULL_KERNEL_RING, &ring);
}

/* Tells the parent that the session is there, and that nothing else is missing. */
static void tell_ready(int ready, int is_ready)
{
	char byte = (char)is_ready;

	if (write(ready, &byte, 1) != 1 || !is_ready)
		_exit(1);
	close(ready);
}

static void works_reading(struct recorder *recorder, int ready)
{
	for (tell_ready(ready, 1);;)
		if (recorder_read(recorder, NULL, NULL) < 0)
			_exit(1);
}

/* In poll() on each CPU's ring, so also on that of the CPU that leaves. */
static void works_in_poll(struct recorder *recorder, int ready)
{
	struct pollfd rings[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct lull_kernel_subbuf subbuf;

	for (uint32_t cpu = 0; cpu < 2; cpu++)
		rings[cpu].fd = ring_open(recorder, cpu);
	tell_ready(ready, rings[0].fd >= 0 && rings[1].fd >= 0);
	while (poll(rings, 2, -1) > 0)
		for (int cpu = 0; cpu < 2; cpu++) {
			subbuf = (struct lull_kernel_subbuf){ .bytes = sizeof(subbuf) };
			if (!ioctl(rings[cpu].fd, LULL_KERNEL_GET, &subbuf))
				ioctl(rings[cpu].fd, LULL_KERNEL_PUT, &subbuf);
		}
	_exit(1);
}

static void works_by_two(struct recorder *recorder, int ready)
{
	(void)recorder;
	if (fork())
		_exit(0);
	tell_ready(ready, 1);
	for (;;)
		pause();
}

static void works_by_its_mapping(struct recorder *recorder, int ready)
{
	volatile uint64_t *word = (uint64_t *)recorder->base;

	close(recorder->descriptor);
	for (tell_ready(ready, 1);; usleep(PAUSE_US))
		(void)*word;
}

static void works_ending_and_beginning(struct recorder *recorder, int ready)
{
	for (tell_ready(ready, 1);;) {
		ioctl(recorder->descriptor, LULL_KERNEL_DISABLE);
		recorder_enable(recorder);
	}
}

static void (*const works[])(struct recorder *recorder, int ready) = {
	works_reading,
	works_in_poll,
	works_by_two,
	works_by_its_mapping,
	works_ending_and_beginning,
};
#define WORKS ((int)(sizeof(works) / sizeof(*works)))

/* A process group, so that it can be killed with its children, of a user of its own. */
static void user_become(int user)
{
	setpgid(0, 0);
	if (setgid(GROUP) || setuid((uid_t)(FIRST_USER + user)))
		_exit(1);
}

/* Return: the process of a recorder that has a session, or -1. */
static pid_t worker_begin(int number)
{
	struct lull_kernel_plan plan =
		plan_of(PATTERNS, number & 1 ? LULL_MODE_DISCARD : LULL_MODE_FLIGHT_RECORDER);
	struct recorder recorder;
	char byte = 0;
	int ready[2];
	pid_t worker;

	if (pipe(ready))
		return -1;
	worker = fork();
	if (!worker) {
		close(ready[0]);
		user_become(number);
		plan.subbuf_size_bytes = SUBBUF_BYTES;
		if (recorder_open(&recorder, &plan) || recorder_enable(&recorder).enabled_count < 2)
			_exit(1);
		works[number](&recorder, ready[1]);
	}
	setpgid(worker, worker);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1 || byte != 1)
		worker = -1;
	close(ready[0]);
	return worker;
}

/* When this returns, all files of the group are closed: the kernel does that before it tells. */
static void group_kill(pid_t group)
{
	kill(-group, SIGKILL);
	while (waitpid(-group, NULL, 0) > 0)
		;
}

static int cpu_write(const char *online)
{
	int file = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);
	ssize_t written = write(file, online, 1);

	close(file);
	return written == 1 ? 0 : -1;
}

/* A CPU leaves and comes back until the pipe is closed. Return: its process. */
static pid_t cpu_begin_to_change(int over[2])
{
	struct pollfd end = { .events = POLLIN };
	pid_t child;

	if (pipe2(over, O_CLOEXEC))
		return -1;
	child = fork();
	if (child)
		return child;
	close(over[1]);
	for (end.fd = over[0]; !poll(&end, 1, 10);)
		if (cpu_write("0") || cpu_write("1"))
			_exit(1);
	_exit(0);
}

static int cpu_is_back(int over[2], pid_t changer)
{
	int status = -1;

	close(over[0]);
	close(over[1]);
	waitpid(changer, &status, 0);
	return status == 0;
}

static int module_stays_until_the_last_recorder_is_dead(void)
{
	pid_t workers[WORKS], changer;
	int over[2];

	changer = cpu_begin_to_change(over);
	CHECK(changer > 0);
	for (int load = 0; load < loads; load++) {
		CHECK(module_load() == 0);
		for (int i = 0; i < WORKS; i++) {
			workers[i] = worker_begin(i);
			CHECK(workers[i] > 0);
		}
		switches_make(200);
		/* Another one is the last in each round. */
		for (int i = 0; i < WORKS; i++) {
			CHECK(module_unload() == EWOULDBLOCK);
			group_kill(workers[(load + i) % WORKS]);
		}
		CHECK(module_unload() == 0);
	}
	CHECK(cpu_is_back(over, changer));
	return 0;
}

/* Opens the device whenever it is there, and has it for the time of some calls. */
static void churn(int number)
{
	struct lull_kernel_plan plan;
	struct recorder recorder;

	for (user_become(number);; usleep(AWAY_US)) {
		plan = plan_of("sched:sched_switch", LULL_MODE_DISCARD);
		plan.subbuf_size_bytes = SUBBUF_BYTES;
		if (recorder_open(&recorder, &plan))
			continue;
		recorder_enable(&recorder);
		recorder_close(&recorder);
	}
}

static int module_goes_between_recorders_that_come_and_go(void)
{
	pid_t churners[CHURNERS];
	long refused = 0;

	for (int i = 0; i < CHURNERS; i++) {
		churners[i] = fork();
		CHECK(churners[i] >= 0);
		if (!churners[i])
			churn(i);
		setpgid(churners[i], churners[i]);
	}
	for (int load = 0; load < loads; load++) {
		int error;

		CHECK(module_load() == 0);
		usleep(2 * AWAY_US);
		/* Bound: the limit of the guest's command. */
		for (; (error = module_unload()) == EWOULDBLOCK; usleep(PAUSE_US))
			refused++;
		CHECK(error == 0);
	}
	for (int i = 0; i < CHURNERS; i++)
		group_kill(churners[i]);
	printf("  %d loads, %ld times refused to go\n", loads, refused);
	return 0;
}

static int pipe_keeps_pages_of_a_module_that_has_gone(void)
{
	static unsigned char copied[SUBBUF_BYTES];
	struct lull_kernel_subbuf subbuf = { .bytes = sizeof(subbuf) };
	struct lull_kernel_plan plan = plan_of("sched:sched_switch", LULL_MODE_DISCARD);
	const struct lull_packet_header *header = (const void *)copied;
	struct recorder recorder;
	int ends[2], unread[2], ring;

	plan.subbuf_size_bytes = SUBBUF_BYTES;
	CHECK(module_load() == 0 && pipe(ends) == 0 && pipe(unread) == 0);
	CHECK(recorder_open(&recorder, &plan) == 0);
	ring = ring_open(&recorder, 0);
	CHECK(ring >= 0 && recorder_enable(&recorder).enabled_count == 1);
	switches_make(1000);
	CHECK(ioctl(ring, LULL_KERNEL_GET, &subbuf) == 0);
	CHECK(splice(ring, NULL, ends[1], NULL, SUBBUF_BYTES, 0) == SUBBUF_BYTES);
	CHECK(tee(ends[0], unread[1], SUBBUF_BYTES, 0) == SUBBUF_BYTES);
	close(ring);
	recorder_close(&recorder);
	CHECK(module_unload() == 0);
	CHECK(read(ends[0], copied, sizeof(copied)) == SUBBUF_BYTES);
	CHECK(header->magic == LULL_PACKET_MAGIC);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(unread[i]);
	}
	return 0;
}

int main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		loads = atoi(arguments[1]);
	/* The child of a recorder that was killed becomes this process's, which waits for it. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	RUN(module_stays_until_the_last_recorder_is_dead);
	RUN(module_goes_between_recorders_that_come_and_go);
	RUN(pipe_keeps_pages_of_a_module_that_has_gone);
	return sums();
}
