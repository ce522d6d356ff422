// SPDX-License-Identifier: MIT
/*
 * The table of qdo_table.h. A resize copies every entry into a new array and hands in the old one,
 * with its entries, as one object; no other resize begins until that one is reclaimed.
 */
#include <stddef.h>
#include <stdlib.h>

#include "qdo_table.h"

#define SIZE_MIN 64ul

struct table_array {
	struct table *table;
	struct table_array *next_dead;
	struct rcu_head head;
	unsigned long size; /* a power of two */
	struct table_entry *heads[];
};

static void free_entry(void *argument)
{
	struct table_entry *entry = argument;

	__atomic_store_n(&entry->live, 0, __ATOMIC_RELAXED);
	free(entry);
}

static void free_entries(void *argument)
{
	struct table_entry *entry = argument, *next;

	for (; entry; entry = next) {
		next = entry->next_dead;
		free_entry(entry);
	}
}

static void free_array(struct table_array *array)
{
	for (unsigned long i = 0; i < array->size; i++) {
		struct table_entry *entry = array->heads[i], *next;

		for (; entry; entry = next) {
			next = entry->next;
			free_entry(entry);
		}
	}
	free(array);
}

static struct table_entry *entry_of(struct rcu_head *head)
{
	return (struct table_entry *)((char *)head - offsetof(struct table_entry, head));
}

static void free_entry_rcu(struct rcu_head *head)
{
	free_entry(entry_of(head));
}

static void free_entries_rcu(struct rcu_head *head)
{
	free_entries(entry_of(head));
}

/* What a request does that gives nothing back. */
static void keep(void *argument)
{
	(void)argument;
}

static void keep_array(void *argument)
{
	struct table *table = argument;

	__atomic_store_n(&table->is_resizing, false, __ATOMIC_RELEASE);
}

/* Nobody walks the old array any more. */
static void array_quiescent(void *argument)
{
	struct table_array *array = argument;
	struct table *table = array->table;

	free_array(array);
	__atomic_store_n(&table->is_resizing, false, __ATOMIC_RELEASE);
}

static void array_quiescent_rcu(struct rcu_head *head)
{
	array_quiescent((char *)head - offsetof(struct table_array, head));
}

static struct table_array *new_array(struct table *table, unsigned long size)
{
	struct table_array *array = calloc(1, sizeof(*array) + size * sizeof(array->heads[0]));

	if (array) {
		array->table = table;
		array->size = size;
	}
	return array;
}

static struct table_entry **head_of(struct table_array *array, uint64_t name)
{
	return &array->heads[(name * 0x9e3779b97f4a7c15u >> 32) & (array->size - 1)];
}

static struct table_entry *new_entry(uint64_t name, struct table_entry *next)
{
	struct table_entry *entry = malloc(sizeof(*entry));

	if (entry)
		*entry = (struct table_entry){ .next = next, .name = name, .live = 1 };
	return entry;
}

bool table_init(struct table *table, enum scripts_guard guard, struct qdo *instance)
{
	*table = (struct table){ .guard = guard, .instance = instance };
	pthread_mutex_init(&table->writers, NULL);
	pthread_rwlock_init(&table->lock, NULL);
	table->array = new_array(table, SIZE_MIN);
	return table->array != NULL;
}

void table_end(struct table *table)
{
	free_entries(table->dead);
	while (table->dead_arrays) {
		struct table_array *array = table->dead_arrays;

		table->dead_arrays = array->next_dead;
		free_array(array);
	}
	free_array(table->array);
	pthread_rwlock_destroy(&table->lock);
	pthread_mutex_destroy(&table->writers);
}

static bool has_lock(const struct table *table)
{
	return table->guard == SCRIPTS_LOCK || table->guard == SCRIPTS_THREADS;
}

/* Whether look-ups are operations. */
static bool has_operations(const struct table *table)
{
	return table->guard == SCRIPTS_QDO || table->guard == SCRIPTS_QDO_BATCH ||
	       table->guard == SCRIPTS_MARKED || table->guard == SCRIPTS_ASKED;
}

static bool has_rcu(const struct table *table)
{
	return table->guard == SCRIPTS_RCU || table->guard == SCRIPTS_RCU_BATCH;
}

void table_drain(struct table *table)
{
	if (has_rcu(table))
		rcu_barrier();
	qdo_barrier(table->instance);
}

static void writer_begin(struct table *table)
{
	if (has_lock(table))
		pthread_rwlock_wrlock(&table->lock);
	else
		pthread_mutex_lock(&table->writers);
}

static void writer_end(struct table *table)
{
	if (has_lock(table))
		pthread_rwlock_unlock(&table->lock);
	else
		pthread_mutex_unlock(&table->writers);
}

static void request(struct table *table, void (*callback)(void *argument), void *argument)
{
	table->requests++;
	if (qdo_request(table->instance, callback, argument, NULL, NULL))
		__atomic_add_fetch(&table->wrong, 1, __ATOMIC_RELAXED);
}

static void request_rcu(struct table *table, struct rcu_head *head,
			void (*callback)(struct rcu_head *head))
{
	table->requests++;
	call_rcu(head, callback);
}

/* As many names as a script has stand in table->dead. */
static void retire_batch(struct table *table)
{
	struct table_entry *dead = table->dead;

	table->dead_count = 0;
	switch (table->guard) {
	case SCRIPTS_QDO_BATCH:
		table->dead = NULL;
		request(table, free_entries, dead);
		break;
	case SCRIPTS_RCU_BATCH:
		table->dead = NULL;
		request_rcu(table, &dead->head, free_entries_rcu);
		break;
	case SCRIPTS_ASKED:
		request(table, keep, NULL);
		break;
	default:
		break;
	}
}

static void retire_entry(struct table *table, struct table_entry *entry)
{
	if (has_lock(table)) {
		free_entry(entry);
	} else if (table->guard == SCRIPTS_QDO) {
		request(table, free_entry, entry);
	} else if (table->guard == SCRIPTS_RCU) {
		request_rcu(table, &entry->head, free_entry_rcu);
	} else {
		entry->next_dead = table->dead;
		table->dead = entry;
		if (++table->dead_count == TABLE_BATCH)
			retire_batch(table);
	}
}

static void retire_array(struct table *table, struct table_array *array)
{
	const enum scripts_guard guard = table->guard;

	if (has_lock(table)) {
		free_array(array);
		return;
	}
	if (guard == SCRIPTS_NOTHING || guard == SCRIPTS_MARKED || guard == SCRIPTS_ASKED) {
		array->next_dead = table->dead_arrays;
		table->dead_arrays = array;
	}
	if (guard == SCRIPTS_NOTHING || guard == SCRIPTS_MARKED)
		return;
	__atomic_store_n(&table->is_resizing, true, __ATOMIC_RELAXED);
	if (guard == SCRIPTS_ASKED)
		request(table, keep_array, table);
	else if (has_rcu(table))
		request_rcu(table, &array->head, array_quiescent_rcu);
	else
		request(table, array_quiescent, array);
}

static bool resize(struct table *table, unsigned long size)
{
	struct table_array *old = table->array, *array = new_array(table, size);

	if (!array)
		return false;
	for (unsigned long i = 0; i < old->size; i++) {
		for (struct table_entry *entry = old->heads[i]; entry; entry = entry->next) {
			struct table_entry **head = head_of(array, entry->name);
			struct table_entry *copy = new_entry(entry->name, *head);

			if (!copy) {
				free_array(array);
				return false;
			}
			*head = copy;
		}
	}
	__atomic_store_n(&table->array, array, __ATOMIC_RELEASE);
	table->resizes++;
	retire_array(table, old);
	return true;
}

/* Between one entry for four heads and two for one. */
static bool fit(struct table *table)
{
	unsigned long size = table->array->size;

	if (__atomic_load_n(&table->is_resizing, __ATOMIC_ACQUIRE))
		return true;
	if (table->count > 2 * size)
		return resize(table, 2 * size);
	if (size > SIZE_MIN && table->count < size / 4)
		return resize(table, size / 2);
	return true;
}

bool table_add(struct table *table, uint64_t name)
{
	struct table_entry **head, *entry;
	bool done;

	writer_begin(table);
	head = head_of(table->array, name);
	entry = new_entry(name, *head);
	done = entry != NULL;
	if (done) {
		__atomic_store_n(head, entry, __ATOMIC_RELEASE);
		table->count++;
		done = fit(table);
	}
	writer_end(table);
	return done;
}

bool table_remove(struct table *table, uint64_t name)
{
	struct table_entry **link, *entry;

	writer_begin(table);
	link = head_of(table->array, name);
	while (*link && (*link)->name != name)
		link = &(*link)->next;
	entry = *link;
	if (entry) {
		__atomic_store_n(link, entry->next, __ATOMIC_RELEASE);
		table->count--;
		retire_entry(table, entry);
		fit(table);
	}
	writer_end(table);
	return entry != NULL;
}

static bool find(struct table *table, uint64_t name)
{
	struct table_array *array = __atomic_load_n(&table->array, __ATOMIC_ACQUIRE);
	struct table_entry *entry = __atomic_load_n(head_of(array, name), __ATOMIC_ACQUIRE);
	bool is_found = false;

	for (; entry; entry = __atomic_load_n(&entry->next, __ATOMIC_ACQUIRE)) {
		if (!__atomic_load_n(&entry->live, __ATOMIC_RELAXED))
			__atomic_add_fetch(&table->wrong, 1, __ATOMIC_RELAXED);
		if (entry->name == name) {
			is_found = true;
			break;
		}
	}
	return is_found;
}

bool table_has(struct table *table, uint64_t name)
{
	struct qdo_operation operation;
	bool is_found;

	if (has_operations(table)) {
		qdo_enter(table->instance, &operation);
		is_found = find(table, name);
		qdo_leave(&operation);
	} else if (has_rcu(table)) {
		rcu_read_lock();
		is_found = find(table, name);
		rcu_read_unlock();
	} else if (has_lock(table)) {
		pthread_rwlock_rdlock(&table->lock);
		is_found = find(table, name);
		pthread_rwlock_unlock(&table->lock);
	} else {
		is_found = find(table, name);
	}
	return is_found;
}
