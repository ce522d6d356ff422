// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Simulated threads: coroutines on small stacks at fixed addresses.
 *
 * A thread's local state is its stack from the stack pointer up, where the switch also keeps
 * its registers. Copying those bytes away and back rewinds the thread; hashing them names
 * its state. Bytes below the stack pointer are zeroed after each step, so that what earlier
 * calls left there does not make equal states look different.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "world.h"

#define DEAD_STACK_BYTES 2048

struct fixture fixture;
uint32_t current = NO_THREAD;
int failed;
char failure[200];
jmp_buf explorer_return;

static _Alignas(64) uint8_t stack[SCHED_THREADS_MAX][STACK_BYTES];
static void *explorer_stack_pointer;

/* Saves callee-saved registers and the stack pointer, takes another's and returns there. */
void sched_switch(void **save, void *load);

#if defined(__x86_64__)
#define SAVED_WORDS 6
__asm__(".text\n"
	".globl sched_switch\n"
	".type sched_switch, @function\n"
	"sched_switch:\n\t"
	"pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
	"movq %rsp, (%rdi)\n\t"
	"movq %rsi, %rsp\n\t"
	"popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\t"
	"ret\n"
	".size sched_switch, .-sched_switch\n");
#elif defined(__aarch64__)
#define SAVED_WORDS 20
__asm__(".text\n"
	".globl sched_switch\n"
	".type sched_switch, %function\n"
	"sched_switch:\n\t"
	"sub sp, sp, #160\n\t"
	"stp x30, x29, [sp]\n\tstp x19, x20, [sp, #16]\n\tstp x21, x22, [sp, #32]\n\t"
	"stp x23, x24, [sp, #48]\n\tstp x25, x26, [sp, #64]\n\tstp x27, x28, [sp, #80]\n\t"
	"stp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n\tstp d12, d13, [sp, #128]\n\t"
	"stp d14, d15, [sp, #144]\n\t"
	"mov x9, sp\n\tstr x9, [x0]\n\tmov sp, x1\n\t"
	"ldp x30, x29, [sp]\n\tldp x19, x20, [sp, #16]\n\tldp x21, x22, [sp, #32]\n\t"
	"ldp x23, x24, [sp, #48]\n\tldp x25, x26, [sp, #64]\n\tldp x27, x28, [sp, #80]\n\t"
	"ldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\tldp d12, d13, [sp, #128]\n\t"
	"ldp d14, d15, [sp, #144]\n\t"
	"add sp, sp, #160\n\t"
	"ret\n"
	".size sched_switch, .-sched_switch\n");
#else
#error "port/sched has a stack switch for x86-64 and aarch64 only"
#endif

uint8_t *thread_stack_top(uint32_t thread)
{
	return stack[thread] + STACK_BYTES;
}

static void __attribute__((noreturn)) to_explorer(void)
{
	sched_switch(&world.thread[current].stack_pointer, explorer_stack_pointer);
	abort(); /* an ended thread was resumed */
}

static void thread_entry(void)
{
	struct thread *self = &world.thread[current];

	fixture.thread[current].body(fixture.thread[current].argument);
	if (self->light) {
		buffer_order(self->cpu);
		self->light = 0;
	}
	self->state = self->runs_left ? THREAD_IDLE : THREAD_DONE;
	to_explorer();
}

static void stack_hash(uint32_t thread)
{
	struct thread *self = &world.thread[thread];
	const uint64_t *word = self->stack_pointer;
	const uint64_t *until = (const uint64_t *)thread_stack_top(thread);
	struct hash hash = { (uintptr_t)word, thread };

	self->stack_hash = (struct hash){ 0, 0 };
	if (self->state != THREAD_READY)
		return;
	for (; word < until; word++)
		absorb(&hash, *word);
	self->stack_hash = hash;
}

void thread_resume(uint32_t thread)
{
	struct thread *self = &world.thread[thread];
	uint8_t *below;

	current = thread;
	sched_switch(&explorer_stack_pointer, self->stack_pointer);
	current = NO_THREAD;
	if (self->state != THREAD_READY)
		self->stack_pointer = thread_stack_top(thread);
	below = (uint8_t *)self->stack_pointer;
	memset(below - DEAD_STACK_BYTES, 0, DEAD_STACK_BYTES);
	stack_hash(thread);
}

void thread_start(uint32_t thread)
{
	struct thread *self = &world.thread[thread];
	void **top = (void **)thread_stack_top(thread);

	/* two words above the return address: the stack is aligned as after a call */
	memset(top - SAVED_WORDS - 3, 0, (SAVED_WORDS + 3) * sizeof(*top));
#if defined(__x86_64__)
	top[-2] = (void *)thread_entry;
	self->stack_pointer = top - 2 - SAVED_WORDS;
#else
	self->stack_pointer = top - SAVED_WORDS;
	*(void **)self->stack_pointer = (void *)thread_entry;
#endif
	self->state = THREAD_READY;
	self->attempts = 0;
	if (self->host != NO_THREAD) {
		self->cpu = world.thread[self->host].cpu;
		self->runs_left--;
		self->run++;
	}
	thread_resume(thread);
}

/*
 * Copies that follow a copy are one step with it: when each of them lands is a choice of its own,
 * so a step in between would only distinguish when the copies enter their CPU's buffer.
 */
uint64_t thread_access(const struct op *op)
{
	struct thread *self;

	if (op->bytes && arena_plain(op->offset, op->bytes))
		failure_set("an access of the port to memory that is plain");
	if (current == NO_THREAD)
		return op_perform(NO_THREAD, op, 0);
	self = &world.thread[current];
	if (op->kind == OP_COPY && self->copying) {
		op_perform(current, op, 0);
		if (tracing)
			trace_step(current, op, 0, 0);
		return 0;
	}
	self->copying = op->kind == OP_COPY && fixture.scenario->memory != SCHED_SC;
	self->op = *op;
	sched_switch(&self->stack_pointer, explorer_stack_pointer);
	return self->result;
}

int thread_interrupted(uint32_t thread)
{
	uint32_t i;

	for (i = 0; i < fixture.thread_count; i++)
		if (world.thread[i].host == thread && world.thread[i].state == THREAD_READY)
			return 1;
	return 0;
}

void failure_set(const char *format, ...)
{
	va_list list;

	if (failed)
		return;
	failed = 1;
	va_start(list, format);
	vsnprintf(failure, sizeof(failure), format, list);
	va_end(list);
}

void sched_fail(const char *file, int line, const char *condition, const char *format, ...)
{
	char text[120];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	failure_set("%s (%.40s) at %s:%d", text, condition, file, line);
	if (current != NO_THREAD)
		to_explorer();
	longjmp(explorer_return, 1);
}
