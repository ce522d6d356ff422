// SPDX-License-Identifier: MIT
/*
 * Workers begin and end: threads, spares, hand-over to the default worker.
 *
 * Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Signals are for the program's threads, but for the one by which the signal flavour, and the
 * others where there is no membarrier, reach their readers.
 */
void lull_call_block_signals(const struct rcu_domain *domain, sigset_t *before)
{
	sigset_t blocked;

	sigfillset(&blocked);
	if (domain != &rcu_qsbr_domain && domain != &rcu_mb_domain)
		sigdelset(&blocked, RCU_BARRIER_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &blocked, before);
}

/*
 * Where a worker runs: on its CPU; else wherever the process's first thread may. What it would
 * have otherwise is the CPUs of the thread that happened to start it, which may be pinned.
 * Neither is worth a failure: a CPU may be off line.
 */
static void set_cpus(const struct call_rcu_data *worker)
{
	cpu_set_t *cpus = CPU_ALLOC(CALL_CPUS);
	size_t bytes = CPU_ALLOC_SIZE(CALL_CPUS);

	if (!cpus)
		return;
	CPU_ZERO_S(bytes, cpus);
	if (worker->cpu >= 0)
		CPU_SET_S((size_t)worker->cpu, bytes, cpus);
	if (worker->cpu >= 0 || !sched_getaffinity(getpid(), bytes, cpus))
		pthread_setaffinity_np(worker->thread, bytes, cpus);
	CPU_FREE(cpus);
}

int lull_worker_start_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	sigset_t before;
	int error;

	worker->calls = calls;
	__atomic_store_n(&worker->state, CALL_AWAKE, __ATOMIC_RELAXED); /* it looks by itself */
	lull_call_block_signals(calls->domain, &before);
	error = pthread_create(&worker->thread, NULL, lull_worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) /* who queued meanwhile and saw AWAKE waits for the next caller */
		__atomic_store_n(&worker->state, CALL_THREADLESS, __ATOMIC_RELAXED);
	else
		set_cpus(worker);
	return -error;
}

/* Says so once: what was queued waits for the next caller, who tries again. */
static void complain(const struct rcu_domain *domain, int error)
{
	static int complained;
	char reason[128];

	if (__atomic_exchange_n(&complained, 1, __ATOMIC_RELAXED))
		return;
	fprintf(stderr,
		"lull-rcu (%s): the thread that calls callbacks cannot be started: %s. They are "
		"kept; each call_rcu() and rcu_barrier() tries again.\n",
		rcu_domain_name(domain), strerror_r(-error, reason, sizeof(reason)));
}

int lull_worker_need_locked(struct call_domain *calls)
{
	struct call_rcu_data *standby = &calls->standby;
	int error;

	if (__atomic_load_n(&standby->state, __ATOMIC_RELAXED) != CALL_THREADLESS)
		return 0;
	error = lull_worker_start_locked(calls, standby);
	if (error)
		complain(calls->domain, error);
	return error;
}

/* Starts the default worker unless it runs. Return: 0 or a negative errno. */
int lull_worker_need(struct call_domain *calls)
{
	int error;

	lull_call_follow_forks(calls);
	lull_lock_take(&calls->lock);
	error = lull_worker_need_locked(calls);
	lull_lock_release(&calls->lock);
	return error;
}

static int move(struct call_chain *chain, struct call_lane *lane)
{
	if (!chain->first)
		return 0;
	lull_lane_put(lane, chain->first, chain->until);
	chain->first = NULL;
	return 1;
}

/* Moves what is left in a worker without a thread to the default worker, in its order. */
void lull_worker_hand_over_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	struct call_rcu_data *standby = &calls->standby;
	struct call_chain chain;
	int i, moved = 0;

	worker->holds = 0;
	for (i = 0; i < CALL_LANES; i++) {
		struct call_lane *lane = &standby->lanes[i];

		moved |= move(&worker->batch[i], lane) | move(&worker->held[i], lane);
		if (lull_lane_take(&worker->lanes[i], &chain))
			moved |= move(&chain, lane);
	}
	if (!moved)
		return;
	lull_worker_need_locked(calls);
	lull_worker_rouse(standby);
}

static void forget_cpu_locked(struct call_domain *calls, const struct call_rcu_data *worker)
{
	unsigned int i;

	for (i = 0; calls->cpu_workers && i < calls->cpu_count; i++)
		if (calls->cpu_workers[i] == worker)
			__atomic_store_n(&calls->cpu_workers[i], NULL, __ATOMIC_RELAXED);
}

/* A worker whose thread has ended becomes a spare. */
void lull_worker_retire_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	struct call_rcu_data **place = &calls->workers;

	while (*place != worker)
		place = &(*place)->next;
	*place = worker->next;
	forget_cpu_locked(calls, worker);
	/*
	 * [call.retire:A] full. Pairs with [call.put:A].
	 * Orders: RETIRED before the last look at tails.
	 * Else: a callback that comes now is called by nobody.
	 */
	__atomic_store_n(&worker->state, CALL_RETIRED, __ATOMIC_SEQ_CST);
	lull_worker_hand_over_locked(calls, worker);
	worker->next = calls->spares;
	calls->spares = worker;
}

static struct call_rcu_data *new_worker_locked(struct call_domain *calls)
{
	struct call_rcu_data *worker = calls->spares;

	if (worker) {
		calls->spares = worker->next;
		return worker;
	}
	worker = aligned_alloc(64, sizeof(*worker));
	if (worker)
		memset(worker, 0, sizeof(*worker));
	return worker;
}

struct call_rcu_data *create_call_rcu_data(struct rcu_domain *domain, unsigned long flags, int cpu)
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker;
	int error = -ENOMEM;

	if ((flags & ~CALL_RCU_RT) || cpu >= CALL_CPUS) {
		errno = EINVAL;
		return NULL;
	}
	lull_call_follow_forks(calls);
	lull_lock_take(&calls->lock);
	worker = new_worker_locked(calls);
	if (worker) {
		worker->flags = (uint32_t)flags;
		worker->cpu = cpu < 0 ? -1 : cpu;
		worker->stop = worker->hurry = worker->tuned = 0;
		worker->tuning = (struct call_rcu_tuning){ 0 };
		worker->next = calls->workers;
		calls->workers = worker;
		error = lull_worker_start_locked(calls, worker);
		if (error)
			lull_worker_retire_locked(calls, worker);
	}
	lull_lock_release(&calls->lock);
	if (error)
		errno = -error;
	return error ? NULL : worker;
}

/* Asks a worker to end. Return: 0 if it was asked before. */
static int stop(struct call_domain *calls, struct call_rcu_data *worker)
{
	int first;

	lull_lock_take(&calls->lock);
	first = !worker->stop && __atomic_load_n(&worker->state, __ATOMIC_RELAXED) != CALL_RETIRED;
	if (first) {
		forget_cpu_locked(calls, worker);
		/* before the look of [call.stop:A], and before pause: [call.resume:A] */
		__atomic_store_n(&worker->stop, 1, __ATOMIC_SEQ_CST);
		lull_worker_rouse(worker);
		__atomic_add_fetch(&calls->pause, CALL_PAUSE_EVENT, __ATOMIC_SEQ_CST);
		lull_futex_wake(&calls->pause, INT_MAX);
	}
	lull_lock_release(&calls->lock);
	return first;
}

void call_rcu_data_free(struct call_rcu_data *worker)
{
	struct call_domain *calls;
	int was_online, cancel;

	if (!worker || worker == &worker->calls->standby)
		return;
	calls = worker->calls;
	if (worker == lull_call_thread.working)
		rcu_domain_misuse(rcu_domain_self(calls->domain),
				  "call_rcu_data_free() of a worker in one of its callbacks");
	lull_wait_check(calls->domain, "call_rcu_data_free() within a read-side critical section");
	if (!stop(calls, worker))
		return;
	was_online = lull_wait_begin(calls->domain);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_join(worker->thread, NULL);
	pthread_setcancelstate(cancel, NULL);
	lull_lock_take(&calls->lock);
	lull_worker_retire_locked(calls, worker);
	lull_lock_release(&calls->lock);
	lull_wait_end(calls->domain, was_online);
}
