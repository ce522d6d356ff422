// SPDX-License-Identifier: MIT
/*
 * A hostile process beside honest ones in one session: it writes what it likes into the memory
 * that they share, and they must come to no harm, also while what is recorded is changed.
 *
 * scribble SEED MILLISECONDS: run by tests/hostile/run under `lull record`, with filters, rates and
 * a budget, or under `lull count`. Two honest processes record events, watch a canary, and start
 * others, which read what is there by then; each hostile one stores chosen values into chosen words
 * of the session's memory. As root, one hostile process is another user that kept root's memory (it
 * changed by the system call itself), one is another user in memory of its own, which only the
 * recorder shares with it; without root there is one of the same user. Prints what it did; the
 * status is 0 when the honest processes came to their end, unharmed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <lull/abi/packet.h>
#include <lull/abi/session.h>
#include <lull/trace.h>

#define HONEST 2
#define HOSTILE 2
#define CANARY_BYTES (1u << 20)
#define CANARY 0xa5
#define NOBODY 65534
/*
 * An honest process hangs when it computes for so much longer, however little the machine gives it,
 * or has not ended long after, computing or not.
 */
#define GRACE_MS 5000
#define PATIENCE_MS 90000

/* Where a session's memory is mapped, and how it was laid out before anyone scribbled. */
struct target {
	unsigned char *base;
	size_t bytes;
	struct lull_session_control control;
};

/* What the processes tell each other; nothing of it is in the session. */
struct tally {
	uint64_t events[HONEST];
	uint64_t harmed[HONEST];
	uint64_t stores[HOSTILE];
};

static struct tally *tally;
static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t random_below(uint64_t limit)
{
	return random_next() % limit;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The last segment mapped: of a process that changed its user, the new user's. */
static int target_find(struct target *target)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, until;
	char line[512];

	target->base = NULL;
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/SYSV") || sscanf(line, "%lx-%lx", &begin, &until) != 2)
			continue;
		target->base = (unsigned char *)begin;
		target->bytes = until - begin;
	}
	if (maps)
		fclose(maps);
	if (target->base)
		memcpy(&target->control, target->base, sizeof(target->control));
	return target->base ? 0 : -1;
}

/* Values that lead astray: limits, neighbours of what is there, indexes, addresses, tags. */
static uint64_t value_next(const struct target *target, uint64_t old)
{
	switch (random_below(12)) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return random_next();
	case 3:
		return old ^ 1ull << random_below(64);
	case 4:
		return old + random_below(4096) - 2048;
	case 5:
		return old + target->control.subbuf_size_bytes * (random_below(9) - 4);
	case 6:
		return random_below(1 << 16);
	case 7:
		return (old & ~0xffffull) | random_below(1 << 16);
	case 8:
		return (old & ~0xffffull) | random_below(2 * target->control.physical_count);
	case 9:
		return old + (8 << 20);
	case 10:
		return (uintptr_t)target->base + random_below(target->bytes);
	default:
		return LULL_HOLE(random_below(1 << 24), random_next()) ^ random_below(3);
	}
}

/* A word of each kind of place that a session has. */
static uint64_t *word_next(const struct target *target)
{
	const struct lull_session_control *control = &target->control;
	uint64_t rings = control->cpu_count + control->plain_count;
	uint64_t ring = random_below(2) ? random_below(control->cpu_count) : random_below(rings);
	uint64_t at = control->rings_offset_bytes + ring * control->ring_stride_bytes;
	uint64_t data = control->data_offset_bytes + ring * control->data_stride_bytes;
	uint64_t references = at + sizeof(struct lull_ring_shared);
	uint64_t commits = references + control->subbuf_count * sizeof(uint64_t);
	uint64_t subbuf = random_below(control->subbuf_count + 1) * control->subbuf_size_bytes;

	switch (random_below(12)) {
	case 0:
	case 1:
		at += 8 * random_below(sizeof(struct lull_ring_shared) / 8);
		break;
	case 2:
		at = references + 8 * random_below(control->subbuf_count);
		break;
	case 3:
		at = commits + 8 * random_below(2 * control->physical_count);
		break;
	case 4:
		at = data + subbuf + 8 * random_below(sizeof(struct lull_packet_header) / 8);
		break;
	case 5:
		at = data + subbuf + 4 * random_below(control->subbuf_size_bytes / 4 - 1);
		break;
	case 6:
		at = 8 * random_below(sizeof(*control) / 8);
		break;
	case 7:
		/* What became of each event's filter, and both copies of the filters and rates. */
		at = control->filters_offset_bytes;
		if (random_below(2))
			at += 8 * random_below(control->event_capacity * 4 / 8);
		else
			at += control->event_capacity * 4 +
			      8 * random_below(2 * control->filters_bytes / 8);
		break;
	case 8:
		at = control->patterns_offset_bytes + random_below(2) * control->patterns_bytes +
		     8 * random_below(32);
		break;
	case 9:
		/* The tables of a session that counts: words all over, and the first keys. */
		if (!control->count_pages)
			break;
		at = control->memory_bytes - control->count_pages * 4096ull;
		if (random_below(2))
			at += 8 * random_below(control->count_pages * 512ull);
		else
			at += 8 * random_below(2 * 512);
		break;
	case 10:
		/* Of a budget: how the first events are throttled, and how often they occurred. */
		if (!control->budget_offset_bytes)
			break;
		at = control->budget_offset_bytes +
		     4ull * control->event_capacity * random_below(1 + control->cpu_count) +
		     8 * random_below(16);
		break;
	default:
		at = control->events_offset_bytes +
		     8 * random_below((control->control_bytes - control->events_offset_bytes) / 8);
		break;
	}
	return (uint64_t *)(target->base + at);
}

static void hostile_run(int which, uint64_t until_ms)
{
	struct target target;
	uint64_t pause = random_below(3);

	/* The call itself, which liblull does not see: this process keeps root's memory. */
	if (which == 0 && geteuid() == 0)
		syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	else if (which == 1 && setuid(NOBODY))
		_exit(0);
	if (target_find(&target))
		_exit(2);
	while (now_ms() < until_ms) {
		for (int i = 0; i < 64; i++) {
			uint64_t *word = word_next(&target);

			*word = value_next(&target, *word);
			tally->stores[which]++;
		}
		/* A hole in the memory: the next who looks sees zeros. */
		if (random_below(1000) == 0)
			madvise(target.base + (random_below(target.bytes) & ~4095ull), 1 << 16,
				MADV_REMOVE);
		if (pause)
			usleep((useconds_t)(pause * 100));
	}
	_exit(0);
}

/* A process that only starts: its events are filtered by what it finds. Return: 0. */
static int start_run(void)
{
	for (uint64_t n = 0; n < 100; n++)
		lull_event("hostile:number", lull_i32(who, -1), lull_u64(n, n));
	return 0;
}

/* Wait for a process that was to start and end. Return: 1 where a signal ended it. */
static int start_judge(pid_t child)
{
	int status = 0;

	return waitpid(child, &status, 0) != child || WIFSIGNALED(status);
}

static void honest_run(int which, uint64_t until_ms)
{
	unsigned char *canary = malloc(CANARY_BYTES);
	char text[300];

	memset(canary, CANARY, CANARY_BYTES);
	memset(text, 'v', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	while (now_ms() < until_ms) {
		pid_t child = fork();

		if (!child) {
			/* Reads all that a process reads when it starts, filters too. */
			execl("/proc/self/exe", "scribble", "start", NULL);
			_exit(1);
		}
		tally->harmed[which] += (uint64_t)start_judge(child);
		for (uint64_t n = 0; n < 1000; n++) {
			lull_event("hostile:number", lull_i32(who, which), lull_u64(n, n));
			if (n % 7 == 0)
				lull_event("hostile:text", lull_str(text, text + n % 299));
			tally->events[which]++;
		}
		for (uint32_t i = 0; i < CANARY_BYTES; i++)
			tally->harmed[which] += canary[i] != CANARY;
		usleep(500);
	}
	_exit(0);
}

/* CPU time of a process that was not waited for yet. */
static uint64_t computed_ms(pid_t child)
{
	struct timespec computed = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(child, &clock) == 0)
		clock_gettime(clock, &computed);
	return (uint64_t)computed.tv_sec * 1000 + (uint64_t)computed.tv_nsec / 1000000;
}

/* Return: 0 when the process ended by itself, 1 when it was harmed. It was to run @run_ms. */
static int honest_judge(int which, pid_t child, uint64_t run_ms)
{
	uint64_t until_ms = now_ms() + run_ms + PATIENCE_MS;
	int status = 0;

	while (waitpid(child, &status, WNOHANG) == 0) {
		if (now_ms() > until_ms || computed_ms(child) > run_ms + GRACE_MS) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			printf("an honest process hangs after %llu events\n",
			       (unsigned long long)tally->events[which]);
			return 1;
		}
		usleep(10000);
	}
	if (WIFSIGNALED(status))
		printf("an honest process ends by signal %d after %llu events\n", WTERMSIG(status),
		       (unsigned long long)tally->events[which]);
	if (tally->harmed[which])
		printf("%llu bytes of an honest process changed, or processes of its ended\n",
		       (unsigned long long)tally->harmed[which]);
	return WIFSIGNALED(status) || tally->harmed[which];
}

int main(int count, char **argument)
{
	int harmed = 0, hostile_count = geteuid() == 0 ? HOSTILE : 1;
	pid_t honest[HONEST], hostile[HOSTILE];
	uint64_t run_ms, until_ms;

	if (count == 2)
		return start_run();
	if (count < 3)
		return 2;
	run_ms = strtoull(argument[2], NULL, 0);
	until_ms = now_ms() + run_ms;
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	lull_event("hostile:begin", lull_str(seed, argument[1]));
	for (int i = 0; i < HONEST; i++) {
		honest[i] = fork();
		if (!honest[i])
			honest_run(i, until_ms);
	}
	for (int i = 0; i < hostile_count; i++) {
		random_state = (strtoull(argument[1], NULL, 0) * HOSTILE + (uint64_t)i + 1) *
			       0x9e3779b97f4a7c15u;
		hostile[i] = fork();
		if (!hostile[i])
			hostile_run(i, until_ms);
	}
	for (int i = 0; i < HONEST; i++)
		harmed |= honest_judge(i, honest[i], run_ms);
	for (int i = 0; i < hostile_count; i++) {
		kill(hostile[i], SIGKILL);
		waitpid(hostile[i], NULL, 0);
	}
	printf("%llu stores beside %llu events\n",
	       (unsigned long long)(tally->stores[0] + tally->stores[1]),
	       (unsigned long long)(tally->events[0] + tally->events[1]));
	return harmed;
}
