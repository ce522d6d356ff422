/* SPDX-License-Identifier: MIT */
/*
 * Finding the C library's function behind an interposer, when it is called first.
 *
 * That first call may come from a signal handler, from a child of vfork, or from the dynamic
 * linker itself while it relocates, so the dynamic linker must not be entered: dlsym() takes its
 * lock and may allocate. This file reads what the linker has mapped instead: the symbol tables
 * of the objects that the program was started with and that come after ours. These tables do not
 * change, so no lock is needed, and threads that search at the same time store the same pointer.
 *
 * The objects are searched in the order in which the linker loaded them, which is that of
 * dlsym(RTLD_NEXT, ...). The file is linked into liblull and into liblull-malloc, each of which
 * looks behind itself. A library that was loaded into a running program has the C library before
 * it, and looks there only: whatever else the program's calls lead to, redirect.c leaves.
 */
#include "interpose.h"
#include <dlfcn.h>
#include <link.h>
#include "resolve.h"
#include "start.h"

#define VERSION_INDEX 0x7fffu
#define VERSION_HIDDEN 0x8000u /* an older version of a symbol, for programs linked with it */
#define VERSION_OWN 2u /* the first index of a version that has a name */

/* Our own dynamic section, by which we are found among the objects. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The last of the objects that the program was started with; NULL until our constructor. */
AT_START static const struct link_map *last;

/* The tables of one object. */
struct tables {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *hash; /* the older kind, in objects that have no other */
	const ElfW(Half) * versions;
	const ElfW(Verdef) * definitions;
};

/* The C library, where it was there before us; it is never unloaded. NULL: we were preloaded. */
AT_START static const struct link_map *before;

/* Replaces a function that this C library lacks, so that no program can have linked with it. */
static long missing_function(void)
{
	errno = ENOSYS;
	return -1;
}

/* The linker has relocated some of the addresses in a dynamic section, where they are. */
static const void *address_of(const struct link_map *object, const ElfW(Dyn) * entry)
{
	uintptr_t address = entry->d_un.d_ptr;

	return (const void *)(address < object->l_addr ? address + object->l_addr : address);
}

static struct tables tables_of(const struct link_map *object)
{
	struct tables tables = { .base = object->l_addr };

	for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			tables.symbols = address_of(object, entry);
		else if (entry->d_tag == DT_STRTAB)
			tables.names = address_of(object, entry);
		else if (entry->d_tag == DT_GNU_HASH)
			tables.gnu_hash = address_of(object, entry);
		else if (entry->d_tag == DT_HASH)
			tables.hash = address_of(object, entry);
		else if (entry->d_tag == DT_VERSYM)
			tables.versions = address_of(object, entry);
		else if (entry->d_tag == DT_VERDEF)
			tables.definitions = address_of(object, entry);
	}
	return tables;
}

static int text_equal(const char *one, const char *other)
{
	for (; *one && *one == *other; one++, other++)
		;
	return *one == *other;
}

/* Is @index the version of that name? */
static int version_named(const struct tables *tables, unsigned int index, const char *name)
{
	const ElfW(Verdef) *definition = tables->definitions;

	/* Bound: the object's versions; the last one leads to itself. */
	while (definition) {
		const ElfW(Verdaux) *text =
			(const void *)((const char *)definition + definition->vd_aux);

		if (definition->vd_ndx == index)
			return text_equal(tables->names + text->vda_name, name);
		definition =
			definition->vd_next ?
				(const void *)((const char *)definition + definition->vd_next) :
				NULL;
	}
	return 0;
}

static int version_matches(const struct tables *tables, uint32_t symbol, const char *version)
{
	unsigned int index;

	if (!tables->versions)
		return 1;
	index = tables->versions[symbol];
	if (!version)
		return !(index & VERSION_HIDDEN);
	index &= VERSION_INDEX;
	return index < VERSION_OWN || version_named(tables, index, version);
}

/* Return: the function, if the symbol is it; NULL otherwise. */
static void *symbol_match(const struct tables *tables, uint32_t number,
			  const struct lull_wanted *wanted)
{
	const ElfW(Sym) *symbol = &tables->symbols[number];

	if (symbol->st_shndx == SHN_UNDEF ||
	    !text_equal(tables->names + symbol->st_name, wanted->name) ||
	    !version_matches(tables, number, wanted->version))
		return NULL;
	/* An indirect function: dlsym() has to resolve it. No function interposed here is one. */
	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return wanted->version ? dlvsym(RTLD_NEXT, wanted->name, wanted->version) :
					 dlsym(RTLD_NEXT, wanted->name);
	return (void *)(tables->base + symbol->st_value);
}

static void *find_by_gnu_hash(const struct tables *tables, const struct lull_wanted *wanted)
{
	const uint32_t *table = tables->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1], filter_words = table[2];
	const ElfW(Addr) *filter = (const ElfW(Addr) *)(table + 4);
	const uint32_t *buckets = (const uint32_t *)(filter + filter_words);
	const uint32_t *chain = buckets + bucket_count;
	const unsigned int bits = 8 * sizeof(*filter);
	uint32_t hash = 5381;
	ElfW(Addr) word;

	for (const char *at = wanted->name; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	word = filter[hash / bits % filter_words];
	if (!(word >> (hash % bits) & word >> ((hash >> table[3]) % bits) & 1))
		return NULL;
	/* Bound: the chain of one bucket, whose last word is odd. */
	for (uint32_t number = buckets[hash % bucket_count]; number >= first && number; number++) {
		uint32_t link = chain[number - first];
		void *found =
			(link | 1) == (hash | 1) ? symbol_match(tables, number, wanted) : NULL;

		if (found || link & 1)
			return found;
	}
	return NULL;
}

static void *find_by_hash(const struct tables *tables, const struct lull_wanted *wanted)
{
	uint32_t count = tables->hash[1];

	/* Compare every symbol: such objects are rare, and each function is looked up once. */
	for (uint32_t number = 1; number < count; number++) {
		void *found = symbol_match(tables, number, wanted);

		if (found)
			return found;
	}
	return NULL;
}

void *lull_interpose_find(const struct link_map *object, const struct lull_wanted *wanted)
{
	struct tables tables = tables_of(object);

	if (!tables.symbols || !tables.names)
		return NULL;
	if (tables.gnu_hash)
		return find_by_gnu_hash(&tables, wanted);
	return tables.hash ? find_by_hash(&tables, wanted) : NULL;
}

static void *function_find(const struct lull_wanted *wanted)
{
	const struct link_map *object = _r_debug.r_map;

	if (before)
		return lull_interpose_find(before, wanted);
	while (object && object->l_ld != _DYNAMIC)
		object = object->l_next;
	/* Bound: the objects at the program's start; later ones come after them. */
	while (object && object != last) {
		void *found;

		object = object->l_next;
		found = object ? lull_interpose_find(object, wanted) : NULL;
		if (found)
			return found;
	}
	return NULL;
}

void *lull_interpose_resolve(void **real, const char *function, const char *version)
{
	void *found = function_find(&(struct lull_wanted){ function, version });

	if (!found && version)
		found = function_find(&(struct lull_wanted){ function, NULL });
	if (!found)
		found = (void *)missing_function;
	lull_store_pointer(real, found);
	return found;
}

const struct link_map *lull_interpose_library(void)
{
	return before;
}

const struct link_map *lull_interpose_own(void)
{
	const struct link_map *object = _r_debug.r_map;

	while (object && object->l_ld != _DYNAMIC)
		object = object->l_next;
	return object;
}

static int is_library(const struct link_map *object)
{
	static const char name[] = "libc.so.6";
	size_t bytes = __builtin_strlen(object->l_name);

	return bytes >= sizeof(name) - 1 &&
	       text_equal(object->l_name + bytes - (sizeof(name) - 1), name);
}

__attribute__((constructor(101))) static void start(void)
{
	const struct link_map *object = _r_debug.r_map, *library = NULL;

	while (object && object->l_next) {
		if (is_library(object))
			library = object;
		if (object->l_ld == _DYNAMIC)
			before = library;
		object = object->l_next;
	}
	if (object && object->l_ld == _DYNAMIC)
		before = library;
	last = object;
}
