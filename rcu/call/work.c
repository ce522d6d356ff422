// SPDX-License-Identifier: MIT
/*
 * A worker's thread takes all callbacks, waits for a grace period and calls them.
 *
 * Callbacks that come meanwhile make the next batch. A worker that finds none, even after a rest,
 * sleeps until a caller wakes it; a real-time worker sleeps by a timer, so that its callers never
 * need a system call. Paper: T 6.4.5 (figure 6.11, lines 9-24), 6.5.3 (batches).
 */
#include "work.h"

#include <limits.h>
#include <stdio.h>

/* How often a real-time worker looks for callbacks. */
#define REAL_TIME_PERIOD_NS 10000000
/*
 * After a batch of fewer callbacks than REST_BELOW_COUNT that began within STREAM_NS after the end
 * of the batch before, a worker rests for REST_NS.
 */
#define REST_BELOW_COUNT 2000
#define REST_NS 2000000
#define STREAM_NS 3000000
/*
 * While its batch grows, a worker counts the callbacks after a nap of this part of the time left,
 * within these bounds.
 */
#define GATHER_NAPS 8
#define GATHER_NAP_MIN_NS 50000
#define GATHER_NAP_MAX_NS 10000000
/* A delay of an hour or more counts as endless. */
#define DELAY_MAX_US 3600000000UL

static int is_stopped(const struct call_rcu_data *worker)
{
	/* [call.sleep:A]: state was stored before this look. */
	return (int)lull_mem_load32(&worker->stop);
}

/* Wakes a worker that naps or sleeps. Of several threads that do so one makes the system call. */
void lull_worker_rouse(struct call_rcu_data *worker)
{
	/* [call.stop:A], [call.put:A]: stop was stored, or the tail exchanged, before this look. */
	uint32_t state = lull_mem_load32(&worker->state);

	if ((state == CALL_ASLEEP || state == CALL_NAPPING) &&
	    lull_mem_cas32_relaxed(&worker->state, state, CALL_AWAKE) == state)
		lull_futex_wake(&worker->state, 1);
}

static int is_hurried(const struct call_rcu_data *worker)
{
	return lull_mem_load32(&worker->hurry) || lull_mem_load32(&worker->holds) ||
	       is_stopped(worker);
}

/*
 * Sleeps until a thread hurries the worker, at most @duration_ns. Nothing orders the store of
 * NAPPING before the look whether the worker is hurried: a thread that hurries it just then may
 * find it awake, and waits for one nap.
 */
static void nap(struct call_rcu_data *worker, int64_t duration_ns)
{
	lull_mem_store32(&worker->state, CALL_NAPPING);
	if (!is_hurried(worker))
		lull_futex_wait_for(&worker->state, CALL_NAPPING, duration_ns);
	lull_mem_store32(&worker->state, CALL_AWAKE);
}

static void sleep_until_called(struct call_rcu_data *worker)
{
	/*
	 * [call.sleep:A] full. Pairs with [call.put:A], [call.stop:A].
	 * Orders: the store of ASLEEP before the look at tails and stop.
	 * Else: a caller queues a callback and finds the worker awake; the worker does not find the
	 * callback, and sleeps.
	 */
	lull_mem_store32_full(&worker->state, CALL_ASLEEP);
	if (!lull_worker_has_callbacks(worker) && !is_stopped(worker))
		lull_futex_wait(&worker->state, CALL_ASLEEP);
	lull_mem_store32(&worker->state, CALL_AWAKE);
}

/* How far a worker has counted its callbacks: the last one counted in each lane, and the sum. */
struct call_census {
	struct rcu_head *last[CALL_LANES];
	unsigned long count;
};

/*
 * Counts the callbacks that came since the last count. They stay in the lanes: only this worker
 * would call them; and a fork that takes them sets holds, which ends the wait. Bound: the callbacks
 * that are queued when the count begins.
 */
static void count_callbacks(struct call_rcu_data *worker, struct call_census *census)
{
	int i;

	for (i = 0; i < CALL_LANES; i++) {
		struct call_lane *lane = &worker->lanes[i];
		struct rcu_head **until = (struct rcu_head **)lull_mem_load(&lane->tail);
		struct rcu_head **link = &lane->first, *head;

		if (census->last[i])
			link = &census->last[i]->next;
		/* Relaxed: the next link's address is made of what is loaded. */
		while (link != until && (head = lull_mem_load_pointer(link)) != NULL) {
			census->last[i] = head;
			census->count++;
			link = &head->next;
		}
	}
}

/* How long a batch may still grow, as call_rcu_data_tune() asks. */
static int64_t patience_ns(const struct call_rcu_data *worker, unsigned long count,
			   int64_t waited_ns)
{
	unsigned long wanted = lull_mem_load(&worker->tuning.batch_min_count);
	unsigned long delay_us = lull_mem_load(&worker->tuning.delay_max_us);

	if (!delay_us || count >= wanted || is_hurried(worker))
		return 0;
	if (delay_us >= DELAY_MAX_US)
		return INT64_MAX;
	return (int64_t)delay_us * 1000 - waited_ns;
}

/* Lets the batch grow. The worker counts the callbacks between naps; callers count nothing. */
static void batch_gather(struct call_rcu_data *worker)
{
	struct call_census census = { .count = 0 };
	int64_t since_ns, left_ns, nap_ns;

	if (patience_ns(worker, 1, 0) <= 0)
		return;
	since_ns = lull_now_ns();
	for (;;) {
		count_callbacks(worker, &census);
		left_ns = patience_ns(worker, census.count, lull_now_ns() - since_ns);
		if (left_ns <= 0)
			return;
		nap_ns = left_ns / GATHER_NAPS;
		if (nap_ns < GATHER_NAP_MIN_NS)
			nap_ns = GATHER_NAP_MIN_NS < left_ns ? GATHER_NAP_MIN_NS : left_ns;
		nap(worker, nap_ns < GATHER_NAP_MAX_NS ? nap_ns : GATHER_NAP_MAX_NS);
	}
}

static void worker_take(struct call_rcu_data *worker)
{
	struct call_chain chain, taken;
	int i;

	/*
	 * [call.quiet:A] full. Pairs with [call.put:A].
	 * Orders: the store hurry = 0 before the look at tails.
	 * Else: a thread queues a callback after that look and then sets hurry; this store
	 * overwrites it, and the worker lets the next batch grow although it is hurried.
	 */
	lull_mem_store32_full(&worker->hurry, 0);
	lull_mem_store32(&worker->holds, 0); /* a fork writes it under the lock */
	for (i = 0; i < CALL_LANES; i++) {
		chain = (struct call_chain){ NULL, NULL };
		lull_chain_append(&chain, &worker->held[i]);
		if (lull_lane_take(&worker->lanes[i], &taken))
			lull_chain_append(&chain, &taken);
		worker->batch[i].until = chain.until;
		lull_mem_store_pointer(&worker->batch[i].first, chain.first);
	}
}

/*
 * Takes a callback out of the batch, before it is called. NULL: there is none left, or a fork has
 * taken those that were left. Relaxed: only one of the two gets each callback, because both change
 * the same word in one step. The word is the worker's own otherwise: no callback comes back to it.
 */
static struct rcu_head *next_callback(struct call_chain *batch)
{
	struct rcu_head *head = lull_mem_load_pointer(&batch->first), *found = head, *next;

	if (!head)
		return NULL;
	next = lull_chain_next(batch, head);
	__builtin_prefetch(next, 1);
	return lull_mem_cas_pointer_relaxed(&batch->first, &found, next) ? head : NULL;
}

/* Return: how many callbacks it called. Bound: the batch. */
static unsigned long invoke(struct call_rcu_data *worker, struct call_chain *batch)
{
	struct rcu_domain *domain = worker->calls->domain;
	struct rcu_head *head;
	unsigned long count = 0;

	while ((head = next_callback(batch)) != NULL) {
		rcu_annotate_acquire(head); /* as the caller of call_rcu() released it */
		head->func(head);
		count++;
		if (domain->kind == RCU_KIND_QSBR)
			rcu_reader_quiescent(domain, rcu_domain_self(domain));
	}
	return count;
}

/* One batch, from its gathering to its calls. Return: how many callbacks were called. */
static unsigned long batch_run(struct call_rcu_data *worker)
{
	struct rcu_domain *domain = worker->calls->domain;
	unsigned long count = 0;
	int i;

	batch_gather(worker);
	lull_lock_take(&worker->lock);
	worker_take(worker);
	lull_lock_release(&worker->lock);
	rcu_domain_synchronize(domain);
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_online(domain, rcu_domain_self(domain));
	for (i = 0; i < CALL_LANES; i++)
		count += invoke(worker, &worker->batch[i]);
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_offline(domain, rcu_domain_self(domain));
	return count;
}

/*
 * Whether a worker rests after a batch of @count callbacks, which began @gap_ns after the end of
 * the one before. A rest saves callers in a steady stream the system call that wakes the worker,
 * which costs them more than all else, and saves grace periods for a few callbacks each. Where
 * callbacks come one by one, long after each other, it would only wake the worker once more.
 */
static int rests_after(const struct call_rcu_data *worker, unsigned long count, int64_t gap_ns)
{
	return count < REST_BELOW_COUNT && gap_ns < STREAM_NS && !lull_mem_load32(&worker->tuned);
}

/* What a worker does between batches. */
static void worker_idle(struct call_rcu_data *worker)
{
	/* [call.quiet:A]: hurry = 0 is stored before the look at tails. */
	lull_mem_store32_full(&worker->hurry, 0);
	if (lull_worker_has_callbacks(worker)) {
		/* A thread may have queued them and set hurry just before: set it again. */
		lull_mem_store32(&worker->hurry, 1);
		return;
	}
	if (worker->flags & CALL_RCU_RT)
		nap(worker, REAL_TIME_PERIOD_NS);
	else
		sleep_until_called(worker);
}

static void begin_thread(const struct call_rcu_data *worker)
{
	char name[16]; /* what the kernel keeps */
	const char *flavour = rcu_domain_name(worker->calls->domain);

	if (worker->cpu < 0)
		snprintf(name, sizeof(name), "rcu-%s", flavour);
	else
		snprintf(name, sizeof(name), "rcu-%s/%d", flavour, worker->cpu);
	lull_thread_begin(name, worker->cpu);
}

void *lull_worker_main(void *argument)
{
	struct call_rcu_data *worker = argument;
	struct rcu_domain *domain = worker->calls->domain;
	struct rcu_reader *self = rcu_domain_self(domain);
	int64_t gap_ns, end_ns = 0;
	unsigned long count;

	lull_call_self()->working = worker;
	begin_thread(worker);
	rcu_domain_register(domain, self, 0);
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_offline(domain, self);
	while (!is_stopped(worker)) {
		if (!lull_worker_has_callbacks(worker)) {
			worker_idle(worker);
			continue;
		}
		gap_ns = lull_now_ns() - end_ns;
		count = batch_run(worker);
		end_ns = lull_now_ns();
		if (rests_after(worker, count, gap_ns))
			nap(worker, REST_NS);
	}
	rcu_domain_unregister(domain, self);
	return NULL;
}
