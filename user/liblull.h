/* SPDX-License-Identifier: MIT */
/*
 * What the parts of liblull share: the process's sessions, its threads, and the entry points
 * between files. Nothing here is public; programs know only <lull/trace.h>.
 *
 * Flow: attach.c maps the sessions -> objects.c finds sites and probes -> events.c gives
 * their events identifiers, filters.c links their filters -> probe.c records. thread.c has each
 * thread's identity.
 */
#ifndef LIBLULL_H
#define LIBLULL_H

#include <stddef.h>
#include <stdint.h>
#include "lull/abi/session.h"
#include "lull/abi/site.h"
#include "lull/inputs.h"
#include "counts.h"
#include "ring/ring.h"
#include "segment.h"
#include "site/note.h"
#include "site/pattern.h"
#include "start.h"

/* One attached session. Set once by attach.c, then only read. */
struct session {
	struct lull_session_control *control;
	struct lull_ring *rings; /* [cpu_count + plain_count], private views */
	const char *patterns;
	const struct lull_rule *rules; /* the patterns, parsed; NULL until a site asks for them */
	size_t rule_count;
	const unsigned char *filters; /* a copy of those in the session; NULL: it has none */
	uint32_t filters_bytes;
	uint32_t filters_damaged; /* the copy is not what a recorder writes */
	uint32_t *filter_states; /* by event */
	const struct lull_counts *counts; /* NULL: the session records */
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
	return session->filters_bytes || session->counts;
}

/* All that an event in one session reads of its process, in one cache line. Set once. */
struct process_line {
	struct lull_probe_interface interface; /* in the first session's; not used in the others */
	struct lull_ring *rings;
	const uint64_t *active; /* the session's, in memory that it shares */
	uint32_t cpu_count;
	int32_t thread; /* from any thread's pointer to its struct thread, in bytes */
	long place; /* lull_place(), of threads that have a restartable-sequence area */
} __attribute__((aligned(64)));

struct process {
	struct process_line lines[LULL_SESSIONS_MAX];
	struct session sessions[LULL_SESSIONS_MAX];
	uint32_t session_count;
	uint32_t user; /* whose memory the sessions are */
	uint32_t effective_user; /* as far as liblull has seen it change */
	uint32_t pid;
	uint32_t generation; /* one more for each fork between exec and here; never 0 or 1 */
	char name[16]; /* of a thread that was given no name */
};

extern struct process lull_process __attribute__((visibility("hidden")));

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
} __attribute__((aligned(64)));
#define THREAD_NO_RSEQ (1ull << 32)
#define THREAD_SILENT (1ull << 63)
#define THREAD_IN_VFORK ((~0ull << 33) & ~THREAD_SILENT)

extern __thread struct thread lull_thread;

static inline uint32_t lull_thread_is_silent(void)
{
	return (lull_thread.state & THREAD_SILENT) != 0;
}

/* attach.c: map every session that LULL_SESSION names. Return: how many. */
uint32_t lull_attach(const char *sessions);

/*
 * attach.c: attach the memory that the session in @directory has for @user.
 * Return: 0 with @session filled in, or -1.
 */
int lull_session_attach(struct session *session, const struct lull_directory *directory,
			uint32_t user);

/*
 * attach.c: parse the patterns of a session. The processes that find only sites that others found
 * before need no rules. Without memory for them there are none.
 * Context: as lull_objects_scan().
 */
void lull_session_rules_read(struct session *session);

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

/* filters.c: the member of struct lull_probe_interface. */
uint32_t lull_filter_ask(const struct lull_probe_record *record, uint32_t mask,
			 const uint64_t *values);

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
 * Context: load time, dlopen and dlclose; serialised by the dynamic linker's own lock.
 */
void lull_objects_scan(void);

/*
 * objects.c: from now on, events that were recorded in session @from are recorded in session @to,
 * or in none if @to is LULL_SESSIONS_MAX. Context: no other thread loads or unloads an object; if
 * one does, nothing is recorded any more.
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

/* probe.c: fill in the line of a session, before any of its events is enabled. */
void lull_probe_line_set(uint32_t index);

#endif
