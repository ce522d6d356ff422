/* SPDX-License-Identifier: MIT */
/*
 * Pairs: a call is drawn at its entry, and its exit does as the entry did.
 *
 * What was drawn is the thread's own, in a few places of thread-local memory, each of the calls of
 * one pair that the thread is in: a word that begins with a 1, behind which each entry shifts its
 * draw in, and from which each exit takes the latest out. So an exit belongs to the latest entry of
 * its name, as for readers. A word of 1 or 0 tells of no call, and its place may be another pair's.
 *
 * Where all places are taken, they are given to other pairs, one after the other; and the 64th of
 * calls in each other shifts the 1 out, and further ones the draws of the outermost. From then on
 * the thread records no exit of which it knows no entry: it may be that of any call, and readers
 * would take it for the exit of the latest one that is recorded. The number of a pair is made of
 * its session's, so draws of a session that is over are no other one's.
 *
 * A signal handler between a load and a store leaves what it found, for it ends the calls that it
 * begins. One that does not return, or a longjmp() out of calls, leaves draws that nobody asks for,
 * or that the next exit without an entry takes; readers do the same with such an entry. A child of
 * fork() has its parent's memory, and so its parent's calls.
 */
#include "pairs.h"
#include "sampling.h"

#define NAME_BYTES_MAX 256u

/* Of the word of a place: it is in no call. */
#define NO_CALL 1ull
#define IS_FULL(draws) ((draws) >> 63)

/* As tools/state reads names. */
static const struct {
	const char *entry;
	const char *exit;
} ends[] = {
	{ "_entry", "_exit" }, { "_enter", "_exit" }, { "_begin", "_end" },  { "_start", "_stop" },
	{ "_req", "_acq" },    { ":entry", ":exit" }, { ":enter", ":exit" }, { ":begin", ":end" },
};

#define ENDS (sizeof(ends) / sizeof(*ends))

/* Does a name end so, behind something? Return: the length of what is before, or 0. */
static size_t before(const struct lull_note *note, const char *end)
{
	size_t bytes = __builtin_strlen(end);

	if (note->name_bytes <= bytes || note->name_bytes > NAME_BYTES_MAX ||
	    __builtin_memcmp(note->name + note->name_bytes - bytes, end, bytes))
		return 0;
	return note->name_bytes - bytes;
}

/* Is an event of a name that begins with @begin and ends with @end sampled so, and unfiltered? */
static int is_sampled(const struct session *session, const char *begin, size_t bytes,
		      const char *end, uint32_t level, uint32_t sample)
{
	size_t end_bytes = __builtin_strlen(end);
	const struct lull_session_filter *filter;
	char name[NAME_BYTES_MAX + 8];
	int rule;

	__builtin_memcpy(name, begin, bytes);
	__builtin_memcpy(name + bytes, end, end_bytes);
	rule = lull_rules_decide(session->rules, session->rule_count, name, bytes + end_bytes,
				 level);
	/* A rule that leaves events out has none. */
	filter = lull_filter_find(session, rule);
	return filter && !filter->bytes && filter->sample == sample;
}

/* FNV-1a, going on. */
static uint64_t hash(uint64_t number, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		number = (number ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
	return number;
}

/*
 * The rate is part of the number: the partner's may be another one, where rules ask for the level,
 * which is not known here.
 */
static uint64_t number_of(const struct session *session, const char *name, size_t bytes,
			  uint32_t sample)
{
	uint64_t number = hash(lull_description_hash(name, bytes), session->fixed.uuid,
			       sizeof(session->fixed.uuid));

	number = hash(number, &sample, sizeof(sample));
	return number ? number : 1;
}

struct pair_end lull_pair_find(const struct session *session, const struct lull_note *note,
			       uint32_t sample)
{
	for (size_t i = 0; i < ENDS; i++) {
		size_t entry = before(note, ends[i].entry), exit = before(note, ends[i].exit);
		const char *other = entry ? ends[i].exit : ends[i].entry;

		if ((entry || exit) &&
		    is_sampled(session, note->name, entry + exit, other, note->level, sample))
			return (struct pair_end){
				number_of(session, note->name, entry + exit, sample), !entry
			};
	}
	return (struct pair_end){ 0 };
}

/* Where the pair's draws would be first. */
static uint32_t first_of(uint64_t pair)
{
	return (uint32_t)(pair ^ pair >> 32) % PAIRS_OPEN;
}

/* The draws of the calls of a pair that the thread is in; NULL where it is in none. */
static volatile struct pair_draws *draws_find(volatile struct thread *thread, uint64_t pair)
{
	for (uint32_t i = 0; i < PAIRS_OPEN; i++) {
		volatile struct pair_draws *found =
			&thread->pairs[(first_of(pair) + i) % PAIRS_OPEN];

		if (found->pair == pair && found->draws > NO_CALL)
			return found;
	}
	return NULL;
}

/* A place that is no pair's, or is from now on no longer another one's. */
static volatile struct pair_draws *draws_take(volatile struct thread *thread, uint64_t pair)
{
	uint32_t oldest;

	for (uint32_t i = 0; i < PAIRS_OPEN; i++) {
		volatile struct pair_draws *found =
			&thread->pairs[(first_of(pair) + i) % PAIRS_OPEN];

		if (found->draws <= NO_CALL)
			return found;
	}
	oldest = thread->pairs_oldest;
	thread->pairs_oldest = (oldest + 1) % PAIRS_OPEN;
	thread->pairs_forgotten = 1;
	return &thread->pairs[oldest % PAIRS_OPEN];
}

static int entry_draw(volatile struct thread *thread, uint64_t pair, int is_taken)
{
	volatile struct pair_draws *found = draws_find(thread, pair);
	uint64_t draws = NO_CALL;

	if (found) {
		draws = found->draws;
		if (IS_FULL(draws))
			thread->pairs_forgotten = 1;
		found->draws = draws << 1 | (uint64_t)is_taken;
		return is_taken;
	}
	found = draws_take(thread, pair);
	/*
	 * In this order: a signal handler that comes in between finds a place that is taken, if
	 * under a number that may be its own, and leaves it as it was.
	 */
	found->draws = draws << 1 | (uint64_t)is_taken;
	found->pair = pair;
	return is_taken;
}

int lull_pair_draw(const struct sampling *sampling)
{
	volatile struct thread *thread = &lull_thread;
	volatile struct pair_draws *found;
	uint64_t draws;

	if (!sampling->end.is_exit)
		return entry_draw(thread, sampling->end.pair, sampling_next() < sampling->chance);
	found = draws_find(thread, sampling->end.pair);
	if (!found)
		return !thread->pairs_forgotten && sampling_next() < sampling->chance;
	draws = found->draws;
	found->draws = draws >> 1;
	return (int)(draws & 1);
}
