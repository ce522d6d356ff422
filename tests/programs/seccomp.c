/* SPDX-License-Identifier: MIT */
/*
 * Forbids itself the system calls that an observer might make, then works on.
 *
 * Usage: seccomp HOW [WHAT]. HOW is how the filter is installed: prctl, syscall (the C library's
 * function) or bare (an instruction of this program). WHAT follows the filter: nothing, fork,
 * vfork, raw (clone without the C library), or a static program to execute.
 * A system call of the list ends the process with SIGSYS.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lull/trace.h>

static const int forbidden[] = {
	SYS_getpid,  SYS_gettid,     SYS_getppid,    SYS_getuid,     SYS_geteuid,
	SYS_prctl,   SYS_faccessat,  SYS_faccessat2, SYS_statx,	     SYS_newfstatat,
	SYS_openat,  SYS_getxattr,   SYS_fgetxattr,  SYS_membarrier, SYS_clock_gettime,
	SYS_pread64, SYS_readlinkat, SYS_getcpu,     SYS_seccomp,
};
#define FORBIDDEN_COUNT (sizeof(forbidden) / sizeof(forbidden[0]))

static long bare(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#endif
}

static void confine(const char *how)
{
	struct sock_filter filter[FORBIDDEN_COUNT + 3];
	struct sock_fprog program = { FORBIDDEN_COUNT + 3, filter };
	long failed;

	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < FORBIDDEN_COUNT; i++)
		filter[1 + i] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)forbidden[i],
			(unsigned char)(FORBIDDEN_COUNT - i), 0);
	filter[FORBIDDEN_COUNT + 1] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[FORBIDDEN_COUNT + 2] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	failed = bare(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(how, "prctl"))
		failed |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	else if (!strcmp(how, "syscall"))
		failed |= syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	else
		failed |= bare(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0);
	if (failed)
		exit(40);
}

static void *work(void *unused)
{
	lull_event("test:thread", lull_i32(number, 1));
	return unused;
}

static void with_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		exit(41);
}

static void *exit_thread(void *unused)
{
	pthread_exit(unused);
}

static void with_exit(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exit_thread, NULL) || pthread_join(thread, NULL))
		exit(42);
}

/* Of one line, for events of one name on several lines are told apart by more than their name. */
static void child_event(int number)
{
	lull_event("test:child", lull_i32(number, number));
}

static pid_t child_of(const char *what)
{
	pid_t child;

	if (!strcmp(what, "vfork")) {
		child = vfork();
		if (!child) {
			child_event(2);
			_exit(7);
		}
	} else if (!strcmp(what, "raw")) {
		child = (pid_t)bare(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!child) {
			child_event(3);
			_exit(7);
		}
	} else {
		child = fork();
		if (!child) {
			child_event(1);
			if (!strcmp(what, "fork"))
				_exit(7);
			execv(what, (char *const[]){ (char *)what, NULL });
			_exit(43);
		}
	}
	return child;
}

int main(int count, char **arguments)
{
	const char *what = count > 2 ? arguments[2] : NULL;
	int status = 0;
	pid_t child;

	with_exit(); /* its first call loads a library */
	confine(count > 1 ? arguments[1] : "prctl");
	lull_event("test:main", lull_i32(number, 1));
	if (!what) {
		with_exit();
	} else if (!strcmp(what, "thread")) {
		with_thread();
	} else {
		child = child_of(what);
		if (waitpid(child, &status, 0) != child)
			return 44;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : 45;
	}
	lull_event("test:main", lull_i32(number, 2));
	write(1, "worked\n", 7);
	return 5;
}
