# SPDX-License-Identifier: MIT
# Triggers that come and go while a session runs: `lull trigger`. The program and the vocabulary
# are those of triggers.sh.
. "$root/tests/end_to_end/triggers.sh"

# left_nothing DIRECTORY: of a session that was there.
left_nothing() {
	[ ! -e "$1" ] || fail "it is still there: $(ls -R "$1")"
}

# started_in ARGUMENT...: begins the session, and has its directory in $directory.
started_in() {
	lull start --name "$session" --json "$@" > started
	directory=$(sed 's/.*"directory":"\([^"]*\)".*/\1/' started)
}

trigger_comes_to_a_program_that_runs_and_goes_and_what_it_did_stays_told() {
	triggers_begin
	started_in -o trace
	talk_begin lull run "$session" -- ./say
	talk a6
	status_is 1 lull trigger "$session" > list 2> told
	grep -q 'has no triggers' told || fail "$(cat told)"
	lull trigger "$session" --on 'test:a if n > 5' --do count --on test:b \
		--do 'run[once] echo "$LULL_FIELDS" > ran' 2> told || fail "$(cat told)"
	grep -q 'added triggers 1, 2' told || fail "$(cat told)"
	grep -q 'asked 1 process;' told || fail "$(cat told)"
	talk a1 a7 a8 b3
	until_done has_fired "2 1 "
	until_done [ -s ran ]
	same "$(cat ran)" "n=3" "what the command was told"
	lull trigger "$session" > list
	grep -q '^1 *test:a if n > 5$' list || fail "$(cat list)"
	grep -q '^    fired 2 times, the last time .* s, added .* s after the begin$' list ||
		fail "$(cat list)"
	lull trigger "$session" --remove 1 2> told || fail "$(cat told)"
	grep -q 'removed trigger 1, which fired 2 times: test:a if n > 5' told || fail "$(cat told)"
	talk a9 b4
	until_done has_fired "2 "
	lull trigger "$session" --on 'test:a if n == 10' --do count --json > told.json
	grep -q '"added":\[3\]' told.json || fail "no number is given twice: $(cat told.json)"
	talk a10
	until_done has_fired "2 1 "
	lull trigger "$session" --json > list.json
	grep -q '"number":3' list.json || fail "$(cat list.json)"
	lull trigger "$session" --remove 2 --remove 3 2> told || fail "$(cat told)"
	talk a10 b1
	status_is 1 lull trigger "$session" 2> told
	lull trigger "$session" --on test:c --do count 2> told || fail "$(cat told)"
	talk c1
	until_done has_fired "1 "
	talk_end
	lull stop "$session" 2> verdict
	left_nothing "$directory"
	for line in "'test:a if n > 5', added at [0-9.]* s and removed at [0-9.]* s, fired 2 t" \
		"'test:b', added at .* fired 2 times, acted on 2 times.*: 1 done, 1 withheld" \
		"'test:a if n == 10', added at .* removed at .* fired 1 time" \
		"'test:c', added at [0-9.]* s, fired 1 time"; do
		grep -q "$line" verdict || fail "no '$line' in $(cat verdict)"
	done
	grep -q 'complete: no event is missing' verdict || fail "$(cat verdict)"
	! grep -q 'may be missing' verdict || fail "$(cat verdict)"
	[ "$(firings_of trace 'test:a if n > 5')" -ge 1 ] || fail "$(strings trace/metadata)"
}

call_order_and_crash_are_met_that_are_added_beside_others() {
	triggers_begin
	lull start --name "$session" -o trace --on test:c --do count
	talk_begin lull run "$session" -- ./say
	talk c1
	until_done has_fired "1 "
	lull trigger "$session" --on 'test:work > 20ms' --do count \
		--on 'test:a then test:b within 60s' --do count --on crash --do count 2> told ||
		fail "$(cat told)"
	talk w1 w30000 a1 b1 c2
	until_done has_fired "2 1 1 0 "
	# An order whose first event came before others were changed is still waited for.
	talk a2
	sleep 0.1
	lull trigger "$session" --remove 1 2> told || fail "$(cat told)"
	talk b2 c3
	until_done has_fired "1 2 0 "
	echo x0 >&7
	wait "$talker" || true
	sleep 0.3
	lull stop "$session" 2> verdict
	grep -q "the trigger 'crash', added at [0-9.]* s, fired 1 time" verdict ||
		grep -q 'a way that this kernel does not tell' verdict || fail "$(cat verdict)"
	grep -q "'test:c', removed at [0-9.]* s, fired 2 times" verdict || fail "$(cat verdict)"
}

commands_at_once_all_have_their_triggers_and_each_number_is_given_once() {
	triggers_begin
	lull start --name "$session" -o trace
	talk_begin lull run "$session" -- ./say
	talk a1
	local adding=
	for number in 1 2 3 4 5 6; do
		lull trigger "$session" --on "test:a if n == $number" --do count 2> "told.$number" &
		adding="$adding $!"
	done
	for one in $adding; do
		wait "$one" || fail "$(cat told.*)"
	done
	same "$(cat told.* | sed -n 's/.*added trigger //p' | sort | tr '\n' ' ')" "1 2 3 4 5 6 " \
		"the numbers"
	talk a1 a2 a3 a4 a5 a6
	until_done has_fired "1 1 1 1 1 1 "
	# Some go while others come.
	adding=
	for number in 1 2 3; do
		lull trigger "$session" --remove "$number" 2> "told.$number" &
		adding="$adding $!"
		lull trigger "$session" --on test:b --do count 2> "told.b$number" &
		adding="$adding $!"
	done
	for one in $adding; do
		wait "$one" || fail "$(cat told.*)"
	done
	# Which conditions are left depends on who came first.
	talk b1
	until_done has_fired "1 1 1 1 1 1 "
	talk_end
	lull stop "$session" 2> verdict
	same "$(grep -c 'and removed at' verdict)" 3 "how many were removed"
}

session_that_ends_while_a_trigger_comes_or_goes_leaves_nothing() {
	triggers_begin
	for round in 1 2 3 4; do
		started_in -o "trace.$round"
		mkdir "round.$round"
		cd "round.$round"
		talk_begin lull run "$session" -- ../say
		talk a1
		# The command is told what became of it, or that the session has ended.
		lull trigger "$session" --on test:a --do stop 2> ../told &
		local adding=$! status=0
		[ "$round" -gt 2 ] || lull stop "$session" 2> ../verdict
		wait "$adding" || status=$?
		[ "$status" -lt 2 ] || grep -q 'ended\|no session\|no control socket' ../told ||
			fail "status $status: $(cat ../told)"
		if [ "$round" -gt 2 ]; then
			# It fires while it is removed.
			talk a1
			status=0
			lull trigger "$session" --remove 1 2> ../told || status=$?
			# A status of 1: it was removed, and the program not asked, for all ends.
			[ "$status" -eq 0 ] ||
				grep -q 'end\|no session\|called\|no control' ../told ||
				fail "status $status: $(cat ../told)"
			! grep -q 'fired 0 times' ../told || lull stop "$session" 2> ../verdict
			until_done ended_is "$session"
		fi
		talk a2
		talk_end
		cd ..
		until_done left_nothing "$directory"
	done
	! ls -d /dev/shm/lull-* 2> /dev/null | grep -F "$session" || fail "something is left"
}

session_that_is_paused_gets_a_trigger_that_starts_it_and_one_that_records_is_told() {
	triggers_begin
	lull start --name "$session" -o trace
	talk_begin lull run "$session" -- ./say
	talk a1
	lull pause "$session"
	lull trigger "$session" --on 'test:a if n == 3' --do start 2> told || fail "$(cat told)"
	! grep -q 'records already' told || fail "$(cat told)"
	talk a2 a3
	until_done state_is recording
	talk a4
	lull trigger "$session" --on test:b --do start 2> told || fail "$(cat told)"
	grep -q 'it records already' told || fail "$(cat told)"
	state_is recording || fail "it was paused"
	talk_end
	lull stop "$session" 2> verdict
	same "$(numbers_of test:a trace)" "1 4 " "the events of a"
}

flight_recorder_gets_a_trigger_that_writes_it_out_and_another_session_none() {
	triggers_begin
	printf 'a1\na2\n' > input
	lull start --name "$session" -o trace --flight-recorder
	talk_begin lull run "$session" -- ./say
	talk a1
	lull trigger "$session" --on 'test:b' --do snapshot 2> told || fail "$(cat told)"
	talk a2 b1
	until_done [ -d trace/snapshot-1 ]
	until_done has_fired "1 "
	talk_end
	lull trigger "$session" | grep -q '^    snapshot: 1 done$' || fail "$(lull trigger)"
	lull stop "$session" 2> verdict
	lull print trace/snapshot-1 | grep -q 'test:a n=2' || fail "$(lull print trace/snapshot-1)"
}

trigger_that_cannot_come_is_refused_with_its_reason_and_nothing_is_changed() {
	triggers_begin
	lull start --name "$session" -o trace --on test:c --do count
	talk_begin lull run "$session" -- ./say
	talk c1
	until_done has_fired "1 "
	# Conditions are checked against the files of programs whose packets were read.
	until_done sh -c "lull status $session --json | grep -q '\"processes\":\[{'"
	refused() {
		local text=$1 status=0
		shift
		lull trigger "$session" "$@" 2> errors || status=$?
		same "$status" 2 "the status with '$text' and $(cat errors)"
		grep -qF -e "$text" errors || fail "no '$text' in: $(cat errors)"
	}
	refused 'give --flight-recorder' --on test:a --do snapshot
	refused 'write == to compare' --on 'test:a if n = 1' --do count
	refused '  test:a if n = 1' --on 'test:a if n = 1' --do count
	refused 'io:raed_entry; the nearest name is io:read_entry' --on io:raed_entry --do count
	refused 'no event that is asked for has a field' --on 'test:a if m == 1' --do count
	refused '--do stands behind the --on' --do count
	refused 'it has no trigger 7' --remove 1 --remove 7
	refused 'cannot be used with' --on test:a --do count --remove 1
	local long
	long=$(yes | head -c 8100 | tr '\n' ' ')
	refused 'more than the 8 KiB of one request' --on test:a --do "run $long" \
		--on test:b --do count
	# As many as there may be, and one more.
	set --
	for number in $(seq 31); do
		set -- "$@" --on "test:a if n == $number" --do count
	done
	refused 'it would have 33 triggers, and 32 is the most' "$@" --on test:a --do count
	lull trigger "$session" "$@" 2> told || fail "$(cat told)"
	refused 'it would have 33 triggers, and 32 is the most' --on test:a --do count
	talk a31 c1
	until_done has_fired "2 $(yes 0 | head -n 30 | tr '\n' ' ')1 "
	! lull trigger "no-such-$$" --on test:a --do count 2> errors || fail "taken"
	lull trigger "$session" --remove 1 2> told || fail "$(cat told)"
	lull trigger "$session" --on test:a --do count 2> told || fail "there is room: $(cat told)"
	talk_end
	lull stop "$session" 2> verdict
	grep -q "'test:c', removed at" verdict || fail "$(cat verdict)"
}

requests_of_hostile_callers_for_triggers_change_nothing_and_are_answered() {
	triggers_begin
	started_in -o trace
	cat > ask.py <<- 'END'
		import json, socket
		def ask(text):
		    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    one.settimeout(20)
		    one.connect("control")
		    if not isinstance(text, bytes):
		        text = json.dumps({"lull": 1, **text}).encode()
		    one.send(text)
		    return json.loads(one.recv(1 << 20))
		def add(*triggers):
		    return ask({"request": "add_triggers", "triggers": list(triggers)})
		def one(on, *does):
		    return {"on": on, "do": list(does)}
		wrong = [
		    add(), add(one("a:b")), add(one("", "count")), add(one("a:b", "")),
		    add(one("a:b", *["count"] * 9)), add(*[one("a:b", "count")] * 33),
		    add(one("a:b if x == \"\0\"", "count")), add(one("a:b", "run \0")),
		    add(one("a:b\nc:d", "count")), add(one("a:b", "run x\ny")),
		    add(one("[", "count")), add(one("(" * 8000, "count")),
		    add(one("crash", "snapshot")),
		    add(one("a:b", "count"), one("a:b", "dance")),
		    ask({"request": "add_triggers"}),
		    ask({"request": "add_triggers", "triggers": {}}),
		    ask({"request": "add_triggers", "triggers": [{"on": 1, "do": []}]}),
		    ask({"request": "remove_triggers", "numbers": []}),
		    ask({"request": "remove_triggers", "numbers": [0]}),
		    ask({"request": "remove_triggers", "numbers": [2 ** 64]}),
		    ask({"request": "remove_triggers", "numbers": [1] * 33}),
		    ask(b'{"lull":1,"request":"add_triggers","triggers":' + b"[" * 8000),
		]
		for answer in wrong:
		    assert answer["answer"] == "refused" and answer["why"], answer
		status = ask({"request": "status"})
		assert status["triggers"] == [] and status["takes_triggers"], status
		good = add(one("a:b", "count"))
		assert good["answer"] == "triggers" and good["added"] == [1], good
		# The same number twice is one trigger.
		gone = ask({"request": "remove_triggers", "numbers": [1, 1]})
		assert [it["number"] for it in gone["removed"]] == [1], gone
		for turn in range(100):
		    added = add(one("x:y if z == %d" % turn, "count"))["added"]
		    gone = ask({"request": "remove_triggers", "numbers": added})
		    assert gone["answer"] == "triggers", gone
	END
	(cd "$directory" && python3 "$OLDPWD/ask.py") || fail "it answered otherwise"
	status_is 1 lull stop "$session" 2> verdict
	same "$(grep -c 'and removed at' verdict)" 64 "how many are told one by one"
	grep -q '37 further triggers that were removed fired 0 times in all' verdict ||
		fail "$(cat verdict)"
}

program_that_is_executed_by_one_from_before_the_trigger_meets_it_too() {
	triggers_begin
	lull start --name "$session" -o trace
	talk_begin lull run "$session" -- sh -c \
		'read -r line; echo "$line"; read -r line; echo "$line"; exec ./say'
	talk one
	lull trigger "$session" --on test:a --do count 2> told || fail "$(cat told)"
	grep -q 'asked 1 process' told || fail "$(cat told)"
	talk two
	# It is told of its companion after a while.
	for turn in $(seq 200); do
		talk a1
		! has_fired "0 " || { sleep 0.05; continue; }
		break
	done
	! has_fired "0 " || fail "it was never met"
	talk_end
	lull stop "$session" 2> verdict
	grep -q "'test:a', added at .* fired [1-9]" verdict || fail "$(cat verdict)"
}

program_that_was_attached_meets_a_later_trigger_and_is_as_before_in_the_end() {
	triggers_begin
	talk_begin ./say
	talk a1
	started_in -o trace
	lull attach "$session" -p "$talker" 2> told || fail "$(cat told)"
	lull trigger "$session" --on test:a --do count 2> told || fail "$(cat told)"
	talk a2 a3
	until_done has_fired "2 "
	lull detach "$session" -p "$talker" 2> told || fail "$(cat told)"
	talk a4
	lull attach "$session" -p "$talker" 2> told || fail "$(cat told)"
	talk a5
	until_done has_fired "3 "
	lull stop "$session" 2> verdict
	! grep -q 'still has liblull' verdict || fail "$(cat verdict)"
	left_nothing "$directory"
	! grep SYSV "/proc/$talker/maps" > has || fail "it has memory: $(cat has)"
	talk a6
	talk_end
	same "$(numbers_of test:a trace)" "2 3 5 " "the events of a"
}

killed_recorder_leaves_a_companion_that_came_later_to_recovery() {
	triggers_begin
	started_in -o trace
	talk_begin lull run "$session" -- ./say
	talk a1
	lull trigger "$session" --on test:a --do count 2> told || fail "$(cat told)"
	talk a2
	[ "$(ls -d "$directory"/lull-* | wc -l)" -eq 1 ] || fail "$(ls "$directory")"
	key=$(readlink "$directory"/lull-*/memory | sed 's/.*[^0-9]//')
	key=$(printf '0x%08x' "$key")
	ipcs -m | grep -q "^$key" || fail "there is no memory $key: $(ipcs -m)"
	kill -KILL "$(sed 's/.*"pid":\([0-9]*\).*/\1/' started)"
	talk a3
	until_done lull recover "$directory"
	left_nothing "$directory"
	talk a4
	talk_end
	! ipcs -m | grep -q "^$key" || fail "its memory is still there: $(ipcs -m)"
	lull print trace | grep -q 'test:a n=3' || fail "$(lull print trace)"
}
