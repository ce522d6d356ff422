/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of this module: found once, at load, by their notes, and tied to tracepoints.
 */
#ifndef LULL_KERNEL_CATALOGUE_H
#define LULL_KERNEL_CATALOGUE_H

#include "session.h"

struct lull_note;
struct lull_probe_record;

/* lull_catalogue_init() - find events and tracepoints. Return: 0 or -errno. */
int lull_catalogue_init(void);

/* lull_catalogue_exit() - let go of all tracepoints. Context: no session exists. */
void lull_catalogue_exit(void);

/* lull_catalogue_ids() - Return: a zeroed identifier for each event, to be kvfree()d, or NULL. */
uint16_t *lull_catalogue_ids(void);

/* lull_catalogue_describe_system() - put lull:thread and the like into a new session's table. */
void lull_catalogue_describe_system(struct session *session);

/*
 * lull_catalogue_describe_context() - put the context of all events into a session's table, once.
 * Return: 0; -ENOSPC.
 */
int lull_catalogue_describe_context(struct session *session, const char *text, size_t bytes);

/*
 * lull_catalogue_identify() - give an event its identifier in a session, if it has none, and the
 * filter that it has now.
 * @id: 0, or what this call made it before
 * Context: under the catalogue's mutex. Return: 0; -ENOSPC: table or arena are full; -EINVAL: the
 * session's filter of this description is not one for it.
 */
int lull_catalogue_identify(struct session *session, const struct lull_note *note, uint16_t *id);

/*
 * lull_catalogue_describe() - the same for an event that no session had before, and a caller that
 * has not taken the mutex. Return: its identifier, or an error as above.
 */
int lull_catalogue_describe(struct session *session, const struct lull_note *note);

/*
 * lull_catalogue_filter() - record of some events only the occurrences that a filter takes.
 * @filtering: from lull_filtering_create(); the session's where this succeeds
 * Context: may sleep. Return: 0; -EBUSY: the session has events, and no change of them is
 * under way; or as lull_filtering_add().
 */
int lull_catalogue_filter(struct session *session, struct lull_filtering *filtering);

/*
 * lull_catalogue_count() - count an event that patterns match.
 * @error: what enabling it came to: 0; -ENOENT; -EIO; -EINVAL; -ENOSPC
 */
void lull_catalogue_count(struct lull_kernel_enable *result, int error);

/*
 * lull_catalogue_enable() - record the events that the session's patterns match, and its own.
 * @result: its counts are filled in
 * Context: may sleep. Events that are enabled already stay so,
 * with the filter that they have now.
 */
void lull_catalogue_enable(struct session *session, struct lull_kernel_enable *result);

/* lull_catalogue_wants() - does a session ask for an event? Context: under the mutex. */
bool lull_catalogue_wants(const struct session *session, const struct lull_note *note);

/*
 * lull_catalogue_unfilter() - record all occurrences of an event, where some are recorded.
 * Context: under the mutex. Probes that run may ask the filter for a grace period yet.
 */
void lull_catalogue_unfilter(const struct session *session, struct lull_probe_record *record);

/*
 * lull_catalogue_change() - record only events that another choice asks for, without filters.
 * @choice: is exchanged for the session's
 * Context: may sleep, for a grace period of RCU. Return: 0; -EBUSY: the session has sources.
 */
int lull_catalogue_change(struct session *session, struct choice *choice);

/* lull_catalogue_records() - does the session record an event whose name begins with @prefix? */
bool lull_catalogue_records(const struct session *session, const char *prefix);

/*
 * lull_catalogue_disable() - record none of them any more. When this returns, no probe is in the
 * session's memory. Context: may sleep, for a grace period of RCU.
 */
void lull_catalogue_disable(struct session *session);

/* lull_catalogue_forget() - the session ends. Context: it is disabled; may sleep. */
void lull_catalogue_forget(const struct session *session);

#endif
