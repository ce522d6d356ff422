// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sources as a recorder sees them: each kind records what the test makes happen, what is not valid
 * is refused, and random ones harm nobody. Run in a kernel that has loaded lull.ko, by tests/boot.
 *
 * Usage: source_test [SEED].
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../check/test.h"
#include "session.h"

#define CALLS 40
#define RANDOM_SOURCES 1500
#define SLEEPERS 4
#define TARGET "do_sys_openat2"
#define NOWHERE "/run/there is no such file"
#define FIELD(...) ((struct lull_source_field){ __VA_ARGS__ })

/* Where the kernel keeps, of a program's registers: the first two arguments of a function, and the
 * number of a system call. On arm64, that is behind what it shows to programs. */
#ifdef __x86_64__
#define FIRST_ARGUMENT offsetof(struct user_regs_struct, rdi)
#define SECOND_ARGUMENT offsetof(struct user_regs_struct, rsi)
#define CALL_NUMBER offsetof(struct user_regs_struct, orig_rax)
#else
#define FIRST_ARGUMENT offsetof(struct user_regs_struct, regs[0])
#define SECOND_ARGUMENT offsetof(struct user_regs_struct, regs[1])
#define CALL_NUMBER (sizeof(struct user_regs_struct) + 8)
#endif

static uint64_t seed = 1;

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static struct lull_kernel_source source_of(uint32_t kind, const char *target,
					   const char *description,
					   const struct lull_source_field *fields, uint32_t count)
{
	return (struct lull_kernel_source){
		.bytes = sizeof(struct lull_kernel_source),
		.kind = kind,
		.field_count = count,
		.fields = (uintptr_t)fields,
		.target = (uintptr_t)target,
		.description = (uintptr_t)description,
		.target_bytes = (uint32_t)strlen(target) + 1,
		.description_bytes = (uint32_t)strlen(description) + 1,
	};
}

static int session_open(struct recorder *recorder)
{
	struct lull_kernel_plan plan = plan_of("no:event", LULL_MODE_DISCARD);

	return recorder_open(recorder, &plan);
}

static long source_add(const struct recorder *recorder, const struct lull_kernel_source *source)
{
	struct lull_kernel_source copy = *source;

	return ioctl(recorder->descriptor, LULL_KERNEL_SOURCE, &copy);
}

/* Events of this thread, as long as their fields are those that a test expects. */
struct expected {
	const unsigned char *payload;
	size_t bytes;
	long found, others;
};

static void event_compare(const struct recorded *event, void *context)
{
	struct expected *expected = context;

	if (event->tid != (uint32_t)gettid())
		return;
	if (memcmp(event->payload, expected->payload, expected->bytes))
		expected->others++;
	else
		expected->found++;
}

static void files_open(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_openat, AT_FDCWD, NOWHERE, O_RDONLY, 0);
}

/*
 * Records one source while the test opens files that are not there. Return: how many events of this
 * thread have these bytes; or an error.
 */
static struct expected opened(const struct lull_kernel_source *source, const void *payload,
			      size_t bytes)
{
	struct expected expected = { .payload = payload, .bytes = bytes };
	struct recorder recorder;

	if (session_open(&recorder) || source_add(&recorder, source) != 0) {
		printf("  not added: %s\n", strerror(errno));
		return expected;
	}
	files_open();
	recorder_enable(&recorder);
	files_open();
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	files_open();
	recorder_read(&recorder, event_compare, &expected);
	recorder_peek(&recorder, event_compare, &expected);
	recorder_close(&recorder);
	return expected;
}

static int tracepoint_has_its_arguments_and_what_they_lead_to(void)
{
	const struct lull_source_field fields[] = {
		FIELD(.from = LULL_FROM_ARGUMENT, .index = 1),
		FIELD(.from = LULL_FROM_ARGUMENT, .step_count = 1, .steps = { CALL_NUMBER }),
		FIELD(.from = LULL_FROM_CONSTANT, .constant = 77),
	};
	const struct lull_kernel_source source =
		source_of(LULL_SOURCE_TRACEPOINT, "sys_enter",
			  "own:call\n6\n-:1\ni64 id\nu32 same\nbool is\n", fields, 3);
	const struct __attribute__((packed)) {
		int64_t id;
		uint32_t same;
		uint8_t is;
	} payload = { SYS_openat, SYS_openat, 1 };
	struct expected expected = opened(&source, &payload, sizeof(payload));

	CHECK(expected.found == CALLS);
	return 0;
}

static int function_has_arguments_registers_and_strings(void)
{
	const struct lull_source_field fields[] = {
		FIELD(.from = LULL_FROM_ARGUMENT),
		FIELD(.from = LULL_FROM_REGISTER, .index = SECOND_ARGUMENT, .step_count = 1,
		      .is_user = 1),
		FIELD(.from = LULL_FROM_CONSTANT, .step_count = 1),
		FIELD(.from = LULL_FROM_CONSTANT, .constant = 1ull << 63, .step_count = 2),
		FIELD(.from = LULL_FROM_UNREAD),
	};
	const struct lull_kernel_source source = source_of(
		LULL_SOURCE_FUNCTION, TARGET,
		"own:open\n6\n-:1\ni32 dfd\nstr name\nstr none\nu16 bad\nx8 unread\n", fields, 5);
	const char payload[] = "\x9c\xff\xff\xff" NOWHERE "\0(null)\0\0\0\x08";
	struct expected expected = opened(&source, payload, sizeof(payload) - 1);

	CHECK(expected.found == CALLS && expected.others == 0);
	return 0;
}

static int return_has_its_result(void)
{
	const struct lull_source_field fields[] = { FIELD(.from = LULL_FROM_RESULT) };
	const struct lull_kernel_source source = source_of(
		LULL_SOURCE_RETURN, TARGET, "own:opened\n6\n-:1\ni32 result\n", fields, 1);
	const int payload = -ENOENT;
	struct expected expected = opened(&source, &payload, sizeof(payload));

	CHECK(expected.found == CALLS && expected.others == 0);
	return 0;
}

/* Where the kernel has a symbol. */
static uint64_t symbol_address(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long address;
	char type, found[256];

	while (file && fscanf(file, "%lx %c %255s%*[^\n]", &address, &type, found) == 3)
		if (!strcmp(found, name)) {
			fclose(file);
			return address;
		}
	return 0;
}

static int access_of_memory_and_of_code_is_recorded(void)
{
	const struct lull_source_field fields[] = {
		FIELD(.from = LULL_FROM_REGISTER, .index = FIRST_ARGUMENT),
	};
	struct lull_kernel_source source =
		source_of(LULL_SOURCE_ACCESS, "", "own:opens\n6\n-:1\ni32 dfd\n", fields, 1);
	const int payload = AT_FDCWD;
	struct expected expected;

	source.offset = symbol_address(TARGET);
	source.length = 8;
	source.access = LULL_ACCESS_EXECUTE;
	CHECK(source.offset);
	expected = opened(&source, &payload, sizeof(payload));
	CHECK(expected.found == CALLS && expected.others == 0);
	return 0;
}

static __attribute__((noinline)) void visit(const char *text)
{
	__asm__ volatile("" : : "r"(text) : "memory");
}

static __attribute__((noinline)) long answer(long question)
{
	__asm__ volatile("" : "+r"(question) : : "memory");
	return question - 43;
}

/* Records a place in this program while both functions run. */
static struct expected visited(struct lull_kernel_source *source, uintptr_t function,
			       const void *payload, size_t bytes)
{
	extern const char __executable_start[];
	struct expected expected = { .payload = payload, .bytes = bytes };
	struct recorder recorder;

	source->offset = function - (uintptr_t)__executable_start;
	if (session_open(&recorder) || source_add(&recorder, source) != 0) {
		printf("  not added: %s\n", strerror(errno));
		return expected;
	}
	recorder_enable(&recorder);
	for (int i = 0; i < CALLS; i++) {
		visit(NOWHERE);
		answer(1);
	}
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	recorder_peek(&recorder, event_compare, &expected);
	recorder_close(&recorder);
	return expected;
}

static int function_of_a_program_is_recorded_with_its_strings(void)
{
	const struct lull_source_field fields[] = {
		FIELD(.from = LULL_FROM_REGISTER, .index = FIRST_ARGUMENT, .step_count = 1,
		      .is_user = 1),
	};
	struct lull_kernel_source source = source_of(LULL_SOURCE_PROGRAM, "/proc/self/exe",
						     "own:visit\n6\n-:1\nstr text\n", fields, 1);
	struct expected expected = visited(&source, (uintptr_t)visit, NOWHERE, sizeof(NOWHERE));

	CHECK(expected.found == CALLS && expected.others == 0);
	return 0;
}

static int return_of_a_programs_function_has_its_result(void)
{
	const struct lull_source_field fields[] = { FIELD(.from = LULL_FROM_RESULT) };
	struct lull_kernel_source source =
		source_of(LULL_SOURCE_PROGRAM_RETURN, "/proc/self/exe",
			  "own:answered\n6\n-:1\ni64 result\n", fields, 1);
	const int64_t payload = -42;
	struct expected expected = visited(&source, (uintptr_t)answer, &payload, sizeof(payload));

	CHECK(expected.found == CALLS && expected.others == 0);
	return 0;
}

static void *nap(void *unused)
{
	const struct timespec time = { 0, 300000000 };

	(void)unused;
	nanosleep(&time, NULL);
	return NULL;
}

static void event_count(const struct recorded *event, void *context)
{
	(void)event;
	++*(long *)context;
}

static int returns_that_the_kernel_cannot_follow_are_counted(void)
{
	struct lull_kernel_source source =
		source_of(LULL_SOURCE_RETURN, "hrtimer_nanosleep", "own:slept\n6\n-:1\n", NULL, 0);
	struct lull_kernel_missed missed = { .bytes = sizeof(missed), .missed_count = 99 };
	pthread_t threads[SLEEPERS];
	struct recorder recorder;
	long recorded = 0;

	source.length = 1;
	CHECK(session_open(&recorder) == 0 && source_add(&recorder, &source) == 0);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_MISSED, &missed) == 0);
	CHECK(missed.missed_count == 0);
	recorder_enable(&recorder);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&threads[i], NULL, nap, NULL);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
	ioctl(recorder.descriptor, LULL_KERNEL_DISABLE);
	CHECK(recorder_peek(&recorder, event_count, &recorded) >= 0);
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_MISSED, &missed) == 0);
	printf("  %ld recorded, %lu missed\n", recorded, missed.missed_count);
	CHECK(recorded >= 1 && missed.missed_count >= 1);
	CHECK(recorded + (long)missed.missed_count >= SLEEPERS);
	missed.number = 1;
	CHECK(ioctl(recorder.descriptor, LULL_KERNEL_MISSED, &missed) == -1 && errno == EINVAL);
	recorder_close(&recorder);
	return 0;
}

/* Is a source refused that differs from a good one by these words? */
#define REFUSED(error, change)                                                                   \
	do {                                                                                     \
		struct lull_source_field fields[] = { FIELD(.from = LULL_FROM_ARGUMENT) };       \
		struct lull_kernel_source source = source_of(                                    \
			LULL_SOURCE_FUNCTION, TARGET, "own:open\n6\n-:1\ni32 dfd\n", fields, 1); \
		change;                                                                          \
		CHECK(source_add(&recorder, &source) == -1 && errno == (error));                 \
	} while (0)
#define TEXT(member, text) (source.member = (uintptr_t)(text), source.member##_bytes = sizeof(text))

static int sources_that_are_not_valid_are_refused(void)
{
	struct recorder recorder;

	CHECK(session_open(&recorder) == 0);
	REFUSED(EINVAL, source.flags = 1);
	REFUSED(EINVAL, source.kind = 0);
	REFUSED(EINVAL, source.kind = 7);
	REFUSED(EINVAL, source.length = 1);
	REFUSED(EINVAL, source.field_count = 0);
	REFUSED(EINVAL, source.field_count = 2);
	REFUSED(EINVAL, source.field_count = 17);
	REFUSED(EFAULT, source.fields = 16);
	REFUSED(EFAULT, source.target = 16);
	REFUSED(EINVAL, source.target_bytes--);
	REFUSED(EINVAL, source.description_bytes--);
	REFUSED(EINVAL, TEXT(description, "open\n6\n-:1\ni32 dfd\n"));
	REFUSED(EINVAL, TEXT(description, "own:open\n6\n-:1\nf32 dfd\n"));
	REFUSED(EINVAL, TEXT(description, "own:open\n6\n-:1\nau8 dfd\n"));
	REFUSED(EINVAL, TEXT(description, "own:open\n6\n-:1\nstr dfd\n"));
	REFUSED(ENOENT, TEXT(target, "there_is_no_such_symbol"));
	REFUSED(ENOENT, (source.kind = LULL_SOURCE_TRACEPOINT, TEXT(target, "no_such")));
	REFUSED(ENOENT, (source.kind = LULL_SOURCE_TRACEPOINT, TEXT(target, "9pnet:no_such")));
	REFUSED(EINVAL, (source.kind = LULL_SOURCE_PROGRAM_RETURN, source.length = 1,
			 fields[0].from = LULL_FROM_RESULT, TEXT(target, "/proc/self/exe")));
	REFUSED(EINVAL, (source.kind = LULL_SOURCE_PROGRAM, fields[0].from = LULL_FROM_RESULT,
			 TEXT(target, "/proc/self/exe")));
	REFUSED(ENOENT, (source.kind = LULL_SOURCE_PROGRAM, fields[0].from = LULL_FROM_REGISTER,
			 TEXT(target, NOWHERE)));
	REFUSED(EINVAL, fields[0].from = 0);
	REFUSED(EINVAL, fields[0].from = LULL_FROM_RESULT);
	REFUSED(EINVAL, fields[0].from = LULL_FROM_UNREAD + 1);
	REFUSED(EINVAL, fields[0].index = 6);
	REFUSED(EINVAL, (fields[0].from = LULL_FROM_REGISTER, fields[0].index = 4));
	REFUSED(EINVAL, (fields[0].from = LULL_FROM_REGISTER, fields[0].index = 4096));
	REFUSED(EINVAL, fields[0].step_count = 5);
	REFUSED(EINVAL, fields[0].is_user = 1);
	REFUSED(EINVAL, fields[0].unused = 1);
	REFUSED(EINVAL, fields[0].constant = 1);
	REFUSED(EINVAL, fields[0].steps[0] = 1);
	REFUSED(EINVAL, (source.kind = LULL_SOURCE_ACCESS, source.length = 8, source.access = 1,
			 fields[0].from = LULL_FROM_REGISTER, source.offset = 4096));
	recorder_close(&recorder);
	return 0;
}

static int sources_are_for_the_administrator_and_have_a_limit(void)
{
	const struct lull_kernel_source source =
		source_of(LULL_SOURCE_TRACEPOINT, "sys_enter", "own:call\n6\n-:1\n", NULL, 0);
	struct recorder recorder;
	int status;

	CHECK(session_open(&recorder) == 0);
	fflush(stdout);
	if (!fork()) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(!(source_add(&recorder, &source) == -1 && errno == EPERM));
	}
	CHECK(wait(&status) > 0 && status == 0);
	for (long i = 0; i < LULL_SOURCES_MAX; i++)
		CHECK(source_add(&recorder, &source) == i);
	CHECK(source_add(&recorder, &source) == -1 && errno == ENOSPC);
	recorder_close(&recorder);
	return 0;
}

/* Any value, and more often one that is nearly right. */
static uint64_t random_value(uint64_t is)
{
	uint64_t value = random_next();

	switch (value >> 61) {
	case 0:
		return 0;
	case 1:
		return ~0ull >> (value & 63);
	case 2:
		return is + (value & 15) - 8;
	case 3:
		return is ^ 1ull << (value & 63);
	case 4:
		return value;
	default:
		return is;
	}
}

/* A field that a source of this kind can have, leading anywhere. */
static struct lull_source_field field_random(uint32_t kind, int is_string)
{
	struct lull_source_field field = FIELD(.from = LULL_FROM_CONSTANT);
	uint64_t what = random_next();

	if (kind == LULL_SOURCE_TRACEPOINT && what & 3)
		field = FIELD(.from = LULL_FROM_ARGUMENT, .index = (uint32_t)(what >> 8) % 12);
	else if (kind == LULL_SOURCE_FUNCTION && what & 2)
		field = FIELD(.from = LULL_FROM_ARGUMENT, .index = (uint32_t)(what >> 8) % 6);
	else if (kind != LULL_SOURCE_TRACEPOINT && what & 1)
		field = FIELD(.from = LULL_FROM_REGISTER, .index = (uint32_t)(what >> 8) % 21 * 8);
	else
		field.constant = random_value(1ull << 63);
	field.step_count = (uint8_t)(is_string + (what >> 32) % (5 - is_string));
	field.is_user = field.step_count && what >> 40 & 1;
	for (int i = 0; i < field.step_count; i++)
		field.steps[i] = (int32_t)random_value(8);
	return field;
}

static int random_sources_harm_nobody(void)
{
	static const char *const targets[2][3] = {
		{ TARGET, "vfs_write", "kfree" },
		{ "sys_enter", "sched_switch", "irq_handler_entry" },
	};
	static const char *const types[] = { "str", "i64", "bool", "u8", "x16", "enum" };
	struct recorder recorder;
	long made = 0;

	for (int i = 0; i < RANDOM_SOURCES; i++) {
		uint32_t count = (uint32_t)(random_next() % LULL_SOURCE_FIELDS_MAX);
		uint32_t kind = (uint32_t)(1 + random_next() % 3), target = random_next() % 3;
		struct lull_source_field fields[LULL_SOURCE_FIELDS_MAX] = { 0 };
		char description[600] = "own:random\n6\n-:1\n";
		struct lull_kernel_source source;

		if (i % 100 == 0) {
			CHECK(session_open(&recorder) == 0);
			recorder_enable(&recorder);
		}
		for (uint32_t k = 0; k < count; k++) {
			size_t type = random_next() % 6;

			fields[k] = field_random(kind, !type);
			sprintf(description + strlen(description), "%s f%u%s\n", types[type], k,
				type == 5 ? " A=1" : "");
		}
		source = source_of(kind, targets[kind == LULL_SOURCE_TRACEPOINT][target],
				   description, fields, count);
		/* Of half of them one word is another one, of the structure or of a field. */
		if (random_next() & 1) {
			uint64_t *words =
				random_next() & 1 ? (uint64_t *)&source : (uint64_t *)fields;
			size_t word = random_next() % (sizeof(source) / sizeof(*words));

			words[word] = random_value(words[word]);
		}
		made += source_add(&recorder, &source) >= 0;
		if (i % 100 == 99) {
			files_open();
			CHECK(recorder_read(&recorder, event_count, &(long){ 0 }) >= 0);
			recorder_close(&recorder);
		}
	}
	printf("  %ld of %d sources were made\n", made, RANDOM_SOURCES);
	CHECK(made > RANDOM_SOURCES / 4 && made < RANDOM_SOURCES);
	return function_has_arguments_registers_and_strings();
}

/* For tests/boot: sources that stay until the program is killed. */
static int stay(void)
{
	const struct lull_kernel_source source =
		source_of(LULL_SOURCE_FUNCTION, TARGET, "own:open\n6\n-:1\n", NULL, 0);
	struct recorder recorder;

	if (session_open(&recorder) || source_add(&recorder, &source) < 0)
		return 1;
	recorder_enable(&recorder);
	for (;;)
		pause();
}

int main(int argument_count, char **arguments)
{
	if (argument_count > 1 && !strcmp(arguments[1], "stay"))
		return stay();
	if (argument_count > 1)
		seed = strtoull(arguments[1], NULL, 0) | 1;
	RUN(tracepoint_has_its_arguments_and_what_they_lead_to);
	RUN(function_has_arguments_registers_and_strings);
	RUN(return_has_its_result);
	RUN(access_of_memory_and_of_code_is_recorded);
	RUN(function_of_a_program_is_recorded_with_its_strings);
	RUN(return_of_a_programs_function_has_its_result);
	RUN(returns_that_the_kernel_cannot_follow_are_counted);
	RUN(sources_that_are_not_valid_are_refused);
	RUN(sources_are_for_the_administrator_and_have_a_limit);
	RUN(random_sources_harm_nobody);
	return sums();
}
