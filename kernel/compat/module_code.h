/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a module's code is: from Linux 6.4 on a module has its memory in parts by their kind.
 */
#ifndef LULL_KERNEL_COMPAT_MODULE_CODE_H
#define LULL_KERNEL_COMPAT_MODULE_CODE_H

#include <linux/module.h>
#include <linux/version.h>

static inline void lull_module_code(const struct module *module, unsigned long *code,
				    unsigned long *code_bytes)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*code = (unsigned long)module->mem[MOD_TEXT].base;
	*code_bytes = module->mem[MOD_TEXT].size;
#else
	*code = (unsigned long)module->core_layout.base;
	*code_bytes = module->core_layout.text_size;
#endif
}

#endif
