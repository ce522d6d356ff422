// SPDX-License-Identifier: GPL-2.0-only
/*
 * Context that sessions of /dev/lull record: what is refused, and that what is recorded is true.
 * Run in a kernel that has loaded lull.ko, by tests/boot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../check/test.h"
#include "lull/abi/context.h"
#include "session.h"
#include "switches.h"

#define EVENT "sched:sched_switch"
#define ALL ((1u << LULL_CONTEXTS) - 1)

/* Return: 0, or errno. */
static int ask(int descriptor, struct lull_kernel_context asked)
{
	return ioctl(descriptor, LULL_KERNEL_CONTEXT, &asked) ? errno : 0;
}

static struct lull_kernel_context asking_for(uint32_t contexts)
{
	return (struct lull_kernel_context){ .bytes = sizeof(struct lull_kernel_context),
					     .contexts = contexts };
}

static int contexts_that_cannot_be_recorded_are_refused(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct lull_kernel_context wrong = asking_for(1);
	struct recorder recorder;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(ask(recorder.descriptor, asking_for(0)) == EINVAL);
	wrong.kernel_frames = LULL_KERNEL_FRAMES_MAX + 1;
	CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	wrong.kernel_frames = 0;
	wrong.user_frames = UINT32_MAX;
	CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	wrong.user_frames = 0;
	for (uint32_t bit = LULL_CONTEXTS; bit < 32; bit++)
		CHECK(ask(recorder.descriptor, asking_for(1u | 1u << bit)) == EINVAL);
	wrong.flags = 1;
	CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	wrong.flags = 0;
	for (uint32_t bit = LULL_COUNTERS; bit < 32; bit++) {
		wrong.counters = 1u << bit;
		CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	}
	wrong.counters = 0;
	for (wrong.bytes = 0; wrong.bytes < 4; wrong.bytes++)
		CHECK(ask(recorder.descriptor, wrong) == EINVAL);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_CONTEXT, (void *)8) && errno == EFAULT);
	CHECK(ask(recorder.descriptor, asking_for(1)) == 0);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EEXIST);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EEXIST);
	recorder_close(&recorder);
	return 0;
}

static int contexts_are_decided_before_the_first_event(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct recorder recorder;

	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EBUSY);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_DISABLE) == 0);
	CHECK(ask(recorder.descriptor, asking_for(1)) == EBUSY);
	recorder_close(&recorder);
	return 0;
}

/* Where each field of all contexts lies. */
struct __attribute__((packed)) fields {
	int32_t pid, tid;
	char comm[16];
	int32_t prio;
	uint32_t cpu, uid;
	uint64_t cgroup;
	uint32_t namespaces[7];
	uint32_t gid;
};

struct seen {
	uint32_t id;
	struct fields expected;
	long count, wrong, others_as_us;
};

static uint32_t namespace_of(const char *name)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return stat(path, &status) ? 0 : (uint32_t)status.st_ino;
}

static void expect_us(struct fields *fields)
{
	static const char *const names[] = { "pid", "net", "mnt", "uts", "ipc", "cgroup", "user" };

	*fields = (struct fields){ .pid = getpid(), .tid = getpid(), .prio = 120 + 3 };
	prctl(PR_GET_NAME, fields->comm);
	for (int i = 0; i < 7; i++)
		fields->namespaces[i] = namespace_of(names[i]);
	fields->uid = geteuid();
	fields->gid = getegid();
}

/* A visitor: switches from this thread have its context, and others have theirs. */
static void look(const struct recorded *event, void *context)
{
	struct seen *seen = context;
	struct fields found;

	if (event->id != seen->id)
		return;
	memcpy(&found, event->context, sizeof(found));
	if (event->tid != (uint32_t)getpid()) {
		seen->others_as_us += found.tid == getpid();
		return;
	}
	seen->count++;
	seen->wrong += found.cpu != event->cpu || !found.cgroup;
	found.cpu = 0;
	found.cgroup = 0;
	seen->wrong += memcmp(&found, &seen->expected, sizeof(found)) != 0;
}

/* Two sessions record the same events, and only one of them context. */
static int context_is_that_of_the_thread_and_of_its_session_only(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct recorder recorder, without;
	struct seen seen = { 0 };
	long all;

	plan.subbuf_size_bytes = 4096;
	plan.subbuf_count = 256;
	CHECK(recorder_open(&recorder, &plan) == 0 && recorder_open(&without, &plan) == 0);
	CHECK(nice(3) == 3 && setegid(7) == 0 && seteuid(9) == 0);
	expect_us(&seen.expected);
	CHECK(ask(recorder.descriptor, asking_for(ALL)) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	CHECK(recorder_enable(&without).enabled_count == 1);
	switches_make(500);
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	ioctl(without.descriptor, LULL_KERNEL_DISABLE);
	seen.id = recorder_event(&recorder, EVENT);
	CHECK(recorder_read(&recorder, look, &seen) >= 0);
	all = recorder_read(&without, NULL, NULL);
	printf("  %ld switches, %ld wrong, %ld of others; %ld without\n", seen.count, seen.wrong,
	       seen.others_as_us, all);
	CHECK(seen.count > 400 && seen.wrong == 0 && seen.others_as_us == 0 && all > 800);
	CHECK(recorder_lost(&recorder) == 0 && recorder_lost(&without) == 0);
	recorder_close(&recorder);
	recorder_close(&without);
	CHECK(seteuid(0) == 0 && setegid(0) == 0);
	return 0;
}

/* What one event has of stacks: the kernel's, then the program's. */
struct stack {
	uint32_t count;
	uint64_t frames[LULL_KERNEL_FRAMES_MAX];
};

static const unsigned char *stack_take(struct stack *stack, const unsigned char *at)
{
	memcpy(&stack->count, at, sizeof(stack->count));
	memcpy(stack->frames, at + sizeof(stack->count), stack->count * sizeof(uint64_t));
	return at + sizeof(stack->count) + stack->count * sizeof(uint64_t);
}

struct stacks_seen {
	uint32_t id;
	uint32_t tid; /* 0: the thread of no program that runs on an idle CPU */
	int is_of_switch; /* of those, only where the thread begins to wait */
	long count;
	struct stack kernel, user; /* the last event's */
	uint32_t user_most;
};

/*
 * Whether a thread gives its CPU away to wait: sched_switch's prev_state names a state. A thread
 * that could go on has 0, and with TASK_REPORT_MAX (256) it was preempted, which may happen
 * anywhere in a system call.
 */
static int is_waiting(const struct recorded *event)
{
	int64_t state;

	memcpy(&state, event->payload + strlen((const char *)event->payload) + 9, sizeof(state));
	return (state & 0xff) != 0;
}

static void stacks_look(const struct recorded *event, void *context)
{
	struct stacks_seen *seen = context;

	if (event->id != seen->id || event->tid != seen->tid)
		return;
	if (seen->is_of_switch && !is_waiting(event))
		return;
	seen->count++;
	stack_take(&seen->user, stack_take(&seen->kernel, event->context));
	if (seen->user.count > seen->user_most)
		seen->user_most = seen->user.count;
}

/* Where each of the functions below returns to: what frames say. */
static uint64_t returns[3];
#define RETURN_KEEP(i) (returns[i] = (uintptr_t)__builtin_return_address(0))

/* A system call without the C library, whose functions keep no frame pointers. */
static __attribute__((noinline)) long innermost(void)
{
	RETURN_KEEP(0);
#ifdef __x86_64__
	long result = SYS_getppid;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	return result;
#else
	register long number __asm__("x8") = SYS_getppid;
	register long result __asm__("x0");

	__asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
	return result;
#endif
}

static __attribute__((noinline)) long middle(void)
{
	volatile long result;

	RETURN_KEEP(1);
	result = innermost(); /* a call in the end would be a jump */
	return result;
}

static __attribute__((noinline)) long outer(void)
{
	volatile long result;

	RETURN_KEEP(2);
	result = middle();
	return result;
}

/* Records one event with stacks of so many frames while something is done; closes the session. */
static int stacks_of(const char *event, struct lull_kernel_context asked, void (*work)(void),
		     struct stacks_seen *seen)
{
	struct lull_kernel_plan plan = plan_of(event, LULL_MODE_DISCARD);
	struct recorder recorder;

	plan.subbuf_count = 64;
	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(ask(recorder.descriptor, asked) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	work();
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	seen->id = recorder_event(&recorder, event);
	CHECK(recorder_read(&recorder, stacks_look, seen) >= 0);
	CHECK(recorder_peek(&recorder, stacks_look, seen) >= 0);
	CHECK(recorder_lost(&recorder) == 0);
	recorder_close(&recorder);
	return 0;
}

static void call(void)
{
	outer();
}

static int users_stack_is_what_frame_pointers_say(void)
{
	struct lull_kernel_context asked = asking_for(0);
	struct stacks_seen seen = { .tid = (uint32_t)getpid() };
	uint64_t begin = (uintptr_t)innermost;

	asked.kernel_frames = LULL_KERNEL_FRAMES_MAX;
	asked.user_frames = LULL_KERNEL_FRAMES_MAX;
	CHECK(stacks_of("syscalls:sys_enter_getppid", asked, call, &seen) == 0);
	CHECK(seen.count == 1 && seen.user.count > 4);
	CHECK(seen.user.frames[0] > begin && seen.user.frames[0] < begin + 256);
	CHECK(memcmp(seen.user.frames + 1, returns, sizeof(returns)) == 0);
	asked.user_frames = 2;
	asked.kernel_frames = 1;
	seen = (struct stacks_seen){ .tid = (uint32_t)getpid() };
	CHECK(stacks_of("syscalls:sys_enter_getppid", asked, call, &seen) == 0);
	CHECK(seen.count == 1 && seen.user.count == 2 && seen.kernel.count == 1);
	CHECK(seen.user.frames[1] == returns[0]);
	return 0;
}

/* The kernel's function at an address, and its module in brackets; from /proc/kallsyms. */
static void function_name(uint64_t address, char *name, size_t bytes)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	unsigned long long begin, best = 0;
	char line[512], found[256];

	snprintf(name, bytes, "?");
	while (symbols && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%llx %*c %255[^\n]", &begin, found) != 2 || begin > address ||
		    begin < best)
			continue;
		best = begin;
		snprintf(name, bytes, "%s", found);
	}
	if (symbols)
		fclose(symbols);
}

/* The byte comes when this thread waits for it. */
static void wait_for_a_pipe(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		abort();
	if (!fork()) {
		usleep(200000);
		_exit(write(ends[1], "", 1) != 1);
	}
	if (read(ends[0], &byte, 1) != 1)
		abort();
	close(ends[0]);
	close(ends[1]);
}

/* A thread that waits for a pipe gives its CPU away in the middle of read(). */
static int kernels_stack_is_the_path_of_its_functions(void)
{
	static const char *const path[] = { "__schedule", "schedule", "pipe_read", "vfs_read" };
	struct lull_kernel_context asked = asking_for(0);
	struct stacks_seen seen = { .tid = (uint32_t)getpid(), .is_of_switch = 1 };
	size_t come = 0;
	char name[256];

	asked.kernel_frames = 64;
	asked.user_frames = 8;
	CHECK(stacks_of(EVENT, asked, wait_for_a_pipe, &seen) == 0);
	CHECK(wait(NULL) > 0 && seen.count > 0 && seen.user.count > 0);
	for (uint32_t i = 0; i < seen.kernel.count; i++) {
		function_name(seen.kernel.frames[i], name, sizeof(name));
		printf("  %s\n", name);
		CHECK(!strstr(name, "[lull]"));
		come += come < 4 && !strcmp(name, path[come]);
	}
	CHECK(come == 4);
	return 0;
}

static void pause_a_while(void)
{
	usleep(300000);
}

static int thread_without_a_program_has_no_users_stack(void)
{
	struct lull_kernel_context asked = asking_for(0);
	struct stacks_seen seen = { .tid = 0 };

	asked.kernel_frames = 4;
	asked.user_frames = 4;
	CHECK(stacks_of(EVENT, asked, pause_a_while, &seen) == 0);
	CHECK(seen.count > 0 && seen.kernel.count > 0 && seen.user_most == 0);
	return 0;
}

/* Before the event's fields: what was asked for below. */
struct __attribute__((packed)) counted {
	int64_t page_faults, switches;
};

struct counters_seen {
	uint32_t id;
	struct counted last[64]; /* by CPU; 0 faults before the first */
	long count, wrong;
	int64_t faults;
};

/* Each switch is one more than the last one of its CPU; faults never are fewer. */
static void counters_look(const struct recorded *event, void *context)
{
	struct counters_seen *seen = context;
	struct counted found, *last = &seen->last[event->cpu % 64];

	if (event->id != seen->id)
		return;
	memcpy(&found, event->context, sizeof(found));
	if (seen->count++ && last->switches) {
		seen->wrong += found.switches != last->switches + 1;
		seen->wrong += found.page_faults < last->page_faults;
		seen->faults += found.page_faults - last->page_faults;
	}
	seen->wrong += found.switches < 0 || found.page_faults < 0;
	*last = found;
}

static void fault_and_switch(void)
{
	volatile char *pages = malloc(300 * 4096);

	if (!pages)
		abort();
	switches_make(100);
	for (int i = 0; i < 300; i++)
		pages[i * 4096] = 1;
	switches_make(100);
	free((void *)pages);
}

static int counters_go_on_with_what_the_kernel_counts(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct lull_kernel_context asked = asking_for(0);
	struct counters_seen seen = { 0 };
	struct recorder recorder;

	plan.subbuf_size_bytes = 65536;
	plan.subbuf_count = 32;
	asked.counters = 1u << LULL_COUNTER_PAGE_FAULTS | 1u << LULL_COUNTER_CONTEXT_SWITCHES;
	CHECK(recorder_open(&recorder, &plan) == 0);
	CHECK(ask(recorder.descriptor, asked) == 0);
	CHECK(recorder_enable(&recorder).enabled_count == 1);
	fault_and_switch();
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	seen.id = recorder_event(&recorder, EVENT);
	CHECK(recorder_read(&recorder, counters_look, &seen) >= 0);
	CHECK(recorder_peek(&recorder, counters_look, &seen) >= 0);
	printf("  %ld switches, %ld wrong, %lld faults\n", seen.count, seen.wrong,
	       (long long)seen.faults);
	CHECK(seen.count > 300 && seen.wrong == 0 && seen.faults >= 300);
	CHECK(recorder_lost(&recorder) == 0);
	recorder_close(&recorder);
	return 0;
}

/* Of the processor's counters there are none in a guest that QEMU interprets on x86. */
static int counters_are_for_privileged_users_and_have_to_be_there(void)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	struct lull_kernel_context asked = asking_for(1);
	struct recorder recorder;
	int answer;

	CHECK(recorder_open(&recorder, &plan) == 0);
	asked.counters = 1u << LULL_COUNTER_PAGE_FAULTS;
	CHECK(seteuid(9) == 0);
	CHECK(ask(recorder.descriptor, asked) == EPERM);
	CHECK(seteuid(0) == 0);
	asked.counters = 1u << LULL_COUNTER_PAGE_FAULTS | 1u << LULL_COUNTER_CYCLES;
	answer = ask(recorder.descriptor, asked);
	CHECK(answer == 0 || answer == EOPNOTSUPP);
	asked.counters = 0;
	CHECK(ask(recorder.descriptor, asked) == (answer ? 0 : EEXIST));
	recorder_close(&recorder);
	return 0;
}

int main(void)
{
	RUN(contexts_that_cannot_be_recorded_are_refused);
	RUN(contexts_are_decided_before_the_first_event);
	RUN(context_is_that_of_the_thread_and_of_its_session_only);
	RUN(users_stack_is_what_frame_pointers_say);
	RUN(kernels_stack_is_the_path_of_its_functions);
	RUN(thread_without_a_program_has_no_users_stack);
	RUN(counters_go_on_with_what_the_kernel_counts);
	RUN(counters_are_for_privileged_users_and_have_to_be_there);
	return sums();
}
