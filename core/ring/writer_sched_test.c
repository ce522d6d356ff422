// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Writers for the ring's scenarios: they record numbered events and keep the books.
 *
 * Paper: T 8.6.1 (race flags: a writer owns its slot from reserve to commit).
 */
#include "ring_sched_test.h"

/* Retries are paid for by other writers' successes, refusals, and one switch of our own. */
static uint32_t attempts_bound(uint32_t writer)
{
	long others = parameter[EVENTS_A] + parameter[EVENTS_B] + parameter[NESTED];

	others -= writer == 0 ? parameter[EVENTS_A] :
		  writer == 1 ? parameter[EVENTS_B] :
				parameter[NESTED];
	return 2 * (uint32_t)others + 6;
}

static void payload_write(unsigned char *payload, uint32_t writer, uint32_t number)
{
	uint32_t bytes = (uint32_t)parameter[PAYLOAD], word[SUBBUF_BYTES / 4], i;

	word[0] = 0xe0000000u | writer << 8 | number;
	word[1] = ~word[0];
	for (i = 2; i < bytes / 4; i++)
		word[i] = word[0] ^ i;
	lull_copy(payload, word, bytes);
}

static void write_event(uint32_t writer, uint32_t number)
{
	struct lull_ring_writer self = { .pid = 7, .tid = writer + 1, .name = "w" };
	struct lull_ring_slot slot;
	int error;

	books->status[writer][number] = EVENT_STARTED;
	sched_attempts_reset();
	error = lull_ring_reserve(&ring, &self, LULL_EVENT_FIRST + writer,
				  (uint32_t)parameter[PAYLOAD], &slot);
	sched_check(sched_attempts() <= attempts_bound(writer), "%u attempts to reserve",
		    sched_attempts());
	sched_check(!error || error == -ENOBUFS || error == -EAGAIN, "reserve says %d", error);
	if (error) {
		books->status[writer][number] = error == -EAGAIN ? EVENT_NONE : EVENT_LOST;
		return;
	}
	books->status[writer][number] = EVENT_RESERVED;
	books->subbuf[writer][number] = (uint8_t)subbuf_number(slot.position);
	sched_own(slot.start, slot.slot_bytes);
	payload_write(slot.payload, writer, number);
	sched_disown(slot.start, slot.slot_bytes);
	books->status[writer][number] = EVENT_COMMITTING;
	lull_ring_commit(&slot);
	books->status[writer][number] = EVENT_COMMITTED;
}

void write_events(uint32_t writer, uint32_t first, uint32_t until)
{
	uint32_t number;

	for (number = first; number < until; number++)
		write_event(writer, number);
}

void writer_thread(long writer)
{
	write_events((uint32_t)writer, 0, (uint32_t)parameter[writer ? EVENTS_B : EVENTS_A]);
}

void nested_thread(long writer)
{
	uint32_t number = (uint32_t)parameter[PREFILL] + sched_run_index();

	write_events((uint32_t)writer, number, number + 1);
}
