// SPDX-License-Identifier: MIT
/*
 * A hash table that grows beside its users, which take locks only while it does.
 *
 * Usually entries are found and inserted without a lock. A thread that finds the table too full
 * announces that it grows, and requests a callback. At the quiescent point all threads have seen
 * the announcement, and lock the bucket that they use. So the callback, which holds all locks, may
 * move the entries. Then locks go out of use again, and after the next quiescent point no thread is
 * in the old table.
 * Paper: Q 1.2 (synchronization that depends on the state of the system).
 *
 * qdo_resize [KEYS]     status 0 if the table has grown and every key was found at any time.
 */
#include <lull/qdo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define BUCKETS_FIRST 16
#define LOOKUPS 8

struct entry {
	struct entry *next;
	unsigned long key;
};

struct table {
	unsigned long count; /* of buckets; a power of two */
	pthread_mutex_t *locks;
	struct entry **buckets;
};

static struct qdo *qdo;
static struct table *table;
static int is_growing;
static unsigned long keys = 100000, entries, lost;
static unsigned long with_lock, without_lock, growths;

static struct table *new_table(unsigned long count)
{
	struct table *made = malloc(sizeof(*made));
	unsigned long i;

	if (!made)
		exit(2);
	made->count = count;
	made->buckets = calloc(count, sizeof(*made->buckets));
	made->locks = calloc(count, sizeof(*made->locks));
	if (!made->buckets || !made->locks)
		exit(2);
	for (i = 0; i < count; i++)
		pthread_mutex_init(&made->locks[i], NULL);
	return made;
}

static void push(struct entry **bucket, struct entry *entry)
{
	struct entry *head = __atomic_load_n(bucket, __ATOMIC_RELAXED);

	do {
		entry->next = head;
	} while (!__atomic_compare_exchange_n(bucket, &head, entry, 0, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static void set_locks(struct table *of, int (*change)(pthread_mutex_t *lock))
{
	unsigned long i;

	for (i = 0; i < of->count; i++)
		change(&of->locks[i]);
}

/* Called when no thread is in the old table any more. */
static void free_table(void *argument)
{
	struct table *old = argument;

	set_locks(old, pthread_mutex_destroy);
	free(old->locks);
	free(old->buckets);
	free(old);
	__atomic_add_fetch(&growths, 1, __ATOMIC_RELAXED);
}

/* Called when each thread in the table has locked the bucket that it uses. */
static void grow(void *argument)
{
	struct table *old = argument, *made;
	unsigned long count = old->count * 2, i;
	struct entry *entry, *next;

	while (count < __atomic_load_n(&entries, __ATOMIC_RELAXED))
		count *= 2;
	made = new_table(count);
	set_locks(old, pthread_mutex_lock);
	for (i = 0; i < old->count; i++) {
		for (entry = old->buckets[i]; entry; entry = next) {
			next = entry->next;
			push(&made->buckets[entry->key % made->count], entry);
		}
	}
	__atomic_store_n(&table, made, __ATOMIC_RELEASE);
	set_locks(old, pthread_mutex_unlock);
	__atomic_store_n(&is_growing, 0, __ATOMIC_RELEASE);
	if (qdo_request(qdo, free_table, old, NULL, NULL))
		exit(2);
}

/* Called in an operation. Return: the present table, with the bucket locked if it may change. */
static struct table *open_bucket(unsigned long key, pthread_mutex_t **lock)
{
	struct table *in;

	*lock = NULL;
	if (!__atomic_load_n(&is_growing, __ATOMIC_ACQUIRE)) {
		__atomic_add_fetch(&without_lock, 1, __ATOMIC_RELAXED);
		return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	}
	__atomic_add_fetch(&with_lock, 1, __ATOMIC_RELAXED);
	for (;;) {
		in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
		*lock = &in->locks[key % in->count];
		pthread_mutex_lock(*lock);
		if (in == __atomic_load_n(&table, __ATOMIC_ACQUIRE))
			return in;
		pthread_mutex_unlock(*lock);
	}
}

static void close_bucket(pthread_mutex_t *lock)
{
	if (lock)
		pthread_mutex_unlock(lock);
}

static int contains(unsigned long key)
{
	struct qdo_operation operation;
	const struct entry *entry;
	const struct table *in;
	pthread_mutex_t *lock;

	qdo_enter(qdo, &operation);
	in = open_bucket(key, &lock);
	entry = __atomic_load_n(&in->buckets[key % in->count], __ATOMIC_ACQUIRE);
	while (entry && entry->key != key)
		entry = entry->next;
	close_bucket(lock);
	qdo_leave(&operation);
	return entry != NULL;
}

static void insert(unsigned long key)
{
	struct entry *entry = malloc(sizeof(*entry));
	struct qdo_operation operation;
	pthread_mutex_t *lock;
	unsigned long count;
	struct table *in;
	int no = 0;

	if (!entry)
		exit(2);
	entry->key = key;
	qdo_enter(qdo, &operation);
	in = open_bucket(key, &lock);
	push(&in->buckets[key % in->count], entry);
	close_bucket(lock);
	count = __atomic_add_fetch(&entries, 1, __ATOMIC_RELAXED);
	in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	if (count > in->count * 2 &&
	    __atomic_compare_exchange_n(&is_growing, &no, 1, 0, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED)) {
		/* It may have grown since. The callback waits for this operation too. */
		in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
		if (qdo_request(qdo, grow, in, NULL, NULL))
			exit(2);
	}
	qdo_leave(&operation);
}

static void *work(void *argument)
{
	unsigned long first = (unsigned long)argument, key;
	unsigned int seed = (unsigned int)first + 1;
	int i;

	for (key = first; key < keys; key += THREADS) {
		insert(key);
		/* Looks for the keys that this thread has inserted. */
		for (i = 0; i < LOOKUPS; i++) {
			unsigned long number = (unsigned long)rand_r(&seed) % (key / THREADS + 1);

			if (!contains(first + number * THREADS))
				__atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

int main(int word_count, char **words)
{
	pthread_t threads[THREADS];
	struct entry *entry, *next;
	unsigned long i;

	if (word_count > 1)
		keys = strtoul(words[1], NULL, 10);
	qdo = qdo_default();
	if (!qdo)
		return 2;
	table = new_table(BUCKETS_FIRST);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 2;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	qdo_barrier(qdo);
	qdo_barrier(qdo); /* growing requests that the old table be freed */
	for (i = 0; i < keys; i++)
		lost += !contains(i);
	printf("%lu keys, %lu lost; %lu buckets after growing %lu times; %lu uses with a lock, "
	       "%lu without\n",
	       keys, lost, table->count, growths, with_lock, without_lock);
	i = table->count;
	while (i--) {
		for (entry = table->buckets[i]; entry; entry = next) {
			next = entry->next;
			free(entry);
		}
	}
	i = growths;
	free_table(table);
	return lost || (keys > 3 * BUCKETS_FIRST && !i) || !without_lock;
}
