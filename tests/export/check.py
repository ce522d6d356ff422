#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds exports of a trace to what `lull print --json` says of it.

Usage: check.py FOLDER RELEASE. FOLDER has events.json and out.* in each format; RELEASE is the
folder of speedscope's bundle. Perfetto's packets are decoded by its own description of messages,
and its trace processor opens its format and Chrome's, Firefox's profiler its own; speedscope's
schema judges its format, and what its importer found is compared. A line per test.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import jsonschema
from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
from trace_processor import ProcessorError, TraceProcessor

FOLDER, RELEASE = (pathlib.Path(argument) for argument in sys.argv[1:3])
CALLS = {"io:read": ("io:read_entry", "io:read_exit"), "job": ("job:begin", "job:end"),
         "mutex:wait": ("mutex:wait_entry", "mutex:wait_exit"), "half": ("half:begin", "half:end")}
EVENTS = [json.loads(line) for line in (FOLDER / "events.json").read_text().splitlines()]
KNOWN = [event for event in EVENTS if "name" in event]
LOST = [event for event in EVENTS if "lost" in event]
PROFILER = "build/export/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"
LIBRARY = pathlib.Path("build/export/libtest_trace_processor.so")
IMPORTED = json.loads((FOLDER / "imported.json").read_text())


def count(name):
    return sum(event["name"] == name for event in KNOWN)


def durations(call):
    """Nanoseconds from each entry to its exit, of calls that are in none of their kind."""
    entry, leave = CALLS[call]
    total, open_since = 0, {}
    for event in KNOWN:
        thread = event["thread"]["tid"]
        if event["name"] == entry:
            open_since[thread] = event["time_ns"]
        elif event["name"] == leave and thread in open_since:
            total += event["time_ns"] - open_since.pop(thread)
    return total


def unknown(message, path):
    """Fields of a message, and of those in it, that its description does not have."""
    found = [f"{path}.{field.field_number}" for field in unknown_fields.UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type:
            for item in value if hasattr(value, "add") else [value]:
                found += unknown(item, f"{path}.{field.name}")
    return found


class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packets = perfetto.Trace.FromString((FOLDER / "out.perfetto").read_bytes()).packet
        cls.names, cls.arguments, cls.rows = {}, {}, {}
        cls.drawn = []
        for packet in cls.packets:
            for name in packet.interned_data.event_names:
                cls.names[name.iid] = name.name
            for name in packet.interned_data.debug_annotation_names:
                cls.arguments[name.iid] = name.name
            if packet.HasField("track_descriptor"):
                cls.rows[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                event = packet.track_event
                assert event.track_uuid in cls.rows, "a row is described before its events"
                name = cls.names[event.name_iid] if event.name_iid else event.name
                cls.drawn.append((packet.timestamp, event, name))

    def of_kind(self, kind):
        number = perfetto.TrackEvent.Type.Value(kind)
        return [drawn for drawn in self.drawn if drawn[1].type == number]

    def test_every_field_is_known_to_perfettos_own_description(self):
        found = set()
        for packet in self.packets:
            found.update(unknown(packet, "TracePacket"))
        self.assertEqual(found, set())

    def test_each_entry_begins_a_slice_and_slices_of_a_row_end(self):
        begun = collections.Counter(name for _, _, name in self.of_kind("TYPE_SLICE_BEGIN"))
        for call, (entry, _) in CALLS.items():
            twice = count(entry) if call == "half" else 0  # each is cut, and goes on beside
            self.assertEqual(begun[call], count(entry) + twice, call)
        depth = collections.Counter()
        end = perfetto.TrackEvent.TYPE_SLICE_END
        for _, event, _ in sorted(self.drawn, key=lambda drawn: drawn[0]):
            if event.type in (perfetto.TrackEvent.TYPE_SLICE_BEGIN, end):
                depth[event.track_uuid] += -1 if event.type == end else 1
                self.assertGreaterEqual(depth[event.track_uuid], 0)
        self.assertEqual(sorted(depth.values())[-1], 1, "one read is open at the end")
        self.assertEqual(sum(depth.values()), 1)

    def test_arguments_are_the_fields_of_both_ends(self):
        ends = [event for _, event, _ in self.of_kind("TYPE_SLICE_END")]
        results = [annotation.int_value for event in ends for annotation in event.debug_annotations
                   if self.arguments[annotation.name_iid] == "result"]
        self.assertEqual(collections.Counter(results), {-5: 100, 0: 100})

    def test_scheduling_is_the_kernels_own_and_threads_have_its_numbers(self):
        bundles = [packet.ftrace_events for packet in self.packets if
                   packet.HasField("ftrace_events")]
        switches = [event for bundle in bundles for event in bundle.event
                    if event.HasField("sched_switch")]
        self.assertEqual(len(switches), count("sched:sched_switch"))
        self.assertEqual({event.sched_switch.next_pid for event in switches}, {10, 11})
        threads = {row.thread.tid: row.thread.pid for row in self.rows.values()
                   if row.HasField("thread")}
        self.assertEqual(threads, {10: 10, 11: 10})

    def test_arrows_have_two_ends(self):
        tails = [flow for _, event, _ in self.drawn for flow in event.flow_ids]
        heads = [flow for _, event, _ in self.drawn for flow in event.terminating_flow_ids]
        self.assertEqual(len(set(tails)), 100 + 50)
        self.assertTrue(set(heads) <= set(tails))
        self.assertGreaterEqual(len(heads), 100)

    def test_counters_and_losses_are_drawn(self):
        self.assertEqual(len(self.of_kind("TYPE_COUNTER")), count("queue:length"))
        lost = [name for _, _, name in self.drawn if name.endswith("lost")]
        self.assertEqual(lost, [f"{LOST[0]['count']} events lost"])


class Processor(unittest.TestCase):
    """What Perfetto's own trace processor finds in the formats that its viewer opens."""

    @classmethod
    def setUpClass(cls):
        cls.files = {name: TraceProcessor(LIBRARY, FOLDER / f"out.{name}")
                     for name in ("perfetto", "chrome")}

    def each(self, sql):
        """The rows of each file, as texts, with the file's name."""
        for name, file in self.files.items():
            yield name, [tuple(row.values()) for row in file.query(sql)]

    def test_it_finds_nothing_wrong(self):
        wrong = """SELECT name, value FROM stats
            WHERE value > 0 AND severity IN ('error', 'data_loss')"""
        for file, found in self.each(wrong):
            self.assertEqual(found, [], file)

    def test_it_finds_the_time_of_each_call(self):
        slices = "SELECT name, count(*) AS n, sum(dur) AS ns FROM slice WHERE dur > 0 GROUP BY name"
        for file, found in self.each(slices):
            times = {name: (int(n), int(ns)) for name, n, ns in found}
            for call in ("io:read", "job", "mutex:wait"):
                wanted = (count(CALLS[call][1]), durations(call))
                self.assertEqual(times[call], wanted, f"{call} of {file}")

    def test_it_leads_arrows_from_what_let_go_on_to_what_goes_on(self):
        arrows = """SELECT a.name AS tail, b.name AS head, count(*) AS n FROM flow
            JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in
            WHERE a.ts <= b.ts GROUP BY 1, 2 ORDER BY 1"""
        wanted = [("mutex:unlock", "goes on", "100"),
                  ("sched:sched_waking", "sched:sched_switch", "50")]
        for file, found in self.each(arrows):
            self.assertEqual(found, wanted, file)

    def test_it_finds_counters_losses_and_results(self):
        total = sum(event["fields"]["length"] for event in KNOWN if event["name"] == "queue:length")
        lost = f"SELECT dur > 0 FROM slice WHERE name = '{LOST[0]['count']} events lost'"
        wanted = {
            "SELECT count(*) AS n FROM counter": [(str(count("queue:length")),)],
            "SELECT CAST(sum(value) AS INT) AS total FROM counter": [(str(total),)],
            lost: [("1",)],
            "SELECT DISTINCT int_value FROM args WHERE key GLOB '*.result' ORDER BY 1":
                [("-5",), ("0",)],
        }
        for sql, rows in wanted.items():
            for file, found in self.each(sql):
                self.assertEqual(found, rows, f"{sql} of {file}")

    def test_it_makes_rows_of_processors_from_the_kernels_switches(self):
        ran = """SELECT cpu, tid, name, count(*) AS n FROM sched JOIN thread USING (utid)
            GROUP BY 1, 2, 3 ORDER BY 2"""
        found = [tuple(row.values()) for row in self.files["perfetto"].query(ran)]
        self.assertEqual(found, [("0", "10", "server", "50"), ("0", "11", "wor\"k;er", "50")])

    def test_it_reads_states_of_threads_as_the_kernels_release_numbers_them(self):
        states = """SELECT name, state, count(*) AS n FROM thread_state JOIN thread USING (utid)
            WHERE state NOT IN ('R', 'Running') GROUP BY 1, 2 ORDER BY 1"""
        found = [tuple(row.values()) for row in self.files["perfetto"].query(states)]
        self.assertEqual(found, [("server", "S", "50"), ("wor\"k;er", "R+", "50")])

    def test_what_is_no_trace_or_no_statement_is_refused(self):
        with self.assertRaises(ProcessorError):
            TraceProcessor(LIBRARY, FOLDER / "out.folded").query("SELECT nothing FROM nowhere")


class Speedscope(unittest.TestCase):
    def total(self, file, frame):
        return sum(profile["frames"].get(frame, 0) for profile in IMPORTED[file])

    def test_format_is_valid_by_its_schema(self):
        schema = json.loads((RELEASE / "file-format-schema.json").read_text())
        document = json.loads((FOLDER / "out.speedscope").read_text())
        jsonschema.validate(document, schema)

    def test_its_importer_finds_the_time_of_each_call(self):
        for call in ("io:read", "job", "mutex:wait"):
            self.assertEqual(self.total("out.speedscope", call), durations(call), call)
        names = [profile["name"] for profile in IMPORTED["out.speedscope"]]
        self.assertIn("server wor\"k;er[11], 1 call not finished", names)
        self.assertIn("CPUs CPU 0", names)

    def test_its_importer_of_collapsed_stacks_finds_the_same(self):
        for call in ("io:read", "job", "mutex:wait"):
            self.assertEqual(self.total("out.folded", call), durations(call), call)

    def test_its_importer_of_chromes_trace_events_finds_the_same(self):
        for call in ("io:read", "mutex:wait"):
            frames = {}
            for profile in IMPORTED["out.chrome"]:
                for name, weight in profile["frames"].items():
                    frames[name.split(" {")[0]] = frames.get(name.split(" {")[0], 0) + weight
            self.assertAlmostEqual(frames[call] * 1000, durations(call), delta=1)


class Firefox(unittest.TestCase):
    """What the profiler's own program for the command line finds. For each file that is open it
    has a process, which is asked for a while, since it is given half a second to begin."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cls.profiler, "stop", "--all")
        cls.profiler("load", FOLDER / "out.firefox")
        for _ in range(100):
            listed = cls.profiler("thread", "list", "--json")
            if listed.returncode == 0:
                break
            time.sleep(0.1)
        cls.threads = json.loads(listed.stdout)["threads"]
        cls.markers = {thread["name"]: cls.kinds(thread["threadHandle"]) for thread in cls.threads}

    @classmethod
    def profiler(cls, *words):
        environment = {**os.environ, "HOME": str(FOLDER)}
        return subprocess.run(["node", PROFILER, *words], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)

    @classmethod
    def kinds(cls, thread):
        """How many markers of each name a thread has, and the nanoseconds of all."""
        told = cls.profiler("thread", "markers", "--thread", thread, "--json")
        return {kind["markerName"]: (kind["count"], round(kind["count"] * 1e6 *
                                     kind.get("durationStats", {"avg": 0})["avg"]))
                for kind in json.loads(told.stdout)["byType"]}

    def test_profiler_finds_threads_by_name_and_number(self):
        found = {thread["name"]: (thread["pid"], thread["tid"], thread["processName"])
                 for thread in self.threads}
        self.assertEqual(found["server[10]"], ("10", "10", "server"))
        self.assertEqual(found["wor\"k;er[11]"], ("10", "11", "server"))
        self.assertEqual(set(found) - {"server[10]", "wor\"k;er[11]"}, {"CPU 0", "Lost, CPU 1"})

    def test_profiler_finds_the_time_of_each_call(self):
        server, worker = self.markers["server[10]"], self.markers["wor\"k;er[11]"]
        for call, thread in (("io:read", server), ("job", server), ("mutex:wait", worker)):
            self.assertEqual(thread[call], (count(CALLS[call][1]), durations(call)), call)
        # Each is cut where the call around it ends, and goes on beside.
        self.assertEqual(server["half"], (2 * count("half:end"), durations("half")))
        self.assertEqual(worker["io:read"][0], 1, "one read is open at the end")

    def test_profiler_finds_events_and_losses(self):
        server = self.markers["server[10]"]
        for event in ("mutex:unlock", "sched:sched_waking"):
            self.assertEqual(server[event], (count(event), 0), event)
        self.assertEqual(self.markers["CPU 0"]["running"][0], count("sched:sched_switch"))
        self.assertEqual(self.markers["Lost, CPU 1"]["lost"][0], 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
