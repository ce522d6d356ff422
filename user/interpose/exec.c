/* SPDX-License-Identifier: MIT */
/*
 * process: executing another program, in this process or a new one.
 *
 * The many forms come down to four real functions. Everything is on the stack, because a vfork
 * child or a signal handler may call exec; and in pieces no larger than they have to be, because
 * the stack may be small. The event is recorded before the call, because after a success no code of
 * ours runs. Before that the file is examined, which also shows whether the kernel can read the
 * path.
 */
#include "interpose.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "environment.h"

#define ARGUMENTS_TEXT_BYTES 1024

#if defined(__x86_64__)
#define SPAWN_VERSION "GLIBC_2.15" /* the older one runs scripts without "#!" by a shell */
#else
#define SPAWN_VERSION NULL
#endif

REAL_FUNCTION(execve);
REAL_FUNCTION(execvpe);
REAL_FUNCTION(fexecve);
REAL_FUNCTION(execveat);
REAL_VERSIONED(posix_spawn, SPAWN_VERSION);
REAL_VERSIONED(posix_spawnp, SPAWN_VERSION);

typedef char *const *text_list;

/* How much memory the arguments take as one line. */
static size_t joined_bytes(text_list arguments)
{
	size_t bytes = 1;

	for (size_t i = 0; arguments && arguments[i] && bytes < ARGUMENTS_TEXT_BYTES; i++)
		bytes += strnlen(arguments[i], ARGUMENTS_TEXT_BYTES) + 1;
	return bytes < ARGUMENTS_TEXT_BYTES ? bytes : ARGUMENTS_TEXT_BYTES;
}

/* The arguments as one line, cut to fit. */
static const char *joined(char *line, size_t bytes, text_list arguments)
{
	size_t used = 0;

	for (size_t i = 0; arguments && arguments[i] && used < bytes - 1; i++) {
		if (i)
			line[used++] = ' ';
		for (const char *from = arguments[i]; *from && used < bytes - 1;)
			line[used++] = *from++;
	}
	line[used] = '\0';
	return line;
}

static __attribute__((noinline)) void record_exec(const struct exec_target *target,
						  text_list arguments)
{
	size_t bytes = joined_bytes(arguments);
	char *line = __builtin_alloca(bytes);

	EVENT("process:exec_entry", DIRECTORY_FIELD(target->directory_fd),
	      lull_str(path, target->unreadable ? NULL : target->path),
	      lull_str(arguments, joined(line, bytes, arguments)),
	      lull_enum(recorded, (int)target->kind, LULL_TARGET_NAMES));
}

/* An exec that returns has failed. */
static int record_failure(int result)
{
	EVENT("process:exec_exit", lull_i64(result, result), ERROR_FIELD(result));
	return result;
}

static int call_execve(const struct exec_target *target, text_list arguments, text_list environment)
{
	if (target->search)
		return REAL(execvpe)(target->path, arguments, environment);
	return REAL(execve)(target->path, arguments, environment);
}

/* The path where the environment has to change, apart for its use of stack. */
static __attribute__((noinline)) int exec_changed(const struct exec_target *target,
						  text_list arguments, text_list environment)
{
	size_t bytes = lull_environment_bytes(environment);
	char *copy = __builtin_alloca(bytes);

	return call_execve(target, arguments,
			   lull_environment_make(copy, bytes, environment, target));
}

static int exec_traced(const char *path, int search, text_list arguments, text_list environment)
{
	struct exec_target target = { .directory_fd = AT_FDCWD, .path = path, .search = search };
	int changes = lull_environment_judge(environment, &target);

	record_exec(&target, arguments);
	if (changes)
		return record_failure(exec_changed(&target, arguments, environment));
	return record_failure(call_execve(&target, arguments, environment));
}

INTERPOSED int execve(const char *path, text_list arguments, text_list environment)
{
	return exec_traced(path, 0, arguments, environment);
}

INTERPOSED int execv(const char *path, text_list arguments)
{
	return exec_traced(path, 0, arguments, environ);
}

INTERPOSED int execvpe(const char *name, text_list arguments, text_list environment)
{
	return exec_traced(name, 1, arguments, environment);
}

INTERPOSED int execvp(const char *name, text_list arguments)
{
	return exec_traced(name, 1, arguments, environ);
}

/* How many arguments there are, up to the NULL, after @first. */
static size_t list_count(const char *first, va_list *list)
{
	size_t count = 0;

	for (const char *each = first; each; each = va_arg(*list, const char *))
		count++;
	return count;
}

/* Gather as many arguments, and leave @list after the NULL. */
static void list_gather(char **arguments, size_t count, const char *first, va_list *list)
{
	arguments[0] = (char *)first;
	for (size_t i = 1; i <= count; i++)
		arguments[i] = va_arg(*list, char *);
}

#define EXEC_LIST(function, search, environment)                                \
	INTERPOSED int function(const char *path, const char *first, ...)       \
	{                                                                       \
		char **arguments;                                               \
		va_list list;                                                   \
		size_t count;                                                   \
		int result;                                                     \
                                                                                \
		va_start(list, first);                                          \
		count = list_count(first, &list);                               \
		va_end(list);                                                   \
		arguments = __builtin_alloca((count + 1) * sizeof(*arguments)); \
		va_start(list, first);                                          \
		list_gather(arguments, count, first, &list);                    \
		result = exec_traced(path, search, arguments, environment);     \
		va_end(list);                                                   \
		return result;                                                  \
	}

EXEC_LIST(execl, 0, environ)
EXEC_LIST(execlp, 1, environ)
EXEC_LIST(execle, 0, va_arg(list, text_list))

static __attribute__((noinline)) int fexecve_changed(const struct exec_target *target,
						     text_list arguments, text_list environment)
{
	size_t bytes = lull_environment_bytes(environment);
	char *copy = __builtin_alloca(bytes);

	return REAL(fexecve)(target->directory_fd, arguments,
			     lull_environment_make(copy, bytes, environment, target));
}

INTERPOSED int fexecve(int fd, text_list arguments, text_list environment)
{
	struct exec_target target = { .directory_fd = fd, .path = "" };
	int changes = lull_environment_judge(environment, &target);

	record_exec(&target, arguments);
	if (changes && environment) /* without one it fails */
		return record_failure(fexecve_changed(&target, arguments, environment));
	return record_failure(REAL(fexecve)(fd, arguments, environment));
}

static __attribute__((noinline)) int execveat_changed(const struct exec_target *target,
						      text_list arguments, text_list environment,
						      int flags)
{
	size_t bytes = lull_environment_bytes(environment);
	char *copy = __builtin_alloca(bytes);

	return REAL(execveat)(target->directory_fd, target->path, arguments,
			      lull_environment_make(copy, bytes, environment, target), flags);
}

INTERPOSED int execveat(int directory_fd, const char *path, text_list arguments,
			text_list environment, int flags)
{
	struct exec_target target = { .directory_fd = directory_fd, .path = path };
	int changes = lull_environment_judge(environment, &target);

	record_exec(&target, arguments);
	if (changes)
		return record_failure(execveat_changed(&target, arguments, environment, flags));
	return record_failure(REAL(execveat)(directory_fd, path, arguments, environment, flags));
}

static __attribute__((noinline)) void record_spawn(const struct exec_target *target,
						   text_list arguments)
{
	size_t bytes = joined_bytes(arguments);
	char *line = __builtin_alloca(bytes);

	EVENT("process:spawn_entry", lull_str(path, target->unreadable ? NULL : target->path),
	      lull_str(arguments, joined(line, bytes, arguments)),
	      lull_enum(recorded, (int)target->kind, LULL_TARGET_NAMES));
}

static int record_spawned(const pid_t *child, int result)
{
	EVENT("process:spawn_exit", lull_i32(child_pid, stored_after(child, -result)),
	      lull_i32(result, result));
	return result;
}

struct spawn {
	pid_t *child;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

static int call_spawn(const struct spawn *spawn, const struct exec_target *target,
		      text_list arguments, text_list environment)
{
	if (target->search)
		return REAL(posix_spawnp)(spawn->child, target->path, spawn->actions,
					  spawn->attributes, arguments, environment);
	return REAL(posix_spawn)(spawn->child, target->path, spawn->actions, spawn->attributes,
				 arguments, environment);
}

static __attribute__((noinline)) int spawn_changed(const struct spawn *spawn,
						   const struct exec_target *target,
						   text_list arguments, text_list environment)
{
	size_t bytes = lull_environment_bytes(environment);
	char *copy = __builtin_alloca(bytes);

	return call_spawn(spawn, target, arguments,
			  lull_environment_make(copy, bytes, environment, target));
}

/*
 * The child has the parent's memory until its exec, but not the parent's thread: the C library
 * starts it, and it calls none of ours. A caller that does not want its number gives NULL; for the
 * event it is asked for all the same.
 */
static int spawn_traced(struct spawn *spawn, struct exec_target *target, text_list arguments,
			text_list environment)
{
	int changes = lull_environment_judge(environment, target);
	pid_t unwanted;
	int result;

	if (!spawn->child)
		spawn->child = &unwanted;
	record_spawn(target, arguments);
	if (changes)
		result = spawn_changed(spawn, target, arguments, environment);
	else
		result = call_spawn(spawn, target, arguments, environment);
	return record_spawned(spawn->child, result);
}

#define SPAWN(function, searched)                                                                \
	INTERPOSED int function(                                                                 \
		pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,       \
		const posix_spawnattr_t *attributes, text_list arguments, text_list environment) \
	{                                                                                        \
		struct spawn spawn = { child, actions, attributes };                             \
		struct exec_target target = { .directory_fd = AT_FDCWD,                          \
					      .path = path,                                      \
					      .search = searched };                              \
                                                                                                 \
		return spawn_traced(&spawn, &target, arguments, environment);                    \
	}

SPAWN(posix_spawn, 0)
SPAWN(posix_spawnp, 1)
