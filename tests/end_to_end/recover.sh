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
	if grep -q 'nothing is left' recover.errors; then
		lull report "$trace" > verdict || status=$?
	fi
	[ $status -le 1 ] || fail "lull recover: $status, $(cat verdict recover.errors)"
	grep -q 'until .* recording' verdict || fail "$(cat verdict recover.errors)"
	! grep -E 'wrote over|is gone|twice|damaged' verdict || fail "$(cat verdict)"
	! left_of "$trace" || fail "the session is still there: $(cat verdict)"
}

# left_of TRACE: whether the session of a trace is still there.
left_of() {
	lull doctor 2>&1 | grep -q "into $(realpath "$1") "
}

# discard_of PID: the session of a recorder that was killed before it had a trace.
discard_of() {
	local segment link
	for segment in $(ipcs -mp | awk -v pid="$1" '$3 == pid { print $1 }'); do
		for link in /dev/shm/lull-*/memory; do
			[ "$(readlink "$link")" != "shm:$segment" ] ||
				lull recover --discard "$(dirname "$link")"
		done
	done
}

# LULL_RECOVERIES: how many recorders are killed.
killed_recorders_lose_nothing_committed() {
	local number size count burst victim writers=0 recoveries=0 checked=0
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	for number in $(seq "${LULL_RECOVERIES:-5}"); do
		rm -rf trace progress ended
		size=$(one_of 4K 16K 64K)
		count=$(one_of 2 4 16)
		burst=$(one_of 5 20 200)
		# The program goes on, with nobody to kill it.
		kill_one 10 200 lull record -q -o trace --buffer-size "$size" --buffers "$count" \
			--flush-period "$(one_of 1 2 20)" -e 'test:*' -- \
			sh -c "./writers $writers_killed progress $number $burst; : > ended" \
			2> record.errors || continue
		# Killed before there was a trace: nothing to recover.
		[ -e trace/metadata ] || {
			discard_of $victim
			continue
		}
		ended ended
		writers=$((writers + writers_killed))
		recovered trace
		[ -s progress ] || continue
		lull print --json trace > events || same $? 1 "lull print's status"
		lull report --json trace > report.json || same $? 1 "lull report's status"
		python3 "$root/tests/crash/check.py" progress events report.json > checked ||
			fail "recorder $number, $count of $size: $(cat checked verdict)"
		babeltrace_reads trace
		checked=$((checked + 1))
	done
	echo "killed: $checked recorders, $writers writers, $recoveries recoveries"
	[ "$checked" -gt 0 ] || fail "no recorder was killed while it recorded"
}
