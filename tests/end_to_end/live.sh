# SPDX-License-Identifier: MIT
# Sessions that outlive the shell: begun, joined, looked at, held and ended by commands.

# A program that says one event for each line it reads, and answers with it.
beat_build() {
	cat > beat.c <<- 'END'
		#include <lull/trace.h>
		#include <stdio.h>
		int main(void)
		{
			int n;

			while (scanf("%d", &n) == 1) {
				lull_event("test:beat", lull_i32(n, n));
				printf("%d\n", n);
				fflush(stdout);
			}
			return 7;
		}
	END
	gcc -O2 -I"$root/core/include" -o beat beat.c
}

# state_of NAME
state_of() {
	lull status "$1" --json | sed 's/.*"state":"\([a-z]*\)".*/\1/'
}

session_that_is_started_records_programs_until_it_is_stopped() {
	session_begin live
	lull start --name "$session" -o trace > started
	grep -q "session $session records into $PWD/trace" started || fail "$(cat started)"
	lull run "$session" -- cat /etc/passwd > copy
	cmp copy /etc/passwd
	status_is 3 lull run "$session" -- sh -c 'exit 3'
	status_is 127 lull run "$session" -- ./absent
	lull sessions --json > list
	grep "\"name\":\"$session\"" list | grep -q '"state":"recording"' || fail "$(cat list)"
	lull sessions | grep -q "^$session .*recording" || fail "it is in no table"
	status_is 1 lull report trace > /dev/null
	lull stop "$session" 2> verdict
	grep -q 'complete: no event is missing' verdict || fail "$(cat verdict)"
	status_is 0 lull report trace > report
	grep -q '^Complete: no event is missing' report || fail "$(cat report)"
	! lull sessions --json | grep -q "\"$session\"" || fail "it is still there"
	babeltrace_reads trace
}

session_begins_without_terminal_and_outlives_the_shell_that_started_it() {
	session_begin live
	setsid sh -c 'exec 9> held; lull start --name "$1" -o trace --json > started; kill -HUP 0' \
		sh "$session" || true
	local pid
	pid=$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)
	same "$(state_of "$session")" recording "its state after the hang-up"
	same "$(ps -o sid= -o tty= -p "$pid" | tr -s ' ' | sed 's/^ //')" "$pid ?" \
		"its session and terminal"
	# What the shell had open is not kept open.
	! ls -l "/proc/$pid/fd" | grep -q "$PWD/held" || fail "it holds what the shell had open"
	lull run "$session" -- true
	kill -HUP "$pid"
	until_done is_gone "$pid"
	status_is 0 lull report trace > report
	grep -q '^Complete' report || fail "$(cat report)"
}

error_of_the_recorder_is_the_error_of_the_command_that_starts_it() {
	session_begin live
	touch file
	status_is 2 lull start --name "$session" -o file/trace 2> errors
	grep -q 'file' errors || fail "$(cat errors)"
	mkdir taken
	touch taken/else
	status_is 2 lull start --name "$session" -o taken 2> errors
	grep -q 'else' errors || fail "$(cat errors)"
	status_is 2 lull start --name "$session" -o trace --buffer-size 5K 2> errors
	grep -q -e '--buffer-size' errors || fail "$(cat errors)"
	status_is 2 lull start --name a/b -o trace 2> errors
	grep -q 'a name is no path' errors || fail "$(cat errors)"
	status_is 2 lull start --name 12 -o trace 2> errors
	status_is 2 lull status "$session" 2> errors
	grep -q "$session" errors || fail "$(cat errors)"
	[ ! -e trace ] || fail "there is a trace"
}

sessions_that_begin_at_once_have_names_of_their_own() {
	local number starters=() begun=0
	session_begin once
	for number in 1 2 3 4 5 6; do
		lull start -q --name "$session" -o "named-$number" 2> "errors-$number" &
		starters+=($!)
	done
	for number in "${starters[@]}"; do
		! wait "$number" || begun=$((begun + 1))
	done
	same "$begun" 1 "sessions that began under one name ($(cat errors-*))"
	status_is 1 lull stop "$session" 2> verdict
	starters=()
	for number in 1 2 3 4 5 6 7 8; do
		lull start --json -o "unnamed-$number" > "unnamed-$number.json" &
		starters+=($!)
	done
	for number in "${starters[@]}"; do
		wait "$number"
	done
	for number in 1 2 3 4 5 6 7 8; do
		status_is 1 lull stop "$PWD/unnamed-$number" 2> verdict
	done
	same "$(cat unnamed-*.json | sed 's/.*"name":"\([^"]*\)".*/\1/' | sort -u | wc -l)" 8 \
		"names of sessions"
}

session_in_a_path_that_is_no_text_is_found_and_stopped() {
	session_begin bytes
	mkdir $'inv\xff'
	cd $'inv\xff'
	lull start -q --name "$session" -o trace
	lull run "$session" -- true
	lull sessions | grep -q "^$session .*recording" || fail "it is in no table"
	status_is 0 lull stop "$session" --json > verdict
	grep -q '"state":"complete"' verdict || fail "$(cat verdict)"
	status_is 0 lull report trace > report
	lull record --json -o second -- true 2> verdict
	grep -q '^{"state":"complete"' verdict || fail "$(cat verdict)"
}

second_session_of_a_name_is_refused() {
	session_begin live
	lull start -q --name "$session" -o one
	status_is 2 lull start --name "$session" -o two 2> errors
	grep -q "a session of yours is called $session already, recorded into $PWD/one" errors ||
		fail "$(cat errors)"
	[ ! -e two ] || fail "it made a trace"
	status_is 125 lull record --name "$session" -o two -- touch started 2> errors
	[ ! -e started ] || fail "the program was started"
	status_is 1 lull stop "$PWD/one" 2> verdict
}

session_whose_name_cannot_be_printed_is_ended_again() {
	local arguments
	session_begin unsaid
	for arguments in '' '--json'; do
		rm -rf trace
		status_is 2 lull start $arguments --name "$session" -o trace > /dev/full 2> errors
		grep -q 'the session was ended again: .*No space left' errors ||
			fail "$(cat errors)"
		! lull sessions 2> none | grep -q "^$session " || fail "it runs"
	done
}

path_of_a_session_is_printed_without_what_a_terminal_would_obey() {
	session_begin escape
	mkdir $'esc\x1b[31mx'
	cd $'esc\x1b[31mx'
	lull start --name "$session" -o trace > started
	! grep -q $'\x1b' started || fail "$(cat -v started)"
	status_is 1 lull stop "$session" 2> verdict
	! grep -q $'\x1b' verdict || fail "$(cat -v verdict)"
}

pause_is_for_all_programs_and_in_the_trace() {
	session_begin live
	beat_build
	lull start -q --name "$session" -o trace -e 'test:*'
	talk_begin lull run "$session" -- ./beat
	talk 1
	lull pause "$session"
	same "$(state_of "$session")" paused "its state"
	status_is 2 lull pause "$session" 2> errors
	grep -q 'paused already' errors || fail "$(cat errors)"
	talk 2
	talk 3
	lull resume "$session"
	same "$(state_of "$session")" recording "its state"
	status_is 2 lull resume "$session" 2> errors
	talk 4
	status_is 0 lull stop "$session" 2> verdict
	grep -q 'outside of the pause, in which nothing was recorded' verdict ||
		fail "$(cat verdict)"
	! grep -q 'no event is missing' verdict || fail "$(cat verdict)"
	# The program lives on.
	talk 5
	exec 7>&-
	wait $talker || same $? 7 "the program's status"
	same "$(numbers_of test:beat trace)" "1 4 " "the numbers of events"
	lull report trace > report
	grep -q 'outside of the pause' report || fail "$(cat report)"
	! grep -q '^Complete: no' report || fail "$(cat report)"
	grep -q 'pauses = "[0-9]*\\t[0-9]*\\t[0-9]*\\t[0-9]*"' trace/metadata || fail "no pauses"
	babeltrace_reads trace
}

request_that_was_given_up_is_not_carried_out_later() {
	local recorder
	session_begin given
	lull start --json --name "$session" -o trace > started
	recorder=$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)
	kill -STOP "$recorder"
	status_is 124 timeout 1 lull stop "$session" 2> errors
	# Nobody waits for a recorder that is stopped, however long its answer may take otherwise.
	for request in pause snapshot "enable -e io:*" "attach -p $$" "trigger" stop; do
		# shellcheck disable=SC2086
		status_is 2 timeout 30 lull ${request%% *} "$session" ${request#"${request%% *}"} \
			2> errors
		grep -q "is stopped.*not done; \`kill -CONT $recorder\` has it go on" errors ||
			fail "$request: $(cat errors)"
	done
	kill -CONT "$recorder"
	same "$(state_of "$session")" recording "its state"
	status_is 1 lull stop "$session" 2> verdict
}

name_of_a_session_is_whole_where_no_terminal_is() {
	session_begin "$(printf 'n%.0s' {1..56})"
	lull start -q --name "$session" -o trace
	lull sessions > list
	grep -q "^$session .* $PWD/trace$" list || fail "$(cat list)"
	status_is 1 lull stop "$session" 2> verdict
}

program_that_starts_in_a_pause_records_after_it() {
	session_begin live
	beat_build
	lull start -q --name "$session" -o trace
	lull pause "$session"
	# It begins and ends unseen, which is no loss.
	lull run "$session" -- true
	talk_begin lull run "$session" -- ./beat
	talk 1
	lull resume "$session"
	talk 2
	exec 7>&-
	wait $talker || same $? 7 "the program's status"
	lull stop "$session" 2> verdict
	same "$(numbers_of test:beat trace)" "2 " "the numbers of events"
	grep -q 'complete within these limits' verdict || fail "$(cat verdict)"
	grep -q 'programs that were not recorded are not known' verdict || fail "$(cat verdict)"
}

recording_of_a_program_is_seen_held_and_ended_like_a_started_session() {
	session_begin live
	beat_build
	talk_begin lull record --name "$session" -o trace -e 'test:*' -- ./beat 2> said
	talk 1
	lull status "$session" > status
	grep -q "until ./beat, pid" status || fail "$(cat status)"
	lull pause "$session"
	talk 2
	lull resume "$session"
	talk 3
	status_is 0 lull stop "$session" 2> verdict
	grep -q 'until the recording was stopped: 1 process went on' verdict ||
		fail "$(cat verdict)"
	grep -q 'until the recording was stopped: 1 process went on' said || fail "$(cat said)"
	kill -0 $talker || fail "the command ended before its program"
	talk 4
	exec 7>&-
	wait $talker || same $? 7 "the status, which is the program's"
	same "$(numbers_of test:beat trace)" "1 3 " "the numbers of events"
}

name_of_a_recording_is_its_programs_with_a_number_where_it_is_taken() {
	session_begin live
	cp "$(command -v sleep)" "nap$$"
	lull record -q -o one -- "./nap$$" 60 &
	until_done lull status "nap$$"
	lull record -q -o two -- "./nap$$" 60 &
	until_done lull status "nap$$-2"
	lull status "nap$$-2" --json | grep -q "\"output\":\"$PWD/two\"" || fail "which is which"
	status_is 0 lull stop "nap$$" 2> verdict
	status_is 0 lull stop "nap$$-2" 2> verdict
	kill $(jobs -p)
	wait || true
}

shell_joins_and_leaves_by_its_variables() {
	session_begin live
	beat_build
	lull start -q --name "$session" -o trace -e 'test:*'
	sh -c 'eval "$(lull env "$1")"; echo 1 | ./beat; eval "$(lull env --leave)"; echo 2 | ./beat
		echo "${LULL_SESSION-none} ${LD_PRELOAD-none}"' sh "$session" > output || true
	same "$(tr '\n' ' ' < output)" "1 2 none none " "the output"
	# It does not count itself among the processes that go on.
	sh -c 'eval "$(lull env "$1")"; lull stop "$1"' sh "$session" 2> verdict
	! grep -q 'went on' verdict || fail "$(cat verdict)"
	same "$(numbers_of test:beat trace)" "1 " "the numbers of events"
}

status_of_a_stop_is_that_of_a_report() {
	session_begin live
	lull start -q --name "$session" -o one --fail-on-loss -e 'nothing:*'
	lull run "$session" -- true
	status_is 124 lull stop "$session" 2> verdict
	grep -q 'nothing matched' verdict || fail "$(cat verdict)"
	lull start -q --name "$session" -o two --fail-on-loss
	lull run "$session" -- true
	status_is 0 lull stop "$session" --json > verdict
	grep -q '"state":"complete"' verdict || fail "$(cat verdict)"
	# Nobody joins it.
	lull start -q --name "$session" -o three
	status_is 1 lull stop "$session" 2> verdict
	grep -q 'nothing matched' verdict || fail "$(cat verdict)"
	status_is 1 lull report three > report
	grep -q '^Nothing matched' report || fail "$(cat report)"
	status_is 2 lull stop "$session" 2> errors
}

stop_by_two_at_once_gives_both_the_verdict() {
	session_begin live
	lull start -q --name "$session" -o trace
	lull run "$session" -- ls / > /dev/null
	local pid
	pid=$(lull status "$session" --json | sed 's/.*"pid":\([0-9]*\),"proc.*/\1/')
	# Both have asked before it can answer.
	kill -STOP "$pid"
	lull stop "$session" 2> first &
	local one=$!
	lull stop "$session" 2> second &
	local two=$!
	until_done has_socket $one
	until_done has_socket $two
	kill -CONT "$pid"
	wait $one
	wait $two
	grep -q 'complete: no event is missing' first || fail "$(cat first)"
	cmp first second
	until_done is_gone "$pid"
}

# has_socket PID
has_socket() {
	find "/proc/$1/fd" -lname 'socket:*' | grep -q .
}

snapshots_and_stop_come_one_after_the_other() {
	session_begin live
	beat_build
	lull start -q --name "$session" -o box --flight-recorder -e 'test:*'
	talk_begin lull run "$session" -- ./beat
	talk 1
	same "$(lull snapshot "$session")" "$PWD/box/snapshot-1" "the snapshot's path"
	lull pause "$session"
	talk 2
	lull snapshot "$session" > two &
	local snapshot=$!
	lull stop "$session" 2> verdict
	wait $snapshot || grep -q . two || true
	same "$(numbers_of test:beat box/snapshot-1)" "1 " "events of the first"
	for trace in box/snapshot-*; do
		babeltrace_reads "$trace"
		same "$(numbers_of test:beat "$trace")" "1 " "events of $trace"
	done
	grep -q 'outside of the pause' verdict || fail "$(cat verdict)"
	exec 7>&-
	wait $talker || true
	lull start -q --name "$session" -o discard
	status_is 2 lull snapshot "$session" 2> errors
	grep -q -e '--flight-recorder' errors || fail "$(cat errors)"
	status_is 1 lull stop "$session" 2> verdict
}

dead_session_is_listed_with_what_to_do_and_keeps_its_pauses() {
	session_begin live
	beat_build
	lull start -q --name "$session" -o trace -e 'test:*'
	talk_begin lull run "$session" -- ./beat
	talk 1
	lull pause "$session"
	local pid
	pid=$(lull status "$session" --json | sed 's/.*"pid":\([0-9]*\),"proc.*/\1/')
	kill -KILL "$pid"
	until_done is_gone "$pid"
	lull sessions --json > list || true
	grep "\"name\":\"$session\"" list | grep -q '"state":"dead"' || fail "$(cat list)"
	lull sessions 2>&1 | grep -q "dead: .*into $PWD/trace.*lull recover" || fail "not told"
	status_is 2 lull stop "$session" 2> errors
	grep -q 'its recorder is dead' errors || fail "$(cat errors)"
	lull recover trace > verdict 2>&1 || true
	grep -q 'outside of the pause, in which nothing was recorded: .* to the end' verdict ||
		fail "$(cat verdict)"
	same "$(numbers_of test:beat trace)" "1 " "the numbers of events"
	exec 7>&-
	wait $talker || true
}

session_whose_directory_is_removed_ends_by_itself() {
	session_begin live
	lull start --name "$session" -o trace --json > started
	lull run "$session" -- true
	local pid
	pid=$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)
	rm -rf "$(sed 's/.*"directory":"\([^"]*\)".*/\1/' started)"
	until_done is_gone "$pid"
	status_is 1 lull report trace > report
	grep -q 'was removed while recording' report || fail "$(cat report)"
}

started_session_ends_after_its_duration() {
	session_begin live
	lull start --name "$session" -o trace --duration 300ms --json > started
	until_done is_gone "$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)"
	lull report trace > report || true
	! grep -q '^Not finished' report || fail "$(cat report)"
}

all_sessions_are_stopped_at_once() {
	# Others may run beside this test: a home for sessions of its own.
	[ "$(id -u)" -eq 0 ] || skip "hiding other sessions takes root"
	unshare --mount true 2> mount.errors || skip "no mounts: $(tail -n 1 mount.errors)"
	unshare --mount "$root/tests/run" --test "$root/tests/end_to_end/live.sh" all_stopped
}

# In a process of its own: --test runs it where only the name is known.
all_stopped() {
	mount -t tmpfs tmpfs /dev/shm
	lull start -q --name one -o one
	lull start -q --name two -o two --flight-recorder
	status_is 2 lull status 2> errors
	grep -q 'several sessions run' errors || fail "$(cat errors)"
	status_is 1 lull stop --all 2> verdict
	same "$(grep -c 'nothing matched' verdict)" 2 "verdicts"
	status_is 1 lull sessions 2> errors
	status_is 1 lull snapshot 2> errors
	status_is 1 lull pause 2> errors
	status_is 1 lull stop --all 2> errors
	grep -q 'no session of yours is running' errors || fail "$(cat errors)"
}

# As a container that has the machine's /dev/shm.
session_within_a_pid_namespace_says_where_it_can_be_asked() {
	session_begin live
	unshare --pid --fork true 2> errors || skip "no PID namespaces: $(tail -n 1 errors)"
	unshare --pid --fork --mount-proc sh -c 'lull start -q --name "$0" -o trace
		touch ready
		while [ -e ready ]; do sleep 0.1; done
		lull stop "$0"' "$session" 2> stopped &
	until_done [ -e ready ]
	status_is 2 lull pause "$session" 2> errors
	grep -q 'PID namespace' errors || fail "$(cat errors)"
	rm ready
	wait $! || same $? 1 "the status of lull stop"
	grep -q 'nothing matched' stopped || fail "$(cat stopped)"
}

disk_that_is_full_leaves_a_session_that_can_be_stopped() {
	unshare --mount true 2> mount.errors || skip "no mounts: $(tail -n 1 mount.errors)"
	unshare --mount "$root/tests/run" --test "$root/tests/end_to_end/live.sh" full_disk
}

full_disk() {
	session_begin live
	mkdir small
	mount -t tmpfs -o size=1m tmpfs small || skip "no file system can be mounted"
	gcc -O2 -I"$root/core/include" -o storm "$root/tests/signals/storm.c"
	lull start -q --name "$session" --fail-on-loss -o small/trace -e 'test:*'
	lull run "$session" -- ./storm 1000 > counts
	same "$(state_of "$session")" recording "its state"
	status_is 124 lull stop "$session" 2> verdict
	grep -qi 'not written' verdict || fail "$(cat verdict)"
	babeltrace_reads small/trace
}

# Processes come and go; each says one event, and every second one executes first.
many_build() {
	cat > many.c <<- 'END'
		#include <lull/trace.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static int one(int n)
		{
			lull_event("many:one", lull_i32(n, n));
			return 0;
		}
		static int two(const char *self, int n)
		{
			char number[16];

			snprintf(number, sizeof(number), "%d", n);
			execl(self, self, number, (char *)0);
			return 1;
		}
		int main(int count, char **words)
		{
			int all = atoi(words[1]), width = atoi(words[count - 1]);
			int failed = 0, status;

			if (count == 2)
				return one(all);
			for (int n = 0, live = 0; n < all || live;) {
				if (n < all && live < width) {
					pid_t child = fork();

					if (child < 0)
						return 2;
					if (!child)
						_exit(n & 1 ? two(words[0], n) : one(n));
					n++;
					live++;
					continue;
				}
				wait(&status);
				failed += status != 0;
				live--;
			}
			return failed != 0;
		}
	END
	gcc -O2 -Wall -Werror -I"$root/core/include" -o many many.c
}

ten_thousand_processes_take_part_and_those_that_run_are_shown() {
	session_begin live
	many_build
	lull start -q --name "$session" -o trace -e 'many:*' -e 'io:open'
	lull run "$session" -- ./many 10000 200
	lull run "$session" -- sh -c ': < /dev/null; touch last; exec sleep 100' &
	until_done test -e last
	local last=$!
	until_done sh -c "lull status '$session' | grep -qE ' sleep\$'"
	lull status "$session" > status
	[ "$(wc -l < status)" -le 30 ] || fail "$(cat status)"
	grep -qE '^and 9,9[0-9]{2} more$' status || fail "$(cat status)"
	lull status "$session" --json > status
	same "$(grep -o '"pid":' status | wc -l)" 513 "processes and the recorder"
	kill "$last"
	wait "$last" 2> /dev/null || true
	lull stop "$session" 2> verdict
	grep -q 'complete: no event is missing' verdict || fail "$(cat verdict)"
	grep -qE 'of 10,00[0-9] processes' verdict || fail "$(cat verdict)"
	numbers_of many:one trace | tr ' ' '\n' | sed '/^$/d' | sort -n > numbers
	seq 0 9999 | cmp - numbers
	babeltrace_reads trace
}

hostile_callers_hold_nothing_up() {
	session_begin live
	gcc -O2 -I"$root/core/include" -o storm "$root/tests/signals/storm.c"
	lull start --name "$session" -o trace -e 'test:*' --buffer-size 8M --json > started
	python3 "$root/tests/end_to_end/callers.py" \
		"$(sed 's/.*"directory":"\([^"]*\)".*/\1/' started)" &
	local callers=$!
	lull run "$session" -- ./storm 1000 > counts
	for _ in $(seq 20); do
		same "$(state_of "$session")" recording "its state"
	done
	kill $callers
	wait $callers || true
	lull stop "$session" 2> verdict
	grep -q 'complete: no event is missing' verdict || fail "$(cat verdict)"
	lull print --json trace > events
	python3 "$root/tests/signals/check.py" counts events
}

sessions_of_others_are_neither_seen_nor_reached() {
	[ "$(id -u)" -eq 0 ] || skip "becoming another user needs root"
	session_begin live
	lull start --name "$session" -o trace --json > started
	local directory other="setpriv --reuid 65534 --regid 65534 --clear-groups"
	directory=$(sed 's/.*"directory":"\([^"]*\)".*/\1/' started)
	cp "$root/build/bin/lull" "/tmp/lull-other-$$"
	chmod 755 "/tmp/lull-other-$$"
	$other "/tmp/lull-other-$$" sessions --json > list 2> errors || true
	! grep -q "$session" list || fail "$(cat list)"
	$other "/tmp/lull-other-$$" stop "$session" 2> errors && fail "it stopped it"
	rm "/tmp/lull-other-$$"
	same "$(as_other "$directory")" "not let in" "what another user hears"
	# Even where the socket lets anybody in.
	chmod 666 "$directory/control"
	same "$(as_other "$directory")" "no answer" "what another user hears"
	same "$(state_of "$session")" recording "its state"
	status_is 1 lull stop "$session" 2> verdict
}

# as_other DIRECTORY: asks a recorder as another user.
as_other() {
	python3 - "$1" <<- 'END'
		import os, socket, sys
		os.setgroups([])
		os.setgid(65534)
		os.setuid(65534)
		caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		try:
		    caller.connect(sys.argv[1] + "/control")
		    caller.send(b'{"lull":1,"request":"stop"}')
		    print(caller.recv(1000).decode() or "no answer")
		except PermissionError:
		    print("not let in")
		except (BrokenPipeError, ConnectionResetError):
		    print("no answer")
	END
}
