/* SPDX-License-Identifier: MIT */
/*
 * A process that becomes another user: it gives up its old user's memory, for good, and records
 * in that of its new user, in the same sessions.
 *
 * Processes of different users never share memory that they can write to. A process keeps a user's
 * memory as long as one of its three user identifiers is that user's: so long it can become that
 * user again, and only that user and root can control it. The call that takes the last of these
 * identifiers away is the one that matters, and only root's processes can make it. Before the call
 * liblull attaches or makes the new user's memory, while the process still may; after the call it
 * replaces the old memory by private zeros at the same addresses. Other threads may be inside a
 * probe meanwhile. Once no event is recorded in the old memory any more, the call waits until they
 * are out of it (quiescence.c); what a thread that is not out in time writes goes into those zeros.
 *
 * A vfork child runs on its parent's memory. It changes nothing there: the program that it executes
 * next attaches its own user's memory, which exists by then.
 *
 * liblull does not see a change that a program makes by the system call itself, and makes no system
 * call under a filter that the program installed. Then the process keeps the old memory until it
 * executes another program; the ring's masks bound what it can do there (docs/adr/0010).
 */
#include "change.h"
#include "credentials.h"
#include "lull_port.h"
#include "syscall.h"

#define ROOT 0u

/* Look at the process's user identifiers. Return: is @user one of the three? */
static int is_user(uint32_t user)
{
	uint32_t real, effective, saved;

	lull_syscall(__NR_getresuid, (long)&real, (long)&effective, (long)&saved, 0, 0, 0);
	lull_process.effective_user = effective;
	return real == user || effective == user || saved == user;
}

static int is_vfork_child(void)
{
	return (lull_thread.state & THREAD_IN_VFORK) != 0;
}

void lull_user_prepare(struct lull_user_change *change, uint32_t user)
{
	change->user = user;
	change->count = 0;
	if (lull_process.user != ROOT || user == ROOT)
		return;
	for (uint32_t i = 0; i < LULL_SESSIONS_MAX; i++)
		change->made[i].map.bytes = 0;
	EACH_SESSION(i) {
		const struct session *session = &lull_process.sessions[i];
		struct session *made = &change->made[i];

		if (is_vfork_child())
			lull_session_make(session, user);
		else if (lull_session_attach(made, &session->directory, user) &&
			 !lull_session_make(session, user))
			lull_session_attach(made, &session->directory, user);
	}
	change->count = is_vfork_child() ? 0 : LULL_SESSIONS_MAX;
}

/*
 * Leave a session while another change, or a load or unload, is under way, which this process
 * cannot wait for: its events keep their bits, and its place is taken for good.
 */
static void session_spend(uint32_t index)
{
	lull_process.spent |= 1u << index;
	lull_session_forget(index);
}

/*
 * Labels of threads go on in the new user's memory behind those that this process may have from
 * the old one's (thread.c): the program that it executes next must get another one than it has.
 */
static void labels_go_on(struct lull_session_control *control, uint64_t count)
{
	uint64_t found = lull_load(&control->label_count);

	if (found < count)
		lull_add_relaxed(&control->label_count, count - found);
}

static void user_leave(struct lull_user_change *change, uint32_t user)
{
	uint32_t left = lull_process.attached;
	uint32_t first = (uint32_t)__builtin_ctz(left);
	uint64_t label_count = lull_load(&lull_process.sessions[first].control->label_count);
	int is_apart = lull_change_begin() == 0;

	/* Bound: LULL_SESSIONS_MAX bits. */
	for (; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left), to = LULL_SESSIONS_MAX;
		struct lull_session_control *control = lull_process.sessions[i].control;

		if (is_apart && change->user == user && i < change->count &&
		    change->made[i].map.bytes) {
			labels_go_on(change->made[i].control, label_count);
			to = lull_session_add(&change->made[i]);
		}
		if (to == LULL_SESSIONS_MAX)
			lull_add32_relaxed(&control->refused_count, 1);
		if (is_apart) {
			lull_objects_move(i, to);
			lull_threads_quiesce();
			lull_session_forget(i);
			lull_session_rules_release(&lull_process.sessions[i]);
		} else {
			session_spend(i);
		}
	}
	if (is_apart)
		lull_change_end();
	lull_process.user = user;
}

void lull_user_conclude(struct lull_user_change *change)
{
	if (!lull_process.attached || is_vfork_child())
		return;
	if (is_user(lull_process.user)) {
		for (uint32_t i = 0; i < change->count; i++)
			if (change->made[i].map.bytes)
				lull_session_detach(&change->made[i]);
		return;
	}
	user_leave(change, (uint32_t)lull_syscall(__NR_geteuid, 0, 0, 0, 0, 0, 0));
}
