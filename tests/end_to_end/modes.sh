# SPDX-License-Identifier: MIT
# What `lull record` can be asked for: several sessions, flight recorder, limits, lists.

storm_build() {
	gcc -O2 -I"$root/core/include" -o storm "$root/tests/signals/storm.c" "$@"
}

two_sessions_record_the_same_program() {
	storm_build
	lull record -q -o outer -e 'test:*' -- \
		lull record -q -o inner -e 'test:main' -e 'test:prof' -- ./storm 100 > counts
	lull print --json outer > outer.json
	python3 "$root/tests/signals/check.py" counts outer.json
	lull print --json inner > inner.json
	same "$(grep -c '"test:main"' inner.json)" "$(grep -c '"test:main"' outer.json)" \
		"test:main in both"
	same "$(grep -c '"test:alarm"' inner.json || true)" 0 \
		"test:alarm where it was not asked for"
}

flight_recorder_keeps_the_newest_and_snapshots_on_request() {
	local recorder
	storm_build
	lull record -q --flight-recorder --buffer-size 64K --buffers 4 -o box -e 'test:*' -- \
		./storm 3000 > counts &
	recorder=$!
	sleep 1
	kill -USR1 $recorder
	sleep 1
	lull snapshot $recorder > snapshot.path
	wait $recorder
	same "$(find box -mindepth 1 -maxdepth 1 -name 'snapshot-*' | wc -l)" 3 "snapshots in box"
	for trace in box/snapshot-*; do
		babeltrace_reads "$trace"
		[ "$(lull print "$trace" | wc -l)" -gt 1000 ] || fail "$trace holds too little"
		lull report "$trace" > report
		grep -q 'of what was recorded last: a flight recorder overwrites' report ||
			fail "$trace is said to be all: $(head -n 5 report)"
	done
	lull print --json box/snapshot-3 | grep -q "\"sequence\":$(cut -d' ' -f2 counts)[,}]" ||
		fail "the last event is not in the last snapshot"
}

# It would cut what is newest.
flight_recorder_takes_no_size_of_the_trace() {
	status_is 125 lull record --flight-recorder --max-size 1M -o box -- touch started 2> errors
	grep -q -- '--max-size' errors || fail "$(cat errors)"
	[ ! -e started ] || fail "the program was started"
}

snapshots_that_are_named_together_are_read_once() {
	local count
	lull record -q --flight-recorder -o box -- bash -c \
		'for i in 1 2; do cat /etc/passwd; kill -USR1 $PPID; sleep 0.5; done > /dev/null'
	count=$(lull print box/snapshot-3 2> /dev/null | wc -l)
	[ "$(lull print box/snapshot-1 2> /dev/null | wc -l)" -gt 10 ] || fail "nothing overlaps"
	same "$(lull print box/snapshot-1 box/snapshot-2 box/snapshot-3 2> said | wc -l)" "$count" \
		"events of three snapshots"
	grep -q 'box/snapshot-1: packets of .* are also in box/snapshot-' said || fail "$(cat said)"
	lull report box/snapshot-1 box/snapshot-3 > report
	grep -q 'are also in box/snapshot-3, and are read only there' report || fail "$(cat report)"
}

snapshots_leave_what_they_have_in_memory() {
	local number
	session_begin again
	lull start -q --name "$session" --flight-recorder -o box -e 'http:*'
	lull run "$session" -- taskset -c 0 "$root/build/examples/requests" 30000 > /dev/null
	lull snapshot "$session" > path
	lull snapshot "$session" > path
	lull stop "$session" > verdict 2>&1
	# Many sub-buffers, all of them full but one: there is room for more than that.
	for number in 1 2 3; do
		same "$(requests_in box/snapshot-$number)" 30000 "requests in $number"
	done
	same "$(requests_in box/snapshot-1 box/snapshot-2 box/snapshot-3)" 30000 \
		"requests in all of them"
}

# requests_in TRACE...: how many there are.
requests_in() {
	lull print -e http:request "$@" 2> print.errors | wc -l
}

loss_is_an_exit_status_on_request() {
	storm_build
	status_is 124 lull record -q --fail-on-loss -o small -e 'test:*' --buffer-size 4K \
		--buffers 2 -- ./storm 300
	status_is 1 lull report small
	babeltrace_reads small
}

# A program that says more than the traces below may have, and less than the buffers hold.
ticks_build() {
	cat > ticks.c <<- 'END'
		#include <lull/trace.h>
		int main(void)
		{
			for (int n = 0; n < 200000; n++)
				lull_event("test:tick", lull_i32(n, n));
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o ticks ticks.c
}

size_limit_of_less_than_a_default_sub_buffer_is_used_or_refused() {
	local size
	ticks_build
	for size in 900K 200K 20K; do
		rm -rf limited
		lull record --max-size "$size" -o limited -e 'test:*' -- ./ticks 2> said
		grep -q 'stopped: complete until the limit' said || fail "$size: $(cat said)"
		[ "$(du -bc limited/stream-* | tail -n 1 | cut -f1)" -gt $((${size%K} * 512)) ] ||
			fail "$size: $(du -b limited/*)"
		babeltrace_reads limited
	done
	status_is 125 lull record --max-size 900K --buffer-size 1M -o refused -- touch started \
		2> said
	grep -q 'give at least 1028K' said || fail "$(cat said)"
	[ ! -e started ] || fail "the program was started"
}

events_after_the_size_limit_are_lost_to_nobody() {
	ticks_build
	session_begin limit
	lull start -q --name "$session" --max-size 200K -o limited -e 'test:*'
	lull run "$session" -- ./ticks
	until_done limit_ended
	lull status "$session" --json | grep -q '"lost":0[,}]' || fail "$(lull status "$session")"
	lull stop "$session" 2> said
	grep -q 'stopped: complete until the limit' said || fail "$(cat said)"
}

limit_ended() {
	lull status "$session" --json | grep -q '"state":"ended"'
}

size_limit_ends_the_trace_and_not_the_program() {
	storm_build
	lull record --max-size 1M -o limited -e 'test:*' -- ./storm 300 > counts 2> said
	[ -s counts ] || fail "the program did not finish"
	[ "$(du -sb limited | cut -f1)" -lt 1200000 ] || fail "$(du -sb limited)"
	grep -qi 'size\|limit' said || fail "the limit is not mentioned: $(cat said)"
	babeltrace_reads limited
}

events_of_a_program_are_listed_without_running_it() {
	storm_build
	lull list ./storm > list
	for event in test:main test:prof test:alarm io:read_entry mutex:wait_entry; do
		grep -q "$event" list || fail "$event is not in: $(cat list)"
	done
}

static_program_with_liblull_is_recorded() {
	storm_build -static "-L$root/build/lib" -Wl,--undefined=lull_object_loaded -llull
	lull record -q -o trace -e 'test:*' -- ./storm 100 > counts
	lull print --json trace > events
	python3 "$root/tests/signals/check.py" counts events
}

thread_without_restartable_sequences_is_recorded() {
	storm_build
	GLIBC_TUNABLES=glibc.pthread.rseq=0 lull record -q -o trace -e 'test:*' --buffer-size 8M \
		--buffers 8 -- ./storm 100 > counts
	lull print --json trace > events
	python3 "$root/tests/signals/check.py" counts events
	babeltrace_reads trace
	# Their ring is of any CPU, so that no event of it has one.
	! grep -v '"cpu":null' events > named || fail "an event has a CPU: $(head -n 1 named)"
	lull print trace > shown
	! grep -qvE '^[0-9:.]+ - ' shown || fail "$(grep -vE '^[0-9:.]+ - ' shown | head -n 1)"
}

copies_and_parts_count_events_as_reports_do() {
	local events
	# One ring of any CPU, with a record of the thread before each event.
	GLIBC_TUNABLES=glibc.pthread.rseq=0 lull record -o trace -- true 2> said
	! grep -q 'CPU' said || fail "$(cat said)"
	lull report trace > report
	! grep -q '0 CPUs' report || fail "$(head -n 1 report)"
	events=$(lull report --json trace |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["events"])')
	lull convert trace -o copy 2> said
	grep -q ": $events events written" said || fail "not $events: $(cat said)"
	lull trim trace -o part --from +0s 2> said
	grep -q ": $events events written" said || fail "not $events: $(cat said)"
}

single_stepped_probe_gets_through() {
	command -v gdb > /dev/null || fail "gdb is not installed"
	cat > stepped.c <<-'END'
		#include <lull/trace.h>
		__attribute__((noinline)) void step(int i)
		{
			lull_event("test:step", lull_i32(i, i));
		}
		int main(void) { for (int i = 0; i < 3; i++) step(i); return 0; }
	END
	gcc -O1 -I"$root/core/include" -o stepped stepped.c
	lull record -q -o trace -e 'test:*' -- gdb -batch -nx -ex 'break main' -ex run \
		-ex 'stepi 4000' -ex delete -ex continue --args ./stepped > gdb.log 2>&1 ||
		fail "$(tail gdb.log)"
	same "$(lull print trace | grep -c test:step)" 3 "events of the stepped program"
}
