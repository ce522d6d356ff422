// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor of one CPU's ring, for readers that map nothing, or that move pages without a copy.
 *
 * Probes wake nobody (B 4.3.3). While someone waits in poll(), a timer on the ring's CPU looks at
 * the ring; it is deferrable, so that a CPU that sleeps is not woken to find its ring as it was.
 *
 * A sub-buffer that is got belongs to the reader: in flight-recorder mode another one took its
 * place, in discard mode the writers do not come round to it. splice() lends its pages to a pipe,
 * and the pipe to files and sockets. The pages are mapped at fixed addresses, so others cannot take
 * their place: put refuses until nobody holds any of them. Paper: B 3.1, 4.3.2, 4.3.3.
 */
#include <linux/anon_inodes.h>
#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pipe_fs_i.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/timer.h>
#include "lull_port.h"
#include "ring_file.h"
#include "structure.h"

#define LOOK_JIFFIES max(HZ / 100, 1)

struct ring_file {
	struct session *session;
	unsigned int cpu;
	struct lull_ring *ring;
	struct mutex mutex; /* of the three that follow */
	struct lull_ring_subbuf subbuf; /* where is_got */
	bool is_got;
	uint64_t spliced_bytes; /* of the sub-buffer, from its begin */
	wait_queue_head_t waiters;
	spinlock_t timer_lock;
	struct timer_list timer;
};

/* What poll() says of the ring as it is now. */
static __poll_t ring_events(const struct ring_file *of)
{
	switch (lull_ring_poll(of->ring)) {
	case LULL_RING_URGENT:
		return EPOLLIN | EPOLLRDNORM | EPOLLPRI;
	case LULL_RING_READABLE:
		return EPOLLIN | EPOLLRDNORM;
	default:
		return READ_ONCE(of->session->is_enabled) ? 0 : EPOLLHUP;
	}
}

/* Look again later, on the ring's CPU. */
static void look_later(struct ring_file *of)
{
	unsigned long flags;

	spin_lock_irqsave(&of->timer_lock, flags);
	if (!timer_pending(&of->timer)) {
		of->timer.expires = jiffies + LOOK_JIFFIES;
		add_timer_on(&of->timer, cpu_online(of->cpu) ? of->cpu : smp_processor_id());
	}
	spin_unlock_irqrestore(&of->timer_lock, flags);
}

static void look(struct timer_list *timer)
{
	struct ring_file *of = container_of(timer, struct ring_file, timer);
	__poll_t events = ring_events(of);

	if (events)
		wake_up_poll(&of->waiters, events);
	else if (waitqueue_active(&of->waiters))
		look_later(of);
}

static __poll_t ring_poll(struct file *file, poll_table *table)
{
	struct ring_file *of = file->private_data;
	__poll_t events;

	poll_wait(file, &of->waiters, table);
	events = ring_events(of);
	if (!events)
		look_later(of);
	return events;
}

static struct page *subbuf_page(const struct ring_file *of, uint64_t offset_bytes)
{
	const struct memory *memory = &of->session->memory;
	uint64_t at = of->cpu * memory->layout.data_stride_bytes +
		      of->subbuf.physical * memory->layout.subbuf_size_bytes + offset_bytes;

	return lull_memory_page(&of->session->memory, memory->page_count + (at >> PAGE_SHIFT));
}

static long ring_get(struct ring_file *of, void __user *argument)
{
	const struct lull_session_control *layout = &of->session->memory.layout;
	struct lull_kernel_subbuf answer;
	long bytes = lull_structure_copy(&answer, sizeof(answer), argument);
	int error;

	if (bytes < 0)
		return bytes;
	if (answer.flags)
		return -EINVAL;
	if (of->is_got)
		return -EBUSY;
	error = lull_ring_get(of->ring, &of->session->memory.ring_memory[of->cpu].spare,
			      &of->subbuf);
	if (error)
		return error;
	of->is_got = true;
	of->spliced_bytes = 0;
	answer = (struct lull_kernel_subbuf){
		.bytes = bytes,
		.offset_bytes = of->subbuf.physical * layout->subbuf_size_bytes,
		.subbuf_bytes = layout->subbuf_size_bytes,
	};
	return lull_structure_answer(argument, &answer, sizeof(answer), bytes);
}

/* Does anyone but this session and who maps it hold a page that was spliced? */
static bool is_lent(const struct ring_file *of)
{
	uint64_t at;

	for (at = 0; at < of->spliced_bytes; at += PAGE_SIZE) {
		struct page *page = subbuf_page(of, at);

		/* A single page counts the mappings of it from -1. */
		if (page && page_count(page) > 1 + atomic_read(&page->_mapcount) + 1)
			return true;
	}
	return false;
}

static long ring_put(struct ring_file *of)
{
	if (!of->is_got)
		return -EINVAL;
	if (is_lent(of))
		return -EBUSY;
	lull_ring_put(of->ring, &of->subbuf);
	of->is_got = false;
	return 0;
}

static void switch_here(void *of)
{
	lull_ring_force_switch(((struct ring_file *)of)->ring);
}

/* Close the open sub-buffer, on the ring's CPU; for one that does not run, from here. */
static long ring_switch(struct ring_file *of)
{
	cpus_read_lock();
	if (cpu_online(of->cpu)) {
		smp_call_function_single(of->cpu, switch_here, of, 1);
	} else if (of->ring->memory.base) {
		struct lull_ring plain = *of->ring;

		plain.geometry.plain = 1; /* no writer is there, and none comes meanwhile */
		lull_ring_force_switch(&plain);
	}
	cpus_read_unlock();
	return 0;
}

static long ring_call(struct file *file, unsigned int call, unsigned long argument)
{
	struct ring_file *of = file->private_data;
	long result = -ENOTTY;

	mutex_lock(&of->mutex);
	switch (call) {
	case LULL_KERNEL_GET:
		result = ring_get(of, (void __user *)argument);
		break;
	case LULL_KERNEL_PUT:
		result = ring_put(of);
		break;
	case LULL_KERNEL_SWITCH:
		result = ring_switch(of);
		break;
	}
	mutex_unlock(&of->mutex);
	return result;
}

static void page_unwanted(struct splice_pipe_desc *pages, unsigned int index)
{
	put_page(pages->pages[index]);
}

static ssize_t ring_splice(struct file *file, loff_t *position, struct pipe_inode_info *pipe,
			   size_t bytes, unsigned int flags)
{
	struct ring_file *of = file->private_data;
	struct page *pages[PIPE_DEF_BUFFERS];
	struct partial_page parts[PIPE_DEF_BUFFERS];
	struct splice_pipe_desc lent = {
		.pages = pages,
		.partial = parts,
		.nr_pages_max = PIPE_DEF_BUFFERS,
		/* The kernel's own, since a pipe may keep pages when this module has gone. No page
		 * is stolen: all stay the session's. */
		.ops = &nosteal_pipe_buf_ops,
		.spd_release = page_unwanted,
	};
	uint64_t at, until;
	ssize_t result = -EINVAL;

	if (memory_is_reserved(&of->session->memory))
		return -EOPNOTSUPP; /* there is no struct page that a pipe could hold */
	mutex_lock(&of->mutex);
	if (!of->is_got)
		goto out;
	at = of->spliced_bytes;
	until = min_t(uint64_t, at + bytes, of->session->memory.layout.subbuf_size_bytes);
	while (at < until && lent.nr_pages < PIPE_DEF_BUFFERS) {
		struct partial_page *part = &parts[lent.nr_pages];
		struct page *page = subbuf_page(of, at);

		if (!page)
			break;
		*part = (struct partial_page){ .offset = offset_in_page(at) };
		part->len = min_t(uint64_t, PAGE_SIZE - part->offset, until - at);
		get_page(page);
		pages[lent.nr_pages++] = page;
		at += part->len;
	}
	result = lent.nr_pages ? splice_to_pipe(pipe, &lent) : 0;
	if (result > 0)
		of->spliced_bytes += result;
out:
	mutex_unlock(&of->mutex);
	return result;
}

static vm_fault_t ring_fault(struct vm_fault *fault)
{
	struct ring_file *of = fault->vma->vm_private_data;
	struct memory *memory = &of->session->memory;
	unsigned long stride = memory->layout.data_stride_bytes >> PAGE_SHIFT;

	return lull_memory_fault(memory, fault,
				 memory->page_count + fault->pgoff + of->cpu * stride);
}

static const struct vm_operations_struct map_operations = { .fault = ring_fault };

static int ring_map(struct file *file, struct vm_area_struct *area)
{
	struct ring_file *of = file->private_data;
	int error;

	if (area->vm_flags & VM_WRITE)
		return -EPERM;
	error = lull_memory_area(&of->session->memory, area,
				 of->session->memory.layout.data_stride_bytes, VM_MAYWRITE);
	if (error)
		return error;
	area->vm_private_data = of;
	area->vm_ops = &map_operations;
	return 0;
}

/* What is got is given back. A pipe that holds pages of it sees what is written there next. */
static int ring_release(struct inode *inode, struct file *file)
{
	struct ring_file *of = file->private_data;

	del_timer_sync(&of->timer);
	/* look() may have put the timer on another CPU's list, and del_timer_sync() looks there
	 * only: it still holds the lock then. */
	spin_lock_irq(&of->timer_lock);
	spin_unlock_irq(&of->timer_lock);
	if (of->is_got)
		lull_ring_put(of->ring, &of->subbuf);
	clear_bit(of->cpu, of->session->ring_readers);
	lull_session_put(of->session);
	kfree(of);
	return 0;
}

static const struct file_operations ring_operations = {
	.owner = THIS_MODULE,
	.release = ring_release,
	.unlocked_ioctl = ring_call,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = ring_poll,
	.mmap = ring_map,
	.splice_read = ring_splice,
};

int lull_ring_file_create(struct session *session, uint32_t cpu)
{
	struct ring_file *of;
	int descriptor;

	if (cpu >= session->memory.layout.cpu_count)
		return -EINVAL;
	if (test_and_set_bit(cpu, session->ring_readers))
		return -EBUSY;
	of = kzalloc(sizeof(*of), GFP_KERNEL_ACCOUNT);
	descriptor = -ENOMEM;
	if (!of)
		goto failed;
	of->session = session;
	of->cpu = cpu;
	of->ring = &session->memory.rings[cpu];
	mutex_init(&of->mutex);
	init_waitqueue_head(&of->waiters);
	spin_lock_init(&of->timer_lock);
	timer_setup(&of->timer, look, TIMER_DEFERRABLE | TIMER_PINNED);
	lull_session_get(session);
	descriptor = anon_inode_getfd("lull:ring", &ring_operations, of, O_RDWR | O_CLOEXEC);
	if (descriptor >= 0)
		return descriptor;
	lull_session_put(session);
	kfree(of);
failed:
	clear_bit(cpu, session->ring_readers);
	return descriptor;
}
