/* SPDX-License-Identifier: MIT */
/*
 * io: the C library's buffered streams.
 *
 * The library fills and empties its buffers by calls of its own, which no interposer sees, so
 * streams are observed at their own functions. Reading and writing are chatty: most of them
 * only copy to or from the buffer.
 */
#include "interpose.h"
#include <stdio.h>
#include <stdio_ext.h>

REAL_FUNCTION(fileno);

static int stream_fd(FILE *file)
{
	return file ? REAL(fileno)(file) : -1;
}

static int stream_error(const FILE *file)
{
	return file ? 0 : errno;
}

INTERPOSE(fopen, FILE *, (const char *path, const char *mode))
{
	FILE *file = REAL(fopen)(path, mode);

	EVENT("io:fopen", lull_str(path, path_after(path, file ? 0 : -1)), lull_str(mode, mode),
	      lull_ptr(file, file), lull_i32(fd, stream_fd(file)),
	      lull_i32(error, stream_error(file)));
	return file;
}
ALIAS(fopen64, fopen);

INTERPOSE(fdopen, FILE *, (int fd, const char *mode))
{
	FILE *file = REAL(fdopen)(fd, mode);

	EVENT("io:fdopen", lull_i32(fd, fd), lull_str(mode, mode), lull_ptr(file, file),
	      lull_i32(error, stream_error(file)));
	return file;
}

BLOCKING("io:fclose", fclose, int, (FILE * file), (file), lull_ptr(file, file))
BLOCKING("io:fflush", fflush, int, (FILE * file), (file), lull_ptr(file, file))
BLOCKING("io:fflush", fflush_unlocked, int, (FILE * file), (file), lull_ptr(file, file))

/* Shape: items moved between a stream and memory; a short count is an error or the end. */
#define ITEMS(event, function, constness)                                               \
	INTERPOSE(function, size_t,                                                     \
		  (constness void *restrict items, size_t size_bytes, size_t count,     \
		   FILE *restrict file))                                                \
	{                                                                               \
		size_t result;                                                          \
                                                                                        \
		CHATTY_EVENT(event "_entry", lull_ptr(file, file),                      \
			     lull_u64(size_bytes, size_bytes), lull_u64(count, count)); \
		result = REAL(function)(items, size_bytes, count, file);                \
		CHATTY_EVENT(event "_exit", lull_u64(result, result));                  \
		return result;                                                          \
	}

ITEMS("io:fread", fread, )
ITEMS("io:fread", fread_unlocked, )
ITEMS("io:fwrite", fwrite, const)
ITEMS("io:fwrite", fwrite_unlocked, const)

/* Do @count items of @size_bytes fit? */
static int items_fit(size_t size_bytes, size_t count, size_t buffer_bytes)
{
	size_t bytes;

	return !__builtin_mul_overflow(size_bytes, count, &bytes) && bytes <= buffer_bytes;
}

FORTIFIED(__fread_chk, size_t,
	  (void *items, size_t buffer_bytes, size_t size_bytes, size_t count, FILE *file),
	  (items, buffer_bytes, size_bytes, count, file),
	  items_fit(size_bytes, count, buffer_bytes), fread(items, size_bytes, count, file))
FORTIFIED(__fread_unlocked_chk, size_t,
	  (void *items, size_t buffer_bytes, size_t size_bytes, size_t count, FILE *file),
	  (items, buffer_bytes, size_bytes, count, file),
	  items_fit(size_bytes, count, buffer_bytes),
	  fread_unlocked(items, size_bytes, count, file))
