/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Patterns: which events a session wants. Newline-separated text in the session's control
 * file (abi/session.h), one rule a line:
 *
 *	GLOB		events whose whole name GLOB matches
 *	GLOB@LEVEL	those of them at LEVEL or more severe
 *	!GLOB[@LEVEL]	not these
 *
 * Later lines win over earlier ones; an event that no line matches is not wanted. In a GLOB,
 * '*' is any number of characters, '?' one, [a-z_] one of a set, [!a-z] one outside it.
 * LEVEL is a name of enum lull_level in lower case, emergency to debug, or its number.
 * Paper: T 4.6.1, 8.1 (markers are enabled one by one).
 */
#ifndef LULL_SITE_PATTERN_H
#define LULL_SITE_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/**
 * lull_pattern_match() - does a session want an event?
 * @patterns: text as above, NUL-terminated.
 * @name: of the event, not necessarily NUL-terminated.
 * @name_bytes: its length.
 * @level: of the event, enum lull_level.
 *
 * A line that lull_pattern_check() refuses matches nothing.
 *
 * Context: any, async-signal-safe.
 * Progress: wait-free, at most line length times name length steps a line.
 * Return: 1 or 0.
 */
int lull_pattern_match(const char *patterns, const char *name, size_t name_bytes, uint32_t level);

/**
 * lull_pattern_check() - find the first line that cannot be understood.
 * @patterns: text as above, NUL-terminated.
 * @reason: where not NULL, set to what is wrong with it, a constant string.
 *
 * Context: any, async-signal-safe. Progress: wait-free.
 * Return: 0 where all is well, else the number of the line, from 1.
 */
size_t lull_pattern_check(const char *patterns, const char **reason);

#endif
