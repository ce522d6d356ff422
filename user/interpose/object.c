/* SPDX-License-Identifier: MIT */
/*
 * dl: loading and unloading shared objects.
 *
 * The dynamic linker searches for a library on behalf of the object that called dlopen, found
 * by the return address. Where that object, or the program, brings a search path of its own,
 * ours must not stand between: it records and jumps, and there is no exit event.
 */
#include "interpose.h"
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include "liblull.h"

struct search {
	uintptr_t address; /* in the calling object */
	int own_path;
};

static int has_path(const ElfW(Dyn) * entry, int is_caller)
{
	for (; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_RPATH || (is_caller && entry->d_tag == DT_RUNPATH))
			return 1;
	return 0;
}

/* DT_RPATH counts for all that an object loads, DT_RUNPATH for the caller itself. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	const ElfW(Dyn) *dynamic = NULL;
	struct search *search = context;
	int is_caller = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)begin;
		if (header->p_type == PT_LOAD && search->address - begin < header->p_memsz)
			is_caller = 1;
	}
	if (dynamic)
		search->own_path |= has_path(dynamic, is_caller);
	return search->own_path;
}

/* Does it matter to the search for @path who called? */
static int caller_matters(const char *path, const void *return_address)
{
	struct search search = { .address = (uintptr_t)return_address };

	if (!path || (strchr(path, '/') && !strchr(path, '$')))
		return 0;
	if (strchr(path, '$'))
		return 1;
	dl_iterate_phdr(look, &search);
	return search.own_path;
}

static __attribute__((noinline)) void record_forward(const char *path, int flags)
{
	EVENT("dl:open_forwarded", lull_str(path, path), lull_x32(flags, (unsigned int)flags));
}

REAL_FUNCTION(dlopen);

static __attribute__((noinline)) void *open_recorded(const char *path, int flags)
{
	void *handle;

	EVENT("dl:open_entry", lull_str(path, path), lull_x32(flags, (unsigned int)flags));
	handle = REAL(dlopen)(path, flags);
	lull_objects_scan();
	EVENT("dl:open_exit", lull_ptr(handle, handle));
	return handle;
}

/*
 * gcc and clang turn the call at the end into a jump: the real function finds the return
 * address of our caller. They promise it only with optimisation, and docs/design says so.
 */
INTERPOSED void *dlopen(const char *path, int flags)
{
	if (!caller_matters(path, __builtin_return_address(0)))
		return open_recorded(path, flags);
	record_forward(path, flags);
	return REAL(dlopen)(path, flags);
}

INTERPOSE(dlclose, int, (void *handle))
{
	int result = REAL(dlclose)(handle);

	lull_objects_scan();
	EVENT("dl:close", lull_ptr(handle, handle), lull_i32(result, result));
	return result;
}
