/* SPDX-License-Identifier: MIT */
/*
 * The life of a traced process: what it records from its start to its exit, as which thread of
 * which process, and when. The test executes itself in a session, and reads the session's rings
 * when the process has ended; the process tells by a pipe what its identifiers were.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define LULL_OBJECT_ANNOUNCED /* and not weakly: process.c is to be linked */
#include "lull/trace.h"

#define PATTERNS "*\n!test:unwanted"
#include "credentials.h"
#include "offer_test.h"

#define FOUND_MAX 256
#define NUMBERS 16
#define TELL_FILE 9
#define COMPACT (1ull << LULL_COMPACT_TIMESTAMP_BITS)

extern void lull_object_loaded(void);

/* What an event of each number is recorded as; the thread that recorded it told this. */
struct teller {
	uint32_t number;
	uint32_t pid;
	uint32_t tid;
};

enum number {
	FROM_MAIN,
	FROM_THREAD,
	FROM_RENAMED,
	FROM_FORK,
	FROM_RAW_FORK,
	FROM_VFORK,
	AFTER_VFORK,
	WHILE_SILENT,
	AFTER_SILENCE,
	WHILE_CONFINED,
	BEFORE_DROP,
	AFTER_DROP,
};

struct found {
	char name[32];
	uint64_t cycles;
	struct lull_thread_record thread;
	const unsigned char *payload;
};

static struct found found[FOUND_MAX];
static uint32_t found_count;
static struct teller told[NUMBERS];

static __attribute__((noinline)) void record(uint32_t number)
{
	struct teller teller = { number, (uint32_t)getpid(), (uint32_t)gettid() };

	lull_event("test:work", lull_u32(number, number));
	lull_event("test:unwanted", lull_u32(number, number));
	if (write(TELL_FILE, &teller, sizeof(teller)) != sizeof(teller))
		_exit(9);
}

static void *record_in_thread(void *unused)
{
	record(FROM_THREAD);
	lull_thread_rename(&lull_thread, "renamed-and-cut-short");
	record(FROM_RENAMED);
	return unused;
}

static void child_end(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		_exit(8);
}

static void record_in_children(void)
{
	pid_t child = fork();

	if (!child) {
		record(FROM_FORK);
		_exit(0);
	}
	child_end(child);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		record(FROM_RAW_FORK);
		_exit(0);
	}
	child_end(child);
	child = vfork();
	if (!child) {
		record(FROM_VFORK);
		_exit(0);
	}
	child_end(child);
	record(AFTER_VFORK);
}

static int traced(void)
{
	pthread_t thread;

	record(FROM_MAIN);
	pthread_create(&thread, NULL, record_in_thread, NULL);
	pthread_join(thread, NULL);
	record_in_children();
	lull_thread_silence(1);
	record(WHILE_SILENT);
	lull_thread_silence(0);
	record(AFTER_SILENCE);
	lull_object_loaded(); /* nothing is new */
	lull_process_confined();
	record(WHILE_CONFINED);
	exit(7);
}

static int traced_and_dropped(void)
{
	static struct lull_user_change change;
	int error;

	record(BEFORE_DROP);
	lull_user_prepare(&change, NOBODY);
	error = setuid(NOBODY);
	lull_user_conclude(&change);
	record(AFTER_DROP);
	/* Private zeros are where root's memory was. */
	_exit(error || lull_process.user != NOBODY || lull_process.sessions[0].control->magic);
}

/* Execute this program in a session. Return: its status. */
static int execute(const struct offer *offer, const char *part, pid_t *child)
{
	char variable[128];
	char *arguments[] = { "life", (char *)part, "two words", NULL };
	char *environment[] = { "EMPTY=", variable, NULL };
	int ends[2], status = -1;
	struct teller teller;

	snprintf(variable, sizeof(variable), LULL_SESSION_VARIABLE "=%s", offer->directory);
	if (pipe(ends))
		abort();
	*child = fork();
	if (!*child) {
		dup2(ends[1], TELL_FILE);
		execve("/proc/self/exe", arguments, environment);
		_exit(127);
	}
	close(ends[1]);
	memset(told, 0, sizeof(told));
	while (read(ends[0], &teller, sizeof(teller)) == sizeof(teller))
		told[teller.number] = teller;
	close(ends[0]);
	waitpid(*child, &status, 0);
	return status;
}

/* The size of a payload, which its fields' types tell. */
static uint64_t payload_bytes(const char *field, const unsigned char *payload)
{
	uint64_t bytes = 0;
	uint32_t count;

	for (; *field; field = strchr(field, '\n') + 1) {
		if (!strncmp(field, "str ", 4)) {
			bytes += strlen((const char *)payload + bytes) + 1;
		} else if (!strncmp(field, "bytes ", 6)) {
			memcpy(&count, payload + bytes, sizeof(count));
			bytes += sizeof(count) + count;
		} else {
			bytes += strtoul(field + 1, NULL, 10) / 8;
		}
	}
	return (bytes + LULL_SLOT_ALIGN - 1) & ~(uint64_t)(LULL_SLOT_ALIGN - 1);
}

static uint64_t event_find(const struct session *session, uint32_t id, struct found *event)
{
	const struct lull_event_entry *entry = &session->events[id];
	char text[256], *field = text;

	if (id >= CAPACITY || !entry->offset_bytes || entry->length_bytes >= sizeof(text))
		abort();
	memcpy(text, session->arena + entry->offset_bytes - 1, entry->length_bytes);
	text[entry->length_bytes] = '\0';
	snprintf(event->name, sizeof(event->name), "%.*s", (int)strcspn(text, "\n"), text);
	for (int line = 0; line < 3; line++)
		field = strchr(field, '\n') + 1;
	return payload_bytes(field, event->payload);
}

static void packet_walk(const struct session *session, const struct lull_ring_subbuf *subbuf)
{
	uint64_t at = sizeof(struct lull_packet_header), cycles;
	struct found event = { .name = "" };

	memcpy(&cycles, subbuf->data + offsetof(struct lull_packet_header, timestamp_begin_cycles),
	       sizeof(cycles));
	while (at < subbuf->content_bytes && found_count < FOUND_MAX) {
		uint32_t word, id;

		memcpy(&word, subbuf->data + at, sizeof(word));
		id = word & 0xff;
		if (id == LULL_TAG_EXTENDED) {
			memcpy(&id, subbuf->data + at + 4, sizeof(id));
			memcpy(&cycles, subbuf->data + at + 8, sizeof(cycles));
			at += LULL_EXTENDED_HEADER_BYTES;
		} else {
			cycles += ((word >> 8) - cycles) & (COMPACT - 1);
			at += LULL_COMPACT_HEADER_BYTES;
		}
		event.payload = subbuf->data + at;
		event.cycles = cycles;
		if (id == LULL_EVENT_THREAD) {
			memcpy(&event.thread, event.payload, sizeof(event.thread));
			at += sizeof(event.thread);
			continue;
		}
		at += event_find(session, id, &event);
		found[found_count++] = event;
	}
}

/* Read what all rings hold. Return: 1 when all of it is committed and nothing is lost. */
static int session_read(const struct session *session)
{
	int whole = 1;

	found_count = 0;
	for (uint32_t i = 0; i < session->cpu_count + session->plain_count; i++) {
		const struct lull_ring *ring = &session->rings[i];
		struct lull_ring_subbuf subbuf;

		if (lull_ring_peek(ring, &subbuf))
			continue; /* nothing was written there */
		whole &= subbuf.complete == 1;
		for (int cause = 0; cause < LULL_LOST_CAUSES; cause++)
			whole &= !ring->shared->lost[cause];
		packet_walk(session, &subbuf);
	}
	return whole;
}

/* The only event of that name whose payload begins with @number, where that is not negative. */
static const struct found *only(const char *name, long number)
{
	const struct found *one = NULL;
	uint32_t begin;

	for (uint32_t i = 0; i < found_count; i++) {
		memcpy(&begin, found[i].payload, sizeof(begin));
		if (strcmp(found[i].name, name) || (number >= 0 && begin != (uint32_t)number))
			continue;
		if (one)
			return NULL;
		one = &found[i];
	}
	return one;
}

static int is_from(enum number number, uint32_t pid, uint32_t tid, const char *thread)
{
	const struct found *event = only("test:work", number);

	return event && event->thread.pid == pid && (event->thread.tid & LULL_TID_MASK) == tid &&
	       !strcmp(event->thread.name, thread);
}

static int is_told(enum number number, const char *thread)
{
	return is_from(number, told[number].pid, told[number].tid, thread);
}

static void rings_begin(const struct offer *offer, struct session *session)
{
	struct lull_directory directory = { offer->directory, strlen(offer->directory) };

	if (lull_session_attach(session, &directory, geteuid()))
		abort();
	session->control->active = 1;
	for (uint32_t i = 0; i < RINGS; i++)
		lull_ring_reset(&session->rings[i], 0);
}

static void start_and_exit(pid_t child)
{
	const struct found *start = only("process:start", -1), *end = only("process:exit", 7);
	const char *arguments;
	char path[512] = "";
	uint32_t ids[2];

	check(start && end, "a_process_records_its_start_and_its_exit_once");
	if (!start || readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		return;
	memcpy(ids, start->payload, sizeof(ids));
	check(ids[0] == (uint32_t)child && ids[1] == (uint32_t)getpid(),
	      "the_start_has_the_process_and_its_parent");
	arguments = (const char *)start->payload + sizeof(ids) + strlen(path) + 1;
	check(!strcmp((const char *)start->payload + sizeof(ids), path),
	      "the_start_has_the_path_of_the_program");
	check(!strcmp(arguments, "life traced two words"), "the_start_has_the_arguments");
}

/* How far this program reaches, as its own headers say: it is the first object. */
static int program_end(struct dl_phdr_info *object, size_t bytes, void *context)
{
	uint64_t *end = context;

	(void)bytes;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD)
			*end = object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
	return 1;
}

/* How far it reaches, its path, its build identifier. */
static int is_program(const struct found *object, const char *path)
{
	const unsigned char *at = object->payload + 2 * sizeof(uint64_t);
	uint64_t end, own_end = 0;
	uint32_t count;

	dl_iterate_phdr(program_end, &own_end);
	memcpy(&end, object->payload + sizeof(end), sizeof(end));
	memcpy(&count, at + strlen((const char *)at) + 1, sizeof(count));
	return end == own_end && !strcmp((const char *)at, path) && count == 20;
}

static void objects(void)
{
	char path[512] = "";
	int programs = 0, others = 0;
	uint64_t end;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		return;
	for (uint32_t i = 0; i < found_count; i++) {
		if (strcmp(found[i].name, "process:object"))
			continue;
		memcpy(&end, found[i].payload + sizeof(end), sizeof(end));
		if (is_program(&found[i], path))
			programs++;
		else
			others += end > 4096;
	}
	check(programs == 1 && others >= 2, "a_process_records_its_objects_with_their_builds");
}

static void dated(uint64_t begin_ns, uint64_t until_ns)
{
	const struct found *last = NULL;
	int wrong = 0;

	for (uint32_t number = FROM_MAIN; number <= WHILE_CONFINED; number++) {
		const struct found *event = only("test:work", number);

		if (!event)
			continue;
		wrong += event->cycles < begin_ns || event->cycles > until_ns;
		wrong += last && event->cycles < last->cycles;
		last = event;
	}
	check(!wrong && last, "events_are_dated_between_start_and_exit_in_their_order");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void life(void)
{
	struct offer offer = offer_make(0600);
	const struct lull_session_control *control = offer.control;
	struct session session = { 0 };
	uint64_t begin_ns = now_ns();
	pid_t child;
	int status;

	rings_begin(&offer, &session);
	status = execute(&offer, "traced", &child);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a_traced_process_ends_as_untraced");
	check(session_read(&session), "all_is_committed_and_nothing_lost");
	start_and_exit(child);
	objects();
	dated(begin_ns, now_ns());
	check(is_told(FROM_MAIN, "exe") && told[FROM_MAIN].pid == (uint32_t)child,
	      "an_event_has_its_thread");
	check(is_told(FROM_THREAD, "exe") && told[FROM_THREAD].tid != (uint32_t)child,
	      "a_thread_has_its_own_number_and_its_process_name");
	check(is_told(FROM_RENAMED, "renamed-and-cut"),
	      "a_thread_that_is_renamed_has_its_new_name");
	check(is_told(FROM_FORK, "exe"), "a_forked_child_is_recorded_as_itself");
	check(is_from(FROM_RAW_FORK, 0, 0, "exe"),
	      "a_child_of_a_system_call_of_the_programs_own_is_nobody_else");
	check(is_told(FROM_VFORK, "exe") && is_told(AFTER_VFORK, "exe"),
	      "a_vfork_child_is_recorded_as_itself_and_its_parent_afterwards");
	check(!only("test:work", WHILE_SILENT) && is_told(AFTER_SILENCE, "exe"),
	      "a_silent_thread_records_nothing_until_it_is_not");
	check(is_told(WHILE_CONFINED, "exe"), "a_confined_process_is_recorded");
	check(!only("test:unwanted", -1) && !only("test:unwanted", FROM_MAIN),
	      "an_event_that_no_pattern_wants_is_not_recorded");
	check(control->process_count == 3, "the_process_and_its_forks_are_counted");
	check(control->site_count == control->enabled_count + 1 && !control->unpatched_count &&
		      !control->unregistered_count,
	      "all_sites_are_counted_and_all_wanted_ones_enabled");
	lull_session_detach(&session);
	offer_end(&offer);
}

/* Root's process becomes another user: it goes on in that user's memory, which it makes. */
static void drop(void)
{
	struct offer offer;
	struct session session = { 0 }, dropped = { 0 };
	struct lull_directory directory;
	char path[128];
	pid_t child;
	int status;

	if (geteuid() != 0) {
		skip("a_process_that_drops_root", "needs root");
		return;
	}
	offer = offer_make(0600);
	directory = (struct lull_directory){ offer.directory, strlen(offer.directory) };
	rings_begin(&offer, &session);
	status = execute(&offer, "dropped", &child);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a_traced_process_can_drop_root");
	check(session_read(&session) && is_told(BEFORE_DROP, "exe") &&
		      !only("test:work", AFTER_DROP),
	      "the_memory_of_root_has_what_was_before");
	check(offer.control->refused_count == 0, "no_process_is_refused");
	check(lull_session_attach(&dropped, &directory, NOBODY) == 0,
	      "memory_of_the_new_user_was_made");
	check(dropped.control && session_read(&dropped) && is_told(AFTER_DROP, "exe") &&
		      !only("test:work", BEFORE_DROP),
	      "and_has_what_comes_after");
	check(dropped.control && dropped.control->process_count == 1 &&
		      dropped.control->user_id == NOBODY,
	      "and_counts_the_process");
	check(dropped.control && offer.control->label_count > 0 &&
		      dropped.control->label_count >= offer.control->label_count,
	      "and_gives_out_labels_behind_those_that_the_process_has");
	check(dropped.control && !strcmp(dropped.patterns, PATTERNS),
	      "and asks for the same events");
	if (dropped.control) {
		shmctl(dropped.map.id, IPC_RMID, NULL);
		lull_session_detach(&dropped);
	}
	snprintf(path, sizeof(path), "%s/%s-%d", offer.directory, LULL_SESSION_MEMORY_LINK, NOBODY);
	check(unlink(path) == 0, "and_is_linked_under_its_number");
	lull_session_detach(&session);
	offer_end(&offer);
}

int main(int count, char **arguments)
{
	if (count > 1 && !strcmp(arguments[1], "traced"))
		return traced();
	if (count > 1 && !strcmp(arguments[1], "dropped"))
		return traced_and_dropped();
	life();
	drop();
	return sums();
}
