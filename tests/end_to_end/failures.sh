# SPDX-License-Identifier: MIT
# What goes wrong while recording or reading: a clear message, and what can be read is read.

# says TEXT COMMAND...: the command's errors name it; the status goes to $status.
says() {
	local text=$1
	shift
	status=0
	"$@" > said.output 2> said.errors || status=$?
	grep -qi -- "$text" said.errors said.output ||
		fail "'$text' is not in: $(cat said.errors said.output)"
}

# A file system of 1 MiB in small/, in a mount namespace of the test's own: as root, or as the root
# of a user namespace where the kernel lets users have one.
small_mount() {
	local namespace=(unshare --mount)
	[ "$(id -u)" -eq 0 ] || namespace+=(--user --map-root-user)
	mkdir small
	"${namespace[@]}" mount -t tmpfs -o size=1m tmpfs small 2> mount.errors ||
		skip "no file system can be mounted: $(tail -n 1 mount.errors)"
	"${namespace[@]}" "$root/tests/run" --test "$root/tests/end_to_end/${2:-failures}.sh" "$1"
}

disk_full_keeps_what_was_written_and_says_so() {
	small_mount small_disk
}

# In a process of its own: --test runs it where only the name is known.
small_disk() {
	mount -t tmpfs -o size=1m tmpfs small
	gcc -O2 -I"$root/core/include" -o storm "$root/tests/signals/storm.c"
	says 'no space\|disk full\|full' lull record -o small/trace -e 'test:*' -- ./storm 1000
	same "$status" 0 "the traced program's status"
	says 'incomplete\|lost\|not written' lull report small/trace
	same "$status" 1 "the status of lull report"
	[ "$(lull print small/trace | wc -l)" -gt 1000 ] || fail "nothing is left"
	babeltrace_reads small/trace
	# What is kept for the metadata is not most of a disk that small.
	[ "$(du -s --block-size=1K small/trace | cut -f1)" -gt 600 ] || fail "$(du -ak small)"
}

# What doctor says of a machine and what a recording there does is the same.
shared_memory_that_is_full_keeps_nobody_from_recording() {
	small_mount full_memory
}

full_memory() {
	mount -t tmpfs -o size=4k none /dev/shm
	! head -c 65536 /dev/zero > /dev/shm/full 2> errors || fail "it is not full"
	lull doctor > doctor || [ $? -eq 1 ] || fail "$(cat doctor)"
	grep -q '^ok  *session memory' doctor || fail "$(cat doctor)"
	lull record -q -o trace -- true
	status_is 0 lull report trace > report
	mount -t tmpfs -o size=4k none /tmp
	! head -c 65536 /dev/zero > /tmp/full 2> errors || fail "it is not full"
	unset XDG_RUNTIME_DIR TMPDIR
	status_is 2 lull doctor > doctor
	grep -q '^bad  *session memory: .*No space left' doctor || fail "$(cat doctor)"
	says 'no space left' lull record -q -o other -- touch started
	same "$status" 125 "the status"
	[ ! -e started ] || fail "the program was started"
}

processes_that_cannot_be_seen_are_said_to_be_so() {
	small_mount without_proc
}

without_proc() {
	mount -t tmpfs none /proc
	status_is 2 lull doctor > doctor
	grep -q '^bad  *kernel: /proc/.* cannot be read: .*; mount /proc$' doctor ||
		fail "$(cat doctor)"
	grep -q '^bad  *liblull: .*/proc/self/exe' doctor || fail "$(cat doctor)"
	says "/proc/self/exe does not tell" lull record -q -o trace -- true
	same "$status" 125 "the status"
}

unwritable_output_is_refused_before_the_program_starts() {
	touch file
	says 'file' lull record -o file/trace -- touch started
	same "$status" 125 "the status"
	[ ! -e started ] || fail "the program was started"
}

# What a script redirects is there, or the status says that it is not.
output_that_cannot_be_written_is_an_error_of_each_command() {
	lull record -q -- cat /dev/null
	for command in print report 'report io' 'report --json' 'state --from 0' 'list /bin/cat' \
		doctor 'doctor --json'; do
		status=0
		lull $command > /dev/full 2> errors || status=$?
		same "$status" 2 "the status of lull $command"
		grep -q 'No space left on device' errors || fail "lull $command: $(cat errors)"
	done
}

session_directory_deleted_under_it_is_reported() {
	says 'session' lull record -o trace -- \
		sh -c 'rm -rf "${LULL_SESSION:?}"; ls / > /dev/null'
	same "$status" 0 "the traced program's status"
	[ "$(lull print trace | wc -l)" -gt 0 ] || fail "nothing was recorded"
	babeltrace_reads trace
}

# What is left is the beginning of each stream, so of all of it where there is one stream only.
truncated_trace_is_read_up_to_the_cut() {
	local stream before=0 after cut
	taskset -c "$(taskset -cp $$ | sed 's/.*[: ,-]//')" lull record -q -o trace -- seq 1 10
	stream=$(echo trace/stream*)
	[ -f "$stream" ] || fail "not one stream: $stream"
	lull print trace > whole
	for cut in 100 1 40; do
		truncate -s "-$cut" "$stream"
		says "$stream: .*the file ends" lull print trace
		same "$status" 1 "the status of lull print"
		after=$(wc -l < said.output)
		[ "$after" -gt 0 ] || fail "nothing is left"
		[ "$before" -eq 0 ] || [ "$after" -le "$before" ] ||
			fail "$after events after $before"
		[ "$after" -lt "$(wc -l < whole)" ] || fail "all events are there"
		head -n "$after" whole | cmp - said.output || fail "these are not the first events"
		before=$after
	done
}

one_flipped_byte_stops_no_reader() {
	lull record -q -o trace -- true
	local stream size at
	for stream in trace/stream* trace/metadata; do
		cp "$stream" original
		size=$(stat -c %s original)
		for at in $(seq 0 $((size / 40 + 1)) $((size - 1))); do
			cp original "$stream"
			printf '\377' | dd of="$stream" bs=1 seek="$at" conv=notrunc status=none
			status=0
			timeout 10 lull print trace > /dev/null 2> errors || status=$?
			[ "$status" -le 2 ] ||
				fail "$stream, byte $at: status $status: $(tail -n 3 errors)"
		done
		cp original "$stream"
	done
}

# A program that is setuid to another user: one of nobody's that root makes, or one of root's.
setuid_program() {
	local program
	if [ "$(id -u)" -eq 0 ]; then
		cp /usr/bin/touch privileged
		chown nobody privileged
		chmod u+s privileged
		echo ./privileged
		return
	fi
	for program in /usr/bin/* /bin/*; do
		[ -u "$program" ] && [ -x "$program" ] && echo "$program" && return
	done
}

setuid_program_is_refused_with_a_reason() {
	local program
	program=$(setuid_program)
	[ -n "$program" ] || skip "there is no setuid program to try"
	says "$program: refused: it is setuid to another user" \
		lull record -o trace -- "$program" started
	same "$status" 125 "the status"
	[ ! -e started ] || fail "the program was started"
	[ ! -e trace ] || fail "a trace was begun"
}

# streams_written TRACE: the recorder has written events into it.
streams_written() {
	[ -n "$(find "$1" -name 'stream-*' -size +0)" ]
}

stream_file_that_is_removed_or_cut_while_recording_is_missing_in_the_verdict() {
	local what
	session_begin harm
	for what in 'rm' 'truncate -s 8'; do
		rm -rf trace
		lull start -q --name "$session" -o trace
		lull run "$session" -- ls / > list
		until_done streams_written trace
		$what trace/stream-*
		status_is 1 lull stop "$session" 2> verdict
		grep -q 'INCOMPLETE:' verdict || fail "$what: $(cat verdict)"
		grep -q 'stream-.*, with .* events, was .* while recording' verdict ||
			fail "$what: $(cat verdict)"
		status_is 1 lull report trace > report
		grep -q '^INCOMPLETE' report || fail "$what: $(cat report)"
	done
}

# The recorder writes it again, whole.
metadata_that_is_removed_while_recording_is_there_at_the_end() {
	session_begin harm
	lull start -q --name "$session" -o trace
	lull run "$session" -- ls / > list
	rm trace/metadata
	status_is 0 lull stop "$session" 2> verdict
	status_is 0 lull report trace > report
	babeltrace_reads trace
}

# The limit that the advice names is enough; that of before is not.
too_few_open_files_are_told_with_a_number_that_is_enough() {
	local files
	says 'too many open files' bash -c 'ulimit -n 8; exec lull record -o trace -- true'
	same "$status" 125 "the status"
	files=$(sed -n 's/.*allow more of them, \([0-9]*\) are enough here (ulimit -n).*/\1/p' \
		said.errors)
	[ -n "$files" ] || fail "no number is told: $(cat said.errors)"
	! grep -q 'another directory' said.errors || fail "$(cat said.errors)"
	bash -c "ulimit -n $files; exec lull record -o trace -- true" || fail "$files are too few"
	lull report trace > report || fail "$(cat report)"
}

# Arguments are understood and traces are read with a stack that does not depend on the limit.
small_stack_is_enough_for_commands_that_read() {
	local size command status
	lull record -o trace -- true
	for size in 128 64; do
		for command in 'print trace' 'report trace' 'report locks trace' \
			'state trace' "convert trace -o converted-$size" \
			"export --chrome trace -o chrome-$size" 'record --help'; do
			status=0
			bash -c "ulimit -s $size; exec lull $command" > output 2>&1 || status=$?
			# What is known of states without the kernel's events is incomplete.
			[ "$status" -le 1 ] ||
				fail "lull $command, with $size KiB of stack: $status $(cat output)"
		done
	done
}
