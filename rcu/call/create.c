// SPDX-License-Identifier: MIT
/*
 * The workers that a program asks for: how they are made, ended and kept as spares.
 *
 * Paper: T 6.4.5.
 */
#include "start.h"

#include <errno.h>
#include "offline.h"

/* Linux knows no CPU of this number or a higher one. */
#define CALL_CPUS 8192

static struct call_rcu_data *new_worker_locked(struct call_domain *calls)
{
	struct call_rcu_data *worker = calls->spares;

	if (worker) {
		calls->spares = worker->next;
		return worker;
	}
	worker = lull_memory_take(sizeof(*worker));
	if (worker)
		lull_lock_renew(&worker->lock);
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

/* Asks a worker to end. Return: 0 if another thread has asked it before. */
static int worker_stop(struct call_domain *calls, struct call_rcu_data *worker)
{
	int first;

	lull_lock_take(&calls->lock);
	first = !worker->stop && lull_mem_load32(&worker->state) != CALL_RETIRED;
	if (first) {
		lull_call_forget_cpu_locked(calls, worker);
		/*
		 * [call.stop:A] full. Pairs with [call.sleep:A].
		 * Orders: the store to stop, hurry or holds before the look at state.
		 * Else: this thread finds the worker awake, and the worker, which does not see
		 * stop, goes to sleep for ever.
		 */
		lull_mem_store32_full(&worker->stop, 1);
		lull_worker_rouse(worker);
	}
	lull_lock_release(&calls->lock);
	return first;
}

void call_rcu_data_free(struct call_rcu_data *worker)
{
	struct call_domain *calls;
	int was_online;

	if (!worker || worker == &worker->calls->standby)
		return;
	calls = worker->calls;
	if (worker == lull_call_self()->working)
		rcu_domain_misuse(rcu_domain_self(calls->domain),
				  "call_rcu_data_free() of a worker in one of its callbacks");
	lull_wait_check(calls->domain, "call_rcu_data_free() within a read-side critical section");
	if (!worker_stop(calls, worker))
		return;
	was_online = lull_wait_begin(calls->domain);
	lull_thread_join(&worker->thread);
	lull_lock_take(&calls->lock);
	lull_worker_retire_locked(calls, worker);
	lull_lock_release(&calls->lock);
	lull_wait_end(calls->domain, was_online);
}
