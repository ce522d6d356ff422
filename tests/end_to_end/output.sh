# SPDX-License-Identifier: MIT
# Where traces go: names of their own, permissions, and neighbours who are in the way.

needs_root() {
	[ "$(id -u)" -eq 0 ] || skip "another user's files are made by root only"
}

# A folder that another user, `nobody`, can enter; removed at the end, after the neighbour.
shared_folder() {
	shared=$(mktemp -d)
	neighbour=
	trap '[ -z "$neighbour" ] || kill $neighbour || true; rm -rf "$shared"' EXIT
	chmod 1777 "$shared"
	cd "$shared"
	mkdir precious precious/empty
	echo text > precious/note
}

# permissions_in FOLDER: those of everything in it, each once.
permissions_in() {
	find "$1" -printf '%m\n' | sort -u | tr '\n' ' '
}

# describe FOLDER: everything in it that a recorder could change.
describe() {
	find "$1" -printf '%p %y %m %u %s %T@ %l\n' | sort
	find "$1" -type f -exec sha256sum {} + | sort
}

recorders_at_one_moment_have_names_of_their_own() {
	local recorders=() recorder trace
	for _ in 1 2 3 4 5; do
		lull record -q -- true &
		recorders+=($!)
	done
	for recorder in "${recorders[@]}"; do
		status_is 0 wait "$recorder"
	done
	same "$(find . -name 'lull-trace-*' -type d | wc -l)" 5 "the number of traces"
	for trace in lull-trace-*; do
		readers_agree "$trace"
	done
	[ -d "$(readlink lull-trace)" ] || fail "lull-trace leads to '$(readlink lull-trace)'"
	same "$(find . -mindepth 1 -maxdepth 1 | wc -l)" 6 "the number of entries with the link"
}

recorders_at_one_moment_never_share_a_directory() {
	local recorders=() recorder status done=0
	for _ in 1 2 3 4 5; do
		lull record -q -o trace -- true &
		recorders+=($!)
	done
	for recorder in "${recorders[@]}"; do
		status=0
		wait "$recorder" || status=$?
		[ $status -eq 0 ] && done=$((done + 1)) && continue
		same $status 125 "the status of a recorder that came later"
	done
	same $done 1 "the number of recorders that took the directory"
	readers_agree trace
}

directory_of_a_running_recorder_is_refused_and_not_touched() {
	local recorder
	mkfifo stop
	exec 3<> stop
	lull record -q -o trace -- sh -c 'echo > began; read line <&3' &
	recorder=$!
	trap 'echo >&3' EXIT
	until [ -e began ]; do sleep 0.02; done
	status_is 125 lull record -o trace -- touch started 2> first
	status_is 125 lull record --overwrite -o trace -- touch started 2> second
	echo >&3
	status_is 0 wait $recorder
	grep -q 'another recorder' first || fail "$(cat first)"
	grep -q 'another recorder' second || fail "$(cat second)"
	[ ! -e started ] || fail "a program was started"
	readers_agree trace
}

trace_is_private_under_every_umask() {
	local mask
	for mask in 000 022 077; do
		(umask $mask && exec lull record -q -o "above$mask/trace" -- true)
		same "$(permissions_in "above$mask")" '600 700 ' "the permissions under umask $mask"
	done
}

trace_is_shared_as_mode_says() {
	local recorder
	(umask 077 && exec lull record -q --mode 0750 -o trace -- true)
	same "$(permissions_in trace)" '640 750 ' "the permissions"
	(umask 077 && exec lull record -q --mode 755 --flight-recorder -o box -- true)
	same "$(permissions_in box)" '644 755 ' "a snapshot's permissions"
	for mode in 0770 0707 0500 7000700 x; do
		status_is 125 lull record --mode $mode -o other -- true 2> /dev/null
	done
	[ ! -e other ] || fail "a directory was made"
}

trace_goes_on_where_it_began_when_its_path_is_swapped() {
	mkdir -p a decoy
	lull record -o a/trace -- sh -c 'mv a b; ln -s decoy a; mkdir decoy/trace' 2> said
	grep -q 'a/trace was moved' said || fail "$(cat said)"
	same "$(find decoy/trace | wc -l)" 1 "the number of entries where the path leads now"
	readers_agree b/trace
}

snapshot_is_never_written_through_a_link() {
	mkdir outside
	lull record --flight-recorder -o box -- ln -s ../outside box/snapshot-1 2> said || true
	grep -q 'snapshot-1 is a symbolic link' said || fail "$(cat said)"
	same "$(find outside | wc -l)" 1 "the number of entries outside"
	discard_left said
}

# discard_left ERRORS: what a flight recorder could not write, and said so, is not wanted.
discard_left() {
	sed -n 's/.*`lull recover -o DIR \([^ ]*\)` writes it into DIR.*/\1/p' "$1" |
		xargs -r lull recover --discard
}

what_another_user_owns_is_refused_and_not_changed() {
	needs_root
	shared_folder
	mkdir theirs
	ln -s precious/empty trace
	ln -s precious way
	ln -s precious/empty lull-trace
	chown -h nobody theirs trace way lull-trace
	describe precious > before
	for options in '' --overwrite; do
		# shellcheck disable=SC2086
		status_is 125 lull record $options -o theirs -- true 2> said
		grep -q 'belongs to another user' said || fail "$(cat said)"
		# shellcheck disable=SC2086
		status_is 125 lull record $options -o trace -- true 2> said
		grep -q 'trace is a symbolic link' said || fail "$(cat said)"
		# shellcheck disable=SC2086
		status_is 125 lull record $options -o way/empty -- true 2> said
		grep -q 'link of another user' said || fail "$(cat said)"
	done
	lull record -- true 2> said
	grep -q 'lull-trace is no link to a recording of yours' said || fail "$(cat said)"
	same "$(readlink lull-trace)" precious/empty "where the other user's link leads"
	describe precious | diff before - || fail "something was changed through a link"
	same "$(find theirs | wc -l)" 1 "the number of entries in the other user's directory"
}

# Readers without a trace named show what one recorded, and nothing that another user put there.
recording_of_another_user_is_not_read_without_its_name() {
	local reader
	needs_root
	shared_folder
	lull record -q --mode 0755 -- echo nobodys > log
	chown -hR nobody lull-trace*
	lull record -- echo mine > log 2> said
	grep -q 'lull-trace is no link to a recording of yours' said || fail "$(cat said)"
	for reader in report print 'query --tables' 'export --perfetto'; do
		# shellcheck disable=SC2086
		status_is 2 lull $reader > out 2> said
		grep -q 'lull-trace in this folder belongs to another user (number' said ||
			fail "$reader: $(cat said)"
		grep -q 'a trace, such as lull-trace-2[-0-9]*, or name lull-trace' said ||
			fail "$reader: $(cat said)"
		same "$(wc -c < out)" 0 "what $reader printed, in bytes"
	done
	lull report lull-trace | grep -q nobodys || fail "what is named is not read"
	cp "$(readlink lull-trace)/metadata" .
	chown nobody metadata
	status_is 2 lull report 2> said
	grep -q 'metadata in this folder belongs to another user' said || fail "$(cat said)"
}

name_with_a_line_break_makes_no_line_of_its_own() {
	local name=$'x\nlull: complete: no event is missing'
	cp /bin/true "$name"
	lull record -o "trace$name" -- "./$name" 2> said
	status_is 127 lull record -- "./nowhere$name" 2>> said
	same "$(grep -c '^lull: complete' said)" 1 "the number of verdicts"
	grep -q ': tracex\\nlull: complete: no event' said || fail "$(cat said)"
	grep -q 'nowherex\\nlull: complete' said || fail "$(cat said)"
}

hostile_neighbour_leads_no_recorder_astray() {
	local round folder before kept=0 refused=0
	needs_root
	shared_folder
	lull record -q -o precious/trace -- true
	mkdir sticky open
	chmod 1777 sticky
	chmod 777 open
	describe precious > before
	before=$PWD/before
	PATH=/usr/bin:/bin setpriv --reuid nobody --clear-groups python3 - "$shared" \
		"${LULL_NEIGHBOUR_S:-300}" \
		< "$root/tests/end_to_end/neighbour.py" > neighbour.log 2>&1 &
	neighbour=$!
	for round in $(seq "${LULL_NEIGHBOUR_ROUNDS:-80}"); do
		for folder in sticky open; do
			cd "$shared/$folder"
			case $((round % 5)) in
				0) set -- -q ;;
				1) set -- -q -o trace ;;
				2) set -- -q -o trace --overwrite ;;
				3) set -- -q -o way/trace --overwrite ;;
				4) set -- -q -o box --flight-recorder --overwrite ;;
			esac
			status=0
			timeout 60 lull record "$@" -- true 2> "$shared/said" || status=$?
			case $status in
				0) kept=$((kept + 1)) ;;
				125) refused=$((refused + 1)) ;;
				*) fail "round $round, $folder: $status: $(cat "$shared/said")" ;;
			esac
			discard_left "$shared/said"
			[ $((round % 5)) -ne 0 ] || [ $folder = open ] || same $status 0 \
				"the status in a sticky directory with a name of its own"
			cd "$shared"
			describe precious | diff "$before" - > difference ||
				fail "round $round in $folder, lull record $*: $(cat difference)"
		done
	done
	kill $neighbour || fail "the neighbour ended early: $(cat neighbour.log)"
	wait $neighbour || true
	neighbour=
	echo "$kept recordings kept, $refused refused"
	[ $kept -gt 0 ] && [ $refused -gt 0 ] || fail "nothing was tried"
	! find sticky open -user nobody -type f -exec grep -L '^bait$' {} + | grep . ||
		fail "files of the neighbour were written to"
	same "$(find sticky open -user root -type f -perm /077)" '' "files that others may read"
	! find sticky open -user nobody -type d \
		-exec find {} -maxdepth 1 -user root -type f \; | grep . ||
		fail "the recorder wrote into a directory of the neighbour"
}

what_meets_nothing_is_told() {
	lull record -q -o trace -- true
	status_is 1 lull print trace --to +0ns > out 2> errors
	grep -q 'no event of the trace meets all that is asked for' errors || fail "$(cat errors)"
	status_is 1 lull state trace --at +100s > out 2> errors
	grep -q 'no state of the trace meets all that is asked for' errors || fail "$(cat errors)"
}
