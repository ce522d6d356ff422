# SPDX-License-Identifier: MIT
# Writers that die: what they had committed is in the trace, the verdict counts the rest.

crash_check() {
	lull print --json trace > events || same $? 1 "the status of lull print"
	lull report --json trace > report.json || same $? 1 "the status of lull report"
	python3 "$root/tests/crash/check.py" progress events report.json
	babeltrace_reads trace
}

killed_writers_lose_nothing_committed() {
	gcc -O2 -I"$root/core/include" -o writers "$root/tests/crash/writers.c" -lpthread
	lull record -o trace -e 'test:*' -- ./writers "${LULL_KILLS:-1000}" progress 1
	crash_check
}

writers_that_die_at_each_instruction_lose_nothing_committed() {
	gcc -O2 -I"$root/core/include" -o instructions "$root/tests/crash/instructions.c"
	objdump -d --no-show-raw-insn "$root/build/lib/liblull.so" | awk '
		BEGIN {
			probe = "reserve|reserve_again|reserve_plain|commit|commit_add|may_open"
			ring = "lull_ring_[a-z_]*|switch_[a-z_]*|header_[a-z_]*|slot_[a-z_]*"
			step = "reference_open|publish|lull_publish[a-z_]*"
			function_line = "<(" probe "|" ring "|" step ")([.][a-z0-9.]*)?>:$"
		}
		/^[0-9a-f]+ <.*>:$/ { inside = $0 ~ function_line }
		inside && /^ +[0-9a-f]+:\t/ { sub(/:.*/, ""); print $1 }' > offsets
	[ "$(wc -l < offsets)" -gt 200 ] || fail "only $(wc -l < offsets) instructions found"
	lull record -o trace -e 'test:*' --buffer-size 4K --buffers 1024 -- \
		./instructions offsets progress > deaths
	cat deaths
	[ "$(cut -d' ' -f3 deaths)" -gt 100 ] || fail "too few deaths: $(cat deaths)"
	crash_check
	python3 -c 'import json; assert json.load(open("report.json"))["lost"]["in_flight"] > 10'
}
