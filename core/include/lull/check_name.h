/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The characters that the strings of an event may hold. The strings become text of the assembler
 * (site.h), after a pass in which the compiler gives '%' and, on x86, braces a meaning; and they
 * are lines of the event's description (abi/site.h).
 *
 * C++ checks them by constexpr functions (check_cpp.h), gcc by strspn(), which it folds, and
 * clang's C by diagnose_if, which can read a literal.
 */
#ifndef LULL_CHECK_NAME_H
#define LULL_CHECK_NAME_H

#pragma GCC system_header

#define LULL_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define LULL_NAME_SET LULL_LETTERS ":.-"
#define LULL_ENUM_SET LULL_LETTERS "=,-"

#define LULL_NAME_NEEDS "lull_event: the name is group:name, of letters, digits, '_', '.' and '-'"
#define LULL_FIELD_NEEDS "lull_event: the name of a field is of the letters a to z, digits and '_'"
#define LULL_ENUM_NEEDS \
	"lull_enum, lull_flags: the names are written \"IDLE=0,BUSY=1\", without spaces"
#define LULL_FILE_NEEDS                                                       \
	"lull_event: the path of this source file holds '%' or '{'; compile " \
	"with -DLULL_FILE=__FILE_NAME__ or with -fmacro-prefix-map=OLD=NEW"

#if !defined(__cplusplus) && defined(__clang__)

#define LULL_HAS(text, c) __builtin_strchr(text, (char)(c))
#define LULL_HAS_4(t, c) \
	(LULL_HAS(t, c) || LULL_HAS(t, (c) + 1) || LULL_HAS(t, (c) + 2) || LULL_HAS(t, (c) + 3))
#define LULL_HAS_16(t, c)                                                        \
	(LULL_HAS_4(t, c) || LULL_HAS_4(t, (c) + 4) || LULL_HAS_4(t, (c) + 8) || \
	 LULL_HAS_4(t, (c) + 12))
#define LULL_HAS_64(t, c)                                                             \
	(LULL_HAS_16(t, c) || LULL_HAS_16(t, (c) + 16) || LULL_HAS_16(t, (c) + 32) || \
	 LULL_HAS_16(t, (c) + 48))
#define LULL_HAS_CONTROL(t)                                                        \
	(LULL_HAS(t, 1) || LULL_HAS(t, 2) || LULL_HAS(t, 3) || LULL_HAS_4(t, 4) || \
	 LULL_HAS_4(t, 8) || LULL_HAS_4(t, 12) || LULL_HAS_16(t, 16) || LULL_HAS(t, 127))
#define LULL_HAS_HIGH(t) (LULL_HAS_64(t, 128) || LULL_HAS_64(t, 192)) /* as in UTF-8 */
#define LULL_HAS_ANY_ALIKE(t)                                                             \
	(LULL_HAS(t, ' ') || LULL_HAS(t, '!') || LULL_HAS(t, '"') || LULL_HAS(t, '#') ||  \
	 LULL_HAS(t, '$') || LULL_HAS(t, '%') || LULL_HAS(t, '&') || LULL_HAS(t, '(') ||  \
	 LULL_HAS(t, ')') || LULL_HAS(t, '*') || LULL_HAS(t, '+') || LULL_HAS(t, '/') ||  \
	 LULL_HAS(t, ';') || LULL_HAS(t, '<') || LULL_HAS(t, '>') || LULL_HAS(t, '?') ||  \
	 LULL_HAS(t, '@') || LULL_HAS(t, '[') || LULL_HAS(t, ']') || LULL_HAS(t, '^') ||  \
	 LULL_HAS(t, '`') || LULL_HAS(t, '{') || LULL_HAS(t, '|') || LULL_HAS(t, '}') ||  \
	 LULL_HAS(t, '~') || LULL_HAS(t, 39) || LULL_HAS(t, 92) || LULL_HAS_CONTROL(t) || \
	 LULL_HAS_HIGH(t))

/* Two colons at one of 64 places from i on. liblull looks at longer names, too. */
#define LULL_TWO(t, i) (__builtin_strlen(t) > (i) && (t)[i] == ':' && (t)[(i) + 1] == ':')
#define LULL_TWO_4(t, i) \
	(LULL_TWO(t, i) || LULL_TWO(t, (i) + 1) || LULL_TWO(t, (i) + 2) || LULL_TWO(t, (i) + 3))
#define LULL_TWO_16(t, i)                                                        \
	(LULL_TWO_4(t, i) || LULL_TWO_4(t, (i) + 4) || LULL_TWO_4(t, (i) + 8) || \
	 LULL_TWO_4(t, (i) + 12))
#define LULL_TWO_64(t) \
	(LULL_TWO_16(t, 0u) || LULL_TWO_16(t, 16u) || LULL_TWO_16(t, 32u) || LULL_TWO_16(t, 48u))
#define LULL_REFUSE(condition, needs) __attribute__((diagnose_if(condition, needs, "error")))

static inline void lull_check_name(const char *name)
	LULL_REFUSE(LULL_HAS_ANY_ALIKE(name) || LULL_HAS(name, '=') || LULL_HAS(name, ',') ||
			    !LULL_HAS(name, ':') || name[0] == ':' || LULL_TWO_64(name) ||
			    name[__builtin_strlen(name) - 1] == ':',
		    LULL_NAME_NEEDS)
{
	(void)name;
}

static inline void lull_check_field(const char *name)
	LULL_REFUSE(LULL_HAS(name, '$') || LULL_HAS_HIGH(name), LULL_FIELD_NEEDS)
{
	(void)name;
}

static inline void lull_check_enum(const char *text)
	LULL_REFUSE(LULL_HAS_ANY_ALIKE(text) || LULL_HAS(text, ':') || LULL_HAS(text, '.') ||
			    !LULL_HAS(text, '='),
		    LULL_ENUM_NEEDS)
{
	(void)text;
}

static inline void lull_check_file(const char *file)
	LULL_REFUSE(LULL_HAS(file, '%') || LULL_HAS(file, '{'), LULL_FILE_NEEDS)
{
	(void)file;
}

#define LULL_ASSERT_NAME(name) lull_check_name(name)
#define LULL_ASSERT_FIELD(name) lull_check_field(name)
#define LULL_ASSERT_ENUM(text) lull_check_enum(text)
#define LULL_ASSERT_FILE(file) lull_check_file(file)

#elif !defined(__cplusplus)

#define LULL_MADE_OF(text, set) (__builtin_strspn(text, set) == sizeof(text) - 1)
#define LULL_ASSERT_NAME(name)                                                             \
	_Static_assert(LULL_MADE_OF(name, LULL_NAME_SET) && __builtin_strchr(name, ':') && \
			       __builtin_strspn(name, ":") == 0 &&                         \
			       !__builtin_strstr(name, "::") &&                            \
			       __builtin_strcmp((name) + sizeof(name) - 2, ":"),           \
		       LULL_NAME_NEEDS)
#define LULL_ASSERT_FIELD(name) _Static_assert(LULL_MADE_OF(name, LULL_LETTERS), LULL_FIELD_NEEDS)
#define LULL_ASSERT_ENUM(text)                                                           \
	_Static_assert(LULL_MADE_OF(text, LULL_ENUM_SET) && __builtin_strchr(text, '='), \
		       LULL_ENUM_NEEDS)
#define LULL_ASSERT_FILE(file)                                                       \
	_Static_assert(!__builtin_strchr(file, '%') && !__builtin_strchr(file, '{'), \
		       LULL_FILE_NEEDS)

#endif
#endif
