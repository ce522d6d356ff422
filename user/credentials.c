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
 * probe meanwhile: what they write goes into those zeros.
 *
 * A vfork child runs on its parent's memory. It changes nothing there: the program that it executes
 * next attaches its own user's memory, which exists by then.
 *
 * liblull does not see a change that a program makes by the system call itself, and makes no system
 * call under a filter that the program installed. Then the process keeps the old memory until it
 * executes another program; the ring's masks bound what it can do there (docs/adr/0010).
 */
#include <linux/mman.h>
#include "credentials.h"
#include "lull_port.h"
#include "syscall.h"

#define PAGE_BYTES 4096ull
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
	for (uint32_t i = 0; i < lull_process.session_count; i++) {
		const struct session *session = &lull_process.sessions[i];
		struct session *made = &change->made[i];

		made->map.bytes = 0;
		if (is_vfork_child())
			lull_session_make(session, user);
		else if (lull_session_attach(made, &session->directory, user) &&
			 !lull_session_make(session, user))
			lull_session_attach(made, &session->directory, user);
	}
	change->count = is_vfork_child() ? 0 : lull_process.session_count;
}

/* Put private zeros in place of the memory of a session that the process has left. */
static void session_forget(struct session *session)
{
	uint64_t bytes = (session->map.bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

	lull_syscall(__NR_mmap, (long)session->map.base, (long)bytes, PROT_READ | PROT_WRITE,
		     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	session->patterns = "";
	session->rule_count = 0;
	session->filters_bytes = 0;
}

/* Record in a session what was recorded in session @from. Return: its index. */
static uint32_t session_add(const struct session *session)
{
	uint32_t index = lull_process.session_count;

	lull_process.sessions[index] = *session;
	lull_add32_relaxed(&session->control->process_count, 1);
	lull_probe_line_set(index);
	lull_process.session_count = index + 1;
	return index;
}

static void user_leave(struct lull_user_change *change, uint32_t user)
{
	uint32_t count = lull_process.session_count;

	for (uint32_t i = 0; i < count; i++) {
		struct session *session = &lull_process.sessions[i];
		uint32_t to = LULL_SESSIONS_MAX;

		if (change->user == user && i < change->count && change->made[i].map.bytes &&
		    lull_process.session_count < LULL_SESSIONS_MAX)
			to = session_add(&change->made[i]);
		else
			lull_add32_relaxed(&session->control->refused_count, 1);
		lull_objects_move(i, to);
		session_forget(session);
	}
	lull_process.user = user;
}

void lull_user_conclude(struct lull_user_change *change)
{
	if (!lull_process.session_count || is_vfork_child())
		return;
	if (is_user(lull_process.user)) {
		for (uint32_t i = 0; i < change->count; i++)
			if (change->made[i].map.bytes)
				lull_session_detach(&change->made[i]);
		return;
	}
	user_leave(change, (uint32_t)lull_syscall(__NR_geteuid, 0, 0, 0, 0, 0, 0));
}
