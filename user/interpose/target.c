/* SPDX-License-Identifier: MIT */
/*
 * What an executable file is (target.h): read from its ELF header, its program headers and its
 * dynamic section.
 *
 * Bare system calls only: the C library's functions are interposed, and `lull record` has no
 * interposers. Reads go through a small window, because the stack may be that of a handler that
 * runs on 8 KiB. Only regular files are opened: to open and close a FIFO would end its writer.
 */
#include "target.h"
#include <elf.h>
#include <errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include "lull_port.h"
#include "syscall.h"

#define WINDOW_BYTES 512u
#define SCRIPTS_MAX 5 /* interpreters of interpreters; the kernel follows as many */
#define SEGMENTS_MAX 64
#define LOADS_MAX 8
#define DYNAMIC_MAX 512
#define NEEDED_MAX 64
#define CHAIN_MAX 256 /* symbols of one hash bucket */
#define NAME_BYTES 256
#define TYPE_BITS 0170000u /* of a mode */
#define TYPE_REGULAR 0100000u
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

uint32_t lull_target_locks_until = LULL_TARGET_LOCKS_USUAL;

/* Which part of the file is mapped where. */
struct load {
	uint64_t address, offset, bytes;
};

struct program {
	struct load loads[LOADS_MAX];
	unsigned int load_count;
	uint64_t dynamic, dynamic_count; /* the offset of the dynamic section, and its entries */
	uint64_t texts, symbols, hash; /* offsets in the file; 0: not there */
	unsigned int needed_count;
	struct window window; /* its data and what follows are not cleared */
	uint32_t needed[NEEDED_MAX]; /* offsets in the texts */
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
		const struct load *load = &program->loads[i];

		if (address >= load->address && address - load->address < load->bytes)
			return load->offset + (address - load->address);
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
			program->needed[program->needed_count++] = (uint32_t)entry.d_un.d_val;
		else if (entry.d_tag == DT_STRTAB)
			program->texts = offset_of(program, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_SYMTAB)
			program->symbols = offset_of(program, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			program->hash = offset_of(program, entry.d_un.d_ptr);
	}
}

/* Does the program itself define @name for others? */
static __attribute__((noinline)) int defines(struct program *program, const char *name)
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

/* Here and below, what has a text of its own is a function of its own, for its use of stack. */
static __attribute__((noinline)) int needs_sanitizer(struct program *program)
{
	char name[NAME_BYTES];

	for (unsigned int i = 0; program->texts && i < program->needed_count; i++) {
		copy_text(&program->window, program->texts + program->needed[i], name);
		if (lull_target_is_sanitizer(name, __builtin_strlen(name)))
			return 1;
	}
	return 0;
}

/* Linked with a sanitizer: gcc's as a library, clang's as part of the program. */
static int is_sanitized(struct program *program)
{
	static const char *const starts[] = { "__asan_init", "__tsan_init", "__msan_init",
					      "__hwasan_init", "__lsan_init" };

	if (needs_sanitizer(program))
		return 1;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (defines(program, starts[i]))
			return 1;
	return 0;
}

/*
 * Is the dynamic linker, whose name is at @offset, that of glibc? Its name is all that a program
 * says about its C library.
 */
static __attribute__((noinline)) int is_glibc(struct window *window, uint64_t offset)
{
	char interpreter[NAME_BYTES];
	size_t bytes;

	copy_text(window, offset, interpreter);
	bytes = __builtin_strlen(interpreter);
	return begins(last_name(interpreter, bytes), interpreter + bytes, "ld-linux");
}

static enum lull_target look_elf(struct program *program, const Elf64_Ehdr *header)
{
	int has_interpreter = 0, of_glibc = 0;
	Elf64_Phdr segment;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != MACHINE)
		return LULL_TARGET_OTHER_MACHINE;
	for (unsigned int i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
		if (!copy_all(&program->window, header->e_phoff + i * sizeof(segment), &segment,
			      sizeof(segment)))
			return LULL_TARGET_UNKNOWN;
		if (segment.p_type == PT_INTERP) {
			has_interpreter = 1;
			of_glibc = is_glibc(&program->window, segment.p_offset);
		}
		if (segment.p_type == PT_LOAD && program->load_count < LOADS_MAX)
			program->loads[program->load_count++] =
				(struct load){ segment.p_vaddr, segment.p_offset,
					       segment.p_filesz };
		if (segment.p_type == PT_DYNAMIC) {
			program->dynamic = segment.p_offset;
			program->dynamic_count = segment.p_filesz / sizeof(Elf64_Dyn);
		}
	}
	dynamic_read(program);
	/* musl is its own dynamic linker, which can be called with a program. */
	if (!has_interpreter)
		return defines(program, "dlopen") ? LULL_TARGET_OTHER_LIBC : LULL_TARGET_STATIC;
	if (!of_glibc)
		return LULL_TARGET_OTHER_LIBC;
	return is_sanitized(program) ? LULL_TARGET_SANITIZED : LULL_TARGET_LOADS;
}

/* Find out which file it is. Return: 0, or -errno. */
static int identify(int directory, const char *path, int flags, struct statx *status)
{
	return (int)lull_syscall(__NR_statx, directory, (long)path, flags,
				 STATX_TYPE | STATX_MODE | STATX_INO, (long)status, 0);
}

static int is_regular(const struct statx *status)
{
	return (status->stx_mode & TYPE_BITS) == TYPE_REGULAR;
}

static int is_same(const struct statx *one, const struct statx *other)
{
	return one->stx_ino == other->stx_ino && one->stx_dev_major == other->stx_dev_major &&
	       one->stx_dev_minor == other->stx_dev_minor;
}

/* May there be record locks on the file of this descriptor? F_GETLK would not tell of our own. */
static int has_locks(int fd)
{
	struct flock lock = { .l_type = F_WRLCK };

	return lull_syscall(__NR_fcntl, fd, F_OFD_GETLK, (long)&lock, 0, 0, 0) < 0 ||
	       lock.l_type != F_UNLCK;
}

/*
 * May this process have a record lock on the file? It stays as long as the descriptor is open by
 * which it was requested, and would be gone once any descriptor of the file is closed.
 */
static __attribute__((noinline)) int is_locked(const struct statx *status)
{
	uint32_t until = lull_load32(&lull_target_locks_until);
	struct statx own;

	if (until >= LULL_TARGET_LOCKS_MAX)
		return 1;
	for (uint32_t fd = 0; fd < until; fd++)
		if (!identify((int)fd, "", AT_EMPTY_PATH, &own) && is_same(status, &own) &&
		    has_locks((int)fd))
			return 1;
	return 0;
}

/* The interpreter that a script names in its first line. Return: a descriptor, or -errno. */
static __attribute__((noinline)) int open_interpreter(struct window *window)
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
	struct statx status;
	int result = identify(directory, path, 0, &status);

	if (result < 0)
		return result;
	if (!is_regular(&status))
		return -ENODEV;
	if (is_locked(&status))
		return -EBUSY;
	/* If it is another file by now, the open must not wait, nor get a controlling terminal. */
	return (int)lull_syscall(__NR_openat, directory, (long)path,
				 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0);
}

static int gains_privilege(int file, const struct statx *status)
{
	return (status->stx_mode & SET_ID_BITS) ||
	       lull_syscall(__NR_fgetxattr, file, (long)CAPABILITY, 0, 0, 0, 0) > 0;
}

/* Look at one file. @next: for a script, a descriptor of its interpreter, or -errno. */
static __attribute__((noinline)) enum lull_target look(int file, const struct statx *status,
						       int *next)
{
	enum lull_target result = LULL_TARGET_UNKNOWN;
	struct program program;
	Elf64_Ehdr header;

	__builtin_memset(&program, 0, offsetof(struct program, window.data));
	program.window.file = file;
	if (copy(&program.window, 0, &header, sizeof(header)) > 2 &&
	    !__builtin_memcmp(header.e_ident, "#!", 2))
		*next = open_interpreter(&program.window);
	else if (program.window.bytes >= sizeof(header) &&
		 !__builtin_memcmp(header.e_ident, ELFMAG, SELFMAG))
		result = look_elf(&program, &header);
	if ((result == LULL_TARGET_LOADS || result == LULL_TARGET_STATIC) &&
	    gains_privilege(file, status))
		return LULL_TARGET_PRIVILEGED;
	return result;
}

enum lull_target lull_target_look(int file, int is_kept)
{
	enum lull_target result = LULL_TARGET_UNKNOWN;
	struct statx status;

	for (int i = 0; i <= SCRIPTS_MAX && file >= 0; i++) {
		int next = -1;

		if (!identify(file, "", AT_EMPTY_PATH, &status) && is_regular(&status))
			result = look(file, &status, &next);
		if (!is_kept)
			lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
		is_kept = 0;
		file = next;
	}
	if (file >= 0 && !is_kept)
		lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
	return result;
}
