/* SPDX-License-Identifier: MIT */
/*
 * The measured program of the RCU tables: reads commands, one a line, and answers each with one.
 *
 *	pin CPU                     run on that CPU only
 *	loop NAME COUNT             time COUNT iterations (rcu_reads.c)
 *	mix READERS UPDATERS SECTION_CYCLES DELAY_CYCLES BATCH EXCHANGE MS   (rcu_mix.c)
 *	latency idle|busy|registered MS    each grace period alone (rcu_latency.c)
 *	calls UPDATERS COUNT ALLOCATE      callbacks after grace periods (rcu_calls.c)
 *	rate PER_SECOND COUNT CALLS        the same at a fixed rate (rcu_rates.c)
 */
#include <malloc.h>
#include <string.h>

#include "rcu_subject.h"

#if !SIDE_IS_RCU
struct side_lock side_locks[SIDE_READERS_MAX];
#endif

static cpu_set_t allowed; /* as the program was started, before any pin */
static double turns_per_cycle;

void rcu_subject_pin(unsigned int i)
{
	unsigned int cpu = 0, left = i % (unsigned int)CPU_COUNT(&allowed);

	while (!CPU_ISSET(cpu, &allowed) || left-- > 0)
		cpu++;
	timing_pin(cpu);
}

uint64_t rcu_subject_turns(uint64_t cycles)
{
	return (uint64_t)((double)cycles * turns_per_cycle);
}

/* The fastest of several tries: others on the machine only make it slower. */
static void calibrate(void)
{
	const uint64_t turns = 200000;
	uint64_t fewest = UINT64_MAX;

	for (int i = 0; i < 15; i++) {
		uint64_t begin = timing_cycles_ordered(), cycles;

		rcu_subject_spin(turns);
		cycles = timing_cycles_ordered() - begin;
		if (cycles < fewest)
			fewest = cycles;
	}
	turns_per_cycle = (double)turns / (double)fewest;
}

static int prepare(void)
{
	/* Memory stays with the program: no sample pays for pages that another gave back. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		perror("bench: sched_getaffinity");
		return -1;
	}
#if !SIDE_IS_RCU
	for (unsigned int i = 0; i < SIDE_READERS_MAX; i++) {
#ifdef SIDE_RWLOCK
		pthread_rwlock_init(&side_locks[i].lock, NULL);
#else
		pthread_mutex_init(&side_locks[i].lock, NULL);
#endif
	}
#endif
	calibrate();
	return 0;
}

static int answer(const char *line)
{
	char name[32];
	unsigned int cpu;
	unsigned long long count;

	if (sscanf(line, "pin %u", &cpu) == 1) {
		timing_pin(cpu);
		printf("pinned=%u\n", cpu);
		return 0;
	}
	if (sscanf(line, "loop %31s %llu", name, &count) == 2)
		return rcu_answer_loop(name, count);
	if (!strncmp(line, "mix ", 4))
		return rcu_answer_mix(line + 4);
#if SIDE_IS_RCU
	if (!strncmp(line, "latency ", 8))
		return rcu_answer_latency(line + 8);
	if (!strncmp(line, "calls ", 6))
		return rcu_answer_calls(line + 6);
	if (!strncmp(line, "rate ", 5))
		return rcu_answer_rate(line + 5);
#endif
	return -1;
}

int main(void)
{
	char line[256];

	if (prepare())
		return 2;
	printf("ready cpus=%d\n", CPU_COUNT(&allowed));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (answer(line)) {
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr, "bench subject: cannot run the command '%s'\n", line);
			return 2;
		}
		fflush(stdout);
	}
	return 0;
}
