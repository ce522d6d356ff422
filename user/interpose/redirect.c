/* SPDX-License-Identifier: MIT */
/*
 * Global offset tables of the loaded objects: entries that hold the address of a function of the
 * C library's, for which there is an interposer, get that interposer's (redirect.h).
 *
 * An entry is found by its relocation, and written only if it holds the C library's function, or
 * the address in the object's own code by which the dynamic linker will look for it when it is
 * called first. So a program's own wrapper of a function stays, and so does what another library
 * put there. Each entry is one word and written by one store: a thread that calls through it
 * meanwhile calls one or the other.
 *
 * The list of entries is written under the dynamic linker's lock only: by functions that
 * dl_iterate_phdr() calls, which holds it.
 */
#include "interpose.h"
#include "liblull.h"
#include "redirect.h"
#include <linux/mman.h>
#include <link.h>
#include "resolve.h"
#include "syscall.h"

#define ENTRIES_BYTES (1u << 20)
#define ENTRIES_MAX (ENTRIES_BYTES / sizeof(struct entry))

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#define PAGE_BYTES 4096ul
#else
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#define PAGE_BYTES 65536ul
#endif

/* An entry that was changed. */
struct entry {
	void **at;
	void *original;
	void *ours;
};

static struct {
	struct entry *entries; /* ENTRIES_MAX of them, in memory that stays */
	size_t count;
	unsigned long long unloads; /* as many objects were unloaded before the first entry */
	uint32_t is_begun;
} redirected;

/* What a scan is under way with. */
struct scan {
	const struct link_map *c_library;
	const struct link_map *own;
	unsigned long long unloads;
	int changed_count;
	int error;
};

/* The parts of an object that say how it is bound. */
struct binding {
	const struct dl_phdr_info *info;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Half) * versions;
	const ElfW(Verneed) * needed;
	const ElfW(Rela) * tables[2];
	size_t bytes[2];
	uintptr_t guarded_begin; /* what the linker made read-only once it was bound */
	uintptr_t guarded_until;
	int is_open; /* that part is writable now */
};

static const void *address_in(const struct dl_phdr_info *info, uintptr_t address)
{
	return (const void *)(address < info->dlpi_addr ? address + info->dlpi_addr : address);
}

static void dynamic_read(struct binding *binding, const ElfW(Dyn) * dynamic)
{
	const struct dl_phdr_info *info = binding->info;

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t value = dynamic->d_un.d_val;

		if (dynamic->d_tag == DT_SYMTAB)
			binding->symbols = address_in(info, value);
		else if (dynamic->d_tag == DT_STRTAB)
			binding->names = address_in(info, value);
		else if (dynamic->d_tag == DT_VERSYM)
			binding->versions = address_in(info, value);
		else if (dynamic->d_tag == DT_VERNEED)
			binding->needed = address_in(info, value);
		else if (dynamic->d_tag == DT_JMPREL)
			binding->tables[0] = address_in(info, value);
		else if (dynamic->d_tag == DT_PLTRELSZ)
			binding->bytes[0] = value;
		else if (dynamic->d_tag == DT_RELA)
			binding->tables[1] = address_in(info, value);
		else if (dynamic->d_tag == DT_RELASZ)
			binding->bytes[1] = value;
	}
}

/* Return: 0 for an object that is bound to nothing. */
static int binding_read(struct binding *binding, const struct dl_phdr_info *info)
{
	*binding = (struct binding){ .info = info };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_DYNAMIC)
			dynamic_read(binding, (const ElfW(Dyn) *)begin);
		if (header->p_type == PT_GNU_RELRO) {
			binding->guarded_begin = begin & ~(PAGE_BYTES - 1);
			binding->guarded_until = (begin + header->p_memsz) & ~(PAGE_BYTES - 1);
		}
	}
	return binding->symbols && binding->names;
}

/* The version of a symbol that the object asks for, or NULL. */
static const char *version_needed(const struct binding *binding, uint32_t symbol)
{
	const ElfW(Verneed) *file = binding->needed;
	unsigned int index = binding->versions ? binding->versions[symbol] & 0x7fffu : 0;

	/* Bound: the files and versions that the object names. */
	while (file && index > 1) {
		const ElfW(Vernaux) *version = (const void *)((const char *)file + file->vn_aux);

		for (unsigned int i = 0; i < file->vn_cnt; i++) {
			if (version->vna_other == index)
				return binding->names + version->vna_name;
			version = (const void *)((const char *)version + version->vna_next);
		}
		file = file->vn_next ? (const void *)((const char *)file + file->vn_next) : NULL;
	}
	return NULL;
}

static int holds(const struct dl_phdr_info *info, const void *address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD &&
		    (uintptr_t)address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
			return 1;
	}
	return 0;
}

/* Would the dynamic linker find the C library's function, if it looked now? */
static int is_found_first(const struct scan *scan, const struct lull_wanted *wanted, void *real)
{
	for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next) {
		void *found = object == scan->own ? NULL : lull_interpose_find(object, wanted);

		if (found)
			return found == real;
	}
	return 0;
}

/* Make the part of an object writable that the linker guarded, or guard it again. */
static int guard_set(struct binding *binding, int is_open)
{
	long result;

	if (binding->is_open == is_open)
		return 0;
	result = lull_syscall(__NR_mprotect, (long)binding->guarded_begin,
			      (long)(binding->guarded_until - binding->guarded_begin),
			      is_open ? PROT_READ | PROT_WRITE : PROT_READ, 0, 0, 0);
	if (!result)
		binding->is_open = is_open;
	return (int)result;
}

static int entry_write(struct binding *binding, void **at, void *value)
{
	uintptr_t address = (uintptr_t)at;
	int result = 0;

	if (address >= binding->guarded_begin && address < binding->guarded_until)
		result = guard_set(binding, 1);
	if (!result)
		lull_store_pointer(at, value);
	return result;
}

/* Remember what an entry held. An object that is gone may have had one at the same address. */
static int entry_add(const struct scan *scan, void **at, void *original, void *ours)
{
	size_t i = redirected.count;

	if (!i)
		redirected.unloads = scan->unloads;
	if (redirected.unloads != scan->unloads)
		for (i = 0; i < redirected.count && redirected.entries[i].at != at; i++)
			;
	if (i == ENTRIES_MAX)
		return -ENOMEM;
	redirected.entries[i] = (struct entry){ at, original, ours };
	redirected.count += i == redirected.count;
	return 0;
}

/* Lead one entry to its interposer, if there is one. */
static int entry_lead(struct scan *scan, struct binding *binding, const ElfW(Rela) * relocation)
{
	uint32_t symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	void **at = (void **)(binding->info->dlpi_addr + relocation->r_offset);
	struct lull_wanted wanted = { 0 };
	void *ours, *real, *held;
	int result;

	if ((type != JUMP_SLOT && type != GLOB_DAT) || !symbol)
		return 0;
	wanted.name = binding->names + binding->symbols[symbol].st_name;
	wanted.version = version_needed(binding, symbol);
	ours = lull_interpose_find(scan->own, &wanted);
	real = ours ? lull_interpose_find(scan->c_library, &wanted) : NULL;
	if (!real)
		return 0;
	held = lull_load_pointer(at);
	if (held != real &&
	    !(type == JUMP_SLOT && holds(binding->info, held) &&
	      !binding->symbols[symbol].st_shndx && is_found_first(scan, &wanted, real)))
		return 0;
	result = entry_add(scan, at, held, ours);
	if (!result)
		result = entry_write(binding, at, ours);
	scan->changed_count += !result;
	return result;
}

static int is_ours_or_the_librarys(const struct scan *scan, const struct dl_phdr_info *info)
{
	return holds(info, scan->own->l_ld) || holds(info, scan->c_library->l_ld);
}

static int object_lead(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct scan *scan = context;
	struct binding binding;

	if (!lull_load32(&redirected.is_begun))
		return 1;
	if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		scan->unloads = info->dlpi_subs;
	if (!scan->own)
		scan->own = lull_interpose_own();
	if (is_ours_or_the_librarys(scan, info) || !binding_read(&binding, info))
		return 0;
	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < binding.bytes[i] / sizeof(*binding.tables[i]); j++) {
			int result = binding.tables[i] ?
					     entry_lead(scan, &binding, &binding.tables[i][j]) :
					     0;

			if (result && !scan->error)
				scan->error = result;
		}
	guard_set(&binding, 0);
	return 0;
}

/* Put back the entries that lie in one object. */
static int object_restore(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct scan *scan = context;
	struct binding binding;

	(void)bytes;
	if (!binding_read(&binding, info))
		return 0;
	for (size_t i = 0; i < redirected.count; i++) {
		struct entry *entry = &redirected.entries[i];
		int result;

		if (!holds(info, entry->at) || lull_load_pointer(entry->at) != entry->ours)
			continue;
		result = entry_write(&binding, entry->at, entry->original);
		scan->changed_count += !result;
		if (result && !scan->error)
			scan->error = result;
	}
	guard_set(&binding, 0);
	return 0;
}

/* Return: 0 with the list of entries there, or -ENOMEM. */
static int entries_get(void)
{
	long base;

	if (redirected.entries)
		return 0;
	base = lull_syscall(__NR_mmap, 0, ENTRIES_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base < 0 && base > -4096)
		return -ENOMEM;
	redirected.entries = (struct entry *)base;
	return 0;
}

static int tables_lead(void)
{
	struct scan scan = { .c_library = lull_interpose_library() };

	dl_iterate_phdr(object_lead, &scan);
	return scan.error ? scan.error : scan.changed_count;
}

int lull_redirect_begin(void)
{
	int result;

	if (!lull_interpose_library())
		return 0;
	result = entries_get();
	if (result)
		return result;
	lull_store32(&redirected.is_begun, 1);
	return tables_lead();
}

int lull_redirect_end(void)
{
	struct scan scan = { 0 };

	/* A session that comes meanwhile leads the calls again, after it was attached. */
	if (lull_load32(&lull_process.attached))
		return 0;
	/* Before the linker's lock is taken: who holds it then leads no further object. */
	lull_store32(&redirected.is_begun, 0);
	dl_iterate_phdr(object_restore, &scan);
	if (scan.error)
		return scan.error;
	redirected.count = 0;
	return scan.changed_count;
}

void lull_redirect_notice(void)
{
	if (lull_load32(&redirected.is_begun))
		tables_lead();
}
