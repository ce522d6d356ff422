# SPDX-License-Identifier: MIT
# Triggers: what conditions meet, what is done, what is said of it, and what is refused.

# A session of this test's own, and a program for it.
triggers_begin() {
	session_begin triggers
	cat > say.c <<- 'END'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		/* Each line is a letter and a number: one event, or something else. */
		static int number;
		/* One site each, so that no two events have one name. */
		static __attribute__((noinline)) void say_a(int n)
		{
			lull_event("test:a", lull_i32(n, n));
		}
		static __attribute__((noinline)) void *say_b(void *unused)
		{
			lull_event("test:b", lull_i32(n, number));
			return unused;
		}
		int main(void)
		{
			char letter;

			while (scanf(" %c%d", &letter, &number) == 2) {
				pthread_t thread;

				if (letter == 'a')
					say_a(number);
				if (letter == 'b')
					say_b(NULL);
				if (letter == 'c')
					lull_event("test:c", lull_i32(n, number));
				if (letter == 'd')
					for (int i = 0; i < number; i++)
						say_a(i);
				if (letter == 't' && !pthread_create(&thread, NULL, say_b, NULL))
					pthread_join(thread, NULL);
				if (letter == 'w') {
					lull_event("test:work_entry", lull_i32(n, number));
					usleep(number);
					lull_event("test:work_exit", lull_i32(ret, number % 7));
				}
				if (letter == 'x')
					abort();
				printf("%c%d\n", letter, number);
				fflush(stdout);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o say say.c -pthread
}

# fired NAME: how often the triggers fired, in their order, as the status says.
fired() {
	lull status "$session" --json | grep -o '"fired":[0-9]*' | cut -d: -f2 | tr '\n' ' '
}

has_fired() {
	[ "$(fired)" = "$1" ]
}

# firings_of TRACE WHAT: how often that stands in the trace's list of firings.
firings_of() {
	grep -a -o '^[[:space:]]*firings = .*' "$1/metadata" | grep -o "$2" | wc -l
}

condition_with_a_filter_fires_for_the_events_that_meet_it() {
	triggers_begin
	lull start --name "$session" -o trace --on 'test:a if n > 5' --do count \
		--on 'test:a if n == 2' --do count --on 'test:*' --do count --on test:b --do count \
		--on "test:a if n > 5 && \$uid == $(id -u)" --do count \
		--on "test:a if \$uid != $(id -u)" --do count
	talk_begin lull run "$session" -- ./say
	talk a1 a2 a6 a7 c9
	until_done has_fired "2 1 5 0 2 0 "
	talk_end
	lull status "$session" | grep -q '^trigger *test:a if n > 5: count: fired 2 times' ||
		fail "$(lull status "$session")"
	lull stop "$session" 2> verdict
	grep -q "note: the trigger 'test:a if n > 5' fired 2 times" verdict || fail "$(cat verdict)"
	grep -q "note: the trigger 'test:b' never fired$" verdict || fail "$(cat verdict)"
	grep -q 'complete: no event is missing' verdict || fail "$(cat verdict)"
	! grep -q 'may be missing' verdict || fail "$(cat verdict)"
	[ "$(firings_of trace 'test:a if n == 2')" -eq 1 ] || fail "$(strings trace/metadata)"
}

call_that_takes_too_long_and_order_in_one_thread_are_met() {
	triggers_begin
	lull start --name "$session" -o trace --on 'test:work > 20ms' --do count \
		--on 'test:a then test:b within 60s' --do count \
		--on 'test:a then test:b within 60s without test:c if n > 5' --do count \
		--on 'test:a then test:b within 1ns' --do count
	talk_begin lull run "$session" -- ./say
	talk w1 w30000
	# Another thread's b, a b that follows, one with a c between that does not count, and one
	# with a c that does.
	talk a1 t1 b1 b1 a2 c5 b2 a3 c6 b3
	until_done has_fired "1 3 2 0 "
	talk_end
	lull stop "$session" 2> verdict
	grep -q "note: the trigger 'test:work > 20ms' fired 1 time" verdict || fail "$(cat verdict)"
	! grep -q 'may be missing' verdict || fail "$(cat verdict)"
}

filter_of_a_call_is_met_by_its_entry_and_its_exit() {
	triggers_begin
	lull start --name "$session" -o trace \
		--on 'test:work > 1ms if n == 30001' --do count \
		--on 'test:work > 1ms if ret == 6' --do count \
		--on 'test:work > 1ms if n >= 30001 && ret == 6' --do count \
		--on 'test:work > 1ms if n == 1' --do count \
		--on 'test:work > 10s if n == 30001' --do count \
		--on 'test:work > 1ms' --do count \
		--on 'test:work > 1ms if m == 1' --do count
	talk_begin lull run "$session" -- ./say
	# Remainders by 7: 6, 0, 6, 6.
	talk w30001 w30002 w30008 w30001
	until_done has_fired "2 3 3 0 0 4 0 "
	lull trigger "$session" --on 'test:work > 1ms if n == 30002 && tid > 0' --do count \
		2> told || fail "$(cat told)"
	status_is 2 lull trigger "$session" --on 'test:work > 1ms if n == ret' --do count 2> told
	grep -q 'at once; of each by itself' told || fail "$(cat told)"
	grep -q '^ \{21\}^^^^^^^^$' told || fail "it is not marked: $(cat told)"
	talk w30002 w30001
	until_done has_fired "3 4 4 0 0 6 0 1 "
	talk_end
	lull stop "$session" 2> verdict
	grep -q "'test:work > 1ms if n == 30001' fired 3 times" verdict || fail "$(cat verdict)"
	grep -q 'may be missing: a condition met no event: .*has a field' verdict ||
		fail "$(cat verdict)"
}

session_that_triggers_start_and_stop_has_nothing_before_or_after() {
	triggers_begin
	lull start --name "$session" -o trace --on 'test:a if n == 3' --do start \
		--on 'test:b' --do pause --on 'test:c if n == 9' --do stop
	lull status "$session" --json | grep -q '"state":"paused"' || fail "it is not paused"
	talk_begin lull run "$session" -- ./say
	talk a1 a3
	until_done state_is recording
	talk a4 b1
	until_done state_is paused
	talk a5 a3
	until_done state_is recording
	talk a6 c9
	until_done ended_is "$session"
	talk a7
	talk_end
	lull print trace > events
	same "$(sed -n 's/.*test:a n=//p' events | tr '\n' ' ')" "4 6 " "the events of a"
}

state_is() {
	lull status "$session" --json | grep -q "\"state\":\"$1\""
}

ended_is() {
	! lull status "$1"
}

what_a_trigger_enables_is_recorded_from_then_on() {
	triggers_begin
	lull start --name "$session" -o trace -e 'none:*' --on 'test:a if n == 1' \
		--do "enable test:b if n > 5" --on 'test:a if n == 2' --do 'disable test:*'
	talk_begin lull run "$session" -- ./say
	talk b7 a1
	until_done has_fired "1 0 "
	until_done grep -q 'changes = ' trace/metadata
	sleep 0.2
	talk b8 b5 b9 a1 a2
	until_done has_fired "2 1 "
	sleep 0.2
	talk b10
	talk_end
	lull stop "$session" 2> verdict
	lull print trace > events
	same "$(sed -n 's/.*test:b n=//p' events | tr '\n' ' ')" "8 9 " "the events of b"
	# That it was enabled already is no change.
	grep -q 'was changed 2 times' verdict || fail "$(cat verdict)"
}

crash_of_the_program_writes_the_flight_recorder_with_its_last_event() {
	triggers_begin
	printf 'a1\na2\nx0\n' > input
	status_is 134 lull record --name "$session" -o trace --flight-recorder --on crash \
		--do snapshot --do 'run echo "$LULL_PID $LULL_FIELDS $LULL_TRACE" > told' -- ./say \
		< input > output 2> verdict
	until_done [ -s told ]
	grep -q "^[0-9]* signal=6 $PWD/trace/snapshot-1$" told || fail "$(cat told)"
	lull print trace/snapshot-1 > events
	grep -q 'test:a n=2' events || fail "$(tail events)"
	grep -q "note: the trigger 'crash' fired 1 time" verdict || fail "$(cat verdict)"
	# A program that ends by itself, or that a person ends, has not crashed.
	lull record --name "$session" -o two --flight-recorder --on crash --do snapshot -- true \
		2> verdict
	grep -q "note: the trigger 'crash' never fired" verdict || fail "$(cat verdict)"
	status_is 143 lull record --name "$session" -o three --on crash --do count -- \
		sh -c 'kill -TERM $$' 2> verdict
	grep -q "note: the trigger 'crash' never fired" verdict || fail "$(cat verdict)"
}

crash_of_a_process_that_is_not_the_recorders_child_is_seen_or_said_to_be_unseen() {
	triggers_begin
	lull start --name "$session" -o trace --on crash --do count
	talk_begin lull run "$session" -- ./say
	talk a1
	sleep 0.2
	echo x0 >&7
	wait "$talker" || true
	sleep 0.3
	lull stop "$session" 2> verdict
	grep -q "the trigger 'crash' fired 1 time" verdict ||
		grep -q 'a way that this kernel does not tell' verdict || fail "$(cat verdict)"
}

command_of_a_trigger_is_told_what_happened_and_holds_nothing_up() {
	triggers_begin
	printf 'a1\na7\nb1\na8\nd5000\n' > input
	lull record --name "$session" -o trace --on 'test:a if n == 7' --do \
		'run[once] env > told; sleep 5' --on test:b --do 'run echo b >> order' \
		--on 'test:a' --do 'run[1/h] echo a >> often' -- ./say < input > output 2> verdict
	until_done [ -s told ]
	for line in 'LULL_TRIGGER=test:a if n == 7' LULL_EVENT=test:a LULL_FIELDS=n=7 \
		"LULL_TRACE=$PWD/trace" "LULL_SESSION_NAME=$session"; do
		grep -qxF "$line" told || fail "$line is not in $(cat told)"
	done
	grep -q '^LULL_PID=[1-9]' told || fail "$(cat told)"
	until_done [ -s order ]
	same "$(cat often)" a "what may run once in an hour"
	grep -q "run\[1/h\] echo a >> often: 1 done" verdict || fail "$(cat verdict)"
	grep -q "'test:a' fired 5,00[0-9] times\|'test:a' fired 500[0-9] times" verdict ||
		fail "$(cat verdict)"
}

# timeout(1) and kill(1) end what a command starts, too; and the recorder's haste is its own.
command_of_a_trigger_has_the_signals_and_the_priority_that_the_recorder_was_started_with() {
	triggers_begin
	printf 'a1\n' > input
	cat > state.sh <<-'EOF'
		nice
		cat /proc/self/timerslack_ns
		exec grep '^Sig[BI]' /proc/self/status
	EOF
	nice -n 3 sh -c 'exec sh state.sh' > plain
	nice -n 3 lull record --name "$session" -o trace --on test:a --do \
		'run[once] exec sh state.sh > told' -- ./say < input > output 2> verdict
	until_done grep -q SigIgn told
	cmp plain told || fail "$(cat plain told)"
}

# More events of conditions than are read beside the recording are no silence.
events_of_conditions_that_are_lost_are_told() {
	triggers_begin
	printf 'd9000000\n' > input
	lull record --name "$session" -o trace -e 'none:*' --on 'test:a' --do count -- ./say \
		< input > output 2> verdict
	fired=$(sed -n "s/.*'test:a' fired \([0-9,]*\) times.*/\1/p" verdict | tr -d ,)
	[ "$fired" -eq 9000000 ] || grep -q 'a firing may be missing: ' verdict ||
		fail "$(cat verdict)"
	[ "$fired" -gt 0 ] || fail "$(cat verdict)"
}

triggers_of_a_program_that_runs_already_are_met() {
	triggers_begin
	# Between its events it is nowhere that nobody may interrupt.
	cat > tick.c <<- 'END'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(void)
		{
			/* A minute at most, whatever happens to the test. */
			for (int i = 1; i <= 6000 && access("over", F_OK); i++) {
				lull_event("test:tick", lull_i32(n, i));
				usleep(10000);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o tick tick.c
	./tick &
	local program=$!
	lull record --name "$session" -o trace --on 'test:tick if n > 0' --do stop -p "$program" \
		2> verdict || fail "$(cat verdict)"
	# It runs on.
	kill -0 "$program"
	touch over
	wait "$program"
	grep -q "the trigger 'test:tick if n > 0' fired [1-9][0-9]* time" verdict ||
		fail "$(cat verdict)"
	lull print trace | grep -q 'test:tick' || fail "$(lull print trace)"
}

killed_recorder_leaves_nothing_of_its_companion_that_recovery_does_not_take() {
	triggers_begin
	lull start --name "$session" -o trace --on 'test:a' --do count --json > started
	directory=$(sed 's/.*"directory":"\([^"]*\)".*/\1/' started)
	companion=$(echo "$directory"/lull-*)
	[ -d "$companion" ] || fail "there is no companion in $directory"
	key=$(readlink "$companion/memory" | sed 's/.*[^0-9]//')
	key=$(printf '0x%08x' "$key")
	ipcs -m | grep -q "^$key" || fail "there is no memory $key: $(ipcs -m)"
	talk_begin lull run "$session" -- ./say
	talk a1 a2
	lull sessions --json > list
	same "$(grep -o "$session" list | wc -l)" 1 "how often it is listed"
	kill -KILL "$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)"
	talk a3
	until_done lull recover "$directory"
	[ ! -e "$directory" ] || fail "it is still there"
	talk a4
	talk_end
	! ipcs -m | grep -q "^$key" || fail "its memory is still there: $(ipcs -m)"
	lull print trace | grep -q 'test:a n=3' || fail "$(lull print trace)"
}

trigger_that_cannot_be_is_refused_before_anything_starts() {
	triggers_begin
	refused() {
		local text=$1
		shift
		status_is 125 lull record --name "$session" -o trace "$@" -- ./say 2> errors
		grep -qF -e "$text" errors || fail "no '$text' in: $(cat errors)"
		[ ! -e trace ] || fail "there is a trace"
	}
	refused '--do stands behind the --on' --do count
	refused 'a --do behind it' --on test:a
	refused 'io:raed_entry; the nearest name is io:read_entry' --on io:raed_entry --do count
	refused 'there is no call io:raed' --on 'io:raed > 1ms' --do count
	refused 'write == to compare' --on 'test:a if n = 1' --do count
	refused '  test:a if n = 1' --on 'test:a if n = 1' --do count
	refused '              ^' --on 'test:a if n = 1' --do count
	refused 'no event that is asked for has a field' --on 'test:a if m == 1' --do count
	refused 'could stand `within`' --on 'test:a then test:b' --do count
	refused 'the actions are' --on test:a --do dance
	refused 'give --flight-recorder' --on test:a --do snapshot
	refused 'so has the recording' --on crash --do start
	refused 'takes no filter' --on test:a --do 'disable test:b if n > 1'
	lull record --name "$session" -o trace --on test:aa --do count -- ./say 2> errors
	grep -q 'its libraries have no event test:aa; the nearest name is test:a; ' errors ||
		fail "$(cat errors)"
	grep -q "'test:aa' never fired: no process that joined has an event test:aa" errors ||
		fail "$(cat errors)"
}

action_is_done_as_often_as_its_rate_allows() {
	triggers_begin
	lull start --name "$session" -o trace --on test:a --do 'run[1/h] echo a >> often' \
		--on test:a --do 'run[2/h] echo a >> more'
	talk_begin lull run "$session" -- ./say
	for count in 1 2 3; do
		talk "a$count"
		until_done has_fired "$count $count "
	done
	talk_end
	lull stop "$session" 2> verdict
	grep -q 'often: 1 done, 2 withheld for its rate$' verdict || fail "$(cat verdict)"
	grep -q 'more: 2 done, 1 withheld for its rate$' verdict || fail "$(cat verdict)"
	until_done [ "$(wc -l < often)" -eq 1 ]
	same "$(wc -l < often)" 1 "how often the first ran"
}
