// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules, in the order of where they are.
 *
 * The kernel gives modules no list of modules. But each has an entry in sysfs, all of them in one
 * set, and a module's memory is freed after its entry has left the set.
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include "compat/module_code.h"
#include "dump/record.h"

struct found {
	const struct module *module; /* its address only */
	char name[MODULE_NAME_LEN];
	unsigned long code, code_bytes;
};

/* The module with the least address above @found's. Return: false where there is none. */
static bool module_next(struct found *found)
{
	struct kset *set = THIS_MODULE->mkobj.kobj.kset;
	const struct module *module, *next = NULL;
	struct kobject *entry;

	spin_lock(&set->list_lock);
	list_for_each_entry(entry, &set->list, entry) {
		module = container_of(entry, struct module_kobject, kobj)->mod;
		if (module > found->module && (!next || module < next))
			next = module;
	}
	if (next) {
		memcpy(found->name, next->name, sizeof(found->name));
		lull_module_code(next, &found->code, &found->code_bytes);
	}
	spin_unlock(&set->list_lock);
	found->module = next;
	return next != NULL;
}

void lull_dump_modules(struct dump *dump)
{
	struct found found = { 0 };

	/* Bound: addresses ascend. */
	while (lull_dump_goes_on(dump) && module_next(&found))
		LULL_DUMP_EVENT(&dump->counts[DUMP_MODULE], "state:module",
				lull_strn(name, found.name, MODULE_NAME_LEN - 1),
				lull_ptr(code, (void *)found.code),
				lull_u64(code_bytes, found.code_bytes));
}
