/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Site bytes: what an instrumented object (executable or shared library) carries.
 *
 * Every use of lull_event() leaves, through inline assembly only, so that it works in C,
 * C++, inline functions and templates:
 *
 *  - one no-op in the text, to be patched into a jump;
 *  - an ELF note of type LULL_NOTE_SITE that locates the no-op and its jump target;
 *  - in the cold path, a struct lull_probe_record in the data, and an ELF note of type
 *    LULL_NOTE_PROBE that locates it.
 *
 * Both notes end with the same description text; the text is the event's identity, so all copies
 * of a site that the compiler duplicated are one event. Notes are passive: an instrumented
 * object refers to no symbol of Lull's and runs unchanged without it. Note offsets are
 * relative to the address of the offset itself.
 *
 * Paper: T 8.1 (markers), 8.3 (immediate values, static jumps); docs/design/20-site.md.
 */
#ifndef LULL_ABI_SITE_H
#define LULL_ABI_SITE_H

#include <stddef.h>
#include <stdint.h>
#include "session.h"

#define LULL_NOTE_NAME "Lull" /* with its NUL: 5 bytes, padded to 8 */
#define LULL_NOTE_SITE 1u
#define LULL_NOTE_PROBE 2u
#define LULL_DESCRIPTION_BYTES_MAX 65536u /* with its NUL */

/* Descriptor of LULL_NOTE_SITE; the NUL-terminated description follows. */
struct lull_note_site {
	int32_t code_offset_bytes; /* the no-op */
	int32_t target_offset_bytes; /* where the jump goes */
};

/* Descriptor of LULL_NOTE_PROBE; the NUL-terminated description follows. */
struct lull_note_probe {
	int32_t record_offset_bytes; /* the struct lull_probe_record */
};

/*
 * The description is one line per item, fields in order:
 *
 *	NAME \n LEVEL \n FILE : LINE \n FIELD-TYPE SPACE FIELD-NAME [SPACE ARGUMENT] \n ...
 *
 * LEVEL is a decimal enum lull_level. FIELD-TYPE is one of u8 u16 u32 u64 i8 i16 i32 i64
 * x8 x16 x32 x64 f32 f64 bool ptr str strn bytes, enum (ARGUMENT: "NAME=VALUE,..."; stored as
 * i32), and a8..a64-like arrays: au8 ai8 au16 ai16 au32 ai32 au64 ai64; in lull:context also aptr,
 * an array of addresses. x8 to x64 may have an ARGUMENT like an enum's, which names bits that a
 * value may have together. In the payload, all
 * fields are packed without padding, native byte order; str and strn are NUL-terminated;
 * bytes and arrays are a u32 element count, then the elements; the payload ends padded with
 * zero bytes to LULL_SLOT_ALIGN (CTF's event alignment).
 */

/* A slot being filled. The probe writes to payload; the rest belongs to liblull. */
struct lull_slot {
	unsigned char *payload;
	uint64_t private_words[6];
};

struct lull_session;
struct lull_probe_record;

/*
 * The state of a probe that runs. All of it is in memory that reserve() could read, so that the
 * compiler keeps none of it in registers that the surrounding function would have to save.
 * reserve() gets the slot's address and finds the record behind the slot.
 */
struct lull_probe {
	struct lull_slot slot;
	const struct lull_probe_record *record;
	uint32_t mask; /* sessions still to record in */
};

/*
 * What liblull offers to probes, one per process. The layout only grows: a program built
 * against an older header finds every member where it was.
 */
struct lull_probe_interface {
	uint32_t version;
	uint32_t session_mask_valid; /* bit i: session[i] is attached */
	/*
	 * Reserve payload_bytes for event id in session index; slot is that of a struct
	 * lull_probe, whose record is read again: another session may have come to this index
	 * since the caller read it, and then id is another event's and is not used. Returns 0 when
	 * the event is lost (and counted), not wanted any more, or the session is stopped; 1 when
	 * slot->payload is to be filled and commit called.
	 * Context: any, async-signal-safe. Progress: wait-free: rounds are bounded.
	 */
	int (*reserve)(struct lull_slot *slot, uint32_t session, uint32_t id,
		       uint32_t payload_bytes);
	/* Make a reserved slot readable. Context: any, async-signal-safe. Progress: wait-free. */
	void (*commit)(struct lull_slot *slot);
	/*
	 * Which sessions record an occurrence? From version 2 on. Called where the record's mask
	 * has a bit of LULL_MASK_FILTERED (inputs.h), which is so only for probes that ask.
	 * mask: of the record. values: of all fields, two words for each.
	 * Returns a bit for each session that records it, without those of filters.
	 * Context: any, async-signal-safe. Progress: wait-free: filters go ahead only.
	 */
	uint32_t (*filter)(const struct lull_probe_record *record, uint32_t mask,
			   const uint64_t *values);
};

/* Of a record's filter: set where the probe asks before it reserves, by the header it is of. */
#define LULL_RECORD_ASKS 0x80000000u

/* Writable state of one probe: set before its sites are patched, and when sessions change. */
struct lull_probe_record {
	const struct lull_probe_interface *interface;
	uint32_t enabled_mask; /* bit i: record in session i; from bit 8 on: ask its filter */
	uint32_t filter; /* LULL_RECORD_ASKS; liblull adds where the filters are */
	uint16_t id[LULL_SESSIONS_MAX]; /* event identifier in each session */
};

/* The events that every session has, under the identifiers of packet.h. */
#define LULL_DESCRIPTION_THREAD "lull:thread\n6\n:\nu32 pid\nu32 tid\nname name\n"
#define LULL_DESCRIPTION_LOST "lull:lost\n4\n:\n"
#define LULL_DESCRIPTION_LOST_BYTES "lull:lost_bytes\n4\n:\nbytes content\n"

enum lull_level {
	LULL_LEVEL_EMERGENCY,
	LULL_LEVEL_ALERT,
	LULL_LEVEL_CRITICAL,
	LULL_LEVEL_ERROR,
	LULL_LEVEL_WARNING,
	LULL_LEVEL_NOTICE,
	LULL_LEVEL_INFO,
	LULL_LEVEL_DEBUG
};

#endif
