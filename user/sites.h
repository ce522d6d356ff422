/* SPDX-License-Identifier: MIT */
/*
 * The events of liblull itself: <lull/trace.h>, for objects that are in every recorded process.
 *
 * Their sites test their records. Nearly every process has most of them enabled, and patching
 * them would cost each process a private copy of most of liblull's text. Nor do the objects
 * announce themselves: liblull's constructor looks at all objects there are when it starts.
 */
#ifndef LULL_USER_SITES_H
#define LULL_USER_SITES_H

#define LULL_SITE_LOAD
#define LULL_SITE_RECORDS "lull_records" /* of which own.c has the bounds */
#define LULL_OBJECT_ANNOUNCED
/*
 * The events of a file that defines LULL_SITE_SESSIONS, a mask, are recorded in those sessions
 * alone, of those that want them. [site.probe:A], as in trace.h: the mask before the identifier.
 */
#ifdef LULL_SITE_SESSIONS
#define LULL_PROBE_ENTER(probe)                              \
	(LULL_MASK_READ((probe)->record, __ATOMIC_ACQUIRE) & \
	 ((LULL_SITE_SESSIONS) | (LULL_SITE_SESSIONS) << LULL_SESSIONS_MAX))
#endif
#include "lull/trace.h"

#endif
