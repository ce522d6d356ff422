// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules, messages and errors.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/module.h>
#include <trace/events/module.h>
#include <trace/events/printk.h>
#include <trace/events/error_report.h>
#include "events/fields.h"

LULL_KERNEL_EVENT(module, module_load, TP_PROTO(struct module *mod),
		  lull_x32(taints, (u32)mod->taints), lull_str(name, mod->name));
LULL_KERNEL_EVENT(module, module_free, TP_PROTO(struct module *mod), lull_str(name, mod->name));

#define MODULE_REFCNT_FIELDS \
	lull_x64(ip, ip), lull_i32(refcnt, atomic_read(&mod->refcnt)), lull_str(name, mod->name)

LULL_KERNEL_EVENT(module, module_get, TP_PROTO(struct module *mod, unsigned long ip),
		  MODULE_REFCNT_FIELDS);
LULL_KERNEL_EVENT(module, module_put, TP_PROTO(struct module *mod, unsigned long ip),
		  MODULE_REFCNT_FIELDS);
LULL_KERNEL_EVENT(module, module_request, TP_PROTO(char *name, bool wait, unsigned long ip),
		  lull_x64(ip, ip), lull_bool(wait, wait), lull_str(name, (const char *)name));

LULL_KERNEL_EVENT(printk, console, TP_PROTO(const char *text, size_t len),
		  lull_strn(msg, text, len > 0 && text[len - 1] == '\n' ? len - 1 : len));

#define ERROR_REPORT_FIELDS lull_i32(error_detector, (int)error_detector), lull_x64(id, id)

LULL_KERNEL_EVENT(error_report, error_report_end,
		  TP_PROTO(enum error_detector error_detector, unsigned long id),
		  ERROR_REPORT_FIELDS);
