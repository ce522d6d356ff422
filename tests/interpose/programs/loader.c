/* SPDX-License-Identifier: MIT */
/*
 * Load and unload a plug-in many times, from two threads, by its path and by a name that only
 * the search path of the calling object, this program, can resolve.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define ROUNDS 200

static int load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*number)(void);
	int found;

	if (!handle) {
		printf("%s\n", dlerror());
		return -1;
	}
	number = (int (*)(void))dlsym(handle, "plugin_number");
	found = number();
	dlclose(handle);
	return found;
}

static void *loop(void *path)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++)
		sum += load(path);
	return (void *)sum;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	void *sum;

	if (count < 3)
		return 1;
	pthread_create(&thread, NULL, loop, arguments[1]);
	printf("by name %ld\n", (long)loop(arguments[2]));
	pthread_join(thread, &sum);
	printf("by path %ld\n", (long)sum);
	return 0;
}
