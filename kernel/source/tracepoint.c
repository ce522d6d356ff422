// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sources at tracepoints: those of the kernel, and those of modules, which come and go.
 *
 * A source names its module, and may be there before it: it is registered with the tracepoint when
 * the module comes, before any of the module's code runs, and leaves it when the module goes. The
 * kernel tells which tracepoints a module has, and calls the notifier for those that are loaded
 * already.
 *
 * A probe is written as if each argument had the size of a word. On the architectures that Lull
 * builds for arguments are passed like that: the first ones in registers, the others on the stack,
 * a word each; and to read more than there are is to read the caller's stack. Where the kernel
 * checks the types of indirect calls, this cannot be. Paper: O 4.1 (objects that come and go).
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include "event.h"
#include "points.h"
#include "source/source.h"

/* A module that is there and has tracepoints. */
struct owner {
	struct list_head node;
	struct module *module;
};

static LIST_HEAD(owners);
static LIST_HEAD(waiting); /* sources at modules' tracepoints, registered or not */
static DEFINE_MUTEX(mutex);

static void tracepoint_hit(void *data, unsigned long a, unsigned long b, unsigned long c,
			   unsigned long d, unsigned long e, unsigned long f, unsigned long g,
			   unsigned long h, unsigned long i, unsigned long j, unsigned long k,
			   unsigned long l)
{
	const unsigned long arguments[LULL_SOURCE_ARGUMENTS_MAX] = { a, b, c, d, e, f,
								     g, h, i, j, k, l };

	lull_source_hit(data, &(struct hit){ .arguments = arguments });
}

/* What tests/module reads, to know which code the kernel calls: as .lull_bindings has probes. */
static const void *const hit = tracepoint_hit;
static const void *const *const hit_at __used __section(".lull_interfaces") = &hit;

static int source_register(struct source *source, struct tracepoint *tracepoint)
{
	int error = tracepoint_probe_register(tracepoint, tracepoint_hit, source);

	if (!error)
		source->at.tracepoint = tracepoint;
	return error;
}

static void source_unregister(struct source *source)
{
	if (source->at.tracepoint)
		tracepoint_probe_unregister(source->at.tracepoint, tracepoint_hit, source);
	source->at.tracepoint = NULL;
}

/* A target is MODULE:NAME, or NAME of one of the kernel's. */
static const char *name_of(const struct source *source)
{
	const char *colon = strchr(source->target, ':');

	return colon ? colon + 1 : source->target;
}

static bool is_in(const struct source *source, const struct module *module)
{
	size_t bytes = strlen(module->name);

	return !strncmp(source->target, module->name, bytes) && source->target[bytes] == ':';
}

/* Register a source with its tracepoint in its module. Return: 0; -ENOENT: it has none; others. */
static int module_source_register(struct source *source, const struct module *module)
{
	unsigned int i;

	for (i = 0; i < module->num_tracepoints; i++) {
		struct tracepoint *tracepoint = tracepoint_ptr_deref(module->tracepoints_ptrs + i);

		if (!strcmp(tracepoint->name, name_of(source)) && !lull_points_has(tracepoint))
			return source_register(source, tracepoint);
	}
	return -ENOENT;
}

static void kernel_tracepoint_named(struct tracepoint *tracepoint, void *data)
{
	struct source *source = data;

	if (!strcmp(tracepoint->name, source->target))
		source->at.tracepoint = tracepoint;
}

static int module_watch(struct source *source)
{
	struct owner *owner;
	int error = 0;

	mutex_lock(&mutex);
	list_for_each_entry(owner, &owners, node)
		if (is_in(source, owner->module))
			error = module_source_register(source, owner->module);
	if (!error)
		list_add_tail(&source->at.node, &waiting);
	mutex_unlock(&mutex);
	return error;
}

int lull_tracepoint_watch(struct source *source)
{
	struct tracepoint *tracepoint;

	if (IS_ENABLED(CONFIG_CFI_CLANG))
		return -EOPNOTSUPP;
	INIT_LIST_HEAD(&source->at.node);
	if (strchr(source->target, ':'))
		return module_watch(source);
	for_each_kernel_tracepoint(kernel_tracepoint_named, source);
	tracepoint = source->at.tracepoint;
	return tracepoint ? source_register(source, tracepoint) : -ENOENT;
}

void lull_tracepoint_leave(struct source *source)
{
	mutex_lock(&mutex);
	list_del(&source->at.node);
	source_unregister(source);
	mutex_unlock(&mutex);
}

static void module_comes(struct module *module)
{
	struct owner *owner = kzalloc(sizeof(*owner), GFP_KERNEL);
	struct source *source;

	if (!owner) {
		pr_err("lull: no memory to know the tracepoints of %s\n", module->name);
		return;
	}
	owner->module = module;
	list_add_tail(&owner->node, &owners);
	list_for_each_entry(source, &waiting, at.node)
		if (is_in(source, module) && module_source_register(source, module))
			pr_warn("lull: %s has no tracepoint for %s\n", module->name,
				source->target);
}

static void module_goes(const struct module *module)
{
	struct owner *owner, *next;
	struct source *source;

	list_for_each_entry(source, &waiting, at.node)
		if (is_in(source, module))
			source_unregister(source);
	list_for_each_entry_safe(owner, next, &owners, node)
		if (owner->module == module) {
			list_del(&owner->node);
			kfree(owner);
		}
}

static int module_changes(struct notifier_block *unused, unsigned long state, void *data)
{
	struct module *module = ((struct tp_module *)data)->mod;

	mutex_lock(&mutex);
	if (state == MODULE_STATE_COMING)
		module_comes(module);
	else if (state == MODULE_STATE_GOING)
		module_goes(module);
	mutex_unlock(&mutex);
	return NOTIFY_OK;
}

static struct notifier_block modules = { .notifier_call = module_changes };

int __init lull_tracepoints_init(void)
{
	return register_tracepoint_module_notifier(&modules);
}

/* The kernel tells that each module goes, as it told at the begin that each came. */
void lull_tracepoints_exit(void)
{
	unregister_tracepoint_module_notifier(&modules);
}
