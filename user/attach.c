/* SPDX-License-Identifier: MIT */
/*
 * Attaching: the memory of the sessions that LULL_SESSION names.
 *
 * A session's memory comes from another process, and others may write to it at any time. So the
 * control block is read once, into private memory; the copy is checked against the size of the
 * segment, and only the copy is used. Patterns and filters are copied too (rules.c). A session that
 * fails the check is not used; the program runs on untraced. Paper: B 3.2, 3.4.
 *
 * A process's sessions come and go while its threads record. There is no grace period: a probe that
 * began before a session left writes to private zeros at the addresses that the session's memory
 * had, which are not used again, and neither is the array of its rings. A place among the sessions
 * is used again, so a probe takes nothing from its caller that tells of the session at a place; it
 * reads the place's line, and then what the record says of the place (probe.c).
 *
 * Barrier pairs:
 *	[session.magic:A]	the memory's content before magic	[session.attach:A]
 *	[session.attach:A]	magic before the memory's content	[session.magic:A]
 *	[session.line:A]	records without the old session, and	[session.line:B]
 *				the rest of the line, before rings
 *	[session.line:B]	rings before the rest of the line,	[session.line:A]
 *				and before the mask
 *	[session.rules:A]	the rules before their sequence		[session.rules:B]
 *	[session.rules:B]	the sequence before the rules		[session.rules:A]
 *	[session.rules:C]	the rules before the sequence again	[session.rules:A]
 */
#include <errno.h>
#include <linux/mman.h>
#include "context.h"
#include "liblull.h"
#include "lull_port.h"
#include "segment.h"
#include "syscall.h"

#define PAGE_BYTES 4096ull
#define STORE_BYTES 4096u
#define STORE_ALIGN 128u /* a struct lull_ring's */

/*
 * Private memory for what most sessions are: a mapping costs a process more than all that is
 * copied here. What does not fit gets a mapping of its own. What was taken is not given back.
 */
static struct {
	uint64_t used_bytes;
	unsigned char bytes[STORE_BYTES] __attribute__((aligned(STORE_ALIGN)));
} store AT_START_LAST;

void *lull_private_memory(uint64_t bytes)
{
	uint64_t rounded = (bytes + STORE_ALIGN - 1) & ~(uint64_t)(STORE_ALIGN - 1), at;
	long base;

	if (rounded <= STORE_BYTES) {
		at = lull_add_relaxed(&store.used_bytes, rounded) - rounded;
		if (at <= STORE_BYTES - rounded)
			return store.bytes + at;
	}
	base = lull_syscall(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return base < 0 && base > -4096 ? NULL : (void *)base;
}

void lull_private_release(const void *memory, uint64_t bytes)
{
	if ((uintptr_t)memory - (uintptr_t)store.bytes >= STORE_BYTES)
		lull_syscall(__NR_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
}

const char *lull_text_keep(const char *text)
{
	size_t bytes = __builtin_strlen(text) + 1;
	char *kept = lull_private_memory(bytes);

	if (kept)
		__builtin_memcpy(kept, text, bytes);
	return kept;
}

/* Does [offset, offset + bytes) lie in a segment of @size? */
static int inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* Does it have as many rings as the process's other sessions? A probe may mix two up (probe.c). */
static int rings_fit(const struct lull_session_control *control)
{
	return !lull_process.cpu_count || (control->cpu_count == lull_process.cpu_count &&
					   control->plain_count == lull_process.plain_count);
}

/* Of what became of each event's filter. */
static uint32_t states_bytes(const struct lull_session_control *control)
{
	return control->event_capacity * (uint32_t)sizeof(uint32_t);
}

static uint32_t budget_rows(const struct lull_session_control *control)
{
	uint32_t rows = 1;

	while (rows < control->cpu_count && rows < LULL_BUDGET_ROWS_MAX)
		rows *= 2;
	return rows;
}

static int control_valid(const struct lull_session_control *control, uint64_t control_bytes)
{
	return control->version == LULL_SESSION_VERSION && control->cpu_count > 0 &&
	       control->cpu_count <= LULL_CPU_COUNT_MAX && control->plain_count > 0 &&
	       control->plain_count <= LULL_CPU_COUNT_MAX &&
	       control->event_capacity <= LULL_EVENT_CAPACITY_MAX && control->patterns_bytes > 0 &&
	       control->own_offset_bytes % 4 == 0 && control->filters_offset_bytes % 8 == 0 &&
	       inside(control->own_offset_bytes, sizeof(struct lull_own_events), control_bytes) &&
	       inside(control->patterns_offset_bytes, 2ull * control->patterns_bytes,
		      control_bytes) &&
	       control->filters_bytes % 8 == 0 &&
	       inside(control->filters_offset_bytes,
		      states_bytes(control) + 2ull * control->filters_bytes, control_bytes) &&
	       inside(control->events_offset_bytes,
		      control->event_capacity * sizeof(struct lull_event_entry), control_bytes) &&
	       inside(control->arena_offset_bytes, control->arena_bytes, control_bytes) &&
	       control->events_offset_bytes % 8 == 0 && control->budget_offset_bytes % 64 == 0 &&
	       (!control->budget_offset_bytes ||
		inside(control->budget_offset_bytes,
		       (1 + budget_rows(control)) * states_bytes(control), control_bytes)) &&
	       !(control->contexts & ~LULL_SESSION_CONTEXTS) &&
	       control->user_frames <= LULL_SESSION_FRAMES_MAX &&
	       control->copy_bytes <= LULL_SESSION_COPY_BYTES_MAX && control->copy_bytes % 8 == 0;
}

/* Return: the copy of a control block, or 0 when its recorder has not finished it. */
static int control_copy(struct lull_session_control *copy, const struct lull_mapping *map)
{
	const struct lull_session_control *control = (const void *)map->base;

	/*
	 * [session.attach:A] acquire. Pairs with [session.magic:A].
	 * Orders: the load of magic before those of the rest of the control block, of the patterns
	 * and of the event table.
	 * Else: a process that comes early finds a session that is not filled in yet.
	 * Mutant: MAGIC_READ_RELAXED.
	 */
	if (map->bytes < sizeof(*control) ||
	    lull_load_acquire(&control->magic) != LULL_SESSION_MAGIC)
		return 0;
	lull_fetch(copy, control, sizeof(*copy));
	return 1;
}

/* The tables of a session that counts. */
static int counts_attach(struct session *session, const struct lull_session_control *control,
			 const struct lull_mapping *map)
{
	struct lull_counts *counts;

	if (!control->count_pages)
		return 0;
	counts = lull_private_memory(sizeof(*counts));
	if (!counts || lull_count_plan_read(counts, control, map))
		return -1;
	session->counts = counts;
	return 0;
}

static void budget_find(struct session *session, const struct lull_session_control *control,
			const struct lull_mapping *map)
{
	uint32_t *throttles = (uint32_t *)(map->base + control->budget_offset_bytes);

	if (!control->budget_offset_bytes)
		return;
	session->budget.throttles = throttles;
	session->budget.counts = throttles + control->event_capacity;
	session->budget.row_mask = budget_rows(control) - 1;
}

static int rings_valid(const struct lull_session_control *control,
		       const struct lull_ring_geometry *geometry, uint64_t bytes)
{
	uint64_t ring_count = control->cpu_count + control->plain_count;
	uint64_t stride = control->ring_stride_bytes, data = control->data_stride_bytes;

	/* Both strides are at most the size of the segment divided by the rings: no overflow. */
	return !lull_ring_check(geometry) && stride % 64 == 0 && data % 64 == 0 &&
	       control->rings_offset_bytes % 64 == 0 && control->data_offset_bytes % 64 == 0 &&
	       stride <= bytes / ring_count && data <= bytes / ring_count &&
	       stride >= lull_ring_control_bytes(geometry) &&
	       data >= geometry->subbuf_size_bytes * geometry->physical_count &&
	       inside(control->rings_offset_bytes, stride * ring_count, bytes) &&
	       inside(control->data_offset_bytes, data * ring_count, bytes);
}

/* Of the private views of all rings, and in front of them what goes in front of events' fields. */
static uint64_t rings_bytes(const struct lull_session_control *control)
{
	return sizeof(struct context_plan) +
	       (control->cpu_count + control->plain_count) * sizeof(struct lull_ring);
}

static int rings_attach(struct session *session, const struct lull_session_control *control,
			const struct lull_mapping *map)
{
	uint32_t ring_count = control->cpu_count + control->plain_count;
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = control->subbuf_size_bytes,
		.subbuf_count = control->subbuf_count,
		.physical_count = control->physical_count,
		.mode = control->mode,
	};
	unsigned char *rings = map->base + control->rings_offset_bytes;
	unsigned char *data = map->base + control->data_offset_bytes;
	struct context_plan *context;

	if (!rings_valid(control, &geometry, map->bytes))
		return -1;
	context = lull_private_memory(rings_bytes(control));
	if (!context)
		return -1;
	context->contexts = control->contexts;
	context->user_frames = control->user_frames;
	context->copy_bytes = control->copy_bytes;
	session->rings = (struct lull_ring *)(context + 1);
	__builtin_memcpy(geometry.uuid, control->uuid, sizeof(geometry.uuid));
	for (uint32_t i = 0; i < ring_count; i++) {
		struct lull_ring_memory memory = { data + i * control->data_stride_bytes, NULL };

		geometry.plain = i >= control->cpu_count;
		geometry.cpu_id = i;
		lull_ring_attach(&session->rings[i], &geometry,
				 rings + i * control->ring_stride_bytes, memory);
		session->rings[i].active = &((struct lull_session_control *)map->base)->active;
	}
	return 0;
}

int lull_session_attach(struct session *session, const struct lull_directory *directory,
			uint32_t user)
{
	struct lull_mapping map = { 0 };
	struct lull_session_control *shared, control;
	int result;

	/* What is read later stays 0. */
	__builtin_memset(session, 0, sizeof(*session));
	result = lull_memory_attach(directory, user, &map);
	if (result)
		return result;
	result = -EAGAIN;
	shared = (struct lull_session_control *)map.base;
	if (!control_copy(&control, &map))
		goto leave;
	result = -EINVAL;
	if (!control_valid(&control, map.bytes) || !rings_fit(&control) ||
	    rings_attach(session, &control, &map) || counts_attach(session, &control, &map))
		goto refuse;
	budget_find(session, &control, &map);
	session->control = shared;
	session->own = (struct lull_own_events *)(map.base + control.own_offset_bytes);
	session->events = (struct lull_event_entry *)(map.base + control.events_offset_bytes);
	session->arena = (char *)map.base + control.arena_offset_bytes;
	session->filter_states = (uint32_t *)(map.base + control.filters_offset_bytes);
	session->cpu_count = control.cpu_count;
	session->plain_count = control.plain_count;
	session->event_capacity = control.event_capacity;
	session->arena_bytes = control.arena_bytes;
	session->map = map;
	session->fixed = control;
	session->directory = *directory;
	if (lull_load32(&shared->ended) || lull_session_rules_copy(session) ||
	    lull_clock_start(control.clock_kind))
		goto refuse;
	return 0;
refuse:
	lull_add32_relaxed(&shared->refused_count, 1);
leave:
	lull_memory_detach(&map);
	return result;
}

void lull_session_detach(struct session *session)
{
	lull_private_release(lull_context_of(session->rings), rings_bytes(&session->fixed));
	lull_session_rules_release(session);
	if (session->counts)
		lull_private_release(session->counts, sizeof(*session->counts));
	lull_memory_detach(&session->map);
}

/*
 * A directory that is removed is found by its path only, and one that is named in two ways by its
 * memory.
 */
int lull_session_find(const struct lull_directory *directory)
{
	EACH_SESSION(i) {
		const struct session *session = &lull_process.sessions[i];
		const struct lull_directory *known = &session->directory;

		if ((known->bytes == directory->bytes &&
		     !__builtin_memcmp(known->path, directory->path, known->bytes)) ||
		    lull_memory_is(directory, lull_process.user, session->map.id))
			return (int)i;
	}
	return -ENOENT;
}

uint32_t lull_session_add(const struct session *session)
{
	uint32_t free = ~(lull_process.attached | lull_process.spent) & LULL_MASK_SESSIONS;
	uint32_t index = free ? (uint32_t)__builtin_ctz(free) : LULL_SESSIONS_MAX;

	if (index == LULL_SESSIONS_MAX)
		return index;
	lull_process.cpu_count = session->cpu_count;
	lull_process.plain_count = session->plain_count;
	lull_process.sessions[index] = *session;
	lull_store32(&lull_process.successors[index], 0);
	lull_store_pointer(&lull_process.controls[index], session->control);
	lull_add32_relaxed(&session->control->process_count, 1);
	lull_probe_line_set(index);
	lull_store32(&lull_process.attached, lull_process.attached | 1u << index);
	return index;
}

int lull_session_forget(uint32_t index)
{
	struct session *session = &lull_process.sessions[index];
	uint64_t bytes = (session->map.bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	long base;

	lull_store32(&lull_process.attached, lull_process.attached & ~(1u << index));
	lull_probe_reserve_choose(lull_process.attached);
	base = lull_syscall(__NR_mmap, (long)session->map.base, (long)bytes, PROT_READ | PROT_WRITE,
			    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return base == (long)session->map.base ? 0 : -ENOMEM;
}

/*
 * Fill in memory that was just made for @user like that of the user of @session, but without any
 * event yet. No other process has seen the memory.
 */
static int memory_fill(const struct lull_mapping *map, const struct session *session, uint32_t user)
{
	struct lull_session_control *shared = (struct lull_session_control *)map->base;
	struct lull_session_control control = session->fixed;
	uint64_t active = lull_load(&session->control->active);
	struct session made = { 0 };

	uint32_t sequence = session->rules_sequence;

	__builtin_memset(&control.arena_used_bytes, 0,
			 sizeof(control) - offsetof(struct lull_session_control, arena_used_bytes));
	control.user_id = user;
	control.contexts = session->fixed.contexts;
	control.user_frames = session->fixed.user_frames;
	control.copy_bytes = session->fixed.copy_bytes;
	if (rings_attach(&made, &control, map))
		return -1;
	control.active = active;
	control.rules_sequence = sequence;
	control.patterns_used_bytes[sequence & 1] = session->patterns_bytes;
	control.filters_used_bytes[sequence & 1] = session->filters_bytes;
	for (uint32_t i = 0; i < control.cpu_count + control.plain_count; i++)
		lull_ring_reset(&made.rings[i], 0);
	lull_private_release(lull_context_of(made.rings), rings_bytes(&control));
	__builtin_memcpy(map->base + control.patterns_offset_bytes +
				 (sequence & 1) * control.patterns_bytes,
			 session->patterns, session->patterns_bytes);
	if (session->filters)
		__builtin_memcpy(map->base + control.filters_offset_bytes + states_bytes(&control) +
					 (sequence & 1) * control.filters_bytes,
				 session->filters, session->filters_bytes);
	if (session->counts)
		__builtin_memcpy(map->base + (session->counts->tables - session->map.base) -
					 LULL_COUNT_PLAN_BYTES,
				 &session->counts->plan, sizeof(session->counts->plan));
	control.magic = 0;
	__builtin_memcpy(shared, &control, sizeof(control));
	/*
	 * [session.magic:A] release. Pairs with [session.attach:A].
	 * Orders: the stores to the rest of the memory before that of magic, by which processes
	 * tell that the memory is a session's. The recorder does the same in tools/session,
	 * Memory::fill_in().
	 * Else: a process sees magic, and a session that is not filled in yet.
	 * Mutants: MAGIC_EARLY, MAGIC_RELAXED.
	 */
	lull_store_release(&shared->magic, LULL_SESSION_MAGIC);
	return 0;
}

int lull_session_make(const struct session *session, uint32_t user)
{
	struct lull_making making;
	int result;

	if (lull_memory_make(&session->directory, user, session->map.bytes, &making))
		return -1;
	result = memory_fill(&making.map, session, user);
	if (!result)
		result = lull_memory_give(&session->directory, user, &making);
	if (result)
		lull_memory_remove(&making);
	return result;
}

static void directory_attach(const struct lull_directory *directory)
{
	struct session session;

	/* A member that starts a program in its session names that twice, and records once. */
	if (!directory->bytes || lull_session_find(directory) >= 0 ||
	    lull_session_attach(&session, directory, lull_process.user) ||
	    lull_session_add(&session) != LULL_SESSIONS_MAX)
		return;
	lull_add32_relaxed(&session.control->refused_count, 1);
	lull_session_detach(&session);
}

void lull_attach(const char *variable)
{
	const char *sessions = lull_text_keep(variable);

	/* Bound: the text, which gets shorter. */
	while (sessions && *sessions) {
		const char *end = sessions;

		while (*end && *end != ':')
			end++;
		directory_attach(&(struct lull_directory){ sessions, (size_t)(end - sessions) });
		sessions = *end ? end + 1 : end;
	}
}
