/* SPDX-License-Identifier: MIT */
/*
 * Thread-local variables under liburcu's macros. The compiler has them. To declare one is to write
 * `extern` before the macro.
 */
#ifndef LULL_URCU_TLS_COMPAT_H
#define LULL_URCU_TLS_COMPAT_H

#include <stdlib.h>

#include <urcu/arch.h>
#include <urcu/compiler.h>
#include <urcu/config.h>

#define URCU_TLS_STORAGE_CLASS __thread

#define DECLARE_URCU_TLS(type, name) __thread type name
#define DEFINE_URCU_TLS(type, name) __thread type name
#define DEFINE_URCU_TLS_INIT(type, name, initial) __thread type name = (initial)
#define URCU_TLS(name) (name)

#endif
