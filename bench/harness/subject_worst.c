/* SPDX-License-Identifier: MIT */
/*
 * One event at a time, each the first of its sub-buffer, with every page of the process
 * (program, tracer, ring buffers, C library) evicted from the caches before it.
 *
 * The sub-buffer switch is forced by the events' sizes: the caller picks sub-buffers of 4 KiB
 * and a filler so large that filler and event never share one. Every second sample times
 * nothing, under the same eviction, to show what the measurement itself costs.
 * Paper: T 8.5 (worst case: switch at each event, cold caches).
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "subject.h"
#include SUBJECT_EMIT

#define PAGES_MAX 65536
#define PAGE_BYTES 4096u
#define LINE_BYTES 64u
#define WARM_UP_COUNT 2000
#define PAGEMAP_PRESENT (1ull << 63)

static const char *pages[PAGES_MAX];
static unsigned int page_count;
static uint64_t event_samples[SUBJECT_SAMPLES_MAX];
static uint64_t empty_samples[SUBJECT_SAMPLES_MAX];
static unsigned char filler[PAGE_BYTES];

/* Add the pages of one mapping that are present in memory: touching others would fault. */
static void pages_add(int pagemap, uintptr_t begin, uintptr_t until)
{
	for (uintptr_t page = begin; page < until && page_count < PAGES_MAX; page += PAGE_BYTES) {
		uint64_t entry;

		if (pread(pagemap, &entry, sizeof(entry),
			  (off_t)(page / PAGE_BYTES * sizeof(entry))) != sizeof(entry))
			return;
		if (entry & PAGEMAP_PRESENT)
			pages[page_count++] = (const char *)page;
	}
}

static int pages_collect(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char line[512];

	if (!maps || pagemap < 0) {
		perror("bench subject: /proc/self");
		return -1;
	}
	page_count = 0;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long begin, until;
		char readable;

		if (sscanf(line, "%lx-%lx %c", &begin, &until, &readable) != 3)
			continue;
		if (readable == 'r' && !strstr(line, "[vvar") && !strstr(line, "[vsyscall"))
			pages_add(pagemap, begin, until);
	}
	fclose(maps);
	close(pagemap);
	return 0;
}

static void pages_evict(void)
{
	for (unsigned int i = 0; i < page_count; i++) {
		for (unsigned int offset = 0; offset < PAGE_BYTES; offset += LINE_BYTES)
			timing_evict_line(pages[i] + offset);
	}
	timing_evict_wait();
}

static void emit_filling(unsigned int filler_bytes)
{
	if (filler_bytes)
		emit_filler(filler, filler_bytes);
}

int subject_worst(unsigned int sample_count, unsigned int filler_bytes, int evict)
{
	double cycles_per_ns = timing_cycles_per_ns();

	if (sample_count > SUBJECT_SAMPLES_MAX || filler_bytes > sizeof(filler))
		return -1;
	for (unsigned int i = 0; i < WARM_UP_COUNT; i++) {
		emit_two_words(i, filler);
		emit_filling(filler_bytes);
	}
	if (pages_collect())
		return -1;
	for (unsigned int i = 0; i < sample_count; i++) {
		uint64_t begin;

		if (evict)
			pages_evict();
		begin = timing_cycles_ordered();
		empty_samples[i] = timing_cycles_ordered() - begin;
		if (evict)
			pages_evict();
		begin = timing_cycles_ordered();
		emit_two_words(i, filler);
		event_samples[i] = timing_cycles_ordered() - begin;
		emit_filling(filler_bytes);
	}
	printf("pages=%u events=%u", page_count, WARM_UP_COUNT + sample_count);
	subject_print_quantiles("", event_samples, sample_count, cycles_per_ns);
	subject_print_quantiles("empty_", empty_samples, sample_count, cycles_per_ns);
	printf("\n");
	return 0;
}
