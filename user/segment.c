/* SPDX-License-Identifier: MIT */
/*
 * A user's memory in a session: found by its link, attached, made for a user who has none yet.
 *
 * abi/session.h says how the links of a session directory name segments. A segment is accepted only
 * if the kernel says that its owner is the user, that no other user has any permission, and that
 * its maker is that user or root. attach.c checks its contents.
 * Paper: B 3.2, 3.4.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/ipc.h>
#include <linux/random.h>
#include <linux/shm.h>
#include "liblull.h"
#include "segment.h"
#include "syscall.h"
#include "text.h"

#define PATH_BYTES LULL_LINK_BYTES
#define KEYS_MAX 8 /* tried until one is no other segment's */
#define PREFIX_BYTES (sizeof(LULL_SESSION_MEMORY_PREFIX) - 1)
#define OWNER_MODE 0600
#define OTHERS_MODE 077 /* permissions that a segment gives to anybody but its user */

/* The key in a link's target, or -1. */
static long key_parse(const char *target, long bytes)
{
	long key = 0;

	if (bytes <= (long)PREFIX_BYTES || bytes >= (long)(PREFIX_BYTES + NUMBER_BYTES) ||
	    __builtin_memcmp(target, LULL_SESSION_MEMORY_PREFIX, PREFIX_BYTES))
		return -1;
	for (long i = PREFIX_BYTES; i < bytes; i++) {
		if (target[i] < '0' || target[i] > '9')
			return -1;
		key = key * 10 + (target[i] - '0');
	}
	return key > 0 && key <= INT32_MAX ? key : -1;
}

/*
 * Attach a segment that is our user's alone, made by our user or by root. Return: 0; -ENOENT where
 * there is none, or the kernel's reason why it cannot be attached.
 */
static int segment_attach(long key, uint32_t user, struct lull_mapping *map)
{
	struct shmid64_ds status;
	long base, id = lull_syscall(__NR_shmget, key, 0, 0, 0, 0, 0);

	if (id < 0 || lull_syscall(__NR_shmctl, id, IPC_STAT, (long)&status, 0, 0, 0) < 0 ||
	    status.shm_perm.uid != user ||
	    (status.shm_perm.cuid != user && status.shm_perm.cuid != 0) ||
	    (status.shm_perm.mode & OTHERS_MODE))
		return -ENOENT;
	base = lull_syscall(__NR_shmat, id, 0, 0, 0, 0, 0);
	if (base < 0 && base > -4096)
		return (int)base;
	*map = (struct lull_mapping){ (unsigned char *)base, status.shm_segsz, (int)id };
	return 0;
}

static const char link_name[] = "/" LULL_SESSION_MEMORY_LINK;

/* The path of the link to the memory of the recorder's own user. Return: its length. */
static size_t own_path(char *path, const struct lull_directory *directory)
{
	size_t used = text_append(path, 0, directory->path, directory->bytes);

	used = text_append(path, used, link_name, sizeof(link_name) - 1);
	path[used] = '\0';
	return used;
}

/* The path of the link to the memory of @user. Return: its length. */
static size_t user_path(char *path, const struct lull_directory *directory, uint32_t user)
{
	size_t used = own_path(path, directory);

	used = text_append(path, used, "-", 1);
	used = number_append(path, used, user);
	path[used] = '\0';
	return used;
}

/* The path of the link to memory that is being made for @user under @key. */
static void unfinished_path(char *path, const struct lull_directory *directory, uint32_t user,
			    uint32_t key)
{
	size_t used = user_path(path, directory, user);

	used = text_append(path, used, ".", 1);
	used = number_append(path, used, key);
	path[used] = '\0';
}

static int paths_fit(const struct lull_directory *directory)
{
	return directory->bytes + sizeof(link_name) + 2 * (1 + NUMBER_BYTES) <= PATH_BYTES;
}

/* The key of the segment that a link names, or -1. */
static long link_key(const char *path)
{
	char target[PREFIX_BYTES + NUMBER_BYTES];

	return key_parse(target, lull_syscall(__NR_readlinkat, AT_FDCWD, (long)path, (long)target,
					      sizeof(target), 0, 0));
}

static int link_attach(const char *path, uint32_t user, struct lull_mapping *map)
{
	long key = link_key(path);

	return key < 0 ? -ENOENT : segment_attach(key, user, map);
}

static int link_is(const char *path, int id)
{
	long key = link_key(path);

	return key >= 0 && lull_syscall(__NR_shmget, key, 0, 0, 0, 0, 0) == id;
}

/* Make a link to the segment of a key, whether there is one or not. Return: 0, or negative. */
static long link_make(const char *path, uint32_t key)
{
	char target[PREFIX_BYTES + NUMBER_BYTES];
	size_t used = text_append(target, 0, LULL_SESSION_MEMORY_PREFIX, PREFIX_BYTES);

	used = number_append(target, used, key);
	target[used] = '\0';
	return lull_syscall(__NR_symlinkat, (long)target, AT_FDCWD, (long)path, 0, 0, 0);
}

static void link_remove(const char *path)
{
	lull_syscall(__NR_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

int lull_memory_attach(const struct lull_directory *directory, uint32_t user,
		       struct lull_mapping *map)
{
	char path[PATH_BYTES];
	int result;

	if (!paths_fit(directory))
		return -ENOENT;
	/* First the link of the recorder's user, whose number may differ in a user namespace. */
	own_path(path, directory);
	result = link_attach(path, user, map);
	if (result != -ENOENT)
		return result;
	user_path(path, directory, user);
	return link_attach(path, user, map);
}

int lull_memory_is(const struct lull_directory *directory, uint32_t user, int id)
{
	char path[PATH_BYTES];

	if (!paths_fit(directory))
		return 0;
	own_path(path, directory);
	if (link_is(path, id))
		return 1;
	user_path(path, directory, user);
	return link_is(path, id);
}

/* Make a segment of zeros, which has its link, and attach it. Return: 0, or -1. */
static int segment_make(uint32_t key, uint64_t bytes, struct lull_mapping *map)
{
	long base, id = lull_syscall(__NR_shmget, key, (long)bytes,
				     IPC_CREAT | IPC_EXCL | SHM_NORESERVE | OWNER_MODE, 0, 0, 0);

	if (id < 0)
		return -1;
	base = lull_syscall(__NR_shmat, id, 0, 0, 0, 0, 0);
	if (base < 0 && base > -4096) {
		lull_syscall(__NR_shmctl, id, IPC_RMID, 0, 0, 0, 0);
		return -1;
	}
	*map = (struct lull_mapping){ (unsigned char *)base, bytes, (int)id };
	return 0;
}

int lull_memory_make(const struct lull_directory *directory, uint32_t user, uint64_t bytes,
		     struct lull_making *making)
{
	uint32_t key = 0;

	if (!paths_fit(directory))
		return -1;
	/* Bound: KEYS_MAX, each of which another segment may have. */
	for (int i = 0; i < KEYS_MAX; i++) {
		if (lull_syscall(__NR_getrandom, (long)&key, sizeof(key), GRND_NONBLOCK, 0, 0, 0) !=
		    (long)sizeof(key))
			return -1;
		key = (key & INT32_MAX) | 1;
		unfinished_path(making->path, directory, user, key);
		if (link_make(making->path, key) < 0)
			return -1;
		making->key = key;
		if (!segment_make(key, bytes, &making->map))
			return 0;
		link_remove(making->path);
	}
	return -1;
}

int lull_memory_give(const struct lull_directory *directory, uint32_t user,
		     const struct lull_making *making)
{
	char path[PATH_BYTES];
	struct shmid64_ds status;
	long id = making->map.id;

	user_path(path, directory, user);
	if (lull_syscall(__NR_shmctl, id, IPC_STAT, (long)&status, 0, 0, 0) < 0)
		return -1;
	status.shm_perm.uid = user;
	if (lull_syscall(__NR_shmctl, id, IPC_SET, (long)&status, 0, 0, 0) < 0 ||
	    link_make(path, making->key) < 0)
		return -1;
	link_remove(making->path);
	lull_memory_detach(&making->map);
	return 0;
}

void lull_memory_remove(const struct lull_making *making)
{
	lull_syscall(__NR_shmctl, making->map.id, IPC_RMID, 0, 0, 0, 0);
	link_remove(making->path);
	lull_memory_detach(&making->map);
}

void lull_memory_detach(const struct lull_mapping *map)
{
	if (map->base)
		lull_syscall(__NR_shmdt, (long)map->base, 0, 0, 0, 0, 0);
}
