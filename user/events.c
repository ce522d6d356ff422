/* SPDX-License-Identifier: MIT */
/*
 * Event identifiers: one table a session, shared by all its processes, append-only.
 *
 * The description is the identity, so a program run twice or a library in two programs
 * uses the same identifier, and identifiers are dense, so the common ones fit in a byte.
 * struct lull_event_entry in abi/session.h tells how a claimant that dies is made up for.
 */
#include "liblull.h"

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

uint32_t lull_event_register(struct session *session, const char *description, size_t bytes)
{
	uint64_t hash = description_hash(description, bytes);

	for (uint32_t id = LULL_EVENT_FIRST; id < session->event_capacity; id++) {
		struct lull_event_entry *entry = &session->events[id];
		uint64_t found = 0;
		uint32_t offset;

		if (!__atomic_compare_exchange_n(&entry->hash, &found, hash, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE) &&
		    found != hash)
			continue;
		if (__atomic_load_n(&entry->offset_bytes, __ATOMIC_ACQUIRE))
			return id;
		offset = describe(session, description, bytes);
		if (!offset)
			return 0;
		/* Two who publish at once write the same length and equal texts. */
		__atomic_store_n(&entry->length_bytes, (uint32_t)bytes, __ATOMIC_RELAXED);
		__atomic_store_n(&entry->offset_bytes, offset, __ATOMIC_RELEASE);
		return id;
	}
	return 0;
}
