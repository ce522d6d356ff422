# SPDX-License-Identifier: MIT
# The worked investigations of docs/guide/investigations.md: every command of the page runs, in its
# order, and what the text says that they find is there. Times are not compared.

# script_of TITLE: the commands of a section. A block that begins with `$ ` shows commands and their
# output; any other block is a script.
script_of() {
	awk -v title="## $1" '
		/^## / { is_here = index($0, title) == 1 }
		!is_here { next }
		/^```$/ { is_inside = !is_inside; is_first = 1; next }
		!is_inside { next }
		is_first { shows_output = /^\$ /; is_first = 0 }
		!shows_output { print }
		shows_output && sub(/^\$ /, "") { print }
	' "$root/docs/guide/investigations.md"
}

# run_section TITLE: what its commands print is in the file `said`.
run_section() {
	script_of "$1" > section.sh
	[ "$(grep -c '^lull record' section.sh)" -eq 2 ] || fail "the section $1 is not on the page"
	env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX \
		bash -euo pipefail section.sh > said 2>&1 || fail "$(cat said)"
	mapfile -t traces < <(sed -n 's/^lull: .* in [0-9.]* s: \(lull-trace-.*\)$/\1/p' said)
	same ${#traces[@]} 2 "the number of recordings"
}

# in_report TRACE EXPRESSION: a value of the report, `r`, as Python finds it.
in_report() {
	lull report --json "$1" | python3 -c "import json, sys; r = json.load(sys.stdin); print($2)"
}

# pictured TRACE HASH TEXT NAME: the viewer's page of that address says TEXT in its panel, and there
# is a picture of it: in docs/guide/pictures if LULL_PICTURES is new.
pictured() {
	local folder=$PWD
	[ "${LULL_PICTURES:-}" != new ] || folder=$root/docs/guide/pictures
	lull view --print-url "$1" > url 2> view.errors &
	local server=$!
	until_done test -s url
	node "$root/tests/view/picture.mjs" "$(cat url)" "$2" "$3" "$folder/$4.png" \
		> told 2>&1 || fail "$(cat told view.errors)"
	kill -INT $server
	wait $server || true
	same "$(head -c 4 "$folder/$4.png" | tail -c 3)" PNG "what the picture is"
}

threads_that_wait_in_line_are_found_by_their_lock() {
	run_section 'A lock convoy'
	# One condition has most waits, and at least the four workers wait for it.
	local first='max(r["locks"], key=lambda lock: lock["wait"]["count"])'
	same "$(in_report "${traces[0]}" "$first[\"kind\"]")" cond "what is waited for most"
	local waiters="len($first[\"threads\"])"
	[ "$(in_report "${traces[0]}" "$waiters")" -ge 4 ] || fail "too few threads wait for it"
	grep -qE '^cond:wait +4\.19 ms +8\.39 ms ' said ||
		fail "no wait took the 5 ms"
	same "$(in_report "${traces[1]}" 'len(r["locks"])')" 0 "the locks that processes wait for"
	same "$(in_report "${traces[1]}" 'r["process_count"]')" 5 "the number of processes"
	grep -qx 'The trace has no finished waits for locks.' said || fail "$(cat said)"
	[ -s threads.perfetto-trace ] || fail "nothing was exported"
	pictured "${traces[0]}" \
		'#from=150000000&until=210000000&panel=statistics' cond:wait convoy
}

rows_that_are_written_one_by_one_are_found_by_what_they_wait_for() {
	run_section 'An I/O stall'
	local calls='sum(l["count"] for l in r["latencies"] if l["name"] == "io:fdatasync")'
	[ "$(in_report "${traces[0]}" "$calls")" -ge 800 ] || fail "not four calls for each row"
	[ "$(in_report "${traces[1]}" "$calls")" -le 8 ] || fail "the transaction is not one"
	local last
	last=$(sed -n 's/.* io:fdatasync_entry fd=\([0-9]*\)$/\1/p' said | tr '\n' ' ')
	same "$last" '5 6 5 4 ' "what the last row waits for"
	pictured "${traces[0]}" \
		'#from=500000000&until=530000000&panel=statistics' io:fdatasync stall
}

module_that_is_compiled_at_each_start_is_found_by_what_is_opened() {
	run_section 'A slow start'
	grep -q 'tables\.cpython-[0-9]*\.pyc" result=-1 error=2$' said || fail "$(cat said)"
	same "$(grep -c '/tables\.py" result=' said)" 1 "how often the source is opened"
	grep -q 'tables\.cpython-[0-9]*\.pyc" result=[0-9]' said || fail "$(cat said)"
	same "$(grep -c ' process:exit status=0$' said)" 2 "how many programs ended"
	pictured "${traces[0]}" '#e=io:open_exit+if+path+%3D~+"*%2Ftables*"' tables.py start
}
