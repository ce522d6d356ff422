/* SPDX-License-Identifier: MIT */
/*
 * Eight writer processes with two threads each, killed at random times and replaced.
 *
 *	writers KILLS PROGRESS-FILE SEED [BURST]
 *
 * BURST: events of a thread between two pauses, so that the recorder is not what is tested.
 *
 * Each thread records test:sequence with its own writer number and 1, 2, 3, ... and after each
 * event notes the number in the progress file, which outlives it. What the file says was
 * committed must be in the trace; check.py compares.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <lull/trace.h>

#define PROCESSES 8
#define THREADS 2
#define KILLS_MAX 100000
#define BURST_EVENTS 200

static uint64_t burst_events = BURST_EVENTS;

struct writer {
	uint32_t number;
	volatile uint64_t *progress;
};

static void *write_events(void *argument)
{
	const struct timespec pause = { 0, 1000000 };
	struct writer *writer = argument;

	for (uint64_t sequence = 1;; sequence++) {
		lull_event("test:sequence", lull_u32(writer, writer->number),
			   lull_u64(sequence, sequence));
		*writer->progress = sequence;
		if (sequence % burst_events == 0)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static pid_t writer_start(uint32_t first, uint64_t *progress)
{
	pid_t child = fork();

	if (child == 0) {
		struct writer writers[THREADS];
		pthread_t thread;

		for (uint32_t i = 0; i < THREADS; i++)
			writers[i] = (struct writer){ first + i, &progress[first + i] };
		pthread_create(&thread, NULL, write_events, &writers[1]);
		write_events(&writers[0]);
	}
	return child;
}

int main(int count, char **arguments)
{
	long kills = count >= 4 ? strtol(arguments[1], NULL, 10) : 0;
	uint32_t next = 0;
	uint64_t *progress;
	pid_t child[PROCESSES];
	size_t bytes;
	int file;

	if (count == 5)
		burst_events = strtoul(arguments[4], NULL, 10);
	if (kills < 1 || kills > KILLS_MAX || count > 5 || !burst_events) {
		fprintf(stderr, "usage: writers KILLS PROGRESS-FILE SEED [BURST]\n");
		return 2;
	}
	srandom((unsigned int)strtoul(arguments[3], NULL, 10));
	bytes = ((size_t)kills + PROCESSES) * THREADS * sizeof(uint64_t);
	file = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0 || ftruncate(file, (off_t)bytes)) {
		perror(arguments[2]);
		return 2;
	}
	progress = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (progress == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	for (int i = 0; i < PROCESSES; i++, next += THREADS)
		child[i] = writer_start(next, progress);
	for (long done = 0; done < kills + PROCESSES; done++) {
		struct timespec pause = { 0, random() % 4000000 };
		int victim = done < kills ? (int)(random() % PROCESSES) : (int)(done - kills);

		nanosleep(&pause, NULL);
		kill(child[victim], SIGKILL);
		waitpid(child[victim], NULL, 0);
		if (done < kills) {
			child[victim] = writer_start(next, progress);
			next += THREADS;
		}
	}
	return 0;
}
