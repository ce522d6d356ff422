# SPDX-License-Identifier: MIT
# Every kind of program in docs/guide/programs.md: it runs as it does without a recorder, and
# what the table says of its recording is so.

kinds=$root/tests/programs

# same_run COMMAND...: its output, errors and status are the same plainly and recorded. The
# trace is in trace, and what the recorder says in said.
same_run() {
	local plain=0 recorded=0
	"$@" > plain.output 2> plain.errors || plain=$?
	lull record -q --overwrite -o trace -- "$@" > recorded.output 2> recorded.errors ||
		recorded=$?
	same "$recorded" "$plain" "the status of $*"
	cmp plain.output recorded.output || fail "$* prints something else"
	cmp plain.errors recorded.errors ||
		fail "$* complains otherwise: $(cat recorded.errors)"
	lull record --overwrite -o trace -- "$@" > /dev/null 2> said || true
}

# started NAME: how many processes of the trace began as this program.
started() {
	lull print --json trace | grep '"name":"process:start"' |
		grep -c "\"path\":\"[^\"]*/$1\"" || true
}

# runs_everywhere NAME RECORDED WHY: the program NAME in this directory, which prints something,
# runs unchanged when it is started by the recorder, by a shell, by a spawn, as a script's
# interpreter, and after env; RECORDED of those five starts are in the trace. What executes it
# says WHY.
runs_everywhere() {
	local name=$1 recorded=$2 why=$3 count=0 chain
	printf '#!%s/%s\n' "$PWD" "$name" > script
	chmod +x script
	cat > spawn.py <<-END2
		import os, sys
		child = os.posix_spawn("./$name", ["$name"], os.environ)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
	END2
	for chain in "./$name" "sh -c ./$name;exit\$?" "python3 spawn.py" "./script" \
		"env ONLY=this ./$name"; do
		# shellcheck disable=SC2086
		case $chain in
		sh*) same_run sh -c "./$name; exit \$?" ;;
		*) same_run $chain ;;
		esac
		[ -s plain.output ] || fail "$name prints nothing"
		count=$((count + $(started "$name")))
		case $chain in
		./*) ;;
		*) lull print --json trace | grep "exec_entry\|spawn_entry" |
			grep "\"path\":\"./$name\"" | grep -q "\"$why\"" ||
			fail "$chain: no exec of $name says $why" ;;
		esac
	done
	same "$count" "$recorded" "recorded starts of $name"
}

hello_build() {
	local output=$1
	shift
	printf '#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n' > hello.c
	"$@" -o "$output" hello.c
}

dynamic_glibc_programs_are_recorded() {
	hello_build hello gcc
	runs_everywhere hello 5 YES
}

static_glibc_programs_run_unrecorded() {
	hello_build hello gcc -static
	runs_everywhere hello 0 STATIC
}

static_programs_are_told_of_unless_they_have_liblull() {
	printf '#include <lull/trace.h>\nint main(void) { lull_event("test:main"); }\n' > main.c
	gcc -static -I"$root/core/include" -o without main.c
	gcc -static -I"$root/core/include" -o with main.c -L"$root/build/lib" -llull \
		-Wl,--undefined=lull_object_loaded
	lull record -o one -- ./without 2> said
	grep -q 'statically linked without liblull.a' said || fail "$(cat said)"
	grep -q 'not recorded: .*/without, .*: it is statically linked' said || fail "$(cat said)"
	lull record -o other -- ./with 2> said
	! grep -q 'statically linked' said || fail "$(cat said)"
	grep -q 'complete within these limits' said || fail "$(cat said)"
	grep -q 'with is linked statically, so .* nor the programs that it starts' said ||
		fail "$(cat said)"
}

programs_with_a_malloc_of_their_own_are_told_of() {
	cat > own.c <<-'END'
		#include <stddef.h>
		static char pool[1 << 24];
		static size_t used;
		void *malloc(size_t bytes)
		{
			used += (bytes + 15) / 16 * 16;
			return used <= sizeof(pool) ? pool + used - (bytes + 15) / 16 * 16 : NULL;
		}
		void free(void *pointer) { (void)pointer; }
		int main(void) { free(malloc(7)); }
	END
	gcc -O0 -o own own.c
	lull record -e 'malloc:*' -o one -- ./own 2> said || fail "$(cat said)"
	grep -q 'complete within these limits' said || fail "$(cat said)"
	grep -q 'own has a malloc() of its own, whose calls are not seen' said || fail "$(cat said)"
	lull record -o two -- ./own 2> said || fail "$(cat said)"
	! grep -q 'malloc()' said || fail "$(cat said)"
	lull record -e 'malloc:*' -o three -- ls > /dev/null 2> said || fail "$(cat said)"
	! grep -q 'malloc()' said || fail "$(cat said)"
}

dynamic_musl_programs_run_unrecorded() {
	hello_build hello musl-gcc
	runs_everywhere hello 0 OTHER_LIBC
	grep -q 'another C library' said || lull record -o trace -- ./hello 2>&1 |
		grep -q 'another C library' || fail "the reason is not told"
}

static_musl_programs_run_unrecorded() {
	hello_build hello musl-gcc -static
	runs_everywhere hello 0 STATIC
}

musl_loader_called_with_a_program_runs_unrecorded() {
	hello_build hello musl-gcc
	same_run /lib/ld-musl-x86_64.so.1 ./hello
	same_run sh -c '/lib/ld-musl-x86_64.so.1 ./hello; exit $?'
	same "$(cat plain.output)" hello "the output"
}

programs_of_32_bits_run_unrecorded() {
	cat > hello.s <<-'END'
			.globl _start
			.text
		_start:	xorl %ebp, %ebp
			pushl $text
			call puts
			pushl $3
			call exit
			.section .rodata
		text:	.string "hello"
	END
	as --32 -o hello.o hello.s
	ld -m elf_i386 -dynamic-linker /lib/ld-linux.so.2 -o hello hello.o /lib32/libc.so.6
	runs_everywhere hello 0 OTHER_MACHINE
	same "$(cat plain.output)" hello "the output"
}

sanitized_by() {
	hello_build hello "$@"
	runs_everywhere hello 0 SANITIZED
}

programs_with_gcc_sanitizers_run_unrecorded() {
	local sanitizer
	for sanitizer in address thread leak; do
		sanitized_by gcc -fsanitize=$sanitizer
	done
}

programs_with_clang_sanitizers_run_unrecorded() {
	local sanitizer
	for sanitizer in address thread memory leak; do
		sanitized_by clang -fsanitize=$sanitizer
	done
	sanitized_by clang -fsanitize=address -shared-libasan \
		"-Wl,-rpath,$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so)")"
}

a_sanitizer_that_the_user_preloads_stays_first() {
	local runtime
	runtime=$(gcc -print-file-name=libasan.so)
	hello_build hello gcc
	printf 'void f(void); void f(void) {}\n' > part.c
	gcc -fsanitize=address -shared -fPIC -o part.so part.c
	gcc -Wl,--no-as-needed -o hello hello.c ./part.so
	same_run env "LD_PRELOAD=$runtime" ./hello
	same "$(cat plain.output)" hello "the output"
}

seccomp_build() {
	gcc -O2 -Wall -Wextra -Werror -I"$root/core/include" -o confined "$kinds/seccomp.c" \
		-lpthread
}

# confined HOW [WHAT]: recorded, and with liblull preloaded and no session.
confined() {
	same_run ./confined "$@"
	same "$(cat plain.output)" "${said_by_child:-}worked" "the output"
	LD_PRELOAD=$root/build/lib/liblull.so ./confined "$@" > preloaded.output ||
		same $? 5 "the status of ./confined $* with liblull and no session"
	cmp plain.output preloaded.output
}

# identities NAME: the process and thread identifiers of the trace's events of that name.
identities() {
	lull print --json trace | grep "\"name\":\"$1\"" |
		sed -n 's/.*"pid":\([0-9]*\).*"tid":\([0-9]*\).*/\1 \2/p'
}

filters_of_system_calls_are_not_run_into() {
	local how
	seccomp_build
	for how in prctl syscall bare; do
		confined $how
		confined $how thread
		same "$(identities test:thread | awk '$1 != $2 && $2' | wc -l)" 1 "threads known"
		confined $how fork
		same "$(identities test:child | awk '$1 == $2 && $1' | wc -l)" 1 "children known"
		confined $how raw
		same "$(identities test:child)" "0 0" "the child of a bare clone"
		confined $how vfork
	done
	same "$(identities test:child | awk '$1 == $2 && $1' | wc -l)" 1 "vfork children known"
	confined prctl vfork
	same "$(identities test:child)" "0 0" "the vfork child under a known filter"
}

programs_executed_under_a_filter_run_unrecorded() {
	local how said_by_child
	seccomp_build
	cat > child.c <<-'END'
		#include <unistd.h>
		int main(void) { return write(1, "child\n", 6) == 6 ? 7 : 8; }
	END
	gcc -static -o child child.c
	said_by_child='child
'
	for how in prctl syscall; do
		confined $how ./child
		lull print trace | grep exec_entry | grep -q 'recorded=SECCOMP' ||
			fail "the exec does not say why"
	done
}

programs_without_a_readable_clock_are_not_run_into() {
	cat > strict.c <<-'END'
		#include <linux/seccomp.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		#include <lull/trace.h>
		int main(void)
		{
			if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) || prctl(PR_SET_TSC, PR_TSC_ENABLE))
				return 39;
			lull_event("test:again");
			if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
				return 40;
			for (int i = 0; i < 1000; i++)
				lull_event("test:strict", lull_i32(i, i));
			write(1, "strict\n", 7);
			syscall(SYS_exit, 6);
			return 41;
		}
	END
	gcc -O2 -I"$root/core/include" -o strict strict.c
	same_run ./strict
	same "$(cat plain.output)" strict "the output"
	same "$(lull print trace | grep -c test:strict)" 0 "events without a clock"
	same "$(lull print trace | grep -c test:again)" 1 "events with the clock back"
	same "$(lull print trace | grep -c thread:silence)" 2 "notes that the clock was given up"
}

system_calls_are_those_of_the_program_without_a_session() {
	hello_build hello gcc
	cat > calls.c <<-'END'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *work(void *unused)
		{
			pthread_setname_np(pthread_self(), "work");
			pthread_exit(unused);
		}
		int main(void)
		{
			pthread_t thread;

			syscall(SYS_getppid);
			prctl(PR_SET_NAME, "calls");
			pthread_create(&thread, NULL, work, NULL);
			pthread_join(thread, NULL);
			if (!fork())
				execl("./hello", "hello", NULL);
			wait(NULL);
			if (!vfork()) {
				execlp("./hello", "hello", NULL);
				_exit(1);
			}
			wait(NULL);
			return 0;
		}
	END
	gcc -O1 -o calls calls.c -lpthread
	calls_of > plain.calls
	calls_of -E "LD_PRELOAD=$root/build/lib/liblull.so" > preloaded.calls
	diff plain.calls preloaded.calls || fail "liblull makes other system calls"
}

# The system calls after the start, by name and sorted; what the loader does is not compared.
calls_of() {
	strace -f -o calls.log "$@" ./calls > /dev/null
	sed 's/^[0-9]* *//' calls.log | sed -n '/getppid/,$p' |
		sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' |
		grep -vE 'mmap|mprotect|munmap|brk|futex|read|close|access|openat|stat' |
		grep -vE 'prlimit|getrandom' | sort
}

# In a directory that others may enter, but not liblull's.
as_nobody() {
	[ "$(id -u)" -eq 0 ] || skip "changing the user needs root"
	mkdir -m 700 hidden
	cp "$root"/build/lib/liblull.so.0 hidden/
	hello_build hello gcc
	chmod 755 . hello
	export LULL_LIBRARY_DIR=$PWD/hidden
}

programs_of_another_user_print_no_loader_errors() {
	as_nobody
	same_run setpriv --reuid=65534 --regid=65534 --clear-groups ./hello
	same "$(cat plain.output)" hello "the output"
	lull print trace | grep exec_entry | grep -q 'recorded=LIBRARY_UNREADABLE' ||
		fail "the exec does not say why"
	same_run runuser -u nobody -- ./hello
	same_run su -s /bin/sh nobody -c ./hello
}

setuid_programs_of_descendants_run_unrecorded() {
	[ "$(id -u)" -eq 0 ] || skip "making a setuid program needs root"
	hello_build privileged gcc
	chown nobody privileged
	chmod u+s privileged
	same_run sh -c './privileged; exit $?'
	same "$(started privileged)" 0 "recorded starts of privileged"
	lull print trace | grep exec_entry | grep -q 'recorded=PRIVILEGED' ||
		fail "the exec does not say why"
}

programs_that_cannot_be_looked_at_run_as_they_are() {
	hello_build hello gcc
	cat > path.c <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <unistd.h>
		int main(void)
		{
			char *arguments[] = { "hello", NULL };

			return fexecve(open("./hello", O_PATH), arguments, environ) ? 40 : 41;
		}
	END
	gcc -O2 -o path path.c
	same_run ./path
	same "$(cat plain.output)" hello "the output"
	same "$(started hello)" 1 "recorded starts of hello"
	lull print trace | grep exec_entry | grep -q 'recorded=UNKNOWN' ||
		fail "the exec does not say that nothing was seen"
}

programs_in_namespaces_of_their_own_are_recorded() {
	[ "$(id -u)" -eq 0 ] || skip "making namespaces needs root"
	hello_build hello gcc
	same_run unshare --pid --mount --fork sh -c './hello; exit $?'
	same "$(started hello)" 1 "recorded starts of hello"
	lull print --json trace | grep '"name":"process:start"' | grep -q '"pid":2[,}]' ||
		fail "the process is not known as its name space knows it"
}

programs_in_another_ipc_namespace_run_unrecorded() {
	[ "$(id -u)" -eq 0 ] || skip "making namespaces needs root"
	hello_build hello gcc
	same_run unshare --ipc sh -c './hello; exit $?'
	same "$(started hello)" 0 "recorded starts of hello"
	grep -q 'not recorded: sh, .* not known: .*ipc namespace' said || fail "$(cat said)"
}

programs_with_another_shared_memory_folder_run_unrecorded() {
	[ "$(id -u)" -eq 0 ] || skip "making namespaces needs root"
	hello_build hello gcc
	same_run unshare --mount sh -c \
		'mount -t tmpfs none /dev/shm && exec sh -c "./hello; exit \$?"'
	same "$(started hello)" 0 "recorded starts of hello"
	grep -q 'not recorded: .* not known: .*/dev/shm' said || fail "$(cat said)"
}

programs_whose_root_directory_lacks_liblull_run_unrecorded() {
	[ "$(id -u)" -eq 0 ] || skip "chroot needs root"
	hello_build hello gcc
	mkdir -p other
	ldd ./hello | grep -o '/[^ ]*' | while read -r library; do
		cp --parents -L "$library" other
	done
	cp hello other
	same_run chroot other /hello
	same "$(started hello)" 0 "recorded starts of hello"
	lull print trace | grep exec_entry | grep -q 'recorded=LIBRARY_UNREADABLE' ||
		fail "the exec does not say why"
	grep -q 'not recorded: /hello, .* cannot read liblull: .* root directory has none' said ||
		fail "$(cat said)"
}

daemons_that_fork_twice_are_recorded_with_wait_all() {
	cat > daemon.c <<-'END'
		#include <fcntl.h>
		#include <unistd.h>
		#include <lull/trace.h>
		int main(void)
		{
			if (daemon(1, 0))
				return 40;
			usleep(200000);
			lull_event("test:daemon", lull_i32(pid, getpid()));
			close(open("done", O_CREAT | O_WRONLY, 0600));
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o daemon daemon.c
	lull record -q --wait-all -o trace -- ./daemon
	[ -e done ] || fail "the recorder ended before the daemon"
	same "$(identities test:daemon | awk '$1 == $2 && $1' | wc -l)" 1 "the daemon's events"
	lull print --json trace | grep test:daemon > event
	same "$(identities test:daemon | cut -d' ' -f1)" \
		"$(sed -n 's/.*"fields":{"pid":\([0-9]*\).*/\1/p' event)" "the daemon's identity"
}

sites_of_one_event_are_one_event_to_a_person() {
	cat > sites.c <<- 'END'
		#include <lull/trace.h>
		int main(void)
		{
			lull_event("sites:one", lull_i32(n, 1));
			lull_event("sites:one", lull_i32(n, 2));
			lull_event("sites:one", lull_i32(n, 3), lull_str(why, "other fields"));
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o sites sites.c
	lull record -q -o trace -e 'sites:*' -- ./sites
	lull print -e sites:one trace | sed 's/.* sites:one/sites:one/' > events
	printf 'sites:one n=1\nsites:one n=2\nsites:one n=3 why="other fields"\n' | cmp - events
	same "$(lull print --json -e sites:one trace | grep -oE 'sites:one(#[0-9]+)?"' | sort -u |
		wc -l)" 3 "names in JSON"
	lull report --json trace > report
	same "$(python3 -c 'import json
rows = json.load(open("report"))["event_names"]
print([row["events"] for row in rows if row["name"] == "sites:one"])')" "[3]" "of one name"
	readers_agree trace
}
