// SPDX-License-Identifier: GPL-2.0-only
/*
 * The load of switches.h, and how its events are checked.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "switches.h"

void switches_make_on(int cpu, int count)
{
	cpu_set_t one, before;
	int there[2], back[2];
	char byte = 0;
	pid_t other;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_getaffinity(0, sizeof(before), &before);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back))
		abort();
	other = fork();
	if (!other) {
		for (int i = 0; i < count; i++)
			if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < count; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
	waitpid(other, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

void switches_make(int count)
{
	switches_make_on(0, count);
}

struct chain chain_begin(const struct recorder *recorder)
{
	struct chain chain = { .id = recorder_event(recorder, "sched:sched_switch") };

	memset(chain.running, -1, sizeof(chain.running));
	prctl(PR_GET_NAME, chain.name);
	return chain;
}

void chain_follow(const struct recorded *event, void *context)
{
	struct chain *chain = context;
	const unsigned char *at = event->payload;
	int32_t prev, next;

	if (event->id != chain->id)
		return;
	at += strlen((const char *)at) + 1;
	memcpy(&prev, at, sizeof(prev));
	at += 4 + 4 + 8;
	at += strlen((const char *)at) + 1;
	memcpy(&next, at, sizeof(next));
	if (chain->running[event->cpu] >= 0) {
		chain->links++;
		chain->breaks += chain->running[event->cpu] != prev;
	}
	chain->breaks += prev != (int32_t)event->tid;
	chain->of_this_thread += prev == getpid() && (int32_t)event->pid == getpid() &&
				 !strncmp(event->name, chain->name, 16);
	chain->running[event->cpu] = next;
}
