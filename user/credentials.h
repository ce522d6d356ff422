/* SPDX-License-Identifier: MIT */
/*
 * A process that becomes another user: what the interposers of setuid and its sisters call.
 *
 * Context of both: as the calls that they surround; errno unchanged.
 */
#ifndef LIBLULL_CREDENTIALS_H
#define LIBLULL_CREDENTIALS_H

#include "liblull.h"

/* The new user's part in each session of the process, until the call has succeeded. */
struct lull_user_change {
	uint32_t user;
	uint32_t count;
	struct session made[LULL_SESSIONS_MAX]; /* map.bytes is 0 where there is none */
};

/* Before the call: attach the memory of @user in each session, or make it. */
void lull_user_prepare(struct lull_user_change *change, uint32_t user);

/*
 * After the call, whether it succeeded or not: record as the new user, if the process is no
 * longer its old one, or not at all where the new user has no memory.
 */
void lull_user_conclude(struct lull_user_change *change);

#endif
