# SPDX-License-Identifier: MIT
# `lull top`: a session that runs, in a terminal, as text and as JSON.

# Names are this test's own, and what it leaves running is ended, for others run beside it.
top_begin() {
	session=top-$$
	worker=
	trap 'top_end' EXIT
}

top_end() {
	[ -z "$worker" ] || kill "$worker" 2> /dev/null || true
	lull stop "$session" > /dev/null 2>&1 || true
}

# Two threads that meet at a lock, with calls of their own; after two minutes it ends by itself.
jobs_build() {
	cat > jobs.c <<- 'END'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <sys/prctl.h>
		#include <unistd.h>
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static void *work(void *name)
		{
			prctl(PR_SET_NAME, name);
			for (long n = 0;; n++) {
				lull_event("job:run_begin", lull_i64(n, n));
				pthread_mutex_lock(&lock);
				usleep(2000);
				pthread_mutex_unlock(&lock);
				lull_event("job:run_end", lull_i64(n, n));
			}
			return name;
		}
		int main(void)
		{
			pthread_t other;

			alarm(120);
			pthread_create(&other, 0, work, "evil\033[2J");
			work("honest");
		}
	END
	gcc -O2 -I"$root/core/include" -o jobs jobs.c -lpthread
}

# jobs_begin ARGUMENTS OF START...
jobs_begin() {
	jobs_build
	lull start -q --name "$session" -o trace "$@"
	lull run "$session" -- ./jobs > /dev/null 2>&1 &
	worker=$!
	until_shown '"job:run_begin"'
}

# until_shown TEXT: until it is in what --json says; at most 60 times. The object is in top.json.
until_shown() {
	for _ in $(seq 60); do
		lull top "$session" --once --json --interval 700ms > top.json || true
		! grep -qF "$1" top.json || return 0
	done
	fail "$1 is never shown: $(cat top.json)"
}

# shown EXPRESSION: of Python, over the object `top`.
shown() {
	python3 -c 'import json, sys
top = json.loads(open("top.json").read().splitlines()[-1])
by_name = lambda key: {row["name"]: row for row in top[key]}
rows = {key: by_name(key) for key in ("calls", "by_event", "threads", "processes")}
assert eval(sys.argv[1]), (sys.argv[1], top)' "$1"
}

top_shows_calls_locks_and_threads_of_a_session_that_runs() {
	top_begin
	jobs_begin
	until_shown '"mutex 0x'
	shown 'top["state"] == "recording" and top["session"].startswith("top-")'
	shown 'top["is_followed"] and top["read_share"] == 1 and not top["problems"]'
	shown 'not top["late_events"] and not top["unmeasured_calls"]'
	shown 'rows["calls"]["job:run"]["p50_ns"] > 1_900_000'
	shown 'rows["calls"]["job:run"]["max_ns"] >= rows["calls"]["job:run"]["p99_ns"]'
	shown 'top["locks"][0]["process"].startswith("honest[") and top["locks"][0]["count"] > 0'
	shown 'len(top["threads"]) == 2 and len(top["processes"]) == 1'
	shown 'abs(sum(row["events_per_s"] for row in top["by_event"]) - top["events_per_s"]) < 1'
	shown 'top["lost_by_cause"]["full"] == 0 and top["recorded"]["lost_events"] == 0'
	lull top "$session" --once > text
	grep -q '^job:run ' text || fail "no call: $(cat text)"
	grep -q '^verdict  no event was counted as lost so far$' text || fail "$(cat text)"
	grep -qF 'evil\u{1b}[2J[' text || fail "no escaped name: $(cat text)"
	! grep -q "$(printf '\033')" text || fail "an escape sequence of a name"
	lull top "$session" --once --filter run_end > text
	! grep -q run_begin text || fail "the filter lets it through"
	lull stop "$session" 2> verdict
	grep -q 'complete' verdict || fail "$(cat verdict)"
	babeltrace_reads trace
}

top_as_json_goes_on_until_the_session_ends_and_says_so() {
	top_begin
	jobs_begin
	lull top "$session" --json --interval 200ms > lines 2> errors &
	local top=$!
	until_done sh -c '[ "$(grep -c job:run_end lines)" -ge 2 ]'
	lull pause "$session"
	until_done grep -q '"state":"paused"' lines
	lull stop "$session" 2> verdict
	status_is 0 wait $top
	[ "$(wc -l < lines)" -ge 4 ] || fail "$(cat lines)"
	tail -n 1 lines > top.json
	shown 'top["state"] == "ended" and rows["by_event"]["job:run_end"]["events"] > 0'
	grep -q "session $session has ended; .lull report $PWD/trace. reads its trace" errors ||
		fail "$(cat errors)"
}

top_ends_when_the_recorder_is_killed_or_the_trace_is_removed() {
	top_begin
	jobs_begin
	local top recorder
	lull top "$session" --json --interval 200ms > lines 2> errors &
	top=$!
	recorder=$(lull status "$session" --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
	kill -KILL "$recorder"
	status_is 1 wait $top
	grep -q 'recorder was killed.*lull recover' errors || fail "$(cat errors)"
	lull recover "$(sed -n 's/.*`lull recover \([^`]*\)` adds.*/\1/p' errors)" 2> recovered ||
		[ $? -le 1 ] || fail "$(cat recovered)"
	kill "$worker"
	session=$session-again
	jobs_begin --overwrite
	lull top "$session" --json --interval 200ms > lines 2> errors &
	top=$!
	until_done test -s lines
	rm -r trace
	status_is 1 wait $top
	grep -q 'the trace is not there any more' errors || fail "$(cat errors)"
}

top_shows_a_flight_recorder_without_tables() {
	top_begin
	jobs_build
	lull start -q --name "$session" -o trace --flight-recorder
	lull run "$session" -- ./jobs > /dev/null 2>&1 &
	worker=$!
	lull top "$session" --once --interval 300ms > text
	grep -q 'flight recorder, .* of buffers' text || fail "$(cat text)"
	grep -q 'events/s ?' text || fail "$(cat text)"
	grep -q '^verdict  nothing is known of losses yet$' text || fail "$(cat text)"
	grep -q '^note  a flight recorder keeps its events in memory' text || fail "$(cat text)"
	! grep -q '^processes$' text || fail "it has tables"
}

top_says_what_it_passes_over() {
	top_begin
	cat > flood.c <<- 'END'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(void)
		{
			alarm(60);
			for (long n = 0;; n++)
				lull_event("flood:drop", lull_i64(n, n));
		}
	END
	gcc -O2 -I"$root/core/include" -o flood flood.c
	lull start -q --name "$session" -o trace --max-size 4G
	lull run "$session" -- ./flood > /dev/null 2>&1 &
	worker=$!
	lull top "$session" --json --interval 3s --once > top.json
	kill "$worker"
	shown 'top["events"] > 0 and rows["by_event"]["flood:drop"]["events"] == top["events"]'
	# A machine that is fast enough shows all; one that is not says so.
	shown 'top["read_share"] == 1 or any("% of events" in note for note in top["notes"])'
	shown 'top["late_events"] == 0'
}

top_without_a_terminal_names_its_other_forms() {
	top_begin
	status_is 2 lull top 2> errors < /dev/null
	grep -q -e '--once prints it as text, --json as JSON' errors || fail "$(cat errors)"
	status_is 2 lull top no-such-session --once 2> errors
	status_is 2 lull top --once --interval 1us 2> errors
	grep -q -e '--interval' errors || fail "$(cat errors)"
	local terminal
	for terminal in dumb ''; do
		TERM=$terminal timeout 20 python3 -c 'import os, pty, sys
status = pty.spawn(["lull", "top"])
sys.exit(os.waitstatus_to_exitcode(status))' > drawn < /dev/null && fail "it was drawn"
		grep -q 'cannot be drawn on.*--once' drawn || fail "$(cat drawn)"
	done
}

top_in_a_terminal_follows_keys_and_gives_it_back() {
	top_begin
	jobs_begin
	python3 "$root/tests/end_to_end/keys.py" "$session" > keys.log || fail "$(cat keys.log)"
	lull status "$session" --json | grep -q '"state":"recording"' || fail "it is paused"
	lull status "$session" --json | grep -q '"begin_ns"' || fail "no pause was asked for"
	lull status "$session" --json | grep -qF '!job:run_begin\njob:run_*"' ||
		fail "$(lull status "$session" --json)"
}
