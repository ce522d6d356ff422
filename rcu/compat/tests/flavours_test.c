// SPDX-License-Identifier: MIT
/* All flavours in one source, each under its own names, old and new. */
#include <dlfcn.h>

#include <urcu/urcu-bp.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-qsbr.h>
#include <urcu/urcu-signal.h>

#include "../../../check/test.h"

#ifdef rcu_read_lock
#error "a flavour has the short names, and nothing gave them to it"
#endif

static int reads(const struct rcu_flavor_struct *flavour)
{
	int good;

	flavour->register_thread();
	flavour->read_lock();
	good = flavour->read_ongoing();
	flavour->read_unlock();
	flavour->read_quiescent_state();
	flavour->update_synchronize_rcu();
	flavour->barrier();
	flavour->thread_offline();
	good &= !flavour->read_ongoing();
	flavour->thread_online();
	flavour->unregister_thread();
	return good;
}

static void *other_names(void *unused)
{
	rcu_register_thread_memb();
	urcu_mb_register_thread();
	rcu_read_lock_memb();
	check(urcu_memb_read_ongoing() && !urcu_mb_read_ongoing(), "flavours_do_not_mix");
	rcu_read_unlock_memb();
	urcu_mb_read_lock();
	check(!rcu_read_ongoing_memb() && rcu_read_ongoing_mb(), "nor_do_their_old_names");
	urcu_mb_read_unlock();
	synchronize_rcu_sig();
	rcu_unregister_thread_mb();
	rcu_unregister_thread_memb();
	return unused;
}

/* As languages that have no headers find them. */
static void symbols(void)
{
	static const char *const names[] = {
		"urcu_memb_read_lock",	     "urcu_mb_read_unlock",  "urcu_bp_read_ongoing",
		"urcu_qsbr_thread_online",   "urcu_signal_call_rcu", "urcu_memb_register_thread",
		"urcu_memb_flavor",	     "rcu_set_pointer_sym",  "rcu_dereference_sym2",
		"_cds_lfht_new_with_alloc",  "cds_lfht_destroy",     "urcu_bp_barrier",
		"urcu_memb_synchronize_rcu",
	};
	int missing = 0;

	for (size_t i = 0; i < CAA_ARRAY_SIZE(names); i++)
		missing += !dlsym(RTLD_DEFAULT, names[i]);
	check(!missing, "functions_are_found_by_name");
}

#define URCU_API_MAP
#include <urcu/urcu-mb.h>

static void map(void)
{
	int good;

	rcu_register_thread();
	rcu_read_lock();
	good = urcu_mb_read_ongoing();
	rcu_read_unlock();
	rcu_unregister_thread();
	check(good && rcu_flavor.domain == &rcu_mb_domain, "short_names_come_with_the_map");
}

int main(void)
{
	pthread_t thread;

	check(reads(&urcu_memb_flavor), "memb");
	check(reads(&urcu_mb_flavor), "mb");
	check(reads(&urcu_signal_flavor), "signal");
	check(reads(&urcu_bp_flavor), "bp");
	check(reads(&urcu_qsbr_flavor), "qsbr");
	pthread_create(&thread, NULL, other_names, NULL);
	pthread_join(thread, NULL);
	symbols();
	map();
	return sums();
}
