/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Patterns: which events a session wants. They are newline-separated text behind the session's
 * control block (abi/session.h), one rule per line:
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

/* One parsed line. It points into the text that it was read from. */
struct lull_rule {
	const char *glob;
	size_t glob_bytes;
	uint8_t level; /* the least severe that the rule matches */
	uint8_t excludes;
};

/**
 * lull_rules_read() - parse a text, once for many events.
 * @patterns: text as above, NUL-terminated; it has to stay as it is.
 * @rules: filled in; a line that lull_pattern_check() refuses gives no rule.
 * @capacity: how many rules fit. A text has at most one for each of its lines.
 *
 * Context: any, async-signal-safe. Progress: wait-free.
 * Return: how many rules there are; those that do not fit are left out.
 */
size_t lull_rules_read(const char *patterns, struct lull_rule *rules, size_t capacity);

/**
 * lull_rules_match() - does a session with these rules want an event?
 * @rules: from lull_rules_read().
 * @count: how many.
 * @name: of the event, not necessarily NUL-terminated.
 * @name_bytes: its length.
 * @level: of the event, enum lull_level.
 *
 * Context: any, async-signal-safe.
 * Progress: wait-free, at most glob length times name length steps per rule.
 * Return: 1 or 0.
 */
int lull_rules_match(const struct lull_rule *rules, size_t count, const char *name,
		     size_t name_bytes, uint32_t level);

/**
 * lull_rules_decide() - which rule decides about an event?
 *
 * As lull_rules_match(). Return: the index of the last rule that matches, or -1.
 */
int lull_rules_decide(const struct lull_rule *rules, size_t count, const char *name,
		      size_t name_bytes, uint32_t level);

/**
 * lull_pattern_match() - does a session want an event? For few events: it parses the text.
 * @patterns: text as above, NUL-terminated.
 * @name: of the event, not necessarily NUL-terminated.
 * @name_bytes: its length.
 * @level: of the event, enum lull_level.
 *
 * A line that lull_pattern_check() refuses matches nothing.
 *
 * Context: any, async-signal-safe.
 * Progress: wait-free, at most line length times name length steps per line.
 * Return: 1 or 0.
 */
int lull_pattern_match(const char *patterns, const char *name, size_t name_bytes, uint32_t level);

/**
 * lull_pattern_check() - find the first line that cannot be understood.
 * @patterns: text as above, NUL-terminated.
 * @reason: where not NULL, set to a constant string that says what is wrong with that line.
 *
 * Context: any, async-signal-safe. Progress: wait-free.
 * Return: 0 where all lines are right, else the number of the line, from 1.
 */
size_t lull_pattern_check(const char *patterns, const char **reason);

#endif
