/* SPDX-License-Identifier: MIT */
/*
 * A program under the short names of a flavour, which the file that includes this has chosen:
 * readers, updaters, callbacks, workers, deferred calls, polls, fork.
 */
#ifndef COMPAT_FLAVOUR_H
#define COMPAT_FLAVOUR_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <urcu/rculfhash.h>
#include <urcu/uatomic.h>

#include "../../../check/test.h"

struct object {
	int valid;
	struct rcu_head head;
};

static struct object *object;
static int invalid_seen, stop;
static unsigned long called;
static pthread_t called_in;

static void invalidate(struct rcu_head *head)
{
	struct object *old = caa_container_of(head, struct object, head);

	old->valid = 0;
	free(old);
	CMM_STORE_SHARED(called_in, pthread_self());
	uatomic_inc(&called);
}

static void deferred(void *old)
{
	((struct object *)old)->valid = 0;
	free(old);
	uatomic_inc(&called);
}

static struct object *make(void)
{
	struct object *made = calloc(1, sizeof(*made));

	made->valid = 1;
	return made;
}

static void *reader(void *unused)
{
	rcu_register_thread();
	for (int i = 0; !uatomic_read(&stop); i++) {
		struct object *seen;

		rcu_read_lock();
		rcu_read_lock();
		seen = rcu_dereference(object);
		rcu_read_unlock();
		if (!seen->valid)
			uatomic_inc(&invalid_seen);
		rcu_read_unlock();
		rcu_quiescent_state();
		if (i % 1000 == 999) {
			rcu_thread_offline();
			usleep(10);
			rcu_thread_online();
		}
	}
	rcu_unregister_thread();
	return unused;
}

/* An object replaced and reclaimed in each of the ways. Offline while it waits, as QSBR needs. */
static void update(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct object *old = rcu_xchg_pointer(&object, make());

		switch (i % 4) {
		case 0:
			synchronize_rcu();
			invalidate(&old->head);
			break;
		case 1:
			defer_rcu(deferred, old);
			break;
		default:
			call_rcu(&old->head, invalidate);
		}
	}
	rcu_defer_barrier();
	rcu_barrier();
}

static void readers_and_updaters(void)
{
	pthread_t thread[2];

	rcu_assign_pointer(object, make());
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, reader, NULL);
	check(rcu_defer_register_thread() == 0, "a_thread_registers_to_defer");
	update(400);
	check(called == 400, "callbacks_and_deferred_calls_have_run_after_the_barriers");
	uatomic_set(&stop, 1);
	rcu_thread_offline();
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	rcu_thread_online();
	check(!invalid_seen, "readers_see_valid_objects_only");
}

static void workers(void)
{
	struct call_rcu_data *own = create_call_rcu_data(URCU_CALL_RCU_RT, -1), *of_cpu;

	check(own && !get_thread_call_rcu_data(), "a_worker_is_made_for_nobody");
	set_thread_call_rcu_data(own);
	check(get_thread_call_rcu_data() == own && get_call_rcu_data() == own,
	      "a_thread_has_a_worker_of_its_own");
	call_rcu(&make()->head, invalidate);
	rcu_barrier();
	check(pthread_equal(called_in, get_call_rcu_thread(own)), "its_callbacks_run_there");
	set_thread_call_rcu_data(NULL);
	call_rcu_data_free(own);
	check(create_all_cpu_call_rcu_data(0) == 0, "each_cpu_gets_a_worker");
	of_cpu = get_cpu_call_rcu_data(0);
	check(of_cpu && get_call_rcu_data() != get_default_call_rcu_data(),
	      "a_thread_uses_the_worker_of_its_cpu");
	own = create_call_rcu_data(0, 1 << 20);
	check(own && set_cpu_call_rcu_data(0, own) == -EEXIST && get_cpu_call_rcu_data(0) == of_cpu,
	      "a_cpu_keeps_the_worker_it_has");
	check(set_cpu_call_rcu_data(1 << 20, own) == -EINVAL && !get_cpu_call_rcu_data(1 << 20),
	      "a_cpu_that_is_not_there_has_no_worker");
	call_rcu_data_free(own);
	free_all_cpu_call_rcu_data();
	check(!get_cpu_call_rcu_data(0) && get_call_rcu_data() == get_default_call_rcu_data(),
	      "without_one_it_uses_the_default");
}

static void polls(void)
{
	struct urcu_gp_poll_state state = start_poll_synchronize_rcu();

	rcu_quiescent_state();
	synchronize_rcu();
	check(poll_state_synchronize_rcu(state), "a_poll_tells_that_a_grace_period_has_ended");
}

static void tables(void)
{
	struct cds_lfht *table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE, NULL);
	struct cds_lfht *other = cds_lfht_new_flavor(1, 1, 0, 0, &rcu_flavor, NULL);

	check(table && other && !cds_lfht_destroy(table, NULL) && !cds_lfht_destroy(other, NULL),
	      "a_table_is_of_the_flavour");
	rcu_flavor.read_lock();
	check(rcu_flavor.read_ongoing() && rcu_read_ongoing(),
	      "the_flavour_is_a_table_of_functions");
	rcu_flavor.read_unlock();
}

static int child(void)
{
	called = 0;
	call_rcu(&make()->head, invalidate);
	synchronize_rcu();
	rcu_barrier();
	return called == 0;
}

static void forks(void)
{
	int status = -1;
	pid_t pid;

	call_rcu(&make()->head, invalidate);
	rcu_barrier();
	call_rcu_before_fork();
	pid = fork();
	if (pid == 0) {
		call_rcu_after_fork_child();
		_exit(child());
	}
	call_rcu_after_fork_parent();
	called = 0;
	call_rcu(&make()->head, invalidate);
	rcu_barrier();
	check(called == 1, "callbacks_run_in_the_parent_after_a_fork");
	check(waitpid(pid, &status, 0) == pid && status == 0, "callbacks_run_in_the_child");
}

int main(void)
{
	rcu_init();
	rcu_register_thread();
	readers_and_updaters();
	workers();
	polls();
	tables();
	forks();
	rcu_defer_unregister_thread();
	rcu_unregister_thread();
	rcu_exit();
	free(object);
	return sums();
}

#endif
