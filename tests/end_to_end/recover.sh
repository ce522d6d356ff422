# SPDX-License-Identifier: MIT
# Recorders that are killed while programs write: `lull recover` completes their traces.

# ended FILE: the program that makes the file has ended; at most 60 seconds.
ended() {
	for _ in $(seq 1200); do
		[ -e "$1" ] && return
		sleep 0.05
	done
	fail "$1 was not made"
}

# LULL_RECOVERIES: how many recorders are killed.
killed_recorders_lose_nothing_committed() {
	local number recorder status checked=0
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	for number in $(seq "${LULL_RECOVERIES:-5}"); do
		lull record -q -o "trace$number" --buffer-size 64K --buffers 4 --flush-period 2 \
			-e 'test:*' -- sh -c "./writers 60 progress$number 7; : > ended$number" &
		recorder=$!
		sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
		# The program may have ended by now, and its recorder with it.
		kill -KILL $recorder 2> kill.errors || true
		wait $recorder || true
		# Killed before there was a trace, or not killed at all: nothing to recover.
		[ -e "trace$number/metadata" ] && [ ! -s kill.errors ] || continue
		ended "ended$number"
		status=0
		lull recover "trace$number" > verdict || status=$?
		[ $status -le 1 ] || fail "lull recover: $status, $(cat verdict)"
		grep -q 'since its recorder had been killed' verdict || fail "$(cat verdict)"
		[ -s "progress$number" ] || continue
		lull print --json "trace$number" > events || same $? 1 "lull print's status"
		lull report --json "trace$number" > report.json || same $? 1 "lull report's status"
		python3 "$root/tests/crash/check.py" "progress$number" events report.json
		babeltrace_reads "trace$number"
		checked=$((checked + 1))
	done
	[ "$checked" -gt 0 ] || fail "no recorder was killed while it recorded"
}
