/* SPDX-License-Identifier: MIT */
/*
 * Interposers: how one function of the C library is wrapped, and the shapes they come in.
 *
 * Flow: the program calls read(); the dynamic linker bound it to ours; ours records an event,
 * calls the real one through a pointer that resolve.c fills in, and records another. With no
 * event enabled that is the tests of two records, a load, a test and an indirect call.
 *
 * Rules that every interposer keeps (docs/design/50-interposers.md says why):
 *  - results and errno are the real function's; probes change neither;
 *  - memory that the kernel is to read or write is read only after the kernel used it;
 *  - nothing is held between entry and exit, so that cancellation, exceptions and longjmp
 *    may leave the wrapper at any point.
 */
#ifndef LULL_INTERPOSE_H
#define LULL_INTERPOSE_H

/* Fortified headers would define inline functions of the names defined here. */
#undef _FORTIFY_SOURCE
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/*
 * A caller may pass NULL where the headers promise that no caller does, and then the kernel
 * answers EFAULT: the compiler must not drop our tests for NULL.
 */
#include <sys/cdefs.h>
#undef __nonnull
#define __nonnull(parameters)

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include "lull_port.h"
#include "sites.h"

#define INTERPOSED __attribute__((visibility("default")))
#define EVENT(...) lull_event(__VA_ARGS__)
#define CHATTY_EVENT(...) lull_event_level(LULL_LEVEL_DEBUG, __VA_ARGS__)

/*
 * resolve.c: find @function in the objects after ours and keep it in @real. @version: NULL for
 * the default one. Return: the function, or one that fails with ENOSYS where there is none.
 * Context: any, async-signal-safe.
 */
void *lull_interpose_resolve(void **real, const char *function, const char *version)
	__attribute__((cold));

/* Declare the pointer to the real @function. */
#define REAL_VERSIONED(function, version)                                            \
	static void *real_##function;                                                \
	static inline void *resolve_##function(void)                                 \
	{                                                                            \
		return lull_interpose_resolve(&real_##function, #function, version); \
	}
#define REAL_FUNCTION(function) REAL_VERSIONED(function, NULL)

/* The real @function, to be called. */
#define REAL(function)                                                                       \
	({                                                                                   \
		void *real = lull_load_pointer(&real_##function);                            \
		(__typeof__(function) *)(__builtin_expect(!real, 0) ? resolve_##function() : \
								      real);                 \
	})

/* Begin the definition of an interposer. */
#define INTERPOSE(function, type, parameters) \
	REAL_FUNCTION(function);              \
	INTERPOSED type function parameters

/* The error field of an event after a call that returned @result and set errno if negative. */
#define ERROR_FIELD(result) lull_i32(error, (result) < 0 ? errno : 0)

/* What a path is relative to. */
#define DIRECTORY_FIELD(fd) lull_enum(directory_fd, fd, "AT_FDCWD=-100")

/*
 * Shape: a call that may block gives EVENT_entry with the given fields, and EVENT_exit with
 * result and error.
 */
#define BLOCKING(event, function, type, parameters, arguments, ...)                  \
	INTERPOSE(function, type, parameters)                                        \
	{                                                                            \
		type result;                                                         \
                                                                                     \
		EVENT(event "_entry", __VA_ARGS__);                                  \
		result = REAL(function) arguments;                                   \
		EVENT(event "_exit", lull_i64(result, result), ERROR_FIELD(result)); \
		return result;                                                       \
	}

/* Shape: a call that does not block gives one event, after it, with fields, result, error. */
#define IMMEDIATE_LEVEL(record, event, function, type, parameters, arguments, ...)         \
	INTERPOSE(function, type, parameters)                                              \
	{                                                                                  \
		type result = REAL(function) arguments;                                    \
                                                                                           \
		record(event, __VA_ARGS__, lull_i64(result, result), ERROR_FIELD(result)); \
		return result;                                                             \
	}
#define IMMEDIATE(event, ...) IMMEDIATE_LEVEL(EVENT, event, __VA_ARGS__)
#define CHATTY(event, ...) IMMEDIATE_LEVEL(CHATTY_EVENT, event, __VA_ARGS__)

/* Where off_t is 64 bits wide, functions named with 64 are the same functions. */
#define ALIAS(name, function) \
	extern __typeof__(function) name INTERPOSED __attribute__((alias(#function)))

/*
 * Shape: the fortified variant of @function, called when the compiler knows how large the
 * buffer is. A request that is too large goes to the real variant, which ends the program.
 */
#define FORTIFIED(checked, type, parameters, arguments, fits, forwarded) \
	extern type checked parameters;                                  \
	INTERPOSE(checked, type, parameters)                             \
	{                                                                \
		if (!(fits))                                             \
			return REAL(checked) arguments;                  \
		return forwarded;                                        \
	}

/*
 * Has the kernel read the path of a call that opens a file, up to its NUL? The errors are those
 * that it finds when it has. It reads PATH_MAX bytes of a path that is too long for it, and of one
 * with a part that is too long as many as there are.
 */
static inline int path_is_read(const char *path, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
	case EEXIST:
	case EISDIR:
	case ELOOP:
	case EROFS:
	case ETXTBSY:
	case EBUSY:
	case ENXIO:
	case ENODEV:
	case EOPNOTSUPP:
	case EOVERFLOW:
	case EAGAIN:
	case EINTR:
	case EIO:
	case ENOSPC:
	case EDQUOT:
	case EMFILE:
	case ENFILE:
	case EBADF:
	case ESTALE:
		return 1;
	case ENAMETOOLONG:
		return __builtin_memchr(path, '\0', PATH_MAX) != NULL;
	default:
		return 0;
	}
}

/* A path that the kernel has read, or NULL if it has not. */
static inline const char *path_after(const char *path, long result)
{
	return result >= 0 || path_is_read(path, errno) ? path : NULL;
}

/* What a call stored at @stored, if it succeeded. */
static inline int stored_after(const int *stored, long result)
{
	return result < 0 || !stored ? -1 : *stored;
}

#endif
