// SPDX-License-Identifier: MIT
/*
 * call_rcu() on every flavour: when callbacks are called, in which order, from where they may be
 * queued, and which worker gets them. Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "call_test.h"

#include <errno.h>
#include <sched.h>

#define ORDERED 20000UL

struct watched {
	struct rcu_head head;
	unsigned long *left;
	unsigned long seen_left, called;
};

static void watch(struct rcu_head *head)
{
	struct watched *watched = (struct watched *)head;

	watched->seen_left = counted(watched->left);
	__atomic_store_n(&watched->called, 1, __ATOMIC_RELEASE);
}

static void grace(void)
{
	struct section section = { 0 };
	struct watched watched = { .left = &section.left };
	pthread_t reader = start(read_until_told, &section);
	int i;

	comes_to(&section.entered, 1);
	rcu_domain_call(domain, &watched.head, watch);
	for (i = 0; i < 20; i++)
		moment();
	__atomic_store_n(&section.leave, 1, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	rcu_domain_barrier(domain);
	named(watched.called && watched.seen_left, "a_callback_comes_after_the_sections_before_it");
}

struct ordered {
	struct rcu_head head;
	unsigned long number;
	unsigned long *expected, *wrong;
};

static void expect(struct rcu_head *head)
{
	struct ordered *ordered = (struct ordered *)head;

	*ordered->wrong += ordered->number != *ordered->expected;
	*ordered->expected = ordered->number + 1;
}

struct sequence {
	struct ordered *objects;
	unsigned long expected, wrong;
};

static void *call_in_order(void *argument)
{
	struct sequence *sequence = argument;
	unsigned long i;

	for (i = 0; i < ORDERED; i++) {
		sequence->objects[i] = (struct ordered){ .number = i,
							 .expected = &sequence->expected,
							 .wrong = &sequence->wrong };
		rcu_domain_call(domain, &sequence->objects[i].head, expect);
	}
	return NULL;
}

static void order(void)
{
	struct sequence sequences[3] = { { 0 } };
	pthread_t threads[3];
	unsigned long wrong = 0, called = 0;
	int i;

	for (i = 0; i < 3; i++) {
		sequences[i].objects = malloc(ORDERED * sizeof(struct ordered));
		threads[i] = start(call_in_order, &sequences[i]);
	}
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	rcu_domain_barrier(domain);
	for (i = 0; i < 3; i++) {
		wrong += sequences[i].wrong;
		called += sequences[i].expected;
		free(sequences[i].objects);
	}
	named(!wrong && called == 3 * ORDERED, "callbacks_of_one_thread_keep_their_order");
}

static void contexts(void)
{
	unsigned long count = 0;

	call_counted(&count); /* not registered */
	reader_register();
	call_counted(&count);
	section_enter();
	call_counted(&count); /* within a section */
	section_leave();
	if (domain == &rcu_qsbr_domain) {
		rcu_reader_offline(domain, rcu_domain_self(domain));
		call_counted(&count);
		rcu_reader_online(domain, rcu_domain_self(domain));
	} else {
		call_counted(&count);
	}
	rcu_domain_barrier(domain);
	named(rcu_reader_ongoing(rcu_domain_self(domain)) == (domain == &rcu_qsbr_domain),
	      "a_barrier_leaves_the_caller_online_or_offline_as_it_was");
	reader_unregister();
	named(count == 4, "a_callback_may_be_queued_registered_or_not_within_a_section_or_not");
}

struct chained {
	struct rcu_head head;
	unsigned long left, *count;
};

static void call_again(struct rcu_head *head)
{
	struct chained *chained = (struct chained *)head;

	section_enter();
	section_leave();
	if (chained->left--)
		rcu_domain_call(domain, head, call_again);
	else
		__atomic_store_n(chained->count, 1, __ATOMIC_RELEASE);
}

static void callbacks_of_callbacks(void)
{
	unsigned long count = 0;
	struct chained chained = { .left = 20, .count = &count };

	rcu_domain_call(domain, &chained.head, call_again);
	named(comes_to(&count, 1), "a_callback_may_read_and_call_again");
}

struct seen {
	struct rcu_head head;
	char name[16];
	sigset_t blocked;
	pthread_t thread;
	cpu_set_t cpus;
	int registered, reading;
};

static void look(struct rcu_head *head)
{
	struct seen *seen = (struct seen *)head;

	seen->thread = pthread_self();
	pthread_getname_np(seen->thread, seen->name, sizeof(seen->name));
	pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
	sched_getaffinity(0, sizeof(seen->cpus), &seen->cpus);
	seen->registered = rcu_domain_self(domain)->registered != 0;
	seen->reading = rcu_reader_ongoing(rcu_domain_self(domain));
}

static void threads_of_workers(void)
{
	struct call_rcu_data *standby = get_default_call_rcu_data(domain), *worker;
	struct seen seen;
	pthread_t thread;
	char name[32];
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };
	int signal, unblocked = 0;
	size_t i;

	rcu_domain_call(domain, &seen.head, look);
	rcu_domain_barrier(domain);
	snprintf(name, sizeof(name), "rcu-%s", rcu_domain_name(domain));
	named(!strcmp(seen.name, name), "a_worker_is_named_after_its_flavour");
	for (signal = 1; signal < SIGRTMIN; signal++)
		if (signal != SIGKILL && signal != SIGSTOP && signal < 32)
			unblocked += !sigismember(&seen.blocked, signal);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		unblocked -= !sigismember(&seen.blocked, faults[i]);
	named(!unblocked, "signals_are_blocked_in_workers_but_those_of_faults");
	named(!sigismember(&seen.blocked, SIGRTMAX - 1), "a_worker_answers_for_any_flavour");
	named(seen.registered && seen.reading == (domain == &rcu_qsbr_domain),
	      "a_worker_is_a_registered_reader_and_online_when_it_calls");
	named(call_rcu_data_thread(standby, &thread) == 0 && pthread_equal(thread, seen.thread),
	      "the_library_tells_the_thread_of_a_worker");
	named(get_call_rcu_data(domain) == standby && !get_thread_call_rcu_data(domain) &&
		      !get_cpu_call_rcu_data(domain, 0),
	      "the_default_worker_serves_threads_without_another");

	worker = create_call_rcu_data(domain, 0, 1);
	set_thread_call_rcu_data(domain, worker);
	rcu_domain_call(domain, &seen.head, look);
	rcu_domain_barrier(domain);
	snprintf(name, sizeof(name), "rcu-%s/1", rcu_domain_name(domain));
	named(!strcmp(seen.name, name) && call_rcu_data_thread(worker, &thread) == 0 &&
		      pthread_equal(thread, seen.thread) && get_call_rcu_data(domain) == worker,
	      "a_thread_may_have_a_worker_of_its_own");
	named(sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
		      (CPU_COUNT(&seen.cpus) == 1 && CPU_ISSET(1, &seen.cpus)),
	      "a_worker_runs_where_it_was_asked_to");
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(worker);
	named(call_rcu_data_thread(worker, &thread) == -ESRCH, "a_freed_worker_has_no_thread");
}

static void workers_of_cpus(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), cpu, missing = 0;
	struct call_rcu_data *worker, *last;
	unsigned long count = 0;
	pthread_t thread;

	errno = 77;
	worker = create_call_rcu_data(domain, 0, -1);
	named(worker && errno == 77, "to_make_a_worker_leaves_errno_alone");
	named(set_cpu_call_rcu_data(domain, 0, worker) == 0 &&
		      get_cpu_call_rcu_data(domain, 0) == worker &&
		      set_cpu_call_rcu_data(domain, 0, worker) == -EEXIST &&
		      set_cpu_call_rcu_data(domain, 0, NULL) == 0 &&
		      !get_cpu_call_rcu_data(domain, 0),
	      "a_cpu_gets_a_worker_once_until_it_is_taken_away");
	named(set_cpu_call_rcu_data(domain, cpus, worker) == -EINVAL &&
		      set_cpu_call_rcu_data(domain, -1, worker) == -EINVAL &&
		      !get_cpu_call_rcu_data(domain, cpus) && !get_cpu_call_rcu_data(domain, -1),
	      "a_cpu_that_is_not_there_gets_none");
	set_cpu_call_rcu_data(domain, 0, worker);
	named(create_all_cpu_call_rcu_data(domain, 0) == 0 &&
		      get_cpu_call_rcu_data(domain, 0) == worker,
	      "a_cpu_that_has_a_worker_keeps_it");
	for (cpu = 0; cpu < cpus; cpu++)
		missing += !get_cpu_call_rcu_data(domain, cpu);
	named(!missing && get_call_rcu_data(domain) != get_default_call_rcu_data(domain),
	      "every_cpu_gets_a_worker");
	for (cpu = 0; cpu < 1000; cpu++)
		call_counted(&count);
	rcu_domain_barrier(domain);
	named(count == 1000, "callbacks_of_cpus_are_called");
	last = get_cpu_call_rcu_data(domain, cpus - 1);
	free_all_cpu_call_rcu_data(domain);
	named(call_rcu_data_thread(worker, &thread) == -ESRCH &&
		      call_rcu_data_thread(last, &thread) == -ESRCH,
	      "workers_of_cpus_end_when_all_are_freed");
	for (cpu = 0; cpu < cpus; cpu++)
		missing += get_cpu_call_rcu_data(domain, cpu) != NULL;
	named(!missing, "no_cpu_has_a_worker_after_all_were_freed");
	errno = 0;
	named(!create_call_rcu_data(domain, 2, -1) && errno == EINVAL, "unknown_flags_are_refused");
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS; i++) {
		domain = test_domains[i];
		grace();
		order();
		contexts();
		callbacks_of_callbacks();
		threads_of_workers();
		workers_of_cpus();
	}
	return sums();
}
