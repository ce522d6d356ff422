/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Patterns: globs, levels, exclusion, order, and lines that cannot be understood. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../check/test.h"
#include "pattern.h"

#define RANDOM_GLOBS 300000

static int matches(const char *patterns, const char *name)
{
	return lull_pattern_match(patterns, name, strlen(name), 6);
}

static int at_level(const char *patterns, uint32_t level)
{
	return lull_pattern_match(patterns, "a:b", 3, level);
}

static void globs(void)
{
	check(matches("a:b", "a:b") && !matches("a:b", "a:bc") && !matches("a:b", "a:") &&
		      !matches("b", "a:b"),
	      "a_glob_matches_the_whole_name");
	check(matches("*", "a:b") && matches("a:*", "a:b") && matches("*:b", "a:b") &&
		      matches("a*:*b", "a:b") && !matches("a:*c", "a:b") && matches("**", "a:b"),
	      "a_star_is_any_number_of_characters");
	check(matches("http:*e*t", "http:request") && matches("*a*b*c*", "xaxbxc") &&
		      !matches("*a*b*c*d", "xaxbxc") && matches("*:x:x:y", "a:x:x:x:y"),
	      "stars_go_back_as_often_as_needed");
	check(matches("a:?", "a:b") && !matches("a:?", "a:") && !matches("a:??", "a:b"),
	      "a_question_mark_is_one_character");
	check(matches("a:[abc]", "a:b") && !matches("a:[acd]", "a:b") &&
		      matches("a:[a-c]", "a:b") && !matches("a:[!a-c]", "a:b") &&
		      matches("a:[!cd]", "a:b") && matches("a:[x_a-b]z", "a:bz") &&
		      matches("a[:]b", "a:b"),
	      "a_set_is_one_of_its_characters");
	check(matches("a:[a-]", "a:-") && matches("a:[-a]", "a:-") && !matches("a:[a-]", "a:b"),
	      "a_dash_at_an_end_of_a_set_is_itself");
}

static void order(void)
{
	check(!matches("", "a:b") && !matches("\n\n", "a:b"), "no_line_matches_nothing");
	check(matches("a:*\n!a:c", "a:b") && !matches("a:*\n!a:b", "a:b"), "an_exclusion_excludes");
	check(matches("!a:*\na:b", "a:b") && !matches("a:b\n!a:*", "a:b") &&
		      matches("a:*\n!a:b\na:b", "a:b"),
	      "later_lines_win");
	check(!matches("!x:*", "a:b"), "exclusions_alone_want_nothing");
	check(matches("x:y\n\na:b\n", "a:b"), "empty_lines_are_passed_over");
}

static void levels(void)
{
	check(at_level("*@error", 3) && at_level("*@error", 0) && !at_level("*@error", 4),
	      "a_level_matches_itself_and_more_severe_ones");
	check(at_level("*@4", 4) && !at_level("*@4", 5) && at_level("*@0", 0) &&
		      !at_level("*@0", 1),
	      "levels_may_be_numbers");
	check(at_level("*@debug", 7) && at_level("*", 7), "without_a_level_all_match");
	check(!at_level("*\n!*@warning", 4) && at_level("*\n!*@warning", 5),
	      "an_exclusion_has_levels_too");
}

static void refused(void)
{
	const char *reason = NULL;

	check(lull_pattern_check("a:*\n!b:c@info\n*@7\n", &reason) == 0 &&
		      lull_pattern_check("", &reason) == 0,
	      "good_patterns_are_accepted");
	check(lull_pattern_check("a:*\nb:c@loud", &reason) == 2 && strstr(reason, "level"),
	      "an_unknown_level_is_named_by_its_line");
	check(lull_pattern_check("a:b@8", NULL) == 1 && lull_pattern_check("a:b@", NULL) == 1 &&
		      lull_pattern_check("@info", NULL) == 1 &&
		      lull_pattern_check("!", NULL) == 1 && lull_pattern_check("a:[b", NULL) == 1 &&
		      lull_pattern_check("a b", NULL) == 1 &&
		      lull_pattern_check("a:[]", NULL) == 1 && lull_pattern_check("a\t", NULL) == 1,
	      "lines_without_sense_are_refused");
	check(lull_pattern_check("a:[b", &reason) == 1 && strstr(reason, "']'") &&
		      lull_pattern_check("a b", &reason) == 1 && strstr(reason, "spaces") &&
		      lull_pattern_check("!", &reason) == 1 && strstr(reason, "no name"),
	      "the_reason_of_a_refusal_is_told");
	check(!matches("*@loud", "a:b") && matches("*\n!*@loud", "a:b") && !matches("a:[b", "a:[b"),
	      "a_refused_line_matches_nothing");
}

/* A text taken apart once answers as the text does, whatever lines it has. */
static void rules(void)
{
	static const char *const texts[] = { "",
					     "a:b",
					     "*\n!a:*\na:b@3\n\n",
					     "a:b\n!a:?\n",
					     "*@loud\na:[b\n!x",
					     "*\n!b:*\nb:*@info\n!c:*",
					     "\n\n*" };
	static const char *const names[] = { "a:b", "b:c", "c:d", "x", "" };
	struct lull_rule rule[8];
	int wrong = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t count = lull_rules_read(texts[i], rule, 8);

		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++)
			for (uint32_t level = 0; level < 8; level++)
				wrong += lull_rules_match(rule, count, names[j], strlen(names[j]),
							  level) !=
					 lull_pattern_match(texts[i], names[j], strlen(names[j]),
							    level);
	}
	check(!wrong, "rules_read_once_match_as_their_text_does");
	check(lull_rules_read("a\nb\nc", rule, 2) == 2 &&
		      lull_rules_read("a\nb\nc", rule, 8) == 3 &&
		      lull_rules_read("a b\n\n", rule, 8) == 0,
	      "rules_that_do_not_fit_or_have_no_sense_are_left_out");
}

/* A second, recursive matcher, for stars and question marks only. */
static int reference(const char *glob, const char *name)
{
	if (!*glob)
		return !*name;
	if (*glob == '*')
		return reference(glob + 1, name) || (*name && reference(glob, name + 1));
	return *name && (*glob == '?' || *glob == *name) && reference(glob + 1, name + 1);
}

static void random_globs(void)
{
	int wrong = 0, matched = 0;

	srand(1);
	for (int i = 0; i < RANDOM_GLOBS; i++) {
		char glob[9], name[9];
		int glob_bytes = 1 + rand() % 8, name_bytes = rand() % 9;

		for (int j = 0; j < glob_bytes; j++)
			glob[j] = "ab:*?*"[rand() % 6];
		for (int j = 0; j < name_bytes; j++)
			name[j] = "ab:"[rand() % 3];
		glob[glob_bytes] = name[name_bytes] = 0;
		matched += reference(glob, name);
		wrong += matches(glob, name) != reference(glob, name);
	}
	check(!wrong && matched > 1000, "random_globs_match_as_a_plain_recursive_matcher_says");
}

int main(void)
{
	globs();
	order();
	levels();
	refused();
	rules();
	random_globs();
	return sums();
}
