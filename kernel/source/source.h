/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources: events of one session at any place that the kernel can watch (abi/kernel.h).
 *
 * source.c takes what a recorder asks for, and holds all of a session's; layout.c checks the
 * fields; place.c and tracepoint.c register with the kernel; hit.c is the probe, which copies by
 * the layout.
 */
#ifndef LULL_KERNEL_SOURCE_SOURCE_H
#define LULL_KERNEL_SOURCE_SOURCE_H

#include <linux/kprobes.h>
#include <linux/uprobes.h>
#include "lull/abi/kernel.h"
#include "lull/abi/site.h"

struct inode;
struct perf_event;
struct session;

/* One field, checked. */
struct source_field {
	struct lull_source_field asked;
	uint8_t bytes; /* 0: a string */
	bool is_truth; /* anything but 0 is 1 */
	bool is_signed;
};

struct source {
	struct lull_probe_record record; /* of its session alone */
	uint32_t bits; /* of the record's mask, while the session is enabled */
	struct lull_kernel_source asked;
	struct source_field fields[LULL_SOURCE_FIELDS_MAX];
	uint32_t numbers_bytes; /* of all fields but strings */
	uint32_t string_bytes; /* the most that one string has, with its NUL */
	char *target;
	union {
		struct {
			struct tracepoint *tracepoint; /* NULL while its module is not there */
			struct list_head node; /* of those at tracepoints of modules */
		} at;
		struct kprobe kprobe;
		struct kretprobe kretprobe;
		struct perf_event *__percpu *breakpoint;
		struct {
			struct uprobe_consumer consumer;
			struct inode *inode;
			struct uprobe *uprobe;
		} program;
	};
};

/* What there is when a source is hit. */
struct hit {
	const unsigned long *arguments; /* of a tracepoint; else NULL */
	struct pt_regs *regs; /* else NULL */
};

/*
 * lull_layout_check() - check fields against the lines of their description, and work out sizes.
 * @source: asked, and fields[].asked, are copies that nobody changes
 * @fields: the description's lines behind its place, NUL-terminated
 * Return: 0 or -EINVAL.
 */
int lull_layout_check(struct source *source, const char *fields);

/* lull_place_watch() - register with the kernel. May sleep. Return: 0, or its error. */
int lull_place_watch(struct source *source);

/*
 * lull_place_leave() - the reverse. May sleep. After lull_places_settle(), which waits for all that
 * were left, none of their probes runs.
 */
void lull_place_leave(struct source *source);
void lull_places_settle(void);

/* lull_tracepoint_watch(), _leave() - the same for tracepoints: also those of modules to come. */
int lull_tracepoint_watch(struct source *source);
void lull_tracepoint_leave(struct source *source);

/* lull_tracepoints_init(), _exit() - follow modules that come and go. Return: 0 or -errno. */
int lull_tracepoints_init(void);
void lull_tracepoints_exit(void);

/* lull_place_missed() - how many hits the kernel could not hand to the probe. */
uint64_t lull_place_missed(const struct source *source);

/* lull_source_hit() - record one. Context: any. */
void lull_source_hit(const struct source *source, const struct hit *hit);

/* What a session has of them. */
struct sources {
	struct source *source[LULL_SOURCES_MAX];
	uint32_t count;
	bool is_enabled;
};

/*
 * lull_source_add() - make a source from what a recorder gives.
 * @asked: private to the caller
 * Context: may sleep. Return: its number, or an error as in abi/kernel.h.
 */
long lull_source_add(struct session *session, const struct lull_kernel_source *asked);

/* lull_source_missed() - answer LULL_KERNEL_MISSED. Return: 0 or -EINVAL. */
int lull_source_missed(struct session *session, struct lull_kernel_missed *missed);

/* lull_sources_enable(), _disable() - by masks; the caller of the latter waits for probes. */
uint32_t lull_sources_enable(struct session *session);
void lull_sources_disable(struct session *session);

/* lull_sources_end() - the session ends: remove all. May sleep. */
void lull_sources_end(struct session *session);

#endif
