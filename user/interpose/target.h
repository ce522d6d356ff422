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
 * lull_target_open() - open a file, to examine it.
 * @directory: a descriptor that @path is relative to, or AT_FDCWD
 * Context: any, async-signal-safe. Return: a descriptor, or -errno.
 */
int lull_target_open(int directory, const char *path);

/*
 * lull_target_look() - what is this file?
 * @file: its descriptor, which is closed
 *
 * For a script, the answer is about its interpreter. Every file is taken for hostile: its contents
 * are copied and checked, and references in it are followed a bounded number of times.
 * Context: any, async-signal-safe. Return: up to LULL_TARGET_SANITIZED.
 */
enum lull_target lull_target_look(int file);

/* Is the name of a library that of a sanitizer's runtime? */
int lull_target_is_sanitizer(const char *path, unsigned long bytes);

#endif
