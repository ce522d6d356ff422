# SPDX-License-Identifier: MIT
# Programs that run already: `lull record -p` joins them and leaves them as they were.

cycles=${ATTACH_CYCLES:-20}

# sums_of PID OBJECT: sums of what is mapped of an object and not writable: its code, and the table
# of its calls where that is guarded.
sums_of() {
	python3 - "$1" "$2" <<-'END'
		import hashlib, sys
		pid, name = sys.argv[1:]
		memory = open(f"/proc/{pid}/mem", "rb")
		for line in open(f"/proc/{pid}/maps"):
		    words = line.split()
		    if len(words) < 6 or not words[5].endswith(name) or words[1][0] != "r":
		        continue
		    if words[1][1] == "w":
		        continue  # data of the program's
		    begin, until = (int(word, 16) for word in words[0].split("-"))
		    memory.seek(begin)
		    print(words[0], hashlib.sha256(memory.read(until - begin)).hexdigest())
	END
}

# busy_program: $program, a process that opens files, and its code's sums in the file `before`.
busy_program() {
	python3 -c '
import time
print("ready", flush=True)
while True:
    open("/dev/null").close()
    time.sleep(0.001)
' > ready &
	program=$!
	for _ in $(seq 200); do
		grep -q ready ready && return
		sleep 0.05
	done
	fail "python3 does not start"
}

running_program_is_recorded_and_is_as_before_afterwards() {
	busy_program
	sums_of $program /python3* > before
	sums_of $program libc.so.6 >> before
	for _ in $(seq "$cycles"); do
		lull record -q -p $program -e 'io:open*' -o trace --overwrite --duration 100ms
		lull print trace > events
		grep -q 'io:open.*/dev/null' events || fail "nothing of it was recorded"
		lull state trace > state
		grep -q "^python3[.0-9]*\[$program\]" state ||
			fail "its program is not known: $(cat state)"
		sums_of $program /python3* > after
		sums_of $program libc.so.6 >> after
		diff before after || fail "its code or its tables are not as before"
	done
	kill -0 $program || fail "it ended"
	kill $program
}

library_that_is_loaded_later_is_recorded_and_is_as_before_afterwards() {
	cat > peek.c <<- 'END'
		#include <fcntl.h>
		#include <unistd.h>
		int peek(void)
		{
			return close(open("/etc/hostname", O_RDONLY));
		}
	END
	gcc -O2 -shared -fPIC -o libpeek.so peek.c
	python3 -u -c '
import ctypes, os, time
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
library = ctypes.CDLL("./libpeek.so")
while True:
    assert library.peek() == 0
    time.sleep(0.01)
' > ready &
	program=$!
	for _ in $(seq 200); do
		grep -q ready ready && break
		sleep 0.05
	done
	lull record -q -p $program -e 'io:open*' -o trace --duration 2s &
	sleep 1
	touch go
	wait $!
	lull print trace > events
	grep -q 'io:open.*/etc/hostname' events || fail "calls of the library are not recorded"
	sums_of $program libpeek.so > sums
	lull record -q -p $program -e 'io:open*' -o trace --overwrite --duration 200ms
	lull print trace | grep -q 'io:open.*/etc/hostname' || fail "nor are they the second time"
	sums_of $program libpeek.so | diff sums - || fail "its code or its tables are not as before"
	kill -0 $program || fail "it ended"
	kill $program
}

server_under_load_answers_every_request_while_it_is_recorded() {
	local port=$((20000 + $$ % 20000)) load
	redis-server --port $port --save "" > server.log &
	program=$!
	for _ in $(seq 100); do
		redis-cli -p $port ping > answer 2>&1 && break
		sleep 0.05
	done
	redis-benchmark -p $port -q -c 20 -l -t get,set > load.log 2>&1 &
	load=$!
	for _ in $(seq "$cycles"); do
		lull record -q -p $program -o trace --overwrite --duration 50ms
	done
	kill -0 $load || fail "the load ended: $(tail -c 500 load.log)"
	kill $load
	! grep -i error load.log || fail "requests failed"
	same "$(redis-cli -p $port ping)" PONG "its answer"
	kill $program
}

recorder_that_is_killed_leaves_the_program_running_and_it_can_be_recorded_again() {
	local recorder
	busy_program
	for i in $(seq 10); do
		lull record -q -p $program -o "killed$i" > lines 2>&1 &
		recorder=$!
		sleep "0.$(printf %03d $((i * 37)))"
		kill -KILL $recorder
		wait $recorder 2> errors || true
		kill -0 $program || fail "it ended with its recorder"
	done
	lull record -q -p $program -e 'io:open*' -o trace --duration 200ms
	lull print trace | grep -q 'io:open.*/dev/null' || fail "nothing of it was recorded"
	for i in $(seq 10); do
		[ ! -e "killed$i" ] || lull recover "killed$i" > lines 2>&1 || true
	done
	kill $program
}

# What the linker did before is still on its only thread's stack.
shell_that_waits_for_a_line_is_recorded() {
	mkfifo lines
	bash -c 'while read -r line; do : < /dev/null; done' < lines &
	program=$!
	exec 7> lines
	lull record -p $program -e 'io:open*' -o trace --duration 1s 2> told &
	until_done grep -q joined told
	echo 1 >&7
	wait $! || fail "$(cat told)"
	lull print trace | grep -q 'io:open.*/dev/null' || fail "nothing of it was recorded"
	exec 7>&-
	wait $program
}

programs_that_an_attached_program_executes_are_a_limit_and_no_loss() {
	mkfifo lines
	bash -c 'while read -r line; do /bin/true; done' < lines &
	program=$!
	exec 7> lines
	lull record -p $program -o trace --duration 1s 2> told &
	until_done grep -q joined told
	echo 1 >&7
	wait $! || fail "$(cat told)"
	lull print trace | grep -q 'process:exec_entry.*/bin/true' || fail "nothing was executed"
	grep -q 'complete within these limits' told || fail "$(cat told)"
	grep -q 'nor the programs that they execute' told || fail "$(cat told)"
	exec 7>&-
	wait $program
}

processes_that_cannot_join_are_refused_with_the_reason_and_untouched() {
	local status=0
	lull record -p 4194304 -o trace 2> errors || status=$?
	same $status 125 "the status"
	grep -q 'there is no process 4194304' errors || fail "$(cat errors)"
	if grep -qx kthreadd /proc/2/comm; then
		status_is 125 lull record -p 2 -o trace 2> errors
		grep -q "thread of the kernel's" errors || fail "$(cat errors)"
	fi
	sleep 60 &
	program=$!
	sleep 0.2
	kill -STOP $program
	for _ in $(seq 200); do
		grep -q '^State:.T' /proc/$program/status && break
		sleep 0.05
	done
	status=0
	lull record -p $program -o trace 2> errors || status=$?
	same $status 125 "the status"
	grep -q 'is stopped' errors || fail "$(cat errors)"
	! grep liblull /proc/$program/maps > maps || fail "it was touched: $(cat maps)"
	kill -KILL $program
}

# attached_twice SERVER COMMAND...: a server of bench/attach, in a short form of make attach-long.
attached_twice() {
	local server=$1 command
	shift
	for command in "$@"; do
		command -v "$command" > found ||
			compgen -G "/usr/lib/postgresql/*/bin/$command" > found ||
			skip "$command is not installed"
	done
	"$root/bench/attach/run" --quick --cycles 2 --server "$server" \
		--output results > lines 2>&1 || fail "$(cat lines)"
	! grep -i 'failed:' results/attach.json || fail "$server did not go through it"
	grep -q _stop_p50 results/attach.json || fail "nothing: $(cat results/attach.json)"
}

redis_under_load_is_attached_to_and_left() {
	attached_twice redis redis-server
}

postgres_under_load_is_attached_to_and_left() {
	[ "$(id -u)" -eq 0 ] || skip "becoming the user postgres needs root"
	attached_twice postgres postgres pgbench
}

java_under_load_is_attached_to_and_left() {
	attached_twice JVM java javac
}

python_under_load_is_attached_to_and_left() {
	attached_twice python3 python3
}

node_under_load_is_attached_to_and_left() {
	attached_twice node node
}

# Calls that a debugger's stop ends with EINTR.
programs_that_wait_without_a_signal_in_sight_are_not_interrupted_when_they_join() {
	cat > wait.c <<-'EOF'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <signal.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/epoll.h>
		#include <sys/sem.h>
		#include <sys/socket.h>
		#include <sys/time.h>
		#include <unistd.h>
		int main(int count, char **arguments)
		{
			const char *mode = count > 1 ? arguments[1] : "epoll";
			int ends[2], set = epoll_create1(0), got = -1;
			int sem = semget(IPC_PRIVATE, 1, 0600);
			struct epoll_event event = { .events = EPOLLIN };
			struct timeval limit = { .tv_sec = 100 };
			struct sembuf down = { .sem_op = -1 }, up = { .sem_op = 1 };
			sigset_t set_of_one;
			char byte;

			socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
			setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
			epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
			sigemptyset(&set_of_one);
			sigaddset(&set_of_one, SIGUSR1);
			sigprocmask(SIG_BLOCK, &set_of_one, NULL);
			if (!fork()) { /* wakes its parent when it is told to */
				read(0, &byte, 1);
				write(ends[1], "x", 1);
				semop(sem, &up, 1);
				kill(getppid(), SIGUSR1);
				_exit(0);
			}
			if (!strcmp(mode, "epoll"))
				got = epoll_wait(set, &event, 1, -1);
			if (!strcmp(mode, "receive"))
				got = recv(ends[0], &byte, 1, 0);
			if (!strcmp(mode, "semaphore"))
				got = semop(sem, &down, 1);
			if (!strcmp(mode, "signal"))
				got = sigwaitinfo(&set_of_one, NULL);
			printf("%s\n", got < 0 ? strerror(errno) : "woken");
			semctl(sem, 0, IPC_RMID);
			return 0;
		}
	EOF
	gcc -O2 -o wait wait.c
	mkfifo lines
	for mode in epoll receive semaphore signal; do
		./wait $mode < lines > answer &
		program=$!
		exec 7> lines
		until_done grep -q '^\(232\|45\|65\|220\|128\) ' /proc/$program/syscall
		lull record -q -p $program -o trace --overwrite --duration 50ms ||
			fail "$mode: it is not recorded"
		echo >&7
		exec 7>&-
		wait $program
		same "$(cat answer)" woken "what ended $mode"
	done
}

# Libraries go by calls that were bound before liblull was there, also while it is made to join.
process_that_loads_and_unloads_libraries_all_the_time_joins() {
	echo 'int plain(void) { return 1; }' > plain.c
	gcc -O2 -shared -fPIC -o plain.so plain.c
	gcc -O2 -shared -fPIC -I"$root/core/include" -o events.so -xc - <<- 'END'
		#include <lull/trace.h>
		__attribute__((constructor)) static void begin(void)
		{
			lull_event("library:begin");
		}
	END
	cat > reload.c <<- 'END'
		#include <dlfcn.h>
		#include <stdlib.h>
		#include <unistd.h>
		int main(int count, char **arguments)
		{
			alarm(300);
			for (int i = 1;; i = i % (count - 1) + 1) {
				void *library = dlopen(arguments[i], RTLD_NOW);

				if (!library)
					abort();
				usleep(1000);
				dlclose(library);
				usleep(1000);
			}
		}
	END
	gcc -O2 -o reload reload.c
	./reload ./plain.so ./events.so &
	program=$!
	for _ in $(seq "$cycles"); do
		lull record -q -p $program -e 'library:*' -e 'dl:*' -o trace --overwrite \
			--duration 50ms 2> errors || fail "$(cat errors)"
		lull print trace > events
		grep -q 'dl:open_entry' events || fail "nothing of it was recorded"
		kill $program
		wait $program || true
		./reload ./plain.so ./events.so &
		program=$!
		sleep 0.0$((RANDOM % 10))
	done
	kill $program
}

process_whose_first_thread_has_ended_joins() {
	gcc -O2 -pthread -o left -xc - <<- 'END'
		#include <fcntl.h>
		#include <pthread.h>
		#include <unistd.h>
		static void *go_on(void *unused)
		{
			alarm(60);
			for (;;) {
				close(open("/dev/null", O_RDONLY));
				usleep(1000);
			}
			return unused;
		}
		int main(void)
		{
			pthread_t thread;

			pthread_create(&thread, NULL, go_on, NULL);
			pthread_exit(NULL);
		}
	END
	./left &
	program=$!
	for _ in $(seq 100); do
		grep -q 'State:.Z' /proc/$program/status && break
		sleep 0.05
	done
	lull record -q -p $program -e 'io:open*' -o trace --duration 100ms 2> errors ||
		fail "$(cat errors)"
	lull print trace | grep -q 'io:open_exit.*/dev/null' || fail "nothing of it was recorded"
	lull state trace > state
	grep -q "^left\[$program\]" state || fail "its program is not known: $(cat state)"
	kill $program
}

# A child of vfork(2) has its parent's memory, which must not join in its place.
process_that_executes_a_program_meanwhile_joins_as_that() {
	gcc -O2 -o starter -xc - <<- 'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(int count, char **arguments)
		{
			pid_t child;

			alarm(60);
			while (count > 1) {
				close(open("/dev/null", O_RDONLY));
				usleep(1000);
			}
			child = vfork();
			if (child == 0) {
				dprintf(1, "%d\n", (int)getpid());
				close(open("pipe", O_RDONLY));
				execl("./starter", "starter", "again", NULL);
				_exit(1);
			}
			return waitpid(child, NULL, 0) != child;
		}
	END
	mkfifo pipe
	./starter > child &
	for _ in $(seq 100); do
		[ -s child ] && break
		sleep 0.05
	done
	program=$(cat child)
	lull record -p "$program" -e 'io:open*' -o trace --duration 100ms 2> errors &
	recorder=$!
	sleep 0.3
	: > pipe
	wait $recorder || fail "$(cat errors)"
	grep -q "starter ($program) joined" errors || fail "$(cat errors)"
	lull print trace | grep -q 'io:open_exit.*/dev/null' || fail "nothing of it was recorded"
	! lull print trace | grep -q 'pipe' || fail "its parent's memory was in the session"
	kill "$program"
	wait
}
