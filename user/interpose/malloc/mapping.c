/* SPDX-License-Identifier: MIT */
/*
 * mmap: mapping memory.
 *
 * What the C library maps for itself, by calls of its own, no interposer sees.
 */
#include "../interpose.h"
#include <stdarg.h>
#include <sys/mman.h>

static int mapping_error(const void *result)
{
	return result == MAP_FAILED ? errno : 0;
}

INTERPOSE(mmap, void *,
	  (void *address, size_t bytes, int protection, int flags, int fd, off_t offset))
{
	void *result = REAL(mmap)(address, bytes, protection, flags, fd, offset);

	EVENT("mmap:mmap", lull_ptr(address, address), lull_u64(bytes, bytes),
	      lull_x32(protection, protection), lull_x32(flags, flags), lull_i32(fd, fd),
	      lull_i64(offset, offset), lull_ptr(result, result),
	      lull_i32(error, mapping_error(result)));
	return result;
}
ALIAS(mmap64, mmap);

/* Before the call: afterwards another thread may have mapped the same addresses. */
INTERPOSE(munmap, int, (void *address, size_t bytes))
{
	EVENT("mmap:munmap", lull_ptr(address, address), lull_u64(bytes, bytes));
	return REAL(munmap)(address, bytes);
}

INTERPOSE(mremap, void *, (void *address, size_t bytes, size_t new_bytes, int flags, ...))
{
	void *wanted = NULL, *result;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_list list;

		va_start(list, flags);
		wanted = va_arg(list, void *);
		va_end(list);
	}
	result = REAL(mremap)(address, bytes, new_bytes, flags, wanted);
	EVENT("mmap:mremap", lull_ptr(address, address), lull_u64(bytes, bytes),
	      lull_u64(new_bytes, new_bytes), lull_x32(flags, flags), lull_ptr(result, result),
	      lull_i32(error, mapping_error(result)));
	return result;
}

IMMEDIATE("mmap:mprotect", mprotect, int, (void *address, size_t bytes, int protection),
	  (address, bytes, protection), lull_ptr(address, address), lull_u64(bytes, bytes),
	  lull_x32(protection, protection))
CHATTY("mmap:madvise", madvise, int, (void *address, size_t bytes, int advice),
       (address, bytes, advice), lull_ptr(address, address), lull_u64(bytes, bytes),
       lull_i32(advice, advice))
