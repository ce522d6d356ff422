/* SPDX-License-Identifier: MIT */
/*
 * What an executable file is, as far as preloading liblull goes.
 *
 * liblull calls this before it passes LD_PRELOAD to another program, and `lull record` before it
 * starts one. A program that cannot load liblull is started without it, because its dynamic linker
 * would end it or print a message.
 */
#ifndef LULL_INTERPOSE_TARGET_H
#define LULL_INTERPOSE_TARGET_H

#include <stdint.h>

/* Numbers that stand in events (LULL_TARGET_NAMES) and in tools/cli/src/target.rs. */
enum lull_target {
	LULL_TARGET_LOADS = 0, /* a program of this machine and of glibc */
	LULL_TARGET_UNKNOWN = 1, /* it could not be looked at */
	LULL_TARGET_STATIC = 2, /* nothing is preloaded into it; its descendants may be recorded */
	LULL_TARGET_PRIVILEGED = 3, /* it gains privileges: nothing is preloaded into it */
	LULL_TARGET_OTHER_MACHINE = 4, /* another machine or word size */
	LULL_TARGET_OTHER_LIBC = 5, /* another C library than glibc */
	LULL_TARGET_SANITIZED = 6, /* a sanitizer, which has to be first or alone */
	/* Not properties of the file, but of the process that executes it: */
	LULL_TARGET_SECCOMP = 7, /* under a filter, where liblull must not start */
	LULL_TARGET_UNREADABLE = 8, /* this user cannot read liblull */
	LULL_TARGET_DECLINED = 9, /* LULL_SESSION is empty or unset */
};
#define LULL_TARGET_NAMES                                                                 \
	"YES=0,UNKNOWN=1,STATIC=2,PRIVILEGED=3,OTHER_MACHINE=4,OTHER_LIBC=5,SANITIZED=6," \
	"SECCOMP=7,LIBRARY_UNREADABLE=8,DECLINED=9"

/*
 * Descriptors below this number may be ones by which the process requested record locks; those of
 * the first few may have been locked by the program that executed this one. The interposers raise
 * it, up to a number from which on files are no longer examined.
 */
#define LULL_TARGET_LOCKS_USUAL 32
#define LULL_TARGET_LOCKS_MAX 4096
extern uint32_t lull_target_locks_until;

/*
 * lull_target_open() - open a file, to examine it.
 * @directory: a descriptor that @path is relative to, or AT_FDCWD
 *
 * Only a regular file is opened, and none on which the process may have a record lock, which would
 * be gone when the descriptor is closed.
 * Context: any, async-signal-safe. Return: a descriptor; -ENODEV where it is not a regular file,
 * -EBUSY for the sake of a lock, or another -errno.
 */
int lull_target_open(int directory, const char *path);

/*
 * lull_target_look() - what is this file?
 * @file: its descriptor, which is closed unless @is_kept
 *
 * For a script, the answer is about its interpreter. Every file is taken for hostile: its contents
 * are copied and checked, and references in it are followed a bounded number of times.
 * Context: any, async-signal-safe; 2 KiB of stack. Return: up to LULL_TARGET_SANITIZED.
 */
enum lull_target lull_target_look(int file, int is_kept);

/* Is the name of a library that of a sanitizer's runtime? */
int lull_target_is_sanitizer(const char *path, unsigned long bytes);

#endif
