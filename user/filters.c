/* SPDX-License-Identifier: MIT */
/*
 * Filters of this process's events: unlinked programs of sessions, linked when an object brings an
 * event, and run by its probes before they reserve.
 *
 * The unlinked programs come from memory that others can write to: attach.c copies them, they are
 * checked here once, and what is linked from them is checked again, for it is what probes run. An
 * event whose filter cannot be had is recorded unfiltered, and the session is told which event that
 * is and why. Nothing that was linked is freed: a probe may be running it. What is linked again, as
 * it is when a session's rules have changed, and comes to the same bytes, is the same program.
 * Design: docs/design/70-filter.md. Paper: T 4.5 (filters with the control information).
 *
 * A record of a probe that asks for filters says where its set is (struct lull_probe_record). The
 * set and its programs are written before [site.enable:A] sets the bit of the mask by which a
 * probe comes here. A program of a set can be replaced while probes run: a probe that began before
 * takes the old one or the new one. Which contexts it needs and what is counted stands with it.
 *
 * Barrier pairs:
 *	[filter.replace:A]	a program before a set names it		[filter.run:A]
 *	[filter.run:A]		a set's program before its tests	[filter.replace:A]
 */
#include <linux/mman.h>
#include "liblull.h"
#include "filter/run.h"
#include "lull_port.h"
#include "sampling.h"
#include "syscall.h"

/* For all sets and programs of a process: some 20,000 probes of small filters. */
#define ROOM_BYTES (4u << 20)
#define ROOM_ALIGN 8u
#define BUCKETS 512u
#define CONTEXT(name) (1u << LULL_CONTEXT_##name)
/* Those that take no system call. */
#define CONTEXTS (CONTEXT(PID) | CONTEXT(TID) | CONTEXT(COMM) | CONTEXT(CPU) | CONTEXT(UID))

/* Of a linked one's contexts: its session counts the event; it is sampled. */
#define COUNTS (1u << 31)
/* The program has arithmetic: what it returns is more than whether it is met. */
#define COMPUTES (1u << 30)
#define SAMPLES (1u << 29)
/* The program is not short: filter_run_short() does not know all of its tests. */
#define LONG (1u << 28)

/* What a session asks of an event, and of all other events of which it asks the same. */
struct linked {
	uint32_t next; /* of its bucket: a place in the room, in units of ROOM_ALIGN; 0: none */
	uint32_t *told; /* what became of the event's filter; NULL: it computes nothing */
	const struct lull_counts *counts; /* NULL: nothing is counted */
	struct lull_counting counting; /* 0 where nothing is counted */
	struct sampling sampling; /* 0 where it is not sampled */
	uint32_t event; /* 0 where neither counts nor a budget is its session's */
	uint32_t contexts; /* that it reads, COUNTS, COMPUTES, SAMPLES, LONG; 0: the shortest way */
	struct lull_filter program; /* bytes 0: every occurrence is meant */
};

/* The filters of one probe: struct linked. */
struct filter_set {
	void *of_session[LULL_SESSIONS_MAX];
};

/* Written by one scan or change at a time. */
static struct {
	unsigned char *base; /* NULL until a filter is linked */
	uint32_t used_bytes;
	uint32_t buckets[BUCKETS]; /* the first program of each; 0: none */
} room;

/* The next filter of a session's. Return: its size with its head; 0 where it is not all there. */
static uint32_t filter_bytes(const unsigned char *filters, uint32_t left)
{
	const struct lull_session_filter *filter = (const void *)filters;

	if (left < sizeof(*filter) || filter->bytes > LULL_UNLINKED_BYTES_MAX || !filter->sample ||
	    filter->sample > LULL_SAMPLE_MAX || LULL_SESSION_FILTER_BYTES(filter->bytes) > left)
		return 0;
	return LULL_SESSION_FILTER_BYTES(filter->bytes);
}

int lull_filters_check(const unsigned char *filters, uint32_t bytes)
{
	/* Bound: a filter has at least its head. */
	while (bytes) {
		const struct lull_session_filter *filter = (const void *)filters;
		uint32_t taken = filter_bytes(filters, bytes);

		if (!taken || (filter->bytes &&
			       lull_unlinked_check((const void *)(filter + 1), filter->bytes)))
			return 0;
		filters += taken;
		bytes -= taken;
	}
	return 1;
}

/* NULL also where they are damaged, and have no ends to go by. */
const struct lull_session_filter *lull_filter_find(const struct session *session, int rule)
{
	const unsigned char *filters = session->filters;
	uint32_t left = session->filters_damaged ? 0 : session->filters_bytes;

	/* Bound: each was found to have at least its head. */
	while (left) {
		const struct lull_session_filter *filter = (const void *)filters;
		uint32_t taken = filter_bytes(filters, left);

		if (rule >= 0 && filter->rule == (uint32_t)rule)
			return filter;
		filters += taken;
		left -= taken;
	}
	return NULL;
}

/* Tell a session what became of the filter of an event. */
static void tell_at(uint32_t *word, uint32_t state)
{
	uint32_t told, found = lull_load32(word);

	/* Bound: each round follows another process's success. */
	do {
		told = found;
		if ((told & state) == state)
			return;
		found = lull_cas32_relaxed(word, told, told | state);
	} while (found != told);
}

static void tell(const struct session *session, uint32_t id, uint32_t state)
{
	tell_at(&session->filter_states[id], state);
}

/* Room for @bytes at the end of what is used, which is not taken yet; or NULL. */
static void *room_find(uint32_t bytes)
{
	long base;

	if (!room.base) {
		base = lull_syscall(__NR_mmap, 0, ROOM_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base < 0 && base > -4096)
			return NULL;
		room.base = (unsigned char *)base;
		room.used_bytes = ROOM_ALIGN; /* a set is nowhere at 0 */
	}
	return bytes <= ROOM_BYTES - room.used_bytes ? room.base + room.used_bytes : NULL;
}

static void room_take(uint32_t bytes)
{
	room.used_bytes += (bytes + ROOM_ALIGN - 1) & ~(ROOM_ALIGN - 1);
}

static struct filter_set *set_of(const struct lull_probe_record *record)
{
	return (void *)(room.base + (uint64_t)(record->filter & ~LULL_RECORD_ASKS) * ROOM_ALIGN);
}

/* The set of a record, made where there is none. Return: NULL where there is no room. */
static struct filter_set *set_get(struct lull_probe_record *record)
{
	struct filter_set *set;

	if (record->filter != LULL_RECORD_ASKS)
		return set_of(record);
	set = room_find(sizeof(*set));
	if (!set)
		return NULL;
	/* A program that was linked and not taken may have been here. */
	*set = (struct filter_set){ 0 };
	record->filter |= room.used_bytes / ROOM_ALIGN;
	room_take(sizeof(*set));
	return set;
}

static struct linked *linked_at(uint32_t place)
{
	return (void *)(room.base + (uint64_t)place * ROOM_ALIGN);
}

#define COMPARED offsetof(struct linked, told)

/* What is compared and copied: all behind the place in the bucket. */
static unsigned char *linked_compared(struct linked *linked)
{
	return (unsigned char *)linked + COMPARED;
}

/* How long that is. */
static uint32_t linked_bytes(const struct linked *linked)
{
	return (uint32_t)offsetof(struct linked, program) +
	       (linked->program.bytes ? linked->program.bytes : (uint32_t)sizeof(linked->program)) -
	       (uint32_t)COMPARED;
}

/* FNV-1a. */
static uint32_t bucket_of(struct linked *linked)
{
	const unsigned char *bytes = linked_compared(linked);
	uint32_t hash = 0x811c9dc5;

	for (uint32_t i = 0; i < linked_bytes(linked); i++)
		hash = (hash ^ bytes[i]) * 0x01000193;
	return (hash ^ hash >> 16) % BUCKETS;
}

/* Begin what a probe is asked, at the end of the room. Return: NULL where there is no room. */
static struct linked *linked_begin(struct lull_probe_record *record)
{
	uint32_t bytes = (uint32_t)offsetof(struct linked, program) + LULL_FILTER_BYTES_MAX;
	struct linked *made = set_get(record) ? room_find(bytes) : NULL;

	/* Something that was begun and not kept may have been here. */
	if (made)
		__builtin_memset(made, 0, sizeof(*made));
	return made;
}

static int computes(const struct lull_filter *program)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);

	for (uint32_t i = 0; program->bytes && i < program->test_count; i++)
		if (tests[i].kind >= LULL_FILTER_ADD)
			return 1;
	return 0;
}

/* Whom a probe tells that there was no number for what is computed. */
static void linked_tells(struct linked *made, const struct session *session, uint32_t id)
{
	if (!computes(&made->program))
		return;
	made->contexts |= COMPUTES;
	made->told = &session->filter_states[id];
}

/* What was begun, if it is new, else the same elsewhere. */
static struct linked *linked_keep(struct linked *made)
{
	uint32_t *bucket, bytes, place;

	if (made->program.bytes) {
		made->contexts |= lull_filter_contexts(&made->program);
		if (!lull_filter_is_short(&made->program))
			made->contexts |= LONG;
	}
	bucket = &room.buckets[bucket_of(made)];
	bytes = linked_bytes(made);
	/* Bound: what the room has. */
	for (place = *bucket; place; place = linked_at(place)->next)
		if (linked_bytes(linked_at(place)) == bytes &&
		    !__builtin_memcmp(linked_compared(linked_at(place)), linked_compared(made),
				      bytes))
			return linked_at(place);
	made->next = *bucket;
	place = room.used_bytes / ROOM_ALIGN;
	/* The room first: a child that is forked here by another thread has what is in a bucket. */
	room_take((uint32_t)COMPARED + bytes);
	lull_store32(bucket, place);
	return made;
}

static void set_program(struct filter_set *set, uint32_t index, struct linked *linked)
{
	/*
	 * [filter.replace:A] release. Pairs with [filter.run:A].
	 * Orders: the stores of the program before that of its address, where the set already has
	 * one that probes run.
	 * Else: a probe runs bytes that are not a program. Mutant: PROGRAM_RELAXED.
	 */
	lull_store_pointer_release(&set->of_session[index], linked);
}

static const struct linked *set_find(const struct filter_set *set, uint32_t index)
{
	/*
	 * [filter.run:A] acquire. Pairs with [filter.replace:A].
	 * Orders: the load of a program's address before those of the program.
	 * Else: this probe runs what was in memory before. Mutant: PROGRAM_READ_RELAXED.
	 */
	return lull_load_pointer_acquire(&set->of_session[index]);
}

/* Nothing is left of a program that cannot be run. */
static uint32_t program_drop(struct linked *made, uint32_t state)
{
	made->program = (struct lull_filter){ 0 };
	return state;
}

/*
 * Link a filter for an event.
 * @is_never: gets whether it is for no occurrence.
 * Return: enum lull_filter_state.
 */
static uint32_t program_link(struct linked *made, const struct lull_unlinked *unlinked,
			     const struct lull_note *note, int *is_never)
{
	uint8_t inputs[LULL_FILTER_FIELDS_MAX];
	struct lull_filter_found found;
	enum lull_filter_linked result =
		lull_filter_link(unlinked, note->description, CONTEXTS, &made->program, &found);

	*is_never = result == LULL_FILTER_NEVER;
	if (result == LULL_FILTER_ALWAYS || result == LULL_FILTER_NEVER)
		made->program = (struct lull_filter){ 0 };
	else if (result != LULL_FILTER_PROGRAM)
		return program_drop(made, LULL_FILTER_STATE_UNFIT);
	else if (lull_filter_check(&made->program, made->program.bytes, inputs,
				   lull_filter_fields(note->description, inputs)))
		return program_drop(made, LULL_FILTER_STATE_DAMAGED);
	return LULL_FILTER_STATE_DECIDES;
}

/* The verdict rests on the lives of processes, and analyses on where objects are. */
static int is_exempt(const struct lull_probe_record *record, const struct lull_note *note)
{
	static const char group[] = "process:";

	return lull_own_has(record) && note->name_bytes >= sizeof(group) - 1 &&
	       !__builtin_memcmp(note->name, group, sizeof(group) - 1);
}

/*
 * For a session that counts: what its filter takes is counted. Where it cannot be, the session is
 * told why. Events of earlier rules than those that were asked for are recorded.
 */
static uint32_t counting_enable(struct lull_probe_record *record, uint32_t index, int rule,
				const struct lull_note *note)
{
	const struct session *session = &lull_process.sessions[index];
	const struct lull_count_plan *plan = &session->counts->plan;
	const struct lull_session_filter *filter = NULL;
	uint32_t bits = LULL_MASK_SESSION(index), state = 0;
	int is_recorded = is_exempt(record, note), is_never = 0;
	struct linked *made = NULL;

	if (rule < 0 || (uint32_t)rule < plan->first_rule)
		return bits;
	if (!is_recorded)
		filter = lull_filter_find(session, rule);
	if (session->filters_damaged)
		state = LULL_FILTER_STATE_DAMAGED;
	else if (!(record->filter & LULL_RECORD_ASKS))
		state = LULL_FILTER_STATE_OLD;
	else if (!(made = linked_begin(record)))
		state = LULL_FILTER_STATE_FULL;
	else if (filter && filter->bytes)
		state = program_link(made, (const void *)(filter + 1), note, &is_never);
	if (state)
		tell(session, record->id[index], state);
	if (state & ~(uint32_t)LULL_FILTER_STATE_DECIDES)
		return is_recorded ? bits : 0;
	if (is_never)
		return 0;
	made->counting.is_recorded = (uint8_t)is_recorded;
	made->contexts =
		COUNTS | lull_count_plan_link(plan, note->description, CONTEXTS, &made->counting);
	made->event = record->id[index];
	made->counts = session->counts;
	linked_tells(made, session, record->id[index]);
	set_program(set_of(record), index, linked_keep(made));
	return bits | LULL_MASK_FILTER(index);
}

/*
 * Of what meets the filter, so much is recorded. Throttles change for each event by itself, and so
 * each draws for itself where there are any. Return: enum lull_filter_state.
 */
static uint32_t sampling_link(struct linked *made, const struct session *session, uint32_t event,
			      const struct lull_session_filter *filter,
			      const struct lull_note *note)
{
	uint32_t sample = filter ? filter->sample : 1;

	if (sample == 1 && !session->budget.throttles)
		return 0;
	lull_sampling_set(&made->sampling, sample);
	made->contexts |= SAMPLES;
	if (session->budget.throttles) {
		lull_sampling_budget(&made->sampling, session, event);
		made->event = event;
	} else if (!filter->bytes) {
		made->sampling.end = lull_pair_find(session, note, sample);
	}
	if (made->sampling.end.pair)
		return LULL_FILTER_STATE_PAIRS;
	return sample == 1 ? 0 : LULL_FILTER_STATE_SAMPLES;
}

uint32_t lull_filter_enable(struct lull_probe_record *record, uint32_t index, int rule,
			    const struct lull_note *note)
{
	const struct session *session = &lull_process.sessions[index];
	const struct lull_session_filter *filter = NULL;
	uint32_t bits = LULL_MASK_SESSION(index), state = 0;
	struct linked *made = NULL;
	int is_never = 0;

	if (session->counts)
		return counting_enable(record, index, rule, note);
	if (is_exempt(record, note))
		return bits;
	if (session->filters_bytes && session->filters_damaged)
		state = LULL_FILTER_STATE_DAMAGED;
	else
		filter = lull_filter_find(session, rule);
	if (!state && !filter && !session->budget.throttles)
		return bits;
	if (!(record->filter & LULL_RECORD_ASKS))
		state |= LULL_FILTER_STATE_OLD;
	else if (!(made = linked_begin(record)))
		state |= LULL_FILTER_STATE_FULL;
	if (made && filter && filter->bytes)
		state |= program_link(made, (const void *)(filter + 1), note, &is_never);
	if (made && !is_never)
		state |= sampling_link(made, session, record->id[index], filter, note);
	if (state)
		tell(session, record->id[index], state);
	if (is_never)
		return 0;
	if (!made || (!made->program.bytes && !(made->contexts & SAMPLES)))
		return bits;
	linked_tells(made, session, record->id[index]);
	set_program(set_of(record), index, linked_keep(made));
	return bits | LULL_MASK_FILTER(index);
}

/* The same for the session at another place, whose tables and identifiers are others. */
static struct linked *linked_move(struct lull_probe_record *record, struct linked *linked,
				  uint32_t to)
{
	const struct session *session = &lull_process.sessions[to];
	struct linked *made;

	if (!linked->counts && !linked->told && !linked->sampling.throttle)
		return linked;
	made = !linked->counts || session->counts ? linked_begin(record) : NULL;
	if (!made && !linked->counts && !linked->sampling.throttle)
		return linked;
	if (!made) {
		tell(session, record->id[to], LULL_FILTER_STATE_FULL);
		return NULL;
	}
	__builtin_memcpy(linked_compared(made), linked_compared(linked), linked_bytes(linked));
	made->counts = linked->counts ? session->counts : NULL;
	made->event = linked->event ? record->id[to] : 0;
	linked_tells(made, session, record->id[to]);
	if (linked->contexts & SAMPLES)
		lull_sampling_budget(&made->sampling, session, made->event);
	return linked_keep(made);
}

uint32_t lull_filter_move(struct lull_probe_record *record, uint32_t from, uint32_t to)
{
	struct filter_set *set;
	struct linked *linked;

	if (!(record->enabled_mask & LULL_MASK_FILTER(from)))
		return LULL_MASK_SESSION(to);
	set = set_of(record);
	linked = linked_move(record, set->of_session[from], to);
	if (!linked)
		return lull_process.sessions[to].counts ? 0 : LULL_MASK_SESSION(to);
	set_program(set, to, linked);
	return LULL_MASK_SESSION(to) | LULL_MASK_FILTER(to);
}

/* What this thread knows of itself; a vfork child has its parent's name and user. */
__attribute__((noinline)) void lull_contexts_read(struct lull_filter_value *values, uint32_t wanted)
{
	uint64_t state = lull_load(&lull_fork_page.state);
	struct thread *thread = &lull_thread;
	struct lull_ring_writer vfork_child;
	const struct lull_ring_writer *writer = &thread->writer;
	uint64_t name_bytes = 0;

	if (!(thread->state & THREAD_SILENT) &&
	    (!state || (uint32_t)thread->state != (uint32_t)state))
		lull_thread_refresh();
	if (wanted & CONTEXT(COMM))
		while (name_bytes < sizeof(writer->name) - 1 && writer->name[name_bytes])
			name_bytes++;
	values[LULL_CONTEXT_COMM] = (struct lull_filter_value){ name_bytes, writer->name };
	if (thread->state & THREAD_IN_VFORK) {
		vfork_child = thread->writer;
		lull_vfork_writer(&vfork_child);
		writer = &vfork_child;
	}
	values[LULL_CONTEXT_PID].number = writer->pid;
	values[LULL_CONTEXT_TID].number = writer->tid & LULL_TID_MASK;
	values[LULL_CONTEXT_UID].number = lull_process.effective_user;
	if (wanted & CONTEXT(CPU))
		values[LULL_CONTEXT_CPU].number = lull_cpu();
}

/*
 * Whether an occurrence meets a filter. Where it has no number for what is computed, the session is
 * told, once: the one that the filter was linked for, whichever is at its place by now.
 */
static int is_met(const struct linked *linked, const struct lull_filter_value *fields,
		  const struct lull_filter_value *contexts)
{
	int result = lull_filter_run(&linked->program, fields, contexts);

	if (__builtin_expect(result & LULL_FILTER_UNDECIDED, 0) && linked->told)
		tell_at(linked->told, LULL_FILTER_STATE_UNDECIDED);
	return result & 1;
}

/* With contexts or arithmetic, in several sessions, or in one that counts. */
static __attribute__((noinline)) uint32_t ask_all(const struct filter_set *set, uint32_t mask,
						  const struct lull_filter_value *fields)
{
	uint32_t asked = (mask & LULL_MASK_FILTERED) >> LULL_SESSIONS_MAX, left;
	struct lull_filter_value contexts[LULL_CONTEXTS];
	const struct linked *of_session[LULL_SESSIONS_MAX];
	uint32_t wanted = 0;

	mask &= LULL_MASK_SESSIONS;
	/* Bound, here and below: LULL_SESSIONS_MAX bits. */
	for (left = asked; left; left &= left - 1) {
		uint32_t session = (uint32_t)__builtin_ctz(left);

		of_session[session] = set_find(set, session);
		wanted |= of_session[session]->contexts;
	}
	if (wanted & CONTEXTS)
		lull_contexts_read(contexts, wanted);
	for (left = asked; left; left &= left - 1) {
		uint32_t session = (uint32_t)__builtin_ctz(left);
		const struct process_line *line = &lull_process.lines[session];
		const struct linked *linked = of_session[session];

		if (linked->program.bytes && !is_met(linked, fields, contexts)) {
			mask &= ~LULL_MASK_SESSION(session);
			continue;
		}
		if (linked->contexts & SAMPLES && !sampling_draw(&linked->sampling)) {
			mask &= ~LULL_MASK_SESSION(session);
			continue;
		}
		if (!linked->counts)
			continue;
		if (lull_load(line->active))
			lull_count_add(linked->counts, &linked->counting, linked->event,
				       lull_cpu_at(line->place), fields, contexts);
		if (!linked->counting.is_recorded)
			mask &= ~LULL_MASK_SESSION(session);
	}
	return mask;
}

/* In one session, with more than a short program. */
static __attribute__((noinline)) uint32_t ask_one(const struct filter_set *set,
						  const struct linked *linked,
						  const struct lull_filter_value *fields)
{
	if (linked->contexts & ~(SAMPLES | LONG))
		return ask_all(set, LULL_MASK_SESSION(0) | LULL_MASK_FILTER(0), fields);
	if (linked->contexts & LONG) {
		if (!lull_filter_run(&linked->program, fields, NULL))
			return 0;
	} else if (linked->program.bytes && !filter_run_short(&linked->program, fields)) {
		return 0;
	}
	return !(linked->contexts & SAMPLES) || sampling_draw(&linked->sampling);
}

_Static_assert(LULL_MASK_SESSION(0) == 1, "the first session's bit is what a filter returns");

/* Without a frame of its own, as long as the filter of the only session is short. */
uint32_t lull_filter_ask(const struct lull_probe_record *record, uint32_t mask,
			 const uint64_t *values)
{
	const struct lull_filter_value *fields = (const void *)values;
	const struct filter_set *set = set_of(record);
	const struct linked *linked;

	if (__builtin_expect(mask != (LULL_MASK_SESSION(0) | LULL_MASK_FILTER(0)), 0))
		return ask_all(set, mask, fields);
	linked = set_find(set, 0);
	if (__builtin_expect(linked->contexts, 0))
		return ask_one(set, linked, fields);
	return filter_run_short(&linked->program, fields);
}
