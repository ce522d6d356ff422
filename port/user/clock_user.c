// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The trace clock in user space: its start, and the slow kind.
 *
 * CLOCK_MONOTONIC is read through the vDSO, found by ourselves from the address in the
 * auxiliary vector. The C library's clock_gettime() would be as fast, but a
 * program may interpose it, and a probe that stamps the interposer's event would call it
 * again. Where there is no vDSO, the system call is used.
 *
 * Starting a counter makes two system calls at most. It reads one file, the name of the kernel's
 * clock source, and only where the session does not say which clock to read.
 */
#include "clock_user.h"
#include <asm/unistd.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <time.h>
#include "lull/clock.h"
#include "syscall.h"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define CLOCKSOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CLOCKSOURCE_BYTES 64
#define SYMBOLS_MAX 4096u /* more than any vDSO has; bounds the walk below */

#if defined(__aarch64__)
#define VDSO_GETTIME "__kernel_clock_gettime"
#else
#define VDSO_GETTIME "__vdso_clock_gettime"
#endif

struct lull_clock lull_clock = { .kind = LULL_CLOCK_MONOTONIC };

static int text_equals(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The tables of the vDSO that a symbol is looked up in. */
struct vdso {
	uintptr_t bias; /* add to an address in the file for the address in memory */
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash; /* the older hash table, or NULL */
	const uint32_t *gnu_hash; /* the newer one, or NULL */
};

/* The hash tables are not searched: they only tell how many symbols there are. */
static uint32_t vdso_symbol_count(const struct vdso *vdso)
{
	const uint32_t *buckets, *chains;
	uint32_t i, last = 0;

	if (vdso->hash)
		return vdso->hash[1];
	if (!vdso->gnu_hash)
		return 0;
	buckets = vdso->gnu_hash + 4 + vdso->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
	chains = buckets + vdso->gnu_hash[0];
	for (i = 0; i < vdso->gnu_hash[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < vdso->gnu_hash[1])
		return 0;
	while (last < SYMBOLS_MAX && !(chains[last - vdso->gnu_hash[1]] & 1))
		last++;
	return last + 1;
}

static void vdso_read_dynamic(struct vdso *vdso, const ElfW(Dyn) * dynamic)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t address = vdso->bias + dynamic->d_un.d_ptr;

		if (dynamic->d_tag == DT_SYMTAB)
			vdso->symbols = (const ElfW(Sym) *)address;
		else if (dynamic->d_tag == DT_STRTAB)
			vdso->names = (const char *)address;
		else if (dynamic->d_tag == DT_HASH)
			vdso->hash = (const uint32_t *)address;
		else if (dynamic->d_tag == DT_GNU_HASH)
			vdso->gnu_hash = (const uint32_t *)address;
	}
}

/* The address of a function of the vDSO at @image, or 0. */
static uintptr_t vdso_find(uintptr_t image, const char *name)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
	const ElfW(Phdr) * segment;
	const ElfW(Dyn) *dynamic = NULL;
	struct vdso vdso = { 0 };
	uint32_t i, count;

	if (!image || header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1)
		return 0;
	segment = (const ElfW(Phdr) *)(image + header->e_phoff);
	for (i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD && !vdso.bias)
			vdso.bias = image + segment[i].p_offset - segment[i].p_vaddr;
		else if (segment[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(image + segment[i].p_offset);
	}
	if (!dynamic)
		return 0;
	vdso_read_dynamic(&vdso, dynamic);
	if (!vdso.symbols || !vdso.names)
		return 0;
	count = vdso_symbol_count(&vdso);
	for (i = 0; i < count && i < SYMBOLS_MAX; i++) {
		const ElfW(Sym) *symbol = &vdso.symbols[i];

		if (symbol->st_shndx != SHN_UNDEF &&
		    text_equals(vdso.names + symbol->st_name, name))
			return vdso.bias + symbol->st_value;
	}
	return 0;
}

uint64_t lull_clock_monotonic_ns(void)
{
	struct timespec now = { 0 };

	if (!lull_clock.gettime || lull_clock.gettime(CLOCK_MONOTONIC, &now))
		lull_syscall(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__) || defined(__i386__)

/*
 * Would rdtsc kill this thread? Then the vDSO, which executes rdtsc, would kill it, too. Threads
 * and children inherit this.
 */
static int counter_forbidden(void)
{
	int mode = PR_TSC_ENABLE;

	lull_syscall(__NR_prctl, PR_GET_TSC, (long)&mode, 0, 0, 0, 0);
	return mode != PR_TSC_ENABLE;
}

static void facts_collect(struct lull_clock_facts *facts, char *clocksource)
{
	uint32_t eax, ebx, ecx, edx = 0;
	long bytes = 0;
	long file = lull_syscall(__NR_openat, AT_FDCWD, (long)CLOCKSOURCE_FILE,
				 O_RDONLY | O_CLOEXEC, 0, 0, 0);

	if (file >= 0) {
		bytes = lull_syscall(__NR_read, file, (long)clocksource, CLOCKSOURCE_BYTES - 1, 0,
				     0, 0);
		lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
	}
	clocksource[bytes > 0 ? bytes : 0] = 0;
	__get_cpuid(LULL_CLOCK_CPUID_LEAF, &eax, &ebx, &ecx, &edx);
	facts->tsc_readable = !counter_forbidden();
	facts->tsc_cpuid_edx = edx;
	facts->clocksource = clocksource;
}

#else

static int counter_forbidden(void)
{
	return 0;
}

static void facts_collect(struct lull_clock_facts *facts, char *clocksource)
{
	clocksource[0] = 0;
	facts->cntvct_readable = LULL_CLOCK_COUNTER_KIND == LULL_CLOCK_CNTVCT;
	facts->clocksource = clocksource;
}

#endif

int lull_clock_start(uint32_t kind)
{
	struct lull_clock_facts facts = { 0 };
	char clocksource[CLOCKSOURCE_BYTES];
	uintptr_t gettime = 0;
	int forbidden;

	if (lull_clock.started)
		return kind == LULL_CLOCK_ANY || kind == lull_clock.kind ? 0 : -EBUSY;
	if (kind == LULL_CLOCK_ANY) {
		facts_collect(&facts, clocksource);
		kind = lull_clock_choose(&facts, NULL);
	}
	forbidden = counter_forbidden();
	if (kind != LULL_CLOCK_MONOTONIC && (kind != LULL_CLOCK_COUNTER_KIND || forbidden))
		return -EOPNOTSUPP;
	if (!forbidden)
		gettime = vdso_find(getauxval(AT_SYSINFO_EHDR), VDSO_GETTIME);
	__builtin_memcpy(&lull_clock.gettime, &gettime, sizeof(gettime));
	lull_clock.kind = kind;
	lull_clock.started = 1;
	return 0;
}

uint32_t lull_clock_kind(void)
{
	lull_clock_start(LULL_CLOCK_ANY);
	return lull_clock.kind;
}
