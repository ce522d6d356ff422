// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts that have a handler, in the order of their numbers, and each one's handlers.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqnr.h>
#include "dump/record.h"

#define NAME_BYTES 64
#define HANDLERS_MAX 64 /* of an interrupt that devices share */

struct found {
	unsigned int interrupt, position; /* of the handler in its interrupt */
	void *handler;
	char name[NAME_BYTES], chip[NAME_BYTES];
};

/* The handler at a position. Return: false where there is none. */
static bool handler_copy(struct found *found)
{
	const struct irqaction *action = NULL;
	struct irq_data *data;
	struct irq_desc *line;
	unsigned int i;

	rcu_read_lock();
	data = irq_get_irq_data(found->interrupt);
	if (!data)
		goto unlock;
	line = irq_data_to_desc(data);
	raw_spin_lock_irq(&line->lock);
	action = line->action;
	for (i = 0; action && i < found->position; i++)
		action = action->next;
	if (action) {
		found->handler = action->handler;
		strscpy(found->name, action->name ? action->name : "", NAME_BYTES);
		strscpy(found->chip, data->chip && data->chip->name ? data->chip->name : "",
			NAME_BYTES);
	}
	raw_spin_unlock_irq(&line->lock);
unlock:
	rcu_read_unlock();
	return action != NULL;
}

static void handler_record(struct dump *dump, const struct found *found)
{
	char symbol[NAME_BYTES];

	snprintf(symbol, sizeof(symbol), "%ps", found->handler);
	LULL_DUMP_EVENT(
		&dump->counts[DUMP_INTERRUPT], "state:interrupt", lull_u32(irq, found->interrupt),
		lull_strn(name, found->name, NAME_BYTES - 1),
		lull_strn(chip, found->chip, NAME_BYTES - 1), lull_ptr(handler, found->handler),
		lull_strn(symbol, symbol, NAME_BYTES - 1));
}

void lull_dump_interrupts(struct dump *dump)
{
	struct found found = { 0 };

	for (; found.interrupt < nr_irqs && lull_dump_goes_on(dump); found.interrupt++)
		for (found.position = 0; found.position < HANDLERS_MAX; found.position++) {
			if (!handler_copy(&found))
				break;
			handler_record(dump, &found);
		}
}
