/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Context: what is known of the thread that an event interrupts, beside the event's own fields.
 *
 * Filters test it (filter.h), and sessions of the kernel's record it (kernel.h), which record
 * counters, too. The numbers stand in programs and calls: new ones come last. Design:
 * docs/design/70-filter.md.
 */
#ifndef LULL_ABI_CONTEXT_H
#define LULL_ABI_CONTEXT_H

enum lull_context {
	LULL_CONTEXT_PID, /* i32: the process */
	LULL_CONTEXT_TID, /* i32: the thread */
	LULL_CONTEXT_COMM, /* name: of the thread */
	LULL_CONTEXT_PRIO, /* i32: as the scheduler has it: below 100 for real time */
	LULL_CONTEXT_CPU, /* u32 */
	LULL_CONTEXT_UID, /* u32: effective, as the machine numbers users */
	LULL_CONTEXT_CGROUP, /* u64: identifier in the hierarchy of version 2 */
	LULL_CONTEXT_PID_NS, /* u32: a namespace's number, as in /proc/PID/ns, or 0 */
	LULL_CONTEXT_NET_NS, /* u32 */
	LULL_CONTEXT_MNT_NS, /* u32 */
	LULL_CONTEXT_UTS_NS, /* u32 */
	LULL_CONTEXT_IPC_NS, /* u32 */
	LULL_CONTEXT_CGROUP_NS, /* u32 */
	LULL_CONTEXT_USER_NS, /* u32 */
	LULL_CONTEXT_GID, /* u32: effective, as the machine numbers groups */
	LULL_CONTEXTS
};

/* The line of each in a description (site.h), by number. */
#define LULL_CONTEXT_LINES                                                                      \
	"i32 pid\n", "i32 tid\n", "name comm\n", "i32 prio\n", "u32 cpu\n", "u32 uid\n",        \
		"u64 cgroup\n", "u32 pid_ns\n", "u32 net_ns\n", "u32 mnt_ns\n", "u32 uts_ns\n", \
		"u32 ipc_ns\n", "u32 cgroup_ns\n", "u32 user_ns\n", "u32 gid\n"

/*
 * What has happened on the CPU of the event since the session was told to record it: the difference
 * between two events of one CPU happened between them. -1 where that is not known: on a CPU that
 * came later, and in NMIs for what the processor counts.
 */
enum lull_counter {
	LULL_COUNTER_CYCLES, /* i64, counted by the processor, as the next five */
	LULL_COUNTER_INSTRUCTIONS,
	LULL_COUNTER_CACHE_REFERENCES,
	LULL_COUNTER_CACHE_MISSES,
	LULL_COUNTER_BRANCHES,
	LULL_COUNTER_BRANCH_MISSES,
	LULL_COUNTER_PAGE_FAULTS, /* i64, counted by the kernel, as the rest */
	LULL_COUNTER_MAJOR_FAULTS,
	LULL_COUNTER_CONTEXT_SWITCHES,
	LULL_COUNTER_CPU_MIGRATIONS, /* of threads, to this CPU or from it */
	LULL_COUNTERS
};

/* The line of each in a description. */
#define LULL_COUNTER_LINES                                                                    \
	"i64 perf_cycles\n", "i64 perf_instructions\n", "i64 perf_cache_references\n",        \
		"i64 perf_cache_misses\n", "i64 perf_branches\n", "i64 perf_branch_misses\n", \
		"i64 perf_page_faults\n", "i64 perf_major_faults\n",                          \
		"i64 perf_context_switches\n", "i64 perf_cpu_migrations\n"

#endif
