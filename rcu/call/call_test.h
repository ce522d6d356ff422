/* SPDX-License-Identifier: MIT */
/*
 * What the tests of this folder share: counting checks, objects whose callbacks check themselves,
 * waiting. All run on each flavour, by its domain. Paper: T 6.4.5.
 */
#ifndef LULL_CALL_TEST_H
#define LULL_CALL_TEST_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../check/test.h"
#include "lull/rcu/call.h"
#include "lull/rcu/defer.h"

static struct rcu_domain *domain; /* the flavour that is tested now */

static inline void named(int condition, const char *name)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", rcu_domain_name(domain), name);
	check(condition, text);
}

/* Prints the name of a case that cannot be tested on this machine. */
static inline void left_out(const char *name, const char *reason)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", rcu_domain_name(domain), name);
	skip(text, reason);
}

/*
 * Under sanitizers, the tests leave out what those cannot do. The thread sanitizer holds signals
 * back while a thread waits by a system call of its own, so the signal flavour's grace periods do
 * not end, and does not know threads of a forked child. The address sanitizer's allocator may be
 * locked for ever in a child, when another thread allocated during the fork.
 */
#if defined(__SANITIZE_THREAD__)
#define TEST_SANITIZES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_SANITIZES_THREADS 1
#endif
#endif
#ifndef TEST_SANITIZES_THREADS
#define TEST_SANITIZES_THREADS 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZES_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_SANITIZES_ADDRESSES 1
#endif
#endif
#ifndef TEST_SANITIZES_ADDRESSES
#define TEST_SANITIZES_ADDRESSES 0
#endif

static struct rcu_domain *const test_domains[] = {
	&rcu_qsbr_domain,   &rcu_mb_domain, &rcu_memb_domain, &rcu_bp_domain,
#if !TEST_SANITIZES_THREADS
	&rcu_signal_domain,
#endif
};

#define TEST_DOMAINS (sizeof(test_domains) / sizeof(test_domains[0]))

/* An object that counts its callback. */
struct counted {
	struct rcu_head head;
	unsigned long *count;
};

static inline void count_and_free(struct rcu_head *head)
{
	struct counted *object = (struct counted *)head;

	__atomic_add_fetch(object->count, 1, __ATOMIC_RELAXED);
	free(object);
}

static inline void call_counted(unsigned long *count)
{
	struct counted *object = malloc(sizeof(*object));

	if (!object)
		abort();
	object->count = count;
	rcu_domain_call(domain, &object->head, count_and_free);
}

/* A thread's part: one callback, by a worker of its choice. */
struct caller {
	struct call_rcu_data *worker;
	unsigned long count;
};

static inline void *call_once(void *argument)
{
	struct caller *caller = argument;

	set_thread_call_rcu_data(domain, caller->worker);
	call_counted(&caller->count);
	return NULL;
}

static inline unsigned long counted(const unsigned long *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static inline void moment(void)
{
	struct timespec duration = { 0, 1000000 };

	nanosleep(&duration, NULL);
}

/* Waits until a count is reached; a test that fails ends here, after a minute. */
static inline int comes_to(const unsigned long *count, unsigned long wanted)
{
	int i;

	for (i = 0; i < 60000 && counted(count) < wanted; i++)
		moment();
	return counted(count) >= wanted;
}

static inline pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument))
		abort();
	return thread;
}

/* The read side of the tested flavour, by its domain: the inline functions' names differ. */
static inline void reader_register(void)
{
	rcu_domain_register(domain, rcu_domain_self(domain), 0);
}

static inline void reader_unregister(void)
{
	rcu_domain_unregister(domain, rcu_domain_self(domain));
}

static inline void section_enter(void)
{
	if (domain != &rcu_qsbr_domain)
		rcu_reader_enter_full(domain, rcu_domain_self(domain));
}

static inline void section_leave(void)
{
	if (domain != &rcu_qsbr_domain)
		rcu_reader_leave_full(domain, rcu_domain_self(domain));
	else
		rcu_reader_quiescent(domain, rcu_domain_self(domain));
}

/* A reader in a section, until it is told to leave. */
struct section {
	unsigned long entered, leave, left;
};

static inline void *read_until_told(void *argument)
{
	struct section *section = argument;

	reader_register();
	section_enter();
	__atomic_store_n(&section->entered, 1, __ATOMIC_RELEASE);
	comes_to(&section->leave, 1);
	__atomic_store_n(&section->left, 1, __ATOMIC_RELEASE);
	section_leave();
	reader_unregister();
	return NULL;
}

/* As a program does it: with bp there is nothing to do. */
static inline pid_t fork_with_callbacks(void)
{
	pid_t child;

	if (domain == &rcu_bp_domain)
		return fork();
	call_rcu_before_fork(domain);
	child = fork();
	if (child)
		call_rcu_after_fork_parent(domain);
	else
		call_rcu_after_fork_child(domain);
	return child;
}

/* Misuses the library in a child. Return: whether the library said so and aborted the child. */
static inline int is_refused(void (*misuse)(void), const char *message)
{
	char text[512] = "";
	ssize_t length;
	int ends[2], status;
	pid_t child;

	if (pipe(ends))
		return 0;
	child = fork();
	if (child == 0) {
		alarm(60);
		dup2(ends[1], STDERR_FILENO);
		misuse();
		_exit(0);
	}
	close(ends[1]);
	length = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	waitpid(child, &status, 0);
	return length > 0 && strstr(text, message) && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT;
}

#endif
