/* SPDX-License-Identifier: MIT */
/*
 * Keeping descendants traced (environment.h). What to put back is copied at start, before the
 * program can change its environment.
 */
#include "interpose.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "environment.h"
#include "liblull.h"

#define PRELOAD "LD_PRELOAD="
#define SESSION LULL_SESSION_VARIABLE "="
#define LIBRARY_PREFIX "liblull" /* of the file names of our libraries */
#define CAPABILITY "security.capability" /* the attribute that grants some */
#define SEARCH_PATH_BYTES 4096

/* Our own entries of LD_PRELOAD, and LULL_SESSION, as this process found them. */
static char own_preload[ENVIRONMENT_TEXT_BYTES];
static char own_session[ENVIRONMENT_TEXT_BYTES];

static char *find(char *const *environment, const char *name)
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
		size_t length = strcspn(from, ": ");

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

__attribute__((constructor(102))) static void remember(int count, char **arguments,
						       char **environment)
{
	const char *preload = find(environment, PRELOAD);
	const char *session = find(environment, SESSION);

	(void)count;
	(void)arguments;
	if (preload)
		copy_own(own_preload, sizeof(own_preload), preload + sizeof(PRELOAD) - 1);
	if (session && strlen(session) < sizeof(own_session))
		strcpy(own_session, session);
}

static int preloads_own(const char *preload)
{
	char own[ENVIRONMENT_TEXT_BYTES];

	if (!preload)
		return 0;
	copy_own(own, sizeof(own), preload + sizeof(PRELOAD) - 1);
	return own[0] != '\0';
}

/* Does executing this file change privileges? 1: yes; 0: no; -1: there is no such file. */
static int file_gains_privilege(int directory_fd, const char *path, int flags)
{
	struct stat status;

	if (fstatat(directory_fd, path, &status, flags) || !S_ISREG(status.st_mode))
		return -1;
	if (status.st_mode & (S_ISUID | S_ISGID))
		return 1;
	if (flags & AT_EMPTY_PATH)
		return fgetxattr(directory_fd, CAPABILITY, NULL, 0) > 0;
	return getxattr(path, CAPABILITY, NULL, 0) > 0;
}

/* Look for @name where execvp would. */
static int search_gains_privilege(const char *name)
{
	const char *list = find(environ, "PATH=");
	char path[SEARCH_PATH_BYTES];

	list = list ? list + sizeof("PATH=") - 1 : "/bin:/usr/bin";
	while (1) {
		size_t length = strcspn(list, ":");
		int gains = -1;

		if (length + 1 + strlen(name) + 1 <= sizeof(path)) {
			memcpy(path, list, length);
			strcpy(path + length, length ? "/" : "./");
			strcat(path, name);
			gains = file_gains_privilege(AT_FDCWD, path, 0);
		}
		if (gains >= 0)
			return gains;
		if (!list[length])
			return 0;
		list += length + 1;
	}
}

static int gains_privilege(const struct exec_target *target)
{
	if (target->search && !strchr(target->path, '/'))
		return search_gains_privilege(target->path);
	return file_gains_privilege(target->directory_fd, target->path,
				    *target->path ? 0 : AT_EMPTY_PATH) > 0;
}

int lull_environment_lacks(char *const *environment, const struct exec_target *target)
{
	const char *session = find(environment, SESSION);
	int saved = errno, gains;

	if (!lull_process.session_count || !own_session[0])
		return 0;
	if (session && !session[sizeof(SESSION) - 1])
		return 0;
	if (session && (!own_preload[0] || preloads_own(find(environment, PRELOAD))))
		return 0;
	gains = gains_privilege(target);
	errno = saved;
	return !gains;
}

char **lull_environment_complete(struct traced_environment *traced, char *const *environment)
{
	const char *preload = find(environment, PRELOAD);
	const char *others = preload ? preload + sizeof(PRELOAD) - 1 : "";
	size_t count = 0;

	for (char *const *each = environment; each && *each; each++) {
		if (own_preload[0] && !preloads_own(preload) && *each == preload)
			continue;
		if (count == ENVIRONMENT_VARIABLES_MAX)
			return (char **)environment;
		traced->variables[count++] = *each;
	}
	if (own_preload[0] && !preloads_own(preload)) {
		if (sizeof(PRELOAD) + strlen(own_preload) + 1 + strlen(others) >
		    sizeof(traced->preload))
			return (char **)environment;
		strcpy(traced->preload, PRELOAD);
		strcat(traced->preload, own_preload);
		if (*others) {
			strcat(traced->preload, ":");
			strcat(traced->preload, others);
		}
		traced->variables[count++] = traced->preload;
	}
	if (!find(environment, SESSION))
		traced->variables[count++] = own_session;
	traced->variables[count] = NULL;
	return traced->variables;
}
