// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A test program of scenarios: which of its tables run, and what counts as wrong.
 */
#include <string.h>
#include "sched.h"

static int run_table(const struct sched_table *table, const char *only, int *ran)
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < table->count; i++) {
		if (only && strcmp(only, table->scenario[i].name))
			continue;
		wrong += sched_run(&table->scenario[i], 1);
		(*ran)++;
	}
	return wrong;
}

static const struct sched_scenario *find(const struct sched_table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->count; i++)
		if (!strcmp(table->scenario[i].name, name))
			return &table->scenario[i];
	return NULL;
}

/* One seeded fault in its scenario. Return: 1 when it is not caught. */
static int fault_run(const struct sched_table *scenarios, const struct sched_fault *fault)
{
	const struct sched_scenario *scenario = find(scenarios, fault->scenario);
	struct sched_result result;

	if (!scenario) {
		printf("FAIL %s: no scenario %s\n", fault->name, fault->scenario);
		return 1;
	}
	sched_mutant = fault->which;
	sched_explore(scenario, &result, NULL);
	sched_mutant = SCHED_MUTANT_NONE;
	if (result.outcome != SCHED_FAILED) {
		printf("FAIL %s (%s) is not caught by %s in %llu states\n", fault->name,
		       fault->text, fault->scenario, (unsigned long long)result.states);
		return 1;
	}
	printf("ok   %s is caught by %s: %llu states, %u steps, %.2f s: %s\n", fault->name,
	       fault->scenario, (unsigned long long)result.states, result.depth, result.seconds,
	       result.message);
	fflush(stdout);
	return 0;
}

static int run_faults(const struct sched_suite *suite, const char *only, int *ran)
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < suite->fault_count; i++) {
		if (only && strcmp(only, suite->fault[i].name))
			continue;
		wrong += fault_run(&suite->scenarios, &suite->fault[i]);
		(*ran)++;
	}
	return wrong;
}

int sched_main(const struct sched_suite *suite, int count, char **argument)
{
	const char *what = count > 1 ? argument[1] : "all", *only = count > 2 ? argument[2] : NULL;
	int wrong = 0, ran = 0, all = !strcmp(what, "all"), has_none;

	if (all || !strcmp(what, "scenarios"))
		wrong += run_table(&suite->scenarios, only, &ran);
	if (all || !strcmp(what, "mutants")) {
		wrong += run_table(&suite->planted, only, &ran);
		wrong += run_faults(suite, only, &ran);
	}
	has_none = !strcmp(what, "long") && !suite->longer.count && !only;
	if (!strcmp(what, "long"))
		wrong += run_table(&suite->longer, only, &ran);
	printf("%d passed, %d failed\n", ran - wrong, wrong);
	return wrong != 0 || (!ran && !has_none);
}
