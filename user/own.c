/* SPDX-License-Identifier: MIT */
/*
 * liblull's own events, which every recorded process has: set up from what the first process of
 * a session found (struct lull_own_events in abi/session.h), without a look at their notes.
 *
 * The linker puts the records of these events side by side, so that a place among them says which
 * event it is. What is recalled comes from memory that others can write: it is read once, and a
 * number in it becomes an event's identifier, or nothing; no address comes from there.
 * objects.c looks at the notes where nothing is known, and tells what it found.
 */
#include <elf.h>
#include <link.h>
#include "liblull.h"
#include "lull_port.h"

#define OWN __attribute__((weak, visibility("hidden")))

/* The linker's names for the bounds of the section that sites.h names, and for our header. */
extern struct lull_probe_record __start_lull_records[] OWN;
extern struct lull_probe_record __stop_lull_records[] OWN;
extern const ElfW(Ehdr) __ehdr_start OWN;

static size_t own_count(void)
{
	return (size_t)(__stop_lull_records - __start_lull_records);
}

int lull_own_has(const struct lull_probe_record *record)
{
	return record >= __start_lull_records && record < __stop_lull_records;
}

int lull_own_is(const void *program_headers)
{
	const ElfW(Ehdr) *header = &__ehdr_start;

	return header && program_headers == (const char *)header + header->e_phoff;
}

/* Does what is to be known fit? Where the linker made no build identifier there is nothing. */
static int can_be_known(struct build_id id)
{
	return own_count() && own_count() <= LULL_OWN_EVENTS_MAX && id.count &&
	       id.count <= LULL_OWN_BUILD_ID_BYTES;
}

/* Is this whole, and what is known of a liblull like ours? */
static int is_ours(const struct lull_own_events *own, struct build_id id)
{
	return own->count == own_count() && own->site_count && own->enabled_count &&
	       own->build_id_bytes == id.count &&
	       !__builtin_memcmp(own->build_id, id.bytes, id.count);
}

/* What a look at liblull would have added to a session's counts. */
struct counts {
	uint32_t site_count;
	uint32_t enabled_count;
};

/* Give our probes the identifiers of one session. Return: 0 where they are not known. */
static int identifiers_recall(uint32_t index, struct build_id id, struct counts *counts)
{
	const struct session *session = &lull_process.sessions[index];
	struct lull_own_events own;

	lull_fetch(&own, session->own, sizeof(own));
	if (!is_ours(&own, id))
		return 0;
	for (size_t i = 0; i < own_count(); i++) {
		uint32_t found = own.id[i] == LULL_OWN_UNWANTED ? 0 : own.id[i];

		if (!own.id[i] || found >= session->event_capacity)
			return 0;
		__start_lull_records[i].id[index] = (uint16_t)found;
	}
	*counts = (struct counts){ own.site_count - 1, own.enabled_count - 1 };
	return 1;
}

static void counts_add(const struct counts *counts)
{
	EACH_SESSION(i) {
		struct lull_session_control *control = lull_process.sessions[i].control;

		lull_add32_relaxed(&control->site_count, counts[i].site_count);
		lull_add32_relaxed(&control->enabled_count, counts[i].enabled_count);
	}
}

/*
 * Does a session filter or count, for which it takes the descriptions that notes have, or has it
 * other rules than when it began?
 */
static int is_special(void)
{
	EACH_SESSION(i)
		if (lull_session_asks(&lull_process.sessions[i]))
			return 1;
	return 0;
}

int lull_own_recall(struct build_id id)
{
	struct counts counts[LULL_SESSIONS_MAX];

	if (!can_be_known(id) || is_special())
		return 0;
	if (__start_lull_records->interface)
		return 1; /* they are set up: something else was unloaded since */
	EACH_SESSION(i)
		if (!identifiers_recall(i, id, &counts[i]))
			return 0;
	for (struct lull_probe_record *record = __start_lull_records; record < __stop_lull_records;
	     record++) {
		uint32_t mask = 0;

		EACH_SESSION(i)
			mask |= (uint32_t)(record->id[i] != 0) << i;
		lull_probe_enable(record, mask);
	}
	counts_add(counts);
	return 1;
}

void lull_own_tell(uint32_t index, struct build_id id, uint32_t site_count, uint32_t enabled_count)
{
	struct lull_own_events *own = lull_process.sessions[index].own;
	struct lull_own_events found = { 0 };

	if (!can_be_known(id) || is_special())
		return;
	for (size_t i = 0; i < own_count(); i++) {
		const struct lull_probe_record *record = &__start_lull_records[i];

		if (!record->interface || record->id[index] == LULL_OWN_UNWANTED)
			return;
		found.id[i] =
			record->enabled_mask & 1u << index ? record->id[index] : LULL_OWN_UNWANTED;
	}
	found.count = (uint32_t)own_count();
	found.site_count = site_count + 1;
	found.enabled_count = enabled_count + 1;
	found.build_id_bytes = id.count;
	__builtin_memcpy(found.build_id, id.bytes, id.count);
	if (lull_load32(&own->claimed) || lull_cas32_relaxed(&own->claimed, 0, 1))
		return;
	lull_copy(&own->count, &found.count,
		  sizeof(found) - offsetof(struct lull_own_events, count));
}
