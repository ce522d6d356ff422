// SPDX-License-Identifier: MIT
/*
 * unfenced CASE: what a process does whose threads the kernel forces no barrier on: the library's
 * own threads answer signals, have nothing of the threads that started them, and a fence that
 * cannot be made is not passed over.
 *
 * A case that hangs is killed by an alarm. Paper: T 6.4.4.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lull/qdo.h"
#include "lull/rcu/defer.h"
#include "lull/rcu/flavour/bp.h"
#include "lull/rcu/flavour/memb.h"
#include "lull/rcu/flavour/qsbr.h"
#include "lull/rcu/flavour/signal.h"
#include "lull/rcu/hash.h"
#include "../torture/deny.h"
#include "rough.h"

#define NODES 5000
#define ROUNDS 3

static sem_t done;

/* From then on one system call fails in the whole process, as in a sandbox. */
static void deny(int call)
{
	if (system_call_deny(call)) {
		perror("unfenced: cannot take a system call away");
		exit(2);
	}
}

static int stop;

static void *synchronizes(void *domain)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		rcu_domain_synchronize(domain);
	return NULL;
}

static void change(struct rcu_hash *table, struct rcu_domain *domain, int add)
{
	static struct rcu_hash_node nodes[NODES];
	struct rcu_reader *self = rcu_domain_self(domain);
	unsigned long i;

	for (i = 0; i < NODES; i++) {
		rcu_reader_enter_light(domain, self);
		if (add)
			rcu_hash_add(table, i * 0x9e3779b97f4a7c15ul, &nodes[i]);
		else
			rcu_hash_del(table, &nodes[i]);
		rcu_reader_leave_light(domain, self);
	}
	rcu_domain_synchronize(domain);
}

/* A table grows and shrinks by a thread of the library's, beside grace periods. */
static void resize_beside(struct rcu_domain *domain)
{
	struct rcu_hash *table = rcu_hash_new(domain, NULL);
	pthread_t thread;
	int i;

	stop = 0;
	rcu_domain_register(domain, rcu_domain_self(domain), 0);
	thread = start(synchronizes, domain);
	for (i = 0; i < ROUNDS; i++) {
		change(table, domain, 1);
		while (rcu_hash_bucket_count(table) < NODES / 2)
			rcu_domain_synchronize(domain);
		change(table, domain, 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static int tables_grow(void)
{
	deny(SYS_membarrier);
	resize_beside(&rcu_memb_domain);
	resize_beside(&rcu_bp_domain);
	return 0;
}

static void read_bp(void *unused)
{
	(void)unused;
	rcu_bp_read_lock();
	rcu_bp_read_unlock();
	sem_post(&done);
}

static void read_in_callback(struct rcu_head *unused)
{
	(void)unused;
	read_bp(NULL);
}

/* The threads that call back become readers of another flavour, and stay there. */
static int callbacks_read_in_another_flavour(void)
{
	static struct rcu_head head;

	deny(SYS_membarrier);
	rcu_qsbr_call(&head, read_in_callback);
	await(&done);
	rcu_bp_synchronize();
	if (rcu_domain_defer_register_thread(&rcu_qsbr_domain))
		return 2;
	rcu_qsbr_defer(read_bp, NULL);
	await(&done);
	rcu_bp_synchronize();
	if (qdo_request(qdo_default(), read_bp, NULL, NULL, NULL))
		return 2;
	await(&done);
	rcu_bp_synchronize();
	return 0;
}

static void *is_asked(void *may_end)
{
	rcu_signal_register_thread();
	sem_post(&done);
	await(may_end);
	rcu_signal_unregister_thread();
	return NULL;
}

static void *asks(void *unused)
{
	sem_post(&done);
	rcu_signal_synchronize();
	pthread_testcancel();
	return unused;
}

/* One that is cancelled while its signals are refused leaves no lock behind. */
static int cancelled_while_signals_are_refused(void)
{
	struct rlimit none = { 0, 0 }, before;
	pthread_t asked, asking;
	sem_t may_end;
	int i;

	deny(SYS_membarrier);
	sem_init(&may_end, 0, 0);
	asked = start(is_asked, &may_end);
	await(&done);
	getrlimit(RLIMIT_SIGPENDING, &before);
	none.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_SIGPENDING, &none);
	asking = start(asks, NULL);
	await(&done);
	for (i = 0; i < 20; i++)
		usleep(1000); /* most likely its signals are refused by now */
	pthread_cancel(asking);
	for (i = 0; i < 5; i++)
		usleep(1000);
	setrlimit(RLIMIT_SIGPENDING, &before);
	pthread_join(asking, NULL);
	rcu_signal_synchronize();
	sem_post(&may_end);
	pthread_join(asked, NULL);
	return 0;
}

static void *starts_threads(void *unused)
{
	static struct rcu_head head;
	struct sched_param none = { .sched_priority = 0 };
	cpu_set_t one;

	sched_setscheduler(0, SCHED_BATCH, &none);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	rcu_bp_call(&head, read_in_callback);
	rcu_domain_defer_register_thread(&rcu_bp_domain);
	rcu_hash_new(&rcu_bp_domain, NULL);
	qdo_request(qdo_default(), read_bp, NULL, NULL, NULL);
	await(&done);
	await(&done);
	return unused;
}

/* Return: of the process's threads, those that do not run as the first one does. */
static int threads_that_differ(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	cpu_set_t all, cpus;
	int differ = 0;
	pid_t tid;

	sched_getaffinity(getpid(), sizeof(all), &all);
	while ((task = readdir(tasks)) != NULL) {
		tid = (pid_t)strtol(task->d_name, NULL, 10);
		if (!tid || sched_getaffinity(tid, sizeof(cpus), &cpus))
			continue;
		/* One that calls for QDo runs where it was told. */
		differ += sched_getscheduler(tid) != SCHED_OTHER ||
			  (!CPU_EQUAL(&all, &cpus) && CPU_COUNT(&cpus) != 1);
	}
	closedir(tasks);
	return differ;
}

static int named_threads_on_one_cpu(void)
{
	static const char *const names[] = { "rcu-bp", "rcu-hash", "defer-bp", "qdo" };
	char path[64], name[32];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	cpu_set_t cpus;
	int found = 0;
	size_t i;

	while ((task = readdir(tasks)) != NULL) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task->d_name);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%31s", name) != 1)
			name[0] = 0;
		if (file)
			fclose(file);
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(name, names[i]) &&
			    !sched_getaffinity((pid_t)strtol(task->d_name, NULL, 10), sizeof(cpus),
					       &cpus))
				found += CPU_COUNT(&cpus) == 1;
	}
	closedir(tasks);
	return found;
}

static int threads_inherit_nothing(void)
{
	cpu_set_t all;

	pthread_join(start(starts_threads, NULL), NULL);
	sched_getaffinity(0, sizeof(all), &all);
	/* Each sets its own as it begins. */
	while (threads_that_differ() || (CPU_COUNT(&all) > 1 && named_threads_on_one_cpu()))
		usleep(1000);
	return 0;
}

/* Return: 0 when QDo says that it cannot go on, and ends the process. */
static int fences_are_refused(void)
{
	char said[256] = "";
	int pipes[2], status = 0;
	ssize_t length;
	pid_t child;

	if (pipe(pipes))
		return 2;
	child = fork();
	if (!child) {
		alarm(HANG_LIMIT_S);
		dup2(pipes[1], STDERR_FILENO);
		qdo_request(qdo_default(), read_bp, NULL, NULL, NULL);
		await(&done);
		deny(SYS_membarrier);
		deny(SYS_sched_setaffinity);
		qdo_request(qdo_default(), read_bp, NULL, NULL, NULL);
		await(&done);
		_exit(0);
	}
	close(pipes[1]);
	length = read(pipes[0], said, sizeof(said) - 1);
	waitpid(child, &status, 0);
	return length <= 0 || !strstr(said, "no barrier can be forced") || !WIFSIGNALED(status) ||
	       WTERMSIG(status) != SIGABRT;
}

#define CASE(name)          \
	{                   \
#name, name \
	}

int main(int arguments, char **argument)
{
	static const struct {
		const char *name;
		int (*body)(void);
	} cases[] = {
		CASE(tables_grow),
		CASE(callbacks_read_in_another_flavour),
		CASE(cancelled_while_signals_are_refused),
		CASE(threads_inherit_nothing),
		CASE(fences_are_refused),
	};
	size_t i;

	sem_init(&done, 0, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (arguments == 1)
			printf("%s\n", cases[i].name);
		if (arguments != 2 || strcmp(argument[1], cases[i].name))
			continue;
		alarm(HANG_LIMIT_S);
		return cases[i].body();
	}
	return arguments != 1;
}
