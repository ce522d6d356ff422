// SPDX-License-Identifier: MIT
/* A plugin that uses bp: its host knows nothing of RCU. plugin_host.c loads and unloads it. */
#include <stddef.h>
#include <stdlib.h>
#include "lull/rcu/bp.h"

struct setting {
	struct rcu_head head;
	int value;
};

static struct setting *current;

static void setting_free(struct rcu_head *head)
{
	free((struct setting *)((char *)head - offsetof(struct setting, head)));
}

int plugin_read(void)
{
	int value;

	rcu_read_lock();
	value = rcu_dereference(current) ? rcu_dereference(current)->value : 0;
	rcu_read_unlock();
	return value;
}

void plugin_write(int value, int called)
{
	struct setting *setting = malloc(sizeof(*setting)), *old;

	if (!setting)
		abort();
	setting->value = value;
	old = rcu_xchg_pointer(&current, setting);
	if (!old)
		return;
	if (called) {
		call_rcu(&old->head, setting_free);
		return;
	}
	synchronize_rcu();
	free(old);
}

/* Before it is unloaded: its callbacks must have run, as their code goes. */
void plugin_end(void)
{
	rcu_barrier();
	free(current);
}
