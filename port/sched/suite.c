// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A test program of scenarios: which of its tables run, and which results are failures.
 */
#include <string.h>
#include "sched.h"

/* A scenario as it stands in its table, or on the machine that the whole run is for. */
static struct sched_scenario on_machine(const struct sched_scenario *scenario, int tso)
{
	struct sched_scenario moved = *scenario;

	if (tso && moved.memory == SCHED_PSO)
		moved.memory = SCHED_TSO;
	return moved;
}

static int run_table(const struct sched_table *table, const char *only, int tso, int *ran)
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < table->count; i++) {
		struct sched_scenario scenario = on_machine(&table->scenario[i], tso);

		if (only && strcmp(only, scenario.name))
			continue;
		if (tso && table->scenario[i].memory == SCHED_STALE)
			continue; /* x86 has no such loads: as TSO it would be its PSO twin's */
		wrong += sched_run(&scenario, 1);
		(*ran)++;
	}
	return wrong;
}

/* Whether a fault is one of order that x86 keeps by itself. */
static int is_hidden_by_tso(const char *name)
{
	static const char *const hidden[] = { SCHED_MUTANTS_HIDDEN_BY_TSO };
	size_t i;

	for (i = 0; i < SCHED_COUNT(hidden); i++)
		if (!strcmp(hidden[i], name))
			return 1;
	return 0;
}

static const struct sched_scenario *find(const struct sched_table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->count; i++)
		if (!strcmp(table->scenario[i].name, name))
			return &table->scenario[i];
	return NULL;
}

/* One seeded fault in its scenario. Return: 1 when it is not caught, or is where it cannot be. */
static int fault_run(const struct sched_table *scenarios, const struct sched_fault *fault, int tso)
{
	const struct sched_scenario *listed = find(scenarios, fault->scenario);
	struct sched_scenario scenario;
	struct sched_result result;
	int hidden = tso && is_hidden_by_tso(fault->name), caught, wrong;

	if (!listed) {
		printf("FAIL %s: no scenario %s\n", fault->name, fault->scenario);
		return 1;
	}
	scenario = on_machine(listed, tso);
	sched_mutant = fault->which;
	sched_explore(&scenario, &result, NULL);
	sched_mutant = SCHED_MUTANT_NONE;
	caught = result.outcome == SCHED_FAILED;
	wrong = caught == hidden || result.outcome == SCHED_TOO_LARGE;
	printf("%s %s%s%s%s is %s by %s%s: %llu states, %u steps, %.2f s%s%s\n",
	       wrong ? "FAIL" : "ok  ", fault->name, wrong ? " (" : "", wrong ? fault->text : "",
	       wrong ? ")" : "", caught ? "caught" : "not caught", fault->scenario,
	       hidden ? ", as x86 hides it" : "", (unsigned long long)result.states, result.depth,
	       result.seconds, caught ? ": " : "", caught ? result.message : "");
	fflush(stdout);
	return wrong;
}

static int run_faults(const struct sched_suite *suite, const char *only, int tso, int *ran)
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < suite->fault_count; i++) {
		if (only && strcmp(only, suite->fault[i].name))
			continue;
		wrong += fault_run(&suite->scenarios, &suite->fault[i], tso);
		(*ran)++;
	}
	return wrong;
}

int sched_main(const struct sched_suite *suite, int count, char **argument)
{
	int tso = count > 1 && !strcmp(argument[1], "tso");
	const char *what, *only;
	int wrong = 0, ran = 0, all, has_none;

	count -= tso;
	argument += tso;
	what = count > 1 ? argument[1] : "all";
	only = count > 2 ? argument[2] : NULL;
	all = !strcmp(what, "all");
	if (all || !strcmp(what, "scenarios"))
		wrong += run_table(&suite->scenarios, only, tso, &ran);
	if (all || !strcmp(what, "mutants")) {
		/* planted faults say in their own scenarios what they need to show */
		if (!tso)
			wrong += run_table(&suite->planted, only, tso, &ran);
		wrong += run_faults(suite, only, tso, &ran);
	}
	has_none = !strcmp(what, "long") && !suite->longer.count && !only;
	if (!strcmp(what, "long"))
		wrong += run_table(&suite->longer, only, tso, &ran);
	printf("%d passed, %d failed, 0 skipped\n", ran - wrong, wrong);
	return wrong != 0 || (!ran && !has_none);
}
