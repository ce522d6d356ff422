/* SPDX-License-Identifier: MIT */
/*
 * Attaching: map the session directories that LULL_SESSION names.
 *
 * A session's files come from another process, so every size and offset is checked against
 * the file once and kept in private memory. A session that does not pass is left alone; the
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
	       control->events_offset_bytes % 8 == 0 &&
	       ((const char *)
			control)[control->patterns_offset_bytes + control->patterns_bytes - 1] ==
		       '\0';
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
	long views;

	if (lull_ring_check(&geometry) || stride % 64 || stride > rings->bytes ||
	    stride < lull_ring_control_bytes(&geometry) ||
	    !inside(0, stride * ring_count, rings->bytes) || data > rings->bytes ||
	    data < geometry.subbuf_size_bytes * geometry.physical_count ||
	    data > rings->bytes / ring_count ||
	    !inside(data_offset, data * ring_count, rings->bytes))
		return -1;
	views = lull_syscall(__NR_mmap, 0, (long)(ring_count * sizeof(struct lull_ring)),
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (views < 0 && views > -4096)
		return -1;
	session->rings = (struct lull_ring *)views;
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
	struct lull_session_control *control;

	if (map_file(directory, length, LULL_SESSION_CONTROL_FILE, &control_map))
		return -1;
	control = (struct lull_session_control *)control_map.base;
	if (!control_valid(control, control_map.bytes) ||
	    map_file(directory, length, LULL_SESSION_RINGS_FILE, &rings) ||
	    rings_attach(session, control, &rings) || lull_clock_start(control->clock_kind))
		goto refuse;
	session->control = control;
	session->patterns = (const char *)control + control->patterns_offset_bytes;
	session->events =
		(struct lull_event_entry *)(control_map.base + control->events_offset_bytes);
	session->arena = (char *)control_map.base + control->arena_offset_bytes;
	session->cpu_count = control->cpu_count;
	session->plain_count = control->plain_count;
	session->event_capacity = control->event_capacity;
	session->arena_bytes = control->arena_bytes;
	__atomic_add_fetch(&control->process_count, 1, __ATOMIC_RELAXED);
	return 0;
refuse:
	if (control_map.bytes >= sizeof(*control) && control->magic == LULL_SESSION_MAGIC)
		__atomic_add_fetch(&control->refused_count, 1, __ATOMIC_RELAXED);
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
