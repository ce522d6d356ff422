/* SPDX-License-Identifier: MIT */
/*
 * io: reading, writing and managing file descriptors.
 *
 * One row per function; interpose.h has the shapes. The interposers of open read the path after the
 * call, so that the kernel, and not liblull, meets a pointer that is not valid.
 */
#include "interpose.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>
#include "target.h"

_Static_assert(sizeof(off_t) == sizeof(off64_t), "functions named with 64 are the same ones");

static inline __attribute__((always_inline)) void open_entry(int directory_fd, int flags,
							     mode_t mode)
{
	EVENT("io:open_entry", DIRECTORY_FIELD(directory_fd), lull_x32(flags, flags),
	      lull_x32(mode, mode));
}

static inline __attribute__((always_inline)) int open_exit(const char *path, int result)
{
	EVENT("io:open_exit", lull_str(path, path_after(path, result)), lull_i64(result, result),
	      ERROR_FIELD(result));
	return result;
}

static int mode_given(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The mode argument of a variadic open, where the flags say that there is one. */
#define OPEN_MODE(flags)                             \
	({                                           \
		mode_t mode = 0;                     \
                                                     \
		if (mode_given(flags)) {             \
			va_list list;                \
                                                     \
			va_start(list, flags);       \
			mode = va_arg(list, mode_t); \
			va_end(list);                \
		}                                    \
		mode;                                \
	})

INTERPOSE(open, int, (const char *path, int flags, ...))
{
	mode_t mode = OPEN_MODE(flags);

	open_entry(AT_FDCWD, flags, mode);
	return open_exit(path, REAL(open)(path, flags, mode));
}
ALIAS(open64, open);

INTERPOSE(openat, int, (int directory_fd, const char *path, int flags, ...))
{
	mode_t mode = OPEN_MODE(flags);

	open_entry(directory_fd, flags, mode);
	return open_exit(path, REAL(openat)(directory_fd, path, flags, mode));
}
ALIAS(openat64, openat);

INTERPOSE(creat, int, (const char *path, mode_t mode))
{
	open_entry(AT_FDCWD, O_CREAT | O_WRONLY | O_TRUNC, mode);
	return open_exit(path, REAL(creat)(path, mode));
}
ALIAS(creat64, creat);

FORTIFIED(__open_2, int, (const char *path, int flags), (path, flags), !mode_given(flags),
	  open(path, flags))
ALIAS(__open64_2, __open_2);
FORTIFIED(__openat_2, int, (int directory_fd, const char *path, int flags),
	  (directory_fd, path, flags), !mode_given(flags), openat(directory_fd, path, flags))
ALIAS(__openat64_2, __openat_2);

BLOCKING("io:read", read, ssize_t, (int fd, void *buffer, size_t count), (fd, buffer, count),
	 lull_i32(fd, fd), lull_u64(count, count))
BLOCKING("io:write", write, ssize_t, (int fd, const void *buffer, size_t count),
	 (fd, buffer, count), lull_i32(fd, fd), lull_u64(count, count))
BLOCKING("io:pread", pread, ssize_t, (int fd, void *buffer, size_t count, off_t offset),
	 (fd, buffer, count, offset), lull_i32(fd, fd), lull_u64(count, count),
	 lull_i64(offset, offset))
ALIAS(pread64, pread);
BLOCKING("io:pwrite", pwrite, ssize_t, (int fd, const void *buffer, size_t count, off_t offset),
	 (fd, buffer, count, offset), lull_i32(fd, fd), lull_u64(count, count),
	 lull_i64(offset, offset))
ALIAS(pwrite64, pwrite);

BLOCKING("io:readv", readv, ssize_t, (int fd, const struct iovec *vector, int vector_count),
	 (fd, vector, vector_count), lull_i32(fd, fd), lull_i32(vector_count, vector_count))
BLOCKING("io:writev", writev, ssize_t, (int fd, const struct iovec *vector, int vector_count),
	 (fd, vector, vector_count), lull_i32(fd, fd), lull_i32(vector_count, vector_count))
BLOCKING("io:preadv", preadv, ssize_t,
	 (int fd, const struct iovec *vector, int vector_count, off_t offset),
	 (fd, vector, vector_count, offset), lull_i32(fd, fd), lull_i32(vector_count, vector_count),
	 lull_i64(offset, offset))
ALIAS(preadv64, preadv);
BLOCKING("io:pwritev", pwritev, ssize_t,
	 (int fd, const struct iovec *vector, int vector_count, off_t offset),
	 (fd, vector, vector_count, offset), lull_i32(fd, fd), lull_i32(vector_count, vector_count),
	 lull_i64(offset, offset))
ALIAS(pwritev64, pwritev);
BLOCKING("io:preadv2", preadv2, ssize_t,
	 (int fd, const struct iovec *vector, int vector_count, off_t offset, int flags),
	 (fd, vector, vector_count, offset, flags), lull_i32(fd, fd),
	 lull_i32(vector_count, vector_count), lull_i64(offset, offset), lull_x32(flags, flags))
ALIAS(preadv64v2, preadv2);
BLOCKING("io:pwritev2", pwritev2, ssize_t,
	 (int fd, const struct iovec *vector, int vector_count, off_t offset, int flags),
	 (fd, vector, vector_count, offset, flags), lull_i32(fd, fd),
	 lull_i32(vector_count, vector_count), lull_i64(offset, offset), lull_x32(flags, flags))
ALIAS(pwritev64v2, pwritev2);

FORTIFIED(__read_chk, ssize_t, (int fd, void *buffer, size_t count, size_t buffer_bytes),
	  (fd, buffer, count, buffer_bytes), count <= buffer_bytes, read(fd, buffer, count))
FORTIFIED(__pread_chk, ssize_t,
	  (int fd, void *buffer, size_t count, off_t offset, size_t buffer_bytes),
	  (fd, buffer, count, offset, buffer_bytes), count <= buffer_bytes,
	  pread(fd, buffer, count, offset))
ALIAS(__pread64_chk, __pread_chk);

BLOCKING("io:sendfile", sendfile, ssize_t, (int to_fd, int from_fd, off_t *offset, size_t count),
	 (to_fd, from_fd, offset, count), lull_i32(to_fd, to_fd), lull_i32(from_fd, from_fd),
	 lull_u64(count, count))
ALIAS(sendfile64, sendfile);
BLOCKING("io:splice", splice, ssize_t,
	 (int from_fd, off64_t *from_offset, int to_fd, off64_t *to_offset, size_t count,
	  unsigned int flags),
	 (from_fd, from_offset, to_fd, to_offset, count, flags), lull_i32(to_fd, to_fd),
	 lull_i32(from_fd, from_fd), lull_u64(count, count))
BLOCKING("io:copy_file_range", copy_file_range, ssize_t,
	 (int from_fd, off64_t *from_offset, int to_fd, off64_t *to_offset, size_t count,
	  unsigned int flags),
	 (from_fd, from_offset, to_fd, to_offset, count, flags), lull_i32(to_fd, to_fd),
	 lull_i32(from_fd, from_fd), lull_u64(count, count))

BLOCKING("io:fsync", fsync, int, (int fd), (fd), lull_i32(fd, fd))
BLOCKING("io:fdatasync", fdatasync, int, (int fd), (fd), lull_i32(fd, fd))
BLOCKING("io:flock", flock, int, (int fd, int operation), (fd, operation), lull_i32(fd, fd),
	 lull_i32(operation, operation))

IMMEDIATE("io:close", close, int, (int fd), (fd), lull_i32(fd, fd))
IMMEDIATE("io:close_range", close_range, int,
	  (unsigned int first_fd, unsigned int last_fd, int flags), (first_fd, last_fd, flags),
	  lull_u32(first_fd, first_fd), lull_u32(last_fd, last_fd), lull_x32(flags, flags))

INTERPOSE(closefrom, void, (int first_fd))
{
	REAL(closefrom)(first_fd);
	EVENT("io:closefrom", lull_i32(first_fd, first_fd));
}

IMMEDIATE("io:dup", dup, int, (int fd), (fd), lull_i32(fd, fd))
IMMEDIATE("io:dup2", dup2, int, (int fd, int wanted_fd), (fd, wanted_fd), lull_i32(fd, fd),
	  lull_i32(wanted_fd, wanted_fd))
IMMEDIATE("io:dup3", dup3, int, (int fd, int wanted_fd, int flags), (fd, wanted_fd, flags),
	  lull_i32(fd, fd), lull_i32(wanted_fd, wanted_fd), lull_x32(flags, flags))
IMMEDIATE("io:pipe", pipe, int, (int fds[2]), (fds),
	  lull_i32(read_fd, stored_after(&fds[0], result)),
	  lull_i32(write_fd, stored_after(&fds[1], result)))
IMMEDIATE("io:pipe2", pipe2, int, (int fds[2], int flags), (fds, flags),
	  lull_i32(read_fd, stored_after(&fds[0], result)),
	  lull_i32(write_fd, stored_after(&fds[1], result)), lull_x32(flags, flags))

CHATTY("io:lseek", lseek, off_t, (int fd, off_t offset, int whence), (fd, offset, whence),
       lull_i32(fd, fd), lull_i64(offset, offset), lull_i32(whence, whence))
ALIAS(lseek64, lseek);
CHATTY("io:ftruncate", ftruncate, int, (int fd, off_t bytes), (fd, bytes), lull_i32(fd, fd),
       lull_i64(bytes, bytes))
ALIAS(ftruncate64, ftruncate);

/* The third argument of fcntl and ioctl, if any, is one word on every supported machine. */
#define WORD_AFTER(last)                     \
	({                                   \
		va_list list;                \
		void *word;                  \
                                             \
		va_start(list, last);        \
		word = va_arg(list, void *); \
		va_end(list);                \
		word;                        \
	})

/* A record lock is requested: files are examined with care from now on (target.h). */
static void lock_noted(int fd)
{
	uint32_t until = fd < LULL_TARGET_LOCKS_MAX ? (uint32_t)fd + 1 : LULL_TARGET_LOCKS_MAX;
	uint32_t before = lull_load32(&lull_target_locks_until);

	while (fd >= 0 && before < until) {
		uint32_t found = lull_cas32_relaxed(&lull_target_locks_until, before, until);

		if (found == before)
			return;
		before = found;
	}
}

INTERPOSE(fcntl, int, (int fd, int command, ...))
{
	void *argument = WORD_AFTER(command);
	int result;

	if (command == F_SETLK || command == F_SETLKW)
		lock_noted(fd);
	CHATTY_EVENT("io:fcntl_entry", lull_i32(fd, fd), lull_i32(command, command),
		     lull_x64(argument, (uintptr_t)argument));
	result = REAL(fcntl)(fd, command, argument);
	CHATTY_EVENT("io:fcntl_exit", lull_i64(result, result), ERROR_FIELD(result));
	return result;
}
ALIAS(fcntl64, fcntl);

INTERPOSE(lockf, int, (int fd, int command, off_t bytes))
{
	lock_noted(fd);
	return REAL(lockf)(fd, command, bytes);
}
ALIAS(lockf64, lockf);

INTERPOSE(ioctl, int, (int fd, unsigned long request, ...))
{
	void *argument = WORD_AFTER(request);
	int result;

	CHATTY_EVENT("io:ioctl_entry", lull_i32(fd, fd), lull_x64(request, request),
		     lull_x64(argument, (uintptr_t)argument));
	result = REAL(ioctl)(fd, request, argument);
	CHATTY_EVENT("io:ioctl_exit", lull_i64(result, result), ERROR_FIELD(result));
	return result;
}
