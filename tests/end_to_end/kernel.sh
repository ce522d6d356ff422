# SPDX-License-Identifier: MIT
# `lull record -k`: the kernel's events beside those of programs, and tracefs as it was before.

tracefs=/sys/kernel/tracing

# need_tracefs: skips the test where the kernel's events cannot be recorded.
need_tracefs() {
	[ "$(id -u)" -eq 0 ] || skip "only root records the kernel's events"
	[ -d $tracefs/instances ] || mount -t tracefs tracefs $tracefs 2> mount.errors ||
		skip "tracefs cannot be mounted: $(cat mount.errors)"
}

# settings: a checksum of what everybody's tracefs is set to, and what instances of ours are there
# of recorders with these numbers.
settings() {
	local file
	for file in trace_clock tracing_on set_event set_event_pid set_event_notrace_pid \
		current_tracer buffer_size_kb buffer_subbuf_size_kb trace_options tracing_cpumask \
		saved_cmdlines_size events/enable; do
		[ ! -e $tracefs/$file ] || printf '%s: %s\n' "$file" "$(cat $tracefs/$file)"
	done | cksum
}

# instances_of PID: how many instances a recorder has.
instances_of() {
	find $tracefs/instances -maxdepth 1 -name "lull-$1-*" | wc -l
}

# repository: makes a git repository with one file in it.
repository() {
	git init -q repository
	echo text > repository/file
}

kernel_and_user_events_of_one_thread_are_in_one_trace_that_both_readers_read() {
	need_tracefs
	repository
	local before
	before=$(settings)
	lull record -k -o trace -- git -C repository status > status
	same "$(settings)" "$before" "what tracefs is set to"
	grep -q 'file' status || fail "git said: $(cat status)"
	grep -aqF "kernel_release = \"$(uname -r)\";" trace/metadata ||
		fail "which kernel is not told"
	readers_agree trace
	babeltrace2 trace > babeltrace
	lull print -e 'io:*' trace > user
	lull print -e 'syscalls:*' trace > system
	local thread
	thread=$(awk '$3 ~ /^git\// { print $3; exit }' user)
	awk -v thread="$thread" '$3 == thread' system | grep -q 'sys_enter_openat.* dfd=-100 ' ||
		fail "no system call of $thread"
	grep -q 'sched:sched_switch' babeltrace || fail "no event of the scheduler"
	lull report --top 100 trace > report
	grep -q 'Threads on a CPU, waiting for one, and off' report || fail "$(cat report)"
	grep -q '^syscalls:sys_openat ' report || fail "$(cat report)"
	lull report --json trace > report.json
	same "$(grep -o "\"events\": *[0-9]*" report.json | head -n 1 | tr -dc 0-9)" \
		"$(lull print trace | wc -l)" "the events that the report counts"
}

patterns_choose_among_the_kernels_events_and_a_wrong_one_is_refused_with_what_is_like_it() {
	need_tracefs
	lull record -q -k -e 'sched:sched_switch' -e 'io:*' -o trace -- sleep 0.1
	lull print trace | awk '{ print $4 }' | grep -v '^io:\|^process:' | sort -u > names
	same "$(grep -v '^task:' names)" "sched:sched_switch" "the kernel's events"
	status_is 125 lull record -k -e 'shced:*' -o none -- true 2> message
	grep -q 'nearest.*sched:' message || fail "$(cat message)"
	[ ! -e none ] || fail "a directory was made"
	lull list -k -e 'sched:sched_sw*' > list
	grep -q 'sched:sched_switch .*next_comm:str next_pid:i32' list || fail "$(cat list)"
}

machine_is_recorded_without_a_program_for_as_long_as_was_said() {
	need_tracefs
	local before
	before=$(settings)
	lull record -q -k --duration 300ms -o trace
	same "$(settings)" "$before" "what tracefs is set to"
	readers_agree trace
	lull print trace | grep -q sched:sched_switch || fail "nothing was recorded"
	lull print trace | awk '{ print $4 }' | grep -q '^process:' && fail "a program was recorded"
	lull record -q -k -o ended &
	until [ -s ended/stream-kernel-cpu0 ]; do sleep 0.05; done
	kill -INT $!
	wait $! || fail "it ended with status $?"
	same "$(instances_of $!)" 0 "the instances that are left"
	readers_agree ended
}

recording_the_kernel_without_root_is_refused_with_what_is_needed() {
	need_tracefs
	setpriv --reuid 65534 --clear-groups true 2> setpriv.errors || skip "$(cat setpriv.errors)"
	# Another user may not be let into the folder that this was built in.
	place=/tmp/lull-place-$$
	trap 'rm -rf "$place"' EXIT
	mkdir -p "$place/bin" "$place/lib"
	cp "$root/build/bin/lull" "$place/bin"
	cp "$root/build/lib/liblull.so.0" "$place/lib"
	chmod -R a+rX "$place"
	mkdir -m 0777 open
	cd open
	setpriv --reuid 65534 --clear-groups "$place/bin/lull" record -k -o trace -- true \
		2> message && fail "it was recorded"
	grep -q 'may not be used by this user.*root' message || fail "$(cat message)"
}

program_that_cannot_be_started_leaves_no_instance() {
	need_tracefs
	echo '#!/no/such/interpreter' > broken
	chmod +x broken
	local status=0
	lull record -q -k -o trace -- ./broken 2> message &
	wait $! || status=$?
	same "$status" 127 "the status"
	grep -q 'cannot be started' message || fail "$(cat message)"
	same "$(instances_of $!)" 0 "the instances that are left"
	[ ! -e trace ] || fail "a trace was left"
}

program_alone_is_recorded_where_that_is_asked_for() {
	need_tracefs
	(while [ ! -e done ]; do :; done) &
	lull record -q -k --kernel-of program -o trace -- sh -c 'ls > list; sleep 0.1'
	touch done
	lull print trace > text
	grep -q ' ls/[0-9]* syscalls:' text || fail "no system call of a descendant"
	! awk '$4 ~ /^syscalls:/ { print $3 }' text | grep -vE '^(sh|ls|sleep|lull)/' | grep -q . ||
		fail "system calls of others: $(awk '{ print $3 }' text | sort | uniq -c)"
}

only_the_programs_threads_are_said_to_run_where_only_theirs_are_recorded() {
	need_tracefs
	# A CPU whose other threads run while the program sleeps.
	cat > spin.sh <<- 'END'
		exec 9> spins
		while [ ! -e done ]; do :; done
	END
	taskset 1 sh spin.sh &
	local other=$!
	until [ -e spins ]; do sleep 0.01; done
	lull record -k --kernel-of program -e 'sched:sched_switch' -o trace -- \
		taskset 1 sh -c 'sleep 0.5' 2> told
	touch done
	wait
	grep -q "of the kernel's events, those of the program and its descendants" told ||
		fail "$(cat told)"
	lull print trace | grep -q 'sched:sched_process_exit' || fail "no end of a thread"
	lull report cpu trace > text
	grep -q '^Complete within these limits' text || fail "$(cat text)"
	lull state --from +0 --json trace | grep '"runs"' > states
	! grep -q '"idle"' states || fail "a CPU is said to be idle: $(cat states)"
	! grep -q "\"tid\":$other[,}]" states || fail "the other is said to run: $(cat states)"
	grep -q '"thread":"sh' states || fail "the program is not said to run: $(cat states)"
}

instance_of_a_killed_recorder_is_told_and_removed_and_its_trace_recovered() {
	need_tracefs
	local before
	before=$(settings)
	lull record -q -k -o trace -- sleep 60 &
	local recorder=$!
	until [ -s trace/stream-kernel-cpu0 ]; do sleep 0.05; done
	same "$(instances_of $recorder)" 1 "the recorder's instances"
	kill -KILL $recorder
	wait $recorder 2> killed || true
	same "$(instances_of $recorder)" 1 "the instances that a killed recorder leaves"
	lull doctor > doctor || true
	grep -q "kernel tracing.*process $recorder" doctor || fail "$(cat doctor)"
	lull record -k -o next -- true 2> message
	grep -q "lull-$recorder-.* was removed" message || fail "$(cat message)"
	same "$(instances_of $recorder)" 0 "the instances after the next recording"
	same "$(settings)" "$before" "what tracefs is set to"
	status_is 1 lull recover "$PWD/trace" > verdict
	grep -q "kernel's events from the killed recorder's last" verdict || fail "$(cat verdict)"
	babeltrace_reads trace
	lull print trace | grep -q syscalls: || fail "the kernel's events are gone"
	kill "$(lull print -e process:start trace | sed -n 's,.* sleep/\([0-9]*\) .*,\1,p')"
}

two_recorders_of_the_kernel_do_not_get_in_each_others_way() {
	need_tracefs
	local before
	before=$(settings)
	lull record -q -k -e 'syscalls:sys_*_getppid' -o one -- \
		sh -c 'until [ -e done ]; do sleep 0.05; done' &
	until [ -s one/metadata ]; do sleep 0.05; done
	lull record -q -k -e 'sched:sched_process_*' -o two -- ls > list
	touch done
	wait $! || fail "the first recorder ended with status $?"
	same "$(settings)" "$before" "what tracefs is set to"
	readers_agree one
	readers_agree two
	lull print two | grep -q sched:sched_process_exec || fail "the second recorded nothing"
	! lull print one | grep -q sched: || fail "events of the second in the first"
}

recording_that_finds_no_room_for_kernel_events_counts_what_is_lost() {
	need_tracefs
	status_is 124 lull record --fail-on-loss -k --buffer-size 4096 --buffers 2 -o trace -- \
		sh -c 'kill -STOP $PPID; dd if=/dev/zero of=/dev/null bs=1 count=100000 2> /dev/null
			kill -CONT $PPID' 2> verdict
	grep -q 'lost on CPU [0-9]* of the kernel: its buffer' verdict || fail "$(cat verdict)"
	lull print trace 2> errors | grep -q 'LOST [0-9]* events full=' || fail "no loss is told"
	lull report trace > report || true
	grep -q 'events lost on CPU' report || fail "$(cat report)"
	babeltrace_reads trace
}
