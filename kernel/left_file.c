// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor of the session that a crash left in reserved memory: it is read, never written.
 *
 * Where a byte of the session lies is computed from the note that was checked when the module was
 * loaded; nothing of the session's own memory is believed here. Its reader copies it, and checks
 * the copy. Paper: B 4.5 (memory that survives a crash).
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "left_file.h"
#include "reserved.h"

#define READ_BYTES_MAX (1u << 20) /* by one call */

struct left_file {
	const unsigned char *range;
	struct lull_left_note note;
};

/*
 * What is at an offset of the mapping that the session had, and how much of it follows: of the
 * control block, what was written once is the note's, which the session's readers could not change.
 */
static const void *left_at(const struct left_file *of, uint64_t at, size_t *part)
{
	uint64_t offset;

	if (at < LULL_LEFT_FIXED_BYTES) {
		*part = LULL_LEFT_FIXED_BYTES - at;
		return (const char *)&of->note.layout + at;
	}
	offset = lull_range_at(&of->note.layout, &of->note.range, at);
	*part = PAGE_SIZE - offset_in_page(at);
	return offset ? of->range + offset : NULL;
}

static ssize_t left_read(struct file *file, char __user *to, size_t bytes, loff_t *position)
{
	const struct left_file *of = file->private_data;
	uint64_t at = *position, done = 0;

	bytes = min_t(size_t, bytes, READ_BYTES_MAX);
	/* Bound: READ_BYTES_MAX, by a page or what is left. */
	while (done < bytes && at + done < of->note.layout.memory_bytes) {
		size_t part;
		const void *from = left_at(of, at + done, &part);

		if (!from)
			return done ?: -ENXIO;
		part = min_t(size_t, part, bytes - done);
		if (copy_to_user(to + done, from, part))
			return done ?: -EFAULT;
		done += part;
	}
	*position += done;
	return done;
}

static long left_call(struct file *file, unsigned int call, unsigned long argument)
{
	if (call != LULL_KERNEL_FORGET)
		return -ENOTTY;
	lull_reserved_forget();
	return 0;
}

static int left_release(struct inode *inode, struct file *file)
{
	lull_reserved_close();
	kfree(file->private_data);
	return 0;
}

static const struct file_operations left_operations = {
	.owner = THIS_MODULE,
	.release = left_release,
	.unlocked_ioctl = left_call,
	.compat_ioctl = compat_ptr_ioctl,
	.read = left_read,
};

int lull_left_file_create(void)
{
	struct left_file *of = kzalloc(sizeof(*of), GFP_KERNEL_ACCOUNT);
	struct file *file;
	int descriptor;

	if (!of)
		return -ENOMEM;
	of->range = lull_reserved_open(&of->note);
	if (IS_ERR(of->range)) {
		descriptor = PTR_ERR(of->range);
		goto failed;
	}
	descriptor = get_unused_fd_flags(O_CLOEXEC);
	if (descriptor < 0)
		goto failed_open;
	file = anon_inode_getfile("lull:left", &left_operations, of, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(descriptor);
		descriptor = PTR_ERR(file);
		goto failed_open;
	}
	file->f_mode |= FMODE_PREAD;
	fd_install(descriptor, file);
	return descriptor;
failed_open:
	lull_reserved_close();
failed:
	kfree(of);
	return descriptor;
}
