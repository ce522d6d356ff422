// SPDX-License-Identifier: MIT
/*
 * How requests get into their CPU's list: the three techniques of Q 4.8.
 *
 * Papers: Q 4.8.1 (locks), 4.8.2 (lock-free list), 4.8.3 (disabled scheduler). Design:
 * docs/design/41-qdo.md. Barrier pairs are in core.c.
 *
 * Many submit, one takes: the step of the CPU, wherever it runs.
 *
 * The restartable list is never emptied, because a step elsewhere cannot write a word that
 * restartable steps write. Instead the taker remembers the head that it saw last; new are the
 * requests above it. A word of the list is a pointer and a bit:
 *
 *	stepped -> C -> B -> A|1	stepped_taken = A|1: C and B are new
 *
 * A may be long gone, freed and submitted again; then its bit differs from that in
 * stepped_taken, so the head never equals what was taken while there is something new. A thread
 * that submits A again sees that stepped_taken, because A was handed out after it was stored.
 */
#include "core.h"

/* Restarts before a request takes the lock-free list: each is a preemption or a migration. */
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

/* Bound: a retry is another's push, or the taking of the list. */
void qdo_list_push(unsigned long *head, struct qdo_request *request)
{
	unsigned long found = lull_mem_load(head), expect;

	do {
		expect = found;
		request->next = request_of(expect);
		/*
		 * [qdo.push:A] compare and swap, full; in a restartable step, release; by
		 * a lock, the lock's. Pairs with [qdo.collect:A].
		 * Orders: the request's fields, and what the requester removed, before it can be
		 * taken. Else: the step reads an unfinished request.
		 * Mutants: QDO_PUSH_STORE, PUSH_RELAXED.
		 */
		found = lull_mem_cas(head, expect, (unsigned long)request);
	} while (found != expect);
}

/* Oldest first. Bound: the list's length, to @until. */
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
	 * [qdo.collect:A] exchange, full; of the restartable list, acquire. Pairs with
	 * [qdo.push:A].
	 * Orders: that a request is in the list before its fields. Else: the step reads
	 * an unfinished request; and, if it were not one step, a request that comes meanwhile is
	 * lost.
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

	/* Counted first: its step may be done with it before this function goes on. */
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
	unsigned long head = lull_mem_load_acquire(&cpu->submissions.stepped); /* [qdo.collect:A] */
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
