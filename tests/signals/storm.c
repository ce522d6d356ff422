/* SPDX-License-Identifier: MIT */
/*
 * Events in main, in a SIGPROF handler that interrupts it, and in a SIGALRM handler that
 * interrupts both: each with its own sequence, all of one thread.
 *
 *	storm MILLISECONDS
 *
 * Prints how many events each of the three recorded; check.py finds exactly those in the trace.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <lull/trace.h>

static volatile uint64_t prof_count, alarm_count;

static void on_prof(int signal)
{
	(void)signal;
	for (int i = 0; i < 3; i++) {
		uint64_t sequence = prof_count + 1;

		prof_count = sequence;
		lull_event("test:prof", lull_u64(sequence, sequence));
	}
}

static void on_alarm(int signal)
{
	(void)signal;
	uint64_t sequence = alarm_count + 1;

	alarm_count = sequence;
	lull_event("test:alarm", lull_u64(sequence, sequence), lull_str(text, "nested"));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void timer_start(clockid_t clock, int signal, long period_ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	struct itimerspec period = { { 0, period_ns }, { 0, period_ns } };
	timer_t timer;

	if (timer_create(clock, &event, &timer) || timer_settime(timer, 0, &period, NULL)) {
		perror("timer");
		exit(2);
	}
}

int main(int count, char **arguments)
{
	uint64_t until, sequence = 0;
	struct sigaction prof = { .sa_handler = on_prof }, alarm = { .sa_handler = on_alarm };

	if (count != 2) {
		fprintf(stderr, "usage: storm MILLISECONDS\n");
		return 2;
	}
	sigaction(SIGPROF, &prof, NULL);
	sigaction(SIGALRM, &alarm, NULL);
	timer_start(CLOCK_MONOTONIC, SIGPROF, 37000);
	timer_start(CLOCK_MONOTONIC, SIGALRM, 23000);
	until = now_ns() + strtoull(arguments[1], NULL, 10) * 1000000u;
	while (now_ns() < until)
		for (int i = 0; i < 100; i++) {
			sequence++;
			lull_event("test:main", lull_u64(sequence, sequence));
		}
	signal(SIGPROF, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	printf("main %llu prof %llu alarm %llu\n", (unsigned long long)sequence,
	       (unsigned long long)prof_count, (unsigned long long)alarm_count);
	return 0;
}
