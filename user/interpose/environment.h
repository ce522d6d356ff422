/* SPDX-License-Identifier: MIT */
/*
 * Keeping descendants traced: the variables that a new program needs, put back into an
 * environment that dropped them.
 *
 * Whoever sets LULL_SESSION to the empty string means it and is left alone. So is a program
 * that gains privileges by being executed, and a process that is itself not traced.
 */
#ifndef LULL_INTERPOSE_ENVIRONMENT_H
#define LULL_INTERPOSE_ENVIRONMENT_H

#define ENVIRONMENT_VARIABLES_MAX 1024 /* larger environments are left as they are */
#define ENVIRONMENT_TEXT_BYTES 2048 /* of one variable, with its name */

/* Lies on the caller's stack: exec may run in a vfork child or in a signal handler. */
struct traced_environment {
	char *variables[ENVIRONMENT_VARIABLES_MAX + 3];
	char preload[ENVIRONMENT_TEXT_BYTES];
};

/* What is executed, for finding out whether it gains privileges. */
struct exec_target {
	int directory_fd; /* or the file itself, where path is "" */
	const char *path;
	int search; /* path without a slash is looked for in PATH */
};

/*
 * Does @environment lack what keeps @target traced?
 * Context: any, async-signal-safe; a vfork child.
 */
int lull_environment_lacks(char *const *environment, const struct exec_target *target);

/*
 * Copy @environment to @traced and complete it.
 * Context: as above. Return: traced->variables, or @environment when it does not fit.
 */
char **lull_environment_complete(struct traced_environment *traced, char *const *environment);

#endif
