# SPDX-License-Identifier: MIT
# Conditions on the kernel's events, by tracefs. The program and the vocabulary are those of
# triggers.sh and kernel.sh. In a guest that has the module, tests/boot tests the same.
. "$root/tests/end_to_end/triggers.sh"
. "$root/tests/end_to_end/kernel.sh"

# kernel_begin ARGUMENT...: a session of the kernel and of programs, on a machine that can.
kernel_begin() {
	need_tracefs
	triggers_begin
	before=$(settings)
	lull start -k --name "$session" -o trace -e 'sched:sched_process_exec' -e 'test:*' --json \
		"$@" > started
	recorder=$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)
}

# kernel_end: ends it; tracefs is as it was.
kernel_end() {
	lull stop "$session" 2> verdict
	same "$(settings)" "$before" "what tracefs is set to"
	[ -z "$(find $tracefs/instances -maxdepth 1 -name "lull-$recorder-*")" ] ||
		fail "an instance is left"
}

condition_on_an_event_of_the_kernels_fires_for_those_that_meet_it() {
	kernel_begin --on 'sched:sched_process_exec if filename =~ "*/say"' --do count \
		--on 'sched:sched_process_exec if filename =~ "*/nobody"' --do 'run touch ran'
	ls > list
	talk_begin lull run "$session" -- ./say
	until_done has_fired "1 0 "
	talk_end
	kernel_end
	grep -q "/say\"' fired 1 time" verdict || fail "$(cat verdict)"
	grep -q "/nobody\"' never fired\$" verdict || fail "$(cat verdict)"
	[ ! -e ran ] || fail "a condition that nothing met was acted on"
}

long_system_call_meets_a_condition_and_short_ones_do_not() {
	kernel_begin --on 'syscalls:sys_clock_nanosleep > 100ms if $comm == "say"' \
		--do 'run echo "$LULL_EVENT $LULL_FIELDS $((LULL_DURATION_NS / 1000000))" >> ran' \
		--on "syscalls:sys_clock_nanosleep > 100ms if ret == 1" --do count
	talk_begin lull run "$session" -- ./say
	talk w1 w1000 w20
	talk w300000
	until_done has_fired "1 0 "
	until_done [ -s ran ]
	talk w1
	talk_end
	kernel_end
	grep -q '^syscalls:sys_exit_clock_nanosleep .*ret=0 3[0-9][0-9]$' ran || fail "$(cat ran)"
	same "$(wc -l < ran)" 1 "firings for one long call"
}

order_of_a_programs_event_and_one_of_the_kernels_in_one_thread_is_seen() {
	local sleeps=syscalls:sys_enter_clock_nanosleep
	kernel_begin --on "test:work_entry then $sleeps within 1s" --do count \
		--on "test:work_exit then $sleeps within 100ms" --do count \
		--on "$sleeps then test:work_exit within 10s" --do count
	talk_begin lull run "$session" -- ./say
	talk w1000 a1
	sleep 0.3
	talk w2000
	until_done has_fired "2 0 2 "
	talk_end
	kernel_end
}

conditions_on_the_kernel_come_and_go_while_the_session_runs() {
	kernel_begin
	talk_begin lull run "$session" -- ./say
	lull trigger "$session" --on 'sched:sched_process_exec if filename =~ "*/say"' --do count \
		2> told
	same "$(cat told)" "lull: added trigger 1" "what is said of a condition on the kernel"
	lull run "$session" -- ./say < /dev/null
	until_done has_fired "1 "
	lull trigger "$session" --on 'syscalls:sys_clock_nanosleep > 50ms if $comm == "say"' \
		--do count
	talk w100000
	until_done has_fired "1 1 "
	lull trigger "$session" --remove 1 2> told
	! grep -q 'asked' told || fail "$(cat told)"
	lull run "$session" -- ./say < /dev/null
	talk w100000
	until_done has_fired "2 "
	same "$(instances_of "$recorder")" 2 "the recorder's instances"
	status_is 2 lull trigger "$session" --on 'sched:sched_swich' --do count 2> told
	grep -q "no event sched:sched_swich of .*nearest name is sched:sched_switch" told ||
		fail "$(cat told)"
	lull trigger "$session" --remove 2
	talk w100000
	lull trigger "$session" --on 'sched:sched_process_exec if filename =~ "*/say"' --do count
	lull run "$session" -- ./say < /dev/null
	until_done has_fired "1 "
	talk_end
	kernel_end
	grep -q "removed at .* fired 1 time" verdict || fail "$(cat verdict)"
}

condition_on_the_kernel_needs_k_and_an_event_and_a_filter_that_are_there() {
	need_tracefs
	triggers_begin
	refused() {
		local want=$1
		shift
		status_is "$@" 2> told > /dev/null
		grep -q -e "$want" told || fail "not '$want' but: $(cat told)"
	}
	refused 'begin it with -k' 125 lull record -o no --on sched:sched_switch --do count -- true
	refused 'begin it with -k' 125 lull record -o no --on 'syscalls:sys_read > 1ms' --do count \
		-- true
	refused 'no event sched:sched_swich.*nearest name is sched:sched_switch' 125 \
		lull record -k -o no --on sched:sched_swich --do count -- true
	refused 'no call syscalls:read.*syscalls:sys_read' 125 lull record -k -o no \
		--on 'syscalls:read > 1ms' --do count -- true
	refused 'no event' 125 lull record -k -o no --on 'sched:sched_switch if pidd == 1' \
		--do count -- true
	refused "of the kernel" 125 lull record -k -o no --on test:a --do count --duration 1s
	refused "only the kernel is recorded" 125 lull record -k -o no --on crash --do count \
		--duration 1s
	refused 'prio' 125 lull record -k -o no --on 'sched:sched_process_exec if $prio == 1' \
		--do count -- true
	[ ! -e no ] || fail "a trace was begun"
	lull start --name "$session" -o trace
	refused 'begin it with -k' 2 lull trigger "$session" --on sched:sched_switch --do count
	status_is 1 lull stop "$session" 2> verdict
}

condition_stops_a_recording_of_the_kernel_alone_and_tracefs_is_as_before() {
	need_tracefs
	local before
	before=$(settings)
	lull record -k -e sched:sched_process_exec -o trace --duration 60s \
		--on 'sched:sched_process_exec if filename =~ "*/sleep"' --do stop 2> verdict &
	until [ -s trace/metadata ]; do sleep 0.05; done
	until ! kill -0 $! 2> /dev/null; do
		sleep 0.1
	done
	wait $! || fail "status $?"
	same "$(settings)" "$before" "what tracefs is set to"
	grep -q "fired [0-9]* time" verdict || fail "$(cat verdict)"
}
