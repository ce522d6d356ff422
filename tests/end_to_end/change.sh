# SPDX-License-Identifier: MIT
# What is recorded is changed while programs run: lull enable, lull disable, and the end of a
# session in programs that live on.

# A program that makes two events for each line it reads, and answers with it.
ticks_build() {
	cat > ticks.c <<- 'END'
		#include <lull/trace.h>
		#include <stdio.h>
		int main(void)
		{
			int n;

			while (scanf("%d", &n) == 1) {
				lull_event("tick:even", lull_i32(n, n));
				lull_event("tick:odd", lull_i32(n, n + 1));
				printf("%d\n", n);
				fflush(stdout);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o ticks ticks.c
}

# ticks_begin: runs the program in the session.
ticks_begin() {
	talk_begin lull run "$session" -- ./ticks
}

program_records_what_is_enabled_and_not_what_is_disabled_while_it_runs() {
	session_begin change
	ticks_build
	lull start --name "$session" -o trace -e 'tick:even' > /dev/null
	ticks_begin
	talk 1 2
	lull enable "$session" -e 'tick:odd' 2> told || fail "$(cat told)"
	grep -q 'asked 1 process: sites and probes that are different: [1-9]' told ||
		fail "$(cat told)"
	talk 3
	lull disable "$session" -e 'tick:even' --json > told.json
	grep -q '"reached":1,' told.json || fail "$(cat told.json)"
	talk 4
	lull enable "$session" -e 'tick:even if n > 5' 2> told || fail "$(cat told)"
	talk 5 6
	talk_end
	lull stop "$session" > /dev/null 2> verdict || fail "$(cat verdict)"
	same "$(numbers_of tick:even trace)" "1 2 3 6 " "even"
	same "$(numbers_of tick:odd trace)" "4 5 6 7 " "odd"
	grep 'changed 3 times' verdict > changes || fail "$(cat verdict)"
	grep -q 'tick:odd from .*; !tick:even from .*; tick:even if n > 5 from' changes ||
		fail "$(cat verdict)"
	babeltrace2 trace > bt.out 2> bt.errors
	[ ! -s bt.errors ] || fail "$(cat bt.errors)"
	same "$(grep -c 'tick:' bt.out)" 8 "babeltrace2's events"
}

events_that_were_enabled_for_a_while_did_match() {
	session_begin change
	ticks_build
	lull start --name "$session" -o trace -e 'none:*' > /dev/null
	ticks_begin
	talk 1
	lull enable "$session" -e 'tick:*' 2> told || fail "$(cat told)"
	talk 2
	lull disable "$session" -e 'tick:*' 2> told || fail "$(cat told)"
	talk_end
	status_is 0 lull stop "$session" > /dev/null 2> verdict
	! grep -q 'nothing matched' verdict || fail "$(cat verdict)"
	grep -q "the pattern 'none:\*' matches no event" verdict || fail "$(cat verdict)"
	status_is 0 lull report trace > report
	same "$(numbers_of tick:even trace)" "2 " "even"
	# What is recorded by default was asked for, also where some of it was left out again.
	lull start --name "$session" -o default > /dev/null
	lull disable "$session" -e 'io:*' 2> told || fail "$(cat told)"
	lull run "$session" -- true
	status_is 0 lull stop "$session" > /dev/null 2> verdict
	! grep -q 'nothing matched' verdict || fail "$(cat verdict)"
}

changes_that_enable_more_often_than_there_are_sites_are_no_fault_of_a_program() {
	session_begin change
	ticks_build
	lull start --name "$session" -o trace -e 'tick:*' > /dev/null
	ticks_begin
	for _ in $(seq 150); do
		lull disable "$session" -e 'tick:*' > /dev/null 2>&1
		lull enable "$session" -e 'tick:*' > /dev/null 2>&1
	done
	talk 1
	talk_end
	lull stop "$session" > /dev/null 2> verdict || fail "$(cat verdict)"
	same "$(numbers_of tick:even trace)" "1 " "even"
	! grep -q 'wrote over' verdict || fail "$(cat verdict)"
	grep -q 'changed 300 times' verdict || fail "$(cat verdict)"
}

recording_of_a_program_is_changed_like_a_started_session() {
	session_begin change
	ticks_build
	talk_begin lull record -q --name "$session" -o trace -e 'tick:even' -- ./ticks
	talk 1000
	for n in $(seq 0 2 100); do
		lull enable "$session" -e 'tick:odd' 2> told || fail "$(cat told)"
		talk "$n"
		lull disable "$session" -e 'tick:odd' 2> told || fail "$(cat told)"
		talk $((n + 1))
	done
	talk_end || fail "the recording ended with status $?"
	same "$(numbers_of tick:odd trace)" "$(seq 1 2 101 | tr '\n' ' ')" "odd"
}

program_that_starts_after_a_change_records_by_it() {
	session_begin change
	ticks_build
	lull start --name "$session" -o trace -e 'tick:even' > /dev/null
	lull enable "$session" -e 'tick:odd' 2> told || fail "$(cat told)"
	grep -q 'no program of the session runs' told || fail "$(cat told)"
	ticks_begin
	talk 1
	talk_end
	lull stop "$session" > /dev/null 2>&1
	same "$(numbers_of tick:odd trace)" "2 " "odd"
}

change_that_is_wrong_is_refused_with_its_reason_and_changes_nothing() {
	session_begin change
	lull start --name "$session" -o trace -e 'tick:even' > /dev/null
	! lull enable "$session" -e 'a:b if x <' 2> told || fail "taken"
	grep -q 'x <' told || fail "$(cat told)"
	! lull disable "$session" -e '!a:b' 2> told || fail "taken"
	grep -q 'leaves events out already' told || fail "$(cat told)"
	! lull disable "$session" -e 'a:b if x > 1' 2> told || fail "taken"
	grep -q 'takes no filter' told || fail "$(cat told)"
	! lull enable "no-such-$$" -e 'a:b' 2> told || fail "taken"
	lull status "$session" --json > status
	grep -q '"patterns":"[^"]*tick:even"' status || fail "$(cat status)"
	lull stop "$session" > verdict 2>&1 || true
	! grep -q changed verdict || fail "$(cat verdict)"
}

process_that_cannot_be_asked_is_named_and_follows_when_it_looks() {
	session_begin change
	cat > threads.c <<- 'END'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <stdio.h>
		static void *idle(void *unused)
		{
			return unused;
		}
		int main(void)
		{
			pthread_t thread;
			int n;

			while (scanf("%d", &n) == 1) {
				if (n == 3 && !pthread_create(&thread, NULL, idle, NULL))
					pthread_join(thread, NULL);
				lull_event("tick:even", lull_i32(n, n));
				lull_event("tick:odd", lull_i32(n, n + 1));
				printf("%d\n", n);
				fflush(stdout);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o ticks threads.c -pthread
	lull start --name "$session" -o trace -e 'tick:even' > /dev/null
	ticks_begin
	talk 1
	# A tracer has it, as a debugger does.
	python3 -c '
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) != 0:
    sys.exit(1)
print("seized", flush=True)
time.sleep(100)' "$talker" > seized &
	tracer=$!
	until_done grep -q seized seized
	status=0
	lull enable "$session" -e 'tick:odd' 2> told || status=$?
	same "$status" 1 "the status"
	local traced="ticks ($talker) was not asked: process $talker is traced by process $tracer"
	grep -q "$traced" told || fail "$(cat told)"
	talk 2 3
	kill "$tracer"
	wait "$tracer" || true
	talk_end
	lull stop "$session" > /dev/null 2>&1
	same "$(numbers_of tick:odd trace)" "4 " "odd, once the program had begun a thread"
}

# has_left PID: it has no memory of a session any more.
has_left() {
	! grep SYSV "/proc/$1/maps"
}

program_gives_the_memory_of_a_killed_recorder_back_when_it_is_recovered() {
	session_begin change
	ticks_build
	lull start --name "$session" -o trace -e 'tick:*' --json > started
	ticks_begin
	talk 1
	local pid
	pid=$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)
	kill -KILL "$pid"
	until_done is_gone "$pid"
	lull recover trace > verdict 2>&1 || fail "$(cat verdict)"
	until_done has_left "$talker"
	talk 2
	talk_end
	same "$(numbers_of tick:even trace)" "1 " "even"
}

program_that_lives_on_gives_the_memory_of_a_stopped_session_back() {
	session_begin change
	ticks_build
	lull start --name "$session" -o trace -e 'tick:*' > /dev/null
	ticks_begin
	talk 1
	grep -q SYSV "/proc/$talker/maps" || fail "it has no memory of the session"
	lull stop "$session" > verdict 2>&1 || fail "$(cat verdict)"
	until_done has_left "$talker"
	talk 2 3
	talk_end
	same "$(numbers_of tick:even trace)" "1 " "even"
}

changes_at_the_same_time_reach_all_programs_of_both_sessions() {
	session_begin change
	ticks_build
	trap 'lull stop "$session" > /dev/null 2>&1 || true
		lull stop "other-$$" > /dev/null 2>&1 || true' EXIT
	lull start --name "$session" -o trace -e 'tick:even' > /dev/null
	lull start --name "other-$$" -o other -e 'tick:even' > /dev/null
	talk_begin lull run "$session" -- lull run "other-$$" -- ./ticks
	talk 1
	for n in 2 4 6 8; do
		local changes=()
		for name in "$session" "other-$$" "$session" "other-$$"; do
			lull enable "$name" -e "tick:odd if n > $n" 2> "told$n${#changes[@]}" &
			changes+=($!)
		done
		for change in "${changes[@]}"; do
			wait "$change" || fail "$(cat told*)"
		done
		talk $((n - 1)) $n
	done
	talk_end
	lull stop "$session" > /dev/null 2>&1
	lull stop "other-$$" > /dev/null 2>&1
	same "$(numbers_of tick:odd trace)" "3 5 7 9 " "odd"
	same "$(numbers_of tick:odd other)" "3 5 7 9 " "odd, in the other session"
}

filters_are_offered_only_by_the_command_that_takes_them() {
	lull enable --help > help
	grep -q 'GLOB if FILTER' help || fail "$(cat help)"
	lull disable --help > help
	grep -q 'GLOB@LEVEL' help || fail "$(cat help)"
	! grep -q 'FILTER' help || fail "$(cat help)"
}
