/* SPDX-License-Identifier: MIT */
/*
 * The rules of a session, as this process has them: copied from the session's memory when it is
 * attached, and again when they have changed.
 *
 * abi/session.h says how the recorder changes them. What is copied is checked: another process may
 * have written anything there. Only the change or the scan that is under way uses the copy, so it
 * is replaced without a grace period; what probes use of it, linked filters, is in filters.c.
 * Paper: T 4.6.1 (what is recorded is changed while it is). Design: docs/design/90-live.md.
 */
#include <errno.h>
#include "liblull.h"
#include "lull_port.h"

#define COPIES_MAX 16 /* each other than the first follows a change by the recorder */

/* Rules that a text of patterns can have: one a line. */
static size_t rules_capacity(const char *patterns)
{
	size_t lines = 1;

	for (; *patterns; patterns++)
		lines += *patterns == '\n';
	return lines;
}

void lull_session_rules_read(struct session *session)
{
	size_t capacity = rules_capacity(session->patterns);
	struct lull_rule *rules = lull_private_memory(capacity * sizeof(*rules));

	if (!rules)
		return;
	session->rules = rules;
	session->rule_count = lull_rules_read(session->patterns, rules, capacity);
}

/* Of patterns with their NUL, and of filters. */
struct lengths {
	uint32_t patterns_bytes;
	uint32_t filters_bytes;
};

/* Private memory for rules of these lengths; nothing is in it yet. Return: 0, -EINVAL, -ENOMEM. */
static int copy_make(struct session *copy, const struct session *session,
		     const struct lengths *lengths)
{
	const struct lull_session_control *control = &session->fixed;

	__builtin_memset(copy, 0, sizeof(*copy));
	if (!lengths->patterns_bytes || lengths->patterns_bytes > control->patterns_bytes ||
	    lengths->filters_bytes > control->filters_bytes)
		return -EINVAL;
	copy->patterns_bytes = lengths->patterns_bytes;
	copy->patterns = lull_private_memory(lengths->patterns_bytes);
	if (!copy->patterns)
		return -ENOMEM;
	copy->filters_bytes = lengths->filters_bytes;
	if (copy->filters_bytes)
		copy->filters = lull_private_memory(lengths->filters_bytes);
	return copy->filters_bytes && !copy->filters ? -ENOMEM : 0;
}

/* Copy the rules of one sequence. Return: 0; -EAGAIN where they are of another by now. */
static int copy_fill(struct session *copy, const struct session *session, uint32_t sequence)
{
	const struct lull_session_control *control = &session->fixed;
	uint32_t which = sequence & 1;

	lull_fetch((void *)copy->patterns,
		   session->map.base + control->patterns_offset_bytes +
			   which * control->patterns_bytes,
		   copy->patterns_bytes);
	if (copy->filters_bytes)
		lull_fetch((void *)copy->filters,
			   session->map.base + control->filters_offset_bytes +
				   control->event_capacity * sizeof(uint32_t) +
				   which * control->filters_bytes,
			   copy->filters_bytes);
	/*
	 * [session.rules:C] compare-and-swap, full. Pairs with [session.rules:A].
	 * Orders: the loads of the rules before the load that finds their sequence unchanged.
	 * Else: the recorder's next change but one is in what was copied. Mutant: RULES_ONCE.
	 */
	if (lull_cas32(&session->control->rules_sequence, sequence, sequence) != sequence)
		return -EAGAIN;
	if (copy->patterns[copy->patterns_bytes - 1])
		return -EINVAL;
	copy->filters_damaged =
		copy->filters_bytes && !lull_filters_check(copy->filters, copy->filters_bytes);
	copy->rules_sequence = sequence;
	return 0;
}

void lull_session_rules_release(struct session *session)
{
	if (session->rules)
		lull_private_release(session->rules,
				     rules_capacity(session->patterns) * sizeof(*session->rules));
	if (session->patterns)
		lull_private_release(session->patterns, session->patterns_bytes);
	if (session->filters)
		lull_private_release(session->filters, session->filters_bytes);
	session->rules = NULL;
	session->rule_count = 0;
	session->patterns = NULL;
	session->filters = NULL;
	session->filters_bytes = 0;
}

static void rules_replace(struct session *session, const struct session *copy)
{
	lull_session_rules_release(session);
	session->patterns = copy->patterns;
	session->patterns_bytes = copy->patterns_bytes;
	session->filters = copy->filters;
	session->filters_bytes = copy->filters_bytes;
	session->filters_damaged = copy->filters_damaged;
	lull_store32(&session->rules_sequence, copy->rules_sequence);
}

int lull_session_rules_copy(struct session *session)
{
	int result = -EAGAIN;

	for (int i = 0; i < COPIES_MAX && result == -EAGAIN; i++) {
		/*
		 * [session.rules:B] acquire. Pairs with [session.rules:A].
		 * Orders: the load of the sequence before those of the rules.
		 * Else: this process takes old rules for those of the sequence.
		 * Mutant: RULES_READ_RELAXED.
		 */
		uint32_t sequence = lull_load32_acquire(&session->control->rules_sequence);
		uint32_t which = sequence & 1;
		struct lengths lengths = {
			lull_load32(&session->control->patterns_used_bytes[which]),
			lull_load32(&session->control->filters_used_bytes[which]),
		};
		struct session copy;

		result = copy_make(&copy, session, &lengths);
		if (!result)
			result = copy_fill(&copy, session, sequence);
		if (result)
			lull_session_rules_release(&copy);
		else
			rules_replace(session, &copy);
	}
	return result;
}

void lull_session_rules_restore(struct session *session)
{
	session->rules = NULL;
	session->rule_count = 0;
	session->patterns = NULL;
	session->filters = NULL;
	session->filters_bytes = 0;
	if (!lull_session_rules_copy(session))
		return;
	session->patterns = "";
	session->patterns_bytes = 1;
}

int lull_session_rules_update(struct session *session)
{
	int result;

	if (lull_load32(&session->control->rules_sequence) == session->rules_sequence)
		return 0;
	result = lull_session_rules_copy(session);
	return result ? result : 1;
}
