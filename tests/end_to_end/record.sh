# SPDX-License-Identifier: MIT
# What `lull record` promises to whoever puts it before a command.

record_exits_with_the_programs_status() {
	status_is 0 lull record -o zero -- true
	status_is 7 lull record -o seven -- sh -c 'exit 7'
}

record_exits_127_when_there_is_no_such_program() {
	status_is 127 lull record -o trace -- ./no-such-program
}

record_exits_126_when_the_program_cannot_be_executed() {
	echo text > not-a-program
	status_is 126 lull record -o trace -- ./not-a-program
}

record_exits_125_when_the_output_cannot_be_made() {
	touch file
	status_is 125 lull record -o file/trace -- true
}

record_leaves_output_and_input_untouched() {
	seq 1 1000 > numbers
	lull record -o trace -- sort -r < numbers > traced
	sort -r < numbers > plain
	cmp traced plain
}

record_of_a_shell_pipeline_is_read_by_both_readers() {
	lull record -o trace -- bash -c 'seq 1 100 | sort -n | tail -n 1' > output
	same "$(cat output)" 100 "the output of the pipeline"
	readers_agree trace
}

record_of_two_threads_of_xz_is_read_by_both_readers() {
	seq 1 400000 > numbers
	lull record -o trace -- xz -T2 -1 --block-size=512KiB -k numbers
	xz -dc numbers.xz | cmp - numbers
	readers_agree trace
}

report_of_nothing_is_an_error_that_says_so() {
	status_is 2 lull report no-such-trace 2> message
	grep -q no-such-trace message || fail "the message does not name the trace: $(cat message)"
}

print_shows_bytes_as_one_hexadecimal_number_without_their_length() {
	lull record -q -o trace -- true
	lull print -e process:object trace > objects
	grep -qE 'build_id=\[0x[0-9a-f]{16,}\]$' objects || fail "$(cat objects)"
	! grep -q _length objects || fail "$(cat objects)"
}
