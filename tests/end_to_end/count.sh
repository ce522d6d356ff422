# SPDX-License-Identifier: MIT
# lull count: counts are what the program says it did, whatever threads, processes and signals there
# are, and what is not told apart or not counted is told.

# counting NAME: a program whose first argument says how often it does what it does.
counting() {
	cat > counting.c <<-'EOC'
		#include <lull/trace.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static int rounds;
		static void *work(void *unused)
		{
			for (int i = 0; i < rounds; i++) {
				char url[32];
				snprintf(url, sizeof(url), "/api/%d", i % 5);
				lull_event("job:done", lull_u32(status, (unsigned int)i % 10),
					   lull_str(url, url), lull_i64(size, i),
					   lull_enum(state, i % 2, "IDLE=0,BUSY=1"));
				lull_event("job:tick");
			}
			return unused;
		}
		int main(int count, char **argument)
		{
			int threads = atoi(argument[2]), processes = atoi(argument[3]);
			pthread_t thread[16];
			rounds = atoi(argument[1]);
			for (int i = 0; i < processes; i++)
				if (!fork()) {
					execl(argument[0], argument[0], argument[1], argument[2],
					      "0", (char *)0);
					_exit(1);
				}
			for (int i = 0; i < threads; i++)
				pthread_create(&thread[i], NULL, work, NULL);
			for (int i = 0; i < threads; i++)
				pthread_join(thread[i], NULL);
			while (wait(NULL) > 0)
				;
			if (count > 4 && !strcmp(argument[4], "die"))
				raise(SIGKILL);
			if (count > 4)
				sleep(30);
			return 3;
		}
	EOC
	sed -i 's/#include <stdio.h>/#include <signal.h>\n&/' counting.c
	gcc -O2 -pthread -I"$root/core/include" -o counting counting.c
}

# json EXPRESSION: of the last line of the file counts, as `count`.
json() {
	python3 -c "
import json, sys
count = json.loads(open('counts').read().splitlines()[-1])
event = {event['event']: event for event in count['events']}
print($1)"
}

counts_are_what_threads_and_processes_did() {
	local status=0
	counting
	lull count --json -o counts -e 'job:*' -- ./counting 20000 4 3 || status=$?
	same "$status" 3 "the program's own status"
	same "$(json 'event["job:done"]["count"], event["job:tick"]["count"]')" \
		"320000 320000" "events of four processes of four threads"
	same "$(json 'count["verdict"]["state"], count["final"]')" "complete True" "verdict"
	[ ! -e lull-trace ] || fail "there is a trace: $(ls)"
}

counts_are_told_apart_by_numbers_texts_labels_and_contexts() {
	counting
	lull count --json -o counts -e 'job:done if status < 4' --by status,url,state,comm \
		-- ./counting 1000 2 1 || true
	same "$(json 'event["job:done"]["count"]')" 1600 "what the filter takes"
	same "$(json 'len(event["job:done"]["values"])')" 4 "different values"
	same "$(json '[row["count"] for row in event["job:done"]["values"]]')" \
		"[400, 400, 400, 400]" "of each"
	same "$(json 'sorted(row["by"]["url"] + row["by"]["state"] + row["by"]["comm"]
		for row in event["job:done"]["values"])[0]')" "/api/0IDLEcounting" "labels"
	lull count --json -o counts -e 'job:*' --by '$pid' -- ./counting 100 1 2 || true
	same "$(json 'sorted(row["count"] for row in event["job:tick"]["values"])')" \
		"[100, 100, 100]" "processes"
	lull count --json -o counts -e 'job:*' --by status -- ./counting 100 1 0 || true
	same "$(json 'event["job:tick"]["values"]')" "[{'by': {'status': None}, 'count': 100}]" \
		"an event without the field"
}

distribution_is_that_of_the_values() {
	counting
	lull count --json -o counts -e 'job:done' --hist size -- ./counting 10000 1 0 || true
	same "$(json '[event["job:done"]["values"][0]["distribution"][part]
		for part in ("count", "min", "max")]')" "[10000, 0, 9999]" "count and ends"
	same "$(json 'all(want <= event["job:done"]["values"][0]["distribution"][part]
		<= want * 17 / 16
		for part, want in (("p50", 5000), ("p90", 9000), ("p99", 9900)))')" True "quantiles"
	same "$(json 'sum(b["count"]
		for b in event["job:done"]["values"][0]["distribution"]["buckets"])')" \
		10000 "buckets"
	lull count -o counts -e 'job:done' --by status --hist size --top 2 -- ./counting 100 1 0 \
		2> said || true
	grep -q '^job:done *0 *10 *0 ' counts || fail "$(cat counts)"
	grep -q '(8 more values) *80' counts || fail "$(cat counts)"
	grep -q '64 .. 127' counts || fail "no histogram: $(cat counts)"
	grep -q '100 events counted' said || fail "$(cat said)"
}

full_table_loses_no_count_and_says_so() {
	counting
	lull count --json -o counts --keys 16 -e 'job:done' --by size -- ./counting 5000 2 0 || true
	same "$(json 'event["job:done"]["count"]')" 10000 "all"
	same "$(json 'event["job:done"]["others"] > 9000 and
		sum(row["count"] for row in event["job:done"]["values"]) +
		event["job:done"]["others"] == 10000')" True "those without values are counted"
	same "$(json 'count["verdict"]["state"]')" limited "state"
	same "$(json '"larger --keys" in count["verdict"]["limits"][0]')" True "advice"
}

killed_program_has_counted_what_it_did() {
	local status=0
	counting
	lull count --json -o counts -e 'job:*' -- ./counting 1000 2 0 die || status=$?
	same "$status" 137 "status of a killed program"
	same "$(json 'event["job:done"]["count"]')" 2000 "counts of a killed program"
}

counts_are_printed_while_the_program_runs() {
	counting
	lull count --json --interval 100ms --name "counting-$$" -o counts -e 'job:*' \
		-- ./counting 1000 1 0 stay &
	for _ in $(seq 100); do
		sleep 0.1
		[ "$(wc -l < counts 2> /dev/null || echo 0)" -lt 3 ] || break
	done
	lull run "counting-$$" -- ./counting 500 1 0 || true
	sleep 0.3
	tail -n 1 counts > last
	grep -q '"final":false' last || fail "no line while it runs"
	same "$(json 'event["job:tick"]["count"]')" 1500 "with a program that joined"
	lull stop "counting-$$" 2> stopped || true
	grep -q '^lull: 3,000 events counted, of 2 processes' stopped || fail "$(cat stopped)"
	pkill -KILL -P $! || true
	wait $! || true
	same "$(json 'count["final"]')" True "the last line"
}

killed_recorder_leaves_programs_alone() {
	counting
	lull count -q -e 'job:*' --name "killed-$$" -- ./counting 1000 1 0 stay 2> /dev/null &
	local recorder=$! program=
	for _ in $(seq 100); do
		sleep 0.1
		program=$(pgrep -P "$recorder" -x counting) && break
	done
	kill -KILL "$recorder"
	wait "$recorder" || true
	kill -0 "$program" || fail "the program died with its recorder"
	kill -KILL "$program"
	local left
	left=$(lull sessions 2>&1 | grep -o '/[^ ,]*lull-[0-9]*-[A-Za-z0-9]*' | sort -u |
		while read -r path; do grep -ls "killed-$$" "$path/recorder"; done | head -n 1)
	left=${left%/recorder}
	[ -n "$left" ] || fail "the session is not named: $(lull sessions 2>&1)"
	! lull recover "$left" 2> said || fail "recovered a session that counted"
	grep -q 'it counted events and recorded none' said || fail "$(cat said)"
	lull recover --discard "$left"
}

counts_that_cannot_be_written_are_a_failure() {
	counting
	status_is 125 lull count -o /dev/full -e 'job:*' -- ./counting 1 1 0 2> said
	grep -q '^lull: -o /dev/full does not have all counts: No space left' said ||
		fail "$(cat said)"
}

what_cannot_be_counted_is_told() {
	counting
	! lull count -k 2> said || fail "-k was taken"
	grep -q 'lull record -k' said || fail "$(cat said)"
	! lull count -e 'job:*' --by 'a b' -- ./counting 1 1 0 2> said
	grep -q "no field and no context can have this name" said || fail "$(cat said)"
	! lull count -e 'job:*' --by '$prio' -- ./counting 1 1 0 2> said
	grep -q 'have the contexts \$pid' said || fail "$(cat said)"
	lull count -e 'job:*' --by statsu -- ./counting 1 1 0 2> said || true
	grep -q 'by statsu: no event that was counted has a field' said || fail "$(cat said)"
	lull count -e 'jbo:*' -- ./counting 1 1 0 2> said || true
	grep -q "the pattern 'jbo:\*' matches no event" said || fail "$(cat said)"
	gcc -static -o none -x c - <<< 'int main(void) { return 0; }'
	lull count -e 'job:*' -- sh -c './none; ./counting 1 1 0' 2> said || true
	grep -q 'not recorded: .*none.*static' said || fail "$(cat said)"
}

a_process_that_becomes_another_user_is_counted_to_its_end() {
	[ "$(id -u)" -eq 0 ] || skip "becoming another user needs root"
	cat > becomes.c <<-'EOC'
		#include <lull/trace.h>
		#include <unistd.h>
		int main(void)
		{
			for (unsigned int i = 0; i < 5; i++)
				lull_event("job:done", lull_u32(status, i));
			if (setuid(65534))
				return 1;
			for (unsigned int i = 0; i < 7; i++)
				lull_event("job:done", lull_u32(status, i));
			return 3;
		}
	EOC
	gcc -O2 -I"$root/core/include" -o becomes becomes.c
	status_is 3 lull count --json -o counts -e 'job:done if status != 4' --by status \
		-- ./becomes
	same "$(json 'len(count["events"]), event["job:done"]["count"]')" "1 10" "of both users"
	same "$(json 'sorted(row["count"] for row in event["job:done"]["values"])')" \
		"[1, 1, 2, 2, 2, 2]" "of each value"
}
