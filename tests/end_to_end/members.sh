# SPDX-License-Identifier: MIT
# Programs that run already join a running session, and leave it: lull attach, lull detach.

# A session of this test's own, and a program for it.
members_begin() {
	session_begin members
	cat > tick.c <<- 'END'
		#include <fcntl.h>
		#include <lull/trace.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			int n;

			while (scanf("%d", &n) == 1) {
				lull_event("tick:number", lull_i32(n, n));
				close(open("/dev/null", O_RDONLY));
				printf("%d\n", n);
				fflush(stdout);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o tick tick.c
}

# openings TRACE: of the file, as liblull sees the program's calls.
openings() {
	lull print "$1" 2> print.errors | grep -c 'io:open.*/dev/null' || true
}

# joins SESSION PID; leaves SESSION PID
joins() {
	lull attach "$1" -p "$2" 2> told || fail "$(cat told)"
	grep -q "tick ($2) joined; one of its threads was stopped for .* [1-9][0-9]* of its calls" \
		told || fail "$(cat told)"
}

leaves() {
	lull detach "$1" -p "$2" 2> told || fail "$(cat told)"
	grep -q "tick ($2) left; one of its threads was stopped for" told || fail "$(cat told)"
}

# The program has left: what it does until it ends is in no trace.
ends_outside() {
	talk 2
	talk_end
	lull stop "$session" > /dev/null 2> verdict || fail "$(cat verdict)"
	same "$(numbers_of tick:number trace)" "1 " "numbers"
}

running_program_joins_a_session_leaves_it_and_joins_again() {
	members_begin
	talk_begin ./tick
	lull start --name "$session" -o trace -e 'tick:*' -e 'io:open*' > /dev/null
	talk 1
	joins "$session" "$talker"
	talk 2 3
	leaves "$session" "$talker"
	grep -q ' [1-9][0-9]* of its calls were put back' told || fail "$(cat told)"
	! grep -q 'SYSV' "/proc/$talker/maps" || fail "it has the session's memory"
	talk 4
	joins "$session" "$talker"
	talk 5
	lull stop "$session" > /dev/null 2> verdict || fail "$(cat verdict)"
	! grep -q 'SYSV' "/proc/$talker/maps" || fail "it has the ended session's memory"
	talk 6
	talk_end
	same "$(numbers_of tick:number trace)" "2 3 5 " "numbers"
	same "$(openings trace)" 3 "openings"
	grep -q 'from when 1 running process joined, 2 times in all: ' verdict ||
		fail "$(cat verdict)"
	grep -q 'until when 1 running process left, as they' verdict || fail "$(cat verdict)"
	babeltrace_reads trace
}

program_that_was_started_in_a_session_leaves_it() {
	members_begin
	lull start --name "$session" -o trace -e 'tick:*' -e 'io:open*' > /dev/null
	talk_begin lull run "$session" -- ./tick
	talk 1
	leaves "$session" "$talker"
	ends_outside
	same "$(openings trace)" 1 "openings"
	! grep -q 'joined' verdict || fail "$(cat verdict)"
}

# Its calls are put back by a thread that may ask the dynamic linker, and none goes on.
process_that_is_stopped_leaves_and_says_what_is_not_as_before() {
	members_begin
	lull start --name "$session" -o trace -e 'tick:*' -e 'io:open*' > /dev/null
	talk_begin lull run "$session" -- ./tick
	talk 1
	kill -STOP "$talker"
	lull detach "$session" -p "$talker" 2> told || fail "$(cat told)"
	grep -q "tick ($talker) left; .* lead to liblull still: process $talker is stopped" \
		told || fail "$(cat told)"
	kill -CONT "$talker"
	ends_outside
	grep -q 'until when 1 running process left, as they' verdict || fail "$(cat verdict)"
}

two_recorders_of_a_program_do_not_take_its_calls_from_each_other() {
	members_begin
	talk_begin ./tick
	lull start --name "$session" -o trace -e 'io:open*' > /dev/null
	lull start --name "$session-2" -o trace-2 -e 'io:open*' > /dev/null
	joins "$session" "$talker"
	lull attach "$session-2" -p "$talker" 2> told || fail "$(cat told)"
	talk 1
	lull stop "$session-2" > /dev/null 2> verdict-2 || fail "$(cat verdict-2)"
	talk 2
	lull stop "$session" > /dev/null 2> verdict || fail "$(cat verdict)"
	talk 3
	talk_end
	same "$(openings trace)" 2 "openings in the session that was left last"
	same "$(openings trace-2)" 1 "openings in the other"
}

program_that_enters_its_session_again_is_recorded_once() {
	members_begin
	lull start --name "$session" -o trace -e 'tick:*' -e 'process:start' > /dev/null
	eval "$(lull env "$session")"
	eval "$(lull env "$session")"
	same "$(lull run "$session" -- sh -c 'lull run "$0" -- printenv LULL_SESSION' "$session")" \
		"$LULL_SESSION" "the sessions"
	same "${LULL_SESSION/:/}" "$LULL_SESSION" "one directory"
	export LULL_SESSION=$LULL_SESSION:$LULL_SESSION/.
	talk_begin ./tick
	unset LULL_SESSION LD_PRELOAD
	talk 1
	leaves "$session" "$talker"
	ends_outside
}

who_cannot_join_or_leave_is_named_with_the_reason() {
	members_begin
	local status=0
	lull start --name "$session" -o trace > /dev/null
	lull attach "$session" 2> told || status=$?
	same "$status" 2 "the status without a process"
	grep -q 'name the processes with -p PID, --comm GLOB or --all-mine' told ||
		fail "$(cat told)"
	status=0
	lull attach "$session" -p 4194304 2> told || status=$?
	same "$status" 2 "the status of no process"
	grep -q 'process (4194304) does not join: there is no process 4194304' told ||
		fail "$(cat told)"
	talk_begin ./tick
	status=0
	lull detach "$session" -p "$talker" --json > told || status=$?
	same "$status" 2 "the status of one that is not in it"
	grep -q '"is_moot":true,.*"why":"it does not take part"' told || fail "$(cat told)"
	lull attach "$session" -p "$talker" 2> told
	status=0
	lull attach "$session" -p "$talker" -p 4194304 2> told || status=$?
	same "$status" 2 "the status of one that is in it"
	grep -q "tick ($talker) does not join: it takes part already" told || fail "$(cat told)"
	lull attach "$session" --comm tick 2> told || status=$?
	grep -q 'no process is there that could join' told || fail "$(cat told)"
	talk_end
}

programs_of_a_name_join_at_once_and_are_not_harmed_by_an_end_meanwhile() {
	members_begin
	local pids=() pid
	cp tick "tick-$$"
	mkfifo gate
	for _ in 1 2 3 4 5 6; do
		"./tick-$$" < gate > /dev/null &
		pids+=($!)
	done
	exec 7> gate
	for round in $(seq 8); do
		lull start --name "$session" -o "trace-$round" > /dev/null
		lull attach "$session" --comm "tick-$$" > /dev/null 2> told &
		sleep "0.0$round"
		# Those that had not joined yet are missing.
		session_stop
		wait $! || true
	done
	for pid in "${pids[@]}"; do
		kill -0 "$pid" || fail "one ended"
		! grep -q 'SYSV' "/proc/$pid/maps" || fail "one has a session's memory"
	done
	exec 7>&-
	wait "${pids[@]}"
}

# The number that a process has in a pid namespace of its own is another process's here.
process_of_another_pid_namespace_is_named_as_it_says() {
	unshare --pid --fork true 2> errors || skip "no PID namespaces: $(tail -n 1 errors)"
	members_begin
	lull start -q --name "$session" -o trace -e 'tick:*'
	talk_begin lull run "$session" -- unshare --pid --fork --kill-child ./tick
	talk 1
	while ! lull status "$session" | grep -Eq '^ *1  +1  tick$'; do
		lull status "$session" > told
		! grep -q "^ *1 .* $(cat /proc/1/comm)" told || fail "$(cat told)"
		sleep 0.05
	done
	lull status "$session" --json > told
	grep -q '{"name":"tick","pid":1,"threads":1}' told || fail "$(cat told)"
	talk_end
	lull stop "$session" > /dev/null 2> verdict || fail "$(cat verdict)"
}
