// SPDX-License-Identifier: MIT
/*
 * plugin_host PLUGIN: loads and unloads a plugin beside threads that live on and that it has
 * made readers of bp. Not linked with liblull-rcu: the plugin brings it along.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 20

static pthread_barrier_t barrier;
static int (*plugin_read)(void);
static void (*plugin_write)(int value, int called);

/* Uses the plugin while it is there, and lives while it is not. */
static void *worker(void *unused)
{
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		for (i = 0; i < 1000; i++)
			if (plugin_read() < 0)
				abort();
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

static void *find(void *plugin, const char *name)
{
	void *symbol = dlsym(plugin, name);

	if (!symbol) {
		fprintf(stderr, "plugin_host: %s\n", dlerror());
		exit(2);
	}
	return symbol;
}

int main(int count, char **argument)
{
	pthread_t thread[THREADS];
	void (*plugin_end)(void);
	int round, i;
	void *plugin;

	if (count < 2)
		return 2;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	for (round = 0; round < ROUNDS; round++) {
		plugin = dlopen(argument[1], RTLD_NOW);
		if (!plugin) {
			fprintf(stderr, "plugin_host: %s\n", dlerror());
			return 2;
		}
		*(void **)&plugin_read = find(plugin, "plugin_read");
		*(void **)&plugin_write = find(plugin, "plugin_write");
		*(void **)&plugin_end = find(plugin, "plugin_end");
		plugin_write(1, 0);
		pthread_barrier_wait(&barrier);
		for (i = 0; i < 100; i++)
			plugin_write(i + 1, i % 2);
		pthread_barrier_wait(&barrier);
		plugin_end();
		dlclose(plugin);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
