/* SPDX-License-Identifier: MIT */
/*
 * Contexts of a program's events: what is written, in which order, and that a call stack is
 * followed only through memory that is this thread's stack, whatever stands in it.
 *
 *	context_test [ROUNDS [SEED]]
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../check/random.h"
#include "../check/test.h"
#include "context.h"

#define ROUNDS 20000u
#define WORDS 64u
#define CONTEXT(name) (1u << LULL_CONTEXT_##name)

/* What was written of a stack. */
struct walked {
	uint32_t bytes;
	uint32_t count;
	uint64_t address[LULL_SESSION_FRAMES_MAX];
};

static struct walked walk(uintptr_t *frame, uint32_t most)
{
	const struct context_plan plan = { .user_frames = most };
	const struct context_frame first = { (uintptr_t)frame, frame[0], frame[1], 0 };
	unsigned char to[CONTEXT_BYTES_MAX] __attribute__((aligned(8)));
	struct walked walked = { .bytes = lull_context_write(&plan, to, &first) };

	memcpy(&walked.count, to, sizeof(walked.count));
	if (walked.count <= LULL_SESSION_FRAMES_MAX)
		memcpy(walked.address, to + sizeof(walked.count), walked.count * sizeof(uint64_t));
	return walked;
}

/* Three frames, each two words behind the one before; the last has none before it. */
static void chain_make(uintptr_t *words)
{
	memset(words, 0, WORDS * sizeof(*words));
	words[0] = (uintptr_t)&words[2];
	words[1] = 0x1001;
	words[2] = (uintptr_t)&words[6];
	words[3] = 0x1002;
	words[7] = 0x1003;
}

static int frames_are_followed_to_the_last_or_to_as_many_as_were_asked_for(void)
{
	uintptr_t words[WORDS] __attribute__((aligned(16)));
	struct walked walked;

	chain_make(words);
	walked = walk(words, 32);
	CHECK(walked.count == 3 && walked.bytes == 4 + 3 * 8);
	CHECK(walked.address[0] == 0x1001 && walked.address[1] == 0x1002);
	CHECK(walked.address[2] == 0x1003);
	walked = walk(words, 2);
	CHECK(walked.count == 2 && walked.bytes == 4 + 2 * 8);
	words[3] = 0; /* nobody called it */
	CHECK(walk(words, 32).count == 1);
	return 0;
}

static int word_that_is_no_frame_ahead_in_the_stack_ends_the_walk(void)
{
	uintptr_t words[WORDS] __attribute__((aligned(16)));
	const uintptr_t wrong[] = {
		0,
		1,
		(uintptr_t)&words[2],
		(uintptr_t)&words[1],
		(uintptr_t)&words[6] + 4,
		(uintptr_t)__builtin_thread_pointer() + (1 << 20),
		UINTPTR_MAX,
		UINTPTR_MAX - 7,
		(uintptr_t)1 << 63,
		(uintptr_t)malloc,
	};

	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		chain_make(words);
		words[2] = wrong[i];
		CHECK(walk(words, 32).count == 2);
	}
	return 0;
}

static int stack_that_is_not_this_threads_has_one_frame(void)
{
	uintptr_t *words =
		mmap(NULL, 3 * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(words != MAP_FAILED && !mprotect(words + 65536 / 8, 65536, PROT_NONE));
	chain_make(words);
	CHECK(walk(words, 32).count == 1);
	words[0] = (uintptr_t)words + 65536; /* which cannot be read */
	CHECK(walk(words, 32).count == 1);
	munmap(words, 3 * 65536);
	chain_make(words = (uintptr_t[WORDS]){ 0 });
	CHECK(walk(words, 32).count == 3);
	return 0;
}

/* Stacks of any words, some of which lead on. Return: how many led on. */
static uint32_t hostile_rounds(uint32_t rounds, uint64_t seed)
{
	uintptr_t words[WORDS] __attribute__((aligned(16)));
	uint32_t longer = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		struct walked walked;

		random_begin(seed + round);
		for (uint32_t i = 0; i < WORDS; i++) {
			uintptr_t high = random_below(UINT32_MAX), low = random_below(UINT32_MAX);

			switch (random_below(5)) {
			case 0:
				words[i] = high << 32 | low;
				break;
			case 1:
				words[i] = (uintptr_t)words + random_below(1 << 20);
				break;
			case 2:
				words[i] = (uintptr_t)words - random_below(1 << 20);
				break;
			default:
				words[i] = (uintptr_t)&words[random_below(WORDS)];
			}
		}
		walked = walk(words, 16);
		longer += walked.count > 1;
		if (!walked.count || walked.count > 16 || walked.bytes != 4 + 8 * walked.count) {
			check(0, "walk_of_any_words_is_bounded");
			return 0;
		}
	}
	check(1, "walk_of_any_words_is_bounded");
	return longer;
}

static void *in_thread(void *argument)
{
	uintptr_t words[WORDS] __attribute__((aligned(16)));
	int *failed = argument;

	chain_make(words);
	*failed = walk(words, 32).count != 3;
	words[2] = (uintptr_t)__builtin_thread_pointer() - 8; /* half of it is beyond the end */
	*failed |= walk(words, 32).count != 2;
	return NULL;
}

static int stack_of_a_thread_ends_at_its_descriptor(void)
{
	pthread_t thread;
	int failed = 1;

	CHECK(!pthread_create(&thread, NULL, in_thread, &failed));
	pthread_join(thread, NULL);
	CHECK(!failed);
	return 0;
}

static uint32_t word_at(const unsigned char *from)
{
	uint32_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static int contexts_stand_in_the_order_of_their_numbers_and_cpu_time_behind_them(void)
{
	const struct context_plan plan = { CONTEXT(TID) | CONTEXT(PID) | CONTEXT(COMM) |
						   CONTEXT(PRIO) | CONTEXT(PID_NS) |
						   LULL_SESSION_CPU_TIME,
					   0, 0 };
	unsigned char to[CONTEXT_BYTES_MAX] __attribute__((aligned(8)));
	struct stat found;
	int64_t first, second;

	lull_identity_start();
	lull_context_begin(&plan);
	CHECK(lull_context_write(&plan, to, NULL) == 4 + 4 + 16 + 4 + 4 + 8);
	CHECK(word_at(to) == (uint32_t)getpid() && word_at(to + 4) == word_at(to));
	CHECK(!strcmp((char *)to + 8, lull_process.name));
	CHECK(word_at(to + 24) == 120u + (uint32_t)getpriority(PRIO_PROCESS, 0));
	CHECK(!stat("/proc/self/ns/pid", &found) && word_at(to + 28) == found.st_ino);
	memcpy(&first, to + 32, sizeof(first));
	for (volatile uint32_t i = 0; i < 1000000; i++)
		;
	lull_context_write(&plan, to, NULL);
	memcpy(&second, to + 32, sizeof(second));
	CHECK(first > 0 && second > first);
	return 0;
}

static int stack_whose_beginning_is_not_known_has_no_frame(void)
{
	const struct context_plan plan = { .user_frames = 8 };
	unsigned char to[CONTEXT_BYTES_MAX] __attribute__((aligned(8)));

	CHECK(lull_context_write(&plan, to, NULL) == 4 && !word_at(to));
	return 0;
}

/* What is written of a copy: its words, and how many bytes. */
struct copied {
	uint32_t bytes;
	uint32_t count;
	uint64_t word[LULL_SESSION_COPY_REGISTERS + LULL_SESSION_COPY_BYTES_MAX / 8];
};

static struct copied copied; /* of the last copy() */

/* Return: the bytes that were written are those that were announced. */
static int copy(const struct context_frame *frame, uint32_t most_bytes)
{
	static unsigned char to[sizeof(copied)] __attribute__((aligned(8)));
	const struct context_plan plan = { .copy_bytes = most_bytes };
	struct context_copy found;

	memset(to, 0xee, sizeof(to));
	memset(&copied, 0, sizeof(copied));
	if (!lull_context_copy_find(&found, &plan, frame) || found.bytes > sizeof(to) - 4)
		return 0;
	lull_context_copy_write(&found, to);
	copied.bytes = found.bytes;
	memcpy(&copied.count, to, sizeof(copied.count));
	memcpy(copied.word, to + sizeof(copied.count), found.bytes - sizeof(copied.count));
	return to[found.bytes] == 0xee && found.bytes == 4 + 8 * copied.count;
}

static int copy_has_registers_and_the_words_from_the_stack_pointer_on(void)
{
	uintptr_t words[WORDS] __attribute__((aligned(16)));
	const struct context_frame frame = { (uintptr_t)words, 0x1234, 0x1001,
					     (uintptr_t)&words[2] };
	const struct context_plan none = { .user_frames = 3 };
	struct context_copy found;

	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = 7000 + i;
	CHECK(copy(&frame, 32 * 8) && copied.count == 3 + 32);
	CHECK(copied.word[0] == 0x1001 && copied.word[1] == (uintptr_t)&words[2]);
	CHECK(copied.word[2] == 0x1234 && copied.word[3] == 7002 && copied.word[34] == 7033);
	CHECK(copy(NULL, 32 * 8) && copied.count == 0);
	CHECK(!lull_context_copy_find(&found, &none, &frame));
	return 0;
}

/* @stack: any. Whatever it is, what is copied is of this thread's stack. */
static int copies_within(uintptr_t *words, uintptr_t stack)
{
	const struct context_frame frame = { (uintptr_t)words, 0, 0x1001, stack };
	uintptr_t end = (uintptr_t)__builtin_thread_pointer();
	uint32_t count;

	if (!copy(&frame, LULL_SESSION_COPY_BYTES_MAX) || copied.count < 3)
		return 0;
	count = copied.count - 3;
	return !count || (stack > (uintptr_t)words && stack < end && count <= (end - stack) / 8);
}

static void *copy_in_thread(void *argument)
{
	uintptr_t words[WORDS] __attribute__((aligned(16))) = { 0 };
	uintptr_t end = (uintptr_t)__builtin_thread_pointer();
	const uintptr_t wrong[] = {
		0,	 (uintptr_t)words, (uintptr_t)words - 8, (uintptr_t)&words[1] + 4, end,
		end + 8, end - 4,	   (uintptr_t)1 << 63,	 UINTPTR_MAX - 7,
	};
	int *failed = argument;

	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		*failed |= !copies_within(words, wrong[i]) || copied.count != 3;
	*failed |= !copies_within(words, (end & ~(uintptr_t)7) - 16) || copied.count != 3 + 2;
	*failed |= !copies_within(words, (uintptr_t)&words[2]) || copied.count <= 3;
	return NULL;
}

static int copy_ends_with_the_stack_and_is_of_nothing_else(void)
{
	pthread_t thread;
	int failed = 0;

	CHECK(!pthread_create(&thread, NULL, copy_in_thread, &failed));
	pthread_join(thread, NULL);
	CHECK(!failed);
	return 0;
}

static int process_that_confined_itself_is_told_nothing_that_takes_a_call(void)
{
	const struct context_plan plan = { CONTEXT(PRIO) | CONTEXT(PID_NS) | LULL_SESSION_CPU_TIME,
					   0, 0 };
	unsigned char to[CONTEXT_BYTES_MAX] __attribute__((aligned(8)));
	int64_t time;

	lull_process_confined();
	lull_context_begin(&plan);
	CHECK(lull_context_write(&plan, to, NULL) == 16);
	memcpy(&time, to + 8, sizeof(time));
	CHECK((int32_t)word_at(to) == LULL_SESSION_PRIO_UNKNOWN && !word_at(to + 4) && time == -1);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : ROUNDS, longer;

	RUN(contexts_stand_in_the_order_of_their_numbers_and_cpu_time_behind_them);
	RUN(frames_are_followed_to_the_last_or_to_as_many_as_were_asked_for);
	RUN(word_that_is_no_frame_ahead_in_the_stack_ends_the_walk);
	RUN(stack_that_is_not_this_threads_has_one_frame);
	RUN(stack_of_a_thread_ends_at_its_descriptor);
	RUN(stack_whose_beginning_is_not_known_has_no_frame);
	RUN(copy_has_registers_and_the_words_from_the_stack_pointer_on);
	RUN(copy_ends_with_the_stack_and_is_of_nothing_else);
	longer = hostile_rounds(rounds, argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
	check(longer > rounds / 10, "words_that_lead_on_are_followed");
	RUN(process_that_confined_itself_is_told_nothing_that_takes_a_call);
	return sums();
}
