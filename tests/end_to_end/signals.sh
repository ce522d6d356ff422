# SPDX-License-Identifier: MIT
# Events in signal handlers that interrupt each other and main, at any instruction.

nested_signals_lose_nothing_and_keep_order() {
	gcc -O2 -I"$root/core/include" -o storm "$root/tests/signals/storm.c"
	lull record -o trace -e 'test:*' --buffer-size 8M --buffers 16 -- ./storm 2000 > counts
	cat counts
	lull print --json trace > events
	python3 "$root/tests/signals/check.py" counts events
	lull record -q -o short -e 'test:*' -- ./storm 50 > counts
	readers_agree short
}
