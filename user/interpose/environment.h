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

#include "target.h"

#define ENVIRONMENT_VARIABLES_MAX 1024 /* larger environments are left as they are */
#define ENVIRONMENT_TEXT_BYTES 2048 /* of one variable, with its name */

/* Lies on the caller's stack: exec may run in a vfork child or in a signal handler. */
struct traced_environment {
	char *variables[ENVIRONMENT_VARIABLES_MAX + 3];
	char preload[ENVIRONMENT_TEXT_BYTES];
};

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
 * Copy @environment to @traced, with the variables that @target has to have and no others of ours.
 * lull_environment_judge() has examined @target.
 * Context: as above. Return: traced->variables, or @environment when it does not fit.
 */
char **lull_environment_make(struct traced_environment *traced, char *const *environment,
			     const struct exec_target *target);

#endif
