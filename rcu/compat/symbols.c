// SPDX-License-Identifier: MIT
/*
 * Entry points under liburcu's names for what is inline in its headers here: for configure
 * scripts that try to link, and for languages that call C by name.
 */
#include <lull/rcu/flavour/bp.h>
#include <lull/rcu/flavour/mb.h>
#include <lull/rcu/flavour/memb.h>
#include <lull/rcu/flavour/qsbr.h>
#include <lull/rcu/flavour/signal.h>

/* A function under such a name, and the declaration that a public one must have. */
#define ENTRY(type, name, parameters, body) \
	type name parameters;               \
	type name parameters                \
	{                                   \
		body;                       \
	}

#define READ_SIDE(name)                                                                    \
	ENTRY(void, urcu_##name##_read_lock, (void), rcu_##name##_read_lock())             \
	ENTRY(void, urcu_##name##_read_unlock, (void), rcu_##name##_read_unlock())         \
	ENTRY(int, urcu_##name##_read_ongoing, (void), return rcu_##name##_read_ongoing()) \
	ENTRY(void, urcu_##name##_quiescent_state, (void), rcu_##name##_quiescent_state()) \
	ENTRY(void, urcu_##name##_thread_offline, (void), rcu_##name##_thread_offline())   \
	ENTRY(void, urcu_##name##_thread_online, (void), rcu_##name##_thread_online())

/* clang-format off */
READ_SIDE(qsbr)
READ_SIDE(mb)
READ_SIDE(signal)
READ_SIDE(memb)
READ_SIDE(bp)

ENTRY(void *, rcu_dereference_sym, (void *p), return __atomic_load_n(&p, __ATOMIC_ACQUIRE))
ENTRY(void *, rcu_dereference_sym2, (void **p), return rcu_dereference(*p))
ENTRY(void *, rcu_set_pointer_sym, (void **p, void *v), rcu_assign_pointer(*p, v); return v)
ENTRY(void *, rcu_xchg_pointer_sym, (void **p, void *v), return rcu_xchg_pointer(p, v))
ENTRY(void *, rcu_cmpxchg_pointer_sym, (void **p, void *old, void *_new),
      return rcu_cmpxchg_pointer(p, old, _new))
/* clang-format on */
