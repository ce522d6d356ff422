// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session's sources: made from what a recorder asks for, enabled with the session, removed at its
 * end, which also comes when the recorder is killed.
 *
 * A source is registered with the kernel as soon as it is asked for, with a mask of 0, so that what
 * the kernel refuses is known then; enabling sets the mask. What is asked for can read all of the
 * kernel's memory, so it is for who may do that anyway. Paper: B 3.4 (control).
 */
#include <linux/capability.h>
#include <linux/security.h>
#include <linux/slab.h>
#include "catalogue.h"
#include "event.h"
#include "filtering.h"
#include "note.h"
#include "session.h"
#include "source/source.h"
#include "structure.h"

static DEFINE_MUTEX(mutex);

static int owner_check(void)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return security_locked_down(LOCKDOWN_KPROBES);
}

/* Whether the numbers that belong to one kind are as abi/kernel.h says, and those of others 0. */
static int sizes_check(const struct lull_kernel_source *asked)
{
	bool is_access = asked->kind == LULL_SOURCE_ACCESS;
	bool is_in_program =
		asked->kind == LULL_SOURCE_PROGRAM || asked->kind == LULL_SOURCE_PROGRAM_RETURN;
	bool has_offset =
		asked->kind != LULL_SOURCE_TRACEPOINT && asked->kind != LULL_SOURCE_RETURN;

	if (asked->flags || asked->kind < LULL_SOURCE_TRACEPOINT ||
	    asked->kind > LULL_SOURCE_PROGRAM_RETURN ||
	    asked->field_count > LULL_SOURCE_FIELDS_MAX || !asked->target_bytes ||
	    asked->target_bytes > LULL_SOURCE_TARGET_MAX || !asked->description_bytes ||
	    asked->description_bytes > LULL_DESCRIPTION_BYTES_MAX || (asked->offset && !has_offset))
		return -EINVAL;
	if (asked->kind == LULL_SOURCE_FUNCTION && asked->offset > INT_MAX)
		return -EINVAL;
	if (is_in_program && asked->offset > LLONG_MAX)
		return -EINVAL;
	if (asked->kind == LULL_SOURCE_RETURN)
		return asked->length > LULL_SOURCE_TARGET_MAX || asked->access ? -EINVAL : 0;
	if (!is_access)
		return asked->length || asked->access ? -EINVAL : 0;
	return asked->access == LULL_ACCESS_WRITE || asked->access == LULL_ACCESS_READ_WRITE ||
			       asked->access == LULL_ACCESS_EXECUTE ?
		       0 :
		       -EINVAL;
}

static void source_free(struct source *source)
{
	kvfree(source->target);
	kfree(source);
}

static int fields_copy(struct source *source)
{
	const struct lull_source_field __user *from = u64_to_user_ptr(source->asked.fields);
	uint32_t i;

	for (i = 0; i < source->asked.field_count; i++)
		if (copy_from_user(&source->fields[i].asked, from + i, sizeof(*from)))
			return -EFAULT;
	return 0;
}

/* Read name and level, and check the fields against their lines. */
static int description_read(struct source *source, const char *text, struct lull_note *note)
{
	const char *fields = text;
	size_t bytes = source->asked.description_bytes - 1;
	int i;

	if (lull_description_check(text, bytes))
		return -EINVAL;
	*note = (struct lull_note){ .type = LULL_NOTE_PROBE,
				    .name = text,
				    .name_bytes = strcspn(text, "\n"),
				    .description = text,
				    .description_bytes = bytes };
	for (i = 0; i < 3; i++) /* name, level, place: the check has found them */
		fields = strchr(fields, '\n') + 1;
	return lull_layout_check(source, fields);
}

/* Register a source whose layout is good. Return: its number, or an error. */
static long source_begin(struct session *session, struct source *source,
			 const struct lull_note *note)
{
	struct sources *all = &session->sources;
	uint32_t number = all->count;
	int error, id;

	if (number == LULL_SOURCES_MAX)
		return -ENOSPC;
	error = lull_place_watch(source);
	if (error)
		return error;
	id = lull_catalogue_describe(session, note);
	if (id < 0) {
		lull_place_leave(source);
		lull_places_settle();
		return id;
	}
	source->record.id[session->index] = id;
	source->bits = lull_filtering_bits(session, id);
	all->source[number] = source;
	all->count++;
	if (all->is_enabled)
		lull_store32_release(&source->record.enabled_mask, source->bits);
	return number;
}

long lull_source_add(struct session *session, const struct lull_kernel_source *asked)
{
	struct source *source;
	struct lull_note note;
	char *description;
	long result = owner_check();

	if (!result)
		result = sizes_check(asked);
	if (result)
		return result;
	description = lull_text_copy(asked->description, asked->description_bytes);
	if (IS_ERR(description))
		return PTR_ERR(description);
	source = kzalloc(sizeof(*source), GFP_KERNEL_ACCOUNT);
	result = -ENOMEM;
	if (!source)
		goto failed;
	source->asked = *asked;
	source->target = lull_text_copy(asked->target, asked->target_bytes);
	if (IS_ERR(source->target)) {
		result = PTR_ERR(source->target);
		source->target = NULL;
		goto failed;
	}
	result = fields_copy(source);
	if (!result)
		result = description_read(source, description, &note);
	if (!result) {
		mutex_lock(&mutex);
		result = source_begin(session, source, &note);
		mutex_unlock(&mutex);
	}
	if (result >= 0)
		source = NULL;
failed:
	if (source)
		source_free(source);
	kvfree(description);
	return result;
}

int lull_source_missed(struct session *session, struct lull_kernel_missed *missed)
{
	int error = -EINVAL;

	mutex_lock(&mutex);
	if (missed->number < session->sources.count) {
		missed->missed_count = lull_place_missed(session->sources.source[missed->number]);
		error = 0;
	}
	mutex_unlock(&mutex);
	return error;
}

uint32_t lull_sources_enable(struct session *session)
{
	uint32_t i;

	mutex_lock(&mutex);
	session->sources.is_enabled = true;
	for (i = 0; i < session->sources.count; i++)
		/* [site.enable:A], as in kernel/catalogue.c: the identifier before the mask's bit,
		 * else a probe writes the event under a wrong one */
		lull_store32_release(&session->sources.source[i]->record.enabled_mask,
				     session->sources.source[i]->bits);
	mutex_unlock(&mutex);
	return i;
}

void lull_sources_disable(struct session *session)
{
	uint32_t i;

	mutex_lock(&mutex);
	session->sources.is_enabled = false;
	for (i = 0; i < session->sources.count; i++)
		lull_store32(&session->sources.source[i]->record.enabled_mask, 0);
	mutex_unlock(&mutex);
}

void lull_sources_end(struct session *session)
{
	uint32_t i;

	if (!session->sources.count)
		return;
	for (i = 0; i < session->sources.count; i++)
		lull_place_leave(session->sources.source[i]);
	lull_places_settle();
	for (i = 0; i < session->sources.count; i++)
		source_free(session->sources.source[i]);
}
