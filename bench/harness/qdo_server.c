// SPDX-License-Identifier: MIT
/*
 * The scripts of qdo_scripts.h, how many of them are done in an hour, and what one costs (Q table
 * 5.14).
 *
 * A script is what a shell would run: make a text, compile it, search it, sort it, pack it, remove
 * it. Each command is a thread, as it is a process in SDET. Names stand in the shared table:
 * compiling adds those it has not seen, searching looks them up, removing takes them out. A long
 * script does all but the removal several times.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "qdo_scripts.h"
#include "qdo_subject.h"

#define WORDS 1024
#define NAMES 192 /* different words of a script */
#define PACK_BYTES 262144
#define COMMANDS 6u

struct script {
	struct scripts *all;
	pthread_t thread;
	uint64_t seed;
	unsigned long done; /* scripts */
	void (*command)(struct script *self);
	uint64_t words[WORDS];
	bool is_mine[NAMES]; /* names that this script has put into the table */
	unsigned char packed[PACK_BYTES];
	unsigned long sum;
	bool has_failed, is_joined;
} __attribute__((aligned(64)));

struct scripts {
	struct table table;
	unsigned int count, passes, runs;
	bool stop;
	struct script script[];
};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* The name of a script's word: no two scripts have one in common. */
static uint64_t name_of(const struct script *self, uint64_t word)
{
	return (uint64_t)(self - self->all->script) * NAMES + word;
}

static void edit(struct script *self)
{
	for (unsigned int i = 0; i < WORDS; i++)
		self->words[i] = next_random(&self->seed) % NAMES;
}

static void compile(struct script *self)
{
	for (unsigned int i = 0; i < WORDS; i++) {
		uint64_t word = self->words[i], name = name_of(self, word);

		if (table_has(&self->all->table, name) != self->is_mine[word])
			self->has_failed = true;
		if (self->is_mine[word])
			continue;
		self->is_mine[word] = table_add(&self->all->table, name);
		self->has_failed |= !self->is_mine[word];
	}
}

static void search(struct script *self)
{
	for (unsigned int i = 0; i < WORDS; i++)
		if (self->words[i] % 2 &&
		    !table_has(&self->all->table, name_of(self, self->words[i])))
			self->has_failed = true;
}

static int word_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void sort(struct script *self)
{
	qsort(self->words, WORDS, sizeof(self->words[0]), word_compare);
}

static void pack(struct script *self)
{
	const unsigned char *from = (const unsigned char *)self->words;

	for (unsigned int i = 0; i < PACK_BYTES; i++) {
		self->packed[i] = from[i % sizeof(self->words)];
		self->sum = self->sum * 31 + self->packed[i];
	}
}

static void delete (struct script *self)
{
	for (uint64_t word = 0; word < NAMES; word++) {
		if (!self->is_mine[word])
			continue;
		if (!table_remove(&self->all->table, name_of(self, word)))
			self->has_failed = true;
		self->is_mine[word] = false;
	}
}

static void *run_command(void *argument)
{
	struct script *self = argument;
	struct table *table = &self->all->table;
	struct qdo_operation operation;

	if (table->guard != SCRIPTS_THREADS) {
		self->command(self);
		return NULL;
	}
	qdo_enter(table->instance, &operation);
	self->command(self);
	qdo_leave(&operation);
	return NULL;
}

/* Commands @from to below @until, one after the other. */
static void run_commands(struct script *self, unsigned int from, unsigned int until)
{
	static void (*const commands[COMMANDS])(struct script *) = { edit, compile, search,
								     sort, pack,    delete };
	pthread_t thread;

	for (; from < until && !self->has_failed; from++) {
		self->command = commands[from];
		if (pthread_create(&thread, NULL, run_command, self))
			self->has_failed = true;
		else
			pthread_join(thread, NULL);
	}
}

static void *run_script(void *argument)
{
	struct script *self = argument;
	const struct scripts *all = self->all;

	while (!__atomic_load_n(&all->stop, __ATOMIC_ACQUIRE) && !self->has_failed &&
	       (!all->runs || self->done < all->runs)) {
		for (unsigned int pass = 0; pass < all->passes; pass++)
			run_commands(self, 0, COMMANDS - 1);
		run_commands(self, COMMANDS - 1, COMMANDS);
		self->done++;
	}
	return NULL;
}

static void join(struct scripts *scripts)
{
	for (unsigned int i = 0; i < scripts->count; i++)
		if (!scripts->script[i].is_joined) {
			pthread_join(scripts->script[i].thread, NULL);
			scripts->script[i].is_joined = true;
		}
	table_drain(&scripts->table);
}

void scripts_finish(struct scripts *scripts)
{
	join(scripts);
}

void scripts_stop(struct scripts *scripts, struct scripts_result *result)
{
	struct scripts_result sums = { 0 };

	__atomic_store_n(&scripts->stop, true, __ATOMIC_RELEASE);
	join(scripts);
	for (unsigned int i = 0; i < scripts->count; i++) {
		sums.wrong += scripts->script[i].has_failed;
		sums.scripts += scripts->script[i].done;
	}
	sums.resizes = scripts->table.resizes;
	sums.requests = scripts->table.requests;
	sums.wrong += scripts->table.wrong;
	table_end(&scripts->table);
	free(scripts);
	if (result)
		*result = sums;
}

struct scripts *scripts_start(struct qdo *instance, enum scripts_guard guard, unsigned int count,
			      unsigned int passes, unsigned int runs)
{
	size_t bytes = (sizeof(struct scripts) + count * sizeof(struct script) + 63) / 64 * 64;
	struct scripts *scripts = count && count <= SCRIPTS_MAX ? aligned_alloc(64, bytes) : NULL;

	if (!scripts) {
		fprintf(stderr, "bench qdo: no room for %u scripts\n", count);
		return NULL;
	}
	memset(scripts, 0, bytes);
	scripts->passes = passes;
	scripts->runs = runs;
	if (!table_init(&scripts->table, guard, instance)) {
		free(scripts);
		fprintf(stderr, "bench qdo: no memory for the table\n");
		return NULL;
	}
	for (unsigned int i = 0; i < count; i++) {
		struct script *script = &scripts->script[i];

		script->all = scripts;
		script->seed = 0x2545f4914f6cdd1du + i;
		if (pthread_create(&script->thread, NULL, run_script, script)) {
			fprintf(stderr, "bench qdo: cannot start script %u\n", i);
			scripts_stop(scripts, NULL);
			return NULL;
		}
		scripts->count = i + 1;
	}
	return scripts;
}

int qdo_answer_server(const char *arguments)
{
	unsigned int count, guard, passes, runs;
	const char *rest;
	struct qdo *instance = qdo_subject_instance(arguments, &rest);
	struct scripts_result result;
	struct scripts *scripts;
	uint64_t wall_ns, cpu_ns;
	double done;

	if (!instance || sscanf(rest, "%u %u %u %u", &count, &guard, &passes, &runs) != 4 ||
	    !passes || !runs || guard > SCRIPTS_THREADS)
		return -1;
	wall_ns = timing_read_ns(CLOCK_MONOTONIC);
	cpu_ns = timing_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	scripts = scripts_start(instance, (enum scripts_guard)guard, count, passes, runs);
	if (!scripts)
		return -1;
	scripts_finish(scripts);
	cpu_ns = timing_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	wall_ns = timing_read_ns(CLOCK_MONOTONIC) - wall_ns;
	scripts_stop(scripts, &result);
	qdo_destroy(instance);
	done = (double)result.scripts;
	printf("scripts_per_s=%.3f cpu_us=%.3f resizes=%.4f requests=%.3f wrong=%lu\n",
	       done * 1e9 / (double)wall_ns, (double)cpu_ns / 1e3 / done,
	       (double)result.resizes / done, (double)result.requests / done, result.wrong);
	return 0;
}
