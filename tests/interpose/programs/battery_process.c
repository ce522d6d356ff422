/* SPDX-License-Identifier: MIT */
/* Results and errno of processes, programs and shared objects. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "show.h"

extern char **environ;

static void reap(void)
{
	int status = -1;

	SHOW(waitpid(-1, &status, 0) > 0);
	printf("status %x\n", status);
}

static void children(void)
{
	int status;
	siginfo_t info;

	SHOW(waitpid(-1, &status, 0));
	SHOW(wait(&status));
	SHOW(wait3(NULL, 0, NULL));
	SHOW(wait4(1, NULL, 0, NULL));
	SHOW(waitid(P_ALL, 0, &info, WEXITED));
	fflush(stdout);
	if (fork() == 0)
		_exit(3);
	reap();
	if (vfork() == 0)
		_exit(4);
	reap();
	if (fork() == 0)
		exit(5);
	reap();
	if (fork() == 0)
		raise(SIGTERM);
	SHOW(wait(NULL) > 0);
	SHOW(kill(getpid(), 0));
	SHOW(kill(getpid(), 12345));
	SHOW(kill(999999999, SIGTERM));
}

static void programs(void)
{
	char *nothing[] = { NULL }, *yes[] = { "true", NULL };
	pid_t child = -1;

	SHOW(execve("absent", yes, environ));
	SHOW(execve(bad_pointer(), yes, environ));
	SHOW(execve(null_pointer(), null_pointer(), null_pointer()));
	SHOW(execv("/", yes));
	SHOW(execvp("absent-program", yes));
	SHOW(execvpe("absent/program", yes, nothing));
	SHOW(execl("absent", "a", "b", NULL));
	SHOW(execlp("absent-program", "a", NULL));
	SHOW(execle("absent", "a", NULL, nothing));
	SHOW(fexecve(99, yes, environ));
	SHOW(execveat(AT_FDCWD, "absent", yes, environ, 0));
	SHOW(posix_spawn(&child, "absent", NULL, NULL, yes, environ));
	SHOW(posix_spawn(&child, "/bin/true", NULL, NULL, yes, environ));
	reap();
	SHOW(posix_spawnp(&child, "true", NULL, NULL, yes, nothing));
	reap();
	SHOW(posix_spawnp(NULL, "false", NULL, NULL, yes, environ));
	reap();
	SHOW(system(NULL));
	SHOW(system("exit 9"));
	SHOW(system("kill -9 $$"));
	SHOW(pclose(popen("cat >/dev/null; exit 2", "w")));
	SHOW(popen("true", "bad mode"));
}

static void objects(void)
{
	void *handle;

	SHOW(dlerror());
	SHOW(dlopen("libabsent.so", RTLD_NOW));
	printf("%s\n", dlerror());
	SHOW(dlopen("/absent/libabsent.so", RTLD_LAZY));
	printf("%s\n", dlerror());
	SHOW(dlopen("libm.so.6", 0));
	printf("%s\n", dlerror());
	handle = dlopen("libm.so.6", RTLD_NOW);
	SHOW(dlsym(handle, "cos") != NULL);
	SHOW(dlclose(handle));
	SHOW(dlopen(NULL, RTLD_NOW) != NULL);
	SHOW(dlerror());
}

static void mappings(void)
{
	void *page;

	SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	page = mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SHOW(page != MAP_FAILED);
	SHOW(mprotect(page, 4096, PROT_READ | PROT_WRITE));
	SHOW(mprotect((char *)page + 1, 4096, PROT_READ));
	SHOW(madvise(page, 4096, 12345));
	page = mremap(page, 4096, 8192, MREMAP_MAYMOVE);
	SHOW(page != MAP_FAILED);
	SHOW(mremap(page, 8192, 0, 0));
	SHOW(munmap(page, 8192));
	SHOW(munmap((char *)page + 1, 1));
}

int main(void)
{
	objects();
	children();
	programs();
	mappings();
	return 0;
}
