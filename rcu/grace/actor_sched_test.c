// SPDX-License-Identifier: MIT
/*
 * Readers and updaters of the grace period scenarios, and the host that grace.c asks for.
 *
 * What the host does with membarrier or signals is the explorer's heavy barrier here; what
 * thread.c does to register is repeated with the same calls in the same order.
 * Paper: T figures 6.4-6.10.
 */
#include "grace_sched_test.h"

static int own_reader(void)
{
	int self = sched_self();

	return (books->registered >> 2 & 1) && (self == 0 || sched_host(self) == 0);
}

/* barrier.c's, by the explorer's means. */
void rcu_grace_fence_heavy(struct rcu_grace *asked)
{
	lull_mem_fence();
	if (asked->reader_count == (own_reader() ? 1u : 0u))
		return;
	if (asked->domain->kind == RCU_KIND_QSBR || asked->domain->kind == RCU_KIND_FULL)
		return;
	lull_barrier_heavy();
}

void rcu_domain_misuse(const struct rcu_reader *reader, const char *what)
{
	sched_check(reader != reader, "%s", what);
}

/* thread.c's. */
void rcu_domain_register(struct rcu_domain *to, struct rcu_reader *reader, int debug)
{
	(void)debug;
	lull_mem_store(&reader->word, 0);
	rcu_grace_link(to->grace, reader, to->kind == RCU_KIND_QSBR);
	books->registered |= (uint8_t)(1u << (reader - readers));
}

void rcu_domain_arrive(struct rcu_domain *to, struct rcu_reader *reader)
{
	if (!parameter[VISITS]) {
		rcu_domain_register(to, reader, 0);
		return;
	}
	reader->registered = RCU_VISITOR;
	rcu_grace_link_visitor(to->grace, reader);
}

void rcu_domain_unregister(struct rcu_domain *from, struct rcu_reader *reader)
{
	rcu_grace_unlink(from->grace, reader);
	reader->registered = 0;
	lull_mem_store(&reader->word, RCU_UNREGISTERED);
}

void reader_register(uint32_t reader)
{
	rcu_domain_register(domain, &readers[reader], 0);
}

static void reader_unregister(uint32_t index)
{
	struct rcu_reader *reader = &readers[index];

	if (domain->kind == RCU_KIND_QSBR)
		rcu_reader_offline(domain, reader);
	rcu_grace_unlink(grace, reader);
	books->registered &= (uint8_t) ~(1u << index);
	lull_mem_store(&reader->word, parameter[FLAVOUR] == FLAVOUR_AUTO ? RCU_UNREGISTERED : 0);
}

static void enter(uint32_t reader)
{
	switch (parameter[FLAVOUR]) {
	case FLAVOUR_LIGHT:
		rcu_reader_enter_light(domain, &readers[reader]);
		break;
	case FLAVOUR_FULL:
		rcu_reader_enter_full(domain, &readers[reader]);
		break;
	case FLAVOUR_AUTO:
		rcu_reader_enter_auto(domain, &readers[reader]);
		break;
	}
}

static void leave(uint32_t reader)
{
	switch (parameter[FLAVOUR]) {
	case FLAVOUR_LIGHT:
	case FLAVOUR_AUTO:
		rcu_reader_leave_light(domain, &readers[reader]);
		break;
	case FLAVOUR_FULL:
		rcu_reader_leave_full(domain, &readers[reader]);
		break;
	}
}

/* Reads the element that a pointer names, and holds it until release(). */
static unsigned long acquire(uint32_t holder)
{
	unsigned long index = lull_mem_load_acquire(&pointers[parameter[READS_B]]);

	sched_check(!books->reclaimed[index], "a reader finds a reclaimed element");
	books->holds[holder] = (uint8_t)(1 + index);
	return index;
}

static void look(unsigned long index)
{
	unsigned long value = 0;

	sched_read(&value, &elements[index].value, sizeof(value));
	sched_check(value == VALUE + index, "an element is read before it was written");
}

static void section(uint32_t reader, uint32_t holder, long step)
{
	unsigned long index;

	enter(reader);
	index = acquire(holder);
	if (step == READ_NESTED) {
		enter(reader);
		leave(reader);
	}
	look(index);
	if (step == READ_STORING) {
		lull_mem_store(&elements[index].mark, 1);
		books->marked |= (uint8_t)(1u << index);
	}
	books->holds[holder] = 0;
	leave(reader);
}

/* thread.c's, when a thread ends. */
static void reader_end(uint32_t index)
{
	enter(index);
	look(acquire(index));
	books->holds[index] = 0;
	lull_mem_store_release(&readers[index].word, 0);
	rcu_grace_unlink(grace, &readers[index]);
	books->registered &= (uint8_t) ~(1u << index);
}

void reader_thread(long reader)
{
	long program = parameter[reader ? READER_B : READER_A];
	uint32_t index = (uint32_t)reader;

	for (; program; program >>= 4) {
		switch (program & 15) {
		case READ_QUIESCENT:
			rcu_reader_quiescent(domain, &readers[index]);
			break;
		case READ_OFFLINE:
			books->offline |= (uint8_t)(1u << index);
			rcu_reader_offline(domain, &readers[index]);
			break;
		case READ_ONLINE:
			rcu_reader_online(domain, &readers[index]);
			books->offline &= (uint8_t) ~(1u << index);
			break;
		case READ_REGISTER:
			reader_register(index);
			break;
		case READ_UNREGISTER:
			reader_unregister(index);
			break;
		case READ_AWAIT:
			while (lull_mem_load(updates_left))
				rcu_reader_quiescent(domain, &readers[index]);
			break;
		case READ_END:
			reader_end(index);
			break;
		default:
			section(index, index, program & 15);
		}
	}
	sched_check(readers[index].registered != RCU_VISITOR,
		    "a thread has ended, and its reader is registered");
}

/* A handler reads as a reader of the thread that it interrupts, unless that is offline. */
void handler_thread(long reader)
{
	if (books->offline >> reader & 1)
		return;
	section((uint32_t)reader, 2, READ_SECTION);
}

/* Nobody holds it, and what sections have stored is seen. */
static void reclaim(unsigned long index)
{
	unsigned long mark = 0;
	uint32_t holder;

	for (holder = 0; holder < HOLDERS_MAX; holder++)
		sched_check(books->holds[holder] != 1 + index,
			    "an element is reclaimed that a reader holds");
	books->reclaimed[index] = 1;
	sched_own(&elements[index], sizeof(elements[index]));
	if (!(books->marked >> index & 1))
		return;
	sched_read(&mark, &elements[index].mark, sizeof(mark));
	sched_check(mark == 1, "an element is reclaimed without what a section stored");
}

static unsigned long replace(uint32_t updater)
{
	unsigned long old = lull_mem_load(&pointers[updater]);

	lull_mem_store(&elements[old + 1].value, VALUE + old + 1);
	lull_mem_store_release(&pointers[updater], old + 1);
	return old;
}

static void wait_polling(unsigned long old, int once)
{
	unsigned long target = rcu_grace_start(grace);

	while (!rcu_grace_poll(grace, target))
		if (once)
			return;
	reclaim(old);
}

void updater_thread(long updater)
{
	long program = parameter[UPDATER_A + updater];
	unsigned long old;

	for (; program; program >>= 4) {
		switch (program & 15) {
		case UPDATE_EMPTY:
			rcu_grace_synchronize(grace, 0);
			continue;
		case UPDATE_START:
			rcu_grace_start(grace);
			continue;
		}
		old = replace((uint32_t)updater);
		switch (program & 15) {
		case UPDATE_SYNCHRONIZE:
		case UPDATE_EXPEDITED:
			rcu_grace_synchronize(grace, (program & 15) == UPDATE_EXPEDITED);
			reclaim(old);
			break;
		case UPDATE_POLLED:
		case UPDATE_POLLED_ONCE:
			wait_polling(old, (program & 15) == UPDATE_POLLED_ONCE);
			break;
		}
	}
	lull_mem_add(updates_left, -1ul);
}
