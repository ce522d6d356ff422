/* SPDX-License-Identifier: MIT */
/*
 * Filters of this process's events: unlinked programs of sessions, linked when an object brings an
 * event, and run by its probes before they reserve.
 *
 * The unlinked programs come from memory that others can write to: attach.c copies them, they are
 * checked here once, and what is linked from them is checked again, for it is what probes run. An
 * event whose filter cannot be had is recorded unfiltered, and the session is told which event that
 * is and why. Nothing that was linked is freed: a probe may be running it.
 * Design: docs/design/70-filter.md. Paper: T 4.5 (filters with the control information).
 *
 * A record of a probe that asks for filters says where its set is (struct lull_probe_record). The
 * set and its programs are written before [site.enable:A] sets the bit of the mask by which a
 * probe comes here.
 */
#include <linux/mman.h>
#include "liblull.h"
#include "filter/run.h"
#include "lull_port.h"
#include "syscall.h"

/* For all sets and programs of a process: some 20,000 probes of small filters. */
#define ROOM_BYTES (4u << 20)
#define ROOM_ALIGN 8u
#define CONTEXT(name) (1u << LULL_CONTEXT_##name)
/* Those that take no system call. */
#define CONTEXTS (CONTEXT(PID) | CONTEXT(TID) | CONTEXT(COMM) | CONTEXT(CPU) | CONTEXT(UID))

/* Of a set's contexts: a session counts the event. */
#define SET_COUNTS (1u << 31)

/* The filters of one probe, and what is counted there. */
struct filter_set {
	const struct lull_filter *program[LULL_SESSIONS_MAX];
	uint32_t contexts; /* that any of them reads, and SET_COUNTS */
	uint32_t counting; /* place of a struct lull_counting for each session; 0: none */
};

/* Written under the dynamic linker's lock only. */
static struct {
	unsigned char *base; /* NULL until a filter is linked */
	uint32_t used_bytes;
} room;

/* The next filter of a session's. Return: its size with its head; 0 where it is not all there. */
static uint32_t filter_bytes(const unsigned char *filters, uint32_t left)
{
	const struct lull_session_filter *filter = (const void *)filters;

	if (left < sizeof(*filter) || filter->bytes > LULL_UNLINKED_BYTES_MAX ||
	    LULL_SESSION_FILTER_BYTES(filter->bytes) > left)
		return 0;
	return LULL_SESSION_FILTER_BYTES(filter->bytes);
}

int lull_filters_check(const unsigned char *filters, uint32_t bytes)
{
	/* Bound: a filter has at least its head. */
	while (bytes) {
		const struct lull_session_filter *filter = (const void *)filters;
		uint32_t taken = filter_bytes(filters, bytes);

		if (!taken || lull_unlinked_check((const void *)(filter + 1), filter->bytes))
			return 0;
		filters += taken;
		bytes -= taken;
	}
	return 1;
}

/* The filter of a rule, or NULL. All were checked. */
static const struct lull_unlinked *unlinked_find(const struct session *session, int rule)
{
	const unsigned char *filters = session->filters;
	uint32_t left = session->filters_bytes;

	while (left) {
		const struct lull_session_filter *filter = (const void *)filters;
		uint32_t taken = filter_bytes(filters, left);

		if (rule >= 0 && filter->rule == (uint32_t)rule)
			return (const void *)(filter + 1);
		filters += taken;
		left -= taken;
	}
	return NULL;
}

/* Tell the session what became of the filter of an event. */
static void tell(const struct session *session, uint32_t id, uint32_t state)
{
	uint32_t *word = &session->filter_states[id];
	uint32_t told, found = lull_load32(word);

	/* Bound: each round follows another process's success. */
	do {
		told = found;
		if (told & state)
			return;
		found = lull_cas32_relaxed(word, told, told | state);
	} while (found != told);
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

/* Link a filter for a probe. Return: enum lull_filter_state, and bits of the record's mask. */
static uint32_t probe_link(struct lull_probe_record *record, uint32_t index,
			   const struct lull_unlinked *unlinked, const struct lull_note *note,
			   uint32_t *bits)
{
	struct filter_set *set = set_get(record);
	struct lull_filter *program = set ? room_find(LULL_FILTER_BYTES_MAX) : NULL;
	uint8_t inputs[LULL_FILTER_FIELDS_MAX];
	struct lull_filter_found found;

	if (!program)
		return LULL_FILTER_STATE_FULL;
	switch (lull_filter_link(unlinked, note->description, CONTEXTS, program, &found)) {
	case LULL_FILTER_ALWAYS:
		return LULL_FILTER_STATE_DECIDES;
	case LULL_FILTER_NEVER:
		*bits = 0;
		return LULL_FILTER_STATE_DECIDES;
	case LULL_FILTER_PROGRAM:
		break;
	default:
		return LULL_FILTER_STATE_UNFIT;
	}
	if (lull_filter_check(program, program->bytes, inputs,
			      lull_filter_fields(note->description, inputs)))
		return LULL_FILTER_STATE_DAMAGED;
	set->program[index] = program;
	set->contexts |= lull_filter_contexts(program) & CONTEXTS;
	room_take(program->bytes);
	*bits |= LULL_MASK_FILTER(index);
	return LULL_FILTER_STATE_DECIDES;
}

static struct lull_counting *counting_of(const struct filter_set *set)
{
	return (void *)(room.base + (uint64_t)set->counting * ROOM_ALIGN);
}

/* What a probe counts, made where there is none. Return: NULL where there is no room. */
static struct lull_counting *counting_get(struct lull_probe_record *record)
{
	struct filter_set *set = set_get(record);
	uint32_t bytes = LULL_SESSIONS_MAX * sizeof(struct lull_counting);

	if (!set || (!set->counting && !room_find(bytes)))
		return NULL;
	if (!set->counting) {
		__builtin_memset(room_find(bytes), 0, bytes);
		set->counting = room.used_bytes / ROOM_ALIGN;
		room_take(bytes);
	}
	return counting_of(set);
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
	const struct lull_unlinked *unlinked = NULL;
	uint32_t bits = LULL_MASK_SESSION(index), state = 0;
	int is_recorded = is_exempt(record, note);
	struct lull_counting *counting = NULL;

	if (rule < 0 || (uint32_t)rule < plan->first_rule)
		return bits;
	if (!is_recorded && session->filters_bytes)
		unlinked = unlinked_find(session, rule);
	if (session->filters_damaged)
		state = LULL_FILTER_STATE_DAMAGED;
	else if (!(record->filter & LULL_RECORD_ASKS))
		state = LULL_FILTER_STATE_OLD;
	else if (!(counting = counting_get(record)))
		state = LULL_FILTER_STATE_FULL;
	else if (unlinked)
		state = probe_link(record, index, unlinked, note, &bits);
	if (state)
		tell(session, record->id[index], state);
	if (state & ~(uint32_t)LULL_FILTER_STATE_DECIDES)
		return is_recorded ? bits : 0;
	if (!bits)
		return 0;
	counting[index] =
		(struct lull_counting){ .is_counted = 1, .is_recorded = (uint8_t)is_recorded };
	set_of(record)->contexts |= SET_COUNTS | lull_count_plan_link(plan, note->description,
								      CONTEXTS, &counting[index]);
	return bits | LULL_MASK_FILTER(index);
}

uint32_t lull_filter_enable(struct lull_probe_record *record, uint32_t index, int rule,
			    const struct lull_note *note)
{
	const struct session *session = &lull_process.sessions[index];
	const struct lull_unlinked *unlinked;
	uint32_t bits = LULL_MASK_SESSION(index), state;

	if (session->counts)
		return counting_enable(record, index, rule, note);
	if (!session->filters_bytes || is_exempt(record, note))
		return bits;
	if (session->filters_damaged) {
		tell(session, record->id[index], LULL_FILTER_STATE_DAMAGED);
		return bits;
	}
	unlinked = unlinked_find(session, rule);
	if (!unlinked)
		return bits;
	if (record->filter & LULL_RECORD_ASKS)
		state = probe_link(record, index, unlinked, note, &bits);
	else
		state = LULL_FILTER_STATE_OLD;
	tell(session, record->id[index], state);
	return bits;
}

uint32_t lull_filter_move(struct lull_probe_record *record, uint32_t from, uint32_t to)
{
	struct filter_set *set;

	if (!(record->enabled_mask & LULL_MASK_FILTER(from)))
		return LULL_MASK_SESSION(to);
	set = set_of(record);
	set->program[to] = set->program[from];
	if (set->counting)
		counting_of(set)[to] = counting_of(set)[from];
	return LULL_MASK_SESSION(to) | LULL_MASK_FILTER(to);
}

/* What this thread knows of itself; a vfork child has its parent's name and user. */
static __attribute__((noinline)) void contexts_read(struct lull_filter_value *values,
						    uint32_t wanted)
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

/* Count an occurrence in sessions of @counted that count. Return: those that do not record it. */
static uint32_t count_all(const struct filter_set *set, const struct lull_probe_record *record,
			  uint32_t counted, const struct lull_filter_value *fields,
			  const struct lull_filter_value *contexts)
{
	const struct lull_counting *counting = counting_of(set);
	uint32_t done = 0;

	/* Bound: LULL_SESSIONS_MAX bits. */
	for (; counted; counted &= counted - 1) {
		uint32_t index = (uint32_t)__builtin_ctz(counted);
		const struct process_line *line = &lull_process.lines[index];

		if (!counting[index].is_counted)
			continue;
		if (lull_load(line->active))
			lull_count_add(lull_process.sessions[index].counts, &counting[index],
				       record->id[index], lull_cpu_at(line->place), fields,
				       contexts);
		if (!counting[index].is_recorded)
			done |= LULL_MASK_SESSION(index);
	}
	return done;
}

/* With contexts, in several sessions, or in one that counts. */
static __attribute__((noinline)) uint32_t ask_all(const struct filter_set *set,
						  const struct lull_probe_record *record,
						  uint32_t mask,
						  const struct lull_filter_value *fields)
{
	uint32_t asked = (mask & LULL_MASK_FILTERED) >> LULL_SESSIONS_MAX;
	struct lull_filter_value contexts[LULL_CONTEXTS];

	mask &= LULL_MASK_SESSIONS;
	if (set->contexts & CONTEXTS)
		contexts_read(contexts, set->contexts);
	/* Bound: LULL_SESSIONS_MAX bits. */
	for (uint32_t filtered = asked; filtered; filtered &= filtered - 1) {
		uint32_t session = (uint32_t)__builtin_ctz(filtered);

		if (set->program[session] &&
		    !lull_filter_run(set->program[session], fields, contexts))
			mask &= ~LULL_MASK_SESSION(session);
	}
	if (set->contexts & SET_COUNTS)
		mask &= ~count_all(set, record, mask & asked, fields, contexts);
	return mask;
}

uint32_t lull_filter_ask(const struct lull_probe_record *record, uint32_t mask,
			 const uint64_t *values)
{
	const struct lull_filter_value *fields = (const void *)values;
	const struct filter_set *set = set_of(record);

	if (__builtin_expect(set->contexts || mask != (LULL_MASK_SESSION(0) | LULL_MASK_FILTER(0)),
			     0))
		return ask_all(set, record, mask, fields);
	return filter_run(set->program[0], fields, NULL) ? LULL_MASK_SESSION(0) : 0;
}
