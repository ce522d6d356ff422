# SPDX-License-Identifier: MIT
# What the verdict says of recordings that are not all that was asked for, and of those that are.

# verdict_is STATE COMMAND...: records the command and reads the state that the verdict names in
# JSON; leaves the verdict in ./verdict and the trace in ./trace.
verdict_is() {
	local state=$1
	shift
	rm -rf trace
	lull record --json -o trace "$@" > output 2> errors || true
	grep '^{"state"' errors > verdict || fail "no verdict: $(cat errors)"
	same "$(python3 -c 'import json; print(json.load(open("verdict"))["state"])')" "$state" \
		"the state of: $* ($(cat errors))"
}

# value EXPRESSION: of the verdict, which is called v.
value() {
	python3 -c "import json; v = json.load(open('verdict')); print($1)"
}

# not_recorded PATH WHY: the verdict names one such process, and so do report and print.
not_recorded() {
	same "$(value 'len(v["not_recorded"])')" 1 "the number of processes not recorded"
	[[ $(value 'v["not_recorded"][0]["path"]') = *"$1" ]] || fail "$1: $(cat verdict)"
	[[ $(value 'v["not_recorded"][0]["why"]') = *"$2"* ]] || fail "$2: $(cat verdict)"
	local line
	line="not recorded: .*$1, pid $(value 'v["not_recorded"][0]["pid"]'): .*$2"
	status_is 1 lull report trace > report
	grep -q "INCOMPLETE" report || fail "$(cat report)"
	grep -q "$line" report || fail "$line: $(cat report)"
	status_is 1 lull print trace > /dev/null 2> print.errors
	grep -q "$line" print.errors || fail "$line: $(cat print.errors)"
}

static_program() {
	printf 'int main(void) { return 0; }\n' > static.c
	gcc -O2 -static -o static static.c
}

# wait_until COMMAND...: at most 30 seconds.
wait_until() {
	for _ in $(seq 600); do
		"$@" > /dev/null 2>&1 && return
		sleep 0.05
	done
	fail "this did not become true: $*"
}

killed_recorder_leaves_a_trace_that_is_not_finished() {
	lull record -o trace -- sh -c 'echo $$ > ready; exec sleep 60' &
	local recorder=$!
	wait_until grep -q . ready
	wait_until sh -c 'lull print trace | grep -q "sleep 60"'
	kill -KILL $recorder
	wait $recorder || true
	kill "$(cat ready)"
	status_is 1 lull report trace > report
	grep -q '^Not finished:' report || fail "$(cat report)"
	grep -q 'its recorder ended before it finished this trace' report || fail "$(cat report)"
	! grep -qi 'complete' report || fail "$(cat report)"
	status_is 1 lull print trace > /dev/null 2> errors
	grep -q 'not finished:' errors || fail "$(cat errors)"
	local session
	session=$(sed -n 's/.*its recorder ended .*`lull recover \([^ ]*\)` adds .*/\1/p' errors)
	[ -d "$session" ] || fail "$(cat errors)"
	# Nobody removes it: the next recorder and doctor tell of it.
	lull record -o other -- true 2> errors
	grep -q "$session, of sh into $PWD/trace" errors || fail "$(cat errors)"
	lull doctor > doctor || true
	grep -q "left-behind sessions: .*$session, of sh into $PWD/trace" doctor ||
		fail "$(cat doctor)"
	[ -d "$session" ] || fail "the session was removed"
	grep -q "lull recover --discard $session" doctor || fail "$(cat doctor)"
	local segment
	segment=$(readlink "$session/memory" | cut -d: -f2)
	lull recover --discard trace
	[ ! -e "$session" ] || fail "the session is still there"
	! ipcs -m | cut -d' ' -f2 | grep -qx "$segment" || fail "its memory is still there"
	# Without it, less is known.
	lull report trace > report || true
	grep -q 'no recorder that can be seen from here is at work on it' report ||
		fail "$(cat report)"
}

trace_that_is_being_recorded_is_not_finished() {
	lull record -o trace -- sh -c 'echo ready > ready; until [ -e stop ]; do sleep 0.05; done' &
	local recorder=$!
	wait_until grep -q . ready
	status_is 1 lull report trace > report
	grep -q '^Not finished:' report || fail "$(cat report)"
	grep -q "it is being recorded now, by process $recorder" report || fail "$(cat report)"
	touch stop
	wait $recorder
	status_is 0 lull report trace > report
	grep -q '^Complete: no event is missing' report || fail "$(cat report)"
}

program_that_goes_on_after_a_trigger_stopped_the_recording_is_no_descendant() {
	verdict_is limited --on process:exit --do stop -- sh -c '/bin/true; exec sleep 1'
	same "$(value 'len(v["went_on"])')" 1 "processes that went on"
	same "$(value 'v["limits"][0].split(":")[0]')" "until the recording was stopped" \
		"until when"
}

# emptied_build: a program that has the C library start a shell, by the function that its first
# argument names, after its environment was emptied, or without that.
emptied_build() {
	cat > emptied.c <<-'END2'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		int main(int count, char **argument)
		{
			if (count < 3)
				clearenv();
			if (!strcmp(argument[1], "system"))
				return system("/bin/true");
			return pclose(popen("/bin/true", "r"));
		}
	END2
	gcc -O1 -o emptied emptied.c
}

shells_in_an_emptied_environment_are_named() {
	emptied_build
	for call in system popen; do
		verdict_is complete -- ./emptied $call whole
		verdict_is incomplete -- ./emptied $call
		same "$(value 'v["not_recorded"]')" "$(value "[{'path': '/bin/sh', 'pid': 0,
			'why': 'it was started with LULL_SESSION empty or unset'}]")" "by $call"
		status_is 1 lull report trace > report
		grep -q 'not recorded: /bin/sh, pid unknown: it was started with LULL_SESSION' \
			report || fail "$(cat report)"
	done
}

static_program_is_not_recorded() {
	static_program
	verdict_is incomplete -- ./static
	not_recorded static 'it is statically linked'
}

static_descendant_is_not_recorded_whatever_the_patterns() {
	static_program
	for pattern in 'io:*' '*'; do
		verdict_is incomplete -e "$pattern" -- sh -c './static; ls / > /dev/null'
		not_recorded static 'it is statically linked'
	done
}

program_that_is_gone_has_the_reason_that_was_found_when_it_was_started() {
	static_program
	verdict_is incomplete -- sh -c './static; rm static; exit 0'
	not_recorded static 'it is statically linked'
}

static_program_that_is_spawned_is_not_recorded() {
	static_program
	verdict_is incomplete -- python3 -c \
		'import os; os.waitpid(os.posix_spawn("./static", ["s"], os.environ), 0)'
	not_recorded static 'it is statically linked'
}

setuid_descendant_is_not_recorded() {
	[ "$(id -u)" -eq 0 ] || skip "making a program of another user needs root"
	cp /bin/true privileged
	chown nobody privileged
	chmod u+s privileged
	verdict_is incomplete -- sh -c './privileged; exit 0'
	not_recorded privileged 'it is setuid to another user'
}

program_for_another_word_size_is_not_recorded() {
	printf 'void _start(void) { __asm__("int $0x80" : : "a"(1), "b"(0)); }\n' > small.c
	gcc -m32 -O2 -static -nostdlib -ffreestanding -fno-pic -o small small.c
	verdict_is incomplete -- sh -c './small; exit 0'
	not_recorded small 'it is a program for 32-bit x86'
}

program_that_lost_its_environment_is_recorded_all_the_same() {
	verdict_is complete -- env -i ls /
	same "$(value 'len(v["not_recorded"])')" 0 "processes not recorded"
}

exec_that_failed_and_children_that_record_nothing_are_no_loss() {
	verdict_is complete -- sh -c './nowhere || (exit 3) || true'
	verdict_is complete -- python3 -c '
import os, subprocess
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
try:
    subprocess.run(["./nowhere"])
except FileNotFoundError:
    pass
try:
    os.posix_spawn("./nowhere", ["n"], os.environ)
except FileNotFoundError:
    pass'
}

many_programs_after_each_other_are_all_recorded() {
	verdict_is complete -- bash -c \
		'for i in $(seq 200); do /bin/true; ( exec /bin/true ) & done; wait'
	same "$(value 'v["processes"]')" 402 "the number of processes"
}

processes_are_counted_and_not_the_programs_they_execute() {
	verdict_is complete -- sh -c 'exec sh -c "exec sh -c \"exec true\""'
	same "$(value 'v["processes"]')" 1 "the number of processes"
}

daemon_that_goes_on_qualifies_the_verdict() {
	cat > daemon.py <<-'END'
	import os, time
	if os.fork():
	    while not os.path.exists("pid"):
	        time.sleep(0.01)
	    os._exit(0)
	os.setsid()
	if os.fork():
	    os._exit(0)
	with open("new", "w") as file:
	    file.write(str(os.getpid()))
	os.rename("new", "pid")
	while not os.path.exists("stop"):
	    time.sleep(0.05)
	END
	rm -f pid stop
	verdict_is limited -- python3 daemon.py
	touch stop
	same "$(value 'v["went_on"][0]["pid"]')" "$(cat pid)" "the daemon"
	status_is 0 lull report trace > report
	grep -q '^Complete within these limits:' report || fail "$(cat report)"
	grep -q "until the program ended: 1 descendant went on .*python3.*, pid $(cat pid)" \
		report || fail "$(cat report)"
	# One that records nothing is known, too.
	rm -f pid stop
	verdict_is limited -e 'no:*' -e '!process:*' -e 'io:open*' -- python3 daemon.py
	touch stop
	same "$(value 'v["went_on"][0]["pid"]')" "$(cat pid)" "the daemon"
	rm -f pid stop
	(sleep 1; touch stop) &
	verdict_is complete --wait-all -- python3 daemon.py
}

patterns_that_match_nothing_are_the_verdict() {
	verdict_is nothing_matched -e 'oi:*' -- true
	same "$(value 'v["unmatched"][0]["pattern"]')" 'oi:*' "the pattern"
	[[ $(value 'v["unmatched"][0]["nearest"]') = *"'io:*'"* ]] || fail "$(cat verdict)"
	status_is 1 lull report trace > report
	grep -q "^Nothing matched: no event was recorded that the patterns ask for" report ||
		fail "$(cat report)"
	grep -q "the pattern 'oi:\*' matches no event of the programs that were recorded; the \
nearest name is io:\*" report || fail "$(cat report)"
	status_is 1 lull print trace > /dev/null 2> errors
	grep -q 'nothing matched' errors || fail "$(cat errors)"
	status_is 124 lull record -q --fail-on-loss -o failed -e 'oi:*' -- true
	status_is 0 lull record -q -o not-failed -e 'oi:*' -- true
}

one_pattern_of_several_that_matches_nothing_is_noted() {
	verdict_is complete -e 'io:*' -e 'io:raed_entry' -e '!mutex:*' -- true
	[[ $(value 'v["notes"]') = *"'io:raed_entry' matches no event"*"io:read_entry"* ]] ||
		fail "$(cat verdict)"
	same "$(value 'len(v["unmatched"])')" 1 "the number of patterns"
}

without_the_events_of_processes_the_verdict_says_so() {
	static_program
	verdict_is limited -e 'io:*' -e '!process:*' -- sh -c './static; ls /'
	status_is 0 lull report trace > report
	grep -q "the patterns leave out events of process" report || fail "$(cat report)"
}

process_that_was_not_recorded_fails_on_loss() {
	static_program
	status_is 124 lull record -q --fail-on-loss -o trace -- sh -c './static; exit 0'
	status_is 0 lull record -q -o trace2 -- sh -c './static; exit 0'
}

trace_of_another_tracer_is_not_called_complete() {
	lull record -q -o trace -- true
	sed -i 's/tracer_name = "lull"/tracer_name = "other"/' trace/metadata
	status_is 0 lull report trace > report
	grep -q '^Unknown: the trace does not say whether events are missing' report ||
		fail "$(cat report)"
	lull report --json trace > report.json
	same "$(python3 -c 'import json; print(json.load(open("report.json"))["complete"])')" \
		False "complete"
}

programs_that_a_process_without_a_number_starts_are_not_called_missing() {
	cat > clone.c <<-'END'
		#define _GNU_SOURCE
		#include <signal.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			char *arguments[] = { "true", NULL };

			if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
				return execve("/bin/true", arguments, environ);
			return wait(NULL) < 0;
		}
	END
	gcc -O2 -o clone clone.c
	verdict_is limited -- ./clone
	same "$(value 'len(v["not_recorded"])')" 0 "processes not recorded"
	[[ $(value 'v["limits"]') = *"1 start by processes without"* ]] || fail "$(cat verdict)"
}

sanitized_program_is_not_recorded() {
	printf 'int main(void) { return 0; }\n' > sanitized.c
	gcc -fsanitize=address -o sanitized sanitized.c
	verdict_is incomplete -- sh -c './sanitized; exit 0'
	not_recorded sanitized 'it runs with a sanitizer, whose runtime goes before liblull'
}

# A part of a trace is no trace that lacks the rest.
part_of_a_complete_recording_is_called_complete() {
	lull record -q -o whole -- sh -c 'for i in 1 2 3; do cat /dev/null; done'
	lull trim whole -o part --from +1ms 2> trimmed
	lull trim part -o less --to +1ms 2>> trimmed
	for asked in whole 'whole --from +1ms' 'whole --to +1ms' part 'part --from +1ms' less \
		'latency part'; do
		status=0
		lull report $asked > report || status=$?
		grep -q '^Complete: no event is missing' report ||
			fail "$asked: $(head -n 6 report)"
		same "$status" 0 "the status of lull report $asked"
	done
	# A part of a damaged one is not: a packet whose content ends within its last event.
	cp -r whole damaged
	python3 - damaged/stream-cpu* <<-'END'
		import struct, sys
		for path in sys.argv[1:]:
		    data = bytearray(open(path, "rb").read())
		    struct.pack_into("<Q", data, 40, struct.unpack_from("<Q", data, 40)[0] - 8)
		    open(path, "wb").write(data)
	END
	status_is 1 lull trim damaged -o rest --from +0 2> trimmed
	status_is 1 lull report rest > report
	grep -q 'made of was damaged' report || fail "$(head -n 6 report)"
	status_is 1 lull convert damaged -o converted 2> said
	status_is 1 lull merge damaged whole -o merged 2> said
	for made in converted "merged/$(uname -n)"; do
		status_is 1 lull print "$made" > events 2> said
		grep -q 'made of was damaged' said || fail "$made: $(cat said)"
	done
	# A stream that is there twice is no complete trace.
	stream=$(ls whole | grep -m 1 stream-cpu)
	cp "whole/$stream" whole/stream-cpu77
	status_is 1 lull report whole > report
	grep -q 'some are there twice' report || fail "$(head -n 6 report)"
	status_is 1 lull print whole -e '*:read*' 2> said > events
	grep -q 'some are there twice' said || fail "$(cat said)"
	status_is 1 lull export --chrome whole -o events 2> said
	grep -q 'some are there twice' said || fail "$(cat said)"
	status_is 1 lull trim whole -e '*:read*' -o twice 2> said
	grep -q 'some are there twice' said || fail "$(cat said)"
	status_is 1 lull report twice > report
	grep -q 'other events than its recorder wrote' report || fail "$(head -n 6 report)"
	# A part of which the recorder's count says nothing knows it by the files.
	status_is 1 lull trim whole --from +0 -o rest-twice 2> said
	grep -q 'stream-cpu77: it was not here when the trace was' said || fail "$(cat said)"
	status_is 1 lull report rest-twice > report
	grep -q 'other events than its recorder wrote' report || fail "$(head -n 6 report)"
}

# Identifiers above 252 have long headers, one of which has the number of their tag.
hundreds_of_events_are_recorded_without_damage() {
	{
		echo '#include <lull/trace.h>'
		echo 'int main(void) { for (int round = 0; round < 20; round++) {'
		for number in $(seq 300); do
			echo "lull_event(\"many:event_$number\", lull_i32(round, round));"
		done
		echo '} return 0; }'
	} > many.c
	gcc -O0 -I"$root/core/include" -o many many.c
	lull record -o trace -e 'many:*' -- ./many 2> said
	grep -q 'complete: no event is missing' said || fail "$(cat said)"
	same "$(lull print trace -e 'many:*' | wc -l)" 6000 "the number of events"
	readers_agree trace
	GLIBC_TUNABLES=glibc.pthread.rseq=0 lull record -o plain -e 'many:*' -- ./many 2> said
	grep -q 'complete: no event is missing' said || fail "$(cat said)"
	same "$(lull print plain -e 'many:*' | wc -l)" 6000 "the number of events of a plain ring"
}

# cut_packet FILE: takes the last packet off, so that what is left is whole packets.
cut_packet() {
	python3 - "$1" <<-'END'
		import os, struct, sys
		data, at, last = open(sys.argv[1], "rb").read(), 0, 0
		while at < len(data):
		    last = at
		    at += struct.unpack_from("<Q", data, at + 48)[0] // 8
		assert at == len(data), (at, len(data))
		os.truncate(sys.argv[1], last)
	END
}

# tells_once STATUS COMMAND...: the sentence in $missing, once, and the status.
tells_once() {
	local wanted=$1 status=0
	shift
	"$@" > output 2> errors < /dev/null || status=$?
	same "$(cat output errors | grep -cF "$missing")" 1 "lines of $*: $(cat errors)"
	same "$status" "$wanted" "the status of $*"
}

# Reads the trace `cut`, of which there is another one as `whole`.
all_tell() {
	rm -rf made-* page.html
	tells_once 1 lull report cut
	tells_once 1 lull report latency cut
	tells_once 1 lull print cut
	tells_once 1 lull print cut --to +1ms
	tells_once 1 lull state cut
	tells_once 1 lull state cut --at +1ms
	tells_once 1 lull export --folded -o - cut
	tells_once 1 lull export --html -o page.html cut
	tells_once 1 lull convert cut -o made-converted
	tells_once 1 lull trim cut -o made-part --from +0
	tells_once 1 lull merge whole cut -o made-merged
	tells_once 124 timeout -s INT -k 9 3 lull view --no-open cut
	# The query engine is built apart.
	if command -v lull-query > /dev/null; then
		tells_once 1 lull query 'SELECT count(*) FROM events' cut
	fi
}

a_stream_that_was_cut_between_packets_or_is_gone_is_told_by_every_command() {
	local file stream size left
	lull record -q -o whole -- sh -c 'for i in 1 2 3; do cat /dev/null; done'
	status_is 0 lull print whole
	stream=$(ls whole | grep -m 1 stream-cpu)
	size=$(stat -c %s "whole/$stream")
	cp -r whole cut
	cut_packet "cut/$stream"
	left=$(stat -c %s "cut/$stream")
	missing="cut/$stream: it had $size bytes when the trace was finished, and has $left now"
	all_tell
	rm "cut/$stream"
	missing="cut/$stream: it had $size bytes when the trace was finished, and is not here"
	all_tell
	# What is made of a whole trace promises its own files, no others.
	lull convert whole -o converted 2> said
	status_is 0 lull print converted
	file=$(ls converted | grep -m 1 stream)
	rm "converted/$file"
	status_is 1 lull print converted
}

# A file that was changed: what the compiler is given it refuses (tests/compile_fail).
event_with_a_damaged_description_is_missing_and_no_other_of_its_program() {
	cat > damaged.c <<- 'END'
		#include <lull/trace.h>
		int main(void)
		{
			lull_event("test:first", lull_i32(a, 1));
			lull_event("test:da_maged", lull_i32(a, 2));
			lull_event("test:last", lull_i32(a, 3));
			return 0;
		}
	END
	gcc -I"$root/core/include" -o damaged damaged.c
	sed -i 's/test:da_maged/test:da::aged/g' damaged
	verdict_is incomplete -e 'test:*' -- ./damaged
	same "$(lull print trace -e 'test:*' | grep -o 'test:[a-z]*' | xargs)" \
		"test:first test:last" "the events"
	status_is 1 lull report trace > report
	grep -q "1 site not recorded: .*description is damaged" report || fail "$(cat report)"
	lull list -e 'test:*' ./damaged > list
	grep -A 1 'test:da::aged' list | tail -n 1 > of_it
	same "$(grep -c 'is not recorded: its name' of_it)" 1 \
		"what the list says of it: $(cat list)"
	same "$(grep -c 'is not recorded' list)" 1 "what the list says of others: $(cat list)"
}
