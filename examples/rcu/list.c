/* SPDX-License-Identifier: MIT */
/*
 * A list of accounts that readers add up while one thread changes it.
 *
 * Build: gcc list.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if every
 * reader met each account that stayed, once, and none that was freed.
 */
#include <lull/rcu/list.h>
#include <lull/rcu/memb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define READERS 2
#define ACCOUNTS 10 /* accounts that stay; others come and go */
#define UPDATES 20000

struct account {
	struct rcu_list_node node; /* its place in the list */
	struct rcu_head head; /* its place in the queue of those to free */
	int number;
	int balance; /* always 100 times the number */
};

static struct rcu_list accounts = RCU_LIST_INIT(accounts);
static int stop, wrong;

static void *reader(void *count)
{
	rcu_register_thread();
	do {
		int stayed = 0, right = 1;
		struct account *account;

		rcu_read_lock(); /* the whole walk is one section */
		rcu_list_for_each_entry_rcu(account, &accounts, node) {
			stayed += account->number < ACCOUNTS;
			right &= account->balance == 100 * account->number;
		}
		rcu_read_unlock();
		if (!right || stayed != ACCOUNTS)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		++*(unsigned long *)count;
	} while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
	rcu_unregister_thread();
	return NULL;
}

static struct account *open_account(int number)
{
	struct account *account = malloc(sizeof(*account));

	if (!account)
		abort();
	account->number = number;
	account->balance = 100 * number;
	return account;
}

static void close_account(struct rcu_head *head)
{
	struct account *account = rcu_entry(head, struct account, head);

	account->balance = -1; /* a reader that still held it would notice */
	free(account);
}

int main(void)
{
	unsigned long counts[READERS] = { 0 }, reads = 0;
	pthread_t threads[READERS];
	struct account *account;
	int i;

	for (i = 0; i < ACCOUNTS; i++)
		rcu_list_add_tail(&open_account(i)->node, &accounts);
	for (i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader, &counts[i]))
			return 1;
	for (i = ACCOUNTS; i < ACCOUNTS + UPDATES; i++) { /* one updater: it needs no lock */
		struct account *guest = open_account(i), *changed = open_account(i);

		rcu_list_add(&guest->node, &accounts);
		rcu_list_replace(&guest->node, &changed->node); /* read, copy, update */
		call_rcu(&guest->head, close_account); /* when no reader can be on it */
		rcu_list_del(&changed->node);
		call_rcu(&changed->head, close_account);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		reads += counts[i];
	}
	rcu_list_for_each_entry(account, &accounts, node) {
		rcu_list_del(&account->node);
		call_rcu(&account->head, close_account);
	}
	rcu_barrier(); /* all of them are freed */
	printf("%d updates, %lu walks, %d wrong\n", UPDATES, reads, wrong);
	return wrong != 0 || !rcu_list_empty(&accounts);
}
