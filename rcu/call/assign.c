// SPDX-License-Identifier: MIT
/*
 * Which worker gets a thread's callbacks: the thread's own, its CPU's, or the domain's default one.
 *
 * Paper: T 6.4.5; 6.5.3 (why batches may be tuned).
 */
#include "start.h"

#include <errno.h>

void call_rcu_data_tune(struct call_rcu_data *worker, const struct call_rcu_tuning *tuning)
{
	lull_mem_store(&worker->tuning.batch_min_count, tuning->batch_min_count);
	lull_mem_store(&worker->tuning.delay_max_us, tuning->delay_max_us);
	lull_mem_store32(&worker->tuned, 1);
	/* A worker reads these between naps, so a batch that grows now grows on by the new ones. */
	lull_worker_rouse(worker);
}

struct call_rcu_data *get_default_call_rcu_data(struct rcu_domain *domain)
{
	struct call_domain *calls = lull_call_domain(domain);
	int error = lull_worker_need(calls);

	if (error)
		errno = -error;
	return error ? NULL : &calls->standby;
}

struct call_rcu_data *get_call_rcu_data(struct rcu_domain *domain)
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker = lull_call_worker(calls);

	return worker == &calls->standby ? get_default_call_rcu_data(domain) : worker;
}

struct call_rcu_data *get_thread_call_rcu_data(struct rcu_domain *domain)
{
	return lull_call_self()->own[domain->index];
}

void set_thread_call_rcu_data(struct rcu_domain *domain, struct call_rcu_data *worker)
{
	lull_call_self()->own[domain->index] = worker;
}

int call_rcu_data_thread(const struct call_rcu_data *worker, void *pthread)
{
	struct call_domain *calls = worker->calls;
	uint32_t state;

	lull_lock_take(&calls->lock);
	state = lull_mem_load32(&worker->state);
	if (state < CALL_THREADLESS)
		lull_thread_handle(&worker->thread, pthread);
	lull_lock_release(&calls->lock);
	return state < CALL_THREADLESS ? 0 : -ESRCH;
}

struct call_rcu_data *get_cpu_call_rcu_data(struct rcu_domain *domain, int cpu)
{
	return cpu < 0 ? NULL : lull_call_worker_of_cpu(lull_call_domain(domain), cpu);
}

/* Makes the table of CPUs, which is never freed, unless it exists. Return: 0 or -ENOMEM. */
static int need_cpus_locked(struct call_domain *calls)
{
	const unsigned int count = lull_rcu_cpu_count();
	struct call_rcu_data **workers;

	if (lull_mem_load_pointer(&calls->cpu_workers))
		return 0;
	workers = lull_memory_take(count * sizeof(struct call_rcu_data *));
	if (!workers)
		return -ENOMEM;
	lull_mem_store32(&calls->cpu_count, count);
	/*
	 * [call.assign:A] release. Pairs with [call.find:A].
	 * Orders: the writes of the table's entries and size before its address, by which callers
	 * find it; below, the writes of a worker before the entry that leads to it.
	 * Else: a caller reads past the table's end, or queues in a worker that is not written yet.
	 */
	lull_mem_store_pointer_release(&calls->cpu_workers, workers);
	return 0;
}

int set_cpu_call_rcu_data(struct rcu_domain *domain, int cpu, struct call_rcu_data *worker)
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data **workers;
	int error;

	lull_lock_take(&calls->lock);
	error = need_cpus_locked(calls);
	if (!error && (cpu < 0 || (unsigned int)cpu >= lull_mem_load32(&calls->cpu_count)))
		error = -EINVAL;
	workers = lull_mem_load_pointer(&calls->cpu_workers);
	if (!error && worker && lull_mem_load_pointer(&workers[cpu]))
		error = -EEXIST;
	if (!error) /* [call.assign:A]: the worker is written before the entry that leads to it */
		lull_mem_store_pointer_release(&workers[cpu], worker);
	lull_lock_release(&calls->lock);
	return error;
}

int create_all_cpu_call_rcu_data(struct rcu_domain *domain, unsigned long flags)
{
	struct call_domain *calls = lull_call_domain(domain);
	unsigned int cpu, cpu_count;
	int error;

	lull_lock_take(&calls->lock);
	error = need_cpus_locked(calls);
	cpu_count = lull_mem_load32(&calls->cpu_count);
	lull_lock_release(&calls->lock);
	for (cpu = 0; !error && cpu < cpu_count; cpu++) {
		struct call_rcu_data *worker;

		if (get_cpu_call_rcu_data(domain, (int)cpu))
			continue;
		worker = create_call_rcu_data(domain, flags, (int)cpu);
		if (!worker)
			return -errno;
		error = set_cpu_call_rcu_data(domain, (int)cpu, worker);
		if (error)
			call_rcu_data_free(worker);
		if (error == -EEXIST)
			error = 0; /* another thread has given this CPU a worker meanwhile */
	}
	return error;
}

/* Takes the worker of some CPU away from all CPUs. Return: the worker; NULL if no CPU has one. */
static struct call_rcu_data *take_cpu_worker(struct call_domain *calls)
{
	struct call_rcu_data **workers, *worker = NULL;
	unsigned int i;

	lull_lock_take(&calls->lock);
	workers = lull_mem_load_pointer(&calls->cpu_workers);
	for (i = 0; workers && !worker && i < lull_mem_load32(&calls->cpu_count); i++)
		worker = lull_mem_load_pointer(&workers[i]);
	if (worker)
		lull_call_forget_cpu_locked(calls, worker);
	lull_lock_release(&calls->lock);
	return worker;
}

void free_all_cpu_call_rcu_data(struct rcu_domain *domain)
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker;

	while ((worker = take_cpu_worker(calls)) != NULL)
		call_rcu_data_free(worker);
}
