# SPDX-License-Identifier: MIT
# What `lull record` promises to whoever puts it before a command.

record_exits_with_the_programs_status() {
	status_is 0 lull record -o zero -- true
	status_is 7 lull record -o seven -- sh -c 'exit 7'
}

record_exits_127_when_there_is_no_such_program() {
	status_is 127 lull record -o trace -- ./no-such-program
}

record_exits_126_when_the_program_cannot_be_executed() {
	echo text > not-a-program
	status_is 126 lull record -o trace -- ./not-a-program
}

record_exits_125_when_the_output_cannot_be_made() {
	touch file
	status_is 125 lull record -o file/trace -- true
}

an_error_names_its_cause_once() {
	status_is 125 lull record -o /proc/trace -- true 2> said
	same "$(grep -o 'os error' said | wc -l)" 1 "how often the cause is in: $(cat said)"
}

record_leaves_output_and_input_untouched() {
	seq 1 1000 > numbers
	lull record -o trace -- sort -r < numbers > traced
	sort -r < numbers > plain
	cmp traced plain
}

record_of_a_shell_pipeline_is_read_by_both_readers() {
	lull record -o trace -- bash -c 'seq 1 100 | sort -n | tail -n 1' > output
	same "$(cat output)" 100 "the output of the pipeline"
	readers_agree trace
}

record_of_two_threads_of_xz_is_read_by_both_readers() {
	seq 1 400000 > numbers
	lull record -o trace -- xz -T2 -1 --block-size=512KiB -k numbers
	xz -dc numbers.xz | cmp - numbers
	readers_agree trace
}

report_of_nothing_is_an_error_that_says_so() {
	status_is 2 lull report no-such-trace 2> message
	grep -q no-such-trace message || fail "the message does not name the trace: $(cat message)"
}

print_shows_bytes_as_one_hexadecimal_number_without_their_length() {
	lull record -q -o trace -- true
	lull print -e process:object trace > objects
	grep -qE 'build_id=\[0x[0-9a-f]{16,}\]$' objects || fail "$(cat objects)"
	! grep -q _length objects || fail "$(cat objects)"
}

# sites_seen COUNT: what the verdict says after a plugin was loaded and unloaded so often.
sites_seen() {
	lull record --json -o "trace$1" -- ./host "$1" > "verdict$1" 2>&1
	sed -n 's/.*"sites":{"seen":\([0-9]*\).*/\1/p' "verdict$1"
}

an_unload_does_not_count_the_sites_of_others_again() {
	cat > plugin.c <<-'END'
		#include <lull/trace.h>
		void work(void);
		void work(void) { lull_event("plugin:work"); }
	END
	cat > host.c <<-'END'
		#include <dlfcn.h>
		#include <stdlib.h>
		int main(int count, char **arguments)
		{
			int rounds = count > 1 ? atoi(arguments[1]) : 0;

			while (rounds-- > 0) {
				void *plugin = dlopen("./plugin.so", RTLD_NOW);

				if (!plugin)
					return 3;
				((void (*)(void))dlsym(plugin, "work"))();
				dlclose(plugin);
			}
			return 0;
		}
	END
	gcc -O2 -I "$root/core/include" -shared -fPIC -o plugin.so plugin.c
	gcc -O2 -o host host.c -ldl
	once=$(sites_seen 1)
	thrice=$(sites_seen 3)
	same "$((thrice - once))" 2 "more sites, of a plugin with one that is loaded twice more"
}

report_shows_a_thread_under_the_name_that_another_gave_it() {
	cat > names.c <<-'END'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <unistd.h>
		static pthread_barrier_t barrier;
		static void *work(void *argument)
		{
			if (write(1, "", 0)) /* its first event, under the old name */
				return argument;
			pthread_barrier_wait(&barrier);
			pthread_barrier_wait(&barrier);
			return write(1, "", 0) ? argument : NULL;
		}
		int main(void)
		{
			pthread_t thread;

			pthread_barrier_init(&barrier, NULL, 2);
			pthread_create(&thread, NULL, work, NULL);
			pthread_barrier_wait(&barrier);
			pthread_setname_np(thread, "pool-1");
			pthread_barrier_wait(&barrier);
			return pthread_join(thread, NULL);
		}
	END
	gcc -O1 -o names names.c -lpthread
	lull record -q -o trace -- ./names
	lull report --json trace > report.json
	same "$(python3 -c 'import json
threads = json.load(open("report.json"))["threads"]
print(*sorted(thread["name"] for thread in threads))')" "names pool-1" "the threads' names"
}

# Names on standard input as they are in programs: without what tells apart equal names of two
# descriptions, and without those about processes, which a recording has whatever it is asked for.
own_names() {
	sed 's/#[0-9]*$//' | grep -v '^process:' | sort -u
}

# printed_names ARGUMENT...: of the events that `lull print` prints.
printed_names() {
	lull print --json "$@" | sed -n 's/.*},"name":"\([^"]*\)".*/\1/p' | own_names
}

# reported_names ARGUMENT...: of the events that `lull report` counts.
reported_names() {
	lull report --json "$@" | python3 -c 'import json, sys
for row in json.load(sys.stdin)["event_names"]: print(row["name"])' | own_names
}

patterns_mean_for_print_and_report_what_they_mean_for_record() {
	local asked number=0
	lull record -q -e '*' -o whole -- sort /etc/passwd > output
	for asked in 'io:*' 'io:* !io:*read*' '*@info' 'io:* !*@info' '*:[!r]*_e[a-x]* io:f?*' \
		'io:* !io:* io:fdopen'; do
		number=$((number + 1))
		set -f
		# shellcheck disable=SC2086 # patterns, without blanks
		set -- $asked
		set +f
		set -- "${@/#/-e}"
		lull record -q "$@" -o "part$number" -- sort /etc/passwd > output
		printed_names "part$number" > recorded
		[ -s recorded ] || fail "$asked: nothing was recorded"
		printed_names "$@" whole > printed
		reported_names "$@" whole > reported
		diff recorded printed > difference || fail "print $asked: $(cat difference)"
		diff recorded reported > difference || fail "report $asked: $(cat difference)"
	done
}

print_of_nothing_names_what_is_nearest() {
	lull record -q -o trace -- true
	status_is 1 lull print -e 'proces:strat' trace > printed 2> said
	[ ! -s printed ] || fail "$(cat printed)"
	grep -q 'no event matches proces:strat; the nearest are process:start' said ||
		fail "$(cat said)"
}
