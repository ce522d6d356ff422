// SPDX-License-Identifier: MIT
/*
 * A hostile process that claims to be another one: it records events, and writes another process's
 * number and another user's over its own in all memory that it shares with the recorder, before
 * this has looked there. Two threads on one CPU record in turn, so that each event says again whose
 * it is.
 *
 * claim PID USER COUNT: run by tests/end_to_end/system_triggers.sh, where the recorder of
 * the whole machine has conditions on its events. It begins once it has the memory of the session
 * and of its companion. Prints how often it wrote; the status is 0 when it did.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <lull/trace.h>

#define SEGMENTS_MAX 16

struct memory {
	unsigned char *base;
	size_t bytes;
};

static struct memory segments[SEGMENTS_MAX];
static int segment_count;
static volatile int is_over;
static uint64_t stores;
static uint32_t own_pid, own_user, pid, user;
static volatile uint32_t other_thread;
static int event_count;

/* The System V segments that are mapped. Return: how many. */
static int segments_find(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, until;
	char line[512];
	int count = 0;

	while (maps && count < SEGMENTS_MAX && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/SYSV") || sscanf(line, "%lx-%lx", &begin, &until) != 2)
			continue;
		segments[count].base = (unsigned char *)begin;
		segments[count++].bytes = until - begin;
	}
	if (maps)
		fclose(maps);
	return count;
}

/* Numbers stand at multiples of four bytes, in thread records as in contexts. */
static void *scribble(void *unused)
{
	while (!is_over) {
		for (int i = 0; i < segment_count; i++) {
			volatile uint32_t *word = (volatile uint32_t *)segments[i].base;
			volatile uint32_t *until = word + segments[i].bytes / sizeof(*word);

			for (; word < until; word++) {
				uint32_t found = *word;

				if (found == 0)
					continue;
				if (found == own_pid || found == other_thread)
					*word = pid;
				else if (found == own_user)
					*word = user;
				else
					continue;
				stores++;
			}
		}
	}
	return unused;
}

static void *record(void *is_other)
{
	if (is_other)
		other_thread = (uint32_t)gettid();
	for (int i = 0; i < event_count; i++) {
		lull_event(EVENT, lull_i32(n, i));
		usleep(1000);
	}
	return NULL;
}

int main(int count, char **argument)
{
	pthread_t scribbler, other;
	cpu_set_t one;

	if (count < 4)
		return 2;
	pid = (uint32_t)atoi(argument[1]);
	user = (uint32_t)atoi(argument[2]);
	event_count = atoi(argument[3]);
	own_pid = (uint32_t)getpid();
	own_user = (uint32_t)getuid();
	/* Bound: the recorder's patience, for which the test waits. */
	for (int i = 0; i < 60000 && (segment_count = segments_find()) < 2; i++)
		usleep(1000);
	if (pthread_create(&scribbler, NULL, scribble, NULL))
		return 1;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) ||
	    pthread_create(&other, NULL, record, &event_count))
		return 1;
	record(NULL);
	pthread_join(other, NULL);
	is_over = 1;
	pthread_join(scribbler, NULL);
	printf("%d segments, %llu numbers replaced\n", segment_count, (unsigned long long)stores);
	return segment_count < 2 || stores == 0;
}
