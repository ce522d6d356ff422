# SPDX-License-Identifier: MIT
# Contexts of programs' events: `lull record --context` without the kernel's events.

# nested NAME FLAG...: a program whose events are three calls deep, in two processes and a thread.
nested() {
	local name=$1
	shift
	cat > nested.c <<-'EOC'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <ucontext.h>
		#include <unistd.h>
		#define PLAIN __attribute__((noinline, noclone))
		static ucontext_t back, there;
		static char stack[1 << 16], other_stack[1 << 16];
		PLAIN int inner(int x)
		{
			lull_event("demo:hit", lull_i32(x, x));
			return x + 1;
		}
		PLAIN int middle(int x) { return inner(x) * 2 + 1; }
		PLAIN int outer(int x) { return middle(x) * 3 + 1; }
		static void *in_thread(void *unused)
		{
			(void)unused;
			outer(2);
			return NULL;
		}
		static void handler(int number)
		{
			(void)number;
			outer(3);
		}
		static void coroutine(void) { outer(4); }
		int main(int count, char **arguments)
		{
			struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
			stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
			pthread_t thread;
			(void)arguments;
			outer(0);
			for (volatile int i = 0; i < 20000000; i++)
				;
			if (!fork()) {
				outer(1);
				_exit(0);
			}
			wait(NULL);
			pthread_create(&thread, NULL, in_thread, NULL);
			pthread_join(thread, NULL);
			sigaltstack(&own, NULL);
			sigaction(SIGUSR1, &action, NULL);
			raise(SIGUSR1);
			getcontext(&there);
			there.uc_stack.ss_sp = other_stack;
			there.uc_stack.ss_size = sizeof(other_stack);
			there.uc_link = &back;
			makecontext(&there, coroutine, 0);
			swapcontext(&back, &there);
			outer(5);
			for (; count > 1; usleep(1000))
				outer(6);
			return 0;
		}
	EOC
	gcc -g -O2 -pthread -fno-optimize-sibling-calls "$@" \
		-I"$root/core/include" -o "$name" nested.c
}

# value_of TRACE X PATH: a value of the event whose x is X, by a path of keys.
value_of() {
	lull print --json -e demo:hit "$1" | python3 -c '
import json, sys
x, path = int(sys.argv[1]), sys.argv[2].split(".")
for line in sys.stdin:
    event = json.loads(line)
    if event["fields"]["x"] == x:
        for key in path:
            event = event[key]
        print(event)
        break
' "$2" "$3"
}

# of X PATH: the same of the trace `trace`.
of() {
	value_of trace "$@"
}

# frames_of X: how many the event's call stack has.
frames_of() {
	of "$1" fields.user_stack | wc -w
}

contexts_of_programs_are_what_the_system_says_of_them() {
	nested nested
	lull record -q -o trace -e 'demo:*' \
		--context pid,tid,comm,prio,cpu,uid,pid_ns,net_ns,mnt_ns,user_ns,cgroup,cpu_time \
		-- nice -n 3 ./nested
	readers_agree trace
	for ns in pid net mnt user; do
		same "$(of 1 context.${ns}_ns)" \
			"$(readlink /proc/self/ns/$ns | tr -dc 0-9)" "the namespace $ns of a child"
	done
	same "$(of 0 context.prio)" $((120 + $(nice) + 3)) "the priority"
	same "$(of 0 context.uid)" "$(id -u)" "the user"
	same "$(of 2 context.comm)" nested "the thread's name"
	for x in 0 1 2 5; do
		same "$(of $x context.pid)" "$(of $x thread.pid)" "the process"
		same "$(of $x context.tid)" "$(of $x thread.tid)" "the thread"
	done
	[ "$(of 5 context.tid)" != "$(of 2 context.tid)" ] || fail "one thread"
	[ "$(of 5 context.cpu_time)" -gt "$(of 0 context.cpu_time)" ] ||
		fail "no time of the processor was used"
	[ "$(of 2 context.cpu_time)" -lt "$(of 5 context.cpu_time)" ] ||
		fail "the time is not the thread's own"
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
		same "$(of 0 context.cgroup)" "$(stat -c %i "$group")" "the group"
	else
		same "$(of 0 context.cgroup)" 0 "the group"
	fi
}

call_stacks_lead_to_main_by_the_names_of_functions() {
	nested nested -fno-omit-frame-pointer
	lull record -q -o trace -e 'demo:*' --context user_stack -- ./nested
	readers_agree trace
	lull report flame trace --of stacks > stacks
	for x in 0 1 5; do
		[ "$(frames_of $x)" -ge 4 ] || fail "$(lull print trace)"
	done
	grep -q 'main;outer;middle;inner;demo:hit' stacks || fail "$(cat stacks)"
	grep -q 'in_thread;outer;middle;inner;demo:hit' stacks || fail "$(cat stacks)"
	# Where the stack is not the thread's, only the innermost function is told.
	for x in 3 4; do
		same "$(frames_of $x)" 1 "frames on a stack of its own"
	done
	lull record -q -o trace --overwrite -e 'demo:*' --context user_stack:2 -- ./nested
	same "$(frames_of 0)" 2 "the frames of user_stack:2"
}

print_names_the_functions_of_call_stacks_where_their_files_are_as_they_were() {
	nested nested -fno-omit-frame-pointer
	lull record -q -o trace -e 'demo:*' --context user_stack -- ./nested
	lull print trace -e demo:hit > named 2> notes || fail "$(cat notes)"
	stack='user_stack=\[inner+0x[0-9a-f]* middle+0x[0-9a-f]* outer+0x[0-9a-f]* main+0x'
	grep -q "$stack" named || fail "$(cat named)"
	! grep -q nested notes || fail "its build is known: $(cat notes)"
	lull print trace -e demo:hit --json 2> /dev/null | head -n 1 > named.json
	grep -q '"symbols":{"user_stack":\["inner+0x[^"]*","middle+0x[^"]*","outer+0x' named.json ||
		fail "$(cat named.json)"
	grep -q '"user_stack":\[[0-9]*,[0-9]*,' named.json || fail "no addresses: $(cat named.json)"
	# From the middle, what was loaded before is known; so it is where only some are shown.
	lull print trace -e 'demo:hit if x == 1' --utc 2> /dev/null > one
	lull print trace --utc --from "$(cut -d ' ' -f 1 one)Z" -n 1 > later 2> notes ||
		fail "$(cat notes)"
	same "$(cat later)" "$(cat one)" "the first event from the child's on"
	grep -q "$stack" later || fail "$(cat later)"
	lull print trace -e demo:hit --addresses > plain 2> notes || fail "$(cat notes)"
	! grep -q 'inner+\|outer+' plain || fail "$(cat plain)"
	grep -q 'user_stack=\[0x[0-9a-f]* 0x' plain || fail "$(cat plain)"
	[ ! -s notes ] || fail "$(cat notes)"
	# What is at the path now is another file, or none that may be opened.
	not_named() {
		timeout 60 lull print trace -e demo:hit > unnamed 2> notes || fail "$(cat notes)"
		! grep -q 'inner+\|outer+' unnamed || fail "$1: $(cat unnamed)"
		grep -q "not read: .*nested ($2" notes || fail "$1: $(cat notes)"
	}
	cp nested kept
	touch nested
	lull print trace -e demo:hit 2> /dev/null | grep -q "$stack" || fail "the same build"
	gcc -g -O1 -pthread -I"$root/core/include" -o nested nested.c
	not_named "a changed file" "it is another build than the one that ran"
	rm nested
	not_named "no file" "it cannot be opened"
	mkfifo nested
	not_named "a pipe" "it is no regular file"
	rm nested
	mkdir nested
	not_named "a folder" "it is no regular file"
	rmdir nested
	ln -s /dev/zero nested
	not_named "a device" "it is no regular file"
	rm nested
	# A stripped one has no names, and that is no fault of the file's.
	strip kept -o nested
	lull record -q -o stripped -e 'demo:*' --context user_stack -- ./nested
	lull print stripped -e demo:hit > unnamed 2> notes || fail "$(cat notes)"
	! grep -q 'inner+' unnamed || fail "$(cat unnamed)"
	grep -q 'user_stack=\[0x[0-9a-f]* 0x' unnamed || fail "$(cat unnamed)"
	# Without a build id there is the file's clock.
	nested nested -fno-omit-frame-pointer -Wl,--build-id=none
	lull record -q -o trace --overwrite -e 'demo:*' --context user_stack -- ./nested
	lull print trace -e demo:hit > named 2> notes || fail "$(cat notes)"
	grep -q "$stack" named || fail "$(cat named)"
	grep -q "not verified where the trace has only the file's path: .*nested" notes ||
		fail "$(cat notes)"
	touch nested
	not_named "a changed file" "by its clock it was changed"
}

exports_and_later_parts_have_the_names_of_functions_in_call_stacks() {
	nested nested -fno-omit-frame-pointer
	lull record -q -o trace -e 'demo:*' --context user_stack -- ./nested
	lull print trace -e 'demo:hit if x == 1' --utc 2> /dev/null > one
	from=$(cut -d ' ' -f 1 one)Z
	stack='inner+0x[0-9a-f]*, middle+0x[0-9a-f]*, outer+0x[0-9a-f]*, main+0x'
	for form in chrome firefox perfetto; do
		for span in "" "--from $from"; do
			# shellcheck disable=SC2086
			lull export --$form $span -o - trace > out 2> notes || fail "$(cat notes)"
			grep -aq "$stack" out || fail "$form $span: $(grep -a 0x out)"
		done
	done
	lull report flame trace --of stacks --from "$from" > stacks
	grep -q 'main;outer;middle;inner;demo:hit' stacks || fail "$(cat stacks)"
	mv nested other
	lull export --chrome -o - trace > out 2> notes || fail "$(cat notes)"
	grep -q 'nested (it cannot be opened)' notes || fail "$(cat notes)"
}

program_without_frame_pointers_is_recorded_whole() {
	nested nested -fomit-frame-pointer
	lull record -q -o trace -e 'demo:*' --context user_stack:128,tid -- ./nested
	same "$(lull print trace -e demo:hit | wc -l)" 6 "events without frames"
	lull report flame trace --of stacks | grep -q 'inner;demo:hit' || fail "no first function"
	readers_agree trace
}

# Through the C library, which Debian builds without frame pointers: qsort() calls compare().
stacks_of_programs_without_frame_pointers_are_found_in_a_copy_by_tables() {
	cat > sorts.c <<-'EOC'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <stdlib.h>
		#define PLAIN __attribute__((noinline, noclone))
		PLAIN static int compare(const void *a, const void *b)
		{
			int x = *(const int *)a, y = *(const int *)b;
			lull_event("demo:hit", lull_i32(x, x));
			return x < y ? -1 : x > y;
		}
		PLAIN static int sort(int size)
		{
			volatile char room[size];
			int values[] = { 3, 1, 2 };
			room[size - 1] = 1;
			qsort(values, 3, sizeof(values[0]), compare);
			return room[size - 1];
		}
		PLAIN static int deep(int depth) { return depth ? deep(depth - 1) + 1 : sort(100); }
		static void *in_thread(void *unused)
		{
			sort(200);
			return unused;
		}
		int main(void)
		{
			pthread_t thread;
			deep(4);
			pthread_create(&thread, NULL, in_thread, NULL);
			return pthread_join(thread, NULL);
		}
	EOC
	gcc -g -O2 -pthread -fomit-frame-pointer -fno-optimize-sibling-calls \
		-I"$root/core/include" -o sorts sorts.c
	lull record -q -o trace -e 'demo:*' --context user_stack_copy -- ./sorts
	babeltrace2 trace > text || fail "babeltrace2: $(cat text)"
	grep -q 'user_stack_copy = \[' text || fail "$(head text)"
	lull report flame trace --of stacks -e demo:hit --folded - > stacks
	grep -q ';main;deep;deep;deep;deep;deep;sort;.*qsort.*;compare;demo:hit' stacks ||
		fail "$(cat stacks)"
	grep -q ';in_thread;sort;.*qsort.*;compare;demo:hit' stacks || fail "$(cat stacks)"
	lull print trace -e demo:hit 2> said | head -n 1 > line
	grep -q ' user_stack_copy=\[compare+0x[0-9a-f]* .*qsort.* sort+0x.* main+0x' line ||
		fail "$(cat line)"
	lull print trace --json -e demo:hit 2> said | head -n 1 | python3 -c '
import json, sys
event = json.loads(sys.stdin.readline())
frames, words = event["symbols"]["user_stack_copy"], event["fields"]["user_stack_copy"]
assert frames[0]["address"] == words[0] and frames[0]["place"].startswith("compare+"), frames
' || fail "no frames in JSON"
	lull print trace --addresses -e demo:hit > words
	! grep -q compare words || fail "a file was opened"
	lull report flame trace --of stacks -e demo:hit > said
	! grep -q 'copies of stacks' said || fail "a stack is not whole: $(cat said)"
	lull record -q -o short -e 'demo:*' --context user_stack_copy:128,tid -- ./sorts
	lull report flame short --of stacks -e demo:hit > stacks
	grep -q 'copies of stacks end before the outermost function' stacks ||
		fail "$(cat stacks)"
	! grep -q main stacks || fail "$(cat stacks)"
	# A file that is another by now has no tables that hold: the first function is all there is.
	lull record -q -o changed -e 'demo:*' --context user_stack_copy -- ./sorts
	gcc -O1 -pthread -fomit-frame-pointer -I"$root/core/include" -o sorts sorts.c
	lull report flame changed --of stacks -e demo:hit > stacks
	grep -q 'lead to code whose caller no table tells' stacks || fail "$(cat stacks)"
	! grep -q 'main;' stacks || fail "$(cat stacks)"
}

contexts_are_of_the_session_that_asks_and_of_no_other() {
	nested nested -fno-omit-frame-pointer
	lull record -q -o one -e 'demo:*' --context tid,user_stack -- \
		lull record -q -o two -e 'demo:*' -- \
		lull record -q -o three -e 'demo:*' --context cpu_time -- ./nested
	readers_agree one
	readers_agree two
	readers_agree three
	for trace in one two three; do
		lull print $trace -e demo:hit | sed 's/.* x=//' > hits
		same "$(xargs < hits)" "0 1 2 3 4 5" "what is in $trace"
	done
	! lull print two -e demo:hit | grep -q '[{]\|user_stack' || fail "$(lull print two)"
	! lull print three -e demo:hit | grep -q 'tid=\|user_stack' || fail "$(lull print three)"
	lull print one -e demo:hit | grep -q '{tid=.*user_stack=' || fail "$(lull print one)"
}

running_programs_are_asked_for_contexts() {
	nested nested -fno-omit-frame-pointer
	./nested forever &
	program=$!
	sleep 0.3
	for _ in 1 2 3; do
		lull record -q -p $program -o trace --overwrite -e 'demo:*' \
			--context tid,cpu_time,user_stack,pid_ns --duration 200ms
		same "$(of 6 context.tid)" "$program" "the thread"
		lull report flame trace --of stacks | grep -q 'main;outer;middle;inner;demo:hit' ||
			fail "$(lull report flame trace --of stacks; lull print trace | head)"
		# The place of a session with contexts is taken by one without.
		lull record -q -p $program -o plain --overwrite -e 'demo:*' --duration 100ms
		lull print plain -e demo:hit > hits
		! grep -q 'user_stack\|{' hits || fail "$(cat hits)"
		readers_agree trace
		readers_agree plain
	done
	kill -0 $program || fail "it ended"
	kill $program
}

program_that_joins_a_running_session_records_its_contexts() {
	nested nested -fno-omit-frame-pointer
	./nested forever &
	program=$!
	lull start -q --name "context-$$" -o trace -e 'demo:*' --context tid,user_stack
	lull attach "context-$$" -p $program
	sleep 0.2
	lull stop "context-$$" > stopped 2>&1 || [ $? -eq 1 ] || fail "$(cat stopped)"
	same "$(of 6 context.tid)" "$program" "the thread"
	lull report flame trace --of stacks | grep -q 'main;outer;middle;inner;demo:hit' ||
		fail "$(lull report flame trace --of stacks)"
	readers_agree trace
	kill $program
}

session_with_contexts_is_recovered() {
	nested nested -fno-omit-frame-pointer
	lull record -q -o trace -e 'demo:*' --context tid,user_stack -- ./nested forever &
	recorder=$!
	until_done sh -c 'lull print trace 2> /dev/null | grep -q x=6'
	program=$(pgrep -P $recorder -x nested)
	kill -KILL $recorder
	wait $recorder || true
	kill -KILL "$program"
	lull recover trace > recovered 2>&1 || [ $? -eq 1 ] || fail "$(cat recovered)"
	same "$(of 6 context.tid)" "$program" "the thread"
	[ "$(frames_of 6)" -ge 4 ] || fail "$(lull print trace | tail)"
	babeltrace_reads trace
}

contexts_that_no_event_could_have_are_refused() {
	nested nested
	for name in perf:cycles kernel_stack gid; do
		status_is 125 lull record -o trace --context $name -- ./nested 2> said
		grep -q "$name is recorded with the kernel's events only" said || fail "$(cat said)"
	done
	for name in user_stack:129 user_stack:0 nothing perf:nothing user_stack_copy:0; do
		status_is 125 lull record -o trace --context $name -- ./nested 2> said
	done
	[ ! -e trace ] || fail "a trace was made"
}

process_that_becomes_another_user_goes_on_with_contexts() {
	[ "$(id -u)" -eq 0 ] || skip "only root's processes can become another user's"
	lull record -q -o trace -e 'io:open*' --context tid,uid,cpu_time,user_stack -- \
		python3 -c '
import os
os.open("/dev/null", os.O_RDONLY)
os.setuid(65534)
os.open("/dev/zero", os.O_RDONLY)
'
	readers_agree trace
	lull print trace -e 'io:open*' > opened
	grep -q ' {tid=[0-9]* uid=0 cpu_time=[0-9]*} user_stack=.*path="/dev/null"' opened ||
		fail "$(cat opened)"
	grep -q ' {tid=[0-9]* uid=65534 cpu_time=[0-9]*} user_stack=.*path="/dev/zero"' opened ||
		fail "$(cat opened)"
}

stack_is_left_alone_where_system_calls_are_forbidden() {
	cat > confined.c <<-'EOC'
		#include <lull/trace.h>
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <stddef.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		#define FORBID(name)                                                      \
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),            \
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
		int main(void)
		{
			struct sock_filter code[] = {
				BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)),
				FORBID(sched_getattr), FORBID(clock_gettime), FORBID(madvise),
				FORBID(openat), FORBID(newfstatat),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
			};
			struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
			lull_event("demo:hit", lull_i32(x, 0));
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
			lull_event("demo:hit", lull_i32(x, 1));
			if (fork() == 0)
				lull_event("demo:hit", lull_i32(x, 2));
			_exit(0);
		}
	EOC
	gcc -O2 -I"$root/core/include" -o confined confined.c
	lull record -q --wait-all -o trace -e 'demo:*' \
		--context prio,cpu_time,user_stack,pid_ns -- ./confined
	same "$(of 0 context.prio)" $((120 + $(nice))) "the priority"
	same "$(of 1 context.prio)" -1000 "the priority that is not known"
	same "$(of 1 context.cpu_time)" -1 "the time that is not known"
	same "$(of 1 context.pid_ns)" "$(of 0 context.pid_ns)" "the namespace"
	same "$(of 2 context.pid_ns)" 0 "the namespace of a child that may not ask"
}
