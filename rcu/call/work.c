// SPDX-License-Identifier: MIT
/*
 * A worker's thread: take all callbacks, wait for a grace period, call them.
 *
 * Callbacks that come meanwhile make the next batch. A worker that finds none, even after a rest,
 * sleeps until a caller wakes it; a real-time one sleeps by a timer, so that its callers never
 * need a system call. Paper: T 6.4.5 (figure 6.11, lines 9-24), 6.5.3 (batches).
 */
#include "work.h"

#include <limits.h>
#include <stdio.h>
#include "offline.h"

/* How often a real-time worker looks for callbacks. */
#define REAL_TIME_PERIOD_NS 10000000
/* After a batch of fewer callbacks than this, a worker rests so long before the next. */
#define REST_BELOW_COUNT 1000
#define REST_NS 1000000
/* While its batch grows, a worker looks at it after that part of the time left, or sooner. */
#define GATHER_NAPS 8
#define GATHER_NAP_MIN_NS 50000
#define GATHER_NAP_MAX_NS 10000000
/* A delay of an hour or more is for ever. */
#define DELAY_MAX_US 3600000000UL

static int is_stopped(const struct call_rcu_data *worker)
{
	/* The look of [call.sleep:A] and [call.resume:B]. */
	return (int)lull_mem_load32(&worker->stop);
}

static void worker_end(struct call_rcu_data *worker)
{
	/*
	 * [call.end:A] full. Pairs with [call.pause:A].
	 * Orders: what the worker did, and not busy, before the look at pause.
	 * Else: the fork sleeps for a worker that is busy no more, and nobody wakes it.
	 */
	lull_mem_store32_full(&worker->busy, 0);
	if (lull_call_paused(worker->calls))
		lull_futex_wake(&worker->busy, INT_MAX);
}

/*
 * Before touching lanes and batch, and while calling: a fork waits for the end of it.
 * Return: 0 when the worker is to end meanwhile: what waits for its end may be what the fork
 * waits for.
 */
static int worker_begin(struct call_rcu_data *worker)
{
	struct call_domain *calls = worker->calls;
	uint32_t seen;

	for (;;) {
		/*
		 * [call.begin:A] full. Pairs with [call.pause:A].
		 * Orders: busy before the look at pause.
		 * Else: the child of a fork finds a batch, or an object, in the middle of a change.
		 */
		lull_mem_store32_full(&worker->busy, 1);
		/* What a fork left is looked at in worker_take(), behind the full store there. */
		if (!lull_call_paused(calls))
			return 1;
		worker_end(worker);
		/*
		 * [call.resume:B] acquire. Pairs with [call.resume:A].
		 * Orders: pause before the look at stop.
		 * Else: the worker waits for a fork that waits for the worker's end.
		 */
		while ((seen = lull_mem_load32_acquire(&calls->pause)) % CALL_PAUSE_EVENT) {
			if (is_stopped(worker))
				return 0;
			lull_futex_wait(&calls->pause, seen);
		}
	}
}

/* Wakes a worker that sleeps. Of several wakers one makes the system call. */
void lull_worker_rouse(struct call_rcu_data *worker)
{
	/* The look of [call.stop:A] and [call.put:A]. */
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
 * Sleeps until someone hurries it, at most @duration_ns. Nothing orders NAPPING before the look
 * at what is wanted: a thread that hurries the worker just then may find it awake, and waits for
 * one nap.
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
	 * Orders: ASLEEP before the look at tails and stop.
	 * Else: a callback comes, its caller finds the worker awake, and it sleeps.
	 */
	lull_mem_store32_full(&worker->state, CALL_ASLEEP);
	if (!lull_worker_has_callbacks(worker) && !is_stopped(worker))
		lull_futex_wait(&worker->state, CALL_ASLEEP);
	lull_mem_store32(&worker->state, CALL_AWAKE);
}

/* Where a count of callbacks has come to, by lane. */
struct call_census {
	struct rcu_head *last[CALL_LANES];
	unsigned long count;
};

/*
 * Counts what came since. They stay where they are: only this worker would call them, and a fork
 * that takes them puts an end to the wait. Bound: what is queued when it looks.
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
		/* No order: the next link's address is made of what is loaded. */
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

/* Lets the batch grow. Callers do not count what they queue: the worker does, between naps. */
static void gather(struct call_rcu_data *worker)
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
	struct call_chain chain;
	int i;

	/*
	 * [call.quiet:A] full. Pairs with [call.put:A].
	 * Orders: hurry is 0 before the look at tails.
	 * Else: a thread queues after that look, then hurries the worker, and the worker waits for
	 * more callbacks all the same.
	 */
	lull_mem_store32_full(&worker->hurry, 0);
	lull_mem_store32(&worker->holds, 0); /* a fork writes it while not busy */
	for (i = 0; i < CALL_LANES; i++) {
		lull_chain_append(&worker->batch[i], &worker->held[i]);
		if (lull_lane_take(&worker->lanes[i], &chain))
			lull_chain_append(&worker->batch[i], &chain);
	}
}

/* Between two callbacks: what others wait for. Return: as worker_begin(). */
static int breathe(struct call_rcu_data *worker)
{
	struct rcu_domain *domain = worker->calls->domain;
	int was_online, goes_on;

	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_quiescent(domain, rcu_domain_self(domain));
	if (__builtin_expect(!lull_call_paused(worker->calls), 1))
		return 1;
	was_online = lull_wait_begin(domain);
	worker_end(worker);
	goes_on = worker_begin(worker);
	lull_wait_end(domain, was_online);
	return goes_on;
}

/* Return: as worker_begin(). Bound: the batch. */
static int invoke(struct call_rcu_data *worker, struct call_chain *chain, unsigned long *count)
{
	struct rcu_head *head, *next;

	for (head = chain->first; head; head = next) {
		next = lull_chain_next(chain, head);
		__builtin_prefetch(next);
		chain->first = next;
		head->func(head);
		++*count;
		if (!breathe(worker))
			return 0;
	}
	return 1;
}

/* Return: how many callbacks it called. */
static unsigned long work(struct call_rcu_data *worker)
{
	struct rcu_domain *domain = worker->calls->domain;
	unsigned long count = 0;
	int i, goes_on;

	gather(worker);
	if (!worker_begin(worker))
		return 0;
	worker_take(worker);
	worker_end(worker);
	rcu_domain_synchronize(domain);
	goes_on = worker_begin(worker);
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_online(domain, rcu_domain_self(domain));
	for (i = 0; goes_on && i < CALL_LANES; i++)
		goes_on = invoke(worker, &worker->batch[i], &count);
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_offline(domain, rcu_domain_self(domain));
	if (goes_on)
		worker_end(worker);
	return count;
}

/*
 * Whether a worker rests after a batch. While callbacks keep coming it neither has to be woken,
 * which costs its callers more than all else, nor does it wait for a grace period for a few.
 */
static int rests_after(const struct call_rcu_data *worker, unsigned long count)
{
	return count < REST_BELOW_COUNT && !lull_mem_load32(&worker->tuned);
}

/* What a worker does between batches. */
static void worker_idle(struct call_rcu_data *worker)
{
	/* [call.quiet:A], in worker_take() */
	lull_mem_store32_full(&worker->hurry, 0);
	if (lull_worker_has_callbacks(worker)) {
		/* They may be what it was hurried for, a moment ago. */
		lull_mem_store32(&worker->hurry, 1);
		return;
	}
	if (worker->flags & CALL_RCU_RT)
		nap(worker, REAL_TIME_PERIOD_NS);
	else
		sleep_until_called(worker);
}

static void name_thread(const struct call_rcu_data *worker)
{
	char name[16]; /* what the kernel keeps */
	const char *flavour = rcu_domain_name(worker->calls->domain);

	if (worker->cpu < 0)
		snprintf(name, sizeof(name), "rcu-%s", flavour);
	else
		snprintf(name, sizeof(name), "rcu-%s/%d", flavour, worker->cpu);
	lull_thread_name(name);
}

void *lull_worker_main(void *argument)
{
	struct call_rcu_data *worker = argument;
	struct rcu_domain *domain = worker->calls->domain;
	struct rcu_reader *self = rcu_domain_self(domain);

	lull_call_self()->working = worker;
	name_thread(worker);
	rcu_domain_register(domain, self, 0);
	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_offline(domain, self);
	while (!is_stopped(worker)) {
		if (!lull_worker_has_callbacks(worker))
			worker_idle(worker);
		else if (rests_after(worker, work(worker)))
			nap(worker, REST_NS);
	}
	rcu_domain_unregister(domain, self);
	return NULL;
}
