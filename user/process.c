/* SPDX-License-Identifier: MIT */
/*
 * The process's life as a traced program: start before everything else, exit, descendants.
 *
 * liblull's constructor runs before all others (the library is linked with -z initfirst), so that
 * the constructors of the program and its libraries can be traced. It starts no thread, keeps no
 * descriptor and does not wait.
 */
#define _GNU_SOURCE
#include <linux/fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include "liblull.h"
#include "sites.h"
#include "syscall.h"

#define ARGUMENT_BYTES 2048
#define SCRIPT_ARGUMENTS_MAX 10 /* the kernel follows 5 scripts, and adds 2 arguments for each */

_Static_assert(offsetof(struct thread, state) == 0, "vfork_*.S knows its high half");
_Static_assert(offsetof(struct thread, vfork_pid) == 8, "vfork_*.S has it written");
_Static_assert(sizeof(((struct lull_ring_writer *)0)->name) == 16, "a name is two words");
_Static_assert(offsetof(struct lull_ring_writer, name) % 8 == 0, "of which each is aligned");

/* The arguments as one line, cut at @bytes. */
static void arguments_join(char *line, size_t bytes, int count, char *const *arguments)
{
	size_t used = 0;

	for (int i = 0; i < count && arguments[i]; i++) {
		const char *from = arguments[i];

		if (i && used + 1 < bytes)
			line[used++] = ' ';
		while (*from && used + 1 < bytes)
			line[used++] = *from++;
	}
	line[used] = '\0';
}

static int begins(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

/*
 * The path that the program was executed by, where it is that of its file: absolute, and not a
 * descriptor's. That of a script is not: its interpreter is the program, and has the script among
 * its first arguments. Return: NULL where only the kernel knows.
 */
static const char *executed_path(int count, char *const *arguments)
{
	const char *path = (const char *)getauxval(AT_EXECFN);

	if (!path || *path != '/' || begins(path, "/dev/fd/") || begins(path, "/proc/"))
		return NULL;
	for (int i = 1; i < count && i <= SCRIPT_ARGUMENTS_MAX; i++)
		if (arguments[i] && begins(arguments[i], path))
			return NULL;
	return path;
}

/* To ask for it costs an inode that the kernel makes for this process. */
const char *lull_path_ask(char path[LULL_PATH_BYTES])
{
	long length = lull_syscall(__NR_readlinkat, AT_FDCWD, (long)"/proc/thread-self/exe",
				   (long)path, LULL_PATH_BYTES - 1, 0, 0);

	path[length > 0 ? length : 0] = '\0';
	return path;
}

static void record_start(int count, char *const *arguments)
{
	char line[ARGUMENT_BYTES], asked[LULL_PATH_BYTES];
	const char *path = executed_path(count, arguments);

	if (!path)
		path = lull_path_ask(asked);
	arguments_join(line, sizeof(line), count, arguments);
	lull_event("process:start", lull_u32(pid, lull_process.pid),
		   lull_u32(parent_pid, (uint32_t)lull_syscall(__NR_getppid, 0, 0, 0, 0, 0, 0)),
		   lull_str(path, path), lull_str(arguments, line));
	lull_objects_dump(path);
}

static void record_exit(int status, void *unused)
{
	(void)unused;
	lull_event("process:exit", lull_i32(status, status));
}

static const char *environment_find(char *const *environment, const char *name)
{
	size_t bytes = __builtin_strlen(name);

	for (; environment && *environment; environment++)
		if (!__builtin_strncmp(*environment, name, bytes) && (*environment)[bytes] == '=')
			return *environment + bytes + 1;
	return NULL;
}

/* liblull has started, and knows which objects there are. */
AT_START static int is_started;

/* Called by shared objects that carry sites, before their own constructors. */
__attribute__((visibility("default"))) void lull_object_loaded(void)
{
	if (is_started)
		lull_objects_scan();
}

/*
 * A process without a session starts as well: one may come while it runs (control.h), by a thread
 * that can then ask for none of what is done here. So does a program with its file's user or
 * capabilities, which root may have join; but its environment, whoever executed it made.
 */
__attribute__((constructor(101))) static void start(int count, char **arguments, char **environment)
{
	const char *sessions = NULL;

	if (is_started)
		return;
	is_started = 1;
	if (!getauxval(AT_SECURE))
		sessions = environment_find(environment, LULL_SESSION_VARIABLE);
	lull_identity_start();
	if (sessions)
		lull_attach(sessions);
	lull_objects_scan();
	on_exit(record_exit, NULL);
	if (!lull_process.attached)
		return;
	lull_vfork_tells = 1;
	record_start(count, arguments);
}
