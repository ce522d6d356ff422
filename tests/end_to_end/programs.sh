# SPDX-License-Identifier: MIT
# Debian's programs under `lull record`: same output, same status, a clean trace.

# unchanged NAME COMMAND...: run plainly and recorded, compare, read the trace twice.
unchanged() {
	local name=$1 plain=0 recorded=0
	shift
	"$@" > "$name.plain" 2> "$name.plain.errors" || plain=$?
	lull record -q -o "$name.trace" -- "$@" > "$name.recorded" 2> "$name.recorded.errors" ||
		recorded=$?
	same "$recorded" "$plain" "the status of $name"
	cmp "$name.plain" "$name.recorded" || fail "$name prints something else"
	cmp "$name.plain.errors" "$name.recorded.errors" || fail "$name complains otherwise"
	readers_agree "$name.trace"
	lull report "$name.trace" > "$name.report" || fail "$(cat "$name.report")"
}

bash_is_unchanged() {
	unchanged bash bash -c '
		for i in 1 2 3; do (echo "$i" | tr 1-3 a-c; exit "$i"); echo $?; done
		exit 9'
}

a_program_inherits_no_descriptor_from_the_recorder() {
	unchanged descriptors bash -c 'sleep 0.2; ls /proc/self/fd'
}

# As in a service of systemd, which ignores SIGPIPE.
a_program_ignores_the_signals_that_are_ignored_where_it_is_started() {
	for ignored in '' PIPE 'PIPE CHLD XFSZ HUP'; do
		(for signal in $ignored; do trap '' "$signal"; done
		unchanged signals grep SigIgn /proc/self/status)
		lull start --name signals -o joined.trace > start
		(for signal in $ignored; do trap '' "$signal"; done
		lull run signals -- grep SigIgn /proc/self/status > joined)
		lull stop signals 2> stop
		cmp signals.plain joined || fail "lull run ignores others"
		rm -r signals.trace joined.trace
	done
}

python_is_unchanged() {
	unchanged python python3 -c '
import subprocess, sys, threading, os
lock = threading.Lock()
count = 0
def work():
    global count
    for _ in range(1000):
        with lock:
            count += 1
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(count, subprocess.run(["sh", "-c", "exit 3"]).returncode)
print(subprocess.check_output(["echo", "x"]))
pid = os.fork()
if pid == 0:
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.exit(4)'
}

# labels EVENT: the names that the thread has in the events of that name, one after the other.
labels() {
	lull print --json trace | grep "\"name\":\"$1\"" |
		sed 's/.*"thread":{"name":"\([^"]*\)".*/\1/' | uniq | xargs
}

# One CPU, so that each program goes on in the ring where the one before it stopped.
events_carry_the_name_that_their_thread_has_then() {
	cat > renamed.c <<-'EOF'
		#include <sys/prctl.h>
		#include <unistd.h>
		int main(void)
		{
			usleep(1);
			prctl(PR_SET_NAME, "renamed");
			usleep(1);
			return 0;
		}
	EOF
	gcc -o first renamed.c
	lull record -q -o trace -- taskset -c 0 nice ./first
	same "$(labels process:start)" "taskset nice first" "programs that follow each other"
	same "$(labels thread:sleep_entry)" "first renamed" "names of a thread that sleeps"
}

git_is_unchanged() {
	git init -q repository
	cd repository
	git config user.name t
	git config user.email t@localhost
	seq 1 100 > numbers
	git add numbers
	GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git commit -q --date 2020-01-01T00:00:00Z -m first
	cd ..
	unchanged git git -C repository log --stat
	unchanged git-diff git -C repository diff --exit-code HEAD
}

gcc_is_unchanged() {
	printf '#include <stdio.h>\nint main(void) { printf("hello\\n"); return 0; }\n' > hello.c
	unchanged gcc gcc -O2 -c -o hello.o hello.c
	mv hello.o recorded.o
	gcc -O2 -c -o hello.o hello.c
	cmp hello.o recorded.o
	unchanged gcc-error gcc -c no-such-file.c
}

xz_is_unchanged() {
	seq 1 300000 > numbers
	unchanged xz xz -T2 -k -c numbers
}

redis_server_serves_its_benchmark() {
	local port=$((20000 + $$ % 20000)) server
	lull record -q -o trace -- redis-server --port $port --bind 127.0.0.1 --save '' \
		--appendonly no > server.log 2>&1 &
	server=$!
	for _ in $(seq 100); do
		redis-cli -p $port ping 2> /dev/null | grep -q PONG && break
		sleep 0.1
	done
	redis-benchmark -q -p $port -n 20000 -c 10 -t set,get > benchmark ||
		fail "$(cat server.log)"
	redis-cli -p $port shutdown nosave || true
	status_is 0 wait $server
	readers_agree trace
	lull report trace > report || fail "$(cat report)"
}
