# SPDX-License-Identifier: MIT
# Sampling and budgets: which share of an event's occurrences is recorded, in which session, and
# what is said of it.

# tells: a program of 4000 occurrences of each of two events, and of one that is seldom.
tells() {
	cat > tells.c <<-'EOC'
		#include <lull/trace.h>
		int main(void)
		{
			for (int i = 0; i < 4000; i++) {
				unsigned int status = 400 + (unsigned int)i % 200;
				lull_event("http:request", lull_u32(status, status));
				lull_event("http:none");
			}
			lull_event("http:state", lull_u32(state, 1));
			return 0;
		}
	EOC
	gcc -O2 -I"$root/core/include" -o tells tells.c
}

# counted EVENT [TRACE]: how many of them a trace has.
counted() {
	lull print -e "$1" "${2:-trace}" | wc -l
}

one_in_so_many_occurrences_is_recorded_and_the_trace_says_so() {
	tells
	lull record -o trace -e 'http:* sample 1/10' -e 'http:request if status >= 500 sample 1/5' \
		-e 'http:state' -- ./tells 2> said
	local none request
	none=$(counted http:none) request=$(counted http:request)
	# 400 are expected of each: these bounds are twelve standard deviations away.
	((none > 170 && none < 630)) || fail "$none of 4000 are one in ten"
	((request > 170 && request < 630)) || fail "$request of 2000 are one in five"
	same "$(counted http:state)" 1 "events without a rate"
	same "$(lull print -e 'http:request if status < 500' trace | wc -l)" 0 \
		"what the filter left out"
	grep -q 'lull: complete within these limits:' said || fail "$(cat said)"
	grep -q 'one in so many occurrences: http:none 1/10, http:request 1/5' said ||
		fail "the rates are not named: $(cat said)"
	lull report trace | grep -q 'http:none 1/10' || fail "a report does not say what is sampled"
	lull report --json trace | grep -q 'http:request 1/5' || fail "JSON of a report does not"
	rm -rf trace
	lull record --json -o trace -e 'http:none sample 1/7' -- ./tells 2> said
	grep -q '"sampled":\[{"event":"http:none","one_in":7}\]' said || fail "$(cat said)"
	grep -q 'sampled = "http:none\\t7"' trace/metadata || fail "$(grep sampled trace/metadata)"
	readers_agree trace
}

# calls: a program of 3000 calls, each of a moment, of which a few are far apart.
calls() {
	cat > calls.c <<-'EOC'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(void)
		{
			for (int i = 0; i < 3000; i++) {
				lull_event("my:op_entry", lull_i32(id, i));
				if (i % 300 == 0)
					usleep(2000);
				lull_event("my:op_exit", lull_i32(ret, -(i % 2)));
			}
			return 0;
		}
	EOC
	gcc -O2 -I"$root/core/include" -o calls calls.c
}

# measured [OPTION...]: records calls, and prints how many of my:op a report measures.
measured() {
	rm -rf trace
	lull record -q -o trace "$@" -- ./calls 2> said || fail "$(cat said)"
	lull report --json trace > report
	python3 -c 'import json
rows = json.load(open("report"))["latencies"]
print(sum(row["count"] for row in rows if row["name"] == "my:op"))'
}

calls_of_which_only_some_ends_are_recorded_are_not_measured_and_that_is_said() {
	calls
	same "$(measured -e 'my:*')" 3000 "of all"
	grep -q 'not measured' report && fail "all were recorded: $(cat report)"
	same "$(measured -e 'my:* if tid > 0')" 3000 "of a filter that asks whose they are"
	same "$(measured -e 'my:op_entry sample 1/10' -e 'my:op_exit sample 1/9')" 0 \
		"of samples of each end"
	grep -q 'recorded of my:op, as a rate, a budget or a filter had it' report ||
		fail "$(cat report)"
	lull report trace | grep -q 'these calls are not measured' || fail "$(lull report trace)"
	same "$(measured -e my:op_exit -e 'my:op_entry if id % 10 == 0')" 0 "of a filter"
	grep -q 'filtered = "my:op_entry"' trace/metadata || fail "$(grep filtered trace/metadata)"
}

# nests: a program of 600 calls that wait a while, each with calls in it, among them itself; in a
# child, too, that is forked in the midst of one.
nests() {
	cat > nests.c <<-'EOC'
		#include <lull/trace.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static int calls;
		static void outer(int depth, int forks)
		{
			int id = ++calls;
			lull_event("my:outer_begin", lull_i32(id, id));
			usleep(1000);
			for (int i = 0; i < 3; i++) {
				lull_event("my:inner_entry", lull_i32(id, id));
				lull_event("my:inner_exit", lull_i32(id, id));
			}
			if (depth)
				outer(depth - 1, forks);
			else if (forks && !fork())
				calls = 1000;
			lull_event("my:outer_end", lull_i32(id, id));
		}
		int main(void)
		{
			for (int i = 0; i < 299; i++)
				outer(1, 0);
			outer(1, 1);
			if (calls < 1000)
				return wait(0) < 0;
			for (int i = 0; i < 100; i++)
				outer(1, 0);
			return 0;
		}
	EOC
	gcc -O2 -I"$root/core/include" -o nests nests.c
}

calls_of_a_sample_have_both_ends_and_are_measured() {
	nests
	lull record -o trace -e 'my:* sample 1/4' -- ./nests 2> said || fail "$(cat said)"
	local both='my:inner_entry\\nmy:inner_exit\\nmy:outer_begin\\nmy:outer_end'
	grep -q "sampled_by_call = \"$both\"" trace/metadata ||
		fail "$(grep sampled trace/metadata)"
	lull print --json trace > events
	lull report --json trace > report
	python3 - <<-'EOP' || fail "$(cat said report)"
		import collections, json
		begun, count = collections.defaultdict(list), collections.Counter()
		for event in map(json.loads, open("events")):
		    name, _, end = event["name"].rpartition("_")
		    if end not in ("begin", "entry", "end", "exit"):
		        continue
		    key, fields = name, event["fields"]
		    count[name] += end in ("begin", "entry")
		    if end in ("begin", "entry"):
		        begun[key].append(fields["id"])
		    else:
		        # The child ends the two calls in which it was forked, too.
		        assert fields["id"] in begun[key] + [599, 600], (name, fields)
		# 200 and 600 are expected of outer, 800 calls, and inner, 2400: wide bounds.
		assert 90 < count["my:outer"] < 310 and 400 < count["my:inner"] < 800, count
		rows = {row["name"]: row for row in json.load(open("report"))["latencies"]}
		for name in count:
		    assert rows[name]["count"] == count[name], (rows, count)
		assert rows["my:outer"]["min_ns"] >= 1000000, rows
		assert rows["my:inner"]["min_ns"] < 1000000, rows
	EOP
	grep -q 'are measured: my:inner 1/4, my:outer 1/4' report || fail "$(cat report)"
	lull report latency trace | grep -q 'my:outer 1/4' || fail "$(lull report latency trace)"
	grep -q 'not measured' report && fail "both ends are recorded: $(cat report)"
	lull record -q --budget 99% -o budget -e 'my:* sample 1/4' -- ./nests
	grep -q 'sampled_by_call' budget/metadata && fail "throttles are of each event"
	return 0
}

rates_that_cannot_be_are_refused_before_the_program_starts() {
	local rate
	for rate in '' 5 2/3 1/0 1/1000001 '1/2 if status > 2'; do
		lull record -o trace -e "http:request sample $rate" -- true 2> said &&
			fail "'$rate' is taken"
		grep -q 'sample' said || fail "$(cat said)"
	done
	lull record -o trace -e '!http:request sample 1/2' -- true 2> said && fail "for none"
	grep -q 'takes no filter or rate' said || fail "$(cat said)"
	tells
	lull record -q -o trace -e http:none -- ./tells
	lull print -e 'http:none if tid sample 1/2' trace 2> said && fail "a reader samples"
	grep -q 'only what is recorded' said || fail "$(cat said)"
}

# hot: a program that emits hot:loop all the time, until a file `calm` is there, and then seldom,
# until a file `over` is.
hot() {
	cat > hot.c <<-'EOC'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(void)
		{
			while (access("calm", F_OK))
				for (int i = 0; i < 100000; i++)
					lull_event("hot:loop", lull_i32(i, i));
			while (access("over", F_OK)) {
				lull_event("hot:loop", lull_i32(i, -1));
				lull_event("hot:other", lull_i32(i, -1));
				usleep(20000);
			}
			return 0;
		}
	EOC
	gcc -O2 -I"$root/core/include" -o hot hot.c
}

event_that_is_too_hot_for_a_budget_is_throttled_and_recovers() {
	hot
	lull record -o trace --budget 2% -e 'hot:*' -- ./hot 2> said &
	until_done grep -q 'throttled = "hot:loop' trace/metadata
	: > calm
	# Out of the code, back after a second or more, calm for a second.
	for _ in $(seq 300); do
		grep -qE 'throttled = .*hot:loop\\t0(\\t[0-9]+){4}' trace/metadata && break
		sleep 0.2
	done
	sleep 1
	: > over
	wait $!
	grep -q 'throttled to keep the budget: hot:loop to ' said || fail "$(cat said)"
	grep -q 'hot:loop to nothing from' said || fail "it was never off: $(cat said)"
	grep -q 'of a budget of 2 %' said || fail "$(cat said)"
	(($(lull print -e 'hot:loop if i == -1' trace | wc -l) > 1)) ||
		fail "nothing is recorded when it has become rare: $(cat said)"
	lull record -o second --budget 100 -- true 2> said && fail "a budget without a sign"
	grep -q 'such as 1% or 0.5%' said || fail "$(cat said)"
}

what_a_budget_leaves_out_and_what_is_asked_for_are_kept_apart() {
	hot
	lull record -o trace --budget 1% --name "budget$$" -e 'hot:loop' -- ./hot 2> said &
	until_done grep -q 'throttled = "hot:loop' trace/metadata
	lull enable "budget$$" -e 'hot:other' > enabled
	lull status --json "budget$$" > status
	# What was asked for, without what the budget adds.
	grep -q '!hot:loop' status && fail "a status has the throttle's rules: $(cat status)"
	grep -q '"one_in":0' status || fail "a status does not tell: $(cat status)"
	lull disable "budget$$" -e 'hot:loop' > disabled
	: > calm
	sleep 3
	: > over
	wait $!
	(($(lull print -e 'hot:other' trace | wc -l) > 1)) ||
		fail "what was enabled is not recorded: $(cat said)"
	same "$(lull print -e 'hot:loop if i == -1' trace | wc -l)" 0 "what was disabled"
}

each_session_has_a_rate_of_its_own_and_draws_after_its_filter() {
	tells
	lull record -q -o outer -e 'http:* sample 1/2' -- \
		lull record -q -o inner -e 'http:request if status < 500 sample 1/4' \
		-e 'http:none' -- ./tells
	local outer inner
	outer=$(counted http:request outer) inner=$(counted http:request inner)
	# 2000 and 500 are expected: these bounds are ten standard deviations away.
	((outer > 1680 && outer < 2320)) || fail "$outer of 4000 are one in two"
	((inner > 300 && inner < 700)) || fail "$inner of 2000 are one in four"
	same "$(lull print -e 'http:request if status >= 500' inner | wc -l)" 0 \
		"what a filter left out"
	same "$(counted http:none inner)" 4000 "events without a rate beside those with one"
}

events_of_the_lives_of_processes_are_never_throttled() {
	tells
	lull record -o trace --budget 0.0001% -e '*' -- ./tells 2> said
	(($(lull print -e 'process:*' trace | wc -l) >= 2)) || fail "$(lull print trace | head)"
	grep -q 'of a budget of 0.0001 %' said || fail "$(cat said)"
}
