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

disk_full_keeps_what_was_written_and_says_so() {
	mkdir small
	# A file system of its own where that is allowed, else nothing is tested here.
	mount -t tmpfs -o size=1m tmpfs small || fail "mounting needs root"
	trap 'umount small' EXIT
	gcc -O2 -I"$root/core/include" -o storm "$root/tests/signals/storm.c"
	says 'no space\|disk full\|full' lull record -o small/trace -e 'test:*' -- ./storm 500
	same "$status" 0 "the traced program's status"
	says 'incomplete\|lost\|not written' lull report small/trace
	same "$status" 1 "the status of lull report"
	[ "$(lull print small/trace | wc -l)" -gt 1000 ] || fail "nothing is left"
	babeltrace_reads small/trace
}

unwritable_output_is_refused_before_the_program_starts() {
	touch file
	says 'file' lull record -o file/trace -- touch started
	same "$status" 125 "the status"
	[ ! -e started ] || fail "the program was started"
}

session_directory_deleted_under_it_is_reported() {
	says 'session' lull record -o trace -- \
		sh -c 'rm -rf "${LULL_SESSION:?}"; ls / > /dev/null'
	same "$status" 0 "the traced program's status"
	[ "$(lull print trace | wc -l)" -gt 0 ] || fail "nothing was recorded"
	babeltrace_reads trace
}

truncated_trace_is_read_up_to_the_cut() {
	lull record -q -o trace -- seq 1 10
	local stream
	for stream in trace/stream*; do
		truncate -s -100 "$stream"
	done
	says 'trace/' lull print trace
	same "$status" 1 "the status of lull print"
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

setuid_program_is_refused_with_a_reason() {
	cp /usr/bin/true privileged
	chmod u+s privileged
	chown nobody privileged
	chmod u+s privileged
	says 'setuid' lull record -o trace -- ./privileged
}
