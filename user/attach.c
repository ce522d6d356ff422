/* SPDX-License-Identifier: MIT */
/*
 * Attaching: map the session directories that LULL_SESSION names.
 *
 * A session's files come from another process, and others may write to them at any time. So the
 * control block is read once, into private memory, and it is the copy that is checked against the
 * files and used; the patterns are copied too. A session that does not pass is left alone; the
 * program runs on untraced. No descriptor stays open. Paper: B 3.2, 3.4.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>
#include "liblull.h"
#include "lull_port.h"
#include "syscall.h"

#define PATH_BYTES 512

struct mapping {
	unsigned char *base;
	uint64_t bytes;
};

static long file_size(int file)
{
	struct statx status;

	if (lull_syscall(__NR_statx, file, (long)"", AT_EMPTY_PATH, STATX_SIZE | STATX_UID,
			 (long)&status, 0) < 0)
		return -1;
	if (status.stx_uid && status.stx_uid != lull_syscall(__NR_geteuid, 0, 0, 0, 0, 0, 0))
		return -1; /* not ours and not root's: do not trust it */
	return (long)status.stx_size;
}

static int map_file(const char *directory, size_t length, const char *name, struct mapping *map)
{
	char path[PATH_BYTES];
	size_t name_bytes = __builtin_strlen(name) + 1;
	long file, size, base;

	if (length + 1 + name_bytes > sizeof(path))
		return -1;
	__builtin_memcpy(path, directory, length);
	path[length] = '/';
	__builtin_memcpy(path + length + 1, name, name_bytes);
	file = lull_syscall(__NR_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0,
			    0, 0);
	if (file < 0)
		return -1;
	size = file_size((int)file);
	base = size > 0 ? lull_syscall(__NR_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file,
				       0) :
			  -1;
	lull_syscall(__NR_close, file, 0, 0, 0, 0, 0);
	if (base < 0 && base > -4096)
		return -1;
	*map = (struct mapping){ (unsigned char *)base, (uint64_t)size };
	return 0;
}

static void unmap(const struct mapping *map)
{
	if (map->base)
		lull_syscall(__NR_munmap, (long)map->base, (long)map->bytes, 0, 0, 0, 0);
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

/* Does [offset, offset + bytes) lie in a file of @size? */
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

static int rings_attach(struct session *session, const struct lull_session_control *control,
			const struct mapping *rings)
{
	uint32_t ring_count = control->cpu_count + control->plain_count;
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = control->subbuf_size_bytes,
		.subbuf_count = control->subbuf_count,
		.physical_count = control->physical_count,
		.mode = control->mode,
	};
	uint64_t stride = control->ring_stride_bytes, data = control->data_stride_bytes;
	uint64_t data_offset = control->data_offset_bytes;

	if (lull_ring_check(&geometry) || stride % 64 || stride > rings->bytes ||
	    stride < lull_ring_control_bytes(&geometry) ||
	    !inside(0, stride * ring_count, rings->bytes) || data > rings->bytes ||
	    data < geometry.subbuf_size_bytes * geometry.physical_count ||
	    data > rings->bytes / ring_count ||
	    !inside(data_offset, data * ring_count, rings->bytes))
		return -1;
	session->rings = private_memory(ring_count * sizeof(struct lull_ring));
	if (!session->rings)
		return -1;
	__builtin_memcpy(geometry.uuid, control->uuid, sizeof(geometry.uuid));
	for (uint32_t i = 0; i < ring_count; i++) {
		geometry.plain = i >= control->cpu_count;
		geometry.cpu_id = i;
		lull_ring_attach(
			&session->rings[i], &geometry, rings->base + i * stride,
			(struct lull_ring_memory){ rings->base + data_offset + i * data, NULL });
	}
	return 0;
}

static int session_attach(struct session *session, const char *directory, size_t length)
{
	struct mapping control_map = { 0 }, rings = { 0 };
	struct lull_session_control *shared, control;

	if (map_file(directory, length, LULL_SESSION_CONTROL_FILE, &control_map))
		return -1;
	shared = (struct lull_session_control *)control_map.base;
	if (!control_copy(&control, &control_map))
		goto leave;
	if (!control_valid(&control, control_map.bytes) ||
	    patterns_copy(session, &control, &control_map) ||
	    map_file(directory, length, LULL_SESSION_RINGS_FILE, &rings) ||
	    rings_attach(session, &control, &rings) || lull_clock_start(control.clock_kind))
		goto refuse;
	session->control = shared;
	session->events =
		(struct lull_event_entry *)(control_map.base + control.events_offset_bytes);
	session->arena = (char *)control_map.base + control.arena_offset_bytes;
	session->cpu_count = control.cpu_count;
	session->plain_count = control.plain_count;
	session->event_capacity = control.event_capacity;
	session->arena_bytes = control.arena_bytes;
	__atomic_add_fetch(&shared->process_count, 1, __ATOMIC_RELAXED);
	return 0;
refuse:
	__atomic_add_fetch(&shared->refused_count, 1, __ATOMIC_RELAXED);
leave:
	unmap(&rings);
	unmap(&control_map);
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
