// SPDX-License-Identifier: MIT
/*
 * The five flavours as tables of functions, made of what a program would include.
 *
 * TORTURE_MB_LIGHT plants a fault: mb readers enter without their barrier.
 */
#include <string.h>
#include "lull/rcu/flavour/bp.h"
#include "lull/rcu/flavour/mb.h"
#include "lull/rcu/flavour/memb.h"
#include "lull/rcu/flavour/qsbr.h"
#include "lull/rcu/flavour/signal.h"
#include "torture.h"

#define WRAP(f, name)                \
	static void f##_##name(void) \
	{                            \
		rcu_##f##_##name();  \
	}

#define WRAP_ALL(f)                \
	WRAP(f, register_thread)   \
	WRAP(f, unregister_thread) \
	WRAP(f, read_lock)         \
	WRAP(f, read_unlock)       \
	WRAP(f, quiescent_state)   \
	WRAP(f, thread_offline)    \
	WRAP(f, thread_online)     \
	WRAP(f, synchronize)       \
	WRAP(f, synchronize_expedited)

#define ROW(f, quiescent_, automatic_)                                                  \
	{                                                                               \
		.name = #f, .domain = &rcu_##f##_domain, .quiescent = (quiescent_),     \
		.automatic = (automatic_), .register_thread = f##_register_thread,      \
		.unregister_thread = f##_unregister_thread, .read_lock = f##_read_lock, \
		.read_unlock = f##_read_unlock, .quiescent_state = f##_quiescent_state, \
		.offline = f##_thread_offline, .online = f##_thread_online,             \
		.synchronize = f##_synchronize, .expedited = f##_synchronize_expedited, \
		.start_poll = rcu_##f##_start_poll, .poll_state = rcu_##f##_poll_state, \
		.call = rcu_##f##_call, .barrier = rcu_##f##_barrier                    \
	}

WRAP_ALL(qsbr)
WRAP_ALL(mb)
WRAP_ALL(signal)
WRAP_ALL(memb)
WRAP_ALL(bp)

#ifdef TORTURE_MB_LIGHT
static void mb_read_lock_light(void)
{
	rcu_reader_enter_light(&rcu_mb_domain, &rcu_mb_reader);
}
#endif

static const struct flavour flavours[] = {
	ROW(qsbr, 1, 0), ROW(mb, 0, 0), ROW(signal, 0, 0), ROW(memb, 0, 0), ROW(bp, 0, 1),
};

const struct flavour *flavour_find(const char *name)
{
	size_t i;

#ifdef TORTURE_MB_LIGHT
	static struct flavour light;

	light = flavours[1];
	light.read_lock = mb_read_lock_light;
	if (!strcmp(name, "mb"))
		return &light;
#endif
	for (i = 0; i < sizeof(flavours) / sizeof(flavours[0]); i++)
		if (!strcmp(flavours[i].name, name))
			return &flavours[i];
	return NULL;
}
