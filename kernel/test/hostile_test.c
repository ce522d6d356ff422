// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recorder that writes anything anywhere, and calls that are random bytes: the kernel goes on,
 * and another recorder's session has every event. Run in a kernel that has loaded lull.ko, by
 * tests/boot, which then looks for complaints of the kernel's.
 *
 * Usage: hostile_test [SEED].
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../check/test.h"
#include "lull/abi/context.h"
#include "session.h"
#include "switches.h"

#define SCRIBBLERS 2
#define ROUNDS 12 /* all events in the first: to enable them takes a while */
#define WORDS_PER_ROUND 4000
#define CALLS 1500
/*
 * A scribbler sleeps after so many words, on average. If it did not, an emulator that runs the
 * guest's CPUs in turn would have each change of the kernel's code, hundreds in a round, wait for
 * the end of a scribbler's turn: rounds would last long, with little interleaved in them.
 */
#define WORDS_AT_ONCE 20
#define SLEEP_US 1000

static uint64_t seed = 1;
static int is_over;

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* Any value, and more often one that is nearly right. */
static uint64_t random_value(uint64_t *state, uint64_t is)
{
	uint64_t value = random_next(state);

	switch (value >> 61) {
	case 0:
		return 0;
	case 1:
		return ~0ull >> (value & 63);
	case 2:
		return 1ull << (value & 63);
	case 3:
		return is + (value & 0xffff) - 0x8000;
	case 4:
		return is ^ 1ull << (value & 63);
	case 5:
		return is & ~0xffffull;
	default:
		return value;
	}
}

static __thread sigjmp_buf no_memory;

/* The ring of a CPU that never ran has no sub-buffers. */
static void no_memory_there(int number)
{
	(void)number;
	siglongjmp(no_memory, 1);
}

struct scribbler {
	pthread_t thread;
	struct recorder *recorder;
	uint64_t state;
};

static void *scribble(void *argument)
{
	struct scribbler *of = argument;
	const struct lull_session_control *layout = &of->recorder->layout;
	uint64_t controls_bytes = layout->data_offset_bytes - layout->rings_offset_bytes;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		uint64_t where = random_next(&of->state), at = where >> 3;
		volatile uint64_t *word;

		if (where & 7) /* more often at the words of a ring */
			at = layout->rings_offset_bytes + at % controls_bytes % 4096 +
			     at % layout->cpu_count * layout->ring_stride_bytes;
		word = (uint64_t *)(of->recorder->base + at % layout->memory_bytes / 8 * 8);
		if (!sigsetjmp(no_memory, 1))
			*word = random_value(&of->state, *word);
		if (random_next(&of->state) % WORDS_AT_ONCE == 0)
			usleep(SLEEP_US);
	}
	return NULL;
}

/* In half of the rounds context is recorded, too, as much of it as there is. */
static void context_ask(const struct recorder *recorder)
{
	struct lull_kernel_context asked = { .bytes = sizeof(asked) };

	asked.contexts = (uint32_t)random_next(&seed) & ((1u << LULL_CONTEXTS) - 1);
	asked.kernel_frames = random_next(&seed) % (LULL_KERNEL_FRAMES_MAX + 1);
	asked.user_frames = random_next(&seed) % (LULL_KERNEL_FRAMES_MAX + 1);
	if (random_next(&seed) & 1)
		ioctl(recorder->descriptor, LULL_KERNEL_CONTEXT, &asked);
}

/* One round: a session that is written over from its begin to its end. */
static int session_scribbled(const char *patterns, uint32_t mode)
{
	struct lull_kernel_plan plan = plan_of(patterns, mode);
	struct scribbler scribblers[SCRIBBLERS];
	struct recorder recorder;

	plan.subbuf_size_bytes = 4096;
	plan.subbuf_count = 2 << (random_next(&seed) & 3);
	CHECK(recorder_open(&recorder, &plan) == 0);
	is_over = 0;
	for (int i = 0; i < SCRIBBLERS; i++) {
		scribblers[i] =
			(struct scribbler){ .recorder = &recorder, .state = random_next(&seed) };
		pthread_create(&scribblers[i].thread, NULL, scribble, &scribblers[i]);
	}
	context_ask(&recorder);
	CHECK(recorder_enable(&recorder).enabled_count > 1);
	switches_make(200);
	for (int i = 0; i < WORDS_PER_ROUND / 100; i++)
		ioctl(recorder.descriptor, LULL_KERNEL_BARRIER);
	if (random_next(&seed) & 1)
		ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < SCRIBBLERS; i++)
		pthread_join(scribblers[i].thread, NULL);
	recorder_close(&recorder);
	return 0;
}

static int recorder_that_writes_anything_harms_only_itself(void)
{
	struct lull_kernel_plan plan = plan_of("sched:sched_switch", LULL_MODE_DISCARD);
	struct recorder honest;
	struct chain chain;
	long events = 0, read;

	plan.subbuf_count = 64;
	signal(SIGBUS, no_memory_there);
	CHECK(recorder_open(&honest, &plan) == 0);
	CHECK(recorder_enable(&honest).enabled_count == 1);
	chain = chain_begin(&honest);
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(session_scribbled(round ? "sched:*\nirq:*\ntimer:*" : "*",
					round & 1 ? LULL_MODE_DISCARD :
						    LULL_MODE_FLIGHT_RECORDER) == 0);
		read = recorder_read(&honest, chain_follow, &chain);
		CHECK(read >= 0);
		events += read;
	}
	printf("  %ld events, %ld switches linked, %ld not, %lu lost\n", events, chain.links,
	       chain.breaks, recorder_lost(&honest));
	CHECK(chain.links > ROUNDS * 200 && chain.breaks == 0 && recorder_lost(&honest) == 0);
	recorder_close(&honest);
	return 0;
}

static int calls_of_random_bytes_are_answered(void)
{
	struct lull_kernel_plan good = plan_of("sched:*", LULL_MODE_DISCARD);
	uint64_t bytes[16];
	int descriptor = -1, made = 0;

	for (int i = 0; i < CALLS; i++) {
		uint64_t what = random_next(&seed);

		if (descriptor < 0 || !(what & 0x3f)) {
			close(descriptor);
			descriptor = open(LULL_KERNEL_DEVICE, O_RDWR | O_CLOEXEC);
		}
		for (size_t k = 0; k < sizeof(bytes) / sizeof(*bytes); k++)
			bytes[k] = random_value(&seed, 0);
		if (what & 0x40)
			memcpy(bytes, &good, sizeof(good));
		if (what & 0x80) /* one word of a good plan is changed */
			bytes[what >> 8 & 7] = random_value(&seed, bytes[what >> 8 & 7]);
		made += !ioctl(descriptor, LULL_KERNEL_VERSION + (what >> 16 & 15),
			       what >> 32 & 0xf ? (void *)bytes : (void *)(uintptr_t)what);
	}
	close(descriptor);
	printf("  %d of %d calls did something\n", made, CALLS);
	CHECK(made > 0 && made < CALLS);
	return 0;
}

int main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		seed = strtoull(arguments[1], NULL, 0) | 1;
	RUN(recorder_that_writes_anything_harms_only_itself);
	RUN(calls_of_random_bytes_are_answered);
	return sums();
}
