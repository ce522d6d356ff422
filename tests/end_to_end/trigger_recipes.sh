# SPDX-License-Identifier: MIT
# The recipes of docs/guide/triggers.md: the commands of each run as they stand on the page, with a
# small program in the place of its server.

# recipe_said BEGIN: runs the commands behind the paragraph that begins so; what is printed
# is in the file `said`. The line `# later` waits until the program has ended.
recipe_said() {
	awk -v begin="**$1" '
		index($0, begin) == 1 { is_here = 1; next }
		is_here && /^```$/ { if (is_inside) exit; is_inside = 1; next }
		is_inside { print }
	' "$root/docs/guide/triggers.md" | sed 's/^# later$/wait/' > recipe.sh
	[ -s recipe.sh ] || fail "the recipe '$1' is not on the page"
	bash -euo pipefail recipe.sh > said 2>&1 || fail "$(cat recipe.sh said)"
}

# server_begin [LINE]: what the program does in the end.
server_begin() {
	trap 'lull stop web > /dev/null 2>&1 || true' EXIT
	cat > server.c <<- END
		#include <lull/trace.h>
		#include <pthread.h>
		#include <stdlib.h>
		#include <unistd.h>
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		int main(void)
		{
			for (int i = 0; i < 40; i++) {
				pthread_mutex_lock(&mutex);
				if (i % 2)
					pthread_mutex_unlock(&mutex);
				lull_event("http:request", lull_i32(number, i),
					   lull_i32(status, i == 20 ? 503 : 200));
				if (i % 2 == 0)
					pthread_mutex_unlock(&mutex);
				if (i == 10)
					lull_event("http:warm");
				if (i == 30)
					lull_event("http:done");
				usleep(10000);
			}
			${1:-}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o server server.c -pthread
}

requests_of() {
	lull print "$1" 2> print.errors | sed -n 's/.*http:request number=\([0-9]*\).*/\1/p'
}

failing_request_has_what_came_before_it_written_out() {
	server_begin
	recipe_said 'The last seconds'
	[ "$(wc -l < failures)" -eq 1 ] || fail "$(cat failures said)"
	requests_of "$(cat failures)" > numbers
	grep -qx 0 numbers || fail "$(cat numbers)"
	grep -qx 20 numbers || fail "$(cat numbers)"
}

crashed_program_is_read_up_to_its_last_event() {
	server_begin 'abort();'
	recipe_said 'What a program did'
	grep -q 'http:request number=39' said || fail "$(cat said)"
}

only_the_interesting_part_of_a_run_is_recorded() {
	server_begin
	recipe_said 'Only the interesting'
	requests_of part.trace > numbers
	[ "$(head -n 1 numbers)" -gt 10 ] || fail "$(cat numbers)"
	grep -q 'http:request' said || fail "$(cat said)"
}

closer_look_is_taken_when_something_is_slow() {
	server_begin
	recipe_said 'A closer look'
	lull print slow.trace > events
	grep -q 'thread:sleep_exit' events || fail "$(cat said events)"
	! sed '/number=0/q' events | grep -q 'thread:sleep' || fail "$(cat events)"
}

order_of_a_lock_and_a_request_is_counted() {
	server_begin
	recipe_said 'A request behind'
	grep -q "without mutex:unlock' fired 20 times" said || fail "$(cat said)"
}
