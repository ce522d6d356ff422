# SPDX-License-Identifier: MIT
# Programs behave the same with and without the interposers: sourced by tests/interpose/run.

# unchanged COMMAND...: same output, errors and status, run in directories of the same look.
unchanged() {
	local plain=0 recorded=0
	mkdir plain recorded
	(cd plain && exec "$@") > plain.output 2> plain.errors || plain=$?
	(cd recorded && record_to ../trace "$@") > recorded.output 2> recorded.errors ||
		recorded=$?
	diff plain.output recorded.output || same different equal "the output of $1"
	diff plain.errors recorded.errors || same different equal "the errors of $1"
	same "$recorded" "$plain" "the status of $1"
	[ -s plain.output ] || same nothing something "the output of $1"
	events > /dev/null
}

results_and_errno_of_files_are_unchanged() { # test
	unchanged "$programs/battery_file"
}

results_and_errno_of_sockets_are_unchanged() { # test
	unchanged "$programs/battery_socket"
}

results_and_errno_of_threads_and_locks_are_unchanged() { # test
	unchanged "$programs/battery_thread"
}

results_and_errno_of_processes_are_unchanged() { # test
	unchanged "$programs/battery_process"
}

executing_needs_little_stack_and_keeps_locks_and_fifos_alone() { # test
	unchanged "$programs/battery_exec"
}

cancelled_threads_clean_up_and_release_locks() { # test
	unchanged "$programs/cancel"
	same "$(count '$2 == "thread:exit"')" 300 "threads that ended"
	same "$(count '$2 == "thread:start"')" 301 "threads that started"
}

fortified_calls_that_fit_are_unchanged() { # test
	unchanged "$programs/fortified"
	same "$(count '$2 == "io:recv_entry" && / count=16 /')" 1 "checked recv recorded as recv"
	same "$(count '$2 == "io:pread_entry" && / count=16 /')" 1 "checked pread recorded as pread"
}

fortified_calls_that_overflow_still_abort() { # test
	local which
	for which in read pread recv recvfrom poll ppoll open openat fread; do
		mkdir "$which"
		cd "$which"
		status=0
		record "$programs/fortified" $which too-much 2> errors || status=$?
		same "$status" 134 "the status of an overflowing $which"
		grep -q '^\*\*\* .* \*\*\*: terminated' errors ||
			same "$(cat errors)" '*** REASON ***: terminated' "message of $which"
		cd ..
	done
}

condition_variables_of_the_oldest_version_are_left_alone() { # test
	[ "$(uname -m)" = x86_64 ] || skip "this machine's C library has them in one version only"
	unchanged "$programs/cond_version"
	same "$(count '$2 == "cond:signal"')" 100 "signals of the newer kind"
	same "$(count '$2 == "cond:broadcast"')" 0 "broadcasts of the older kind"
}

handlers_that_write_lose_nothing() { # test
	unchanged "$programs/handler"
}

a_tree_of_forked_processes_is_unchanged() { # test
	unchanged "$programs/levels"
	same "$(count '$2 == "process:fork" && / error=0/')" 30 "forks"
	same "$(count '$2 == "process:forked"')" 30 "forked children"
	same "$(awk '$2 == "process:forked" { print $1 }' events | sort -u | wc -l)" 30 \
		"process identifiers of forked children"
	same "$(count '$2 == "thread:start"')" 62 "threads"
}

daemons_that_close_all_descriptors_work_on() { # test
	local how
	for how in closefrom close_range loop; do
		mkdir $how
		cd $how
		record "$programs/daemon" $how done
		same "$(cat done)" "descriptors 0 1 2" "the daemon after $how"
		events > /dev/null
		same "$(count '$2 == "io:write_entry" && / count=5$/')" 1 "writes after $how"
		cd ..
	done
}

allocation_by_many_threads_is_unchanged() { # test
	unchanged "$programs/allocate"
	[ "$(count '$2 == "malloc:malloc"')" -gt 1000 ] || same few many "malloc events"
	[ "$(count '$2 == "malloc:free"')" -gt 1000 ] || same few many "free events"
	[ "$(count '$2 == "malloc:aligned"')" -gt 1000 ] || same few many "aligned events"
}

libraries_preloaded_behind_ours_are_called_by_ours() { # test
	for hash in gnu sysv; do
		record env LD_PRELOAD="$programs/plugins/libbehind_$hash.so" \
			"$programs/behind_user" > output
		same "$(cat output)" "fsync -7 131, fdatasync -1" "the result of a $hash library"
		events > /dev/null
		same "$(count '$2 == "io:fsync_exit"')" 1 "io:fsync_exit events"
	done
}

as_many_threads_as_there_are_may_wait_to_run() { # test
	record "$programs/crowd" > output
	[ "$(cat output)" != "no real-time priority" ] || skip "$(cat output)"
	same "$(cat output)" "1000 threads" "the output"
	events > /dev/null
	same "$(count '$2 == "thread:create"')" 1000 "threads created"
	same "$(count '$2 == "thread:start"')" 1000 "threads that started"
	same "$(count '$2 == "thread:exit"')" 1000 "threads that ended"
}

exceptions_and_forced_unwinding_are_unchanged() { # test
	unchanged "$programs/exception"
}

python_subprocesses_by_vfork_are_unchanged() { # test
	unchanged python3 -c '
import subprocess
for i in range(20):
    print(subprocess.run(["sh", "-c", f"exit {i}"], close_fds=True).returncode)
print(subprocess.run(["env"], env={"ONLY": "this"}, capture_output=True).returncode)
try:
    subprocess.run(["./no-such-program"])
except FileNotFoundError as error:
    print(error)'
	same "$(count '$2 == "process:start" && / arguments=sh_-c_exit_/')" 20 "shells started"
	same "$(count '$2 == "process:start" && / arguments=env$/')" 1 \
		"programs in an empty environment"
}

static_programs_run_untouched() { # test
	printf '#include <stdio.h>\nint main(void) { puts("static"); return 6; }\n' > static.c
	gcc -static -o static static.c
	status=0
	record ./static > output || status=$?
	same "$status $(cat output)" "6 static" "status and output"
}
