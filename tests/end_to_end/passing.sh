# SPDX-License-Identifier: MIT
# Signals that are sent to the recorder, to its process group, from a terminal: the program gets
# each of them once, as if it had been started directly.

# A program that writes a line for each signal to "got" until there is a file "stop".
counter_build() {
	cat > counter.c <<-'END2'
		#include <fcntl.h>
		#include <signal.h>
		#include <stdio.h>
		#include <unistd.h>
		static int got;
		static void handler(int number)
		{
			char line[2] = { (char)('0' + number % 10), '\n' };

			if (write(got, line, 2) != 2)
				_exit(9);
		}
		int main(void)
		{
			static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2 };
			struct sigaction action = { .sa_handler = handler };

			got = open("got", O_CREAT | O_WRONLY | O_APPEND, 0600);
			for (int i = 0; i < 5; i++)
				sigaction(numbers[i], &action, NULL);
			close(open("ready", O_CREAT | O_WRONLY, 0600));
			for (int i = 0; i < 3000 && access("stop", F_OK); i++)
				usleep(10000);
			return 4;
		}
	END2
	gcc -O1 -o counter counter.c
}

# until_there FILE: wait for a file that has something in it, or any with -e.
until_there() {
	local i
	for i in $(seq 1000); do
		[ -e "$1" ] && return
		sleep 0.02
	done
	fail "there is no $1"
}

# counter_start OPTION...: the recorder in a group of its own, whose leader is $recorder.
counter_start() {
	rm -f got stop ready
	setsid lull record -q --overwrite -o trace "$@" -- ./counter &
	recorder=$!
	until_there ready
}

# counter_end COUNT WHAT: no more signals come, and the program got as many.
counter_end() {
	local i status=0
	for i in $(seq 100); do
		[ "$(wc -l < got)" -ge "$1" ] && break
		sleep 0.02
	done
	sleep 0.3
	touch stop
	wait "$recorder" || status=$?
	same "$status" 4 "the status after $2"
	same "$(wc -l < got)" "$1" "signals after $2"
}

signals_to_the_recorder_reach_the_program_once() {
	local name
	counter_build
	for name in INT TERM HUP QUIT USR2; do
		counter_start
		kill -$name "$recorder"
		counter_end 1 "kill -$name of the recorder"
	done
}

signals_to_the_group_reach_the_program_once() {
	local name
	counter_build
	for name in INT TERM HUP QUIT USR2; do
		counter_start
		kill -$name -- "-$recorder"
		counter_end 1 "kill -$name of the group"
	done
}

signals_to_recorder_and_group_by_turns_are_told_apart() {
	local i
	counter_build
	counter_start
	for i in 1 2 3 4 5; do
		kill -TERM "$recorder"
		until_lines $((2 * i - 1))
		kill -TERM -- "-$recorder"
		until_lines $((2 * i))
	done
	counter_end 10 "five to the recorder and five to the group"
}

until_lines() {
	local i
	for i in $(seq 500); do
		[ "$(wc -l < got)" -ge "$1" ] && sleep 0.1 && return
		sleep 0.02
	done
	fail "the program got $(wc -l < got) signals, not $1"
}

# timeout signals its child and then its group, which a program that it starts directly may find
# to be one signal or two.
timeout_reaches_the_program_as_without_a_recorder() {
	local status=0
	counter_build
	(until_there got && until_lines 1 && sleep 0.3 && touch stop) &
	timeout 2 lull record -q -o trace -- ./counter || status=$?
	same "$status" 124 "the status of timeout"
	grep -qx '[12]' <<< "$(wc -l < got)" || fail "signals of timeout: $(wc -l < got)"
}

interrupts_of_the_terminal_reach_the_program_once() {
	counter_build
	cat > terminal.py <<-'END2'
		import os, pty, sys, time

		child, terminal = pty.fork()
		if child == 0:
		    os.execvp("lull", ["lull", "record", "-q", "-o", "trace", "--", "./counter"])
		for _ in range(1000):
		    if os.path.exists("ready"):
		        break
		    time.sleep(0.02)
		os.write(terminal, b"\x03")
		time.sleep(0.5)
		os.write(terminal, b"\x1c")
		time.sleep(0.5)
		open("stop", "w").close()
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
	END2
	status_is 4 python3 terminal.py
	same "$(tr '\n' ' ' < got)" "2 3 " "what control-C and control-backslash sent"
}

signals_to_processes_named_like_the_recorder_reach_the_program() {
	counter_build
	counter_start
	python3 - "$recorder" <<-'END2'
		# As pkill does, by name or by command line, in this session only.
		import os, signal, sys
		for pid in filter(str.isdigit, os.listdir("/proc")):
		    try:
		        if os.getsid(int(pid)) != int(sys.argv[1]):
		            continue
		        name = open(f"/proc/{pid}/comm").read()
		        line = open(f"/proc/{pid}/cmdline", "rb").read()
		    except OSError:
		        continue
		    if "lull" in name or b"lull" in line:
		        os.kill(int(pid), signal.SIGTERM)
	END2
	counter_end 1 "a signal by name"
}

a_signal_ends_the_wait_for_descendants() {
	local recorder i
	cat > leaver.sh <<-'END2'
		setsid sleep 60 > /dev/null 2>&1 &
		echo $! > descendant
		exit 6
	END2
	strace -o calls -e trace=kill,wait4 lull record -q --wait-all -o trace -- sh leaver.sh &
	until_there descendant
	for i in $(seq 500); do
		recorder=$(pgrep -P $! lull) && grep -q 'WEXITSTATUS(s) == 6' calls && break
		sleep 0.02
	done
	sleep 0.3
	kill -TERM "$recorder"
	status_is 6 wait $!
	kill -0 "$(cat descendant)" || fail "the descendant was signalled"
	kill "$(cat descendant)"
	! grep 'kill(.*SIGTERM' calls || fail "a signal was passed on to a program that had ended"
	[ "$(lull print trace | grep -c process:start)" -ge 2 ] || fail "the trace is not whole"
}

# Rust's runtime opens /dev/null where a standard descriptor is closed.
standard_descriptors_that_are_closed_are_closed_for_the_program() {
	session_begin closed
	cat > open.c <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		int main(void)
		{
			/* It may have one of the numbers. */
			FILE *said = fopen("said", "a");
			int own = fileno(said);

			for (int i = 0; i < 3; i++)
				fputs(i == own || fcntl(i, F_GETFD) < 0 ?
					      "closed " : "open ", said);
			fputs("\n", said);
			return 0;
		}
	END
	gcc -O1 -o open open.c
	lull start -q --name "$session" -o session
	local start wanted="closed open open ;open closed open ;open open closed ;"
	wanted+="closed closed closed ;open open open ;"
	for start in '' "lull record -q --overwrite -o trace --" "lull run $session --" \
		"lull count -q -e io:* --"; do
		rm -f said
		set -f
		$start ./open <&- > output 2> errors
		$start ./open < /dev/null >&- 2> errors
		$start ./open < /dev/null > output 2>&-
		$start ./open <&- >&- 2>&-
		$start ./open < /dev/null > output 2> errors
		set +f
		same "$(tr '\n' ';' < said)" "$wanted" "what '$start' leaves open"
	done
	lull stop "$session" > /dev/null 2>&1
}
