// SPDX-License-Identifier: MIT
/*
 * What the library says to misuse before it ends the process. Each test has a process of its own.
 *
 * Paper: T 6.4.4.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actor_test.h"

static void registers_twice(void)
{
	flavour->register_thread();
	flavour->register_thread();
}

static void waits_within(void)
{
	flavour->register_thread();
	flavour->enter();
	rcu_domain_synchronize(flavour->domain);
}

static void waits_within_expedited(void)
{
	flavour->register_thread();
	flavour->enter();
	rcu_domain_synchronize_expedited(flavour->domain);
}

static void unregisters_within(void)
{
	flavour->register_thread();
	flavour->enter();
	flavour->unregister_thread();
}

static void unregisters_twice(void)
{
	flavour->register_thread();
	flavour->unregister_thread();
	flavour->unregister_thread();
}

static void ends_registered(void)
{
	rcu_domain_register(flavour->domain, flavour->self(), 1);
	pthread_exit(NULL);
}

/* What a process says on standard error before it aborts. Return: 0 when it is @text. */
static int says(const struct flavour *which, void (*misuse)(void), const char *text)
{
	char wanted[256], said[256] = { 0 };
	int pipes[2], status = -1;
	ssize_t length;
	pid_t child;

	flavour = which;
	if (pipe(pipes))
		return 1;
	child = fork();
	if (!child) {
		const struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		dup2(pipes[1], STDERR_FILENO);
		misuse();
		_exit(0);
	}
	close(pipes[1]);
	waitpid(child, &status, 0);
	length = read(pipes[0], said, sizeof(said) - 1);
	close(pipes[0]);
	snprintf(wanted, sizeof(wanted), "lull-rcu (%s): thread %d: %s\n",
		 rcu_domain_name(which->domain), child, text);
	if (length < 0 || strcmp(said, wanted))
		printf("  it says: %s", said);
	CHECK(length >= 0 && !strcmp(said, wanted));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	return 0;
}

static int misuse_is_told_and_ends_the_process(void)
{
	static const char waits[] = "waits for a grace period within a read-side critical section: "
				    "it would wait for itself";
	unsigned int i;

	for (i = 0; i < 4; i++) {
		CHECK(!says(flavours[i], registers_twice, "registers twice"));
		CHECK(!says(flavours[i], unregisters_twice, "unregisters, but is not registered"));
		CHECK(!says(flavours[i], ends_registered, "ends without rcu_unregister_thread()"));
	}
	for (i = 1; i < 5; i++) {
		CHECK(!says(flavours[i], waits_within, waits));
		CHECK(!says(flavours[i], waits_within_expedited, waits));
		CHECK(!says(flavours[i], unregisters_within,
			    "unregisters within a read-side critical section"));
	}
	return 0;
}

int main(void)
{
	flavour = &mb_flavour; /* each child chooses its own */
	RUN(misuse_is_told_and_ends_the_process);
	return sums();
}
