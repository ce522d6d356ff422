/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The fields of an event: what lull_event() takes after its name.
 *
 *	lull_u8 lull_u16 lull_u32 lull_u64 (field, value)	unsigned, shown in decimal
 *	lull_i8 lull_i16 lull_i32 lull_i64 (field, value)	signed
 *	lull_x8 lull_x16 lull_x32 lull_x64 (field, value)	bits, shown in hexadecimal
 *	lull_f32 lull_f64 lull_bool (field, value)		lull_ptr (field, pointer)
 *	lull_enum (field, value, "IDLE=0,BUSY=1")
 *	lull_flags8 ... lull_flags64 (field, value, "CREATE=0x40,APPEND=0x400")
 *	lull_str (field, string)	lull_strn (field, string, max_bytes)
 *	lull_bytes (field, pointer, count)
 *	lull_au8 lull_ai8 ... lull_au64 lull_ai64 (field, pointer, count)
 *
 * field is a bare identifier of ASCII letters, digits and '_', used once in an event. A value
 * that its field could not hold does not compile: unsigned fields take unsigned integers no
 * wider than themselves, signed ones take signed integers no wider and unsigned ones narrower
 * than themselves, hexadecimal ones take both; any integer constant that fits is fine
 * everywhere. Values are evaluated once, in order, and only while the event is enabled. A
 * temporary among them, such as the std::string of lull_str(name, path.string().c_str()), lives
 * until the event is recorded.
 *
 * A field is a list (kind, line, variable, condition, message, ...), on which trace.h runs
 * the operations LULL_FIELD_*. A field's name is only pasted or quoted, so that a macro of the
 * same name does not matter. The name comes first in the variable's name, so that the compiler
 * refuses a number as a name, and two fields of one name as two variables of one name.
 */
#ifndef LULL_FIELDS_H
#define LULL_FIELDS_H

#pragma GCC system_header

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include "check_cpp.h"
#else
#include "check_c.h"
#endif
#include "fields_copy.h"

/* Which values fit a field, and the messages for those that do not. */
#define LULL_UNSIGNED_MOST(bits) (UINT64_MAX >> (64 - (bits)))
#define LULL_SIGNED_MOST(bits) (LULL_UNSIGNED_MOST(bits) >> 1)
#define LULL_SIGNED_LEAST(bits) (-(int64_t)LULL_SIGNED_MOST(bits) - 1)
#define LULL_UNSIGNED_FITS(bits, v)                                \
	((LULL_TYPE_CODE(v) > 0 && LULL_TYPE_CODE(v) <= (bits)) || \
	 LULL_CONSTANT_WITHIN(v, 0, LULL_UNSIGNED_MOST(bits)))
#define LULL_SIGNED_FITS(bits, v)                                                                  \
	((LULL_TYPE_CODE(v) != 0 && LULL_TYPE_CODE(v) >= -(bits) && LULL_TYPE_CODE(v) < (bits)) || \
	 LULL_CONSTANT_WITHIN(v, LULL_SIGNED_LEAST(bits), LULL_SIGNED_MOST(bits)))
#define LULL_EITHER_FITS(bits, v)                                   \
	((LULL_TYPE_CODE(v) != 0 && LULL_TYPE_CODE(v) >= -(bits) && \
	  LULL_TYPE_CODE(v) <= (bits)) ||                           \
	 LULL_CONSTANT_WITHIN(v, LULL_SIGNED_LEAST(bits), LULL_UNSIGNED_MOST(bits)))
#define LULL_UNSIGNED_NEEDS(bits) \
	"needs an unsigned integer of at most " #bits " bits, or a constant that fits"
#define LULL_SIGNED_NEEDS(bits)                                                        \
	"needs a signed integer of at most " #bits " bits, an unsigned one of fewer, " \
	"or a constant that fits"
#define LULL_EITHER_NEEDS(bits) \
	"needs an integer of at most " #bits " bits, or a constant that fits"
#define LULL_ARRAY_NEEDS(type) "needs a pointer to elements of type " type ", and an integer count"

#define lull_u8(field, value)                                                   \
	(LULL_FIXED, "u8 " #field, field##_lull_, LULL_UNSIGNED_FITS(8, value), \
	 "lull_u8(" #field "): " LULL_UNSIGNED_NEEDS(8), uint8_t, (uint8_t)(value))
#define lull_u16(field, value)                                                    \
	(LULL_FIXED, "u16 " #field, field##_lull_, LULL_UNSIGNED_FITS(16, value), \
	 "lull_u16(" #field "): " LULL_UNSIGNED_NEEDS(16), uint16_t, (uint16_t)(value))
#define lull_u32(field, value)                                                    \
	(LULL_FIXED, "u32 " #field, field##_lull_, LULL_UNSIGNED_FITS(32, value), \
	 "lull_u32(" #field "): " LULL_UNSIGNED_NEEDS(32), uint32_t, (uint32_t)(value))
#define lull_u64(field, value)                                                    \
	(LULL_FIXED, "u64 " #field, field##_lull_, LULL_UNSIGNED_FITS(64, value), \
	 "lull_u64(" #field "): " LULL_UNSIGNED_NEEDS(64), uint64_t, (uint64_t)(value))
#define lull_i8(field, value)                                                 \
	(LULL_FIXED, "i8 " #field, field##_lull_, LULL_SIGNED_FITS(8, value), \
	 "lull_i8(" #field "): " LULL_SIGNED_NEEDS(8), int8_t, (int8_t)(value))
#define lull_i16(field, value)                                                  \
	(LULL_FIXED, "i16 " #field, field##_lull_, LULL_SIGNED_FITS(16, value), \
	 "lull_i16(" #field "): " LULL_SIGNED_NEEDS(16), int16_t, (int16_t)(value))
#define lull_i32(field, value)                                                  \
	(LULL_FIXED, "i32 " #field, field##_lull_, LULL_SIGNED_FITS(32, value), \
	 "lull_i32(" #field "): " LULL_SIGNED_NEEDS(32), int32_t, (int32_t)(value))
#define lull_i64(field, value)                                                  \
	(LULL_FIXED, "i64 " #field, field##_lull_, LULL_SIGNED_FITS(64, value), \
	 "lull_i64(" #field "): " LULL_SIGNED_NEEDS(64), int64_t, (int64_t)(value))
#define lull_x8(field, value)                                                 \
	(LULL_FIXED, "x8 " #field, field##_lull_, LULL_EITHER_FITS(8, value), \
	 "lull_x8(" #field "): " LULL_EITHER_NEEDS(8), uint8_t, (uint8_t)(value))
#define lull_x16(field, value)                                                  \
	(LULL_FIXED, "x16 " #field, field##_lull_, LULL_EITHER_FITS(16, value), \
	 "lull_x16(" #field "): " LULL_EITHER_NEEDS(16), uint16_t, (uint16_t)(value))
#define lull_x32(field, value)                                                  \
	(LULL_FIXED, "x32 " #field, field##_lull_, LULL_EITHER_FITS(32, value), \
	 "lull_x32(" #field "): " LULL_EITHER_NEEDS(32), uint32_t, (uint32_t)(value))
#define lull_x64(field, value)                                                  \
	(LULL_FIXED, "x64 " #field, field##_lull_, LULL_EITHER_FITS(64, value), \
	 "lull_x64(" #field "): " LULL_EITHER_NEEDS(64), uint64_t, (uint64_t)(value))

#define lull_f32(field, value)                                           \
	(LULL_FIXED, "f32 " #field, field##_lull_, LULL_IS_FLOAT(value), \
	 "lull_f32(" #field "): needs a float", float, (value))
#define lull_f64(field, value)                                            \
	(LULL_FIXED, "f64 " #field, field##_lull_, LULL_IS_DOUBLE(value), \
	 "lull_f64(" #field "): needs a float or a double", double, (double)(value))
#define lull_bool(field, value)                                                 \
	(LULL_FIXED, "bool " #field, field##_lull_, LULL_TYPE_CODE(value) != 0, \
	 "lull_bool(" #field "): needs a truth value or an integer", uint8_t, (value) != 0)
#define lull_ptr(field, pointer)                                             \
	(LULL_FIXED, "ptr " #field, field##_lull_, LULL_IS_POINTER(pointer), \
	 "lull_ptr(" #field "): needs a pointer", uint64_t, (uint64_t)(uintptr_t)(pointer))

/* names is "NAME=VALUE,...", a literal. A value without a name is shown as a number. */
#define lull_enum(field, value, names)                                                     \
	(LULL_NAMED, "enum " #field " " names, field##_lull_, LULL_EITHER_FITS(32, value), \
	 "lull_enum(" #field "): " LULL_EITHER_NEEDS(32), int32_t, (int32_t)(value), names)

/* Bits that have names, as lull_x8() to lull_x64(); a value may have several of them. */
#define lull_flags8(field, value, names)                                                \
	(LULL_NAMED, "x8 " #field " " names, field##_lull_, LULL_EITHER_FITS(8, value), \
	 "lull_flags8(" #field "): " LULL_EITHER_NEEDS(8), uint8_t, (uint8_t)(value), names)
#define lull_flags16(field, value, names)                                                 \
	(LULL_NAMED, "x16 " #field " " names, field##_lull_, LULL_EITHER_FITS(16, value), \
	 "lull_flags16(" #field "): " LULL_EITHER_NEEDS(16), uint16_t, (uint16_t)(value), names)
#define lull_flags32(field, value, names)                                                 \
	(LULL_NAMED, "x32 " #field " " names, field##_lull_, LULL_EITHER_FITS(32, value), \
	 "lull_flags32(" #field "): " LULL_EITHER_NEEDS(32), uint32_t, (uint32_t)(value), names)
#define lull_flags64(field, value, names)                                                 \
	(LULL_NAMED, "x64 " #field " " names, field##_lull_, LULL_EITHER_FITS(64, value), \
	 "lull_flags64(" #field "): " LULL_EITHER_NEEDS(64), uint64_t, (uint64_t)(value), names)

/*
 * Strings end at their NUL; NULL is recorded as "(null)". If another thread changes the string
 * meanwhile, the event has bytes of the old and of the new one, with '#' for a NUL in the middle.
 */
#define lull_str(field, string)                                            \
	(LULL_STRINGS, "str " #field, field##_lull_, LULL_IS_TEXT(string), \
	 "lull_str(" #field "): needs a pointer to char", string, LULL_ELEMENTS_MAX)
#define lull_strn(field, string, max_bytes)                                             \
	(LULL_STRINGS, "strn " #field, field##_lull_,                                   \
	 LULL_IS_TEXT(string) && LULL_TYPE_CODE(max_bytes) != 0,                        \
	 "lull_strn(" #field "): needs a pointer to char and an integer limit", string, \
	 LULL_ELEMENTS(max_bytes))

/* Counts are in elements; a negative one, or any with a null pointer, records none. */
#define lull_bytes(field, pointer, count)                        \
	(LULL_ARRAY, "bytes " #field, field##_lull_,             \
	 LULL_IS_POINTER(pointer) && LULL_TYPE_CODE(count) != 0, \
	 "lull_bytes(" #field "): needs a pointer and an integer count", 1, pointer, count)
#define lull_au8(field, pointer, count)                                 \
	(LULL_ARRAY, "au8 " #field, field##_lull_,                      \
	 LULL_POINTEE_CODE(pointer) == 8 && LULL_TYPE_CODE(count) != 0, \
	 "lull_au8(" #field "): " LULL_ARRAY_NEEDS("u8"), 1, pointer, count)
#define lull_ai8(field, pointer, count)                                  \
	(LULL_ARRAY, "ai8 " #field, field##_lull_,                       \
	 LULL_POINTEE_CODE(pointer) == -8 && LULL_TYPE_CODE(count) != 0, \
	 "lull_ai8(" #field "): " LULL_ARRAY_NEEDS("i8"), 1, pointer, count)
#define lull_au16(field, pointer, count)                                 \
	(LULL_ARRAY, "au16 " #field, field##_lull_,                      \
	 LULL_POINTEE_CODE(pointer) == 16 && LULL_TYPE_CODE(count) != 0, \
	 "lull_au16(" #field "): " LULL_ARRAY_NEEDS("u16"), 2, pointer, count)
#define lull_ai16(field, pointer, count)                                  \
	(LULL_ARRAY, "ai16 " #field, field##_lull_,                       \
	 LULL_POINTEE_CODE(pointer) == -16 && LULL_TYPE_CODE(count) != 0, \
	 "lull_ai16(" #field "): " LULL_ARRAY_NEEDS("i16"), 2, pointer, count)
#define lull_au32(field, pointer, count)                                 \
	(LULL_ARRAY, "au32 " #field, field##_lull_,                      \
	 LULL_POINTEE_CODE(pointer) == 32 && LULL_TYPE_CODE(count) != 0, \
	 "lull_au32(" #field "): " LULL_ARRAY_NEEDS("u32"), 4, pointer, count)
#define lull_ai32(field, pointer, count)                                  \
	(LULL_ARRAY, "ai32 " #field, field##_lull_,                       \
	 LULL_POINTEE_CODE(pointer) == -32 && LULL_TYPE_CODE(count) != 0, \
	 "lull_ai32(" #field "): " LULL_ARRAY_NEEDS("i32"), 4, pointer, count)
#define lull_au64(field, pointer, count)                                 \
	(LULL_ARRAY, "au64 " #field, field##_lull_,                      \
	 LULL_POINTEE_CODE(pointer) == 64 && LULL_TYPE_CODE(count) != 0, \
	 "lull_au64(" #field "): " LULL_ARRAY_NEEDS("u64"), 8, pointer, count)
#define lull_ai64(field, pointer, count)                                  \
	(LULL_ARRAY, "ai64 " #field, field##_lull_,                       \
	 LULL_POINTEE_CODE(pointer) == -64 && LULL_TYPE_CODE(count) != 0, \
	 "lull_ai64(" #field "): " LULL_ARRAY_NEEDS("i64"), 8, pointer, count)

/* The operations. */
/* Of what fewer than 64 bits are in, the sign alone sets the highest bit. */
#define LULL_ELEMENTS(count) lull_elements((uint64_t)(count), LULL_TYPE_CODE(count) != 64)

#define LULL_FIELD_LINE(kind, line, ...) "\t.ascii \"" line "\\n\"\n"
#define LULL_FIELD_LINE_MANY

#define LULL_FIELD_TEXT(kind, line, ...) line "\n"
#define LULL_FIELD_TEXT_MANY

#define LULL_FIELD_CHECK(kind, line, variable, condition, message, ...)                       \
	LULL_ASSERT(sizeof(#variable) > sizeof("_lull_"), "lull_event: a field has no name"); \
	LULL_ASSERT_FIELD(#variable);                                                         \
	LULL_ASSERT(condition, message);                                                      \
	LULL_CHECK_##kind(__VA_ARGS__)
#define LULL_FIELD_CHECK_MANY LULL_ASSERT(0, "lull_event: at most 16 fields");
#define LULL_CHECK_LULL_FIXED(type, value)
#define LULL_CHECK_LULL_NAMED(type, value, names) LULL_ASSERT_ENUM(names);
#define LULL_CHECK_LULL_STRINGS(string, limit)
#define LULL_CHECK_LULL_ARRAY(size, pointer, count)

/* A VALUE is the begin of an expression that trace.h ends, so its variable is declared before. */
#define LULL_FIELD_VARIABLE(kind, line, variable, condition, message, ...) \
	LULL_VARIABLE_##kind(variable, __VA_ARGS__)
#define LULL_FIELD_VARIABLE_MANY
#define LULL_VARIABLE_LULL_FIXED(variable, type, ...) type variable;
#define LULL_VARIABLE_LULL_NAMED(variable, type, ...) type variable;
#define LULL_VARIABLE_LULL_STRINGS(variable, ...) struct lull_string variable;
#define LULL_VARIABLE_LULL_ARRAY(variable, ...) struct lull_array variable;

#define LULL_FIELD_VALUE(kind, line, variable, condition, message, ...) \
	LULL_VALUE_##kind(variable, __VA_ARGS__),
#define LULL_FIELD_VALUE_MANY
#define LULL_VALUE_LULL_FIXED(variable, type, value) variable = value
#define LULL_VALUE_LULL_NAMED(variable, type, value, names) variable = value
#define LULL_VALUE_LULL_STRINGS(variable, string, limit) \
	variable = lull_string_measure((string), limit)
#define LULL_VALUE_LULL_ARRAY(variable, size, pointer, count) \
	variable = lull_array_measure((pointer), LULL_ELEMENTS(count))

#define LULL_FIELD_BYTES(kind, line, variable, condition, message, ...) \
	+LULL_BYTES_##kind(variable, __VA_ARGS__)
#define LULL_FIELD_BYTES_MANY
#define LULL_BYTES_LULL_FIXED(variable, ...) (uint32_t)sizeof(variable)
#define LULL_BYTES_LULL_NAMED(variable, ...) (uint32_t)sizeof(variable)
#define LULL_BYTES_LULL_STRINGS(variable, ...) variable.bytes + 1u
#define LULL_BYTES_LULL_ARRAY(variable, size, ...) 4u + variable.count *size##u

#define LULL_FIELD_STORE(kind, line, variable, condition, message, ...) \
	LULL_STORE_##kind(variable, __VA_ARGS__)
#define LULL_FIELD_STORE_MANY
#define LULL_STORE_LULL_FIXED(variable, ...)                     \
	__builtin_memcpy(lull_at_, &variable, sizeof(variable)); \
	lull_at_ += sizeof(variable);
#define LULL_STORE_LULL_NAMED(variable, ...) LULL_STORE_LULL_FIXED(variable, )
#define LULL_STORE_LULL_STRINGS(variable, ...) lull_at_ = lull_string_store(lull_at_, variable);
#define LULL_STORE_LULL_ARRAY(variable, size, ...) \
	lull_at_ = lull_array_store(lull_at_, variable, size);

#endif
