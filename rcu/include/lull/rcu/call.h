/* SPDX-License-Identifier: MIT */
/*
 * Callbacks after a grace period, and the workers that call them.
 *
 * call_rcu() hands a callback to a worker: the calling thread's, if it has one; else its CPU's,
 * if there is one; else the domain's default worker, which starts with the first callback. A worker
 * takes all its callbacks, waits for one grace period and calls them. Functions that take a
 * domain serve every flavour: &rcu_memb_domain and its sisters.
 * Paper: T 6.4.5 (figure 6.11), 6.5.3 (figures 6.17, 6.18: batch size).
 */
#ifndef LULL_RCU_CALL_H
#define LULL_RCU_CALL_H

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_head - Room in an object for its callback.
 * @next: the library's.
 * @func: the library's.
 */
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

struct call_rcu_data; /* a worker */

/* The worker wakes by its own timer: callers make no system call (for real-time threads). */
#define CALL_RCU_RT 1UL

/**
 * struct call_rcu_tuning - How a worker trades memory for processor time.
 * @batch_min_count: it waits for that many callbacks before it starts a grace period,
 * @delay_max_us: but no longer than this after the first. 0: not at all.
 *
 * The default waits for nothing: a batch is what came during the last grace period.
 */
struct call_rcu_tuning {
	unsigned long batch_min_count;
	unsigned long delay_max_us;
};

void rcu_domain_call(struct rcu_domain *domain, struct rcu_head *head,
		     void (*func)(struct rcu_head *head));
void rcu_domain_barrier(struct rcu_domain *domain);

struct call_rcu_data *create_call_rcu_data(struct rcu_domain *domain, unsigned long flags,
					   int cpu);
void call_rcu_data_free(struct call_rcu_data *worker);
void call_rcu_data_tune(struct call_rcu_data *worker, const struct call_rcu_tuning *tuning);
struct call_rcu_data *get_default_call_rcu_data(struct rcu_domain *domain);
struct call_rcu_data *get_call_rcu_data(struct rcu_domain *domain);
struct call_rcu_data *get_thread_call_rcu_data(struct rcu_domain *domain);
void set_thread_call_rcu_data(struct rcu_domain *domain, struct call_rcu_data *worker);
struct call_rcu_data *get_cpu_call_rcu_data(struct rcu_domain *domain, int cpu);
int set_cpu_call_rcu_data(struct rcu_domain *domain, int cpu, struct call_rcu_data *worker);
int create_all_cpu_call_rcu_data(struct rcu_domain *domain, unsigned long flags);
void free_all_cpu_call_rcu_data(struct rcu_domain *domain);
int call_rcu_data_thread(const struct call_rcu_data *worker, void *pthread);

void call_rcu_before_fork(struct rcu_domain *domain);
void call_rcu_after_fork_parent(struct rcu_domain *domain);
void call_rcu_after_fork_child(struct rcu_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
