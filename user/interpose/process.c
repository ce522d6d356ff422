/* SPDX-License-Identifier: MIT */
/*
 * process: forking, ending, waiting for children, running commands.
 *
 * user/process.c records a process's start and its exit through exit(); this file has the calls
 * that reach the kernel in other ways. vfork is in user/vfork_*.S: a C function cannot return
 * twice.
 */
#include "interpose.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "control.h"
#include "environment.h"
#include "liblull.h"

static inline __attribute__((always_inline)) pid_t record_fork(pid_t parent, pid_t result)
{
	if (result == 0) {
		EVENT("process:forked", lull_i32(parent_pid, parent));
		return 0;
	}
	EVENT("process:fork", lull_i32(child_pid, result), ERROR_FIELD(result));
	return result;
}

INTERPOSE(fork, pid_t, (void))
{
	pid_t parent = (pid_t)lull_process.pid;

	lull_control_notice();
	return record_fork(parent, REAL(fork)());
}

/* Calls no handlers of pthread_atfork(), by one of which liblull hears of other forks. */
INTERPOSE(_Fork, pid_t, (void))
{
	pid_t parent = (pid_t)lull_process.pid;
	pid_t result = REAL(_Fork)();

	if (result == 0)
		lull_process_forked();
	return record_fork(parent, result);
}

static inline __attribute__((always_inline)) void record_exit(int status)
{
	EVENT("process:quick_exit", lull_i32(status, status));
}

INTERPOSE(_exit, void, (int status))
{
	record_exit(status);
	REAL(_exit)(status);
	__builtin_unreachable();
}
ALIAS(_Exit, _exit);

/*
 * Shape: wait for a child. The status is read only when a child was found. A caller that wants none
 * gives NULL; for the event it is asked for all the same.
 */
#define WAIT(function, wanted, parameters, arguments) \
	INTERPOSE(function, pid_t, parameters)        \
	{                                             \
		pid_t result;                         \
		int unwanted;                         \
                                                      \
		if (!status)                          \
			status = &unwanted;           \
		wait_entry(wanted);                   \
		result = REAL(function) arguments;    \
		return wait_exit(result, status);     \
	}

static inline __attribute__((always_inline)) void wait_entry(pid_t wanted)
{
	EVENT("process:wait_entry", lull_i32(wanted_pid, wanted));
}

static inline __attribute__((always_inline)) pid_t wait_exit(pid_t result, const int *status)
{
	EVENT("process:wait_exit", lull_i32(child_pid, result),
	      lull_x32(status, result > 0 ? (unsigned int)*status : 0), ERROR_FIELD(result));
	return result;
}

WAIT(wait, -1, (int *status), (status))
WAIT(waitpid, wanted, (pid_t wanted, int *status, int options), (wanted, status, options))
WAIT(wait3, -1, (int *status, int options, struct rusage *usage), (status, options, usage))
WAIT(wait4, wanted, (pid_t wanted, int *status, int options, struct rusage *usage),
     (wanted, status, options, usage))

BLOCKING("process:waitid", waitid, int, (idtype_t kind, id_t wanted, siginfo_t *info, int options),
	 (kind, wanted, info, options), lull_i32(kind, (int)kind), lull_u32(wanted, wanted),
	 lull_x32(options, (unsigned int)options))

/*
 * A shell that the C library starts, and that will not be recorded, is told of as one that the
 * program spawns, or nobody would know that it is missing. Its number is not known.
 */
static void record_shell(const char *command)
{
	enum lull_target kind = lull_environment_of_shell();

	if (kind == LULL_TARGET_LOADS)
		return;
	EVENT("process:spawn_entry", lull_str(path, "/bin/sh"), lull_str(arguments, command),
	      lull_enum(recorded, (int)kind, LULL_TARGET_NAMES));
	EVENT("process:spawn_exit", lull_i32(child_pid, 0), lull_i32(result, 0));
}

INTERPOSE(system, int, (const char *command))
{
	int result;

	EVENT("process:system_entry", lull_str(command, command));
	record_shell(command); /* before the call, which may last until recording ends */
	result = REAL(system)(command);
	EVENT("process:system_exit", lull_i64(result, result), ERROR_FIELD(result));
	return result;
}

INTERPOSE(popen, FILE *, (const char *command, const char *mode))
{
	FILE *file = REAL(popen)(command, mode);

	EVENT("process:popen", lull_str(command, command), lull_str(mode, mode),
	      lull_ptr(file, file), lull_i32(error, file ? 0 : errno));
	if (file)
		record_shell(command);
	return file;
}

BLOCKING("process:pclose", pclose, int, (FILE * file), (file), lull_ptr(file, file))

IMMEDIATE("process:kill", kill, int, (pid_t pid, int signal), (pid, signal), lull_i32(pid, pid),
	  lull_i32(signal, signal))
