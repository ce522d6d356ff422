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
 */
#include "liblull.h"

#define KNOWN_BACK 8u /* identifiers that lull_event_known() tries, from the next one back */

static uint64_t description_hash(const char *text, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash ? hash : 1;
}

/* Put the description into the arena. Return: its offset plus 1, or 0 when the arena is full. */
static uint32_t describe(struct session *session, const char *description, size_t bytes)
{
	uint32_t used = __atomic_load_n(&session->control->arena_used_bytes, __ATOMIC_RELAXED);

	/* Bound: each round follows another process's success. */
	do {
		if (used > session->arena_bytes || bytes > session->arena_bytes - used)
			return 0;
	} while (!__atomic_compare_exchange_n(&session->control->arena_used_bytes, &used,
					      used + (uint32_t)bytes, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	__builtin_memcpy(session->arena + used, description, bytes);
	return used + 1;
}

/* Is this the description that was published under @id? While none is, the offset is 0. */
static int is_published(const struct session *session, uint32_t id, const char *description,
			size_t bytes)
{
	const struct lull_event_entry *entry = &session->events[id];
	uint32_t offset = __atomic_load_n(&entry->offset_bytes, __ATOMIC_ACQUIRE) - 1;
	uint32_t length = __atomic_load_n(&entry->length_bytes, __ATOMIC_RELAXED);

	return length == bytes && offset <= session->arena_bytes &&
	       bytes <= session->arena_bytes - offset &&
	       !__builtin_memcmp(session->arena + offset, description, bytes);
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
	uint64_t found = __atomic_load_n(&entry->hash, __ATOMIC_ACQUIRE);

	if (!found && __atomic_compare_exchange_n(&entry->hash, &found, hash, 0, __ATOMIC_ACQ_REL,
						  __ATOMIC_ACQUIRE))
		return 1;
	return found == hash;
}

uint32_t lull_event_register(struct session *session, const char *description, size_t bytes)
{
	uint64_t hash = description_hash(description, bytes);

	for (uint32_t id = LULL_EVENT_FIRST; id < session->event_capacity; id++) {
		struct lull_event_entry *entry = &session->events[id];
		uint32_t offset;

		if (!claim(entry, hash))
			continue;
		session->last_event = id;
		if (__atomic_load_n(&entry->offset_bytes, __ATOMIC_ACQUIRE))
			return id;
		offset = describe(session, description, bytes);
		if (!offset)
			return 0;
		/* Two processes that publish at once write the same length and equal texts. */
		__atomic_store_n(&entry->length_bytes, (uint32_t)bytes, __ATOMIC_RELAXED);
		__atomic_store_n(&entry->offset_bytes, offset, __ATOMIC_RELEASE);
		return id;
	}
	return 0;
}
