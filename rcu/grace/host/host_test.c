// SPDX-License-Identifier: MIT
/*
 * What the host does for readers: barriers where the kernel refuses one way or the other, threads
 * that come and go, and forks. Each test has a process of its own, for
 * what the kernel once refuses to a process it refuses for ever. Nothing depends on time: where a
 * test waits a moment, it is for a fault to show.
 *
 * Paper: T 6.4.4.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "actor_test.h"

static void moment(void)
{
	static const struct timespec moment = { .tv_nsec = 1000000 };

	nanosleep(&moment, NULL);
}

/* From then on membarrier fails, as in a sandbox. Return: 0 when it does. */
static int membarrier_deny(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The library's own handler of the signal that asks for a barrier, and what came through it. */
static struct sigaction answering;
static unsigned int answers, answers_of_driver, answers_too_late;
static pthread_t driver;

/* A thread that answers late: whoever asked must not have gone on meanwhile. */
static void answer_late(int number)
{
	struct rcu_grace *grace = flavour->domain->grace;
	unsigned long counter = lull_mem_load(&flavour->domain->counter);
	int i, saved = errno;

	__atomic_add_fetch(&answers, 1, __ATOMIC_RELAXED);
	answers_of_driver += pthread_equal(driver, pthread_self()) != 0;
	for (i = 0; i < 20; i++) {
		moment();
		answers_too_late += lull_mem_load(&flavour->domain->counter) != counter ||
				    lull_mem_load32(&grace->asleep);
	}
	answering.sa_handler(number);
	errno = saved;
}

static void intercept_answers(void)
{
	struct sigaction late = { .sa_handler = answer_late, .sa_flags = SA_RESTART };

	sigemptyset(&late.sa_mask);
	sigaction(RCU_BARRIER_SIGNAL, &late, &answering);
}

/* One who synchronizes as a reader, like the one that it waits for. */
static void *drive(void *unused)
{
	(void)unused;
	flavour->register_thread();
	if (flavour == &qsbr_flavour)
		flavour->leave();
	driver = pthread_self();
	rcu_domain_synchronize(flavour->domain);
	flavour->unregister_thread();
	return NULL;
}

/* A grace period whose driver sleeps until @a leaves its section. */
static void wait_for_actor(struct actor *a)
{
	pthread_t thread;

	tell(a, flavour->enter);
	pthread_create(&thread, NULL, drive, NULL);
	while (!peek(&flavour->domain->grace->asleep))
		sched_yield();
	tell(a, flavour->leave);
	pthread_join(thread, NULL);
}

/* The library installs its handler when it first sends a signal. */
static void first_signal(struct actor *a)
{
	flavour = &signal_flavour;
	actor_start(a);
	wait_for_actor(a);
	actor_end(a);
	intercept_answers();
}

static int barriers_are_awaited_before_the_counter_changes_and_before_sleep(void)
{
	struct actor a;
	unsigned int i;

	CHECK(!membarrier_deny());
	first_signal(&a);
	for (i = 0; i < 5; i++) {
		flavour = flavours[i];
		answers = answers_of_driver = answers_too_late = 0;
		actor_start(&a);
		wait_for_actor(&a);
		actor_end(&a);
		CHECK(!answers_too_late);
		CHECK(!answers_of_driver);
		CHECK(i < 2 ? !answers : answers >= 2); /* qsbr and mb have barriers of their own */
	}
	return 0;
}

static int a_domain_of_one_reader_sends_it_nothing(void)
{
	struct actor a;

	CHECK(!membarrier_deny());
	first_signal(&a);
	answers = 0;
	CHECK(rcu_domain_poll_state(flavour->domain, rcu_domain_start_poll(flavour->domain)));
	flavour->register_thread();
	CHECK(rcu_domain_poll_state(flavour->domain, rcu_domain_start_poll(flavour->domain)));
	rcu_domain_synchronize(flavour->domain);
	CHECK(answers == 0);
	actor_start(&a);
	CHECK(rcu_domain_poll_state(flavour->domain, rcu_domain_start_poll(flavour->domain)));
	CHECK(answers == 1 && !answers_too_late);
	flavour->unregister_thread();
	CHECK(rcu_domain_poll_state(flavour->domain, rcu_domain_start_poll(flavour->domain)));
	CHECK(answers == 2); /* of one reader, which is not the caller */
	actor_end(&a);
	return 0;
}

static void block_barriers(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, RCU_BARRIER_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static struct rcu_reader *reader_of_actor;

static void note_reader(void)
{
	reader_of_actor = flavour->self();
}

static int a_thread_that_blocks_the_signal_holds_nobody_up(void)
{
	struct actor a;

	flavour = &signal_flavour;
	actor_start(&a);
	tell(&a, block_barriers);
	tell(&a, note_reader);
	wait_for_actor(&a);
	CHECK(!reader_of_actor->fence_wanted);
	actor_end(&a);
	return 0;
}

static int a_signal_that_cannot_be_sent_holds_nobody_up(void)
{
	const struct rlimit none = { 0, 0 };
	struct actor a;

	flavour = &signal_flavour;
	actor_start(&a);
	tell(&a, note_reader);
	setrlimit(RLIMIT_SIGPENDING, &none);
	CHECK(syscall(SYS_tgkill, getpid(), gettid(), SIGRTMAX) == -1 && errno == EAGAIN);
	wait_for_actor(&a);
	CHECK(!reader_of_actor->fence_wanted);
	actor_end(&a);
	return 0;
}

/* Threads whose signals are held come and go under the lock of one who waits for their barrier. */
static void *unregister_thread(void *told)
{
	flavour->register_thread();
	note_reader();
	sem_post(told);
	while (sem_wait((sem_t *)told + 1))
		;
	flavour->unregister_thread();
	return NULL;
}

static int a_thread_that_waits_to_unregister_answers(void)
{
	struct rcu_grace *grace = rcu_bp_domain.grace;
	pthread_t thread;
	struct actor a;
	sem_t told[2];
	int i;

	CHECK(!membarrier_deny());
	first_signal(&a);
	flavour = &bp_flavour;
	sem_init(&told[0], 0, 0);
	sem_init(&told[1], 0, 0);
	pthread_create(&thread, NULL, unregister_thread, told);
	while (sem_wait(&told[0]))
		;
	lull_lock_take(&grace->lock);
	sem_post(&told[1]);
	for (i = 0; i < 20; i++)
		moment(); /* most likely it waits for the lock by now */
	answers = 0;
	rcu_grace_fence_heavy(grace);
	CHECK(answers == 1 && !reader_of_actor->fence_wanted);
	lull_lock_release(&grace->lock);
	pthread_join(thread, NULL);
	CHECK(grace->reader_count == 0);
	return 0;
}

static int linked_in_handler = -1;

static void read_in_handler(int number)
{
	(void)number;
	__atomic_store_n(&linked_in_handler, rcu_bp_reader.next != NULL, __ATOMIC_RELAXED);
}

static int handlers_wait_until_the_registration_they_interrupt_is_done(void)
{
	struct sigaction action = { .sa_handler = read_in_handler };
	struct rcu_grace *grace = rcu_bp_domain.grace;
	pthread_t thread;
	sem_t told[2];
	int i;

	flavour = &bp_flavour;
	sigaction(SIGUSR1, &action, NULL);
	sem_init(&told[0], 0, 0);
	sem_init(&told[1], 0, 1);
	lull_lock_take(&grace->lock);
	pthread_create(&thread, NULL, unregister_thread, told);
	for (i = 0; i < 20; i++)
		moment(); /* most likely it waits for the lock by now */
	pthread_kill(thread, SIGUSR1);
	for (i = 0; i < 20; i++)
		moment();
	CHECK(__atomic_load_n(&linked_in_handler, __ATOMIC_RELAXED) != 0);
	lull_lock_release(&grace->lock);
	pthread_join(thread, NULL);
	CHECK(linked_in_handler == 1);
	return 0;
}

/* The first section of a thread whose own destructors are through; a handler comes as it begins. */
static pthread_key_t late;
static sem_t is_late, may_read;
static int visited, visits_still;

static void read_late(void *unused)
{
	(void)unused;
	sem_post(&is_late);
	while (sem_wait(&may_read))
		;
	rcu_bp_read_lock();
	visited = rcu_bp_reader.registered == RCU_VISITOR && rcu_bp_read_ongoing();
	rcu_bp_read_unlock();
	visits_still = rcu_bp_reader.registered != 0 || rcu_bp_read_ongoing();
}

static void *end_late(void *unused)
{
	pthread_setspecific(late, &late);
	rcu_bp_read_lock();
	rcu_bp_read_unlock();
	return unused;
}

static void section_in_handler(int number)
{
	rcu_bp_read_lock();
	read_in_handler(number);
	rcu_bp_read_unlock();
}

static int a_handler_leaves_an_ending_thread_its_section(void)
{
	struct sigaction action = { .sa_handler = section_in_handler };
	struct rcu_grace *grace = rcu_bp_domain.grace;
	pthread_t thread;
	int i;

	flavour = &bp_flavour;
	sigaction(SIGUSR1, &action, NULL);
	sem_init(&is_late, 0, 0);
	sem_init(&may_read, 0, 0);
	CHECK(!pthread_key_create(&late, read_late));
	pthread_create(&thread, NULL, end_late, NULL);
	while (sem_wait(&is_late))
		;
	lull_lock_take(&grace->lock);
	sem_post(&may_read);
	for (i = 0; i < 20; i++)
		moment(); /* most likely it waits for the lock by now */
	pthread_kill(thread, SIGUSR1);
	for (i = 0; i < 20; i++)
		moment();
	lull_lock_release(&grace->lock);
	pthread_join(thread, NULL);
	CHECK(linked_in_handler == 1);
	CHECK(visited && !visits_still);
	CHECK(grace->reader_count == 0);
	return 0;
}

static int registration_leaves_the_threads_signals_as_they_were(void)
{
	sigset_t set, before, after;
	unsigned int i;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (i = 0; i < 5; i++) {
		struct rcu_reader *self = flavours[i]->self();

		flavour = flavours[i];
		pthread_sigmask(SIG_SETMASK, NULL, &before);
		flavour->register_thread();
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		CHECK(!memcmp(&before, &after, sizeof(before)));
		CHECK(self->registered && self->tid == gettid());
		CHECK(flavour->domain->grace->reader_count == 1);
		if (flavour == &bp_flavour)
			flavour->register_thread(); /* it may */
		CHECK(flavour->domain->grace->reader_count == 1);
		flavour->unregister_thread();
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		CHECK(!memcmp(&before, &after, sizeof(before)));
		CHECK(!self->registered && !flavour->domain->grace->reader_count);
		CHECK(self->word == (flavour == &bp_flavour ? RCU_UNREGISTERED : 0));
		if (flavour == &bp_flavour)
			flavour->unregister_thread();
		CHECK(!flavour->domain->grace->reader_count);
	}
	return 0;
}

static int who_waits_is_online_afterwards_as_it_was_before(void)
{
	flavour = &qsbr_flavour;
	flavour->register_thread();
	rcu_domain_synchronize(flavour->domain);
	CHECK(rcu_qsbr_read_ongoing());
	flavour->leave();
	rcu_domain_synchronize(flavour->domain);
	CHECK(!rcu_qsbr_read_ongoing());
	return 0;
}

static int who_waits_or_polls_in_bp_is_registered(void)
{
	struct rcu_reader *self = &rcu_bp_reader;

	rcu_domain_synchronize(&rcu_bp_domain);
	CHECK(self->registered);
	rcu_bp_unregister_thread();
	rcu_domain_start_poll(&rcu_bp_domain);
	CHECK(self->registered);
	rcu_bp_unregister_thread();
	rcu_domain_poll_state(&rcu_bp_domain, (struct rcu_gp_poll_state){ 0 });
	CHECK(self->registered && !rcu_mb_reader.registered);
	rcu_domain_synchronize(&rcu_mb_domain);
	CHECK(!rcu_mb_reader.registered);
	return 0;
}

/* Each domain's lock in turn is another thread's when the process forks. */
static int lock_released;

static void *hold_lock(void *held)
{
	int i;

	lull_lock_take(&flavour->domain->grace->lock);
	sem_post(held);
	for (i = 0; i < 20; i++)
		moment();
	__atomic_store_n(&lock_released, 1, __ATOMIC_SEQ_CST);
	lull_lock_release(&flavour->domain->grace->lock);
	return NULL;
}

static int fork_waits_for_the_lock_of_each_domain_and_gives_it_back(void)
{
	unsigned int i, k;

	for (i = 0; i < 5; i++) {
		int status = -1, released;
		pthread_t thread;
		sem_t held;
		pid_t child;

		flavour = flavours[i];
		lock_released = 0;
		sem_init(&held, 0, 0);
		pthread_create(&thread, NULL, hold_lock, &held);
		while (sem_wait(&held))
			;
		child = fork();
		released = __atomic_load_n(&lock_released, __ATOMIC_SEQ_CST);
		for (k = 0; k < 5; k++) {
			struct lull_lock *lock = &flavours[k]->domain->grace->lock;

			released &= lull_lock_try(lock);
			lull_lock_release(lock);
		}
		if (!child)
			_exit(!released);
		waitpid(child, &status, 0);
		pthread_join(thread, NULL);
		CHECK(released && status == 0);
	}
	return 0;
}

/* In the parent a driver and a caller sleep; of that the child inherits nothing. */
static int child_of_a_fork_waits_for_its_own_reader_only(const struct flavour *which)
{
	struct rcu_grace *grace = which->domain->grace;
	struct rcu_reader *self = which->self();
	pthread_t sleeper[2];
	struct actor a;
	int status = -1;
	pid_t child;

	flavour = which;
	flavour->register_thread();
	if (flavour == &qsbr_flavour)
		flavour->leave();
	actor_start(&a);
	tell(&a, flavour->enter);
	pthread_create(&sleeper[0], NULL, synchronize_thread, NULL);
	pthread_create(&sleeper[1], NULL, synchronize_thread, NULL);
	while (!peek(&grace->asleep) || !peek(&grace->sleepers))
		sched_yield();
	self->waited = 1;
	child = fork();
	if (!child) {
		int right = self->tid == gettid() && self->tid == getpid();
		struct rcu_gp_poll_state state;

		alarm(HANG_LIMIT_S);
		right &= grace->reader_count == 1 && !self->waited && !self->fence_wanted;
		right &= !grace->driven && !grace->asleep && !grace->sleepers;
		right &= grace->pending.next == self && grace->readers.next == &grace->readers;
		rcu_domain_synchronize(flavour->domain);
		flavour->enter();
		state = rcu_domain_start_poll(flavour->domain);
		right &= !rcu_domain_poll_state(flavour->domain, state);
		flavour->leave();
		right &= !!rcu_domain_poll_state(flavour->domain, state);
		_exit(!right);
	}
	waitpid(child, &status, 0);
	self->waited = 0;
	tell(&a, flavour->leave);
	pthread_join(sleeper[0], NULL);
	pthread_join(sleeper[1], NULL);
	actor_end(&a);
	flavour->unregister_thread();
	CHECK(status == 0);
	return 0;
}

static int child_of_a_fork_has_its_own_reader_in_each_domain(void)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		CHECK(!child_of_a_fork_waits_for_its_own_reader_only(flavours[i]));
	return 0;
}

static int child_that_reads_nothing_has_no_readers(void)
{
	struct rcu_grace *grace = rcu_mb_domain.grace;
	int status = -1;
	struct actor a;
	pid_t child;

	flavour = &mb_flavour;
	actor_start(&a);
	tell(&a, flavour->enter);
	child = fork();
	if (!child) {
		alarm(HANG_LIMIT_S);
		rcu_domain_synchronize(flavour->domain);
		_exit(grace->reader_count || grace->readers.next != &grace->readers ||
		      grace->readers.previous != &grace->readers ||
		      grace->pending.next != &grace->pending ||
		      grace->pending.previous != &grace->pending);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0);
	tell(&a, flavour->leave);
	actor_end(&a);
	return 0;
}

int main(void)
{
	flavour = &mb_flavour; /* each child chooses its own */
	RUN(barriers_are_awaited_before_the_counter_changes_and_before_sleep);
	RUN(a_domain_of_one_reader_sends_it_nothing);
	RUN(a_thread_that_blocks_the_signal_holds_nobody_up);
	RUN(a_signal_that_cannot_be_sent_holds_nobody_up);
	RUN(a_thread_that_waits_to_unregister_answers);
	RUN(handlers_wait_until_the_registration_they_interrupt_is_done);
	RUN(a_handler_leaves_an_ending_thread_its_section);
	RUN(registration_leaves_the_threads_signals_as_they_were);
	RUN(who_waits_is_online_afterwards_as_it_was_before);
	RUN(who_waits_or_polls_in_bp_is_registered);
	RUN(fork_waits_for_the_lock_of_each_domain_and_gives_it_back);
	RUN(child_of_a_fork_has_its_own_reader_in_each_domain);
	RUN(child_that_reads_nothing_has_no_readers);
	return sums();
}
