// SPDX-License-Identifier: MIT
/*
 * A program that checks itself while functions are called in it: `victim MODE THREADS`. It prints
 * "ready", runs until SIGTERM, and exits with 0 when all it found was as it had left it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RSEQ_SIGNATURE 0x53053053
#define ROUNDS_MAX 4000000000ul

#ifdef LATE
/* The victim as a library: its loader waits until the victim is to end. */
extern volatile sig_atomic_t over;

__attribute__((constructor)) static void wait_within_the_linker(void)
{
	while (!over)
		select(0, NULL, NULL, NULL, &(struct timeval){ .tv_usec = 20000 });
}
#else

volatile sig_atomic_t over;
static volatile unsigned long failures, called, alarms, rounds_done;
static int pipes[2];

#define CHECK(condition)                                                                         \
	do {                                                                                     \
		if (!(condition)) {                                                              \
			failures++;                                                              \
			fprintf(stderr, "line %d: %s, errno %d\n", __LINE__, #condition, errno); \
		}                                                                                \
	} while (0)

/* What is called from outside: spoils all registers that a function may, and errno. */
long victim_called(long a, long b, long c, long d, long e, long f)
{
	double x[8];
	char stack[16384];

	memset(stack, (int)a, sizeof(stack));
	for (int i = 0; i < 8; i++)
		x[i] = (double)(a + i) * 3.5;
	__asm__ volatile("vpcmpeqb %%xmm0, %%xmm0, %%xmm0\n\t"
			 "vpcmpeqb %%xmm7, %%xmm7, %%xmm7\n\t"
			 "vpcmpeqb %%xmm15, %%xmm15, %%xmm15\n\t"
			 "vzeroupper\n\tfninit\n\tfldpi\n\tstd\n\tcld" ::
				 : "xmm0", "xmm7", "xmm15", "memory");
	close(-1);
	errno = 99;
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + (long)x[0] * 0 + stack[9] * 0;
}

long victim_count(void)
{
	return (long)called;
}

/* Does not return for a while. */
long victim_slow(long ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
	return 0;
}

long victim_faults(void)
{
	*(volatile int *)8 = 0;
	return 0;
}

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

/* Of two signals that come together, the one that restarts a read may decide: it finds a byte. */
static void on_end(int signal)
{
	(void)signal;
	over = 1;
	CHECK(write(pipes[1], "", 1) == 1);
}

/* Becomes another program, which is the same from its beginning. */
static void on_execute(int signal)
{
	(void)signal;
	execl("/proc/self/exe", "victim", "sleep", "0", NULL);
	_exit(8);
}

/* A child has this memory, and says its number, until it is told to execute. */
static int run_vfork(void)
{
	pid_t child = vfork();
	int status;

	if (child < 0)
		return 1;
	if (child == 0) {
		char text[16];
		int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

		if (write(1, text, (size_t)length) == length)
			while (!over)
				pause();
		_exit(7);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return status;
}

/* Registers, flags, red zone, vectors: set, looked at again much later. */
static void compute(uint64_t seed)
{
	for (unsigned long round = 0; round < ROUNDS_MAX && !over; round++) {
		uint64_t in[4] = { seed + round, ~seed, round * 7, seed ^ round }, out[4], bad;

		__asm__ volatile(
			"vmovdqu (%[in]), %%ymm3\n\t"
			"vmovdqu (%[in]), %%ymm12\n\t"
			"movq $0x1234567, -8(%%rsp)\n\t"
			"movq %%rsp, %%rax\n\t"
			"movq $0x7654321, -120(%%rsp)\n\t"
			"movq $3000, %%rcx\n\t"
			"movq $11, %%rdx\n\tmovq $12, %%rsi\n\tmovq $13, %%rdi\n\t"
			"movq $14, %%r8\n\tmovq $15, %%r9\n\tmovq $16, %%r10\n\tmovq $17, %%r11\n\t"
			"1: stc\n\t"
			"nop\n\tnop\n\tnop\n\t"
			"jnc 8f\n\t"
			"leaq -1(%%rcx), %%rcx\n\t"
			"jrcxz 2f\n\tjmp 1b\n\t"
			"8: movq $1, %[bad]\n\tjmp 9f\n\t"
			"2: xorl %%ecx, %%ecx\n\t"
			"movq $2, %[bad]\n\tcmpq $11, %%rdx\n\tjne 9f\n\t"
			"cmpq $12, %%rsi\n\tjne 9f\n\tcmpq $13, %%rdi\n\tjne 9f\n\t"
			"cmpq $14, %%r8\n\tjne 9f\n\tcmpq $15, %%r9\n\tjne 9f\n\t"
			"cmpq $16, %%r10\n\tjne 9f\n\tcmpq $17, %%r11\n\tjne 9f\n\t"
			"movq $3, %[bad]\n\tcmpq %%rsp, %%rax\n\tjne 9f\n\t"
			"movq $4, %[bad]\n\tcmpq $0x1234567, -8(%%rsp)\n\tjne 9f\n\t"
			"cmpq $0x7654321, -120(%%rsp)\n\tjne 9f\n\t"
			"movq $0, %[bad]\n\t"
			"9: vmovdqu %%ymm12, (%[out])\n\t"
			: [bad] "=&b"(bad)
			: [in] "r"(in), [out] "r"(out)
			: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
			  "cc", "xmm3", "xmm12");
		CHECK(bad == 0);
		CHECK(!memcmp(in, out, sizeof(in)));
		rounds_done++;
	}
}

static void *compute_thread(void *seed)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	errno = 55;
	compute((uintptr_t)seed);
	CHECK(errno == 55);
	return NULL;
}

/*
 * A restartable sequence in a loop: two counters of a CPU are equal outside of it. Its commit
 * writes the second only if nothing came between; a sequence that goes on after a preemption
 * leaves them different, for each turn of it is long.
 */
static struct rseq *rseq_area(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static long rseq_turns(volatile uint64_t *word, uint64_t turns)
{
	static struct rseq_cs descriptor __attribute__((aligned(32)));
	struct rseq *area = rseq_area();
	long aborts = 0;

	__asm__ volatile(
		"leaq 1f(%%rip), %%rax\n\tmovq %%rax, 8(%[descriptor])\n\t"
		"leaq 2f(%%rip), %%rcx\n\tsubq %%rax, %%rcx\n\tmovq %%rcx, 16(%[descriptor])\n\t"
		"leaq 4f(%%rip), %%rax\n\tmovq %%rax, 24(%[descriptor])\n\t"
		"3: movq %[descriptor], 8(%[area])\n\t"
		/* In the sequence: the word is copied, and after a while stored back plus one. */
		"1: movq (%[word]), %%rax\n\t"
		"movl $3000, %%ecx\n\t"
		"6: decl %%ecx\n\tjnz 6b\n\t"
		"incq %%rax\n\t"
		"movq %%rax, (%[word])\n\t"
		"2: decq %[turns]\n\tjnz 3b\n\tjmp 5f\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
		"4: incq %[aborts]\n\tjmp 3b\n\t"
		"5: movq $0, 8(%[area])"
		: [turns] "+r"(turns), [aborts] "+r"(aborts)
		: [descriptor] "r"(&descriptor), [area] "r"(area), [word] "r"(word)
		: "rax", "rcx", "memory", "cc");
	return aborts;
}

/* Called from outside: what another thread on this CPU would do to the word. */
static volatile uint64_t rseq_word;
static uint64_t rseq_own;
long victim_bump(void)
{
	rseq_word++;
	return 0;
}

static void run_rseq(void)
{
	uint64_t own = 0;

	CHECK(__rseq_size);
	while (!over) {
		rseq_turns(&rseq_word, 1000);
		own += 1000;
	}
	rseq_own = own;
}

long victim_rseq_word(void)
{
	return (long)rseq_word;
}

static void run_sleep(void)
{
	while (!over) {
		struct timespec time = { 0, 50000000 }, begin, now;

		errno = 0;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		CHECK(nanosleep(&time, NULL) == 0 || over);
		clock_gettime(CLOCK_MONOTONIC, &now);
		CHECK((now.tv_sec - begin.tv_sec) * 1000000000l + now.tv_nsec - begin.tv_nsec >=
			      50000000 ||
		      over);
	}
}

static void run_futex(void)
{
	static int word = 7;

	while (!over) {
		struct timespec time = { 0, 30000000 };
		long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 7, &time);

		CHECK((result == -1 && errno == ETIMEDOUT) || over);
	}
}

static void run_read(void)
{
	char byte;

	while (!over) {
		errno = 0;
		CHECK(read(pipes[0], &byte, 1) == 1 || over);
		rounds_done++;
	}
}

static void run_epoll(void)
{
	int set = epoll_create1(0);

	while (!over) {
		struct epoll_event event;

		CHECK(epoll_wait(set, &event, 1, 20) == 0 || (errno == EINTR && over));
	}
}

/* Waits with what looks like a return into the allocator, or the linker, left on its stack. */
static void run_stale(const unsigned char *function)
{
	const unsigned char *volatile stale[64] = { 0 };
	int i = 0;

	/* Bound: the allocator's functions call others soon. */
	while (function && i < 4096 && function[i] != 0xe8)
		i++;
	stale[40] = function + i + 5;
	while (!over)
		select(0, NULL, NULL, NULL, &(struct timeval){ .tv_usec = 20000 });
	CHECK(stale[40] == function + i + 5);
}

static int load_late(const char *program)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.so", program);
	return !!dlopen(path, RTLD_NOW);
}

static int tell(void)
{
	printf("called %lu alarms %lu rounds %lu word %lu own %lu failures %lu\n", called, alarms,
	       rounds_done, (unsigned long)rseq_word, (unsigned long)rseq_own, failures);
	return failures ? 1 : 0;
}

static uintptr_t stack_end(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	unsigned long end = 0;

	if (!maps)
		return 0;
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			sscanf(line, "%*x-%lx", &end);
	fclose(maps);
	return end;
}

/* Without the beginning of its stack, where the kernel put bytes for each execution. */
static void run_unmapped(void)
{
	char room[65536];
	uintptr_t page = getauxval(AT_RANDOM) & ~(uintptr_t)4095;

	memset(room, 7, sizeof(room));
	/* A part that remains above would grow into the hole. */
	CHECK(munmap((void *)page, stack_end() - page) == 0);
	printf("ready\n");
	fflush(stdout);
	run_sleep();
	CHECK(room[called % sizeof(room)] == 7);
	exit(tell());
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "compute";
	int threads = count > 2 ? atoi(arguments[2]) : 0;
	pthread_t made[256] = { 0 };
	struct sigaction action = { .sa_handler = on_end };

	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	action.sa_handler = on_execute;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &action, NULL);
	if (pipe(pipes))
		return 9;
	for (long i = 0; i < threads && i < 256; i++)
		pthread_create(&made[i], NULL, compute_thread, (void *)i);
	printf("ready\n");
	fflush(stdout);
	if (!strcmp(mode, "sleep"))
		run_sleep();
	else if (!strcmp(mode, "futex"))
		run_futex();
	else if (!strcmp(mode, "read"))
		run_read();
	else if (!strcmp(mode, "epoll"))
		run_epoll();
	else if (!strcmp(mode, "rseq"))
		run_rseq();
	else if (!strcmp(mode, "allocated"))
		run_stale((const unsigned char *)dlsym(RTLD_DEFAULT, "malloc"));
	else if (!strcmp(mode, "looked"))
		run_stale((const unsigned char *)dlsym(RTLD_DEFAULT, "_dl_allocate_tls_init"));
	else if (!strcmp(mode, "unmapped"))
		run_unmapped();
	else if (!strcmp(mode, "vfork"))
		return run_vfork();
	else if (!strcmp(mode, "loading"))
		CHECK(load_late(arguments[0]));
	else
		compute(77);
	for (long i = 0; i < threads && i < 256; i++)
		pthread_join(made[i], NULL);
	return tell();
}
#endif
