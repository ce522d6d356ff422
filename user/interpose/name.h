/* SPDX-License-Identifier: MIT */
/* The event of a thread that is given a name, which two interposers record: thread.c, confine.c. */
#ifndef LULL_INTERPOSE_NAME_H
#define LULL_INTERPOSE_NAME_H

#include <pthread.h>
#include "interpose.h"

static inline __attribute__((always_inline)) void record_name(pthread_t handle, const char *name)
{
	EVENT("thread:name", lull_x64(handle, handle), lull_str(name, name));
}

#endif
