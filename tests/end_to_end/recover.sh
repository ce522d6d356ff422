# SPDX-License-Identifier: MIT
# Recorders that are killed while programs write: `lull recover` completes their traces.

writers_killed=40

# ended FILE: the program that makes the file has ended; at most 60 seconds.
ended() {
	for _ in $(seq 1200); do
		[ -e "$1" ] && return
		sleep 0.05
	done
	fail "$1 was not made"
}

# one_of VALUE...: any of them.
one_of() {
	shift $((RANDOM % $#))
	echo "$1"
}

# kill_one LEAST_MS MOST_MS COMMAND...: kills the command, process $victim, after a while. Return: 1
# where it had ended before.
kill_one() {
	local ms=$(($1 + RANDOM % ($2 - $1))) status=0
	shift 2
	"$@" &
	victim=$!
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
	kill -KILL $victim 2> kill.errors || true
	wait $victim 2> kill.errors || status=$?
	[ $status -eq 137 ]
}

# recovered TRACE: `lull recover` completes a trace, and says nothing that is not so. Some that come
# before the last one are killed, too, at any moment of theirs.
recovered() {
	local trace=$1 status=0
	while [ $((RANDOM % 2)) -eq 0 ]; do
		# What a recovery that was not killed says is checked below: it is in the trace.
		kill_one 0 30 lull recover "$trace" > killed.verdict 2> killed.errors || continue
		recoveries=$((recoveries + 1))
	done
	lull recover "$trace" > verdict 2> recover.errors || status=$?
	if grep -Eq 'nothing is left|no session was left|held nothing more' recover.errors; then
		# A recorder that was killed after it had written its verdict named no end.
		lull report "$trace" > verdict || status=$?
	else
		grep -Eq 'until (recording was stopped|.lull recover. ended)' verdict ||
			fail "$(cat verdict recover.errors)"
	fi
	[ $status -le 1 ] || fail "lull recover: $status, $(cat verdict recover.errors)"
	! grep -E 'wrote over|is gone|twice|damaged' verdict || fail "$(cat verdict)"
	! left_of "$trace" || fail "the session is still there: $(cat verdict)"
}

# left_of TRACE: whether the session of a trace is still there.
left_of() {
	lull doctor 2>&1 | grep -q "into $(realpath "$1") "
}

# segments_of PID: the keys of the segments that a process made.
segments_of() {
	local segment
	for segment in $(ipcs -mp | awk -v pid="$1" '$3 == pid { print $1 }'); do
		ipcs -m | awk -v segment="$segment" '$2 == segment { print $1 }'
	done
}

# session_naming KEY: the session whose memory is the segment of this key.
session_naming() {
	local link
	for link in /dev/shm/lull-*/memory; do
		[ "$(readlink "$link")" != "key:$(($1))" ] || dirname "$link"
	done
}

# discard_of PID: the session of a recorder that was killed before it had a trace.
discard_of() {
	local key session
	for key in $(segments_of "$1"); do
		session=$(session_naming "$key")
		[ -z "$session" ] || lull recover --discard "$session"
	done
}

# LULL_RECOVERIES: how many recorders are killed.
killed_recorders_lose_nothing_committed() {
	local number size count burst reader victim writers=0 recoveries=0 checked=0
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	mkfifo alive
	for number in $(seq "${LULL_RECOVERIES:-5}"); do
		rm -rf trace progress
		size=$(one_of 4K 16K 64K)
		count=$(one_of 2 4 16)
		burst=$(one_of 5 20 200)
		# The program goes on, with nobody to kill it.
		# All who hold this open are gone once it ends: the program, if it was started.
		timeout 60 cat alive &
		reader=$!
		kill_one 10 200 lull record -q -o trace --buffer-size "$size" --buffers "$count" \
			--flush-period "$(one_of 1 2 20)" -e 'test:*' -- \
			sh -c "./writers $writers_killed progress $number $burst; :" \
			2> record.errors 9> alive || continue
		wait $reader || fail "the program did not end"
		# Killed before it said who it is, and started no program: nothing to recover.
		grep -qs "\"pid\":$victim," /dev/shm/lull-*/recorder || {
			discard_of $victim
			continue
		}
		writers=$((writers + writers_killed))
		recovered trace
		[ -s progress ] || continue
		check_committed trace "recorder $number, $count of $size"
		checked=$((checked + 1))
	done
	echo "killed: $checked recorders, $writers writers, $recoveries recoveries"
	[ "$checked" -gt 0 ] || fail "no recorder was killed while it recorded"
}

# check_committed TRACE CASE: what writers noted as committed is in the trace. A status of 1 says
# that one was killed in the middle of an event, or found no room, which check.py compares.
check_committed() {
	lull print --json "$1" > events || same $? 1 "lull print's status"
	lull report --json "$1" > report.json || same $? 1 "lull report's status"
	python3 "$root/tests/crash/check.py" progress events report.json > checked ||
		fail "$2: $(cat checked verdict)"
	babeltrace_reads "$1"
}

# killed_while PROGRAM [TRACE]: the recorder into trace/, or TRACE, is killed while its program
# waits for the file `go`; it was told to write nothing out while sub-buffers are not full. Its
# session is $session.
killed_while() {
	local recorder
	lull record -q -o "${2:-trace}" --flush-period 3600000 -e 'test:*' -- \
		sh -c "$1; : > done; until [ -e go ]; do sleep 0.02; done; : > ended" &
	recorder=$!
	ended done
	session=$(lull_session $recorder)
	kill -KILL $recorder
	wait $recorder || true
	: > go
	ended ended
}

# lull_session PID: the directory of a recorder's session.
lull_session() {
	local file
	file=$(grep -ls "\"pid\":$1," /dev/shm/lull-*/recorder)
	dirname "$file"
}

# events_of NAME TRACE: how many events of this name a trace has.
events_of() {
	lull print "$2" | grep -c " test:$1" || true
}

what_every_user_had_in_memory_is_recovered_by_root() {
	local keys key
	. "$root/tests/end_to_end/users.sh"
	public_place
	compile become
	killed_while "$place/become 65534 > output"
	keys=$(readlink "$session"/memory* | sed 's/.*://')
	same "$(echo "$keys" | wc -l)" 2 "the segments of two users"
	for key in $keys; do
		ipcs -m | grep -q "^$(printf 0x%08x "$key") " || fail "there is no segment $key"
	done
	status_is 2 setpriv --reuid=65534 --clear-groups lull recover "$session" 2> errors
	grep -q "belongs to another user (number 0), who alone can recover it" errors
	status_is 0 lull recover trace > verdict
	same "$(events_of before trace) $(events_of after trace)" "5 7" "events by user"
	ls trace/stream-user65534-* > /dev/null
	babeltrace_reads trace
	[ ! -e "$session" ] || fail "the session is still there"
	for key in $keys; do
		! ipcs -m | grep -q "^$(printf 0x%08x "$key") " || fail "$key is still there"
	done
}

a_user_who_removes_its_memory_takes_nothing_from_root() {
	local link
	. "$root/tests/end_to_end/users.sh"
	public_place
	compile become
	killed_while "$place/become 65534 > output"
	link=$(readlink "$session/memory-65534")
	setpriv --reuid=65534 --clear-groups ipcrm -M "${link#key:}"
	status_is 1 lull recover trace > verdict
	grep -q 'what processes of user 65534 had in memory' verdict
	same "$(events_of before trace) $(events_of after trace)" "5 0" "events by user"
	babeltrace_reads trace
	[ ! -e "$session" ] || fail "the session is still there"
}

a_session_of_another_user_is_not_roots_to_recover() {
	. "$root/tests/end_to_end/users.sh"
	public_place
	compile become
	mkdir -m 777 "$place/public"
	cd "$place/public"
	export -f killed_while lull_session ended fail
	session=$(setpriv --reuid=65534 --clear-groups bash -c \
		"killed_while '$place/become 65534 > output'; echo \$session")
	status_is 2 lull recover "$session" 2> errors
	grep -q "belongs to another user (number 65534), who alone can recover it" errors
	[ -e "$session" ] || fail "the session is gone"
	status_is 0 setpriv --reuid=65534 --clear-groups lull recover trace > verdict
	same "$(events_of before trace) $(events_of after trace)" "5 7" "events"
}

memory_of_a_trace_that_is_gone_becomes_a_new_trace() {
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	killed_while "./writers 3 progress 1 5"
	rm -rf trace
	status_is 2 lull recover "$session" 2> errors
	grep -q "is gone; .lull recover -o DIR $session. writes a new trace into DIR" errors ||
		fail "$(cat errors)"
	status_is 1 lull recover ./misspelt 2> errors
	grep -q '^lull: no session was left for ./misspelt, but there [a-z]* [0-9]* other' errors ||
		fail "$(cat errors)"
	grep -q "^lull:   $session, .* is gone (.lull recover -o DIR $session. writes" errors ||
		fail "$(cat errors)"
	status_is 2 lull recover -o new 2> errors
	grep -q 'recover --output <DIR> <SESSION>' errors || fail "$(cat errors)"
	mkdir taken
	: > taken/file
	status_is 2 lull recover -o taken "$session" 2> errors
	grep -q 'holds file, which Lull did not write' errors
	status_is 0 lull recover -o new "$session" > verdict
	lull print --json new > events
	lull report --json new > report.json
	python3 "$root/tests/crash/check.py" progress events report.json
	babeltrace_reads new
	[ ! -e "$session" ] || fail "the session is still there"
}

# recorder_of TRACE: the process that records into it.
recorder_of() {
	sed -n "s|.*\"pid\":\([0-9]*\),.*\"output\":\"$PWD/$1\".*|\1|p" \
		"/dev/shm/lull-$(id -u)-"*/recorder
}

two_killed_recorders_of_one_program_leave_a_trace_each() {
	local inner outer trace
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	lull record -q -o outer --wait-all --flush-period 3600000 -e 'test:*' -- \
		lull record -q -o inner --flush-period 3600000 -e 'test:*' -- \
		sh -c './writers 9 progress 1 20; : > done; until [ -e go ]; do sleep 0.02; done
			: > ended' &
	ended done
	inner=$(recorder_of inner)
	outer=$(recorder_of outer)
	kill -KILL "$inner"
	tail --pid="$inner" -f /dev/null
	# One is recovered while the other lives.
	status_is 0 lull recover inner > verdict
	status_is 2 lull recover outer 2> errors
	grep -q "is being recorded now, by process $outer" errors || fail "$(cat errors)"
	kill -KILL "$outer"
	tail --pid="$outer" -f /dev/null
	: > go
	ended ended
	status_is 0 lull recover outer > verdict
	for trace in inner outer; do
		lull print --json $trace > events
		lull report --json $trace > report.json
		python3 "$root/tests/crash/check.py" progress events report.json
		babeltrace_reads $trace
	done
}

a_session_without_its_memory_is_removed_where_the_trace_is_finished() {
	killed_while :
	# What a recovery leaves that is killed when it has removed the memory.
	cp -a "$session" "${session}x"
	status_is 0 lull recover "$session" > verdict
	same "$(ls -d "$session"*)" "${session}x" "sessions"
	status_is 0 lull recover trace 2> errors
	grep -q 'held nothing more; its trace is finished' errors
	[ ! -e "${session}x" ] || fail "the session is still there"
	rm done go ended
	killed_while : unfinished
	ipcrm -M "$(readlink "$session/memory" | sed 's/key://')"
	status_is 2 lull recover unfinished 2> errors
	grep -q 'its memory is gone, with what was in it; give --discard' errors
	[ -e "$session" ] || fail "the session is gone"
	status_is 0 lull recover --discard unfinished 2> errors
	[ ! -e "$session" ] || fail "the session is still there"
}

disk_full_while_recovering_loses_nothing() {
	. "$root/tests/end_to_end/failures.sh"
	small_mount small_recovery recover
}

a_session_whose_recorder_said_nothing_is_removed_when_it_is_discarded() {
	local session=/dev/shm/lull-$(id -u)-said0
	rm -rf "$session"
	mkdir -m 700 "$session"
	status_is 2 lull recover --discard "$session" 2> errors
	grep -q 'has no recorder yet: one is making it' errors || fail "$(cat errors)"
	[ -e "$session" ] || fail "the session is gone"
	(umask 077 && : > "$session/recorder")
	lull doctor > found 2>&1 || true
	grep -q "$session" found || fail "lull doctor does not name it: $(cat found)"
	status_is 0 lull recover --discard "$session" 2> errors
	[ ! -e "$session" ] || fail "the session is still there: $(cat errors)"
}

a_recorder_killed_while_it_makes_its_memory_leaves_a_session_that_names_it() {
	local call recorder key
	for call in shmat madvise; do
		strace -f -o calls -e trace=$call -e inject=$call:signal=KILL \
			lull record -q -o trace -- true 2> errors || same $? 137 "status"
		recorder=$(cut -d' ' -f1 calls | head -n 1)
		key=$(segments_of $recorder)
		same "$(echo "$key" | wc -w)" 1 "segments of the recorder that was killed at $call"
		session=$(session_naming "$key")
		[ -n "$session" ] || fail "killed at $call, no session names the segment $key"
		lull doctor > found 2>&1 || true
		grep -q "$session" found || fail "lull doctor does not name it: $(cat found)"
		status_is 2 lull recover "$session" 2> errors
		grep -q 'give --discard' errors || fail "$(cat errors)"
		status_is 0 lull recover --discard "$session" 2> errors
		same "$(segments_of $recorder)" "" "segments that are left, killed at $call"
	done
}

a_recorder_killed_while_it_removes_its_session_leaves_a_finished_trace() {
	strace -o calls -e trace=shmdt -e inject=shmdt:signal=KILL:when=1 \
		lull record -q -o trace -- true 2> errors || same $? 137 "status"
	left_of trace || fail "the recorder left no session: $(cat calls errors)"
	recovered trace
	lull report trace > report
	grep -q '^Complete: ' report || fail "$(cat report)"
}

a_process_killed_while_it_makes_its_new_users_memory_leaves_nothing_for_ever() {
	. "$root/tests/end_to_end/users.sh"
	public_place
	compile become
	# Three calls of shmctl() ask about root's memory, the fourth one about what was just made.
	lull record -q -o trace -- strace -f -o calls -e trace=shmget,shmctl,setuid \
		-e inject=shmctl:signal=KILL:when=4 "$place/become" 65534 > output 2> errors || true
	grep -q 'shmget.*CREAT' calls || fail "no memory was made: $(cat calls)"
	! grep -q '^after' output || fail "the process was not killed: $(cat calls)"
	same "$(segments_of "$(cut -d' ' -f1 calls | head -n 1)")" "" "segments that are left"
}

file_size_limit_while_recovering_loses_nothing() {
	local kib status
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	killed_while "./writers 9 progress 1 200"
	for kib in 1 16 64; do
		status=0
		(ulimit -f $kib && exec lull recover trace) > verdict 2> errors || status=$?
		same $status 2 "status with $kib KiB: $(cat verdict errors)"
		grep -Eq 'not written|[Ff]ile too large' verdict errors ||
			fail "$kib KiB: $(cat verdict errors)"
		[ -e "$session" ] || fail "the session is gone with $kib KiB"
	done
	lull recover trace > verdict || same $? 1 "lull recover's status"
	check_committed trace "no limit"
}

small_recovery() {
	mount -t tmpfs -o size=4m tmpfs small
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	killed_while "./writers 9 progress 1 20" small/trace
	cat /dev/zero > small/filler 2> /dev/null || truncate -s -64K small/filler
	status_is 2 lull recover small/trace > verdict 2> errors
	grep -q "stays: run .lull recover. again" errors || fail "$(cat verdict errors)"
	grep -q 'not written' verdict || fail "$(cat verdict)"
	[ -e "$session" ] || fail "the session is gone"
	rm small/filler
	lull recover small/trace > verdict || same $? 1 "lull recover's status"
	grep -q 'until recording was stopped' verdict
	check_committed small/trace "space again"
}

flight_recorder_whose_directory_is_gone_leaves_its_session_to_be_recovered() {
	local left
	session_begin gone
	lull start -q --name "$session" --flight-recorder -o box
	lull run "$session" -- cat /etc/passwd > copy
	rm -r box
	status_is 2 lull stop "$session" 2> errors
	left=$(sed -n 's/.*`lull recover -o DIR \([^ ]*\)` writes it into DIR.*/\1/p' errors)
	[ -d "$left" ] || fail "$(cat errors)"
	status_is 0 lull recover -o new "$left" > verdict
	lull print new/snapshot-1 2> print.errors | grep -q 'passwd' || fail "$(cat verdict)"
	[ ! -e "$left" ] || fail "the session is still there"
}

# The last snapshot has what fits, and the session what does not.
flight_recorder_on_a_full_disk_leaves_its_session_with_what_was_not_written() {
	. "$root/tests/end_to_end/failures.sh"
	small_mount small_box recover
}

small_box() {
	local left
	session_begin full
	mount -t tmpfs -o size=4m tmpfs small
	cat > box.c <<- 'END'
		#include <lull/trace.h>
		#include <stdio.h>
		int main(void)
		{
			int count, n = 0;

			while (scanf("%d", &count) == 1) {
				for (int until = n + count; n < until;)
					lull_event("box:n", lull_str(text, "what takes some room"),
						   lull_i32(n, ++n));
				printf("%d\n", count);
				fflush(stdout);
			}
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o box box.c
	lull start -q --name "$session" --flight-recorder --buffer-size 64K --buffers 64 \
		-o small/box -e 'box:*'
	talk_begin lull run "$session" -- taskset -c 0 ./box
	talk 5000
	status_is 0 lull snapshot "$session" > path
	cat /dev/zero > small/filler 2> filler.errors || truncate -s -200K small/filler
	talk 10000
	status_is 1 lull snapshot "$session" > path 2> errors
	grep -q 'it lacks: .* not written: No space' errors || fail "$(cat errors)"
	# More than what was kept for the end.
	talk 40000
	status_is 2 lull stop "$session" 2> errors
	talk_end
	grep -q 'not written: No space' errors || fail "$(cat errors)"
	left=$(sed -n 's/.*`lull recover -o DIR \([^ ]*\)` writes it into DIR.*/\1/p' errors)
	[ -d "$left" ] || fail "$(cat errors)"
	status_is 2 lull recover small/box > verdict 2> errors
	grep -q "stays: run .lull recover. again" errors || fail "$(cat verdict errors)"
	rm small/filler
	status_is 0 lull recover small/box > verdict
	# All that there was room for, also what earlier snapshots have, or should have had.
	lull print small/box/snapshot-[3-9] 2> print.errors |
		sed -n 's/.*box:n .*n=\([0-9]*\).*/\1/p' > numbers
	seq 55000 | cmp - numbers || fail "$(wc numbers) $(cat verdict)"
}
