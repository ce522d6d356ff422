/* SPDX-License-Identifier: MIT */
/*
 * What the parts of liblull share: the process's sessions, its threads, and the entry points
 * between files. Nothing here is public; programs know only <lull/trace.h>.
 *
 * Flow: attach.c maps the sessions -> objects.c finds sites and probes -> events.c gives
 * their events identifiers, filters.c links their filters, sampling.c thins them out, calls
 * as a whole (pairs.c) -> probe.c records. thread.c has each thread's identity.
 */
#ifndef LIBLULL_H
#define LIBLULL_H

#include <stddef.h>
#include <stdint.h>
#include "lull/abi/session.h"
#include "lull/abi/site.h"
#include "lull/inputs.h"
#include "counts.h"
#include "lull_port.h"
#include "ring/ring.h"
#include "segment.h"
#include "site/note.h"
#include "site/pattern.h"
#include "start.h"

/* Where the events of a session are counted and throttled; all 0 where it has no budget. */
struct budget {
	const uint32_t *throttles; /* by event; the recorder writes them */
	uint32_t *counts; /* rows of one for each event */
	uint32_t row_mask;
};

/*
 * One attached session. Set by attach.c; what says which events it wants is read and written by one
 * change or scan at a time (change.h), and everything else only read.
 */
struct session {
	struct lull_session_control *control;
	struct lull_ring *rings; /* [cpu_count + plain_count], private views; never freed */
	uint32_t rules_sequence; /* of the rules that this process has */
	uint32_t patterns_bytes;
	const char *patterns;
	const struct lull_rule *rules; /* the patterns, parsed; NULL until a site asks for them */
	size_t rule_count;
	const unsigned char *filters; /* a copy of those in the session; NULL: it has none */
	uint32_t filters_bytes;
	uint32_t filters_damaged; /* the copy is not what a recorder writes */
	uint32_t *filter_states; /* by event */
	const struct lull_counts *counts; /* NULL: the session records */
	struct budget budget;
	struct lull_own_events *own;
	struct lull_event_entry *events;
	char *arena;
	uint32_t cpu_count;
	uint32_t plain_count;
	uint32_t event_capacity;
	uint32_t arena_bytes;
	uint32_t last_event; /* the identifier found last; written while objects are scanned */
	/* For a process that becomes another user. */
	struct lull_mapping map;
	struct lull_directory directory;
	struct lull_session_control fixed; /* the control block as it was checked */
};

/* Does the session have to look at each event's description, and not only at its identifier? */
static inline int lull_session_asks(const struct session *session)
{
	return session->filters_bytes || session->counts || session->rules_sequence ||
	       session->budget.throttles;
}

/*
 * All that an event in one session reads of its process, in one cache line. It is set when a
 * session takes the place, rings last.
 */
struct process_line {
	struct lull_probe_interface interface; /* in the first session's; not used in the others */
	void *rings; /* struct lull_ring [cpu_count + plain_count] */
	const uint64_t *active; /* the session's, in memory that it shares */
	uint32_t cpu_count; /* 0 where the session records contexts, as the shortest way cannot */
	int32_t thread; /* from any thread's pointer to its struct thread, in bytes */
	long place; /* lull_place(), of threads that have a restartable-sequence area */
} __attribute__((aligned(64)));

struct process {
	struct process_line lines[LULL_SESSIONS_MAX];
	struct session sessions[LULL_SESSIONS_MAX];
	void *controls
		[LULL_SESSIONS_MAX]; /* struct lull_session_control, of what was attached last */
	uint32_t successors[LULL_SESSIONS_MAX]; /* 1 + where the events of a place moved, or 0 */
	uint32_t attached; /* bit i: sessions[i] is */
	uint32_t spent; /* bit i: sessions[i] is none any more, and events may still name it */
	uint32_t cpu_count; /* of every session of this process; 0: it never had one */
	uint32_t plain_count;
	uint32_t user; /* whose memory the sessions are */
	uint32_t effective_user; /* as far as liblull has seen it change */
	uint32_t pid;
	uint32_t generation; /* one more for each fork between exec and here; never 0 or 1 */
	char name[16]; /* of a thread that was given no name */
};

extern struct process lull_process __attribute__((visibility("hidden")));

/*
 * For each attached session. Bound: LULL_SESSIONS_MAX bits. Within a change or a scan these are the
 * sessions; elsewhere one of them may just come or go.
 */
#define EACH_SESSION(index)                                                   \
	for (uint32_t left_ = lull_load32(&lull_process.attached), index = 0; \
	     left_ && (index = (uint32_t)__builtin_ctz(left_), 1); left_ &= left_ - 1)

/* The largest page that kernels of this architecture have. */
#if defined(__x86_64__)
#define PAGE_BYTES_MAX 4096
#else
#define PAGE_BYTES_MAX 65536
#endif

/*
 * thread.c: what struct thread's state is compared with: the generation, in a page of its own
 * that the kernel zeroes in a forked child.
 */
struct fork_page {
	uint64_t state;
} __attribute__((aligned(PAGE_BYTES_MAX)));

extern struct fork_page lull_fork_page __attribute__((visibility("hidden")));

/*
 * thread.c: not 0 once the program has installed a filter of system calls: from then on liblull
 * makes none, for it cannot know which of them end the process.
 */
extern uint32_t lull_confined;

/* thread.c: not 0 while vfork_*.S may ask the kernel for the child's number. */
extern uint32_t lull_vfork_tells;

/*
 * Where the thread's next event will probably be: lines that it asks for as soon as it has this
 * one, for it learns of each only from the one before. They are hints: nothing is read or written
 * by them, and the ring may be gone.
 */
struct near {
	const void *ring;
	const void *shared;
	const void *commit;
	const void *slot;
};

/* pairs.c: what was drawn at the entries of a pair's calls that a thread is in. */
struct pair_draws {
	uint64_t pair;
	uint64_t draws;
};

/* Pairs that a thread can be in calls of at once. */
#define PAIRS_OPEN 8u

/* One thread's identity as a writer; to its tid in one line. Filled in at its first event. */
struct thread {
	/*
	 * Low half: the process's generation when writer was filled in. High half: not 0 when
	 * the thread has to use plain rings: NO_RSEQ, and twice the number of vfork children that
	 * run on this memory; or records nothing, for it cannot read the clock: SILENT. So one
	 * comparison tells the common case.
	 */
	uint64_t state;
	uint32_t vfork_pid; /* of the vfork child that runs on this memory, written by the kernel */
	uint32_t named; /* writer.name is this thread's own */
	struct near near;
	struct lull_ring_writer writer;
	uint64_t random; /* sampling.h: its state */
	/* Of pairs.c. */
	uint32_t pairs_oldest; /* the place of pairs that is given away next */
	uint32_t pairs_forgotten; /* 1: some call's draw was, and its exit cannot be told */
	struct pair_draws pairs[PAIRS_OPEN];
} __attribute__((aligned(64)));
#define THREAD_NO_RSEQ (1ull << 32)
#define THREAD_SILENT (1ull << 63)
#define THREAD_IN_VFORK ((~0ull << 33) & ~THREAD_SILENT)

extern __thread struct thread lull_thread;

static inline uint32_t lull_thread_is_silent(void)
{
	return (lull_thread.state & THREAD_SILENT) != 0;
}

/* attach.c: map every session that LULL_SESSION names. */
void lull_attach(const char *sessions);

/*
 * attach.c: attach the memory that the session in @directory has for @user.
 * Return: 0 with @session filled in; -ENOENT when the session has no memory for the user, -ENOMEM
 * when this process has no room for it, -EAGAIN when it is not filled in yet, -EINVAL when it is
 * none that this process can be in.
 */
int lull_session_attach(struct session *session, const struct lull_directory *directory,
			uint32_t user);

/* attach.c: Return: the place of the session in a directory, however it is named; or -ENOENT. */
int lull_session_find(const struct lull_directory *directory);

/*
 * attach.c: give an attached session a place among those of the process. No event is recorded in it
 * yet. Context: within a change. Return: the place, or LULL_SESSIONS_MAX when all are taken.
 */
uint32_t lull_session_add(const struct session *session);

/*
 * attach.c: the process leaves a session, which no probe that begins from now on records in.
 * Private zeros take the place of its memory, for probes that began earlier. The addresses are not
 * used again.
 * Context: within a change. Return: 0, or -ENOMEM when the memory had to stay.
 */
int lull_session_forget(uint32_t index);

/*
 * rules.c: take over the rules of a session, if they have changed.
 * Context: within a change. Progress: wait-free. Return: 1 when they have; 0 when not; -EAGAIN
 * when the recorder was changing them; -EINVAL when they are damaged, -ENOMEM.
 */
int lull_session_rules_update(struct session *session);

/*
 * rules.c: parse the patterns of a session. The processes that find only sites that others found
 * before need no rules. Without memory for them there are none.
 * Context: as lull_objects_scan().
 */
void lull_session_rules_read(struct session *session);

/*
 * rules.c: copy the rules of a session that is mapped, in place of those that this process has.
 * Context: as lull_objects_scan(), or within a change. Return: 0, -EAGAIN, -EINVAL, -ENOMEM.
 */
int lull_session_rules_copy(struct session *session);

/* rules.c: copy them anew, whatever is left of the copy that a change in the parent was at. */
void lull_session_rules_restore(struct session *session);

/* rules.c: give back the memory of what was copied. */
void lull_session_rules_release(struct session *session);

/*
 * attach.c: zeros on a boundary of 128 bytes, or NULL; and give them back. Small ones are in the
 * library's data and stay taken. Context: async-signal-safe.
 */
void *lull_private_memory(uint64_t bytes);
void lull_private_release(const void *memory, uint64_t bytes);

/* attach.c: a copy that outlives the program's environment, or NULL. */
const char *lull_text_keep(const char *text);

/* attach.c: undo what lull_session_attach() did; no thread has used the session. */
void lull_session_detach(struct session *session);

/*
 * attach.c: make memory for @user in the session that @session is part of. Only root's processes
 * may. Return: 0; -1 also when the user has memory by now.
 */
int lull_session_make(const struct session *session, uint32_t user);

/*
 * thread.c: prepare to identify threads and forked children without system calls. Called once,
 * before sessions are attached; makes system calls itself.
 */
void lull_identity_start(void);

/*
 * thread.c: fill in lull_thread for the calling thread.
 * Context: async-signal-safe; the first event of a thread, and the first after a fork. No system
 * call, here and below.
 */
void lull_thread_refresh(void);

/* thread.c: lull_place() of threads that have a restartable-sequence area. */
long lull_thread_place(void);

/* thread.c: the calling thread's identifier; 0 where only a system call could tell. */
uint32_t lull_thread_tid(void);

/* filters.c: is this what a recorder writes as a session's filters? */
int lull_filters_check(const unsigned char *filters, uint32_t bytes);

/* filters.c: what a session says of a rule's events beside the rule; NULL: nothing. */
const struct lull_session_filter *lull_filter_find(const struct session *session, int rule);

/*
 * filters.c: prepare a probe, which has its identifier, to ask the filter of a session, if the
 * session has one for the rule that decides about the event; -1 where no rule does.
 * Return: bits of the record's mask: the session, and that it filters; 0 where the filter cannot
 * hold for any occurrence.
 * Context: as lull_objects_scan().
 */
uint32_t lull_filter_enable(struct lull_probe_record *record, uint32_t index, int rule,
			    const struct lull_note *note);

/*
 * filters.c: session @to gets the filter that a probe has for session @from.
 * Return: bits of the record's mask for session @to. Context: as lull_objects_move().
 */
uint32_t lull_filter_move(struct lull_probe_record *record, uint32_t from, uint32_t to);

struct lull_filter_value;

/*
 * filters.c: what this thread knows of itself, of the contexts that @wanted has as bits and that
 * take no system call, by enum lull_context. Context: any, async-signal-safe.
 */
void lull_contexts_read(struct lull_filter_value *values, uint32_t wanted);

/* filters.c: the member of struct lull_probe_interface. */
uint32_t lull_filter_ask(const struct lull_probe_record *record, uint32_t mask,
			 const uint64_t *values);

/* process.c: lull_objects_scan(), if liblull has started. Instrumented objects call it, too. */
void lull_object_loaded(void);

/* process.c: the path of the program's file, as the kernel knows it. */
#define LULL_PATH_BYTES 512
const char *lull_path_ask(char path[LULL_PATH_BYTES]);

/* thread.c: the program has installed a filter of system calls. */
void lull_process_confined(void);

/* thread.c: the calling thread records nothing from now on, or again. */
void lull_thread_silence(uint32_t silent);

/* thread.c: @thread is called @name, of which 15 bytes count. */
void lull_thread_rename(struct thread *thread, const char *name);

/* thread.c: the calling process was made by a fork of the C library just now. */
void lull_process_forked(void);

/* thread.c: identity of a vfork child, which runs on its parent's thread-local memory. */
void lull_vfork_writer(struct lull_ring_writer *writer);

/*
 * events.c: the identifier of an event that a process has registered before, if it is near the
 * one found last.
 * Return: 0 when it is not there.
 * Context: as lull_objects_scan(). Progress: wait-free.
 */
uint32_t lull_event_known(struct session *session, const char *description, size_t bytes);

/*
 * events.c: the identifier of an event in a session; @description has been checked.
 * Return: 0 when the event table or the arena is full.
 * Context: as lull_objects_scan(). Progress: lock-free.
 */
uint32_t lull_event_register(struct session *session, const char *description, size_t bytes);

/*
 * objects.c: enable the sites of objects not seen before, and forget unloaded ones.
 * Context: load time, dlopen and dlclose; serialised by the dynamic linker's own lock. It waits for
 * a change that another thread makes.
 */
void lull_objects_scan(void);

enum change_why { CHANGE_JOIN, CHANGE_RULES, CHANGE_LEAVE };

/*
 * objects.c: decide anew which events the sessions of @sessions want, in all objects seen.
 * @why: they join, their rules have changed, or they are left and want none any more. Takes no
 * lock, the dynamic linker's neither.
 * Context: within a change. Async-signal-safe. Progress: blocking (system calls).
 * Return: how many probes and sites are different from before; -E2BIG when some objects are not
 * known, and nothing was changed.
 */
int lull_objects_change(uint32_t sessions, enum change_why why);

/*
 * objects.c: from now on, events that were recorded in session @from are recorded in session @to,
 * or in none if @to is LULL_SESSIONS_MAX. Context: within a change.
 */
void lull_objects_move(uint32_t from, uint32_t to);

/* Which build an object is of: what the linker wrote into its notes; none where count is 0. */
struct build_id {
	const unsigned char *bytes;
	uint32_t count;
};

/* objects.c: a probe that has its identifiers records in the sessions of @mask from now on. */
void lull_probe_enable(struct lull_probe_record *record, uint32_t mask);

/*
 * own.c: set liblull's own probes up as earlier processes of every session found them.
 * Return: 1; 0 where one of the sessions does not know them, and liblull is to be looked at.
 */
int lull_own_recall(struct build_id id);

/*
 * own.c: tell the processes that follow in a session: all of liblull's own probes are set up, and
 * it was looked at with these counts.
 */
void lull_own_tell(uint32_t index, struct build_id id, uint32_t site_count, uint32_t enabled_count);

/* own.c: is this one of liblull's own records? Is this where its program headers are? */
int lull_own_has(const struct lull_probe_record *record);
int lull_own_is(const void *program_headers);

/* objects.c: record each loaded object with its build identifier; @program is our own path. */
void lull_objects_dump(const char *program);

/*
 * The same of the first objects, without the dynamic linker, in the sessions of @sessions alone.
 * Context: within a change.
 */
void lull_objects_dump_seen(const char *program, uint32_t sessions);

/*
 * quiescence.c: wait until no other thread is in a probe that began before, but 50 ms at most.
 * Context: any. Progress: blocking (system calls); errno unchanged.
 */
void lull_threads_quiesce(void);

/* probe.c: fill in the line of a session, before any of its events is enabled. */
void lull_probe_line_set(uint32_t index);

/* probe.c: choose what probes call to reserve, by the sessions of @attached, all of them. */
void lull_probe_reserve_choose(uint32_t attached);

#endif
