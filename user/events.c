/* SPDX-License-Identifier: MIT */
/*
 * Event identifiers: one table per session, shared by all its processes, append-only.
 *
 * The description is the event's identity, so a program that is run twice or a library in two
 * programs uses the same identifier, and identifiers are dense, so the common ones fit in a byte.
 * struct lull_event_entry in abi/session.h says what happens when a process dies in between.
 *
 * A program's events get identifiers in the order of its notes, so in all its processes but the
 * first, an event most often has the identifier after that of the event before it, or one that
 * is a few places back, where a function with several events was inlined again.
 * lull_event_known() looks there, and compares texts instead of computing a hash.
 *
 * Barrier pairs:
 *	[session.describe:A]	length and text before the offset	[session.read:A]
 *	[session.read:A]	the offset before length and text, in	[session.describe:A]
 *				the recorder
 *
 * Nothing else in the table orders anything: a hash is all that its claim tells, and a place in
 * the arena is its claimant's alone.
 */
#include "liblull.h"
#include "lull_port.h"

#define KNOWN_BACK 8u /* identifiers that lull_event_known() tries, from the next one back */

/* Put the description into the arena. Return: its offset plus 1, or 0 when the arena is full. */
static uint32_t describe(struct session *session, const char *description, size_t bytes)
{
	uint32_t *word = &session->control->arena_used_bytes;
	uint32_t used, found = lull_load32(word);

	/* Bound: each round follows another process's success. */
	do {
		used = found;
		if (used > session->arena_bytes || bytes > session->arena_bytes - used)
			return 0;
		if (LULL_MUTANT(ARENA_STORED))
			lull_store32(word, used + (uint32_t)bytes);
		else
			found = lull_cas32_relaxed(word, used, used + (uint32_t)bytes);
	} while (found != used);
	if (!LULL_MUTANT(OFFSET_EARLY))
		lull_copy(session->arena + used, description, bytes);
	return used + 1;
}

/*
 * Is this the description that was published under @id? While none is, the offset is 0. A text that
 * is read too early differs, for each byte of the arena is written once; then the caller registers
 * the event, and finds it.
 */
static int is_published(const struct session *session, uint32_t id, const char *description,
			size_t bytes)
{
	const struct lull_event_entry *entry = &session->events[id];
	uint32_t offset = lull_load32(&entry->offset_bytes) - 1;
	uint32_t length = lull_load32(&entry->length_bytes);

	return length == bytes && offset <= session->arena_bytes &&
	       bytes <= session->arena_bytes - offset &&
	       lull_equal(session->arena + offset, description, bytes);
}

uint32_t lull_event_known(struct session *session, const char *description, size_t bytes)
{
	uint32_t next = session->last_event + 1;

	for (uint32_t back = 0; back < KNOWN_BACK; back++) {
		uint32_t id = next - back;

		if (id >= LULL_EVENT_FIRST && id < session->event_capacity &&
		    is_published(session, id, description, bytes))
			return session->last_event = id;
	}
	return 0;
}

/* Claim the entry for @hash, unless it is claimed already. Return: 0 when another event has it. */
static int claim(struct lull_event_entry *entry, uint64_t hash)
{
	/* Most entries are of other events: a load leaves their cache lines shared. */
	uint64_t found = lull_load(&entry->hash);

	if (!found && LULL_MUTANT(CLAIM_STORED))
		lull_store(&entry->hash, hash);
	else if (!found)
		found = lull_cas_relaxed(&entry->hash, 0, hash);
	return !found || found == hash;
}

uint32_t lull_event_register(struct session *session, const char *description, size_t bytes)
{
	uint64_t hash = lull_description_hash(description, bytes);

	for (uint32_t id = LULL_EVENT_FIRST; id < session->event_capacity; id++) {
		struct lull_event_entry *entry = &session->events[id];
		uint32_t offset;

		if (!claim(entry, hash))
			continue;
		session->last_event = id;
		/* The caller reads nothing of it: the identifier is all that it needs. */
		if (lull_load32(&entry->offset_bytes))
			return id;
		offset = describe(session, description, bytes);
		if (!offset)
			return 0;
		/* Two processes that publish at once write the same length and equal texts. */
		lull_store32(&entry->length_bytes, (uint32_t)bytes);
		/*
		 * [session.describe:A] release. Pairs with [session.read:A].
		 * Orders: the stores of length and text before that of the offset, which tells
		 * readers that they are there. The recorder does the same in tools/session,
		 * Memory::publish_event().
		 * Else: a reader sees the offset, and old bytes in place of the description.
		 * Mutants: OFFSET_EARLY, OFFSET_RELAXED.
		 */
		lull_store32_release(&entry->offset_bytes, offset);
		if (LULL_MUTANT(OFFSET_EARLY))
			lull_copy(session->arena + offset - 1, description, bytes);
		return id;
	}
	return 0;
}
