// SPDX-License-Identifier: MIT
/*
 * Barriers forced on readers: membarrier where the kernel has it, signals elsewhere.
 *
 * A signal's handler runs a full barrier and says so; the driver waits for all (T figure 6.9).
 * Waiting is by futex, and the driver's own thread needs no signal. Paper: T 6.4.4.
 */
#define _GNU_SOURCE
#include "domains.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Looks at a thread that was sent a signal, before sleeping until it answers. */
#define ANSWER_SPINS 1000

static uint32_t signal_number; /* 0 until a handler is installed */
static uint32_t no_membarrier; /* set once; the domains' locks do not guard it from each other */

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* Whether threads that read in a domain may be sent the signal. */
static int may_need_signals(const struct rcu_domain *domain)
{
	return domain->kind == RCU_KIND_SIGNAL || domain->kind == RCU_KIND_MEMBARRIER;
}

static void answer(struct rcu_reader *reader)
{
	if (!lull_mem_load32(&reader->fence_wanted))
		return;
	/*
	 * [grace.answer:A] full, before and after the answer. Pairs with [grace.ask:A],
	 * [grace.ask:B].
	 * Orders: what the thread did before the signal, the answer, what it does next.
	 * Else: the driver counts on a barrier that is still to come.
	 * Mutant: ANSWER_NO_FIRST.
	 */
	lull_mem_fence();
	lull_mem_store32(&reader->fence_wanted, 0);
	lull_mem_fence();
	lull_futex_wake(&reader->fence_wanted, 1);
}

static void on_signal(int number)
{
	int i;

	(void)number;
	for (i = 0; i < RCU_DOMAINS; i++)
		if (may_need_signals(rcu_domains[i]))
			answer(rcu_domain_self(rcu_domains[i]));
}

/* The lock of a domain is held; two domains may come here at once, and do the same. */
static void install_handler(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	/*
	 * [grace.install:A] acquire. Pairs with [grace.install:B].
	 * Orders: the number before any signal of this thread.
	 * Else: the thread sends the signal where nothing handles it, and ends the process.
	 * Mutant: LOOK_RELAXED.
	 */
	if (lull_mem_load32_acquire(&signal_number))
		return;
	sigemptyset(&action.sa_mask);
	if (sigaction(RCU_BARRIER_SIGNAL, &action, NULL))
		abort();
	/*
	 * [grace.install:B] release. Pairs with [grace.install:A].
	 * Orders: the handler before the number that tells of it.
	 * Else: the signal arrives where nothing handles it, and ends the process.
	 * Mutant: INSTALL_RELAXED.
	 */
	lull_mem_store32_release(&signal_number, (uint32_t)RCU_BARRIER_SIGNAL);
}

int rcu_barrier_by_signal(const struct rcu_grace *grace)
{
	enum rcu_kind kind = grace->domain->kind;

	return kind == RCU_KIND_SIGNAL ||
	       (kind == RCU_KIND_MEMBARRIER && lull_mem_load32(&no_membarrier));
}

/*
 * The kernel refuses a real-time signal when the user has as many pending as it may
 * (RLIMIT_SIGPENDING), an emulator may have fewer signals. Then membarrier, if there is one; else
 * again, a moment later. Bound: until one of those that are pending is delivered.
 */
static void send(struct rcu_reader *reader)
{
	while (syscall(SYS_tgkill, getpid(), reader->tid, RCU_BARRIER_SIGNAL)) {
		if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
			lull_mem_store32(&reader->fence_wanted, 0);
			return;
		}
		lull_moment(); /* no point of cancellation: the lock is held */
	}
}

static void ask(const struct rcu_reader *head, const struct rcu_reader *self)
{
	struct rcu_reader *reader;

	for (reader = head->next; reader != head; reader = reader->next) {
		if (reader == self)
			continue;
		lull_mem_store32(&reader->fence_wanted, 1);
		send(reader);
	}
}

/*
 * A thread that does not answer for long blocks the signal, or something keeps it from it (a
 * debugger, a sanitizer): membarrier, if there is one, does not ask it.
 */
static void await_answer(struct rcu_reader *reader)
{
	static const struct timespec long_ns = { .tv_nsec = 10000000 };

	if (!syscall(SYS_futex, &reader->fence_wanted, FUTEX_WAIT_PRIVATE, 1, &long_ns, NULL, 0) ||
	    errno != ETIMEDOUT)
		return;
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		lull_mem_store32(&reader->fence_wanted, 0);
}

/* Bound: the threads, each of which answers when it next runs. */
static void hear(const struct rcu_reader *head)
{
	struct rcu_reader *reader;
	int spins;

	for (reader = head->next; reader != head; reader = reader->next) {
		for (spins = 0; lull_mem_load32(&reader->fence_wanted); spins++) {
			if (spins < ANSWER_SPINS)
				lull_relax();
			else
				await_answer(reader);
		}
	}
}

static void fence_by_signals(struct rcu_grace *grace, const struct rcu_reader *self)
{
	install_handler();
	ask(&grace->readers, self);
	ask(&grace->pending, self);
	hear(&grace->readers);
	hear(&grace->pending);
}

void rcu_grace_fence_heavy(struct rcu_grace *grace)
{
	const struct rcu_reader *self = rcu_domain_self(grace->domain);
	int only_self = grace->reader_count == (self->registered ? 1 : 0);

	/*
	 * [grace.ask:A] full. Pairs with [grace.answer:A].
	 * Orders: what the caller changed before the barrier of each thread; where there is no
	 * other, as for QSBR, this is the driver's own half of [grace.begin:A].
	 * Else: a thread answers, and then reads what was there before.
	 * A thread that registers from now on takes the lock after the caller has released it, and
	 * so sees what the caller changed.
	 * Mutant: ASK_NO_FENCE.
	 */
	lull_mem_fence();
	if (only_self || !may_need_signals(grace->domain))
		return;
	if (!rcu_barrier_by_signal(grace)) {
		if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
			return;
		/* A filter installed since we asked, or a process that lost its registration. */
		if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
		    !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
			return;
		lull_mem_store32(&no_membarrier, 1);
	}
	fence_by_signals(grace, self);
	/*
	 * [grace.ask:B] full. Pairs with [grace.answer:A].
	 * Orders: the answers before the look at words.
	 * Else: a word is read from before the thread's barrier.
	 * Mutant: HEAR_NO_FENCE.
	 */
	lull_mem_fence();
}

void rcu_barrier_start(void)
{
	int saved = errno;

	no_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
	errno = saved;
}
