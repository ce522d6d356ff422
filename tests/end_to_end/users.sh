# SPDX-License-Identifier: MIT
# Programs that become another user: each user's processes have rings of their own.

# compile NAME: a program of tests/hostile, for everybody to run.
compile() {
	gcc -O2 -pthread -I"$root/core/include" -o "$place/$1" "$root/tests/hostile/$1.c"
}

a_process_that_gives_up_root_goes_on_in_rings_of_its_new_user() {
	public_place
	compile become
	lull record -o trace -e 'test:*' -e 'process:user' -- "$place/become" 65534 > output
	grep -q '^before: 0 of 1 segments are of another user$' output
	grep -q '^after: 1 segments, 0 of another user$' output
	same "$(lull print trace | grep -c test:before)" 5 "events before"
	same "$(lull print trace | grep -c test:after)" 7 "events after"
	same "$(lull print trace | grep -c 'process:user')" 1 "changes of user"
	[ -e trace/stream-user65534-cpu0 ] || [ -e trace/stream-user65534-cpu1 ] ||
		ls trace/stream-user65534-* > /dev/null || fail "no stream of the new user"
	babeltrace_reads trace
}

threads_record_on_while_one_of_them_changes_the_user() {
	public_place
	compile become
	for _ in $(seq 10); do
		lull record -o trace --overwrite --buffer-size 4M -e 'test:*' -- \
			"$place/become" 65534 threads > output 2> errors
		grep -q '^after: 1 segments, 0 of another user$' output
		grep -q 'complete: no event is missing' errors || fail "$(cat errors)"
		same "$(lull print trace | grep -c test:thread)" 60000 "events of three threads"
	done
	babeltrace_reads trace
}

a_change_that_can_be_undone_changes_no_rings() {
	public_place
	compile become
	lull record -o trace -e 'test:*' -- "$place/become" 65534 back > output
	same "$(lull print trace | grep -c test:)" 12 "events"
	[ -z "$(ls trace | grep user)" ] || fail "a second user: $(ls trace)"
}

programs_that_a_new_user_executes_are_recorded() {
	public_place
	lull record -o trace -- setpriv --reuid=65534 --clear-groups ls / > /dev/null
	lull print trace | grep 'process:start.*path="[^"]*/ls"' > /dev/null
	ls trace/stream-user65534-* > /dev/null
	babeltrace_reads trace
}

# Both threads have one number, and each is the first of its user's memory.
events_of_a_program_that_a_new_user_executes_have_its_name() {
	public_place
	cat > named.c <<- 'END'
		#include <lull/trace.h>
		int main(void)
		{
			lull_event("named:it", lull_i32(n, 1));
			return 0;
		}
	END
	gcc -O2 -I"$root/core/include" -o "$place/named" named.c
	lull record -o trace -e 'named:*' -e 'process:*' -- \
		taskset -c 0 setpriv --reuid=65534 --clear-groups "$place/named"
	ls trace/stream-user65534-* > stream || fail "no stream of the new user"
	lull print trace 2> print.errors | grep named:it > events || fail "$(cat print.errors)"
	grep -q 'named/[0-9]* ' events || fail "$(cat events)"
}

a_vfork_child_that_changes_its_user_leaves_its_parent_alone() {
	public_place
	compile become
	lull record -o trace -e 'test:*' -- "$place/become" 65534 vfork > output
	same "$(lull print trace | grep -c test:after)" 7 "the parent's events"
	grep -q '^after: 1 segments, 0 of another user$' output
}

a_user_cannot_attach_the_memory_of_root() {
	public_place
	compile become
	lull record -o trace -e 'test:*' -- "$place/become" 65534 attach > output
	grep -q "^root's segment: Permission denied$" output
}
