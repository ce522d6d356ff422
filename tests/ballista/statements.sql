-- SPDX-License-Identifier: MIT
-- What tests/ballista/run asks, of lull and of Ballista. A statement begins with a line `-- NAME`,
-- and its rows have an order, so that they can be compared line by line. Percentiles are the exact
-- ones: those of approx_percentile_cont depend on how rows are shared out.

-- calls_of_each_host_and_name
SELECT host, name, count(*) AS n, sum(duration) AS ns, min(time) AS first, max(time) AS last
FROM calls GROUP BY host, name ORDER BY host, name;

-- calls_of_all_hosts_together
SELECT count(*) AS n, count(DISTINCT name) AS names, sum(duration) AS ns, min(time) AS first,
	max(time) AS last, max(duration) AS longest FROM calls;

-- events_of_several_types
SELECT event, host, count(*) AS n FROM (
	SELECT 'entry' AS event, host, time FROM "http:request_entry"
	UNION ALL SELECT 'exit' AS event, host, time FROM "http:request_exit"
	UNION ALL SELECT 'wait' AS event, host, time FROM "mutex:wait_entry"
	UNION ALL SELECT 'switch' AS event, host, time FROM "sched:sched_switch")
GROUP BY event, host ORDER BY event, host;

-- percentiles_of_durations
SELECT name, median(duration) AS median_ns,
	percentile_cont(0.9) WITHIN GROUP (ORDER BY duration) AS p90_ns,
	avg(duration) AS mean_ns FROM calls WHERE duration > 0 GROUP BY name ORDER BY name;

-- a_span_of_time
SELECT host, name, count(*) AS n FROM calls
WHERE time >= '2026-05-28 20:26:40.0095' AND time < '2026-05-28 20:26:40.0105'
GROUP BY host, name ORDER BY host, name;

-- calls_inside_of_slow_requests
WITH slow AS (SELECT * FROM calls WHERE name = 'http:request' AND duration > 100000)
SELECT s.host, c.name, count(*) AS calls, sum(c.duration) AS ns FROM slow s JOIN calls c
ON c.host = s.host AND c.tid = s.tid AND c.time > s.time
	AND CAST(c.time AS BIGINT) < CAST(s.time AS BIGINT) + s.duration
GROUP BY s.host, c.name ORDER BY s.host, c.name;

-- system_calls_of_threads
SELECT t.host, t.process, y.name, count(*) AS n, sum(y.duration) AS ns
FROM threads t JOIN syscalls y ON y.host = t.host AND y.pid = t.pid AND y.tid = t.tid
GROUP BY t.host, t.process, y.name ORDER BY t.host, t.process, y.name;

-- time_between_requests_of_each_host
SELECT host, max(gap) AS longest_ns, sum(gap) AS ns FROM (
	SELECT host, CAST(time AS BIGINT) - lag(CAST(time AS BIGINT))
		OVER (PARTITION BY host ORDER BY time, tid) AS gap FROM "http:request_entry")
GROUP BY host ORDER BY host;

-- every_column_of_requests
SELECT * FROM "http:request_entry" ORDER BY host, time, tid;

-- every_column_of_locks
SELECT * FROM locks ORDER BY host, time, tid;

-- every_column_of_threads
SELECT * FROM threads ORDER BY host, pid, tid;

-- every_column_of_packets
SELECT * FROM packets ORDER BY host, cpu, begin, offset_bytes;

-- states_of_processors
SELECT host, cpu, state, count(*) AS n, sum(duration) AS ns FROM states
GROUP BY host, cpu, state ORDER BY host, cpu, state;

-- rows_of_a_table_without_any
SELECT * FROM lost ORDER BY host;

-- pairs_of_threads
-- This one takes long, so that an executor can be killed in its middle.
WITH part AS (SELECT * FROM syscalls WHERE time < '2023-11-14 22:13:20.139')
SELECT a.name, b.name AS other, count(*) AS n FROM part a JOIN part b
ON a.time < b.time AND a.tid <> b.tid AND a.duration > b.duration
GROUP BY a.name, b.name ORDER BY a.name, b.name;
