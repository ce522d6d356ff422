/* SPDX-License-Identifier: MIT */
/*
 * Sampling, as far as probes need not hurry: chances are set, threads get their first numbers.
 * sampling.h says how it works.
 */
#include "sampling.h"

void lull_sampling_set(struct sampling *sampling, uint32_t sample)
{
	sampling->chance = SAMPLING_WHOLE / sample;
}

void lull_sampling_budget(struct sampling *sampling, const struct session *session, uint32_t event)
{
	const struct budget *budget = &session->budget;
	int is_kept = budget->throttles != NULL;

	sampling->throttle = is_kept ? budget->throttles + event : NULL;
	sampling->counts = is_kept ? budget->counts + event : NULL;
	sampling->row_mask = budget->row_mask;
	sampling->row_words = is_kept ? session->event_capacity : 0;
	sampling->place = lull_thread_place();
}

uint32_t lull_sampling_row(const struct thread *thread)
{
	return thread->writer.tid;
}

/* Every bit of the result depends on every bit of @number. */
static uint64_t mix(uint64_t number)
{
	number = (number ^ number >> 32) * 0xd6e8feb86659fd93ull;
	number = (number ^ number >> 32) * 0xd6e8feb86659fd93ull;
	return number ^ number >> 32;
}

/*
 * Threads differ by their identifiers, a process that gets an old number by its session's uuid, and
 * those that have no identifier by the addresses of their memory.
 */
void lull_sampling_seed(struct thread *thread)
{
	uint64_t uuid[2];

	__builtin_memcpy(uuid, lull_process.sessions[0].fixed.uuid, sizeof(uuid));
	thread->random = mix(mix(uuid[0] ^ lull_process.pid) ^ thread->writer.tid ^
			     (uint64_t)lull_process.generation << 32);
	thread->random = mix(thread->random ^ uuid[1] ^ (uintptr_t)thread);
}

void lull_sampling_renew(struct thread *thread)
{
	uint64_t state = lull_load(&lull_fork_page.state);

	if (!(thread->state & THREAD_SILENT) &&
	    (!state || (uint32_t)thread->state != (uint32_t)state))
		lull_thread_refresh();
}
