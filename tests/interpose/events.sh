# SPDX-License-Identifier: MIT
# Events are there, with the right fields, as often as they should: sourced by
# tests/interpose/run.

reference_lists_every_event_with_its_level_and_fields() { # test
	python3 "$here/reference.py" "$root/docs/guide/events.md" \
		"$root/build/lib/liblull.so" "$root/build/lib/liblull-malloc.so"
}

# waits KIND LOCK COUNT: entries and exits for the lock at the address that was printed.
waits() {
	local at
	at=$(printf '%d' "$(tr ' ' '\n' < output | sed -n "s/^$2=//p")")
	same "$(count '$2 == "'"$1"':wait_entry" && $3 == "'"$1=$at"'"')" "$3" "entries of $1 $2"
	same "$(count '$2 == "'"$1"':wait_exit" && $3 == "'"$1=$at"'" && / result=(0|-1)( |$)/')" \
		"$3" "exits of $1 $2"
}

only_threads_that_wait_for_a_lock_record_it() { # test
	record "$programs/contend" > output
	events > /dev/null
	waits mutex mutex 3
	waits mutex robust 3
	waits mutex alone 0
	waits rwlock rwlock 6
	same "$(count '$2 == "rwlock:wait_entry" && / kind=READ$/')" 3 "readers that waited"
	same "$(count '$2 == "rwlock:wait_entry" && / kind=WRITE$/')" 3 "writers that waited"
	waits sem sem 3
	waits cond cond 3
	waits barrier barrier 4
}

paths_and_results_of_files_are_recorded() { # test
	record "$programs/battery_file" > output
	events > /dev/null
	same "$(count '$2 == "io:open_exit" && / path=absent result=-1 error=2$/')" 1 "absent file"
	same "$(count '$2 == "io:open_exit" && / path=\(null\) result=-1 error=14$/')" 5 \
		"paths that the kernel could not read"
	same "$(count '$2 == "io:open_exit" && / path=\(null\) result=-1 error=22$/')" 2 \
		"paths that the kernel did not read"
	same "$(count '$2 == "io:open_exit" && / path=\(null\) result=-1 error=36$/')" 1 \
		"paths without an end"
	same "$(count '$2 == "io:open_exit" && / path=bbb+ result=-1 error=36$/')" 1 \
		"paths with too long a part"
	same "$(count '$2 == "io:open_entry" && / directory_fd=99 /')" 1 "relative to a descriptor"
	same "$(count '$2 == "io:fopen" && / path=absent\/file mode=r .* error=2$/')" 1 \
		"absent stream"
	same "$(count '$2 == "io:read_exit" && / result=-1 error=9$/')" 1 "read of no descriptor"
	same "$(count '$2 == "io:closefrom" && / first_fd=20$/')" 1 "closefrom"
	same "$(count '$2 == "io:pipe" && / result=0 error=0$/')" 1 "pipe"
	same "$(count '$2 == "io:pipe" && / read_fd=-1 write_fd=-1 result=-1 error=14$/')" 1 \
		"failed pipe"
	same "$(count '$2 == "io:read_entry"')" "$(count '$2 == "io:read_exit"')" "reads that ended"
}

addresses_of_sockets_are_recorded_as_text() { # test
	record "$programs/battery_socket" > output
	events > /dev/null
	same "$(count '$2 == "io:connect_exit" && / address=unix:socket result=0 /')" 1 "local"
	same "$(count '$2 == "io:connect_exit" && / address=unix:@lull-test-[0-9]+@* result=0 /')" \
		1 "abstract"
	same "$(count '$2 == "io:connect_exit" && / address=127.0.0.1:[0-9]+ result=0 /')" 1 "inet"
	same "$(count '$2 == "io:connect_exit" && / address=none result=-1 error=14$/')" 3 \
		"bad pointers"
}

ipv6_addresses_are_written_in_their_shortest_form() { # test
	record python3 -c '
import socket
for host in "::1", "::", "2001:db8::1:0:0:1", "1:2:3:4:5:6:7:8", "fe80::", "1:0:3:0:5:0:7:0":
    try:
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect((host, 443))
    except OSError:
        pass' || true
	events > /dev/null
	local text
	for text in '[::1]:443' '[::]:443' '[2001:db8::1:0:0:1]:443' '[1:2:3:4:5:6:7:8]:443' \
		'[fe80::]:443' '[1:0:3:0:5:0:7:0]:443'; do
		grep -qF "address=$text " events || same missing "$text" "an address"
	done
}

forks_execs_and_waits_are_recorded() { # test
	record "$programs/battery_process" > output
	events > /dev/null
	same "$(count '$2 == "process:exec_exit" && / error=2$/')" 7 "programs that do not exist"
	same "$(count '$2 == "process:exec_entry" && / path=\(null\) /')" 2 \
		"paths that cannot be read"
	same "$(count '$2 == "process:quick_exit" && / status=3$/')" 1 "exit of a forked child"
	same "$(count '$2 == "process:quick_exit" && / status=4$/')" 1 "exit of a vfork child"
	same "$(count '$2 == "process:wait_exit" && / status=0x300 |status=768 /')" 1 "its status"
	same "$(count '$2 == "process:wait_exit" && / status=(0xf|15) /')" 1 \
		"the status that a caller does not want"
	same "$(count '$2 == "process:spawn_exit" && / child_pid=-1 result=2$/')" 1 "failed spawn"
	same "$(count '$2 == "process:spawn_exit" && / child_pid=-1 result=0$/')" 0 \
		"children whose number the caller does not want"
	same "$(count '$2 == "process:system_entry" && / command=exit_9$/')" 1 "system"
	same "$(count '$2 == "dl:open_exit"')" "$(count '$2 == "dl:open_entry"')" "loads that ended"
}

the_start_of_a_program_names_its_file() { # test
	local shell
	shell=$(realpath /bin/sh)
	cp /usr/bin/env own
	printf '#!/bin/sh\n:\n' > script
	printf '#!%s -e\n' "$PWD/script" > nested
	chmod +x script nested
	record bash -c '"$PWD/own" true; ./own true; "$PWD/own" "$PWD/own" true' > /dev/null
	events > /dev/null
	same "$(count '$2 == "process:start" && / path='"${PWD//\//\\/}"'\/own /')" 4 "own starts"
	record_to scripts bash -c '"$PWD/script"; ./script; "$PWD/nested"'
	lull print --json scripts | python3 "$here/events.py" > events
	same "$(count '$2 == "process:start" && / path='"${shell//\//\\/}"' /')" 3 "shells"
	record_to by-descriptor python3 -c '
import os
os.execve(os.open("own", os.O_RDONLY), ["own", "true"], os.environ)'
	lull print --json by-descriptor | python3 "$here/events.py" > events
	same "$(count '$2 == "process:start" && / path='"${PWD//\//\\/}"'\/own /')" 1 \
		"starts by a descriptor"
}

descendants_stay_traced_without_their_environment() { # test
	local how
	for how in execve own null execle execvpe fexecve execveat clearenv vfork spawn spawnp; do
		mkdir $how
		cd $how
		record "$programs/environment" $how > output
		events > /dev/null
		same "$(count '$2 == "process:start" && / arguments=env$/')" 1 "env started by $how"
		[ $how != own ] || grep -q '^LD_PRELOAD=.*liblull.*:libm.so.6$' output ||
			same "$(cat output)" 'LD_PRELOAD=...:libm.so.6' "preloads"
		cd ..
	done
}

the_file_that_is_found_in_the_search_path_is_examined() { # test
	mkdir -p folder/env refused
	printf '#!/bin/sh\n' > refused/env
	PATH=$PWD/folder:$PWD/refused:$PATH record "$programs/environment" execvpe > output
	events > /dev/null
	same "$(count '$2 == "process:exec_entry" && / path=env .* recorded=YES$/')" 1 \
		"env found behind a folder and a file that is not executable"
	same "$(count '$2 == "process:start" && / arguments=env$/')" 1 "env started"
}

descendants_that_decline_are_left_alone() { # test
	record "$programs/environment" declined > output
	same "$(cat output)" "LULL_SESSION=" "the environment"
	events > /dev/null
	same "$(count '$2 == "process:start" && / arguments=env$/')" 0 "env traced"
}

environments_too_large_to_complete_are_left_alone() { # test
	record "$programs/environment" large > output
	same "$(wc -l < output)" 2999 "variables"
}

setuid_programs_are_given_nothing_back() { # test
	cp /usr/bin/env setuid-env
	chmod u+s setuid-env
	record "$programs/environment" execve ./setuid-env > output
	same "$(cat output)" "" "the environment of a setuid program"
	chmod u-s setuid-env
	record "$programs/environment" execve ./setuid-env > output
	grep -q LULL_SESSION= output || same absent present "LULL_SESSION without setuid"
}

libraries_are_found_by_the_search_path_of_whoever_loads_them() { # test
	record "$programs/loader" "$programs/plugins/libplugin.so" libplugin.so > output
	same "$(cat output)" "$(printf 'by name 200\nby path 200')" "what was loaded"
	events > /dev/null
	same "$(count '$2 == "dl:open_exit"')" 200 "loads by path"
	same "$(count '$2 == "dl:open_forwarded"')" 200 "loads by name"
	same "$(count '$2 == "dl:close" && / result=0$/')" 400 "unloads"
	[ "$(count '$2 == "io:pipe"')" -ge 200 ] || same few many "pipes of the constructors"
}

threads_record_who_started_them_and_how_they_end() { # test
	record "$programs/battery_thread" > output
	events > /dev/null
	same "$(count '$2 == "thread:create" && / result=0$/')" "$(count '$2 == "thread:start"')" \
		"threads created and started"
	same "$(count '$2 == "thread:name"')" 2 "names given"
	same "$(count '$2 == "thread:sleep_entry"')" "$(count '$2 == "thread:sleep_exit"')" "sleeps"
	same "$(count '$2 == "thread:join_exit" && / result=35$/')" 1 "joins refused"
}

blocks_are_freed_once_for_each_time_they_are_obtained() { # test
	record "$programs/allocate" > output
	events > /dev/null
	awk '
		function value(name,  i, pair) {
			for (i = 3; i <= NF; i++) {
				split($i, pair, "=")
				if (pair[1] == name)
					return pair[2]
			}
		}
		function obtained(block) { if (block != 0 && held[$1, block]++) twice++ }
		function released(block) { if (block != 0) delete held[$1, block] }
		$2 ~ /^malloc:(malloc|calloc|aligned)$/ { obtained(value("result")); count++ }
		$2 == "malloc:realloc_entry" { released(value("pointer")) }
		$2 == "malloc:realloc_exit" { obtained(value("result")) }
		$2 == "malloc:free" { released(value("pointer")) }
		END { print twice + 0 " of " count; exit twice > 0 || count < 10000 }' events
}
