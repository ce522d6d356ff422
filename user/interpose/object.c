/* SPDX-License-Identifier: MIT */
/*
 * dl: loading and unloading shared objects.
 *
 * The dynamic linker searches for a library on behalf of the object that called dlopen, which it
 * finds by the return address. Where that object, or the program, has a search path of its own,
 * the return address must be the caller's: the interposer records and jumps, and there is no exit
 * event.
 */
#include "interpose.h"
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include "change.h"
#include "control.h"
#include "liblull.h"
#include "redirect.h"

/* gcc before 15 has no attribute for that; with optimisation it makes the last call a jump. */
#if defined(__has_attribute) && __has_attribute(musttail)
#define TAIL_CALL __attribute__((musttail))
#else
#define TAIL_CALL
#endif

struct search {
	uintptr_t address; /* in the calling object */
	int by_name; /* not by a path */
	int own_path;
};

static int has_path(const ElfW(Dyn) * entry, int counts_runpath)
{
	for (; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_RPATH || (counts_runpath && entry->d_tag == DT_RUNPATH))
			return 1;
	return 0;
}

/*
 * DT_RPATH applies to all that an object loads and to what that needs in turn, DT_RUNPATH
 * to names that the object itself asks for.
 */
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
		search->own_path |= has_path(dynamic, is_caller && search->by_name);
	return search->own_path;
}

/* Does the search for @path depend on the caller? */
static int caller_matters(const char *path, const void *return_address)
{
	struct search search = { .address = (uintptr_t)return_address };

	if (!path)
		return 0;
	if (strchr(path, '$')) /* $ORIGIN is the caller's folder */
		return 1;
	search.by_name = !strchr(path, '/');
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
	lull_control_notice();
	handle = REAL(dlopen)(path, flags);
	lull_object_loaded();
	lull_redirect_notice();
	EVENT("dl:open_exit", lull_ptr(handle, handle));
	return handle;
}

/* The real function is to find the return address of our caller: by a jump, not a call. */
INTERPOSED void *dlopen(const char *path, int flags)
{
	if (!caller_matters(path, __builtin_return_address(0)))
		return open_recorded(path, flags);
	record_forward(path, flags);
	TAIL_CALL return REAL(dlopen)(path, flags);
}

INTERPOSE(dlclose, int, (void *handle))
{
	int result;

	/* Until the list of objects is right again, no change reads it (change.h). */
	lull_loading_begin();
	result = REAL(dlclose)(handle);
	lull_object_loaded();
	lull_loading_end();
	EVENT("dl:close", lull_ptr(handle, handle), lull_i32(result, result));
	return result;
}
