// SPDX-License-Identifier: MIT
/*
 * Workers of their own kind: real-time ones, whose callers make no system call, and tuned ones,
 * which wait for more callbacks. Paper: T 6.4.5, 6.5.3.
 */
#define _GNU_SOURCE
#include "call_test.h"
#include "domain.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

#define CALLS 50000
#define ALMOST_ASLEEP 10000
#define SPIN_LOOKS 1000
#define SOON_LOOKS 100000

static volatile char dispatch; /* 0: the kernel runs system calls, 1: it sends SIGSYS instead */
static volatile unsigned long system_calls;

/* Counts a system call, then makes it. */
static void on_system_call(int number, siginfo_t *info, void *context)
{
#ifdef __x86_64__
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
#endif

	(void)number;
	(void)info;
	(void)context;
	dispatch = 0; /* the return from here is a system call too */
	system_calls++;
#ifdef __x86_64__
	registers[REG_RAX] = syscall(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI],
				     registers[REG_RDX], registers[REG_R10], registers[REG_R8],
				     registers[REG_R9]);
#endif
}

static void nothing(struct rcu_head *head)
{
	(void)head;
}

struct calls {
	struct rcu_head *heads;
	unsigned long count;
	unsigned long flags; /* of the workers */
	int counts; /* not 0: this machine can count system calls */
};

static int is_idle(const struct call_rcu_data *worker, unsigned long flags)
{
	uint32_t state = __atomic_load_n(&worker->state, __ATOMIC_ACQUIRE);

	return flags & CALL_RCU_RT ? state != CALL_AWAKE : state == CALL_ASLEEP;
}

/* Waits until the workers of all CPUs sleep. */
static void until_idle(unsigned long flags)
{
	struct call_rcu_data *worker;
	int cpu, i;

	for (cpu = 0; (worker = get_cpu_call_rcu_data(domain, cpu)) != NULL; cpu++)
		for (i = 0; i < 60000 && !is_idle(worker, flags); i++)
			moment();
}

/* Queues a callback while each system call raises SIGSYS. */
static void *call_counting(void *argument)
{
	struct calls *calls = argument;
	unsigned long i;

	rcu_domain_call(domain, &calls->heads[0], nothing); /* once: lanes are assigned */
	until_idle(calls->flags);
	system_calls = 0;
#ifdef __x86_64__
	calls->counts = !prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &dispatch);
#endif
	for (i = 1; i < calls->count; i++) {
		dispatch = 1;
		rcu_domain_call(domain, &calls->heads[i], nothing);
		dispatch = 0;
	}
	if (calls->counts)
		prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0L, 0L, 0L);
	return NULL;
}

/* Return: system calls of callers while every CPU had a worker of these flags; -1: unknown. */
static long count_system_calls(unsigned long flags, unsigned long count)
{
	struct calls calls = { calloc(count, sizeof(struct rcu_head)), count, flags, 0 };
	struct sigaction action = { .sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	if (create_all_cpu_call_rcu_data(domain, flags))
		return -1;
	pthread_join(start(call_counting, &calls), NULL);
	rcu_domain_barrier(domain);
	free_all_cpu_call_rcu_data(domain);
	free(calls.heads);
	return calls.counts ? (long)system_calls : -1;
}

static void real_time(void)
{
	static const char name[] = "callers_of_real_time_workers_make_no_system_call";
	long by_timer = count_system_calls(CALL_RCU_RT, CALLS);
	struct call_rcu_data *worker;
	unsigned long count = 0;

	if (by_timer < 0)
		left_out(name, "system calls cannot be counted here");
	else
		named(by_timer == 0, name);
	worker = create_call_rcu_data(domain, CALL_RCU_RT, -1);
	set_thread_call_rcu_data(domain, worker);
	call_counted(&count);
	named(comes_to(&count, 1), "a_real_time_worker_wakes_by_itself");
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(worker);
}

/* Shows that the count of the case above can be other than 0. */
static void control(void)
{
	static const char name[] = "callers_of_other_workers_wake_them";
	long by_callers = count_system_calls(0, CALLS);

	if (by_callers < 0)
		left_out(name, "system calls cannot be counted here");
	else
		named(by_callers > 0, name);
}

static struct call_rcu_data *tuned(unsigned long batch_min_count, unsigned long delay_max_us)
{
	struct call_rcu_tuning tuning = { batch_min_count, delay_max_us };
	struct call_rcu_data *worker = create_call_rcu_data(domain, 0, -1);

	call_rcu_data_tune(worker, &tuning);
	set_thread_call_rcu_data(domain, worker);
	return worker;
}

static void untuned(struct call_rcu_data *worker)
{
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(worker);
}

static void tuning(void)
{
	struct call_rcu_tuning at_once = { 0, 0 };
	struct call_rcu_data *worker = tuned(100, 3600000000UL);
	unsigned long count = 0;
	int i;

	for (i = 0; i < 99; i++)
		call_counted(&count);
	for (i = 0; i < 50; i++)
		moment();
	named(counted(&count) == 0, "a_tuned_worker_waits_for_its_batch");
	call_counted(&count);
	named(comes_to(&count, 100), "a_tuned_worker_begins_when_its_batch_is_full");
	call_counted(&count);
	call_rcu_data_tune(worker, &at_once);
	named(comes_to(&count, 101), "a_worker_that_waits_begins_when_it_is_tuned");
	untuned(worker);

	worker = tuned(~0UL, 2000);
	call_counted(&count);
	named(comes_to(&count, 102), "a_tuned_worker_waits_no_longer_than_its_delay");
	untuned(worker);

	worker = tuned(~0UL, 0);
	call_counted(&count);
	named(comes_to(&count, 103), "without_a_delay_a_worker_waits_for_no_batch");
	untuned(worker);
}

/* Threads that begin one after the other get a lane each. */
static void tuning_of_all_lanes(void)
{
	struct caller caller = { .worker = tuned(CALL_LANES, 3600000000UL) };
	int i;

	for (i = 0; i < CALL_LANES; i++)
		pthread_join(start(call_once, &caller), NULL);
	named(comes_to(&caller.count, CALL_LANES),
	      "a_tuned_worker_counts_what_comes_in_every_lane");
	untuned(caller.worker);
}

/* Each callback is queued when its worker, which does not rest, is about to sleep. */
static void falling_asleep(void)
{
	struct call_rcu_data *worker = tuned(0, 0);
	unsigned long count = 0, made = 0, looks;
	int late = 0;

	while (made < ALMOST_ASLEEP && !late) {
		call_counted(&count);
		made++;
		for (looks = 0; counted(&count) < made && looks < SOON_LOOKS; looks++)
			if (looks > SPIN_LOOKS)
				sched_yield();
		for (looks = 0; looks < made % 32; looks++)
			lull_relax();
		late = !comes_to(&count, made);
	}
	named(!late, "a_worker_that_falls_asleep_overlooks_nothing");
	rcu_domain_barrier(domain);
	untuned(worker);
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS; i++) {
		domain = test_domains[i];
		if (!TEST_SANITIZES_THREADS) { /* the sanitizer makes system calls of its own */
			real_time();
			control();
		}
		tuning();
		tuning_of_all_lanes();
		falling_asleep();
	}
	return sums();
}
