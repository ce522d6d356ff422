/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Matching event names against a session's patterns. The grammar is in pattern.h. There is no
 * recursion: the matcher remembers the place of the last '*' only, and goes back to that one,
 * because the last '*' can match all that an earlier one could match in its place.
 */
#include "pattern.h"
#include "lull/abi/site.h"

#define LEVEL_ANY LULL_LEVEL_DEBUG

static const char *const level_names[] = { "emergency", "alert",  "critical", "error",
					   "warning",	"notice", "info",     "debug" };

static const char *line_end(const char *line)
{
	while (*line && *line != '\n')
		line++;
	return line;
}

/* Return: enum lull_level, or -1. */
static int level_read(const char *text, size_t bytes)
{
	if (bytes == 1 && *text >= '0' && *text <= '0' + LULL_LEVEL_DEBUG)
		return *text - '0';
	for (int i = 0; i <= LULL_LEVEL_DEBUG; i++)
		if (__builtin_strlen(level_names[i]) == bytes &&
		    !__builtin_memcmp(level_names[i], text, bytes))
			return i;
	return -1;
}

/* The end of the set that begins at the '[' at, past its ']'; NULL when it has none. */
static const char *set_end(const char *at, const char *until)
{
	at++;
	if (at < until && *at == '!')
		at++;
	if (at < until && *at == ']') /* first, it stands for itself */
		at++;
	while (at < until && *at != ']')
		at++;
	return at < until ? at + 1 : NULL;
}

/* Parse a line. Return: NULL, or what is wrong with the line. */
static const char *rule_read(const char *line, const char *until, struct lull_rule *rule)
{
	const char *glob_until = until;
	const char *at;
	int level = LEVEL_ANY;

	rule->excludes = line < until && *line == '!';
	rule->glob = line + rule->excludes;
	at = __builtin_memchr(rule->glob, '@', (size_t)(until - rule->glob));
	if (at) {
		glob_until = at;
		level = level_read(at + 1, (size_t)(until - at - 1));
		if (level < 0)
			return "the level after '@' is none of emergency, alert, critical, "
			       "error, warning, notice, info, debug, or 0 to 7";
	}
	rule->level = (uint8_t)level;
	if (rule->glob == glob_until)
		return "there is no name to match; write * for all";
	rule->glob_bytes = (size_t)(glob_until - rule->glob);
	for (at = rule->glob; at < glob_until;) {
		if (*at == '[') {
			at = set_end(at, glob_until);
			if (!at)
				return "the set that begins with '[' has no ']'";
		} else if ((unsigned char)*at <= ' ') {
			return "names hold no spaces";
		} else {
			at++;
		}
	}
	return NULL;
}

/* Is c in the set between '[' and ']'? end is past the ']'. */
static int set_has(const char *at, const char *end, char c)
{
	int excludes, found = 0;

	at++;
	excludes = *at == '!';
	at += excludes;
	do {
		char first = *at, last = *at;

		if (at + 3 < end && at[1] == '-') {
			last = at[2];
			at += 2;
		}
		at++;
		found |= (unsigned char)c >= (unsigned char)first &&
			 (unsigned char)c <= (unsigned char)last;
	} while (at + 1 < end);
	return found != excludes;
}

/* Match one character, and step over what matched it. */
static int one_matches(const char **glob, const char *until, char c)
{
	const char *at = *glob;
	const char *end;

	if (at == until || *at == '*')
		return 0;
	end = *at == '[' ? set_end(at, until) : at + 1;
	if (*at == '[' ? !set_has(at, end, c) : *at != '?' && *at != c)
		return 0;
	*glob = end;
	return 1;
}

static int glob_matches(const struct lull_rule *rule, const char *name, size_t name_bytes)
{
	const char *name_until = name + name_bytes;
	const char *glob = rule->glob;
	const char *glob_until = glob + rule->glob_bytes;
	const char *star = NULL; /* after the last '*' */
	const char *star_name = NULL; /* what it has swallowed ends here */

	/* Bound: each round consumes a character of the name, or of the glob, or moves star. */
	while (name < name_until) {
		if (glob < glob_until && *glob == '*') {
			star = ++glob;
			star_name = name;
		} else if (one_matches(&glob, glob_until, *name)) {
			name++;
		} else if (star) {
			glob = star;
			name = ++star_name;
		} else {
			return 0;
		}
	}
	while (glob < glob_until && *glob == '*')
		glob++;
	return glob == glob_until;
}

static int rule_matches(const struct lull_rule *rule, const char *name, size_t name_bytes,
			uint32_t level)
{
	return level <= rule->level && glob_matches(rule, name, name_bytes);
}

/* The next line that can be understood. Return: 0 at the end of the text. */
static int rule_next(const char **patterns, struct lull_rule *rule)
{
	while (**patterns) {
		const char *line = *patterns;
		const char *until = line_end(line);

		*patterns = *until ? until + 1 : until;
		if (until > line && !rule_read(line, until, rule))
			return 1;
	}
	return 0;
}

size_t lull_rules_read(const char *patterns, struct lull_rule *rules, size_t capacity)
{
	size_t count = 0;

	while (count < capacity && rule_next(&patterns, &rules[count]))
		count++;
	return count;
}

int lull_rules_decide(const struct lull_rule *rules, size_t count, const char *name,
		      size_t name_bytes, uint32_t level)
{
	while (count--)
		if (rule_matches(&rules[count], name, name_bytes, level))
			return (int)count;
	return -1;
}

int lull_rules_match(const struct lull_rule *rules, size_t count, const char *name,
		     size_t name_bytes, uint32_t level)
{
	int rule = lull_rules_decide(rules, count, name, name_bytes, level);

	return rule >= 0 && !rules[rule].excludes;
}

int lull_pattern_match(const char *patterns, const char *name, size_t name_bytes, uint32_t level)
{
	struct lull_rule rule;
	int wanted = 0;

	while (rule_next(&patterns, &rule))
		if (rule_matches(&rule, name, name_bytes, level))
			wanted = !rule.excludes;
	return wanted;
}

size_t lull_pattern_check(const char *patterns, const char **reason)
{
	size_t number = 1;

	for (const char *line = patterns; *line; number++) {
		const char *until = line_end(line);
		struct lull_rule rule;
		const char *wrong = until > line ? rule_read(line, until, &rule) : NULL;

		if (wrong) {
			if (reason)
				*reason = wrong;
			return number;
		}
		line = *until ? until + 1 : until;
	}
	return 0;
}
