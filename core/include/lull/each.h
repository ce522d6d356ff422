/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Walking macro arguments: lull_event() takes a name and 0 to 16 fields.
 *
 * LULL_EACH(operation, name, fields...) applies operation to each field. A field is a
 * parenthesised list (fields.h), so "operation field" is a macro call that the next scan of
 * the preprocessor expands. With 17 to 32 fields it is operation_MANY instead, so that one
 * assertion reports the mistake, and not a page of macro errors.
 */
#ifndef LULL_EACH_H
#define LULL_EACH_H

#pragma GCC system_header

#define LULL_PASTE(a, b) LULL_PASTE_TOKENS(a, b)
#define LULL_PASTE_TOKENS(a, b) a##b
#define LULL_STRING(a) LULL_STRING_TOKENS(a)
#define LULL_STRING_TOKENS(a) #a

#define LULL_EACH(o, ...) LULL_PASTE(LULL_EACH_, LULL_ARGUMENTS(__VA_ARGS__))(o, __VA_ARGS__)

/* How many arguments, 1 to 17; LULL_MANY for 18 to 33. */
#define LULL_ARGUMENTS(...)                                                                     \
	LULL_ARGUMENT_34(__VA_ARGS__, LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY,    \
			 LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY,      \
			 LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY, LULL_MANY, 17, 16, 15, 14, \
			 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define LULL_ARGUMENT_34(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, \
			 a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30,  \
			 a31, a32, a33, a34, ...)                                               \
	a34

#define LULL_EACH_LULL_MANY(o, ...) o##_MANY
#define LULL_EACH_1(o, name)
#define LULL_EACH_2(o, name, f) o f
#define LULL_EACH_3(o, name, f, ...) o f LULL_EACH_2(o, name, __VA_ARGS__)
#define LULL_EACH_4(o, name, f, ...) o f LULL_EACH_3(o, name, __VA_ARGS__)
#define LULL_EACH_5(o, name, f, ...) o f LULL_EACH_4(o, name, __VA_ARGS__)
#define LULL_EACH_6(o, name, f, ...) o f LULL_EACH_5(o, name, __VA_ARGS__)
#define LULL_EACH_7(o, name, f, ...) o f LULL_EACH_6(o, name, __VA_ARGS__)
#define LULL_EACH_8(o, name, f, ...) o f LULL_EACH_7(o, name, __VA_ARGS__)
#define LULL_EACH_9(o, name, f, ...) o f LULL_EACH_8(o, name, __VA_ARGS__)
#define LULL_EACH_10(o, name, f, ...) o f LULL_EACH_9(o, name, __VA_ARGS__)
#define LULL_EACH_11(o, name, f, ...) o f LULL_EACH_10(o, name, __VA_ARGS__)
#define LULL_EACH_12(o, name, f, ...) o f LULL_EACH_11(o, name, __VA_ARGS__)
#define LULL_EACH_13(o, name, f, ...) o f LULL_EACH_12(o, name, __VA_ARGS__)
#define LULL_EACH_14(o, name, f, ...) o f LULL_EACH_13(o, name, __VA_ARGS__)
#define LULL_EACH_15(o, name, f, ...) o f LULL_EACH_14(o, name, __VA_ARGS__)
#define LULL_EACH_16(o, name, f, ...) o f LULL_EACH_15(o, name, __VA_ARGS__)
#define LULL_EACH_17(o, name, f, ...) o f LULL_EACH_16(o, name, __VA_ARGS__)

#endif
