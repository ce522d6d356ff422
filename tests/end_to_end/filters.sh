# SPDX-License-Identifier: MIT
# Filters of programs' events: which occurrences are recorded, in which session, and what is said of
# those that could not be filtered.

# requests NAME [FLAG...]: a program of 1000 requests, compiled with this project's headers.
requests() {
	local name=$1
	shift
	cat > requests.c <<-'EOC'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		static void *other(void *unused)
		{
			(void)unused;
			lull_event("http:thread", lull_u32(status, 1));
			return NULL;
		}
		int main(void)
		{
			pthread_t thread;
			for (int i = 0; i < 1000; i++) {
				char url[32];
				unsigned int status = 400 + (unsigned int)i % 200;
				snprintf(url, sizeof(url), "/api/%d/end", i);
				lull_event("http:request", lull_u32(status, status),
					   lull_str(url, url), lull_f64(seconds, -0.5),
					   lull_i64(left, -i));
				lull_event("http:none");
			}
			lull_event("http:state", lull_enum(state, 2, "IDLE=0,BUSY=2"),
				   lull_flags32(flags, 5, "READ=1,WRITE=2,SYNC=4"));
			pthread_create(&thread, NULL, other, NULL);
			pthread_join(thread, NULL);
			return 0;
		}
	EOC
	gcc -O2 -pthread "$@" -I"${include:-$root/core/include}" -o "$name" requests.c
}

# counted EVENT: how many of them the trace has.
counted() {
	lull print trace | grep -c "^[0-9:.]* [0-9]* [^ ]* $1\b" || true
}

numbers_that_cannot_be_are_told() {
	requests requests
	lull record -o trace -e 'http:request if 100 / left == -1' -- ./requests 2> said
	same "$(counted http:request)" 50 "requests from the 51st to the 100th behind the first"
	grep -q 'met neither way: http:request: for some occurrences' said || fail "$(cat said)"
	readers_agree trace
	status_is 125 lull record -o trace -e 'http:request if status / (2 - 2) > 1' \
		-- ./requests 2> said
	grep -A2 'this divides by 0' said | grep -q '^  ^^^^^^^^^^^^^^^^$' || fail "$(cat said)"
}

only_occurrences_that_meet_their_filter_are_recorded() {
	requests requests
	lull record -o trace -e 'http:request if status >= 590 && url =~ "/api/*9?/e?d"' \
		-e 'http:state if state == BUSY && flags & SYNC' -e 'http:none' \
		-- ./requests 2> said
	same "$(counted http:request)" 50 "requests of status 590 to 599"
	same "$(counted http:state)" 1 "states with labels"
	same "$(counted http:none)" 1000 "events without a filter"
	grep -q 'complete: no event is missing' said || fail "$(cat said)"
	grep -q '2 events of programs were filtered.*http:request if status >= 590' said ||
		fail "the filters are not named: $(cat said)"
	readers_agree trace
}

# expect COUNT FILTER: so many requests meet it.
expect() {
	rm -rf trace
	lull record -q -o trace -e "http:request if $2" -- ./requests
	same "$(counted http:request)" "$1" "requests that meet $2"
}

filters_mean_in_a_program_what_they_mean_to_a_reader() {
	requests requests
	expect 1 'left == -7'
	expect 10 'left < -989'
	expect 1000 'left <= status'
	expect 0 'left < -1000'
	expect 111 'url == "/api/1*"'
	expect 111 '!(url != "/api/1*")'
	expect 889 'url != "/api/1*"'
	expect 1000 '$pid == tid && comm == "requests" && cpu < 100000'
	expect 0 '$comm =~ "?equest"'
	expect 1000 "uid == $(id -u)"
	expect 5 'status & 0xff == 144 || 400 > status'
	expect 5 '(status - 400) * 2 == 14 && -left % 100 < 200'
	expect 999 'left * 4294967296 >> 32 < 0'
	rm -rf trace
	lull record -q -o trace -e 'http:*' -- ./requests
	same "$(lull print -e 'http:request if url =~ "*/9?/*" && left & 1' trace | wc -l)" 5 \
		"what a reader finds"
	same "$(lull print -e 'http:thread if $tid != $pid' trace | wc -l)" 1 "of another thread"
}

each_session_has_a_filter_of_its_own() {
	requests requests
	lull record -q -o outer -e 'http:* if status == 401' -- \
		lull record -q -o inner -e 'http:request if status == 402' -e 'http:thread' -- \
		./requests
	mv outer trace
	same "$(counted http:request) $(counted http:thread)" "5 0" "events of the outer session"
	rm -rf trace
	mv inner trace
	same "$(counted http:request) $(counted http:thread)" "5 1" "events of the inner session"
}

events_that_the_recorder_has_not_seen_are_filtered() {
	requests requests
	cat > plugin.c <<-'EOC'
		#include <lull/trace.h>
		__attribute__((constructor)) static void load(void)
		{
			for (unsigned int i = 0; i < 100; i++)
				lull_event("late:plugin", lull_u32(size, i));
		}
	EOC
	cat > loader.c <<-'EOC'
		#include <dlfcn.h>
		int main(void) { return !dlopen("./plugin.so", RTLD_NOW); }
	EOC
	gcc -O2 -shared -fPIC -I"$root/core/include" -o plugin.so plugin.c
	gcc -O2 -o loader loader.c -ldl
	lull record -o trace -e 'late:* if size >= 97' \
		-e 'http:* if status == 450 || $tid == 0' -- \
		bash -c './loader && ./requests && ./requests' 2> said
	same "$(counted late:plugin)" 3 "events of the plugin"
	same "$(counted http:request)" 10 "requests of two processes"
	grep -q 'complete: no event is missing' said || fail "$(cat said)"
}

filter_that_does_not_fit_is_refused_with_a_mark_or_said_in_the_verdict() {
	requests requests
	status_is 125 lull record -o trace -e 'http:* if url > 5' -- ./requests 2> said
	grep -q '^  \^\^\^\^\^\^\^$' said || fail "no mark: $(cat said)"
	[ ! -e trace ] || fail "there is a trace of what was refused"
	# The recorder does not see what bash starts: its process finds out.
	lull record -o trace -e 'http:request if url > 5' -- bash -c ./requests 2> said
	same "$(counted http:request)" 1000 "requests that could not be filtered"
	grep -q 'recorded unfiltered: http:request: the filter does not fit' said ||
		fail "$(cat said)"
	rm -rf trace
	lull record -o trace -e 'http:* if statsu == 5' -- ./requests 2> said
	grep -q '`statsu`' said || fail "the name is not told: $(cat said)"
	grep -q INCOMPLETE said || fail "$(cat said)"
}

# What is built with a header that knows no filters has zeros in its records.
event_of_an_older_header_is_recorded_unfiltered_and_named() {
	cp -r "$root/core/include" older
	sed -i 's/0, 0, 0, 0x80000000/0, 0, 0, 0/' older/lull/site.h
	! cmp -s older/lull/site.h "$root/core/include/lull/site.h" || fail "it is no older"
	include=older requests requests
	lull record -o trace -e 'http:request if status == 401' -- ./requests 2> said
	same "$(counted http:request)" 1000 "requests of an older program"
	grep -q 'recorded unfiltered: http:request: its object was built with' said ||
		fail "$(cat said)"
}

events_of_the_lives_of_processes_are_never_filtered() {
	lull record -o trace -e '* if $pid == 0' -- bash -c '/bin/true; exit 0' 2> said
	[ "$(counted process:start)" -ge 1 ] || fail "no start: $(lull print trace)"
	same "$(counted process:exit)" "$(counted process:start)" "ends of processes"
	[ "$(lull print trace | grep -cv ' process:')" -eq 0 ] || fail "$(lull print trace)"
}

events_of_unmodified_programs_are_filtered() {
	lull record -q -o trace -e 'malloc:malloc if bytes == 4321' \
		-e 'io:write_entry if count == 7' -- python3 -c '
import os, ctypes
c = ctypes.CDLL(None)
for i in range(5): c.malloc(4321)
os.write(1, b"seven!\n"); os.write(1, b"eight..\n")' > printed
	[ "$(counted malloc:malloc)" -ge 5 ] || fail "$(lull print trace | tail)"
	! lull print trace | grep malloc:malloc | grep -v 'bytes=4321' || fail "other sizes"
	same "$(counted io:write_entry)" 1 "writes of 7 bytes"
}

static_program_with_liblull_is_filtered() {
	requests static -static "-L$root/build/lib" -Wl,--undefined=lull_object_loaded -llull
	lull record -q -o trace -e 'http:request if status == 401' -- ./static
	same "$(counted http:request)" 5 "requests of a static program"
}

# The new user's memory is made by the process, with the filters of the old one's.
a_process_that_becomes_another_user_keeps_its_filters() {
	[ "$(id -u)" -eq 0 ] || skip "becoming another user needs root"
	place=$(mktemp -d /tmp/lull-filters.XXXXXX)
	trap 'rm -rf "$place"' EXIT
	chmod 755 "$place"
	mkdir "$place/bin" "$place/lib"
	cp "$root/build/bin/lull" "$place/bin"
	cp -P "$root"/build/lib/liblull.so* "$place/lib"
	cat > become.c <<-'EOC'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(int count, char **argument)
		{
			if (setuid(65534))
				return 1;
			for (unsigned int i = 0; i < 10; i++)
				lull_event("test:number", lull_u32(number, i));
			if (count == 1)
				execl(argument[0], argument[0], "again", NULL);
			return count == 1;
		}
	EOC
	gcc -O2 -I"$root/core/include" -o "$place/become" become.c
	"$place/bin/lull" record -o trace -e 'test:* if number >= 7 && uid == 65534' -- \
		"$place/become" 2> said
	same "$(counted test:number)" 6 "numbers of the new user's two programs"
	grep -q 'complete: no event is missing' said || fail "$(cat said)"
}
