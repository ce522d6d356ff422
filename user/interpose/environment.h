/* SPDX-License-Identifier: MIT */
/*
 * Keeping descendants traced: the variables that a new program needs are put back into an
 * environment that dropped them, and taken out where the program could not load liblull.
 *
 * An empty LULL_SESSION is an exclusion, which is kept. A program that gains privileges by
 * being executed, or whose file cannot be read, gets its environment unchanged.
 */
#ifndef LULL_INTERPOSE_ENVIRONMENT_H
#define LULL_INTERPOSE_ENVIRONMENT_H

#include <stddef.h>
#include "target.h"

/* What is executed. */
struct exec_target {
	int directory_fd; /* or the file itself, where path is "" */
	const char *path;
	int search; /* path without a slash is looked for in PATH */
	int unreadable; /* set by lull_environment_judge(): the kernel cannot read path either */
	enum lull_target kind; /* likewise: what is executed, and whether it will be recorded */
};

/*
 * Find out which kind of file @target is.
 * Context: any, async-signal-safe; a vfork child. No system call where nothing is recorded, nor
 * under a filter of system calls. Return: does @environment have to change for @target?
 */
int lull_environment_judge(char *const *environment, struct exec_target *target);

/*
 * Will a shell be recorded that the C library starts, with the process's own environment? Not where
 * the program has taken our variables out. Context: as above, and no system call.
 */
enum lull_target lull_environment_of_shell(void);

/*
 * How much memory a copy takes. It is to lie on the caller's stack, which is all that a vfork child
 * and a signal handler have, and which may be small: so no more is taken than this environment
 * needs. Context: as above. Return: bytes; 0 for an environment that is left as it is.
 */
size_t lull_environment_bytes(char *const *environment);

/*
 * Copy @environment to @memory of @bytes, with the variables that @target has to have and no others
 * of ours. lull_environment_judge() has examined @target.
 * Context: as above. Return: the copy, or @environment when that does not fit.
 */
char **lull_environment_make(void *memory, size_t bytes, char *const *environment,
			     const struct exec_target *target);

#endif
