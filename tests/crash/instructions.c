/* SPDX-License-Identifier: MIT */
/*
 * A writer that dies at each instruction of the probe in turn.
 *
 *	instructions OFFSETS-FILE PROGRESS-FILE
 *
 * OFFSETS-FILE lists instruction addresses inside liblull.so, one a line, in hexadecimal. For each,
 * a child records a few events, puts a breakpoint there in its own copy of the text, and goes
 * on recording until it runs into it and dies of SIGTRAP. Events, progress file and check are
 * those of writers.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lull/trace.h>

#define OFFSETS_MAX 4096
#define EVENTS_BEFORE 3
#define EVENTS_MAX 1500 /* enough to switch sub-buffers of 4 KiB several times */

static int library_found(struct dl_phdr_info *object, size_t bytes, void *base)
{
	(void)bytes;
	if (!strstr(object->dlpi_name, "liblull.so"))
		return 0;
	*(uintptr_t *)base = object->dlpi_addr;
	return 1;
}

static void breakpoint_set(uintptr_t address)
{
	uintptr_t page = address & ~(uintptr_t)4095;

	if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		_exit(3);
#if defined(__x86_64__)
	*(volatile unsigned char *)address = 0xcc;
#else
	*(volatile uint32_t *)address = 0xd4200000; /* brk #0 */
	__builtin___clear_cache((char *)address, (char *)address + 4);
#endif
}

static void child_run(uint32_t writer, uintptr_t address, volatile uint64_t *progress)
{
	for (uint64_t sequence = 1; sequence <= EVENTS_MAX; sequence++) {
		lull_event("test:sequence", lull_u32(writer, writer), lull_u64(sequence, sequence));
		*progress = sequence;
		if (sequence == EVENTS_BEFORE)
			breakpoint_set(address);
	}
	_exit(0);
}

int main(int count, char **arguments)
{
	static uintptr_t offsets[OFFSETS_MAX];
	struct rlimit no_core = { 0, 0 };
	uint32_t offset_count = 0, died = 0;
	uint64_t *progress;
	uintptr_t base = 0;
	char line[64];
	int progress_file;
	FILE *file;

	if (count != 3 || !(file = fopen(arguments[1], "r"))) {
		fprintf(stderr, "usage: instructions OFFSETS-FILE PROGRESS-FILE\n");
		return 2;
	}
	while (offset_count < OFFSETS_MAX && fgets(line, sizeof(line), file))
		offsets[offset_count++] = strtoull(line, NULL, 16);
	fclose(file);
	setrlimit(RLIMIT_CORE, &no_core);
	progress_file = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (progress_file < 0 || ftruncate(progress_file, (off_t)(offset_count * sizeof(uint64_t))))
		return 2;
	progress = mmap(NULL, offset_count * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
			progress_file, 0);
	if (progress == MAP_FAILED || !dl_iterate_phdr(library_found, &base)) {
		fprintf(stderr, "instructions: run me under lull record\n");
		return 2;
	}
	for (uint32_t i = 0; i < offset_count; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			child_run(i, base + offsets[i], &progress[i]);
		waitpid(child, &status, 0);
		died += WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP;
	}
	printf("%u instructions, %u deaths\n", offset_count, died);
	return 0;
}
