/* SPDX-License-Identifier: MIT */
/*
 * process: becoming another user.
 *
 * The event is recorded as the new user. Paper: none; user/credentials.c says why
 * a process may not go on in the memory of the user that it was.
 */
#include "interpose.h"
#include <unistd.h>
#include "credentials.h"
#include "syscall.h"

#define KEPT ((uid_t)-1) /* this identifier stays as it is */

/* A number of this process that the kernel knows. */
static uid_t number(long call)
{
	return (uid_t)lull_syscall(call, 0, 0, 0, 0, 0, 0);
}

static inline __attribute__((always_inline)) int record_user(int result)
{
	EVENT("process:user", lull_u32(real, number(__NR_getuid)),
	      lull_u32(effective, number(__NR_geteuid)), lull_i32(result, result),
	      ERROR_FIELD(result));
	return result;
}

/* Shape: a call that may change the process's user, to @user if it succeeds. */
#define CHANGE_USER(function, user, parameters, arguments)   \
	INTERPOSE(function, int, parameters)                 \
	{                                                    \
		struct lull_user_change change;              \
		int result;                                  \
                                                             \
		if (!lull_process.attached || lull_confined) \
			return REAL(function) arguments;     \
		lull_user_prepare(&change, user);            \
		result = REAL(function) arguments;           \
		lull_user_conclude(&change);                 \
		return record_user(result);                  \
	}

CHANGE_USER(setuid, user, (uid_t user), (user))
CHANGE_USER(seteuid, effective, (uid_t effective), (effective))
CHANGE_USER(setreuid, effective == KEPT ? number(__NR_geteuid) : effective,
	    (uid_t real, uid_t effective), (real, effective))
CHANGE_USER(setresuid, effective == KEPT ? number(__NR_geteuid) : effective,
	    (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
