// SPDX-License-Identifier: MIT
/*
 * Grace periods of each flavour, step by step: two readers do what they are told, and polls
 * and the engine's state tell who waits for whom. Nothing depends on time.
 *
 * Paper: T 6.2.4 (equation 6.1), 6.4.2-6.4.4.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "actor_test.h"

#define CALLERS 4
#define DEEP 8000000

static struct rcu_gp_poll_state start(void)
{
	return rcu_domain_start_poll(flavour->domain);
}

static int ended(struct rcu_gp_poll_state state)
{
	return rcu_domain_poll_state(flavour->domain, state);
}

static void polls(struct actor *a, struct actor *b)
{
	struct rcu_gp_poll_state first, second;

	tell(a, flavour->enter);
	first = start();
	check_flavour(!ended(first) && !ended(first), "a_grace_period_waits_for_a_section");
	tell(b, flavour->enter);
	second = start();
	tell(a, flavour->leave);
	if (RCU_PHASES == 1) {
		check_flavour(ended(first), "a_later_section_does_not_prolong_it");
		check_flavour(!ended(second),
			      "a_running_grace_period_does_not_count_for_a_later_caller");
	}
	tell(b, flavour->leave);
	check_flavour(ended(first) && ended(second), "grace_periods_end_when_their_sections_have");
}

static void nested(struct actor *a)
{
	struct rcu_gp_poll_state state;

	tell(a, flavour->enter);
	tell(a, flavour->enter);
	state = start();
	tell(a, flavour->leave);
	check_flavour(!ended(state), "an_inner_section_ends_nothing");
	tell(a, flavour->leave);
	check_flavour(ended(state), "the_outermost_section_ends_it");
}

static unsigned long deepest;

static void enter_deep(void)
{
	int i;

	for (i = 0; i < DEEP; i++)
		flavour->enter();
	deepest = flavour->self()->word & RCU_NEST_MASK;
	for (i = 0; i < DEEP; i++)
		flavour->leave();
}

static void deep(struct actor *a)
{
	tell(a, enter_deep);
	check_flavour(deepest == DEEP && ended(start()), "sections_nest_deep");
}

static void sleepers(struct actor *a)
{
	struct rcu_grace *grace = flavour->domain->grace;
	pthread_t caller[CALLERS];
	unsigned long seq;
	int i;

	tell(a, flavour->enter);
	for (i = 0; i < CALLERS; i++)
		pthread_create(&caller[i], NULL, synchronize_thread, NULL);
	while (!peek(&grace->asleep) || peek(&grace->sleepers) < CALLERS - 1)
		sched_yield();
	seq = lull_mem_load(&grace->seq);
	tell(a, flavour->leave);
	check_flavour(a->error == 77, "leaving_keeps_errno_when_it_wakes_a_driver");
	for (i = 0; i < CALLERS; i++)
		pthread_join(caller[i], NULL);
	check_flavour(lull_mem_load(&grace->seq) - seq <= 4, "callers_share_grace_periods");
	check_flavour(!grace->driven && !grace->asleep && !grace->sleepers,
		      "all_callers_are_woken");
}

static void expedited(struct actor *a)
{
	struct rcu_grace *grace = flavour->domain->grace;
	unsigned long seq = lull_mem_load(&grace->seq);
	struct actor late;
	pthread_t caller;

	tell(a, flavour->enter);
	pthread_create(&caller, NULL, synchronize_thread, grace);
	while (lull_mem_load(&grace->seq) == seq)
		sched_yield();
	actor_start(&late);
	actor_end(&late);
	check_flavour(lull_mem_load(&grace->seq) == seq + 1, "threads_come_and_go_while_it_spins");
	tell(a, flavour->leave);
	pthread_join(caller, NULL);
	check_flavour(lull_mem_load(&grace->seq) == seq + 2,
		      "an_expedited_caller_waits_for_a_section");
}

static struct rcu_gp_poll_state polled;
static int polled_ended;

static void poll_once(void)
{
	polled_ended = ended(polled);
}

/* The lock is held by one who is at it already. */
static void poll_meanwhile(struct actor *a)
{
	struct rcu_grace *grace = flavour->domain->grace;
	unsigned long seq;

	tell(a, flavour->enter);
	polled = start();
	tell(a, flavour->leave);
	seq = lull_mem_load(&grace->seq);
	lull_lock_take(&grace->lock);
	tell(a, poll_once);
	check_flavour(!polled_ended && lull_mem_load(&grace->seq) == seq,
		      "a_poll_leaves_alone_what_another_has_locked");
	lull_lock_release(&grace->lock);
	tell(a, poll_once);
	check_flavour(polled_ended && lull_mem_load(&grace->seq) == seq + 1,
		      "and_ends_it_afterwards");
}

static struct sigaction answering; /* the library's own handler */
static unsigned int answers;

static void count_answer(int number)
{
	__atomic_add_fetch(&answers, 1, __ATOMIC_RELAXED);
	answering.sa_handler(number);
}

/*
 * The driver forces a barrier on the reader twice: before it looks at words for the first time,
 * and before it sleeps, when the reader is one of those that it waits for.
 */
static void forced_barriers(struct actor *a)
{
	struct rcu_grace *grace = flavour->domain->grace;
	struct sigaction counting = { .sa_handler = count_answer, .sa_flags = SA_RESTART };
	pthread_t caller;

	sigemptyset(&counting.sa_mask);
	sigaction(RCU_BARRIER_SIGNAL, &counting, &answering);
	tell(a, flavour->enter);
	answers = 0;
	pthread_create(&caller, NULL, synchronize_thread, NULL);
	while (!peek(&grace->asleep))
		sched_yield();
	tell(a, flavour->leave);
	pthread_join(caller, NULL);
	check_flavour(__atomic_load_n(&answers, __ATOMIC_RELAXED) >= 2,
		      "who_sleeps_forced_a_barrier_on_those_it_waits_for");
	sigaction(RCU_BARRIER_SIGNAL, &answering, NULL);
}

static void *ending_thread(void *within)
{
	flavour->register_thread();
	flavour->enter();
	if (!within)
		flavour->leave();
	return NULL;
}

static void ends(void)
{
	struct rcu_grace *grace = flavour->domain->grace;
	unsigned long count = grace->reader_count;
	pthread_t thread;
	int within;

	for (within = 0; within < 2; within++) {
		pthread_create(&thread, NULL, ending_thread, within ? grace : NULL);
		pthread_join(thread, NULL);
	}
	check_flavour(grace->reader_count == count, "a_thread_that_ends_is_a_reader_no_more");
	check_flavour(ended(start()), "a_section_ends_with_its_thread");
}

static sem_t held, let_go;

static void *held_thread(void *unused)
{
	(void)unused;
	flavour->register_thread();
	flavour->enter();
	sem_post(&held);
	while (sem_wait(&let_go))
		;
	return NULL;
}

static void ends_while_waited_for(void)
{
	struct rcu_grace *grace = flavour->domain->grace;
	pthread_t thread, caller;

	sem_init(&held, 0, 0);
	sem_init(&let_go, 0, 0);
	pthread_create(&thread, NULL, held_thread, NULL);
	while (sem_wait(&held))
		;
	pthread_create(&caller, NULL, synchronize_thread, NULL);
	while (!peek(&grace->asleep))
		sched_yield();
	sem_post(&let_go);
	pthread_join(thread, NULL);
	pthread_join(caller, NULL);
	check_flavour(!grace->driven && !grace->asleep,
		      "the_end_of_a_thread_wakes_who_waits_for_it");
}

static void wraps(struct actor *a)
{
	struct rcu_domain *domain = flavour->domain;
	struct rcu_gp_poll_state state;
	int i, right = 1;

	tell(a, flavour->unregister_thread);
	domain->grace->seq = -4ul;
	domain->counter = RCU_PERIOD_MASK | 1;
	tell(a, flavour->register_thread);
	for (i = 0; i < 4; i++) {
		tell(a, flavour->enter);
		state = start();
		right &= !ended(state);
		tell(a, flavour->leave);
		right &= ended(state);
	}
	check_flavour(right && domain->grace->seq == 4, "numbers_wrap");
}

/* In the child there are none of the readers that the parent has in sections. */
static void forks(struct actor *a)
{
	struct rcu_gp_poll_state state;
	int status = -1;
	pid_t child;

	tell(a, flavour->enter);
	state = start();
	child = fork();
	if (!child) {
		alarm(HANG_LIMIT_S);
		rcu_domain_synchronize(flavour->domain);
		_exit(!ended(state));
	}
	waitpid(child, &status, 0);
	check_flavour(status == 0, "a_forked_child_ends_the_grace_period_of_its_parent");
	check_flavour(!ended(state), "the_parent_does_not");
	tell(a, flavour->leave);
	check_flavour(ended(state), "until_its_section_ends");
}

static void quiescent(void)
{
	struct rcu_gp_poll_state state;
	unsigned int phase;
	struct actor a;
	int done = 0;

	actor_start(&a);
	tell(&a, rcu_qsbr_thread_online);
	tell(&a, rcu_qsbr_quiescent_state);
	state = start();
	check_flavour(!ended(state), "a_quiescent_state_before_a_grace_period_does_not_count");
	for (phase = 0; phase < RCU_PHASES; phase++) {
		tell(&a, rcu_qsbr_quiescent_state);
		done = ended(state);
	}
	check_flavour(done, "a_quiescent_state_ends_what_came_before_it");
	check_flavour(!ended(start()), "the_thread_is_online_still");
	actor_end(&a);
	check_flavour(ended(start()), "until_it_ends");
}

static void arithmetic(void)
{
	check_flavour(rcu_seq_reached(4, 2) && rcu_seq_reached(4, 4) && !rcu_seq_reached(4, 6) &&
			      rcu_seq_reached(2, -2ul) && !rcu_seq_reached(-2ul, 2),
		      "targets_are_compared_around_the_wrap");
}

/* What the counter says after one more grace period, for which there is nobody to wait. */
static unsigned long counter_after_one(void)
{
	check_flavour(ended(start()), "a_grace_period_without_readers_ends_at_once");
	return lull_mem_load(&flavour->domain->counter) & RCU_PERIOD_MASK;
}

static void numbers(void)
{
	const unsigned long step = RCU_NEST_MASK + 1;
	unsigned long first, second, third;

	flavour = &mb_flavour;
	first = counter_after_one();
	second = counter_after_one();
	third = counter_after_one();
	if (RCU_PHASES == 1)
		check_flavour(second == first + step && third == second + step,
			      "each_grace_period_has_the_next_number");
	else
		check_flavour(second == first && third == first && !(first & ~step),
			      "each_grace_period_has_two_phases");
}

static void all(const struct flavour *which)
{
	struct actor a, b;

	flavour = which;
	actor_start(&a);
	actor_start(&b);
	polls(&a, &b);
	if (flavour != &qsbr_flavour) {
		nested(&a);
		deep(&a);
	}
	actor_end(&b);
	if (flavour == &signal_flavour)
		forced_barriers(&a);
	sleepers(&a);
	expedited(&a);
	poll_meanwhile(&a);
	ends();
	ends_while_waited_for();
	wraps(&a);
	forks(&a);
	actor_end(&a);
}

int main(void)
{
	alarm(HANG_LIMIT_S);
	all(&qsbr_flavour);
	quiescent();
	all(&mb_flavour);
	all(&signal_flavour);
	all(&memb_flavour);
	all(&bp_flavour);
	arithmetic();
	numbers();
	return sums();
}
