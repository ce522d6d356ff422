// SPDX-License-Identifier: MIT
/*
 * A program that becomes another user, and says whose memory it has mapped.
 *
 * become UID [threads | back | vfork | attach]. threads: others record meanwhile. back: only the
 * effective user changes, for a while. vfork: a vfork child changes its user. attach: the new
 * user tries to attach the segment that root's processes have.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lull/trace.h>

#define THREADS 3
#define THREAD_EVENTS 20000

static int root_segment = -1;

/* Counts the System V segments that are mapped, and those whose user is not ours. */
static void segments_tell(const char *when)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int count = 0, foreign = 0, id;
	struct shmid_ds status;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/SYSV") || sscanf(line, "%*s %*s %*s %*s %d", &id) != 1)
			continue;
		count++;
		if (shmctl(id, IPC_STAT, &status) || status.shm_perm.uid != geteuid())
			foreign++;
		root_segment = id;
	}
	if (!strcmp(when, "before"))
		printf("before: %d of %d segments are of another user\n", foreign, count);
	else
		printf("after: %d segments, %d of another user\n", count, foreign);
	fflush(stdout);
	if (maps)
		fclose(maps);
}

static void *record_on(void *argument)
{
	for (int i = 0; i < THREAD_EVENTS; i++)
		lull_event("test:thread", lull_i32(i, i), lull_x64(who, (uintptr_t)argument));
	return NULL;
}

static void user_change(uid_t user, const char *how)
{
	if (!strcmp(how, "back")) {
		if (seteuid(user) || seteuid(0))
			exit(9);
	} else if (!strcmp(how, "vfork")) {
		pid_t child = vfork();

		if (child == 0) {
			if (setuid(user))
				_exit(9);
			execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		waitpid(child, NULL, 0);
	} else if (setuid(user)) {
		exit(9);
	}
}

int main(int count, char **argument)
{
	const char *how = count > 2 ? argument[2] : "";
	pthread_t thread[THREADS];

	for (int i = 0; i < 5; i++)
		lull_event("test:before", lull_i32(i, i));
	segments_tell("before");
	if (!strcmp(how, "threads"))
		for (int i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, record_on, NULL);
	user_change((uid_t)atoi(argument[1]), how);
	for (int i = 0; i < 7; i++)
		lull_event("test:after", lull_i32(i, i));
	if (!strcmp(how, "threads"))
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	if (!strcmp(how, "attach")) {
		void *base = shmat(root_segment, NULL, 0);

		printf("root's segment: %s\n", base == (void *)-1 ? strerror(errno) : "attached");
		return 0;
	}
	segments_tell("after");
	return 0;
}
