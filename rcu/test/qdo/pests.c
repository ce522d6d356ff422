// SPDX-License-Identifier: MIT
/*
 * What disturbs the clients of the stress test: moves, signals, forks, a missing system call.
 *
 * Paper: Q 4.6 (a child has no requests, and the operations of its own thread alone).
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
#include <sys/wait.h>
#include <unistd.h>

/* A child that is not done by then has lost something. */
#define CHILD_S 20

static pthread_t pest, forker;
static int called; /* in children */

static void on_signal(int number)
{
	struct client *self = stress_self;
	int saved = errno;

	(void)number;
	if (self) {
		visit(self->handler, 1, 1);
		__atomic_add_fetch(&stress.handlers, 1, __ATOMIC_RELAXED);
	}
	errno = saved;
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

static void *pest_main(void *argument)
{
	struct client self = { .seed = 88172645 };

	(void)argument;
	while (!__atomic_load_n(&stress.running, __ATOMIC_ACQUIRE))
		moment(100);
	while (!__atomic_load_n(&stress.stop, __ATOMIC_RELAXED)) {
		pthread_t thread = stress.clients[draw(&self) % CLIENTS].thread;

		if (draw(&self) % 2)
			move(thread, draw(&self));
		else
			pthread_kill(thread, SIGUSR1);
		if (draw(&self) % 4 == 0)
			moment(50);
	}
	return NULL;
}

static void count_call(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&called, 1, __ATOMIC_RELEASE);
}

static void child_expect(int condition, int status)
{
	if (!condition)
		_exit(status);
}

/* In a child: an operation that its parent began is waited for, and nothing else is. */
static void child(struct qdo_operation *operation, struct qdo_operation *outer)
{
	struct qdo_statistics statistics;

	signal(SIGALRM, SIG_DFL);
	alarm(CHILD_S);
	qdo_statistics_read(stress.instance, &statistics);
	child_expect(!statistics.requests && !statistics.executors, 2);
	child_expect(!qdo_request(stress.instance, count_call, NULL, NULL, NULL), 3);
	child_expect(qdo_barrier(stress.instance) == -EDEADLK, 4);
	moment(1000);
	child_expect(!__atomic_load_n(&called, __ATOMIC_ACQUIRE), 5);
	qdo_leave(operation);
	moment(1000);
	child_expect(!__atomic_load_n(&called, __ATOMIC_ACQUIRE), 6);
	qdo_leave(outer);
	child_expect(!qdo_barrier(stress.instance), 7);
	child_expect(__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 1, 8);
	qdo_enter(stress.instance, operation);
	qdo_leave(operation);
	child_expect(!qdo_request(stress.instance, count_call, NULL, NULL, NULL), 9);
	child_expect(!qdo_destroy(stress.instance), 10);
	child_expect(__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 2, 11);
	_exit(0);
}

static void *forker_main(void *argument)
{
	struct qdo_operation outer, operation;
	int status;
	pid_t pid;

	(void)argument;
	while (!__atomic_load_n(&stress.stop, __ATOMIC_RELAXED)) {
		qdo_enter(stress.instance, &outer);
		qdo_enter(stress.instance, &operation);
		pid = fork();
		if (!pid)
			child(&operation, &outer);
		qdo_leave(&operation);
		qdo_leave(&outer);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			fault("fork");
		else if (status)
			fault("a child ended with status 0x%x", status);
		stress.forks++;
		moment(10000);
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
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&pest, NULL, pest_main, NULL) ||
	    (!stress.no_fork && pthread_create(&forker, NULL, forker_main, NULL)))
		abort();
}

void stress_pests_stop(void)
{
	pthread_join(pest, NULL);
	if (!stress.no_fork)
		pthread_join(forker, NULL);
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
