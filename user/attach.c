/* SPDX-License-Identifier: MIT */
/*
 * Attaching: the memory of the sessions that LULL_SESSION names.
 *
 * A session's memory comes from another process, and others may write to it at any time. So the
 * control block is read once, into private memory, and it is the copy that is checked against the
 * size of the segment and used; the patterns are copied too. A session that does not pass is left
 * alone; the program runs on untraced. Paper: B 3.2, 3.4.
 */
#include <linux/fcntl.h>
#include <linux/ipc.h>
#include <linux/mman.h>
#include <linux/shm.h>
#include "liblull.h"
#include "lull_port.h"
#include "syscall.h"

#define PATH_BYTES 512
#define NUMBER_BYTES 12 /* a 32-bit number in decimal, and its end */
#define PREFIX_BYTES (sizeof(LULL_SESSION_MEMORY_PREFIX) - 1)
#define OTHERS_MODE 077 /* permissions that a segment gives to anybody but its user */

struct mapping {
	unsigned char *base;
	uint64_t bytes;
};

static uint32_t user_id(void)
{
	return (uint32_t)lull_syscall(__NR_geteuid, 0, 0, 0, 0, 0, 0);
}

static size_t text_append(char *text, size_t used, const char *more, size_t bytes)
{
	__builtin_memcpy(text + used, more, bytes);
	return used + bytes;
}

static size_t number_append(char *text, size_t used, uint32_t number)
{
	char digits[NUMBER_BYTES];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return text_append(text, used, digits + at, sizeof(digits) - at);
}

/* The number behind the prefix in a link's target, or -1. */
static long segment_parse(const char *target, long bytes)
{
	long id = 0;

	if (bytes <= (long)PREFIX_BYTES || bytes >= (long)(PREFIX_BYTES + NUMBER_BYTES) ||
	    __builtin_memcmp(target, LULL_SESSION_MEMORY_PREFIX, PREFIX_BYTES))
		return -1;
	for (long i = PREFIX_BYTES; i < bytes; i++) {
		if (target[i] < '0' || target[i] > '9')
			return -1;
		id = id * 10 + (target[i] - '0');
	}
	return id <= INT32_MAX ? id : -1;
}

/* Attach a segment that is our user's alone, made by our user or by root. */
static int segment_attach(long id, uint32_t user, struct mapping *map)
{
	struct shmid64_ds status;
	long base;

	if (lull_syscall(__NR_shmctl, id, IPC_STAT, (long)&status, 0, 0, 0) < 0 ||
	    status.shm_perm.uid != user ||
	    (status.shm_perm.cuid != user && status.shm_perm.cuid != 0) ||
	    (status.shm_perm.mode & OTHERS_MODE))
		return -1;
	base = lull_syscall(__NR_shmat, id, 0, 0, 0, 0, 0);
	if (base < 0 && base > -4096)
		return -1;
	*map = (struct mapping){ (unsigned char *)base, status.shm_segsz };
	return 0;
}

/* Attach the memory that a session has for @user. @own: that of the recorder's own user. */
static int memory_attach(const char *directory, size_t length, uint32_t user, int own,
			 struct mapping *map)
{
	static const char link[] = "/" LULL_SESSION_MEMORY_LINK;
	char path[PATH_BYTES], target[PREFIX_BYTES + NUMBER_BYTES];
	size_t used;
	long id;

	if (length + sizeof(link) + 1 + NUMBER_BYTES > sizeof(path))
		return -1;
	used = text_append(path, 0, directory, length);
	used = text_append(path, used, link, sizeof(link) - 1);
	if (!own) {
		used = text_append(path, used, "-", 1);
		used = number_append(path, used, user);
	}
	path[used] = '\0';
	id = segment_parse(target, lull_syscall(__NR_readlinkat, AT_FDCWD, (long)path, (long)target,
						sizeof(target), 0, 0));
	return id < 0 ? -1 : segment_attach(id, user, map);
}

static void unmap(const struct mapping *map)
{
	if (map->base)
		lull_syscall(__NR_shmdt, (long)map->base, 0, 0, 0, 0, 0);
}

static void *private_memory(uint64_t bytes)
{
	long base = lull_syscall(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return base < 0 && base > -4096 ? NULL : (void *)base;
}

/* What is in shared memory now; the compiler is kept from reading it there again. */
static void copy_once(void *to, const void *from, uint64_t bytes)
{
	__builtin_memcpy(to, from, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Does [offset, offset + bytes) lie in a segment of @size? */
static int inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

static int control_valid(const struct lull_session_control *control, uint64_t control_bytes)
{
	return control_bytes >= sizeof(*control) && control->magic == LULL_SESSION_MAGIC &&
	       control->version == LULL_SESSION_VERSION && control->cpu_count > 0 &&
	       control->cpu_count <= LULL_CPU_COUNT_MAX && control->plain_count > 0 &&
	       control->plain_count <= LULL_CPU_COUNT_MAX &&
	       control->event_capacity <= LULL_EVENT_CAPACITY_MAX && control->patterns_bytes > 0 &&
	       inside(control->patterns_offset_bytes, control->patterns_bytes, control_bytes) &&
	       inside(control->events_offset_bytes,
		      control->event_capacity * sizeof(struct lull_event_entry), control_bytes) &&
	       inside(control->arena_offset_bytes, control->arena_bytes, control_bytes) &&
	       control->events_offset_bytes % 8 == 0;
}

/* Return: the copy of a control block, or 0 when its recorder has not finished it. */
static int control_copy(struct lull_session_control *copy, const struct mapping *map)
{
	const struct lull_session_control *control = (const void *)map->base;

	/* The recorder writes magic last. */
	if (map->bytes < sizeof(*control) ||
	    __atomic_load_n(&control->magic, __ATOMIC_ACQUIRE) != LULL_SESSION_MAGIC)
		return 0;
	copy_once(copy, control, sizeof(*copy));
	return 1;
}

static int patterns_copy(struct session *session, const struct lull_session_control *control,
			 const struct mapping *map)
{
	char *patterns = private_memory(control->patterns_bytes);

	if (!patterns)
		return -1;
	copy_once(patterns, map->base + control->patterns_offset_bytes, control->patterns_bytes);
	session->patterns = patterns;
	return patterns[control->patterns_bytes - 1] == '\0' ? 0 : -1;
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

static int rings_attach(struct session *session, const struct lull_session_control *control,
			const struct mapping *map)
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

	if (!rings_valid(control, &geometry, map->bytes))
		return -1;
	session->rings = private_memory(ring_count * sizeof(struct lull_ring));
	if (!session->rings)
		return -1;
	__builtin_memcpy(geometry.uuid, control->uuid, sizeof(geometry.uuid));
	for (uint32_t i = 0; i < ring_count; i++) {
		struct lull_ring_memory memory = { data + i * control->data_stride_bytes, NULL };

		geometry.plain = i >= control->cpu_count;
		geometry.cpu_id = i;
		lull_ring_attach(&session->rings[i], &geometry,
				 rings + i * control->ring_stride_bytes, memory);
	}
	return 0;
}

static int session_attach(struct session *session, const char *directory, size_t length)
{
	struct mapping map = { 0 };
	struct lull_session_control *shared, control;
	uint32_t user = user_id();

	if (memory_attach(directory, length, user, 1, &map) &&
	    memory_attach(directory, length, user, 0, &map))
		return -1;
	shared = (struct lull_session_control *)map.base;
	if (!control_copy(&control, &map))
		goto leave;
	if (!control_valid(&control, map.bytes) || patterns_copy(session, &control, &map) ||
	    rings_attach(session, &control, &map) || lull_clock_start(control.clock_kind))
		goto refuse;
	session->control = shared;
	session->events = (struct lull_event_entry *)(map.base + control.events_offset_bytes);
	session->arena = (char *)map.base + control.arena_offset_bytes;
	session->cpu_count = control.cpu_count;
	session->plain_count = control.plain_count;
	session->event_capacity = control.event_capacity;
	session->arena_bytes = control.arena_bytes;
	__atomic_add_fetch(&shared->process_count, 1, __ATOMIC_RELAXED);
	return 0;
refuse:
	__atomic_add_fetch(&shared->refused_count, 1, __ATOMIC_RELAXED);
leave:
	unmap(&map);
	return -1;
}

uint32_t lull_attach(const char *sessions)
{
	while (*sessions && lull_process.session_count < LULL_SESSIONS_MAX) {
		const char *end = sessions;

		while (*end && *end != ':')
			end++;
		if (end != sessions &&
		    session_attach(&lull_process.sessions[lull_process.session_count], sessions,
				   (size_t)(end - sessions)) == 0)
			lull_process.session_count++;
		sessions = *end ? end + 1 : end;
	}
	return lull_process.session_count;
}
