# SPDX-License-Identifier: MIT
# The recipes of docs/guide/live.md: the commands of each run as they stand on the page, with small
# programs in the places of its programs, and shorter waits, which begin when the server has begun.

# recipe BEGIN: the commands behind the paragraph that begins so, as a script.
recipe() {
	awk -v begin="**$1" '
		index($0, begin) == 1 { is_here = 1; next }
		is_here && /^```$/ { if (is_inside) exit; is_inside = 1; next }
		is_inside { print }
	' "$root/docs/guide/live.md" |
		sed 's/sleep [16]0/sleep 1/; /^lull run .*server &$/a ./server-began' > recipe.sh
	[ -s recipe.sh ] || fail "the recipe '$1' is not on the page"
}

# recipe_run BEGIN [BEFORE]: runs it, after other commands; what is printed is in the file `said`.
recipe_run() {
	recipe "$1"
	{ echo "${2:-}"; cat recipe.sh; } > whole.sh
	bash -euo pipefail whole.sh > said 2>&1 || fail "$(cat whole.sh said)"
}

# Sessions of the page's names are this test's own; what runs in the end is ended.
recipes_begin() {
	mkdir -m 700 sessions
	export XDG_RUNTIME_DIR=$PWD/sessions
	trap 'touch over; lull stop --all > /dev/null 2>&1 || true' EXIT
	cat > server.c <<- 'END'
		#include <lull/trace.h>
		#include <fcntl.h>
		#include <pthread.h>
		#include <unistd.h>
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		int main(void)
		{
			/* A minute at most, whatever happens to the test. */
			for (int i = 0; i < 6000 && access("over", F_OK); i++) {
				pthread_mutex_lock(&mutex);
				lull_event("http:request", lull_i32(number, i),
					   lull_i32(status, i % 10 ? 200 : 503));
				pthread_mutex_unlock(&mutex);
				if (!i)
					close(creat("began", 0600));
				usleep(10000);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o server server.c -pthread
	cat > server-began <<- 'END'
		#!/bin/sh
		for try in $(seq 600); do
			[ ! -e began ] || exit 0
			sleep 0.1
		done
		exit 1
	END
	chmod +x server-began
}

# events_of TRACE: lines of its http:request events.
events_of() {
	lull print "$1" 2> print.errors | grep 'http:request' || true
}

trace_said() {
	sed -n 's/^lull: .* in [0-9.]* s: \(.*\)$/\1/p' said | tail -n 1
}

ten_seconds_of_a_busy_hour_are_in_the_trace_and_the_rest_is_not() {
	recipes_begin
	recipe_run 'Ten seconds'
	trace=$(trace_said)
	events_of "$trace" > events
	[ "$(wc -l < events)" -ge 20 ] || fail "$(cat said events)"
	[ "$(wc -l < events)" -le 300 ] || fail "more than the time between is recorded"
	grep -q 'the pause' said || fail "$(cat said)"
}

several_programs_are_on_one_time_line() {
	recipes_begin
	# The server may be slower to begin; the client ends when there is something of both.
	printf '#!/bin/sh\ncat /etc/hostname > /dev/null\n./server-began\ntouch over\n' > client
	chmod +x client
	recipe_run 'Several programs'
	grep -q 'server' said || fail "$(cat said)"
	lull print pair.trace > events
	grep -q 'http:request' events || fail "nothing of the server"
	grep -q '/etc/hostname' events || fail "nothing of the client"
}

whole_build_is_recorded_command_by_command() {
	recipes_begin
	printf 'all:\n\tcat /etc/hostname > copy\n\tcp copy other\n' > Makefile
	recipe_run 'A whole shell'
	lull print "$(trace_said)" > events
	grep -q 'process:start.*/cp' events || fail "$(cat said)"
	grep -q 'process:start.*/make' events || fail "$(cat said)"
}

flight_recorder_is_written_when_something_odd_happens() {
	recipes_begin
	printf '#!/bin/sh\nsleep 1\n' > watch-for-trouble
	chmod +x watch-for-trouble
	recipe_run 'A flight recorder'
	snapshot=$(tail -n 1 said)
	events_of "$snapshot" > events
	[ "$(wc -l < events)" -ge 20 ] || fail "$(cat said events)"
}

closer_look_has_what_it_asks_for_and_only_for_its_time() {
	recipes_begin
	recipe_run 'A closer look' "lull start --name web -o trace -e 'process:*'
		lull run web -- ./server &
		./server-began"
	sleep 1
	lull stop web > /dev/null 2>&1 || true
	events_of trace > events
	[ "$(wc -l < events)" -ge 3 ] || fail "$(cat said events)"
	[ "$(wc -l < events)" -le 30 ] || fail "more than the failures of its time are recorded"
	! grep -v 'status=503' events || fail "requests without failure are recorded"
	lull print trace | grep -q 'mutex:' || fail "no mutex is in the trace"
}
