// SPDX-License-Identifier: MIT
/*
 * How requests get into their CPU's list: the three techniques of Q 4.8.
 *
 * Papers: Q 4.8.1 (locks), 4.8.2 (lock-free list), 4.8.3 (disabled scheduler). Design:
 * docs/design/41-qdo.md. Barrier pairs are in core.c.
 *
 * Many threads submit, and one takes: the step of the CPU, wherever it runs.
 *
 * The restartable list is never emptied, because a step on another CPU cannot write a word that
 * restartable steps write. Instead the taker remembers the head that it saw last; the requests
 * above that head are new. A word of the list is a request's address and one bit:
 *
 *	stepped -> C -> B -> A|1	stepped_taken = A|1: C and B are new
 *
 * Request A may be done and freed long ago, and its memory submitted again. Then it gets the other
 * value of the bit than stepped_taken has, so that the head never equals stepped_taken while there
 * is something new. A thread that submits A again sees that stepped_taken, because A was handed out
 * after stepped_taken was stored.
 */
#include "core.h"

/*
 * How often a submission tries a restartable step before it takes the lock-free list. Each failure
 * is a preemption or a migration.
 */
#define RESTARTS_MAX 8
#define AGAIN_BIT 1ul

void qdo_submissions_reset(struct qdo_submissions *submissions)
{
	*submissions = (struct qdo_submissions){ .lock = LULL_LOCK_INITIALIZER };
}

static struct qdo_request *request_of(unsigned long word)
{
	return (struct qdo_request *)(word & ~AGAIN_BIT);
}

/* Bound: each retry means that another push succeeded, or that the list was taken. */
void qdo_list_push(unsigned long *head, struct qdo_request *request)
{
	unsigned long found = lull_mem_load(head), expect;

	do {
		expect = found;
		request->next = request_of(expect);
		/*
		 * [qdo.push:A] compare-and-swap, full; in a restartable step, release; under the
		 * lock, that of its release. Pairs with [qdo.collect:A].
		 * Orders: the writes of the request, and the removals that the requester made
		 * before, before the head that leads the CPU's step to the request.
		 * Else: the step reads an unfinished request.
		 * Mutants: QDO_PUSH_STORE, PUSH_RELAXED.
		 */
		found = lull_mem_cas(head, expect, (unsigned long)request);
	} while (found != expect);
}

/* Return: the requests of a list, oldest first. Bound: the list's length, to @until. */
static struct qdo_request *reversed(unsigned long word, unsigned long until)
{
	struct qdo_request *list = NULL, *request;

	while (word != until) {
		request = request_of(word);
		word = (unsigned long)request->next;
		request->next = list;
		list = request;
	}
	return list;
}

struct qdo_request *qdo_list_take(unsigned long *head)
{
	unsigned long taken;

	if (!lull_mem_load(head))
		return NULL;
	/*
	 * [qdo.collect:A] exchange, full; for the restartable list, acquire. Pairs with
	 * [qdo.push:A].
	 * Orders: the read of the head before the reads of the requests to which it leads.
	 * Else: the step reads an unfinished request. That the exchange is one step keeps a request
	 * that is pushed meanwhile from being lost.
	 * Mutants: QDO_TAKE_STORE, COLLECT_RELAXED.
	 */
	taken = lull_mem_exchange(head, 0);
	return reversed(taken, 0);
}

static int step_push(struct qdo_core *core, unsigned int index, struct qdo_request *request)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	unsigned long head = lull_mem_load(&cpu->submissions.stepped);
	unsigned long word = (unsigned long)request;

	if (lull_mem_load(&cpu->submissions.stepped_taken) == word &&
	    !LULL_MUTANT(QDO_STEPPED_SAME))
		word |= AGAIN_BIT;
	request->next = (struct qdo_request *)head;
	return lull_qdo_replace(index, (void **)&cpu->submissions.stepped, (void *)head,
				(void *)word);
}

static unsigned int submit_restartable(struct qdo_core *core, struct qdo_request *request)
{
	unsigned int index = 0;
	int i, done = 0;

	for (i = 0; i < RESTARTS_MAX && !done; i++) {
		index = lull_qdo_cpu() % core->cpu_count;
		done = step_push(core, index, request);
	}
	if (done != 1)
		qdo_list_push(&core->cpus[index].submissions.listed, request);
	return index;
}

static void submit_locked(struct qdo_cpu *cpu, struct qdo_request *request)
{
	int locked = !LULL_MUTANT(QDO_NO_LOCK);

	if (locked)
		lull_lock_take(&cpu->submissions.lock);
	request->next = request_of(lull_mem_load(&cpu->submissions.listed));
	lull_mem_store(&cpu->submissions.listed, (unsigned long)request);
	if (locked)
		lull_lock_release(&cpu->submissions.lock);
}

unsigned int qdo_core_submit(struct qdo_core *core, struct qdo_request *request)
{
	unsigned int index;

	/* It is counted first: the CPU's step may be done with it before this function goes on. */
	request->is_first = lull_mem_add(&core->pending, 1) == 1;
	if (core->submission == QDO_SUBMIT_RESTARTABLE)
		return submit_restartable(core, request);
	index = lull_qdo_cpu() % core->cpu_count;
	if (core->submission == QDO_SUBMIT_LOCK)
		submit_locked(&core->cpus[index], request);
	else
		qdo_list_push(&core->cpus[index].submissions.listed, request);
	return index;
}

static struct qdo_request *take_locked(struct qdo_cpu *cpu)
{
	unsigned long taken;

	if (!lull_mem_load(&cpu->submissions.listed))
		return NULL;
	lull_lock_take(&cpu->submissions.lock);
	taken = lull_mem_load(&cpu->submissions.listed);
	lull_mem_store(&cpu->submissions.listed, 0);
	lull_lock_release(&cpu->submissions.lock);
	return reversed(taken, 0);
}

static struct qdo_request *take_stepped(struct qdo_cpu *cpu)
{
	/* [qdo.collect:A]: the head is read before the requests to which it leads. */
	unsigned long head = lull_mem_load_acquire(&cpu->submissions.stepped);
	unsigned long taken = lull_mem_load(&cpu->submissions.stepped_taken);

	if (head == taken)
		return NULL;
	lull_mem_store(&cpu->submissions.stepped_taken, head);
	return reversed(head, taken);
}

struct qdo_request *qdo_submitted_take(struct qdo_core *core, unsigned int index)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	struct qdo_request *list, **end;

	if (core->submission == QDO_SUBMIT_LOCK)
		return take_locked(cpu);
	if (core->submission == QDO_SUBMIT_LOCK_FREE)
		return qdo_list_take(&cpu->submissions.listed);
	list = take_stepped(cpu);
	for (end = &list; *end; end = &(*end)->next)
		;
	*end = qdo_list_take(&cpu->submissions.listed);
	return list;
}
