/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The assembly of a site: a no-op that carries its own jump, the notes that locate it, and
 * the probe's record. Bytes: abi/site.h; reasons: docs/design/20-site.md.
 *
 *	hot text     .note.lull                     .data.lull      cold text
 *	 no-op  <---- LULL_NOTE_SITE, description
 *	                                       ----> record <------- probe
 *	              LULL_NOTE_PROBE, description
 *
 * LULL_SITE_ENTER(level, text) continues after itself, with lull_record_ set, only where the
 * event is enabled; else it leaves the surrounding do { } while (0). Three kinds:
 *
 *  - jump: a patched no-op, no load. x86-64 and aarch64, gcc 9 and clang 11 or later.
 *  - load: tests a word of the record. For text that can never be written, define
 *    LULL_SITE_LOAD before including <lull/trace.h>, or for the whole build.
 *  - none: other architectures. Fields are checked, nothing is recorded.
 *
 * A surrounding that changes text by its own means defines LULL_SITE_ENTER before it includes
 * this file, as modules of the kernel's do (kernel/include/lull/module.h).
 *
 * "a?" puts the sections into the group of the function, where it has one: when the linker drops
 * a duplicate function, it drops the notes with it. Local labels 771-774 belong to this file.
 *
 * Paper: T 8.1 (markers), 8.3 (static jumps).
 */
#ifndef LULL_SITE_H
#define LULL_SITE_H

#pragma GCC system_header

#if defined(__x86_64__) && defined(__LP64__)
#include "site_x86_64.h"
#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)
#include "site_aarch64.h"
#else
#define LULL_SITE_NONE
#endif

#if defined(__clang__) ? __clang_major__ < 11 : __GNUC__ < 9
#ifndef LULL_SITE_LOAD
#define LULL_SITE_LOAD
#endif
#define LULL_ASM __asm__
#else
#define LULL_ASM __asm__ __inline /* the kernel makes a macro of __inline__ */
#endif

/* The path in the description. A build may define it, e.g. to __FILE_NAME__. */
#ifndef LULL_FILE
#define LULL_FILE __FILE__
#endif

/* The assembler's string is the source's spelling of the path: quotes, escapes and all. */
#define LULL_SITE_TEXT(name, fields)             \
	"\t.ascii \"" name "\\n%c[level]\\n\"\n" \
	"\t.ascii " LULL_STRING(LULL_FILE) "\n\t.ascii \":" LULL_STRING(__LINE__) "\\n\"\n" fields

#define LULL_SITE_NOTE(type, descriptor, text)       \
	"\t.pushsection .note.lull, \"a?\", @note\n" \
	"\t.balign 4\n"                              \
	"\t.long 5, 774f - 773f, " type "\n"         \
	"\t.asciz \"Lull\"\n"                        \
	"\t.balign 4\n"                              \
	"773:\n" descriptor text "\t.byte 0\n"       \
	"774:\t.balign 4\n"                          \
	"\t.popsection\n"

/* The section of records. A build may define it, e.g. to find all of its own without notes. */
#ifndef LULL_SITE_RECORDS
#define LULL_SITE_RECORDS ".data.lull"
#endif

/* A record of zeros, but for LULL_RECORD_ASKS. */
#define LULL_SITE_RECORD(text)                                       \
	"\t.pushsection " LULL_SITE_RECORDS ", \"aw?\", @progbits\n" \
	"\t.balign 32\n"                                             \
	"772:\t.long 0, 0, 0, 0x80000000\n"                          \
	"\t.zero 16\n"                                               \
	"\t.popsection\n" LULL_SITE_ADDRESS LULL_SITE_NOTE("2", "\t.long 772b - .\n", text)

/*
 * The mask of a probe, which liblull may be writing: the one access here to what another thread
 * writes. This header stands alone, so it has no port to ask.
 */
#define LULL_MASK_READ(record, order) __atomic_load_n(&(record)->enabled_mask, order)

#if defined(LULL_SITE_ENTER)

#elif defined(LULL_SITE_NONE)

#define LULL_SITE_ENTER(level, text)                \
	struct lull_probe_record *lull_record_ = 0; \
	if (!lull_record_)                          \
	break

#elif defined(LULL_SITE_LOAD)

/* Not volatile: a loop may keep the address in a register. */
#define LULL_SITE_ENTER(level_value, text)                                          \
	struct lull_probe_record *lull_record_;                                     \
	LULL_ASM(LULL_SITE_RECORD(text) LULL_SITE_NOTE("1", "\t.long 0, 0\n", text) \
		 : [record] "=r"(lull_record_)                                      \
		 : [level] "i"(level_value));                                       \
	if (__builtin_expect(!LULL_MASK_READ(lull_record_, __ATOMIC_RELAXED), 1))   \
	break

#else

#ifdef __clang__
#define LULL_COLD /* clang lays the targets of asm goto out of line by itself */
#else
#define LULL_COLD __attribute__((__cold__))
#endif

/*
 * clang before 17 takes every asm goto of a function for a jump to every other one's target,
 * and complains that it crosses initialisations. In C++ each event therefore gets a function of its
 * own, which is of a class: that of a lambda would be looked at as a part of the function around
 * it. In C that is not possible: a function with events on both sides of a variable-length array,
 * or of a variable with a cleanup function, needs LULL_SITE_LOAD or a later clang.
 */
#if defined(__cplusplus) && defined(__clang__) && __clang_major__ < 17
#define LULL_SITE_LABEL
#define LULL_SITE_GOTO(level_value, text)                              \
	struct lull_site {                                             \
		__attribute__((__always_inline__)) static bool is_on() \
		{                                                      \
			LULL_SITE_ASM(level_value, text);              \
			return false;                                  \
lull_on_:                                                              \
			return true;                                   \
		}                                                      \
	};                                                             \
	if (!lull_site::is_on())                                       \
		break;
#else
#define LULL_SITE_LABEL __label__ lull_on_;
#define LULL_SITE_GOTO(level_value, text) \
	LULL_SITE_ASM(level_value, text); \
	break;                            \
lull_on_:                                 \
	LULL_COLD;
#endif

/*
 * The record's assembly is volatile, or the compiler would move it out of a loop, and into
 * the path that is to hold one no-op.
 */
#define LULL_SITE_ENTER(level_value, text)                  \
	LULL_SITE_GOTO(level_value, text)                   \
	struct lull_probe_record *lull_record_;             \
	LULL_ASM __volatile__(LULL_SITE_RECORD(text)        \
			      : [record] "=r"(lull_record_) \
			      : [level] "i"(level_value))
#define LULL_SITE_ASM(level_value, text)                                          \
	LULL_ASM goto(LULL_SITE_CODE LULL_SITE_NOTE("1", LULL_SITE_OFFSETS, text) \
		      :                                                           \
		      : [level] "i"(level_value)                                  \
		      :                                                           \
		      : lull_on_)
#define LULL_SITE_OFFSETS "\t.long 771b - .\n\t.long %l[lull_on_] - .\n"

#endif

#ifndef LULL_SITE_LABEL
#define LULL_SITE_LABEL
#endif
#endif
