// SPDX-License-Identifier: MIT
/*
 * Threads as readers: registration, and what happens when one ends.
 *
 * A reader lives in its thread's memory, which is gone when the thread is, so a thread that
 * ends is unregistered whether it asked for it or not. That is done by a destructor of
 * thread-specific data, after which other destructors and signal handlers may still read: from then
 * on the thread is a visitor, which a self-registering domain knows only while it is in a section.
 * Paper: T 6.4.4 (registry).
 */
#define _GNU_SOURCE
#include "domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct rcu_reader's registered */
#define REGISTERED 1u
#define REGISTERED_DEBUG 2u /* a thread that ends registered is a mistake of the program's */

static pthread_key_t at_exit;
/* Not 0: the thread's end would not be seen, or has been: it does not stay registered. */
static __thread int unwatched RCU_READER_TLS;

_Noreturn void rcu_misuse(const char *flavour, int thread, const char *what)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "lull-rcu (%s): thread %d: %s\n", flavour,
			      thread ? thread : (int)syscall(SYS_gettid), what);

	if (write(STDERR_FILENO, text, (size_t)length) < 0)
		abort(); /* nobody reads it: the same end */
	abort();
}

static struct rcu_domain *domain_of(const struct rcu_reader *reader)
{
	int i;

	for (i = 0; i < RCU_DOMAINS - 1; i++)
		if (rcu_domain_self(rcu_domains[i]) == reader)
			break;
	return rcu_domains[i];
}

void rcu_domain_misuse(const struct rcu_reader *reader, const char *what)
{
	rcu_misuse(rcu_domain_name(domain_of(reader)), reader->tid, what);
}

/* Return: not 0 if the end of the thread will unregister it. */
static int watch_end(void)
{
	if (!unwatched && pthread_setspecific(at_exit, &at_exit))
		unwatched = 1;
	return !unwatched;
}

int rcu_thread_ends(void)
{
	return unwatched;
}

static void add(struct rcu_domain *domain, struct rcu_reader *reader, int debug)
{
	struct rcu_grace *grace = domain->grace;

	if (reader->registered) {
		if (!domain->self_registering)
			rcu_domain_misuse(reader, "registers twice");
		return;
	}
	reader->tid = (int32_t)syscall(SYS_gettid);
	reader->registered = debug ? REGISTERED_DEBUG : REGISTERED;
	lull_mem_store(&reader->word, 0);
	rcu_grace_link(grace, reader, domain->kind == RCU_KIND_QSBR);
}

static void drop(struct rcu_domain *domain, struct rcu_reader *reader)
{
	struct rcu_grace *grace = domain->grace;

	if (!reader->registered) {
		if (!domain->self_registering)
			rcu_domain_misuse(reader, "unregisters, but is not registered");
		return;
	}
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_offline(domain, reader);
	else if (rcu_reader_ongoing(reader))
		rcu_domain_misuse(reader, "unregisters within a read-side critical section");
	rcu_grace_unlink(grace, reader);
	reader->registered = 0;
	lull_mem_store(&reader->word, domain->self_registering ? RCU_UNREGISTERED : 0);
}

/*
 * Handlers of a self-registering flavour may read, and so register, at any point: they wait
 * until the registration that they interrupt, or its end, is done. All but the barrier's: the
 * thread that holds the lock may be waiting for the answer of this one.
 */
static void hold_handlers(sigset_t *before)
{
	sigset_t held;

	sigfillset(&held);
	sigdelset(&held, RCU_BARRIER_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &held, before);
}

void rcu_domain_register(struct rcu_domain *domain, struct rcu_reader *reader, int debug)
{
	sigset_t before;

	if (!domain->self_registering) {
		/* In destructors too: the next pass finds what one forgets. */
		pthread_setspecific(at_exit, &at_exit);
		add(domain, reader, debug);
		return;
	}
	hold_handlers(&before);
	if (watch_end())
		add(domain, reader, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void rcu_domain_arrive(struct rcu_domain *domain, struct rcu_reader *reader)
{
	sigset_t before;

	hold_handlers(&before);
	if (watch_end()) {
		add(domain, reader, 0);
	} else {
		reader->tid = (int32_t)syscall(SYS_gettid);
		reader->registered = RCU_VISITOR;
		rcu_grace_link_visitor(domain->grace, reader);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int rcu_visit_begin(struct rcu_domain *domain)
{
	struct rcu_reader *reader = rcu_domain_self(domain);
	sigset_t before;
	int visits;

	if (reader->registered)
		return 0;
	hold_handlers(&before);
	visits = !reader->registered; /* a handler may have read */
	if (visits) {
		watch_end();
		add(domain, reader, 0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return visits;
}

void rcu_visit_end(struct rcu_domain *domain, int visits)
{
	if (visits)
		rcu_domain_unregister(domain, rcu_domain_self(domain));
}

void rcu_domain_unregister(struct rcu_domain *domain, struct rcu_reader *reader)
{
	sigset_t before;

	if (!domain->self_registering) {
		drop(domain, reader);
		return;
	}
	hold_handlers(&before);
	drop(domain, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void thread_exit(void *unused)
{
	int i;

	(void)unused;
	unwatched = 1; /* first: a handler that reads from here on visits */
	for (i = 0; i < RCU_DOMAINS; i++) {
		struct rcu_reader *reader = rcu_domain_self(rcu_domains[i]);

		if (!reader->registered)
			continue;
		if (reader->registered == REGISTERED_DEBUG)
			rcu_domain_misuse(reader, "ends without rcu_unregister_thread()");
		/* A section that a cancelled thread did not leave ends with it: [grace.leave:A]. */
		rcu_annotate_release(&reader->word);
		if (rcu_domains[i]->kind != RCU_KIND_QSBR)
			lull_mem_store_release(&reader->word, 0);
		rcu_domain_unregister(rcu_domains[i], reader);
	}
}

void rcu_thread_start(void)
{
	int saved = errno;
	int error = pthread_key_create(&at_exit, thread_exit);

	if (!error)
		error = rcu_fork_start();
	if (error) {
		fprintf(stderr, "lull-rcu: cannot follow threads and forks: %s\n", strerror(error));
		abort();
	}
	errno = saved;
}
