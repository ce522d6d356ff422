# SPDX-License-Identifier: MIT
# lull start --system: every process of the machine that carries events joins, whoever's it is.

# A session of this test's own, and programs that carry an event which no other test's has.
system_begin() {
	public_place
	session=system-$$
	event=system$$:number
	trap system_end EXIT
	cat > gated.c <<- 'END'
		#include <lull/trace.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		/* gated GATE COUNT [fork | exec]: waits for a file, then records so many events. */
		int main(int argc, char **argv)
		{
			if (argc > 3 && !strcmp(argv[3], "fork")) {
				for (int i = 0; i < 3; i++)
					if (!fork())
						break;
			}
			while (access(argv[1], F_OK))
				usleep(1000);
			for (int n = 0; n < atoi(argv[2]); n++)
				lull_event(EVENT, lull_i32(n, n));
			if (argc > 3 && !strcmp(argv[3], "exec"))
				execl(argv[0], argv[0], argv[4], argv[2], NULL);
			while (wait(NULL) > 0)
				;
			return 0;
		}
	END
	gcc -O2 "-DEVENT=\"$event\"" -I"$root/core/include" -o "$place/gated" gated.c
}

system_end() {
	touch "$place/go"
	lull stop "$session" > /dev/null 2>&1 || true
	rm -rf "$place"
}

# as_user USER COMMAND...: in a process of its own only, which becomes the command.
as_user() {
	exec setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"
}

# system_start ARGUMENT...
system_start() {
	lull start --system --name "$session" -o trace -e "$event" "$@" > started ||
		fail "$(cat started)"
}

# joined COUNT, refused COUNT: what the session says of processes.
told() {
	lull status "$session" --json | grep -q "\"system\":{[^}]*\"$1\":$2[,}]"
}

joined() {
	until_done told joined "$1"
}

# numbers: how many events there are.
numbers() {
	lull print trace 2> print.errors | grep -c "$event" || true
}

processes_of_all_users_join_those_that_run_and_those_that_begin() {
	system_begin
	"$place/gated" "$place/go" 5 &
	as_user 65534 "$place/gated" "$place/go" 7 &
	sleep 100 &
	local bare=$!
	system_start
	grep -q 'every process that carries events joins' started || fail "$(cat started)"
	joined 2
	as_user 65534 "$place/gated" "$place/go" 11 &
	as_user 12345 "$place/gated" "$place/go" 13 &
	"$place/gated" "$place/go" 17 &
	joined 5
	told users 3 || fail "$(lull status "$session")"
	! grep -q liblull "/proc/$bare/maps" || fail "a program without events was entered"
	kill "$bare"
	touch "$place/go"
	wait
	session_stop
	same "$(numbers)" 53 "events"
	grep -q 'process joined that carries events: 5 processes of 3 users joined; half' verdict ||
		fail "$(cat verdict)"
	[ -e trace/stream-user65534-cpu0 ] || [ -e trace/stream-user65534-cpu1 ] ||
		fail "the users share rings: $(ls trace)"
	[ -e trace/stream-user12345-cpu0 ] || [ -e trace/stream-user12345-cpu1 ] ||
		fail "the users share rings: $(ls trace)"
	babeltrace_reads trace
}

memory_of_a_user_is_that_users_alone() {
	system_begin
	as_user 65534 "$place/gated" "$place/go" 1 &
	local its=$! ours theirs
	"$place/gated" "$place/go" 1 &
	system_start
	joined 2
	theirs=$(awk '$6 ~ /^\/SYSV/ { print $5; exit }' "/proc/$its/maps")
	ours=$(awk '$6 ~ /^\/SYSV/ { print $5; exit }' "/proc/$!/maps")
	[ -n "$theirs" ] && [ "$theirs" != "$ours" ] || fail "one segment for two users: $theirs"
	ipcs -m -i "$theirs" | grep -q '^uid=65534.*cuid=0' || fail "$(ipcs -m -i "$theirs")"
	ipcs -m -i "$theirs" | grep -q 'access_perms=0600' || fail "$(ipcs -m -i "$theirs")"
	session_stop
	! ipcs -m | grep -qw "$theirs" || fail "the memory of the user is still there"
	! grep -q SYSV "/proc/$its/maps" || fail "the process still has the session's memory"
	kill -0 "$its" || fail "the process has ended"
	touch "$place/go"
	wait
}

program_that_a_member_executes_and_processes_that_it_forks_join() {
	system_begin
	system_start
	as_user 65534 "$place/gated" "$place/go" 2 exec "$place/go-again" &
	as_user 65534 "$place/gated" "$place/go" 3 fork &
	# Those that were forked before their parent joined do so themselves, others with it.
	until_done attached_are 5
	touch "$place/go"
	sleep 0.2
	until_done attached_are 1
	touch "$place/go-again"
	wait
	session_stop
	same "$(numbers)" $((2 + 2 + 4 * 3)) "events"
}

attached_are() {
	lull status "$session" --json | grep -q "\"attached\":$1,"
}

events_that_are_enabled_later_bring_their_processes() {
	system_begin
	"$place/gated" "$place/go" 4 &
	lull start --system --name "$session" -o trace -e "none$$:*" > started
	lull enable "$session" -e "$event" 2> told || fail "$(cat told)"
	joined 1
	touch "$place/go"
	wait
	session_stop
	same "$(numbers)" 4 "events"
}

process_that_cannot_join_is_named_and_keeps_no_other_user_waiting() {
	system_begin
	local stopped=()
	for _ in 1 2 3 4 5 6 7 8; do
		as_user 65534 "$place/gated" "$place/go" 1 &
		stopped+=($!)
	done
	sleep 0.5
	kill -STOP "${stopped[@]}"
	system_start
	as_user 12345 "$place/gated" "$place/go" 3 &
	joined 1
	until_done told refused 8
	touch "$place/go"
	wait $!
	session_stop
	kill -CONT "${stopped[@]}"
	wait
	same "$(numbers)" 3 "events"
	local first=${stopped[0]}
	grep -q "not recorded: gated, pid $first: process $first is stopped" verdict ||
		fail "$(cat verdict)"
}

programs_go_on_when_the_recorder_is_killed_and_what_they_recorded_is_recovered() {
	system_begin
	as_user 65534 "$place/gated" "$place/go" 6 &
	local its=$!
	system_start
	joined 1
	local pid
	pid=$(lull status "$session" --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
	kill -KILL "$pid"
	until_done is_gone "$pid"
	touch "$place/go"
	wait "$its" || fail "the program failed"
	lull recover trace > /dev/null 2> recovered || fail "$(cat recovered)"
	same "$(numbers)" 6 "events"
}

only_root_may_have_the_whole_machine_join() {
	system_begin
	local status=0
	(cd /tmp && as_user 65534 lull start --system -o /tmp/never) 2> refused || status=$?
	same "$status" 2 "the status"
	grep -q 'only root can reach into the programs of all' refused || fail "$(cat refused)"
}

storm_of_programs_is_survived_and_what_was_not_seen_is_counted() {
	system_begin
	system_start
	for _ in $(seq 40); do
		for _ in $(seq 25); do /bin/true & done
		wait
	done
	as_user 65534 "$place/gated" "$place/go" 5 &
	joined 1
	touch "$place/go"
	wait
	session_stop
	same "$(numbers)" 5 "events"
	grep -q 'ended before they could be looked at, and whether they carried events is not' \
		verdict || fail "$(cat verdict)"
}

calls_that_are_asked_for_bring_every_process_of_the_machine() {
	system_begin
	cat > opener.c <<- 'END'
		#include <fcntl.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			while (access(argv[1], F_OK))
				usleep(1000);
			close(open("/dev/null", O_RDONLY));
			return 0;
		}
	END
	gcc -O2 -o "$place/opener" opener.c
	# A machine of its own, as far as processes go: where the kernel tells of no programs.
	cat > machine <<- 'END'
		set -eu
		. "$root/tests/end_to_end/expect"
		has_joined() {
			grep -q SYSV "/proc/$1/maps"
		}
		(exec setpriv --reuid=65534 --clear-groups "$place/opener" "$place/go") &
		first=$!
		"$place/opener" "$place/go" &
		second=$!
		lull start --system --name "$session" -o trace -e 'io:open*' > started
		until_done has_joined "$first"
		until_done has_joined "$second"
		"$place/opener" "$place/go" &
		until_done has_joined $!
		touch "$place/go"
		wait
		session_stop
	END
	root=$root place=$place session=$session unshare --pid --fork --mount-proc bash machine
	same "$(lull print trace 2> print.errors | grep -c 'io:open.*/dev/null')" 3 "openings"
	grep -q 'the kernel does not tell of programs that begin' verdict || fail "$(cat verdict)"
}
