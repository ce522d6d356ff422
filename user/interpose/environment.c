/* SPDX-License-Identifier: MIT */
/*
 * Keeping descendants traced (environment.h). What to put back is copied at start, before the
 * program can change its environment.
 */
#include "interpose.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "environment.h"
#include "liblull.h"
#include "syscall.h"

#define PRELOAD "LD_PRELOAD="
#define SESSION LULL_SESSION_VARIABLE "="
#define LIBRARY_PREFIX "liblull" /* of the file names of our libraries */
#define ENVIRONMENT_VARIABLES_MAX 1024 /* larger environments are left as they are */
#define ENVIRONMENT_TEXT_BYTES 2048 /* of one variable, with its name */
#define ADDED_MAX 3 /* LD_PRELOAD, LULL_SESSION and the NULL at the end */
#define SEARCH_PATH_BYTES 4096

/* Our own entries of LD_PRELOAD, and LULL_SESSION, as this process found them; or empty. */
AT_START static const char *own_preload = "";
AT_START static const char *own_session = "";

static char *variable_find(char *const *environment, const char *name)
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, strlen(name)))
			return *environment;
	return NULL;
}

static int separates(char c)
{
	return c == ':' || c == ' ';
}

/*
 * The length of a list's first member. Here and below are loops instead of functions of the C
 * library that nothing else needs, for the dynamic linker looks each of them up in each process.
 */
static size_t member_bytes(const char *list)
{
	size_t bytes = 0;

	while (list[bytes] && !separates(list[bytes]))
		bytes++;
	return bytes;
}

/* Is the library at @path of @bytes one of ours? */
static int is_own(const char *path, size_t bytes)
{
	const char *name = path;

	for (size_t i = 0; i < bytes; i++)
		if (path[i] == '/')
			name = path + i + 1;
	return (size_t)(path + bytes - name) >= sizeof(LIBRARY_PREFIX) - 1 &&
	       !memcmp(name, LIBRARY_PREFIX, sizeof(LIBRARY_PREFIX) - 1);
}

/* Copy our entries of the list @from to @to, with colons between. */
static void copy_own(char *to, size_t bytes, const char *from)
{
	size_t used = 0;

	while (*from) {
		size_t length = member_bytes(from);

		if (is_own(from, length) && used + length + 2 <= bytes) {
			if (used)
				to[used++] = ':';
			memcpy(to + used, from, length);
			used += length;
		}
		from += length;
		from += separates(*from);
	}
	to[used] = '\0';
}

static const char *text_kept(const char *text)
{
	const char *kept = lull_text_keep(text);

	return kept ? kept : "";
}

__attribute__((constructor(102))) static void remember(int count, char **arguments,
						       char **environment)
{
	const char *preload, *session;
	char own[ENVIRONMENT_TEXT_BYTES];

	(void)count;
	(void)arguments;
	if (!lull_process.attached)
		return;
	preload = variable_find(environment, PRELOAD);
	session = variable_find(environment, SESSION);
	if (preload) {
		copy_own(own, sizeof(own), preload + sizeof(PRELOAD) - 1);
		own_preload = text_kept(own);
	}
	if (session && strlen(session) < ENVIRONMENT_TEXT_BYTES)
		own_session = text_kept(session);
}

/* Does a list of libraries name one of a kind? */
static int names(const char *list, int (*is_kind)(const char *path, size_t bytes))
{
	while (*list) {
		size_t length = member_bytes(list);

		if (is_kind(list, length))
			return 1;
		list += length;
		list += separates(*list);
	}
	return 0;
}

static int preloads(char *const *environment, int (*is_kind)(const char *path, size_t bytes))
{
	const char *preload = variable_find(environment, PRELOAD);

	return preload && names(preload + sizeof(PRELOAD) - 1, is_kind);
}

/* Is the file at the path of @bytes readable? A function of its own, for its use of stack. */
static __attribute__((noinline)) int is_readable(const char *path, size_t bytes)
{
	char *text = __builtin_alloca(bytes + 1);

	memcpy(text, path, bytes);
	text[bytes] = '\0';
	return lull_syscall(__NR_faccessat, AT_FDCWD, (long)text, R_OK, 0, 0, 0) >= 0;
}

/*
 * Can the new program read our libraries? Users, roots and mounts may have changed. The question
 * is that of access(2), without the capabilities that a new user loses by the exec.
 */
static int libraries_readable(void)
{
	const char *list = own_preload;

	while (*list) {
		size_t length = member_bytes(list);

		if (!is_readable(list, length))
			return 0;
		list += length;
		list += *list == ':';
	}
	return 1;
}

/* The length of the first folder in PATH. */
static size_t folder_bytes(const char *list)
{
	size_t bytes = 0;

	while (list[bytes] && list[bytes] != ':')
		bytes++;
	return bytes;
}

/* Does the kernel let this process execute the file? Not a question about directories. */
static int is_executable(const char *path)
{
	long result = lull_syscall(__NR_faccessat2, AT_FDCWD, (long)path, X_OK, AT_EACCESS, 0, 0);

	if (result == -ENOSYS || result == -EPERM)
		result = lull_syscall(__NR_faccessat, AT_FDCWD, (long)path, X_OK, 0, 0, 0);
	return result >= 0;
}

/*
 * Open @name in the folder of @length. A function of its own, for its use of stack.
 * Return: a descriptor; -ENODEV where execvp would go on to the next folder; or another -errno.
 */
static __attribute__((noinline)) int folder_open(const char *folder, size_t length,
						 const char *name)
{
	size_t used = length, name_bytes = strlen(name) + 1;
	char *path;

	if (length + 2 + name_bytes > SEARCH_PATH_BYTES)
		return -ENODEV;
	path = __builtin_alloca(length + 2 + name_bytes);
	memcpy(path, folder, length);
	if (!length)
		path[used++] = '.';
	path[used++] = '/';
	memcpy(path + used, name, name_bytes);
	return is_executable(path) ? lull_target_open(AT_FDCWD, path) : -ENODEV;
}

/* Open the file that execvp would execute. Return: a descriptor, or -errno. */
static int search_open(const char *name)
{
	const char *list = variable_find(environ, "PATH=");

	list = list ? list + sizeof("PATH=") - 1 : "/bin:/usr/bin";
	while (1) {
		size_t length = folder_bytes(list);
		int file = folder_open(list, length, name);

		if (file != -ENODEV || !list[length])
			return file;
		list += length + 1;
	}
}

static enum lull_target target_look(struct exec_target *target)
{
	const char *path = target->path;
	int file;

	target->unreadable =
		lull_syscall(__NR_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) == -EFAULT;
	if (target->unreadable)
		return LULL_TARGET_UNKNOWN;
	if (!*path) /* no descriptor of the program's is closed, which would drop its locks */
		return lull_target_look(target->directory_fd, 1);
	if (target->search && !strchr(path, '/'))
		file = search_open(path);
	else
		file = lull_target_open(target->directory_fd, path);
	return lull_target_look(file, 0);
}

static enum lull_target judge(char *const *environment, struct exec_target *target)
{
	const char *session = variable_find(environment, SESSION);
	enum lull_target kind;

	if (lull_confined)
		return LULL_TARGET_SECCOMP;
	if (session ? !session[sizeof(SESSION) - 1] : !lull_process.attached)
		return LULL_TARGET_DECLINED;
	kind = target_look(target);
	if (kind != LULL_TARGET_LOADS && kind != LULL_TARGET_UNKNOWN)
		return kind;
	if (preloads(environment, lull_target_is_sanitizer))
		return LULL_TARGET_SANITIZED;
	return libraries_readable() ? kind : LULL_TARGET_UNREADABLE;
}

/* Do the variables have to be there, for the program or for its descendants? */
static int is_wanted(enum lull_target kind)
{
	return (kind == LULL_TARGET_LOADS || kind == LULL_TARGET_STATIC) && lull_process.attached &&
	       own_session[0];
}

static int is_left_alone(enum lull_target kind)
{
	return kind == LULL_TARGET_UNKNOWN || kind == LULL_TARGET_PRIVILEGED ||
	       kind == LULL_TARGET_LOADS || kind == LULL_TARGET_STATIC;
}

int lull_environment_judge(char *const *environment, struct exec_target *target)
{
	target->kind = judge(environment, target);
	if (is_wanted(target->kind))
		return !variable_find(environment, SESSION) ||
		       (own_preload[0] && !preloads(environment, is_own));
	return !is_left_alone(target->kind) && preloads(environment, is_own);
}

enum lull_target lull_environment_of_shell(void)
{
	const char *session = variable_find(environ, SESSION);

	if (!lull_process.attached || !own_session[0])
		return LULL_TARGET_LOADS;
	if (!session || !session[sizeof(SESSION) - 1])
		return LULL_TARGET_DECLINED;
	return own_preload[0] && !preloads(environ, is_own) ? LULL_TARGET_UNKNOWN :
							      LULL_TARGET_LOADS;
}

/* Make LD_PRELOAD of @ours and of what @list has of others. Return: does it fit? */
static int preload_make(char *text, size_t bytes, const char *ours, const char *list)
{
	size_t ours_bytes = strlen(ours), used = sizeof(PRELOAD) - 1 + ours_bytes;

	memcpy(text, PRELOAD, sizeof(PRELOAD) - 1);
	memcpy(text + sizeof(PRELOAD) - 1, ours, ours_bytes + 1);
	while (*list) {
		size_t length = member_bytes(list);

		if (length && !is_own(list, length)) {
			if (used + 1 + length + 1 > bytes)
				return 0;
			if (used > sizeof(PRELOAD) - 1)
				text[used++] = ':';
			memcpy(text + used, list, length);
			used += length;
			text[used] = '\0';
		}
		list += length;
		list += separates(*list);
	}
	return 1;
}

/* The list of libraries in @environment's LD_PRELOAD. */
static const char *preload_list(char *const *environment)
{
	const char *preload = variable_find(environment, PRELOAD);

	return preload ? preload + sizeof(PRELOAD) - 1 : "";
}

/* What LD_PRELOAD may need, a multiple of a pointer's size. */
static size_t preload_bytes(char *const *environment)
{
	size_t bytes =
		sizeof(PRELOAD) + strlen(own_preload) + 1 + strlen(preload_list(environment));

	return (bytes + sizeof(char *) - 1) / sizeof(char *) * sizeof(char *);
}

size_t lull_environment_bytes(char *const *environment)
{
	size_t text_bytes = preload_bytes(environment), count = 0;

	while (environment && environment[count])
		count++;
	if (count > ENVIRONMENT_VARIABLES_MAX || text_bytes > ENVIRONMENT_TEXT_BYTES)
		return 0;
	return text_bytes + (count + ADDED_MAX) * sizeof(char *);
}

char **lull_environment_make(void *memory, size_t bytes, char *const *environment,
			     const struct exec_target *target)
{
	/* Both may have grown since they were measured: another thread may change them. */
	size_t text_bytes = preload_bytes(environment), count = 0, count_max;
	char *text = memory, **variables = (char **)(text + text_bytes);
	int wanted = is_wanted(target->kind);

	if (text_bytes + ADDED_MAX * sizeof(char *) > bytes ||
	    !preload_make(text, text_bytes, wanted ? own_preload : "", preload_list(environment)))
		return (char **)environment;
	count_max = (bytes - text_bytes) / sizeof(char *) - ADDED_MAX;
	for (char *const *each = environment; each && *each; each++) {
		if (!strncmp(*each, PRELOAD, sizeof(PRELOAD) - 1))
			continue;
		if (count == count_max)
			return (char **)environment;
		variables[count++] = *each;
	}
	if (text[sizeof(PRELOAD) - 1])
		variables[count++] = text;
	if (wanted && !variable_find(environment, SESSION))
		variables[count++] = (char *)own_session;
	variables[count] = NULL;
	return variables;
}
