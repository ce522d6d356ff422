/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The compile-time questions that fields.h asks about a value, answered in C11.
 * check_cpp.h answers the same ones in C++17.
 *
 * A type's code is the number of its bits, negative where it is signed, 1 for bool and 0 for
 * every type that is not an integer. Each question is an integer constant expression and evaluates
 * nothing.
 */
#ifndef LULL_CHECK_C_H
#define LULL_CHECK_C_H

#pragma GCC system_header

#include <stdint.h>
#include "check_name.h"

#define LULL_ASSERT(condition, message) _Static_assert(condition, message)
#define LULL_WORD(v) ((uint64_t)(v))

#define LULL_BITS(type) (((type)-1 < 1 ? -8 : 8) * (int)sizeof(type))

/*
 * gcc gives bit-fields types of their own. The inner selection promotes them, which hides the
 * sign of those narrower than int: 31 lets them into signed and unsigned fields of 32 bits
 * and more. The conditional leaves pointers, also those to incomplete types, what they are.
 */
#define LULL_TYPE_CODE(v)                                \
	_Generic((v), _Bool : 1, char                    \
		 : LULL_BITS(char), signed char          \
		 : -8, unsigned char : 8, short          \
		 : -16, unsigned short : 16, int         \
		 : -32, unsigned : 32, long              \
		 : LULL_BITS(long), unsigned long        \
		 : LULL_BITS(unsigned long), long long   \
		 : -64, unsigned long long : 64, default \
		 : _Generic(1 ? (v) : 0, int : 31, unsigned : 32, default : 0))

#define LULL_POINTEE(type) type * : LULL_BITS(type), const type * : LULL_BITS(type)
#define LULL_POINTEE_CODE(v)                                                                      \
	_Generic((v), LULL_POINTEE(char), LULL_POINTEE(signed char), LULL_POINTEE(unsigned char), \
		 LULL_POINTEE(short), LULL_POINTEE(unsigned short), LULL_POINTEE(int),            \
		 LULL_POINTEE(unsigned), LULL_POINTEE(long), LULL_POINTEE(unsigned long),         \
		 LULL_POINTEE(long long), LULL_POINTEE(unsigned long long), default : 0)

/* A null pointer constant decides the type of the conditional; a variable does not. */
#define LULL_IS_CONSTANT(v) \
	_Generic(1 ? (void *)((__INTPTR_TYPE__)(v)*0) : (int *)0, int * : 1, default : 0)
#define LULL_CONSTANT_WITHIN(v, least, most) \
	(LULL_IS_INTEGER_CONSTANT(v) &&      \
	 LULL_WITHIN(__builtin_choose_expr(LULL_IS_INTEGER_CONSTANT(v), (v), 0), least, most))
#define LULL_IS_INTEGER_CONSTANT(v) (LULL_TYPE_CODE(v) != 0 && LULL_IS_CONSTANT(v))
#define LULL_WITHIN(v, least, most) \
	((v) < 1 && (v) != 0 ? (int64_t)(v) >= (least) : (uint64_t)(v) <= (most))

#define LULL_IS_FLOAT(v) _Generic((v), float : 1, default : 0)
#define LULL_IS_DOUBLE(v) _Generic((v), float : 1, double : 1, default : 0)
#define LULL_IS_POINTER(v) (__builtin_classify_type(v) == 5)
#define LULL_IS_TEXT(v) _Generic((v), char * : 1, const char * : 1, default : 0)

#endif
