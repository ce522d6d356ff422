/* SPDX-License-Identifier: MIT */
/*
 * A user's memory in a session: found by its link, attached, made for a user who has none yet.
 *
 * abi/session.h says how the links of a session directory name segments. A segment is accepted only
 * if the kernel says that its owner is the user, that no other user has any permission, and that
 * its maker is that user or root. attach.c checks its contents.
 * Paper: B 3.2, 3.4.
 */
#include <linux/fcntl.h>
#include <linux/ipc.h>
#include <linux/shm.h>
#include "liblull.h"
#include "segment.h"
#include "syscall.h"

#define PATH_BYTES 512
#define NUMBER_BYTES 12 /* a 32-bit number in decimal, and its end */
#define PREFIX_BYTES (sizeof(LULL_SESSION_MEMORY_PREFIX) - 1)
#define OWNER_MODE 0600
#define OTHERS_MODE 077 /* permissions that a segment gives to anybody but its user */

static size_t text_append(char *text, size_t used, const char *more, size_t bytes)
{
	__builtin_memcpy(text + used, more, bytes);
	return used + bytes;
}

static size_t number_append(char *text, size_t used, uint32_t number)
{
	char digits[NUMBER_BYTES];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return text_append(text, used, digits + at, sizeof(digits) - at);
}

/* The number behind the prefix in a link's target, or -1. */
static long segment_parse(const char *target, long bytes)
{
	long id = 0;

	if (bytes <= (long)PREFIX_BYTES || bytes >= (long)(PREFIX_BYTES + NUMBER_BYTES) ||
	    __builtin_memcmp(target, LULL_SESSION_MEMORY_PREFIX, PREFIX_BYTES))
		return -1;
	for (long i = PREFIX_BYTES; i < bytes; i++) {
		if (target[i] < '0' || target[i] > '9')
			return -1;
		id = id * 10 + (target[i] - '0');
	}
	return id <= INT32_MAX ? id : -1;
}

/* Attach a segment that is our user's alone, made by our user or by root. */
static int segment_attach(long id, uint32_t user, struct lull_mapping *map)
{
	struct shmid64_ds status;
	long base;

	if (lull_syscall(__NR_shmctl, id, IPC_STAT, (long)&status, 0, 0, 0) < 0 ||
	    status.shm_perm.uid != user ||
	    (status.shm_perm.cuid != user && status.shm_perm.cuid != 0) ||
	    (status.shm_perm.mode & OTHERS_MODE))
		return -1;
	base = lull_syscall(__NR_shmat, id, 0, 0, 0, 0, 0);
	if (base < 0 && base > -4096)
		return -1;
	*map = (struct lull_mapping){ (unsigned char *)base, status.shm_segsz, (int)id };
	return 0;
}

/*
 * The path of the link to the memory of @user, or of the recorder's own where @own.
 * Return: its length, or 0 where it is too long.
 */
static size_t link_path(char *path, const struct lull_directory *directory, uint32_t user, int own)
{
	static const char link[] = "/" LULL_SESSION_MEMORY_LINK;
	size_t used;

	if (directory->bytes + sizeof(link) + 1 + NUMBER_BYTES > PATH_BYTES)
		return 0;
	used = text_append(path, 0, directory->path, directory->bytes);
	used = text_append(path, used, link, sizeof(link) - 1);
	if (!own) {
		used = text_append(path, used, "-", 1);
		used = number_append(path, used, user);
	}
	path[used] = '\0';
	return used;
}

static int link_attach(const struct lull_directory *directory, uint32_t user, int own,
		       struct lull_mapping *map)
{
	char path[PATH_BYTES], target[PREFIX_BYTES + NUMBER_BYTES];
	long id;

	if (!link_path(path, directory, user, own))
		return -1;
	id = segment_parse(target, lull_syscall(__NR_readlinkat, AT_FDCWD, (long)path, (long)target,
						sizeof(target), 0, 0));
	return id < 0 ? -1 : segment_attach(id, user, map);
}

int lull_memory_attach(const struct lull_directory *directory, uint32_t user,
		       struct lull_mapping *map)
{
	/* First the link of the recorder's user, whose number may differ in a user namespace. */
	return link_attach(directory, user, 1, map) && link_attach(directory, user, 0, map);
}

int lull_memory_make(uint64_t bytes, struct lull_mapping *map)
{
	long base, id = lull_syscall(__NR_shmget, IPC_PRIVATE, (long)bytes,
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

int lull_memory_give(const struct lull_directory *directory, uint32_t user,
		     const struct lull_mapping *map)
{
	char path[PATH_BYTES], target[PREFIX_BYTES + NUMBER_BYTES];
	struct shmid64_ds status;
	size_t used;

	if (lull_syscall(__NR_shmctl, map->id, IPC_STAT, (long)&status, 0, 0, 0) < 0)
		return -1;
	status.shm_perm.uid = user;
	used = text_append(target, 0, LULL_SESSION_MEMORY_PREFIX, PREFIX_BYTES);
	used = number_append(target, used, (uint32_t)map->id);
	target[used] = '\0';
	if (lull_syscall(__NR_shmctl, map->id, IPC_SET, (long)&status, 0, 0, 0) < 0 ||
	    !link_path(path, directory, user, 0) ||
	    lull_syscall(__NR_symlinkat, (long)target, AT_FDCWD, (long)path, 0, 0, 0) < 0)
		return -1;
	return 0;
}

void lull_memory_remove(const struct lull_mapping *map)
{
	lull_syscall(__NR_shmctl, map->id, IPC_RMID, 0, 0, 0, 0);
	lull_memory_detach(map);
}

void lull_memory_detach(const struct lull_mapping *map)
{
	if (map->base)
		lull_syscall(__NR_shmdt, (long)map->base, 0, 0, 0, 0, 0);
}
