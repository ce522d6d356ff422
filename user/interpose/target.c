/* SPDX-License-Identifier: MIT */
/*
 * What an executable file is (target.h): read from its ELF header, its program headers and its
 * dynamic section.
 *
 * Bare system calls only: the C library's functions are interposed, and `lull record` has no
 * interposers. Reads go through a window of 4 KiB, in which the headers, names and symbols of most
 * programs lie together; their dynamic section takes a second read.
 */
#include "target.h"
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include "syscall.h"

#define WINDOW_BYTES 4096u
#define SCRIPTS_MAX 5 /* interpreters of interpreters; the kernel follows as many */
#define SEGMENTS_MAX 64
#define LOADS_MAX 8
#define DYNAMIC_MAX 512
#define NEEDED_MAX 64
#define CHAIN_MAX 256 /* symbols of one hash bucket */
#define NAME_BYTES 256
#define SET_ID_BITS 06000u /* of a mode: set-user-ID, set-group-ID */
#define CAPABILITY "security.capability" /* the attribute that grants some */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

struct window {
	int file;
	uint64_t offset;
	size_t bytes;
	unsigned char data[WINDOW_BYTES];
};

struct program {
	Elf64_Phdr loads[LOADS_MAX];
	unsigned int load_count;
	uint64_t dynamic, dynamic_count; /* the offset of the dynamic section, and its entries */
	uint64_t texts, symbols, hash; /* offsets in the file; 0: not there */
	unsigned int needed_count;
	struct window window; /* its data and what follows are not cleared */
	uint64_t needed[NEEDED_MAX];
};

/* Copy up to @bytes at @offset. Return: how many there are. */
static size_t copy(struct window *window, uint64_t offset, void *to, size_t bytes)
{
	size_t skipped;

	if (offset > INT64_MAX - WINDOW_BYTES || bytes > WINDOW_BYTES)
		return 0;
	if (offset < window->offset || offset - window->offset > window->bytes ||
	    bytes > window->bytes - (offset - window->offset)) {
		uint64_t begin = offset & ~(uint64_t)(WINDOW_BYTES - 1);
		long got;

		if (offset - begin + bytes > WINDOW_BYTES)
			begin = offset;
		got = lull_syscall(__NR_pread64, window->file, (long)window->data, WINDOW_BYTES,
				   (long)begin, 0, 0);
		window->offset = begin;
		window->bytes = got > 0 ? (size_t)got : 0;
	}
	skipped = offset - window->offset;
	if (skipped >= window->bytes)
		return 0; /* behind the end of the file */
	if (bytes > window->bytes - skipped)
		bytes = window->bytes - skipped;
	__builtin_memcpy(to, window->data + skipped, bytes);
	return bytes;
}

static int copy_all(struct window *window, uint64_t offset, void *to, size_t bytes)
{
	return copy(window, offset, to, bytes) == bytes;
}

/* The text at @offset, cut to NAME_BYTES - 1. */
static void copy_text(struct window *window, uint64_t offset, char text[NAME_BYTES])
{
	text[copy(window, offset, text, NAME_BYTES - 1)] = '\0';
}

static const char *last_name(const char *path, size_t bytes)
{
	const char *name = path;

	for (size_t i = 0; i < bytes; i++)
		if (path[i] == '/')
			name = path + i + 1;
	return name;
}

static int begins(const char *text, const char *until, const char *with)
{
	while (*with && text < until && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

int lull_target_is_sanitizer(const char *path, unsigned long bytes)
{
	static const char *const runtimes[] = { "libasan.so",	    "libtsan.so",
						"liblsan.so",	    "libhwasan.so",
						"libclang_rt.asan", "libclang_rt.tsan",
						"libclang_rt.msan", "libclang_rt.hwasan",
						"libclang_rt.lsan", "libclang_rt.memprof" };
	const char *name = last_name(path, bytes);

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (begins(name, path + bytes, runtimes[i]))
			return 1;
	return 0;
}

/* Where an address of the program lies in its file; 0: nowhere. */
static uint64_t offset_of(const struct program *program, uint64_t address)
{
	for (unsigned int i = 0; i < program->load_count; i++) {
		const Elf64_Phdr *load = &program->loads[i];

		if (address >= load->p_vaddr && address - load->p_vaddr < load->p_filesz)
			return load->p_offset + (address - load->p_vaddr);
	}
	return 0;
}

static void dynamic_read(struct program *program)
{
	Elf64_Dyn entry;

	for (uint64_t i = 0; i < program->dynamic_count && i < DYNAMIC_MAX; i++) {
		if (!copy_all(&program->window, program->dynamic + i * sizeof(entry), &entry,
			      sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag == DT_NEEDED && program->needed_count < NEEDED_MAX)
			program->needed[program->needed_count++] = entry.d_un.d_val;
		else if (entry.d_tag == DT_STRTAB)
			program->texts = offset_of(program, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_SYMTAB)
			program->symbols = offset_of(program, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			program->hash = offset_of(program, entry.d_un.d_ptr);
	}
}

/* Does the program itself define @name for others? */
static int defines(struct program *program, const char *name)
{
	struct {
		uint32_t buckets, first, filters, shift;
	} table;
	uint32_t hash = 5381, index, found;
	uint64_t buckets, chains;
	char text[NAME_BYTES];
	Elf64_Sym symbol;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!program->hash || !program->symbols || !program->texts ||
	    !copy_all(&program->window, program->hash, &table, sizeof(table)) || !table.buckets)
		return 0;
	buckets = program->hash + sizeof(table) + (uint64_t)table.filters * sizeof(uint64_t);
	chains = buckets + (uint64_t)table.buckets * sizeof(uint32_t);
	if (!copy_all(&program->window, buckets + hash % table.buckets * sizeof(uint32_t), &index,
		      sizeof(index)) ||
	    index < table.first)
		return 0;
	for (unsigned int i = 0; i < CHAIN_MAX; i++, index++) {
		if (!copy_all(&program->window,
			      chains + (uint64_t)(index - table.first) * sizeof(found), &found,
			      sizeof(found)))
			return 0;
		if ((found | 1) == (hash | 1) &&
		    copy_all(&program->window, program->symbols + (uint64_t)index * sizeof(symbol),
			     &symbol, sizeof(symbol))) {
			copy_text(&program->window, program->texts + symbol.st_name, text);
			if (!__builtin_strcmp(text, name))
				return 1;
		}
		if (found & 1)
			return 0;
	}
	return 0;
}

/* Linked with a sanitizer: gcc's as a library, clang's as part of the program. */
static int is_sanitized(struct program *program)
{
	static const char *const starts[] = { "__asan_init", "__tsan_init", "__msan_init",
					      "__hwasan_init", "__lsan_init" };
	char name[NAME_BYTES];

	for (unsigned int i = 0; program->texts && i < program->needed_count; i++) {
		copy_text(&program->window, program->texts + program->needed[i], name);
		if (lull_target_is_sanitizer(name, __builtin_strlen(name)))
			return 1;
	}
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (defines(program, starts[i]))
			return 1;
	return 0;
}

/* Is this the dynamic linker of glibc? Its name is all that a program says about its C library. */
static int is_glibc(const char *interpreter)
{
	size_t bytes = __builtin_strlen(interpreter);

	return begins(last_name(interpreter, bytes), interpreter + bytes, "ld-linux");
}

static enum lull_target look_elf(struct program *program, const Elf64_Ehdr *header)
{
	char interpreter[NAME_BYTES] = "";
	Elf64_Phdr segment;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != MACHINE)
		return LULL_TARGET_OTHER_MACHINE;
	for (unsigned int i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
		if (!copy_all(&program->window, header->e_phoff + i * sizeof(segment), &segment,
			      sizeof(segment)))
			return LULL_TARGET_UNKNOWN;
		if (segment.p_type == PT_INTERP)
			copy_text(&program->window, segment.p_offset, interpreter);
		if (segment.p_type == PT_LOAD && program->load_count < LOADS_MAX)
			program->loads[program->load_count++] = segment;
		if (segment.p_type == PT_DYNAMIC) {
			program->dynamic = segment.p_offset;
			program->dynamic_count = segment.p_filesz / sizeof(Elf64_Dyn);
		}
	}
	dynamic_read(program);
	/* musl is its own dynamic linker, which can be called with a program. */
	if (!interpreter[0])
		return defines(program, "dlopen") ? LULL_TARGET_OTHER_LIBC : LULL_TARGET_STATIC;
	if (!is_glibc(interpreter))
		return LULL_TARGET_OTHER_LIBC;
	return is_sanitized(program) ? LULL_TARGET_SANITIZED : LULL_TARGET_LOADS;
}

static int gains_privilege(int file)
{
	struct statx status;

	if (lull_syscall(__NR_statx, file, (long)"", AT_EMPTY_PATH, STATX_MODE, (long)&status, 0) <
	    0)
		return 0;
	return (status.stx_mode & SET_ID_BITS) ||
	       lull_syscall(__NR_fgetxattr, file, (long)CAPABILITY, 0, 0, 0, 0) > 0;
}

/* The interpreter that a script names in its first line. Return: a descriptor, or -errno. */
static int open_interpreter(struct window *window)
{
	char line[NAME_BYTES];
	size_t begin = 2, until;

	copy_text(window, 0, line);
	while (line[begin] == ' ' || line[begin] == '\t')
		begin++;
	until = begin;
	while (line[until] && line[until] != ' ' && line[until] != '\t' && line[until] != '\n')
		until++;
	line[until] = '\0';
	return lull_target_open(AT_FDCWD, line + begin);
}

int lull_target_open(int directory, const char *path)
{
	/* The open must not wait, nor make a terminal the controlling one. */
	return (int)lull_syscall(__NR_openat, directory, (long)path,
				 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0);
}

enum lull_target lull_target_look(int file)
{
	enum lull_target result = LULL_TARGET_UNKNOWN;
	struct program program;
	Elf64_Ehdr header;

	for (int i = 0; i <= SCRIPTS_MAX && file >= 0; i++) {
		int next = -1;

		__builtin_memset(&program, 0, offsetof(struct program, window.data));
		program.window.file = file;
		if (copy(&program.window, 0, &header, sizeof(header)) > 2 &&
		    !__builtin_memcmp(header.e_ident, "#!", 2))
			next = open_interpreter(&program.window);
		else if (program.window.bytes >= sizeof(header) &&
			 !__builtin_memcmp(header.e_ident, ELFMAG, SELFMAG))
			result = look_elf(&program, &header);
		if ((result == LULL_TARGET_LOADS || result == LULL_TARGET_STATIC) &&
		    gains_privilege(file))
			result = LULL_TARGET_PRIVILEGED;
		lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
		file = next;
	}
	if (file >= 0)
		lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
	return result;
}
