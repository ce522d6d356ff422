/* SPDX-License-Identifier: MIT */
/*
 * A user's memory in a session directory: for attach.c and credentials.c, from segment.c.
 *
 * Context of all: async-signal-safe, no allocation, errno unchanged.
 */
#ifndef LIBLULL_SEGMENT_H
#define LIBLULL_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

struct lull_directory {
	const char *path; /* not ended by NUL */
	size_t bytes;
};

/* A segment where it is attached; all 0 when none is. */
struct lull_mapping {
	unsigned char *base;
	uint64_t bytes;
	int id;
};

#define LULL_LINK_BYTES 512

/* A segment that is being made, and the link that names it until then. */
struct lull_making {
	struct lull_mapping map;
	uint32_t key;
	char path[LULL_LINK_BYTES];
};

/*
 * Attach the memory that a session has for @user. Return: 0; -ENOENT when it has none, -ENOMEM when
 * the process has no room for it, or another reason of the kernel's.
 */
int lull_memory_attach(const struct lull_directory *directory, uint32_t user,
		       struct lull_mapping *map);

/* Whether the segment of an identifier is what a session has as the memory of @user. */
int lull_memory_is(const struct lull_directory *directory, uint32_t user, int id);

/* Make a segment of zeros for @user, linked as unfinished, and attach it. Return: 0, or -1. */
int lull_memory_make(const struct lull_directory *directory, uint32_t user, uint64_t bytes,
		     struct lull_making *making);

/*
 * Make a segment @user's, link it as that user's memory, and detach it. Only root's processes may.
 * Return: 0; -1 when that is not allowed, or the user has memory by now.
 */
int lull_memory_give(const struct lull_directory *directory, uint32_t user,
		     const struct lull_making *making);

/* Remove and detach a segment that lull_memory_make() made. */
void lull_memory_remove(const struct lull_making *making);

void lull_memory_detach(const struct lull_mapping *map);

#endif
