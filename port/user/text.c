/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writing our own text, with system calls only: liblull interposes the C library.
 *
 * In place: mprotect() adds the permission to write and takes it away again. Pages stay
 * executable all the while, since threads run in them. Ranges are cut at 64 KiB, the largest
 * page size of the architectures served, and at the ends of the mapping, so the page size
 * need not be known; neighbouring sites share a range.
 *
 * Through /proc/self/mem: where the system forbids text that is writable and executable at
 * once (SELinux, PR_SET_MDWE). The kernel does not promise that it copies 2 or 4 bytes in one
 * step, so /proc/self/mem is used only while the process has a single thread.
 *
 * Paper: T 8.3 (code modification under load).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/stat.h>
#include <sys/mman.h>
#include "lull_text.h"
#include "syscall.h"

#define RANGE_BYTES ((uintptr_t)1 << 16)
#define PAGE_BYTES_LEAST ((uintptr_t)1 << 12)
#define AT_CWD (-100L)

/* A line of /proc/self/maps, character by character: begin-until rwxp ... */
struct line_reader {
	struct lull_text_mapping mapping;
	uintptr_t number;
	int column; /* 0: begin, 1: until, 2-5: permissions, 6: the rest */
};

static long file_open(const char *path, long flags)
{
	return lull_syscall(__NR_openat, AT_CWD, (long)path, flags | O_CLOEXEC, 0, 0, 0);
}

static void file_close(long file)
{
	lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
}

/* Take in one character. Return: 1 when a line is complete. */
static int line_read(struct line_reader *reader, char c)
{
	static const int permissions[] = { PROT_READ, PROT_WRITE, PROT_EXEC };

	if (c == '\n') {
		reader->column = 0;
		reader->number = 0;
		return 1;
	}
	if (reader->column < 2) {
		if (c == '-')
			reader->mapping.begin = reader->number;
		else if (c == ' ')
			reader->mapping.until = reader->number;
		else
			reader->number = reader->number << 4 |
					 (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		if (c == '-' || c == ' ') {
			reader->number = 0;
			reader->mapping.protection = 0;
			reader->column++;
		}
	} else if (reader->column < 6) {
		if (reader->column == 5)
			reader->mapping.is_shared = c == 's';
		else if (c != '-')
			reader->mapping.protection |= permissions[reader->column - 2];
		reader->column++;
	}
	return 0;
}

/* Return: 0, -EFAULT where nothing is mapped, or another error where there is no /proc. */
static int mapping_find(struct lull_text_mapping *mapping, uintptr_t address)
{
	struct line_reader reader = { 0 };
	char buffer[2048];
	long file, bytes;
	int result = -EFAULT;

	file = file_open("/proc/self/maps", O_RDONLY);
	if (file < 0)
		return (int)file;
	/* Bound: the file's end; the kernel lists each mapping once. */
	while (result == -EFAULT) {
		bytes = lull_syscall(__NR_read, file, (long)buffer, sizeof(buffer), 0, 0, 0);
		if (bytes <= 0)
			break;
		for (long i = 0; i < bytes && result; i++)
			if (line_read(&reader, buffer[i]) && address >= reader.mapping.begin &&
			    address < reader.mapping.until)
				result = 0;
	}
	file_close(file);
	*mapping = reader.mapping;
	return result;
}

/* Which mapping the address is in. Without /proc, one page of ordinary text is assumed. */
static int mapping_get(struct lull_text_mapping *mapping, uintptr_t address)
{
	int result;

	if (address >= mapping->begin && address < mapping->until)
		return 0;
	result = mapping_find(mapping, address);
	if (result && result != -EFAULT) {
		mapping->begin = address & ~(PAGE_BYTES_LEAST - 1);
		mapping->until = mapping->begin + PAGE_BYTES_LEAST;
		mapping->protection = PROT_READ | PROT_EXEC;
		mapping->is_shared = 0;
		result = 0;
	}
	if (result)
		mapping->begin = mapping->until = 0;
	return result;
}

static int is_single_threaded(void)
{
	struct statx status;

	if (lull_syscall(__NR_statx, AT_CWD, (long)"/proc/self/task", 0, STATX_NLINK, (long)&status,
			 0))
		return 0;
	return status.stx_nlink == 3; /* ".", "..", and one thread */
}

static int protect(const struct lull_text_pages *pages, int protection)
{
	return (int)lull_syscall(__NR_mprotect, (long)pages->begin,
				 (long)(pages->until - pages->begin), protection, 0, 0, 0);
}

int lull_text_open(struct lull_text_pages *pages, uintptr_t address, size_t bytes)
{
	struct lull_text_mapping *mapping = &pages->mapping;
	uintptr_t until = address + bytes;
	int result;

	if (address >= pages->begin && until <= pages->until)
		return 0;
	lull_text_close(pages);
	result = mapping_get(mapping, address);
	if (result)
		return result;
	if (!(mapping->protection & PROT_EXEC) || until > mapping->until)
		return -EFAULT;
	if (mapping->is_shared)
		return -EACCES;
	pages->begin = address & ~(RANGE_BYTES - 1);
	if (pages->begin < mapping->begin)
		pages->begin = mapping->begin;
	pages->until = (until + RANGE_BYTES - 1) & ~(RANGE_BYTES - 1);
	if (pages->until > mapping->until)
		pages->until = mapping->until;
	pages->by_file = 0;
	if (mapping->protection & PROT_WRITE && mapping->protection & PROT_READ)
		return 0;
	if (!protect(pages, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 0;
	protect(pages, mapping->protection); /* a failure may have changed part of the range */
	pages->by_file = mapping->protection & PROT_READ && is_single_threaded();
	if (pages->by_file)
		return 0;
	pages->begin = pages->until = 0;
	return -EACCES;
}

void lull_text_close(struct lull_text_pages *pages)
{
	if (pages->until && !pages->by_file)
		protect(pages, pages->mapping.protection);
	pages->begin = pages->until = 0;
	pages->by_file = 0;
}

static int store_by_file(uintptr_t address, const void *from, size_t bytes)
{
	long file = file_open("/proc/self/mem", O_RDWR);
	long written;

	if (file < 0)
		return -EACCES;
	written = lull_syscall(__NR_pwrite64, file, (long)from, (long)bytes, (long)address, 0, 0);
	file_close(file);
	return written == (long)bytes ? 0 : -EACCES;
}

static void store_in_place(uintptr_t address, const void *from, size_t bytes)
{
	uint32_t word;
	uint16_t half;

	if (bytes == sizeof(half)) {
		__builtin_memcpy(&half, from, sizeof(half));
#if defined(__x86_64__)
		__asm__ volatile("movw %1, (%0)" : : "r"(address), "r"(half) : "memory");
#else
		__atomic_store_n((uint16_t *)address, half, __ATOMIC_RELEASE);
#endif
	} else {
		__builtin_memcpy(&word, from, sizeof(word));
		__atomic_store_n((uint32_t *)address, word, __ATOMIC_RELEASE);
	}
	__builtin___clear_cache((char *)address, (char *)address + bytes);
}

int lull_text_store(struct lull_text_pages *pages, uintptr_t address, const void *from,
		    size_t bytes)
{
	if (pages->by_file)
		return store_by_file(address, from, bytes);
	store_in_place(address, from, bytes);
	return 0;
}

/*
 * Registration is cheap while the process has one thread, and waits for all CPUs afterwards; the
 * first series of changes registers, which in a traced program is before main().
 */
int lull_text_sync(void)
{
	long sync = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
	long result = lull_syscall(__NR_membarrier, sync, 0, 0, 0, 0, 0);

	if (result == -EPERM) {
		lull_syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
			     0, 0, 0, 0, 0);
		result = lull_syscall(__NR_membarrier, sync, 0, 0, 0, 0, 0);
	}
	return result ? -ENOSYS : 0;
}
