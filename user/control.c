/* SPDX-License-Identifier: MIT */
/*
 * Sessions that come, change and end while the process runs (control.h says who calls this).
 *
 *	join	attach, a place and its line (attach.c, probe.c); then each probe's record and
 *		site, by the list of objects (objects.c)
 *	poll	copy the rules (rules.c); then the same for the sessions whose rules have changed
 *	leave	take the session's bits from all records, restore sites that nobody wants; then
 *		put private zeros in place of its memory
 *
 * There is no grace period after a leave: attach.c and probe.c say why none is needed. An
 * occurrence of an event that is under way at a change may be decided by the rules before it or
 * after it. Papers: T 4.6.1, B 3.4. docs/adr/0016.
 */
#include <errno.h>
#include "change.h"
#include "control.h"
#include "liblull.h"
#include "lull_port.h"
#define LULL_SITE_SESSIONS sessions
#include "sites.h"

/* A child of vfork() runs on its parent's memory. */
static int change_begin(void)
{
	if (lull_confined)
		return -EPERM;
	return lull_thread.state & THREAD_IN_VFORK ? -EBUSY : lull_change_begin();
}

/* Return: 0, or -ENAMETOOLONG. Bound: LULL_LINK_BYTES. */
static int directory_read(struct lull_directory *directory, const char *path)
{
	size_t bytes = 0;

	while (path[bytes] && bytes < LULL_LINK_BYTES)
		bytes++;
	*directory = (struct lull_directory){ path, bytes };
	return bytes && bytes < LULL_LINK_BYTES ? 0 : -ENAMETOOLONG;
}

/*
 * Begin a change of the session in a directory.
 * @found: gets the session's place, or -ENOENT.
 * Return: 0, and then the change is to be ended; or why it is not begun.
 */
static int change_begin_of(struct lull_directory *directory, const char *path, int *found)
{
	int result = directory_read(directory, path);

	if (!result)
		result = change_begin();
	if (!result)
		*found = lull_session_find(directory);
	return result;
}

/* The bits go first: a child that is forked meanwhile by another thread is in the session still. */
static int session_leave(uint32_t index)
{
	int changed = lull_objects_change(1u << index, CHANGE_LEAVE), result;

	if (changed < 0)
		return changed;
	result = lull_session_forget(index);
	lull_session_rules_release(&lull_process.sessions[index]);
	return result ? result : changed;
}

/* Events by which a trace's readers know a process that was there before the sessions of a mask. */
static void record_join(uint32_t sessions)
{
	char asked[LULL_PATH_BYTES];
	const char *path = lull_path_ask(asked);

	lull_event("process:join", lull_u32(pid, lull_process.pid), lull_str(path, path));
	lull_objects_dump_seen(path, sessions);
}

static int session_join(struct lull_directory *directory)
{
	struct session session;
	uint32_t index;
	int result;

	directory->path = lull_text_keep(directory->path);
	if (!directory->path)
		return -ENOMEM;
	result = lull_session_attach(&session, directory, lull_process.user);
	if (result)
		return result;
	index = lull_session_add(&session);
	if (index == LULL_SESSIONS_MAX) {
		lull_session_detach(&session);
		return -ENOSPC;
	}
	result = lull_objects_change(1u << index, CHANGE_JOIN);
	if (result < 0) {
		lull_session_forget(index);
		lull_session_rules_release(&lull_process.sessions[index]);
		return result;
	}
	lull_vfork_tells = 1;
	record_join(1u << index);
	return (int)index;
}

int lull_control_join(const char *path)
{
	struct lull_directory directory;
	int found, result = change_begin_of(&directory, path, &found);

	if (result)
		return result;
	result = found == -ENOENT ? session_join(&directory) : found;
	lull_change_end();
	return result;
}

int lull_control_leave(const char *path)
{
	struct lull_directory directory;
	int found, result = change_begin_of(&directory, path, &found);

	if (result)
		return result;
	result = found >= 0 ? session_leave((uint32_t)found) : found;
	lull_change_end();
	return result < 0 ? result : 0;
}

/* Take the rules over of each session. Return: 0, or the first error. */
static int rules_update(uint32_t *changed)
{
	int error = 0;

	if (lull_change_is_interrupted()) {
		EACH_SESSION(i)
			lull_session_rules_restore(&lull_process.sessions[i]);
		*changed = lull_process.attached;
		return 0;
	}
	EACH_SESSION(i) {
		int result = lull_session_rules_update(&lull_process.sessions[i]);

		if (result > 0)
			*changed |= 1u << i;
		else if (result && !error)
			error = result;
	}
	return error;
}

/* Leave those that have ended. Return: probes and sites changed, or the first error. */
static int ended_leave(void)
{
	int sum = 0, error = 0;

	EACH_SESSION(i) {
		int result = 0;

		if (lull_load32(&lull_process.sessions[i].control->ended))
			result = session_leave(i);
		if (result < 0 && !error)
			error = result;
		sum += result > 0 ? result : 0;
	}
	return error ? error : sum;
}

int lull_control_poll(void)
{
	int result = change_begin(), error, left;
	uint32_t changed = 0;

	if (result)
		return result;
	left = ended_leave();
	error = rules_update(&changed);
	result = changed ? lull_objects_change(changed, CHANGE_RULES) : 0;
	if (result >= 0)
		lull_change_mended();
	lull_change_end();
	if (result < 0 || left < 0)
		return left < 0 ? left : result;
	return error ? error : result + left;
}

int lull_control_abandon(void)
{
	lull_change_abandon();
	return 0;
}

void lull_control_notice(void)
{
	if (lull_change_is_interrupted()) {
		lull_control_poll();
		return;
	}
	EACH_SESSION(i) {
		const struct session *session = &lull_process.sessions[i];
		const struct lull_session_control *control =
			lull_load_pointer(&lull_process.controls[i]);

		if (control && (lull_load32(&control->rules_sequence) !=
					lull_load32(&session->rules_sequence) ||
				lull_load32(&control->ended))) {
			lull_control_poll();
			return;
		}
	}
}
