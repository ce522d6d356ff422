/* SPDX-License-Identifier: MIT */
/*
 * Attaching: which memory liblull refuses of that which other processes offer it.
 *
 * Each row changes one thing of a session that is attached otherwise, and each condition of
 * attach.c and segment.c has a row that only it refuses.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "offer_test.h"

/* Three times this is 128, modulo 2^64. */
#define WRAPS_IN_THREE ((~0ull / 192 + 1) * 64)

/* Return: what liblull says to the offer, 0 if it takes it. */
static int answer_to(const struct offer *offer)
{
	struct lull_directory directory = { offer->directory, strlen(offer->directory) };
	struct session session = { 0 };
	int result = lull_session_attach(&session, &directory, geteuid());

	if (!result)
		lull_session_detach(&session);
	return result;
}

static int is_taken(const struct offer *offer)
{
	return answer_to(offer) == 0;
}

/* Shape: a control block that differs from a good one in what @change does to it. */
#define REFUSES(name, change)                                         \
	do {                                                          \
		struct offer offer = offer_make(0600);                \
		struct lull_session_control *control = offer.control; \
                                                                      \
		check(is_taken(&offer), "taken_before_" name);        \
		change;                                               \
		check(!is_taken(&offer), "refused_with_" name);       \
		offer_end(&offer);                                    \
	} while (0)

static void controls(void)
{
	REFUSES("another_magic", control->magic++);
	REFUSES("another_version", control->version++);
	REFUSES("no_cpu", control->cpu_count = 0);
	REFUSES("cpus_that_wrap_round", control->cpu_count = ~0u; control->plain_count = 2);
	REFUSES("plain_rings_that_wrap_round", control->plain_count = ~0u; control->cpu_count = 2);
	REFUSES("no_plain_ring", control->plain_count = 0);
	REFUSES("plain_rings_beyond_the_memory", control->plain_count = 1000);
	REFUSES("more_events_than_identifiers", control->event_capacity = 65537);
	REFUSES("an_event_table_beyond_the_memory", control->event_capacity = 65536;
		control->events_offset_bytes = (uint32_t)control->memory_bytes + (1 << 20) + 64);
	REFUSES("an_event_table_that_begins_outside", control->events_offset_bytes = ~7u);
	REFUSES("an_event_table_off_its_boundary", control->events_offset_bytes += 4);
	REFUSES("no_patterns", control->patterns_used_bytes[0] = 0);
	REFUSES("patterns_longer_than_their_room",
		control->patterns_used_bytes[0] = PATTERNS_ROOM + 1);
	REFUSES("filters_longer_than_their_room",
		control->filters_used_bytes[0] = FILTERS_ROOM + 8);
	REFUSES("an_end", control->ended = 1);
	REFUSES("own_events_that_begin_outside", control->own_offset_bytes = ~0u & ~3u);
	REFUSES("own_events_that_end_outside",
		control->own_offset_bytes = (uint32_t)(control->memory_bytes + ROOM_BYTES) -
					    (uint32_t)sizeof(struct lull_own_events) + 4);
	REFUSES("own_events_off_their_boundary", control->own_offset_bytes += 2);
	REFUSES("patterns_that_begin_outside", control->patterns_offset_bytes = ~0u);
	REFUSES("patterns_that_end_outside", control->patterns_bytes = 0x7fffffff);
	REFUSES("patterns_without_an_end", control->patterns_used_bytes[0]--);
	REFUSES("filters_that_begin_outside", control->filters_offset_bytes = ~7u;
		control->filters_bytes = 4096);
	REFUSES("filters_that_end_outside", control->filters_bytes = 0x7fffffff);
	REFUSES("filters_off_their_boundary", control->filters_offset_bytes += 4);
	REFUSES("filters_of_half_a_word", control->filters_bytes = 4);
	REFUSES("a_budget_that_begins_outside", control->budget_offset_bytes = ~63u);
	REFUSES("a_budget_that_ends_outside",
		control->budget_offset_bytes =
			(uint32_t)(control->memory_bytes + ROOM_BYTES) & ~63u);
	REFUSES("a_budget_off_its_boundary", control->budget_offset_bytes = 4);
	REFUSES("an_arena_that_begins_outside", control->arena_offset_bytes = ~0u);
	REFUSES("an_arena_that_ends_outside", control->arena_bytes = ~0u);
	REFUSES("contexts_that_there_are_not", control->contexts = 1u << LULL_CONTEXTS);
	REFUSES("contexts_that_only_the_kernel_has", control->contexts = 1u << LULL_CONTEXT_GID);
	REFUSES("a_stack_that_is_too_long", control->user_frames = LULL_SESSION_FRAMES_MAX + 1);
	REFUSES("a_copy_of_the_stack_that_is_too_long",
		control->copy_bytes = LULL_SESSION_COPY_BYTES_MAX + 8);
	REFUSES("a_copy_of_the_stack_of_half_a_word", control->copy_bytes = 12);
	REFUSES("a_clock_that_there_is_not", control->clock_kind = 77);
}

static void rings(void)
{
	REFUSES("a_sub_buffer_size_that_no_ring_has", control->subbuf_size_bytes = 4097);
	REFUSES("a_number_of_sub_buffers_that_no_ring_has", control->subbuf_count = 3);
	REFUSES("physical_sub_buffers_that_no_ring_has", control->physical_count = 65);
	REFUSES("a_mode_that_there_is_not", control->mode = 9);
	REFUSES("rings_off_their_line", control->ring_stride_bytes += 8);
	REFUSES("rings_over_each_other", control->ring_stride_bytes = 64);
	REFUSES("rings_so_far_apart_that_they_wrap", control->ring_stride_bytes = WRAPS_IN_THREE);
	REFUSES("rings_that_begin_outside", control->rings_offset_bytes = 1ull << 62);
	REFUSES("rings_that_begin_off_a_line", control->rings_offset_bytes += 8);
	REFUSES("rings_that_end_outside",
		control->rings_offset_bytes = control->memory_bytes + ROOM_BYTES - 128);
	REFUSES("data_over_each_other", control->data_stride_bytes = SUBBUF);
	REFUSES("data_so_far_apart_that_they_wrap", control->data_stride_bytes = WRAPS_IN_THREE);
	REFUSES("data_off_their_line", control->data_stride_bytes += 4);
	REFUSES("data_that_begin_off_a_line", control->data_offset_bytes += 4);
	REFUSES("data_that_begin_outside", control->data_offset_bytes = 1ull << 62);
	REFUSES("data_that_end_outside", control->data_offset_bytes += ROOM_BYTES + 64);
}

/* In a process that may map no more memory than it has. Return: 0 when it is refused for that. */
static int is_taken_without_room(const struct offer *offer)
{
	struct rlimit none = { 0, 0 };
	pid_t child = fork();
	int status;

	if (!child)
		_exit(setrlimit(RLIMIT_AS, &none) || answer_to(offer) != -ENOMEM);
	return waitpid(child, &status, 0) != child || status != 0;
}

static void segments(void)
{
	struct offer unfinished = offer_make(0600), open = offer_make(0660);
	struct offer offer = offer_make(0600);
	char target[32];
	const char *targets[] = { "key:",  "key:x", "key:99999999999", "key:12345678901234",
				  "shm:1", "key:0", "key:-1",	       "/etc/passwd" };

	check(!is_taken(&open), "refused_where_others_may_write");
	unfinished.control->magic = 0;
	check(!is_taken(&unfinished), "refused_without_a_magic");
	check(!unfinished.control->refused_count, "and_not_counted_where_there_is_no_session_yet");
	offer_end(&unfinished);
	offer_end(&open);
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		link_make(&offer, targets[i]);
		check(!is_taken(&offer), targets[i]);
	}
	/* What is no digit, and would come to the same number. */
	snprintf(target, sizeof(target), LULL_SESSION_MEMORY_PREFIX "%d%c", offer.key / 10 + 1,
		 '0' - 10 + offer.key % 10);
	link_make(&offer, target);
	check(!is_taken(&offer), "refused_with_a_number_that_is_none");
	snprintf(target, sizeof(target), LULL_SESSION_MEMORY_PREFIX "%d", offer.key);
	link_make(&offer, target);
	check(is_taken(&offer) && !is_taken_without_room(&offer),
	      "refused_where_there_is_no_room_for_it");
	link_make(&offer, NULL);
	check(!is_taken(&offer), "refused_without_a_link");
	offer_end(&offer);
}

/* A session that is named twice is attached once. */
static void variable(void)
{
	struct offer offer = offer_make(0600);
	char text[256];

	snprintf(text, sizeof(text), "%s:%s/.:%s", offer.directory, offer.directory,
		 offer.directory);
	lull_process.user = geteuid();
	lull_attach(text);
	check(lull_process.attached == 1 && offer.control->process_count == 1 &&
		      !offer.control->refused_count,
	      "attached_once_where_it_is_named_twice");
	lull_session_forget(0);
	offer_end(&offer);
}

/* Put in the place of the offer's segment a copy that another user made and gave to us. */
static void present_take(struct offer *offer)
{
	size_t bytes = control_good().memory_bytes + ROOM_BYTES;
	unsigned char *present;
	struct shmid_ds status;
	char target[32];
	int pipe_ends[2], id = -1, key = key_free();

	if (pipe(pipe_ends))
		abort();
	if (fork() == 0) {
		if (setuid(NOBODY))
			_exit(1);
		id = shmget(key, bytes, IPC_CREAT | IPC_EXCL | 0600);
		shmctl(id, IPC_STAT, &status);
		status.shm_perm.uid = 0;
		shmctl(id, IPC_SET, &status);
		_exit(write(pipe_ends[1], &id, sizeof(id)) != sizeof(id));
	}
	wait(NULL);
	if (read(pipe_ends[0], &id, sizeof(id)) != sizeof(id))
		abort();
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	snprintf(target, sizeof(target), LULL_SESSION_MEMORY_PREFIX "%d", key);
	link_make(offer, target);
	shmctl(offer->id, IPC_RMID, NULL);
	offer->id = id;
	offer->key = key;
	present = shmat(id, NULL, 0);
	memcpy(present, offer->memory, bytes);
	shmdt(offer->memory);
	offer->memory = present;
}

/* Only root can give a segment away, and can attach what is not its own. */
static void owners(void)
{
	struct offer offer;
	struct shmid_ds status;

	if (geteuid() != 0) {
		skip("segments_of_other_users", "giving one away needs root");
		return;
	}
	offer = offer_make(0600);
	shmctl(offer.id, IPC_STAT, &status);
	status.shm_perm.uid = NOBODY;
	shmctl(offer.id, IPC_SET, &status);
	check(!is_taken(&offer), "refused_where_it_is_another_users");
	offer_end(&offer);
	offer = offer_make(0600);
	present_take(&offer);
	check(!is_taken(&offer), "refused_where_another_user_made_it");
	offer_end(&offer);
}

int main(void)
{
	controls();
	rings();
	segments();
	owners();
	variable();
	return sums();
}
