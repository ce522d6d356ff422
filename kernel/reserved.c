// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that was reserved at boot: whose it is now, and what an earlier boot left in it.
 *
 * The range begins with a note that says which session is there. It is written when the session
 * is made, and erased when the session ends; so a note that is found when the module is loaded is
 * that of a session that a crash or a reset of the machine ended. It is copied once, the copy is
 * checked, and only the copy is used.
 *
 * The range is no memory of Linux's: it has page frames and no struct page. Paper: B 4.5.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/panic_notifier.h>
#include <linux/timekeeping.h>
#include "lull_port.h"
#include "reserved.h"
#ifdef CONFIG_X86
#include <asm/cacheflush.h>
#endif

static char *memory;
module_param(memory, charp, 0444);
MODULE_PARM_DESC(memory, "SIZE@ADDRESS of memory that memmap=SIZE$ADDRESS keeps free");

static phys_addr_t range_begin;
static uint64_t range_bytes;
static unsigned char *range; /* where it is mapped; NULL: nothing is reserved */
static enum lull_kernel_reserved_state state;
static bool is_forgotten; /* what a descriptor reads */
static struct lull_left_note left; /* where state is LEFT: a copy, checked */
static DEFINE_MUTEX(mutex); /* of all of these, once the module is loaded */

static struct lull_left_note *note(void)
{
	return (struct lull_left_note *)range;
}

/* Read SIZE@ADDRESS. Return: 0; -EINVAL. */
static int parameter_read(void)
{
	char *at;

	range_bytes = memparse(memory, &at);
	if (*at != '@')
		return -EINVAL;
	range_begin = memparse(at + 1, &at);
	if (*at || !range_bytes || !IS_ALIGNED(range_begin | range_bytes, PAGE_SIZE) ||
	    range_begin + range_bytes < range_begin)
		return -EINVAL;
	return 0;
}

/* Did the command line keep the range free? What is neither Linux's nor reserved is a device's. */
static bool is_reserved(void)
{
	if (region_intersects(range_begin, range_bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT)
		return false;
	return !IS_ENABLED(CONFIG_X86) ||
	       region_intersects(range_begin, range_bytes, IORESOURCE_MEM, IORES_DESC_RESERVED) ==
		       REGION_INTERSECTS;
}

/* Look once at what an earlier boot left, and tell. */
static void left_find(void)
{
	const char *why;

	state = LULL_RESERVED_FREE;
	memcpy(&left, note(), sizeof(left));
	if (left.magic != LULL_LEFT_MAGIC) {
		pr_info("lull: %llu bytes of reserved memory\n", range_bytes);
		return;
	}
	why = lull_left_check(&left, range_bytes, PAGE_SIZE);
	if (why) {
		pr_warn("lull: what was left in reserved memory cannot be read: %s\n", why);
		return;
	}
	state = LULL_RESERVED_LEFT;
	pr_info("lull: a session was left in reserved memory: see lull recover\n");
}

/*
 * A machine that is reset may lose what its caches have not written to memory. After a panic this
 * is the last that runs here, on one CPU, and a line is written back whichever CPU has it.
 */
static int panics(struct notifier_block *unused, unsigned long event, void *message)
{
#ifdef CONFIG_X86
	if (READ_ONCE(state) == LULL_RESERVED_USED) {
		clflush_cache_range(range, range_bytes);
		pr_emerg("lull: reserved memory was written back from the caches\n");
	}
#endif
	return NOTIFY_DONE;
}

static struct notifier_block at_panic = { .notifier_call = panics };

int __init lull_reserved_init(void)
{
	int error;

	if (!memory || !*memory)
		return 0;
	error = parameter_read();
	if (error || !is_reserved()) {
		pr_err("lull: memory=%s: no whole pages that memmap=SIZE$ADDRESS keeps free\n",
		       memory);
		return -EINVAL;
	}
	if (!request_mem_region(range_begin, range_bytes, "lull")) {
		pr_err("lull: memory=%s: a driver has a part of it\n", memory);
		return -EBUSY;
	}
	range = memremap(range_begin, range_bytes, MEMREMAP_WB);
	if (!range) {
		release_mem_region(range_begin, range_bytes);
		return -ENOMEM;
	}
	left_find();
	atomic_notifier_chain_register(&panic_notifier_list, &at_panic);
	return 0;
}

void lull_reserved_exit(void)
{
	if (!range)
		return;
	atomic_notifier_chain_unregister(&panic_notifier_list, &at_panic);
	memunmap(range);
	release_mem_region(range_begin, range_bytes);
}

void lull_reserved_answer(struct lull_kernel_reserved *answer)
{
	mutex_lock(&mutex);
	*answer = (struct lull_kernel_reserved){ .state = state, .reserved_bytes = range_bytes };
	if (state == LULL_RESERVED_LEFT) {
		answer->given_count = left.range.given_count;
		answer->memory_bytes = left.layout.memory_bytes;
		answer->begun_cycles = left.begun_cycles;
		answer->begun_ns = left.begun_ns;
	}
	mutex_unlock(&mutex);
}

/* Why the range cannot become a session's. Return: 0 where it can. */
static int refusal(const struct lull_session_control *layout, const struct lull_range *of)
{
	unsigned int cpu;

	if (state == LULL_RESERVED_NONE)
		return -ENXIO;
	if (state != LULL_RESERVED_FREE)
		return state == LULL_RESERVED_LEFT ? -ENOTEMPTY : -EADDRINUSE;
	for_each_online_cpu(cpu)
		if (!lull_range_ring(layout, of, cpu))
			return -ENOSPC;
	return 0;
}

unsigned char *lull_reserved_take(const struct lull_session_control *layout, struct lull_range *of)
{
	int error;

	mutex_lock(&mutex);
	of->bytes = range_bytes;
	error = refusal(layout, of);
	if (!error)
		state = LULL_RESERVED_USED;
	mutex_unlock(&mutex);
	return error ? ERR_PTR(error) : range;
}

void lull_reserved_keep(const struct lull_session_control *layout, const struct lull_range *of)
{
	struct lull_left_note made = {
		.magic = LULL_LEFT_MAGIC,
		.version = LULL_LEFT_VERSION,
		.bytes = sizeof(made),
		.range = *of,
		.begun_cycles = lull_clock_cycles(),
		.begun_ns = ktime_get_real_ns(),
		.layout = *layout,
	};

	made.hash = lull_left_hash(&made);
	memcpy((char *)note() + sizeof(made.magic), (char *)&made + sizeof(made.magic),
	       sizeof(made) - sizeof(made.magic));
	wmb(); /* the machine may be reset at any time: a note with its magic is whole */
	WRITE_ONCE(note()->magic, made.magic);
}

void lull_reserved_give_back(void)
{
	mutex_lock(&mutex);
	WRITE_ONCE(note()->magic, 0);
	state = LULL_RESERVED_FREE;
	mutex_unlock(&mutex);
}

unsigned long lull_reserved_frame(uint64_t offset)
{
	return PHYS_PFN(range_begin + offset);
}

const unsigned char *lull_reserved_open(struct lull_left_note *of)
{
	const unsigned char *result = range;

	mutex_lock(&mutex);
	*of = left;
	if (state != LULL_RESERVED_LEFT)
		result = ERR_PTR(state == LULL_RESERVED_USED ? -EADDRINUSE : -ENOENT);
	else if (!capable(CAP_SYS_ADMIN) &&
		 from_kuid_munged(&init_user_ns, current_euid()) != of->layout.user_id)
		result = ERR_PTR(-EPERM);
	else
		state = LULL_RESERVED_USED;
	mutex_unlock(&mutex);
	return result;
}

void lull_reserved_close(void)
{
	mutex_lock(&mutex);
	state = is_forgotten ? LULL_RESERVED_FREE : LULL_RESERVED_LEFT;
	is_forgotten = false;
	mutex_unlock(&mutex);
}

void lull_reserved_forget(void)
{
	mutex_lock(&mutex);
	WRITE_ONCE(note()->magic, 0);
	is_forgotten = true;
	mutex_unlock(&mutex);
}
