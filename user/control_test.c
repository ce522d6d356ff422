/* SPDX-License-Identifier: MIT */
/*
 * Sessions that a running process joins and leaves, and whose rules change: what is recorded in
 * which of them, that nothing is kept of one that was left, and what is refused. Threads record
 * meanwhile. The test plays the recorder, and calls what that has a thread call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define LULL_OBJECT_ANNOUNCED /* and not weakly: process.c is to be linked */
#include "lull/trace.h"

#define PATTERNS "test:*"
#include "change.h"
#include "control.h"
#include "offer_test.h"

#define SITES 2u /* one and other */
#define THREADS 4
#define CYCLES 40
#define RULES_CHANGES 1000
#define UNUSED_LIBRARY "libanl.so.1" /* of the C library's: this program does without it */

extern void lull_object_loaded(void);

static uint32_t is_over;
static uint64_t emitted;

static __attribute__((noinline)) void one(void)
{
	lull_event("test:one", lull_u32(number, 1));
}

static __attribute__((noinline)) void other(void)
{
	lull_event("test:other", lull_u32(number, 2));
}

/* What was written to a session's memory, whoever has it attached. */
static uint64_t written(const struct offer *offer)
{
	const struct lull_session_control *control = offer->control;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < RINGS; i++)
		bytes +=
			lull_load((uint64_t *)(void *)(offer->memory + control->rings_offset_bytes +
						       i * control->ring_stride_bytes));
	return bytes;
}

static int records(const struct offer *offer, void (*event)(void))
{
	uint64_t before = written(offer);

	event();
	return written(offer) > before;
}

/* As a recorder does it before anyone else has the memory. */
static void activate(struct offer *offer)
{
	struct lull_directory directory = { offer->directory, strlen(offer->directory) };
	struct session session;

	offer->control->mode = LULL_MODE_FLIGHT_RECORDER;
	if (lull_session_attach(&session, &directory, geteuid()))
		abort();
	for (uint32_t i = 0; i < RINGS; i++)
		lull_ring_reset(&session.rings[i], 0);
	lull_session_detach(&session);
	lull_store(&offer->control->active, 1);
}

/* As a recorder does it. */
static void rules_change(struct offer *offer, const char *patterns)
{
	struct lull_session_control *control = offer->control;
	uint32_t sequence = control->rules_sequence + 1;

	memcpy(offer->memory + control->patterns_offset_bytes +
		       (sequence & 1) * control->patterns_bytes,
	       patterns, strlen(patterns) + 1);
	control->patterns_used_bytes[sequence & 1] = (uint32_t)strlen(patterns) + 1;
	control->filters_used_bytes[sequence & 1] = 0;
	lull_store32_release(&control->rules_sequence, sequence);
}

static int attached_count(const struct offer *offer)
{
	struct shmid_ds status;

	return shmctl(offer->id, IPC_STAT, &status) ? -1 : (int)status.shm_nattch;
}

/* A session is the same by any path of its directory. */
static void joins_once(void)
{
	struct offer offer = offer_make(0600);
	char path[128];

	snprintf(path, sizeof(path), "/tmp/.%s", strrchr(offer.directory, '/'));
	activate(&offer);
	check(lull_control_join(offer.directory) == 0 && lull_control_join(path) == 0,
	      "joined_by_two_paths");
	check(attached_count(&offer) == 2 && offer.control->process_count == 1,
	      "and_is_in_it_once");
	check(lull_control_leave(path) == 0 && !records(&offer, one) &&
		      lull_control_leave(offer.directory) == -ENOENT,
	      "left_by_the_other");
	offer_end(&offer);
}

static void joins(void)
{
	struct offer offer = offer_make(0600);
	const char *path = offer.directory;

	activate(&offer);
	check(!records(&offer, one) && attached_count(&offer) == 1, "nothing_before_it_is_joined");
	check(lull_control_leave(path) == -ENOENT, "none_to_leave");
	check(lull_control_join(path) == 0 && attached_count(&offer) == 2, "joined");
	check(records(&offer, one) && records(&offer, other), "recorded_once_joined");
	check(lull_control_join(path) == 0 && attached_count(&offer) == 2, "joined_only_once");
	check(offer.control->process_count == 1, "counted_once");
	check(offer.control->enabled_count == SITES && offer.control->site_count > SITES,
	      "sites_are_counted");
	check(lull_control_leave(path) == 0 && attached_count(&offer) == 1, "unmapped");
	check(!records(&offer, one) && !records(&offer, other), "nothing_after_it_is_left");
	check(lull_control_join(path) == 0 && records(&offer, one), "joined_again");
	lull_store32(&offer.control->ended, 1);
	check(lull_control_poll() > 0 && attached_count(&offer) == 1, "left_when_it_has_ended");
	check(lull_control_join(path) == -EINVAL, "not_joined_when_it_has_ended");
	offer_end(&offer);
	check(lull_control_join(path) == -ENOENT, "not_joined_when_it_is_gone");
}

/* Those who read the other session know the process already. */
static void joins_another(void)
{
	struct offer first = offer_make(0600), other = offer_make(0600);
	uint64_t before;

	activate(&first);
	activate(&other);
	rules_change(&first, "process:*");
	rules_change(&other, "process:*");
	before = written(&first);
	check(lull_control_join(first.directory) >= 0 && written(&first) > before, "join_is_told");
	before = written(&first);
	check(lull_control_join(other.directory) >= 0, "joined_another");
	check(written(&first) == before && written(&other) > 0, "told_where_it_joined_alone");
	check(lull_control_leave(first.directory) == 0 && lull_control_leave(other.directory) == 0,
	      "left_both");
	offer_end(&first);
	offer_end(&other);
}

static void rules(void)
{
	struct offer offer = offer_make(0600);
	uint32_t enabled;

	activate(&offer);
	lull_control_join(offer.directory);
	check(lull_control_poll() == 0, "nothing_has_changed");
	rules_change(&offer, "test:*\n!test:other");
	check(records(&offer, other), "unchanged_until_it_is_asked");
	check(lull_control_poll() > 0, "changed");
	check(records(&offer, one) && !records(&offer, other), "changed_as_was_asked");
	enabled = offer.control->enabled_count;
	rules_change(&offer, "test:o*");
	lull_control_notice();
	check(records(&offer, one) && records(&offer, other), "changed_where_it_is_noticed");
	check(offer.control->enabled_count > enabled, "sites_that_are_new_are_counted");
	/* Each round: other off, other on. */
	for (int i = 0; i < RULES_CHANGES; i++) {
		rules_change(&offer, i & 1 ? "test:*" : "test:one");
		if (lull_control_poll() <= 0 || records(&offer, other) != (i & 1) ||
		    !records(&offer, one))
			break;
		if (i == RULES_CHANGES - 1)
			check(1, "changed_a_thousand_times");
	}
	rules_change(&offer, "test:*");
	offer.memory[offer.control->patterns_offset_bytes +
		     (offer.control->rules_sequence & 1) * PATTERNS_ROOM + sizeof("test:*") - 1] =
		'x';
	check(lull_control_poll() == -EINVAL && records(&offer, one),
	      "damaged_rules_change_nothing");
	lull_store32(&offer.control->rules_sequence, ~0u);
	offer.control->patterns_used_bytes[1] = ~0u;
	check(lull_control_poll() == -EINVAL && records(&offer, one), "lengths_are_checked");
	lull_control_leave(offer.directory);
	offer_end(&offer);
}

static void many(void)
{
	struct offer offers[LULL_SESSIONS_MAX + 1], unlike = offer_make(0600);
	int failed = 0, joined = 0;

	for (int i = 0; i <= LULL_SESSIONS_MAX; i++) {
		offers[i] = offer_make(0600);
		activate(&offers[i]);
	}
	for (int i = 0; i < LULL_SESSIONS_MAX; i++)
		joined += lull_control_join(offers[i].directory) == i;
	check(joined == LULL_SESSIONS_MAX, "as_many_as_there_are_places");
	check(lull_control_join(offers[LULL_SESSIONS_MAX].directory) == -ENOSPC &&
		      attached_count(&offers[LULL_SESSIONS_MAX]) == 1,
	      "one_more_is_refused");
	/* One goes, another one takes its place. */
	for (int i = 0; i <= LULL_SESSIONS_MAX; i++) {
		int last = (i + LULL_SESSIONS_MAX) % (LULL_SESSIONS_MAX + 1);

		failed += lull_control_leave(offers[i].directory) != 0;
		failed += lull_control_join(offers[last].directory) !=
			  i % (LULL_SESSIONS_MAX + 1) % LULL_SESSIONS_MAX;
		failed += records(&offers[i], one) || !records(&offers[last], one);
	}
	check(!failed, "places_are_used_again");
	for (int i = 0; i <= LULL_SESSIONS_MAX; i++)
		lull_control_leave(offers[i].directory);
	unlike.control->cpu_count--;
	check(lull_control_join(unlike.directory) == -EINVAL, "rings_are_as_many_in_all_sessions");
	for (int i = 0; i <= LULL_SESSIONS_MAX; i++)
		offer_end(&offers[i]);
	offer_end(&unlike);
}

static void busy(void)
{
	struct offer offer = offer_make(0600);

	check(!lull_change_begin() && lull_control_join(offer.directory) == -EBUSY &&
		      lull_control_poll() == -EBUSY && lull_control_leave("/x") == -EBUSY,
	      "one_change_at_a_time");
	lull_change_end();
	lull_loading_begin();
	lull_loading_begin();
	lull_loading_end();
	check(lull_control_join(offer.directory) == -EBUSY, "none_while_objects_are_unloaded");
	lull_loading_end();
	check(lull_control_join(offer.directory) == 0, "one_after_that");
	check(!lull_change_begin() && lull_control_poll() == -EBUSY && !lull_control_abandon() &&
		      lull_loading_begin(),
	      "abandoned_change_keeps_nobody_waiting");
	lull_loading_end();
	check(lull_change_is_interrupted(), "abandoned_change_is_made_again");
	lull_control_notice();
	check(!lull_change_is_interrupted(), "and_is_whole_then");
	lull_control_leave(offer.directory);
	check(lull_control_join("") == -ENAMETOOLONG, "a_directory_has_a_name");
	offer_end(&offer);
}

/* A child forked within a change or an unload of another thread's is not held up by it. */
static void *hold(void *is_loading)
{
	if (is_loading)
		lull_loading_begin();
	else
		lull_change_begin();
	return NULL;
}

static int forked_joins(void *is_loading)
{
	struct offer offer = offer_make(0600);
	pthread_t thread;
	pid_t child;
	int status;

	activate(&offer);
	pthread_create(&thread, NULL, hold, is_loading);
	pthread_join(thread, NULL);
	child = fork();
	if (!child) {
		lull_object_loaded();
		_exit(lull_control_join(offer.directory) != 0 || !records(&offer, one));
	}
	if (waitpid(child, &status, 0) != child)
		status = -1;
	if (is_loading)
		lull_change_forked(); /* as if the thread had ended it */
	else
		lull_change_end();
	offer_end(&offer);
	return status == 0;
}

/* A library that liblull saw, and that is gone without liblull. */
static void unloaded_joins(void)
{
	struct offer offer = offer_make(0600);
	void *handle = dlopen(UNUSED_LIBRARY, RTLD_NOW);
	struct link_map *map = NULL;
	void *place;

	activate(&offer);
	lull_object_loaded();
	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
		abort();
	place = (void *)map->l_addr;
	/* Nothing else comes to where it was. */
	check(!dlclose(handle) &&
		      mmap(place, 4096, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == place,
	      "library_was_unloaded");
	check(lull_control_join(offer.directory) == 0 && records(&offer, one),
	      "joined_after_a_library_was_unloaded");
	lull_control_leave(offer.directory);
	munmap(place, 4096);
	offer_end(&offer);
}

static void *emit(void *unused)
{
	while (!lull_load32(&is_over)) {
		one();
		other();
		lull_add_relaxed(&emitted, 2);
	}
	return unused;
}

/* Threads record at full speed while sessions come, change, go. */
static void storm(void)
{
	pthread_t threads[THREADS];
	int failed = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, emit, NULL);
	for (int i = 0; i < CYCLES; i++) {
		struct offer offer = offer_make(0600);
		uint64_t before, left;

		activate(&offer);
		failed += lull_control_join(offer.directory) < 0;
		before = lull_load(&emitted);
		rules_change(&offer, i & 1 ? "test:one" : "test:other");
		failed += lull_control_poll() <= 0;
		while (lull_load(&emitted) < before + 1000)
			;
		failed += lull_control_leave(offer.directory) != 0;
		left = written(&offer);
		before = lull_load(&emitted);
		while (lull_load(&emitted) < before + 1000)
			;
		failed += written(&offer) != left || !left;
		offer_end(&offer);
	}
	lull_store32(&is_over, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(!failed, "threads_record_while_sessions_come_and_go");
}

int main(void)
{
	joins();
	joins_once();
	joins_another();
	rules();
	many();
	busy();
	unloaded_joins();
	check(forked_joins(NULL), "child_forked_in_a_change_makes_its_own");
	check(forked_joins(&is_over), "child_forked_in_an_unload_makes_a_change");
	storm();
	return sums();
}
