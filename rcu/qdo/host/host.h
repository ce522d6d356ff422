/* SPDX-License-Identifier: MIT */
/*
 * QDo's host in user space, as its files see it: an instance, its monitors and its executors.
 *
 * A request goes from qdo_request() (instance.c) into the core; a monitor (monitor.c) steps the
 * core and gives what is quiescent to an executor (executor.c). Fork: fork.c.
 *
 * Locks, in the order in which they are taken (a fork has those of callbacks and tables before
 * them, and takes those of grace periods after): lull_qdo_default_lock, lull_qdo_instances_lock,
 * gates (closed by fork only), start_lock, monitors' locks in order, executors' lock. Nobody holds
 * one while it waits for operations or callbacks, but barrier_lock, which is taken before all.
 * Paper: Q figure 3.1.
 */
#ifndef LULL_QDO_HOST_H
#define LULL_QDO_HOST_H

#include <pthread.h>
#include "core.h"

#define QDO_PERIOD_US 10000u
#define QDO_EXECUTORS_MAX 256u
#define QDO_GATES_MAX 64u

/**
 * struct host_request - A request, in the host's hands.
 * @next: in the executors' queue.
 * @phase: of qdo_barrier(): which count it is in.
 * @cpu: where it is to be called next.
 * @passed_over: how often the queue gave a later request to an executor that was nearer.
 * @core: the core's part, with its generations behind.
 */
struct host_request {
	struct host_request *next;
	uint32_t phase;
	uint32_t cpu;
	uint32_t passed_over;
	struct qdo_request core;
};

/**
 * struct host_gate - Some CPUs' threads that make a request; fork waits until they are outside.
 * @inside: futex; their number.
 * @requests: how many requests were made here.
 */
struct host_gate {
	uint32_t inside;
	uint64_t requests;
} __attribute__((aligned(64)));

/* A monitor's state: a futex. From MONITOR_NAPPING on, it does not look. */
enum monitor_state {
	MONITOR_AWAKE,
	MONITOR_NAPPING, /* until its timer ends, or it is prompted */
	MONITOR_ASLEEP /* until it is prompted: nothing is pending */
};

/**
 * struct host_monitor - A thread that steps CPUs: all of them, or in thesis mode one.
 * @state: futex, enum monitor_state.
 * @stop: not 0: end.
 * @tend: not 0: look after the executors.
 * @prompted: CPUs whose step has something to do.
 * @lock: held during steps.
 * @waiting: CPUs that operations keep from going on. Its own, as is all that follows.
 * @cpu: in thesis mode where it runs, and what it steps.
 * @nap_us: how long it lets operations go on before it looks at them again.
 * @due_ns: when it looks again; 0: nothing waits.
 * @checks: times it looked because of that.
 */
struct host_monitor {
	uint32_t state;
	uint32_t stop;
	uint32_t tend;
	unsigned long prompted[QDO_SET_WORDS];
	struct lull_lock lock;
	struct qdo_set waiting;
	struct qdo *instance;
	unsigned int cpu;
	unsigned int nap_us;
	uint64_t due_ns;
	uint64_t checks;
	struct lull_thread thread;
} __attribute__((aligned(64)));

/**
 * struct host_executor - A thread that runs callbacks. In the lists under the executors' lock.
 * @work: futex; not 0 when it shall look at the queue.
 * @orphan: not 0: it forked in a callback and is the child's only thread.
 * @pinned: its CPU, or -1: none in particular.
 * @request: what it calls.
 */
struct host_executor {
	uint32_t work;
	int orphan;
	int pinned;
	struct qdo *instance;
	struct host_request *request;
	struct host_executor *next, *previous; /* of all */
	struct host_executor *next_idle;
};

/**
 * struct host_executors - The pool.
 * @lock: over all of it.
 * @count: threads; a futex of the thread that waits until there is none.
 * @idle_count: those that wait in @idle, the one last used first.
 * @max: threads at most.
 * @eager: threads up to which there is one for each request.
 * @stop: not 0: they end when the queue is empty.
 * @queued: requests in the queue.
 * @taken: requests taken from the queue, by which a pool that is stuck is found out:
 * @taken_before: as it was at
 * @tended_ns: the last look.
 */
struct host_executors {
	struct lull_lock lock;
	uint32_t count;
	uint32_t idle_count;
	uint32_t max;
	uint32_t eager;
	uint32_t stop;
	uint32_t queued;
	uint64_t taken;
	uint64_t taken_before;
	uint64_t tended_ns;
	struct host_request *first;
	struct host_request **until;
	struct host_executor *all;
	struct host_executor *idle;
};

struct qdo {
	struct qdo_core core; /* first: qdo_port_prompt() gets it */
	struct qdo *next; /* in lull_qdo_instances */
	unsigned int period_us;
	int timer_only;
	unsigned int monitor_count;
	unsigned int gate_count;
	struct host_monitor *monitors;
	struct host_gate *gates;
	void *core_memory;
	uint32_t started; /* not 0: monitors have threads */
	uint32_t closed; /* futex, not 0 while a fork keeps the gates */
	struct lull_lock start_lock;
	struct lull_lock barrier_lock;
	uint32_t phase __attribute__((aligned(64))); /* which half of outstanding counts */
	uint32_t awaited; /* futex, not 0 while qdo_barrier() sleeps */
	uint64_t outstanding; /* requests made and not done: 32 bits for each phase */
	uint64_t completed; /* requests whose callbacks have all run */
	struct host_executors executors __attribute__((aligned(64)));
};

/**
 * struct host_thread - A thread, as QDo sees it.
 * @innermost: its operations, the one begun last first.
 * @executor: whose thread it is, or NULL.
 * @forking: not 0 from before a fork until after it.
 */
struct host_thread {
	struct qdo_operation *innermost;
	struct host_executor *executor;
	int forking;
};

/* operation.c */
void lull_qdo_thread_check(void); /* that it has left its operations, or the program ends */
extern __thread struct host_thread lull_qdo_thread __attribute__((tls_model("initial-exec")));

/* fork.c: the instances that are in use, under their lock; the lock under which the default
 * one is made */
extern struct lull_lock lull_qdo_default_lock;
extern struct lull_lock lull_qdo_instances_lock;
extern struct qdo *lull_qdo_instances;

/* instance.c */
void lull_qdo_request_done(struct qdo *instance, struct host_request *request);

/* monitor.c */
void lull_qdo_monitor_init(struct host_monitor *monitor, struct qdo *instance, unsigned int cpu);
int lull_qdo_monitors_start(struct qdo *instance); /* unless they run; 0 or -EAGAIN */
void lull_qdo_monitors_prompt(struct qdo *instance, unsigned int cpu);
void lull_qdo_monitors_requested(struct qdo *instance, unsigned int cpu);
void lull_qdo_monitors_tend(struct qdo *instance); /* has executors tended */
void lull_qdo_monitors_stop(struct qdo *instance);

/* executor.c */
void lull_qdo_executors_init(struct host_executors *pool, uint32_t max, uint32_t eager);
/* Takes requests that are quiescent. */
void lull_qdo_executors_put(struct qdo *instance, struct qdo_request *first);
/* Sees to a pool that is stuck. Return: not 0: do so again in QDO_TEND_NS. */
int lull_qdo_executors_tend(struct qdo *instance);
void lull_qdo_executors_stop(struct qdo *instance);
#define QDO_TEND_NS 1000000u

/* thread.c */
/* Runs the calling thread on a CPU. Return: not 0: that cannot be; anywhere it may run. */
int lull_qdo_thread_pin(unsigned int cpu);
unsigned int lull_qdo_cpus_allowed(void); /* how many there were when the process started */
void lull_qdo_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns); /* 0: for ever */
uint64_t lull_qdo_now_ns(void);

/* A ticket in one word, as an operation keeps it. */
static inline uint32_t lull_qdo_place(struct qdo_ticket ticket)
{
	return ticket.cpu << 1 | ticket.parity;
}

static inline struct qdo_ticket lull_qdo_ticket(uint32_t place)
{
	return (struct qdo_ticket){ .cpu = place >> 1, .parity = place & 1 };
}

/* A phase's half of outstanding. */
static inline uint64_t lull_qdo_phase_one(uint32_t phase)
{
	return phase ? 1ull << 32 : 1;
}

#endif
