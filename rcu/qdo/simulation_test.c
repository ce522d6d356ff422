// SPDX-License-Identifier: MIT
/*
 * Table 3.1 of the paper, counted: latency, communications and bytes from 1 to 256 CPUs.
 *
 * In timer mode every CPU steps once per round, in the order in which news travels slowest, so that
 * a round is what all CPUs can do side by side. The test prints a table, and compares the numbers
 * of each size with those of twice that size, to check that they grow as the paper says. Paper: Q
 * 3.3.2, table 3.1.
 */
#include "simulation_test.h"

#define SIZES 9 /* 1, 2, 4, ... 256 */
#define LARGEST 8
#define LAWFUL 4 /* from 16 CPUs on, constants no longer hide how numbers grow */

static const char *const names[] = { "snapshot", "token", "multi-token", "tree" };

/* What an algorithm needs with 2^size CPUs, or with sets of 2^size CPUs out of 256. */
struct costs {
	unsigned long rounds; /* until one request is done, on idle CPUs */
	unsigned long alone; /* communications of that request */
	unsigned long crowd; /* communications when every CPU has a request */
	unsigned long bytes; /* memory when every CPU has a request */
};

static struct costs by_cpus[4][SIZES];
static struct costs by_set[4][SIZES];

static unsigned long communications(void)
{
	unsigned long sum = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < core.cpu_count; cpu++)
		sum += core.cpus[cpu].counts.communications;
	return sum;
}

/* Makes one step of each CPU. Return: how many requests were done. */
static unsigned int round_of_steps(void)
{
	const unsigned int n = core.cpu_count;
	unsigned int i, done = 0;

	for (i = 0; i < n; i++)
		done += list_free(machine_step(core.algorithm == QDO_TREE ? i : n - 1 - i));
	return done;
}

/* Return: the rounds until @count requests are done. */
static unsigned long rounds_until(unsigned int count)
{
	unsigned long rounds = 0;

	for (; count && rounds < 8ul * core.cpu_count + 64; rounds++)
		count -= round_of_steps();
	EXPECT(!count && !core.pending, "%u requests are not done", count);
	return rounds;
}

/* A set of @count CPUs from @first on, in the ring. */
static struct qdo_request *request_of_some(unsigned int first, unsigned int count)
{
	struct qdo_request *request = request_make();
	unsigned int i;

	for (i = 0; i < count; i++)
		qdo_set_add(&request->quiescence, (first + i) % core.cpu_count);
	return request;
}

static void measure(enum qdo_algorithm algorithm, unsigned int cpus, unsigned int set,
		    struct costs *costs)
{
	unsigned int origin;

	/* The slowest of several origins: the token is near or far, the batch young or old. */
	for (origin = 0; origin < cpus; origin += cpus / 4 ? cpus / 4 : 1) {
		unsigned long rounds;

		machine_start(cpus, algorithm, QDO_SUBMIT_LOCK_FREE, 1);
		request_submit(request_of_some(origin, set), origin);
		rounds = rounds_until(1);
		if (rounds > costs->rounds)
			costs->rounds = rounds;
		if (communications() > costs->alone)
			costs->alone = communications();
	}
	machine_start(cpus, algorithm, QDO_SUBMIT_LOCK_FREE, 1);
	for (origin = 0; origin < cpus; origin++)
		request_submit(request_of_some(origin, set), origin);
	rounds_until(cpus);
	costs->crowd = communications();
	costs->bytes = qdo_core_bytes(cpus) + cpus * qdo_core_request_bytes(&core);
}

static void measure_all(void)
{
	int algorithm, size;

	for (algorithm = QDO_SNAPSHOT; algorithm <= QDO_TREE; algorithm++)
		for (size = 0; size < SIZES; size++) {
			measure((enum qdo_algorithm)algorithm, 1u << size, 1u << size,
				&by_cpus[algorithm][size]);
			measure((enum qdo_algorithm)algorithm, 1u << LARGEST, 1u << size,
				&by_set[algorithm][size]);
		}
}

static void print_table(const char *title, struct costs (*table)[SIZES])
{
	int algorithm, size;

	for (algorithm = QDO_SNAPSHOT; algorithm <= QDO_TREE; algorithm++) {
		printf("%s, %s:\n", title, names[algorithm]);
		printf("%8s%12s%14s%22s%12s\n", "", "rounds", "comm. of 1", "comm. of one a CPU",
		       "bytes");
		for (size = 0; size < SIZES; size++)
			printf("%8u%12lu%14lu%22lu%12lu\n", 1u << size,
			       table[algorithm][size].rounds, table[algorithm][size].alone,
			       table[algorithm][size].crowd, table[algorithm][size].bytes);
	}
}

#define GROWS(table, field, from, least, most) \
	grows(table, offsetof(struct costs, field), from, least, most)

/* Whether twice the size costs @least to @most hundredths of the size, from a size on. */
static int grows(const struct costs *table, size_t field, int from, unsigned long least,
		 unsigned long most)
{
	int size;

	for (size = from; size < LARGEST; size++) {
		const char *one = (const char *)&table[size] + field;
		const char *two = (const char *)&table[size + 1] + field;
		unsigned long small = *(const unsigned long *)one;
		unsigned long large = *(const unsigned long *)two;

		if (large * 100 < small * least || large * 100 > small * most)
			return 0;
	}
	return 1;
}

/* Whether each doubling adds the same number. */
static int is_logarithmic(const struct costs *table)
{
	unsigned long step = table[LAWFUL + 1].rounds - table[LAWFUL].rounds;
	int size;

	for (size = LAWFUL; size < LARGEST; size++)
		if (table[size + 1].rounds - table[size].rounds != step)
			return 0;
	return step > 0 && step < 8;
}

static void laws_of_cpus(void)
{
	behaves(GROWS(by_cpus[QDO_TOKEN], rounds, LAWFUL, 185, 215), "token_latency_is_O_n");
	behaves(GROWS(by_cpus[QDO_MULTI_TOKEN], rounds, LAWFUL, 185, 215),
		"multi_token_latency_of_all_cpus_is_O_n");
	behaves(GROWS(by_cpus[QDO_SNAPSHOT], rounds, 1, 100, 100), "snapshot_latency_is_O_1");
	behaves(is_logarithmic(by_cpus[QDO_TREE]), "tree_latency_is_O_log_n");
	behaves(GROWS(by_cpus[QDO_TOKEN], crowd, LAWFUL, 185, 215) &&
			GROWS(by_cpus[QDO_TOKEN], alone, LAWFUL, 185, 215),
		"token_communication_is_O_n_however_many_requests");
	behaves(GROWS(by_cpus[QDO_TREE], crowd, LAWFUL, 185, 215) &&
			GROWS(by_cpus[QDO_TREE], alone, LAWFUL, 185, 215),
		"tree_communication_is_O_n_however_many_requests");
	behaves(GROWS(by_cpus[QDO_SNAPSHOT], crowd, LAWFUL, 370, 440),
		"snapshot_communication_is_O_n_squared");
	behaves(GROWS(by_cpus[QDO_MULTI_TOKEN], crowd, LAWFUL, 370, 440),
		"multi_token_communication_is_O_m_r_with_all_cpus");
	behaves(GROWS(by_cpus[QDO_TOKEN], bytes, 0, 200, 200) &&
			GROWS(by_cpus[QDO_TREE], bytes, 0, 200, 200) &&
			GROWS(by_cpus[QDO_MULTI_TOKEN], bytes, 0, 200, 200),
		"token_tree_and_multi_token_bytes_are_O_n_plus_O_m");
	behaves(by_cpus[QDO_SNAPSHOT][LARGEST].bytes - by_cpus[QDO_TREE][LARGEST].bytes ==
			(1ul << LARGEST << LARGEST) * sizeof(unsigned long),
		"snapshot_needs_one_more_word_per_request_and_cpu");
}

static void laws_of_sets(void)
{
	behaves(GROWS(by_set[QDO_MULTI_TOKEN], rounds, LAWFUL, 185, 215),
		"multi_token_latency_is_O_r");
	behaves(GROWS(by_set[QDO_SNAPSHOT], rounds, 1, 100, 100),
		"snapshot_latency_does_not_depend_on_r");
	behaves(GROWS(by_set[QDO_MULTI_TOKEN], crowd, LAWFUL, 185, 215) &&
			GROWS(by_set[QDO_SNAPSHOT], crowd, LAWFUL, 185, 215),
		"multi_token_and_snapshot_communication_is_O_m_r");
	behaves(GROWS(by_set[QDO_TOKEN], rounds, 0, 100, 100) &&
			GROWS(by_set[QDO_TREE], rounds, 0, 100, 100),
		"token_and_tree_take_as_long_for_one_cpu_as_for_all");
	behaves(by_set[QDO_TOKEN][0].rounds > 256 && by_set[QDO_MULTI_TOKEN][0].rounds <= 2 &&
			by_set[QDO_SNAPSHOT][0].rounds <= 2,
		"a_set_of_one_cpu_is_quick_with_snapshot_and_multi_token_only");
}

/* With prompts no timer is needed where no operation is inside; and each algorithm needs few. */
static void prompts(void)
{
	static const unsigned long most[] = { 0, 5, 2, 8 }; /* prompts per CPU and request */
	int algorithm, size, origin;

	for (algorithm = QDO_SNAPSHOT; algorithm <= QDO_TREE; algorithm++) {
		char name[80];

		for (size = 0; size < SIZES; size++)
			for (origin = 0; origin < 3; origin++) {
				const unsigned int n = 1u << size;
				unsigned int cpu =
					origin == 2 ? n - 1 : n / 2 * (unsigned int)origin;

				machine_start(n, (enum qdo_algorithm)algorithm,
					      QDO_SUBMIT_LOCK_FREE, 0);
				request_submit(request_of_all(), cpu);
				EXPECT(list_free(machine_settle()) == 1, "%u CPUs: not done", n);
				EXPECT(prompt_count <= most[algorithm] * n + 2,
				       "%u CPUs: %lu prompts", n, prompt_count);
				request_submit(request_of_all(), n - 1 - cpu);
				EXPECT(list_free(machine_settle()) == 1, "%u CPUs: second", n);
				EXPECT(fence_count == 2, "%lu heavy fences", fence_count);
			}
		snprintf(name, sizeof(name), "%s_completes_at_once_when_idle_by_O_n_prompts",
			 names[algorithm]);
		behaves(1, name);
	}
}

int main(void)
{
	measure_all();
	print_table("by CPUs, all in each set", by_cpus);
	print_table("by CPUs of a set, of 256", by_set);
	laws_of_cpus();
	laws_of_sets();
	prompts();
	return machine_result();
}
