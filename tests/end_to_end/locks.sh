# SPDX-License-Identifier: MIT
# Locks of programs, as `lull report locks` tells them.

# waiting: a program whose threads wait for a lock that is a variable, for one that is in a
# variable, and for one that was allocated; built as ./waiting.
waiting() {
	cat > waiting.c <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		#include <unistd.h>
		static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
		static struct {
			long size;
			pthread_mutex_t lock;
		} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
		static void *waits(void *lock)
		{
			pthread_mutex_lock(lock);
			pthread_mutex_unlock(lock);
			return NULL;
		}
		static void wait_for(pthread_mutex_t *lock)
		{
			pthread_t thread;

			pthread_mutex_lock(lock);
			pthread_create(&thread, NULL, waits, lock);
			usleep(50000);
			pthread_mutex_unlock(lock);
			pthread_join(thread, NULL);
		}
		int main(void)
		{
			pthread_mutex_t *allocated = malloc(sizeof *allocated);

			pthread_mutex_init(allocated, NULL);
			wait_for(&table_lock);
			wait_for(&pool.lock);
			wait_for(allocated);
			return 0;
		}
	END
	gcc -O1 -pthread "$@" -o waiting waiting.c
}

# names_in TRACE [ARGUMENT...]: what the locks are called that were waited for, in order.
names_in() {
	lull report locks --json "$@" | python3 -c '
import json, sys
names = [row["name"] for row in json.load(sys.stdin)["tables"]["locks"]]
print(*sorted(str(name) for name in names))'
}

locks_have_the_names_of_the_variables_that_they_are() {
	waiting
	lull record -q -o trace -e 'mutex:*' -- ./waiting
	same "$(names_in trace)" "None pool+0x8 table_lock" "the names"
	# What the process told of its file came before the span.
	same "$(names_in trace --from +20ms | tr ' ' '\n' | grep -c pool)" 1 "in a span"
	lull report locks trace | grep -qE '^mutex +table_lock +0x' || fail "it is in no table"
	lull report trace > summary
	grep -qE '^mutex table_lock 0x' summary || fail "it is not in the sum: $(cat summary)"
	grep -qE '^mutex 0x' summary || fail "the allocated one is not: $(cat summary)"
	lull report --json trace | grep -q '"name": "pool+0x8"' || fail "it is not in the JSON"
}

locks_of_a_program_without_names_have_their_place_in_the_file() {
	waiting -s
	lull record -q -o trace -e 'mutex:*' -- ./waiting
	names_in trace | grep -qE '^None waiting\+0x[0-9a-f]+ waiting\+0x[0-9a-f]+$' ||
		fail "$(names_in trace)"
}

locks_of_another_build_than_the_one_that_ran_have_no_names() {
	waiting
	lull record -q -o trace -e 'mutex:*' -- ./waiting
	waiting -O0
	same "$(names_in trace | tr ' ' '\n' | grep -c -e table_lock -e pool)" 0 "the names"
	lull report locks trace | tr '\n' ' ' | tr -s ' ' |
		grep -q 'another build than the one that ran' || fail "it is not told"
}
