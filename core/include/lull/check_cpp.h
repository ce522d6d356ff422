/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The compile-time questions that fields.h asks about a value, answered in C++17.
 * check_c.h answers the same ones in C11 and explains a type's code.
 *
 * Enumerations have the code of their underlying type. No standard header is included: this
 * one is part of every instrumented file.
 */
#ifndef LULL_CHECK_CPP_H
#define LULL_CHECK_CPP_H

#pragma GCC system_header

#if __cplusplus < 201703L
#error "Lull's events need C++17 or newer: compile with -std=c++17"
#endif

#include <stdint.h>
#include "check_name.h"

namespace lull_check
{
template <class T> struct plain {
	typedef T type;
};
template <class T> struct plain<T &> : plain<T> {
};
template <class T> struct plain<T &&> : plain<T> {
};
template <class T> struct plain<const T> : plain<T> {
};
template <class T> struct plain<volatile T> : plain<T> {
};
template <class T> struct plain<const volatile T> : plain<T> {
};

template <class T> struct bits {
	static constexpr int value = (T(-1) < T(1) ? -8 : 8) * int(sizeof(T));
};
template <class T, bool is_enumeration> struct code {
	static constexpr int value = 0;
};
template <class T> struct code<T, true> : bits<__underlying_type(T)> {
};
template <> struct code<bool, false> {
	static constexpr int value = 1;
};
template <> struct code<char, false> : bits<char> {
};
template <> struct code<signed char, false> : bits<signed char> {
};
template <> struct code<unsigned char, false> : bits<unsigned char> {
};
template <> struct code<wchar_t, false> : bits<wchar_t> {
};
template <> struct code<char16_t, false> : bits<char16_t> {
};
template <> struct code<char32_t, false> : bits<char32_t> {
};
template <> struct code<short, false> : bits<short> {
};
template <> struct code<unsigned short, false> : bits<unsigned short> {
};
template <> struct code<int, false> : bits<int> {
};
template <> struct code<unsigned, false> : bits<unsigned> {
};
template <> struct code<long, false> : bits<long> {
};
template <> struct code<unsigned long, false> : bits<unsigned long> {
};
template <> struct code<long long, false> : bits<long long> {
};
template <> struct code<unsigned long long, false> : bits<unsigned long long> {
};
template <class T> constexpr int plain_code = code<T, __is_enum(T)>::value;
template <class T> constexpr int type_code = plain_code<typename plain<T>::type>;

/* The type that an array or a pointer points to, by reference or not. */
struct nothing {
};
template <class T> struct pointee {
	typedef nothing type;
};
template <class T> struct pointee<T *> {
	typedef T type;
};
template <class T, decltype(sizeof 0) n> struct pointee<T[n]> {
	typedef T type;
};
template <class T> struct pointee<T[]> {
	typedef T type;
};
template <class T> using pointee_type = typename pointee<typename plain<T>::type>::type;
template <class T> constexpr int pointee_code = type_code<pointee_type<T>>;

template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;
template <class T> constexpr bool is_float = is_same<typename plain<T>::type, float>;
template <class T>
constexpr bool is_double = is_float<T> || is_same<typename plain<T>::type, double>;
template <class T> constexpr bool is_volatile = false;
template <class T> constexpr bool is_volatile<volatile T> = true;
template <class T> constexpr bool is_volatile<const volatile T> = true;
template <class T>
constexpr bool is_text =
	is_same<typename plain<pointee_type<T>>::type, char> && !is_volatile<pointee_type<T>>;
template <class T>
constexpr bool is_pointer =
	!is_same<pointee_type<T>, nothing> || is_same<typename plain<T>::type, decltype(nullptr)>;
template <class R, class... A> constexpr bool is_pointer<R (&)(A...)> = true;
template <class R, class... A> constexpr bool is_pointer<R (&)(A...) noexcept> = true;

template <class T> constexpr bool within(const T &value, int64_t least, uint64_t most)
{
	if constexpr (type_code<T> < 0)
		if ((int64_t)value < 0)
			return (int64_t)value >= least;
	if constexpr (type_code<T> != 0)
		return (uint64_t)value <= most;
	return false;
}

constexpr bool is_one_of(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set != 0;
}

constexpr bool is_made_of(const char *text, const char *set)
{
	while (*text && is_one_of(*text, set))
		text++;
	return *text == 0;
}

/* group:name, with at least one character on both sides of each colon. */
constexpr bool has_group(const char *name)
{
	bool found = false;

	if (*name == ':')
		return false;
	for (; *name; name++) {
		if (*name == ':' && (name[1] == ':' || !name[1]))
			return false;
		found = found || *name == ':';
	}
	return found;
}
} // namespace lull_check

#define LULL_ASSERT(condition, message) static_assert(condition, message)
#define LULL_WORD(v) static_cast<uint64_t>(v)
#define LULL_TYPE_CODE(v) (lull_check::type_code<decltype((v))>)
#define LULL_POINTEE_CODE(v) (lull_check::pointee_code<decltype((v))>)
#define LULL_CONSTANT_WITHIN(v, least, most) \
	(__builtin_constant_p(v) ? lull_check::within((v), least, most) : false)
#define LULL_IS_FLOAT(v) (lull_check::is_float<decltype((v))>)
#define LULL_IS_DOUBLE(v) (lull_check::is_double<decltype((v))>)
#define LULL_IS_POINTER(v) (lull_check::is_pointer<decltype((v))>)
#define LULL_IS_TEXT(v) (lull_check::is_text<decltype((v))>)

#define LULL_ASSERT_NAME(name)                                                       \
	static_assert(lull_check::is_made_of(name, LULL_NAME_SET), LULL_NAME_NEEDS); \
	static_assert(lull_check::has_group(name), LULL_NAME_NEEDS)
#define LULL_ASSERT_FIELD(name) \
	static_assert(lull_check::is_made_of(name, LULL_LETTERS), LULL_FIELD_NEEDS)
#define LULL_ASSERT_ENUM(text)                                       \
	static_assert(lull_check::is_made_of(text, LULL_ENUM_SET) && \
			      lull_check::is_one_of('=', text),      \
		      LULL_ENUM_NEEDS)
#define LULL_ASSERT_FILE(file)                                                                \
	static_assert(!lull_check::is_one_of('%', file) && !lull_check::is_one_of('{', file), \
		      LULL_FILE_NEEDS)

#endif
