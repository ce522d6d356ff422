/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Lull's one line: the header that instrumented programs include.
 *
 *	#include <lull/trace.h>
 *	lull_event("http:request", lull_u64(id, r->id), lull_str(url, r->url));
 *
 * An event is a statement: a name, group:name, then 0 to 16 fields (fields.h). C11 and C++17,
 * gcc 9 and clang 11 or later. It may stand in executables, libraries, plugins, templates,
 * lambdas and signal handlers; in constexpr functions it may not.
 *
 * The program needs nothing else of Lull to be built or run. While no session wants the event, the
 * event costs a no-op (site.h). Otherwise the probe below runs in its place: it asks the filters of
 * sessions that have some, asks the interface in its record for a slot in each session that wants
 * the event, copies the fields and commits.
 *
 * Paper: T 8.1 (markers: one line), 8.2 (tracepoints: type checks), 8.3 (static jumps).
 */
#ifndef LULL_TRACE_H
#define LULL_TRACE_H

#pragma GCC system_header

#include "abi/site.h"
#include "each.h"
#include "fields.h"
#include "inputs.h"
#include "site.h"

/**
 * lull_event() - Record an event of level info.
 * @...: the name, a string literal "group:name"; then 0 to 16 fields.
 *
 * Context: any, async-signal-safe. Values are evaluated once, in order, and only while a
 * session has the event enabled. A signal handler that interrupts an event returns to it: one that
 * leaves it by siglongjmp() leaves a slot that is never committed, and later events of that CPU
 * may be lost, which is counted.
 * Progress: wait-free: an event that cannot get a slot in a bounded number of rounds is lost and
 * counted.
 */
#define lull_event(...) LULL_EVENT(LULL_LEVEL_INFO, __VA_ARGS__)

/**
 * lull_event_level() - Record an event.
 * @level: enum lull_level, a constant: LULL_LEVEL_EMERGENCY to LULL_LEVEL_DEBUG.
 * @...: the name, then 0 to 16 fields, as for lull_event().
 */
#define lull_event_level(level, ...) LULL_EVENT(level, __VA_ARGS__)

#define LULL_NAME(name, ...) name
#define LULL_EVENT(level, ...)                                                                   \
	do {                                                                                     \
		LULL_SITE_LABEL                                                                  \
		LULL_ASSERT((level) >= 0 && (level) <= LULL_LEVEL_DEBUG, LULL_LEVEL_NEEDS);      \
		LULL_ASSERT_FILE(LULL_FILE);                                                     \
		LULL_ASSERT_NAME("" LULL_NAME(__VA_ARGS__, ));                                   \
		LULL_EACH(LULL_FIELD_CHECK, __VA_ARGS__)                                         \
		LULL_ASSERT_DESCRIPTION(LULL_NAME(__VA_ARGS__, ),                                \
					LULL_EACH(LULL_FIELD_TEXT, __VA_ARGS__));                \
		LULL_SITE_ENTER(level, LULL_SITE_TEXT(LULL_NAME(__VA_ARGS__, ),                  \
						      LULL_EACH(LULL_FIELD_LINE, __VA_ARGS__))); \
		LULL_PROBE(__VA_ARGS__)                                                          \
	} while (0)
#define LULL_ASSERT_DESCRIPTION(name, fields)                                                  \
	LULL_ASSERT(sizeof("" name "\n6\n" LULL_FILE ":" LULL_STRING(__LINE__) "\n" fields) <= \
			    LULL_DESCRIPTION_BYTES_MAX,                                        \
		    LULL_DESCRIPTION_NEEDS)
#define LULL_DESCRIPTION_NEEDS \
	"lull_event: the name, the path and all names of fields and values have at most 65535 bytes"
#define LULL_LEVEL_NEEDS "lull_event_level: the level is LULL_LEVEL_EMERGENCY to LULL_LEVEL_DEBUG"

/*
 * A mask of 0 ends the probe before any field is evaluated: a site may be patched before its event
 * is enabled, and after it is disabled.
 *
 * [site.probe:A] acquire. Pairs with [site.enable:A].
 * Orders: the load of the mask before the loads of the record's interface, identifier and filters,
 * which liblull stored before it set the mask's bits.
 * Else: the probe sees the bit and loads an interface that is still NULL, or a wrong identifier.
 * Mutant: MASK_READ_RELAXED.
 *
 * Code that is linked together with the ring, as the kernel module is, may define what a probe does
 * at its begin and end, and how it reaches the ring and filters, before it includes this file.
 */
#ifndef LULL_PROBE_ENTER
#define LULL_PROBE_ENTER(probe) LULL_MASK_READ((probe)->record, __ATOMIC_ACQUIRE)
#endif
#ifndef LULL_PROBE_RESERVE
#define LULL_PROBE_LEAVE(probe)
#define LULL_PROBE_RESERVE(probe, session, id, payload_bytes) \
	(probe)->record->interface->reserve(&(probe)->slot, session, id, payload_bytes)
#define LULL_PROBE_COMMIT(probe) (probe)->record->interface->commit(&(probe)->slot)
#endif
#ifndef LULL_PROBE_FILTER
#define LULL_PROBE_FILTER(probe) (probe)->record->interface->filter
#endif

/*
 * One full expression has all values and records the event at its end, so that temporaries live
 * until then. Values stand in no lambda and are no arguments: what they mean, and their order, is
 * that of the place where the event stands.
 */
#define LULL_PROBE(...)                                                        \
	struct lull_probe lull_probe_;                                         \
	lull_probe_.record = lull_record_;                                     \
	lull_probe_.mask = LULL_PROBE_ENTER(&lull_probe_);                     \
	if (lull_probe_.mask) {                                                \
		LULL_EACH(LULL_FIELD_VARIABLE, __VA_ARGS__)                    \
		(void)(LULL_EACH(LULL_FIELD_VALUE, __VA_ARGS__) __extension__( \
			{ LULL_PROBE_SESSIONS(__VA_ARGS__) }));                \
		LULL_PROBE_LEAVE(&lull_probe_);                                \
	}
#define LULL_PROBE_SESSIONS(...)                                                           \
	const uint32_t lull_bytes_ = 0u LULL_EACH(LULL_FIELD_BYTES, __VA_ARGS__);          \
	do {                                                                               \
		LULL_PROBE_ASK(LULL_PROBE_FILTER(&lull_probe_), &lull_probe_, __VA_ARGS__) \
		LULL_PROBE_RECORD(__VA_ARGS__)                                             \
	} while (0);

/* In each session of the mask. */
#define LULL_PROBE_RECORD(...)                                              \
	do {                                                                \
		if (lull_probe_reserve(&lull_probe_, lull_bytes_)) {        \
			unsigned char *lull_at_ = lull_probe_.slot.payload; \
			lull_padding_store(lull_at_, lull_bytes_);          \
			LULL_EACH(LULL_FIELD_STORE, __VA_ARGS__)            \
			(void)lull_at_;                                     \
			LULL_PROBE_COMMIT(&lull_probe_);                    \
		}                                                           \
	} while ((lull_probe_.mask &= lull_probe_.mask - 1));

static inline __attribute__((__always_inline__)) int lull_probe_reserve(struct lull_probe *probe,
									uint32_t payload_bytes)
{
	uint32_t session = (uint32_t)__builtin_ctz(probe->mask);

	return LULL_PROBE_RESERVE(probe, session, probe->record->id[session],
				  (payload_bytes + 3u) & ~3u);
}

/*
 * A shared object asks liblull to scan it before its other constructors run, so that events in
 * these are recorded when dlopen() loads the object. Executables need not ask: liblull is
 * initialised before them. The reference is weak: without liblull, nothing is called. An object
 * that is loaded before liblull starts may define LULL_OBJECT_ANNOUNCED and omit the call.
 */
#if defined(__PIC__) && !defined(__PIE__) && !defined(LULL_OBJECT_ANNOUNCED)
#ifdef __cplusplus
extern "C"
#endif
	__attribute__((__weak__, __visibility__("default"))) void
	lull_object_loaded(void);

static __attribute__((__constructor__(101))) void lull_object_announce(void)
{
	if (lull_object_loaded)
		lull_object_loaded();
}
#endif

#endif
