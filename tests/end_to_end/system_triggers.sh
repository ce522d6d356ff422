# SPDX-License-Identifier: MIT
# Triggers of a session of the whole machine: conditions are met by programs of all users, which
# are told apart. The vocabulary is that of system.sh, triggers.sh and kernel.sh.
. "$root/tests/end_to_end/system.sh"
. "$root/tests/end_to_end/triggers.sh"
. "$root/tests/end_to_end/kernel.sh"

# begin ARGUMENT...: a session of the whole machine, whose directory is in $directory.
begin() {
	lull start --system --name "$session" -o trace -e "$event" --json "$@" > started ||
		fail "$(cat started)"
	directory=$(sed 's/.*"directory":"\([^"]*\)".*/\1/' started)
}

# keys: those of all memory that the session's directory and its companion's name.
keys() {
	find "$directory" -name 'memory*' -type l -exec readlink {} + | sed 's/^key://'
}

# nothing_left KEY...: neither the directory nor memory of these keys.
nothing_left() {
	[ ! -e "$directory" ] || fail "it is still there: $(ls -R "$directory")"
	for key; do
		! ipcs -m | grep -qi "^$(printf '0x%08x' "$key") " || fail "there is memory $key"
	done
}

# segments PID: the memory of sessions that a process has.
segments() {
	awk '$6 ~ /^\/SYSV/ { print $5 }' "/proc/$1/maps"
}

# recorder: the process of the session's.
recorder() {
	lull status "$session" --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'
}

conditions_are_met_by_programs_of_all_users_and_name_whose() {
	system_begin
	"$place/gated" "$place/go" 5 &
	as_user 65534 "$place/gated" "$place/go" 7 &
	begin --on "$event if n == 3" --do count --on "$event if n == 6" \
		--do 'run[100/s] echo "$LULL_UID $LULL_EVENT $LULL_FIELDS" >> ran' \
		--on "$event if \$uid == 12345" --do count --on "$event if n > 99" --do count
	joined 2
	as_user 12345 "$place/gated" "$place/go" 13 &
	"$place/gated" "$place/go" 1 &
	joined 4
	# An event of this name that the filters do not fit concerns nobody else.
	cat > odd.c <<- 'END'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			while (access(argv[1], F_OK))
				usleep(1000);
			lull_event(EVENT, lull_str(n, "no number"));
			return argc != 2;
		}
	END
	gcc -O2 "-DEVENT=\"$event\"" -I"$root/core/include" -o "$place/odd" odd.c
	as_user 54321 "$place/odd" "$place/go" &
	joined 5
	local names
	names=$(keys)
	same "$(echo "$names" | wc -l)" 8 "segments of four users in two sessions"
	touch "$place/go"
	wait
	until_done has_fired "3 2 13 0 "
	lull status "$session" | grep -q "^trigger *$event if n == 3: count: fired 3 times" ||
		fail "$(lull status "$session")"
	until_done [ -s ran ]
	! grep -v "^\(65534\|12345\) $event n=6$" ran | grep -q . || fail "$(cat ran)"
	session_stop
	nothing_left $names
	grep -q "note: the trigger '$event if n == 3' fired 3 times" verdict ||
		fail "$(cat verdict)"
	grep -q "note: the trigger '$event if n > 99' never fired$" verdict || fail "$(cat verdict)"
	! grep 'may be missing' verdict | grep -v 'compared with what is no number' | grep -q . ||
		fail "$(cat verdict)"
	same "$(numbers)" $((5 + 7 + 13 + 1 + 1)) "events"
}

memory_of_conditions_is_each_users_alone() {
	system_begin
	as_user 65534 "$place/gated" "$place/go" 1 &
	local its=$! id
	"$place/gated" "$place/go" 1 &
	begin --on "$event" --do count
	joined 2
	same "$(segments "$its" | wc -l)" 2 "the memory of a process"
	for id in $(segments "$its"); do
		ipcs -m -i "$id" | grep -q '^uid=65534.*cuid=0' || fail "$(ipcs -m -i "$id")"
		ipcs -m -i "$id" | grep -q 'access_perms=0600' || fail "$(ipcs -m -i "$id")"
		! segments $! | grep -qx "$id" || fail "two users have the segment $id"
	done
	session_stop
	[ -z "$(segments "$its")" ] || fail "the process still has memory of the session"
	kill -0 "$its" || fail "the process has ended"
	touch "$place/go"
	wait
}

trigger_that_comes_later_reaches_programs_of_all_users_and_goes() {
	system_begin
	begin
	"$place/gated" "$place/go" 2 exec "$place/go-again" &
	as_user 65534 "$place/gated" "$place/go" 7 fork &
	until_done attached_are 5
	lull trigger "$session" --on "$event if n == 1" --do count 2> told || fail "$(cat told)"
	grep -q 'added trigger 1' told || fail "$(cat told)"
	as_user 12345 "$place/gated" "$place/go" 9 &
	until_done attached_are 6
	touch "$place/go"
	until_done has_fired "6 "
	# What is executed by a member joins again, and meets the condition again.
	until_done attached_are 1
	touch "$place/go-again"
	wait
	until_done has_fired "7 "
	local names
	names=$(keys)
	lull trigger "$session" --remove 1 2> told || fail "$(cat told)"
	session_stop
	nothing_left $names
	grep -q "'$event if n == 1', added at .* and removed at .*, fired 7 times" verdict ||
		fail "$(cat verdict)"
}

program_that_knows_the_session_alone_joins_what_conditions_see() {
	system_begin
	begin
	cat > late <<- 'END'
		while [ ! -e "$1/first" ]; do sleep 0.01; done
		exec "$1/gated" "$1/go" 3
	END
	# Its environment names the session, to which a trigger comes before it executes the other.
	lull run "$session" -- bash late "$place" &
	local its=$!
	until_done attached_are 1
	lull trigger "$session" --on "$event if n == 2" --do count 2> told || fail "$(cat told)"
	touch "$place/first"
	until_done has_both "$its"
	touch "$place/go"
	wait
	until_done has_fired "1 "
	session_stop
	! grep -q 'may be missing' verdict || fail "$(cat verdict)"
	same "$(numbers)" 3 "events"
}

has_both() {
	grep -q gated "/proc/$1/comm" && [ "$(segments "$1" | wc -l)" -eq 2 ]
}

event_of_a_condition_brings_its_programs_though_it_is_not_recorded() {
	system_begin
	as_user 65534 "$place/gated" "$place/go" 4 &
	lull start --system --name "$session" -o trace -e "none$$:*" --on "$event" --do count \
		> started
	joined 1
	lull trigger "$session" --remove 1 2> told || fail "$(cat told)"
	"$place/gated" "$place/go" 4 &
	sleep 0.5
	joined 1
	lull trigger "$session" --on "$event if n == 3" --do count 2> told || fail "$(cat told)"
	joined 2
	touch "$place/go"
	wait
	until_done has_fired "2 "
	session_stop
	same "$(numbers)" 0 "events of the session"
}

programs_that_change_their_user_meet_conditions_as_each() {
	system_begin
	cat > turn.c <<- 'END'
		#include <lull/trace.h>
		#include <stdlib.h>
		#include <unistd.h>
		/* turn GATE USER: records 5 events, becomes another user, and records 7. */
		int main(int argc, char **argv)
		{
			while (access(argv[1], F_OK))
				usleep(1000);
			for (int n = 0; n < 12; n++) {
				if (n == 5 && setuid(atoi(argv[2])))
					return 1;
				lull_event(EVENT, lull_i32(n, n));
			}
			return argc != 3;
		}
	END
	gcc -O2 "-DEVENT=\"$event\"" -I"$root/core/include" -o "$place/turn" turn.c
	cp "$place/gated" "$place/rooted"
	chmod 4755 "$place/rooted"
	"$place/turn" "$place/go" 12345 &
	as_user 65534 "$place/rooted" "$place/go" 3 &
	begin --on "$event if \$uid == 0" --do count --on "$event if \$uid == 12345" --do count \
		--on "$event if \$uid == 65534" --do count
	joined 2
	touch "$place/go"
	wait
	until_done has_fired "8 7 0 "
	local names
	names=$(keys)
	session_stop
	nothing_left $names
	same "$(numbers)" 15 "events"
}

process_that_claims_to_be_another_users_meets_no_condition_as_that() {
	system_begin
	gcc -O2 -pthread "-DEVENT=\"other$event\"" -I"$root/core/include" -o "$place/claim" \
		"$root/tests/hostile/claim.c"
	cat > slow.c <<- 'END'
		#include <lull/trace.h>
		#include <unistd.h>
		/* slow GATE: records an event per millisecond. */
		int main(int argc, char **argv)
		{
			while (access(argv[1], F_OK))
				usleep(1000);
			for (int n = 0; n < 2500; n++) {
				lull_event(EVENT, lull_i32(n, n));
				usleep(1000);
			}
			return argc != 2;
		}
	END
	gcc -O2 "-DEVENT=\"$event\"" -I"$root/core/include" -o "$place/slow" slow.c
	"$place/slow" "$place/go" &
	local victim=$!
	begin -e "other$event" --buffer-size 64K --on "$event if \$uid == 0" --do count \
		--on "other$event" --do 'run[1000/s] echo "$LULL_UID ${LULL_PID:--}" >> ran' \
		--on "other$event if \$uid == 0" --do count \
		--on "$event then other$event within 60s" --do count
	joined 1
	touch "$place/go"
	as_user 65534 "$place/claim" "$victim" 0 1500 > claimed &
	local hostile=$!
	wait "$hostile" || fail "$(cat claimed)"
	wait "$victim"
	until_done [ -s ran ]
	sleep 0.2
	fired > counts
	session_stop
	# It did claim to be the victim.
	lull print -e "other$event" trace > others 2> print.errors
	grep -q "/$victim " others || fail "nothing was claimed: $(head -n 3 others)"
	grep -q '^2500 [0-9]* 0 0 $' counts || fail "$(cat counts) $(cat verdict)"
	[ "$(cut -d' ' -f2 counts)" -gt 1000 ] || fail "its own condition was met: $(cat counts)"
	! grep -v "^65534 " ran | grep -q . || fail "$(sort ran | uniq -c)"
	! grep -q " $victim\$" ran || fail "$(sort ran | uniq -c)"
}

flood_of_one_users_keeps_no_condition_of_anothers_from_being_met() {
	system_begin
	cat > flood.c <<- 'END'
		#include <lull/trace.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		/* flood GATE PAUSE_US: records events for a second, or 500 of them with pauses. */
		int main(int argc, char **argv)
		{
			int pause = atoi(argv[2]);
			time_t until;

			while (access(argv[1], F_OK))
				usleep(1000);
			until = time(NULL) + 2;
			for (int n = 0; pause ? n < 500 : time(NULL) < until; n++) {
				lull_event(EVENT, lull_i32(n, n));
				if (pause)
					usleep(pause);
			}
			return argc != 3;
		}
	END
	gcc -O2 "-DEVENT=\"$event\"" -I"$root/core/include" -o "$place/quiet" flood.c
	gcc -O2 "-DEVENT=\"loud$event\"" -I"$root/core/include" -o "$place/loud" flood.c
	"$place/quiet" "$place/go" 2000 &
	as_user 65534 "$place/loud" "$place/go" 0 &
	begin --on "$event" --do count --on "loud$event" --do count
	joined 2
	touch "$place/go"
	wait
	sleep 0.2
	same "$(fired | cut -d' ' -f1)" 500 "firings of the quiet one"
	session_stop
	grep -q "'$event' fired 500 times" verdict || fail "$(cat verdict)"
}

actions_are_done_for_events_of_any_user() {
	system_begin
	as_user 65534 "$place/gated" "$place/go" 9 &
	begin --flight-recorder --on "$event if n == 2" --do snapshot --do "enable other$event" \
		--on "$event if n == 5" --do pause
	joined 1
	touch "$place/go"
	wait
	until_done [ -e trace/snapshot-1/metadata ]
	until_done is_paused
	lull print trace/snapshot-1 2> print.errors | grep -q "$event.*n=2" ||
		fail "$(lull print trace/snapshot-1)"
	lull resume "$session"
	lull status "$session" --json | grep -q "other$event" || fail "it was not enabled"
	session_stop
}

is_paused() {
	lull status "$session" --json | grep -q '"state":"paused"'
}

crash_of_any_users_program_is_met_and_brings_no_program_without_events() {
	system_begin
	sleep 100 &
	local bare=$!
	as_user 65534 "$place/gated" "$place/go" 1 &
	local its=$!
	"$place/gated" "$place/go" 1 &
	begin --on crash --do 'run echo "$LULL_UID $LULL_PID $LULL_FIELDS" > ran'
	joined 2
	sleep 0.2
	kill -SEGV "$its"
	wait "$its" || true
	touch "$place/go"
	wait $! || true
	! grep -q liblull "/proc/$bare/maps" || fail "a program without events was entered"
	kill "$bare"
	sleep 0.3
	session_stop
	! grep -q 'this kernel does not tell' verdict || skip "the kernel does not tell of crashes"
	until_done [ -s ran ]
	same "$(cat ran)" "65534 $its signal=11" "what the command was told"
}

recorder_with_triggers_is_killed_and_recover_finds_all_memory_of_all_users() {
	system_begin
	as_user 65534 "$place/gated" "$place/go" 6 &
	local its=$!
	"$place/gated" "$place/go" 4 &
	local ours=$! names
	begin --on "$event if n == 2" --do count
	joined 2
	names=$(keys)
	same "$(echo "$names" | wc -l)" 4 "segments of two users in two sessions"
	local pid
	pid=$(recorder)
	kill -KILL "$pid"
	until_done is_gone "$pid"
	touch "$place/go"
	wait "$its" || fail "the program failed"
	wait "$ours" || fail "the program failed"
	lull recover trace > /dev/null 2> recovered || fail "$(cat recovered)"
	same "$(numbers)" 10 "events"
	nothing_left $names
}

conditions_on_the_kernels_events_are_met_by_these_alone() {
	need_tracefs
	system_begin
	cat > fake.c <<- 'END'
		#include <lull/trace.h>
		#include <unistd.h>
		/* fake GATE NAME: records what the kernel would of a program of that name. */
		int main(int argc, char **argv)
		{
			while (access(argv[1], F_OK))
				usleep(1000);
			for (int n = 0; n < 5; n++)
				lull_event("sched:sched_process_exec", lull_str(filename, argv[2]));
			return argc != 3;
		}
	END
	gcc -O2 -I"$root/core/include" -o "$place/fake" fake.c
	local settings_before kernels="sched:sched_process_exec if filename == \"$place/gated\""
	settings_before=$(settings)
	status_is 2 lull start --system -k --name "$session" -o never -e sched:sched_process_exec \
		--on "$event then sched:sched_process_exec within 1s" --do count 2> refused
	grep -q 'all events of an order are programs. or all are the kernel' refused ||
		fail "$(cat refused)"
	as_user 65534 "$place/fake" "$place/go" "$place/gated" &
	begin -k -e sched:sched_process_exec --on "$kernels" \
		--do 'run[100/s] echo "${LULL_UID:--}" >> ran' --on "$event" --do count
	joined 1
	touch "$place/go"
	as_user 65534 "$place/gated" "$place/again" 3 &
	joined 2
	touch "$place/again"
	wait
	until_done has_fired "1 3 "
	sleep 0.2
	has_fired "1 3 " || fail "$(fired)"
	until_done [ -s ran ]
	same "$(cat ran)" - "whose event of the kernel's it was"
	lull trigger "$session" --on 'syscalls:sys_clock_nanosleep > 100ms' --do count 2> told ||
		fail "$(cat told)"
	sleep 0.2
	/bin/sleep 0.3
	until_done third_fired
	session_stop
	same "$(settings)" "$settings_before" "what tracefs is set to"
}

third_fired() {
	[ "$(fired | cut -d' ' -f3)" -gt 0 ]
}
