/* SPDX-License-Identifier: MIT */
/*
 * A storm of SIGALRM and SIGPROF whose handlers emit events, over a loop in main that does
 * little but emit: most handlers interrupt a probe half way, some interrupt a handler's.
 * Handlers time their event with the cycle counter; what is left out (delivering a signal)
 * is the kernel's.
 */
#include <signal.h>
#include <string.h>

#include "subject.h"
#include SUBJECT_EMIT

struct handler_state {
	volatile uint64_t event_count;
	volatile uint64_t nested_count; /* handlers that interrupted a probe */
	uint64_t samples[SUBJECT_SAMPLES_MAX];
};

static struct handler_state alarm_state, profile_state;
static volatile sig_atomic_t emitting_depth;

/* Time one event, less the cost of reading the counter twice. */
static void handle(struct handler_state *state, void (*emit)(long, void *))
{
	uint64_t index = state->event_count;
	uint64_t begin, middle, until;

	if (emitting_depth)
		state->nested_count++;
	emitting_depth++;
	begin = timing_cycles_ordered();
	emit((long)index, state);
	middle = timing_cycles_ordered();
	until = timing_cycles_ordered();
	emitting_depth--;
	middle -= begin;
	until -= begin + middle;
	state->samples[index % SUBJECT_SAMPLES_MAX] = middle > until ? middle - until : 0;
	state->event_count = index + 1;
}

static void emit_alarm_out_of_line(long value, void *pointer)
{
	emit_alarm(value, pointer);
}

static void emit_profile_out_of_line(long value, void *pointer)
{
	emit_profile(value, pointer);
}

static void on_signal(int signal_number)
{
	if (signal_number == SIGALRM)
		handle(&alarm_state, emit_alarm_out_of_line);
	else
		handle(&profile_state, emit_profile_out_of_line);
}

static int timer_arm(timer_t *timer, int signal_number, unsigned int period_us)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal_number };
	struct itimerspec period = { .it_interval.tv_nsec = (long)period_us * 1000,
				     .it_value.tv_nsec = (long)period_us * 1000 };

	if (sigaction(signal_number, &action, NULL))
		return -1;
	if (timer_create(CLOCK_MONOTONIC, &event, timer))
		return -1;
	return timer_settime(*timer, 0, &period, NULL);
}

static unsigned int state_sample_count(const struct handler_state *state)
{
	uint64_t count = state->event_count;

	return count < SUBJECT_SAMPLES_MAX ? (unsigned int)count : SUBJECT_SAMPLES_MAX;
}

int subject_signals(uint64_t event_count, unsigned int alarm_us, unsigned int profile_us)
{
	double cycles_per_ns = timing_cycles_per_ns();
	timer_t alarm_timer, profile_timer;

	if (timer_arm(&alarm_timer, SIGALRM, alarm_us) ||
	    timer_arm(&profile_timer, SIGPROF, profile_us))
		return -1;
	for (uint64_t i = 0; i < event_count; i++) {
		emitting_depth++;
		emit_two_words((long)i, &alarm_state);
		emitting_depth--;
	}
	timer_delete(alarm_timer);
	timer_delete(profile_timer);
	printf("main=%llu alarm=%llu profile=%llu nested=%llu", (unsigned long long)event_count,
	       (unsigned long long)alarm_state.event_count,
	       (unsigned long long)profile_state.event_count,
	       (unsigned long long)(alarm_state.nested_count + profile_state.nested_count));
	subject_print_quantiles("", alarm_state.samples, state_sample_count(&alarm_state),
				cycles_per_ns);
	printf("\n");
	return 0;
}
