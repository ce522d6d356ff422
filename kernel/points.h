/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of other modules: lull_event() in code that includes lull/module.h.
 *
 * All calls are made under the catalogue's mutex. They may sleep.
 */
#ifndef LULL_KERNEL_POINTS_H
#define LULL_KERNEL_POINTS_H

#include <linux/tracepoint.h>
#include "session.h"

/* lull_points_has() - whether this announces an event: then no probe may be registered with it. */
bool lull_points_has(const struct tracepoint *tracepoint);

/*
 * lull_points_add() - a module comes that has this tracepoint: if that announces an event, sessions
 * that are enabled and whose patterns match the event begin to record it.
 */
void lull_points_add(struct tracepoint *tracepoint);

/* lull_points_remove() - the module goes; none of its code runs any more. */
void lull_points_remove(struct tracepoint *tracepoint);

/* lull_points_enable() - record those that the session's patterns match; adds to the counts. */
void lull_points_enable(struct session *session, struct lull_kernel_enable *result);

/* lull_points_change() - record those no longer that it does not want now, others unfiltered. */
void lull_points_change(const struct session *session);

/* lull_points_disable() - record none any more. The caller waits for probes that run. */
void lull_points_disable(struct session *session);

/* lull_points_forget() - the session ends: another one may get its place in masks. */
void lull_points_forget(const struct session *session);

#endif
