// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The kernel's selftest: a module of core and its kernel port that at load drives one ring through
 * its life on this kernel and this CPU, and refuses to load if the ring does not hold what was
 * written.
 *
 * The module records no events of the kernel, and has no probes, files or hotplug. It shows that
 * the sources of core work in the kernel. Paper: B 4.3.1, 4.3.2 (algorithms 1-7).
 */
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "clock_kernel.h"
#include "lull_port.h"
#include "ring.h"

#define CHECK_SUBBUF_BYTES LULL_SUBBUF_BYTES_MIN
#define CHECK_SUBBUF_COUNT LULL_SUBBUF_COUNT_MIN
#define CHECK_PHYSICAL_COUNT (2 * CHECK_SUBBUF_COUNT)
#define CHECK_EVENTS_MAX CHECK_SUBBUF_BYTES /* a slot has more than one byte */

/* Write events of one word until the first sub-buffer is full. Return: how many, or -errno. */
static int events_write(struct lull_ring *ring)
{
	struct lull_ring_writer writer = { .pid = current->tgid, .tid = current->pid };
	struct lull_ring_slot slot;
	uint64_t value;
	int error;

	strscpy(writer.name, current->comm, sizeof(writer.name));
	for (value = 0; value < CHECK_EVENTS_MAX; value++) {
		error = lull_ring_reserve(ring, &writer, LULL_EVENT_FIRST, sizeof(value), &slot);
		if (error)
			return error;
		lull_copy(slot.payload, &value, sizeof(value));
		lull_ring_commit(&slot);
		if (lull_ring_poll(ring) != LULL_RING_EMPTY)
			return (int)value + 1;
	}
	return -EOVERFLOW;
}

/* The slots of one packet, from its header on. Return: how many events count up from 0. */
static int events_count(const unsigned char *data, uint64_t content_bytes)
{
	uint64_t at = sizeof(struct lull_packet_header), value;
	int events = 0;

	/* Bound: each round goes on by the size of a slot. */
	while (at + LULL_COMPACT_HEADER_BYTES <= content_bytes) {
		uint32_t id = data[at];

		if (id == LULL_TAG_EXTENDED) {
			lull_copy(&id, data + at + sizeof(id), sizeof(id));
			at += LULL_EXTENDED_HEADER_BYTES;
		} else {
			at += LULL_COMPACT_HEADER_BYTES;
		}
		if (id == LULL_EVENT_THREAD) {
			at += sizeof(struct lull_thread_record);
			continue;
		}
		if (id != LULL_EVENT_FIRST || at + sizeof(value) > content_bytes)
			return -EBADMSG;
		lull_copy(&value, data + at, sizeof(value));
		if (value != (uint64_t)events)
			return -EBADMSG;
		at += sizeof(value);
		events++;
	}
	return events;
}

/* Read back the sub-buffer that events_write() filled. Return: how many events, or -errno. */
static int events_read(struct lull_ring *ring)
{
	const struct lull_packet_header *header;
	struct lull_ring_subbuf subbuf;
	uint32_t spare = CHECK_SUBBUF_COUNT;
	int events, error = lull_ring_get(ring, &spare, &subbuf);

	if (error)
		return error;
	header = (const struct lull_packet_header *)subbuf.data;
	if (header->magic != LULL_PACKET_MAGIC || header->events_discarded ||
	    header->timestamp_end_cycles < header->timestamp_begin_cycles ||
	    header->content_size_bits > header->packet_size_bits)
		events = -EBADMSG;
	else
		events = events_count(subbuf.data, header->content_size_bits / 8);
	lull_ring_put(ring, &subbuf);
	return events;
}

static int ring_check(void)
{
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = CHECK_SUBBUF_BYTES,
		.subbuf_count = CHECK_SUBBUF_COUNT,
		.physical_count = CHECK_PHYSICAL_COUNT,
		.mode = LULL_MODE_DISCARD,
	};
	struct lull_ring_memory memory = { NULL, NULL };
	struct lull_ring ring;
	void *control = NULL;
	int written = -ENOMEM, read = -ENOMEM;

	if (lull_ring_check(&geometry))
		return -EINVAL;
	control = kzalloc(lull_ring_control_bytes(&geometry), GFP_KERNEL);
	memory.base = vzalloc(CHECK_PHYSICAL_COUNT * CHECK_SUBBUF_BYTES);
	if (!control || !memory.base)
		goto out;
	preempt_disable();
	geometry.cpu_id = lull_cpu();
	lull_ring_attach(&ring, &geometry, control, memory);
	lull_ring_reset(&ring, 0);
	written = events_write(&ring);
	preempt_enable();
	read = written < 0 ? written : events_read(&ring);
out:
	vfree(memory.base);
	kfree(control);
	if (read != written - 1) { /* the last one opened the next sub-buffer */
		pr_err("lull_selftest: ring check: wrote %d events, read %d back\n", written, read);
		return read < 0 ? read : -EBADMSG;
	}
	pr_info("lull_selftest: ring check: wrote %d events, read the first %d back\n", written,
		read);
	return 0;
}

static int __init selftest_init(void)
{
	const char *reason;
	enum lull_clock_kind kind = lull_clock_setup(&reason);

	pr_info("lull_selftest: clock %s: %s\n", lull_clock_name(kind), reason);
	lull_barrier_heavy();
	return ring_check();
}

static void __exit selftest_exit(void)
{
}

module_init(selftest_init);
module_exit(selftest_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Lull's ring and clock, checked on this kernel at load");
