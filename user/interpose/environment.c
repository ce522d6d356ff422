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

/*
 * Can the new program read our libraries? Users, roots and mounts may have changed. The question
 * is that of access(2), without the capabilities that a new user loses by the exec.
 */
static int libraries_readable(void)
{
	char path[ENVIRONMENT_TEXT_BYTES];
	const char *list = own_preload;

	while (*list) {
		size_t length = member_bytes(list);

		memcpy(path, list, length);
		path[length] = '\0';
		if (lull_syscall(__NR_faccessat, AT_FDCWD, (long)path, R_OK, 0, 0, 0) < 0)
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

/* Look for @name where execvp would. Return: a descriptor, or -errno. */
static int search_open(const char *name)
{
	const char *list = variable_find(environ, "PATH=");
	char path[SEARCH_PATH_BYTES];

	list = list ? list + sizeof("PATH=") - 1 : "/bin:/usr/bin";
	while (1) {
		size_t length = folder_bytes(list);
		size_t used = length, name_bytes = strlen(name) + 1;
		int file = -ENOENT;

		if (used + 2 + name_bytes <= sizeof(path)) {
			memcpy(path, list, length);
			if (!length)
				path[used++] = '.';
			path[used++] = '/';
			memcpy(path + used, name, name_bytes);
			file = lull_target_open(AT_FDCWD, path);
		}
		if (file >= 0 || !list[length])
			return file;
		list += length + 1;
	}
}

static int open_target(struct exec_target *target)
{
	int file = lull_target_open(target->directory_fd, target->path);

	target->unreadable = file == -EFAULT;
	if (file == -ENOENT && !*target->path)
		return (int)lull_syscall(__NR_fcntl, target->directory_fd, F_DUPFD_CLOEXEC, 0, 0, 0,
					 0);
	if (target->unreadable || !target->search || strchr(target->path, '/'))
		return file;
	if (file >= 0)
		lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
	return search_open(target->path);
}

static enum lull_target judge(char *const *environment, struct exec_target *target)
{
	const char *session = variable_find(environment, SESSION);
	enum lull_target kind;

	if (lull_confined)
		return LULL_TARGET_SECCOMP;
	if (session ? !session[sizeof(SESSION) - 1] : !lull_process.attached)
		return LULL_TARGET_DECLINED;
	kind = lull_target_look(open_target(target));
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

/* Make LD_PRELOAD of @ours and of what @list has of others. Return: does it fit? */
static int preload_make(struct traced_environment *traced, const char *ours, const char *list)
{
	size_t ours_bytes = strlen(ours), used = sizeof(PRELOAD) - 1 + ours_bytes;

	memcpy(traced->preload, PRELOAD, sizeof(PRELOAD) - 1);
	memcpy(traced->preload + sizeof(PRELOAD) - 1, ours, ours_bytes + 1);
	while (*list) {
		size_t length = member_bytes(list);

		if (length && !is_own(list, length)) {
			if (used + 1 + length + 1 > sizeof(traced->preload))
				return 0;
			if (used > sizeof(PRELOAD) - 1)
				traced->preload[used++] = ':';
			memcpy(traced->preload + used, list, length);
			used += length;
			traced->preload[used] = '\0';
		}
		list += length;
		list += separates(*list);
	}
	return 1;
}

char **lull_environment_make(struct traced_environment *traced, char *const *environment,
			     const struct exec_target *target)
{
	const char *preload = variable_find(environment, PRELOAD);
	int wanted = is_wanted(target->kind);
	size_t count = 0;

	for (char *const *each = environment; each && *each; each++) {
		if (!strncmp(*each, PRELOAD, sizeof(PRELOAD) - 1))
			continue;
		if (count == ENVIRONMENT_VARIABLES_MAX)
			return (char **)environment;
		traced->variables[count++] = *each;
	}
	if (!preload_make(traced, wanted ? own_preload : "",
			  preload ? preload + sizeof(PRELOAD) - 1 : ""))
		return (char **)environment;
	if (traced->preload[sizeof(PRELOAD) - 1])
		traced->variables[count++] = traced->preload;
	if (wanted && !variable_find(environment, SESSION))
		traced->variables[count++] = (char *)own_session;
	traced->variables[count] = NULL;
	return traced->variables;
}
