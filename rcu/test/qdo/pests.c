// SPDX-License-Identifier: MIT
/*
 * What disturbs the clients of the stress test: moves, signals, cancellation, no membarrier.
 *
 * Paper: Q 4.6, 4.8 (what may come between two instructions of a client).
 */
#include "stress.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t pest;

static void on_signal(int number)
{
	struct client *self = stress_self;
	int saved = errno, cancel;

	(void)number;
	/*
	 * A thread must not end where a handler has interrupted it. glibc's signal of a
	 * cancellation, sent before this call, ends the thread also after it: keep_whole().
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (self) {
		visit(self->handler, 1, 1);
		__atomic_add_fetch(&stress.handlers, 1, __ATOMIC_RELAXED);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/*
 * Keeps the signal by which glibc cancels a thread until the handler has returned. Where glibc 2.36
 * has sent it while cancellation was enabled, and the handler, which has interrupted a point of
 * cancellation, disables cancellation before it comes, it ends the thread at whatever instruction
 * the handler has reached: in the middle of qdo_enter(), too. Of 120,000 threads that a program of
 * 30 lines without this library cancelled in that way, 5 ended so. sigaddset() refuses the number.
 */
static void keep_whole(struct sigaction *action)
{
	const unsigned int sigcancel = 32;

	((unsigned long *)&action->sa_mask)[(sigcancel - 1) / (8 * sizeof(long))] |=
		1ul << (sigcancel - 1) % (8 * sizeof(long));
}

static void move(pthread_t thread, unsigned int chance)
{
	cpu_set_t cpus;
	unsigned int cpu;

	CPU_ZERO(&cpus);
	for (cpu = 0; cpu < stress.online; cpu++)
		if (chance % 4 == 0 || chance / 4 % stress.online == cpu)
			CPU_SET(cpu, &cpus);
	if (!pthread_setaffinity_np(thread, sizeof(cpus), &cpus))
		stress.moves++;
}

static void disturb(struct client *self, struct client *client)
{
	pthread_mutex_lock(&client->place);
	if (client->alive && draw(self) % 2) {
		move(client->thread, draw(self));
	} else if (client->alive) {
		pthread_kill(client->thread, SIGUSR1);
		if (!stress.calm && draw(self) % 32 == 0)
			pthread_cancel(client->thread);
	}
	pthread_mutex_unlock(&client->place);
}

static void *pest_main(void *argument)
{
	struct client self = { .seed = 88172645 };

	(void)argument;
	while (!__atomic_load_n(&stress.running, __ATOMIC_ACQUIRE))
		moment(100);
	while (!__atomic_load_n(&stress.stop, __ATOMIC_RELAXED)) {
		disturb(&self, &stress.clients[draw(&self) % CLIENTS]);
		if (draw(&self) % 4 == 0)
			moment(50);
		if (!stress.no_fork && draw(&self) % 256 == 0)
			__atomic_store_n(&stress.fork_due, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

void stress_pests_start(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	unsigned int i;

	stress.online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	for (i = 0; i < CLIENTS; i++) {
		stress.handlers_draw[i].seed = 1234567 + i;
		stress.clients[i].handler = &stress.handlers_draw[i];
	}
	keep_whole(&action);
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&pest, NULL, pest_main, NULL))
		abort();
}

void stress_pests_stop(void)
{
	pthread_join(pest, NULL);
}

void stress_forbid_membarrier(void)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(lines) / sizeof(lines[0]), lines };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		printf("fault no filter can be installed\n");
		exit(1);
	}
}
