// SPDX-License-Identifier: MIT
/*
 * A hostile process that claims to be another one: it records events, and writes another process's
 * numbers and another user's over its own in all memory that it shares with the recorder, before
 * this has looked there.
 *
 * claim PID USER MILLISECONDS: run by tests/end_to_end/system_triggers.sh, where the recorder of
 * the whole machine has conditions on its events. It begins once it has the memory of the session
 * and of its companion. Prints how often it wrote; the status is 0 when it did.
 */
#include <pthread.h>
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

static void replace(unsigned char *at, uint32_t found, uint32_t by)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	if (word != found)
		return;
	memcpy(at, &by, sizeof(by));
	stores++;
}

/* Numbers stand anywhere in an event. */
static void *scribble(void *unused)
{
	while (!is_over) {
		for (int i = 0; i < segment_count; i++) {
			unsigned char *base = segments[i].base;

			for (size_t at = 0; at + 4 <= segments[i].bytes; at++) {
				replace(base + at, own_pid, pid);
				replace(base + at, own_user, user);
			}
		}
	}
	return unused;
}

int main(int count, char **argument)
{
	pthread_t thread;

	if (count < 4)
		return 2;
	pid = (uint32_t)atoi(argument[1]);
	user = (uint32_t)atoi(argument[2]);
	own_pid = (uint32_t)getpid();
	own_user = (uint32_t)getuid();
	/* Bound: the recorder's patience, for which the test waits. */
	for (int i = 0; i < 60000 && (segment_count = segments_find()) < 2; i++)
		usleep(1000);
	if (pthread_create(&thread, NULL, scribble, NULL))
		return 1;
	for (int i = 0; i < atoi(argument[3]); i++) {
		lull_event(EVENT, lull_i32(n, i));
		usleep(1000);
	}
	is_over = 1;
	pthread_join(thread, NULL);
	printf("%d segments, %llu numbers replaced\n", segment_count, (unsigned long long)stores);
	return segment_count < 2 || stores == 0;
}
