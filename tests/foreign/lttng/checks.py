# SPDX-License-Identifier: MIT
"""The answers, compared: each test takes the folder with the traces. Where both tracers record one
event, the second notes it later, by at most EDGE_NS: times differ by that at each of their ends."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from answers import (
    QUERY,
    WORKERS,
    by_thread,
    counts,
    lines,
    named,
    of_work,
    query,
    report,
    table,
    words,
)
from record import FILE, SESSIONS, Skip

EDGE_NS = 20_000
# What work.c does.
WAKES, PIPE_ITEMS, BLOCKS, NAPS, MESSAGES = 20, 40, 64, 5, 25
BURN_NS, NAP_NS = 200_000_000, 30_000_000
FILE_BYTES, PIPE_BYTES, MESSAGE_BYTES = BLOCKS * 4096, PIPE_ITEMS * 100, MESSAGES * 1000
# The tracers and their shell, which are not the same when the one and when the other ends.
TRACERS = ("lull", "lttng", "Notification", "Rotation", "Client", "Health", "sh", "signal-witness")
MOMENTS = 12
GAP_NS = 200_000  # between two switches with a moment in the middle that is of no switch


def _near(ours: dict, theirs: dict, key: str, edges: int, what: str) -> None:
    apart = abs(ours[key] - theirs[key])
    assert apart <= edges * EDGE_NS, f"{what}: {key} {ours[key]} and {theirs[key]}"


def _same_rows(ours: dict, theirs: dict, exact: tuple[str, ...], near: tuple[str, ...]) -> None:
    """Rows with the same keys, whose counts are the same, and whose times nearly are."""
    assert ours and sorted(ours, key=str) == sorted(theirs, key=str), (
        f"only Lull: {set(ours) - set(theirs)}, only LTTng: {set(theirs) - set(ours)}"
    )
    for key, row in ours.items():
        for column in exact:
            assert row[column] == theirs[key][column], f"{key}: {column}\n{row}\n{theirs[key]}"
        edges = 2 * (max((row[column] for column in exact), default=0) + 1)
        for column in near:
            _near(row, theirs[key], column, edges, str(key))


def _work_span(folder: Path) -> tuple[str, ...]:
    """Arguments that choose the time of the work, by Lull's trace."""
    began = lines(folder / "lull", "print", "-e", "sched:sched_process_exec")
    # `work held` is the first, then comes `work all`.
    began = [each for each in began if each["fields"]["filename"] == "/bin/work"]
    ended = lines(folder / "lull", "print", "-e", "sched:sched_process_exit")
    until = [each["time_ns"] for each in ended if of_work(each["thread"]["name"])]
    return "--from", str(began[1]["time_ns"]), "--to", str(max(until))


def times_on_and_off_cpus_are_alike_by_thread(folder: Path) -> None:
    ours = by_thread(table(folder / "lull", "cpu", "threads"))
    assert {key[0].split("[")[0] for key in ours} == set(WORKERS)
    for session in SESSIONS:
        theirs = by_thread(table(folder / session, "cpu", "threads"))
        _same_rows(ours, theirs, ("waits",), ("on_cpu_ns", "wait_ns", "off_ns"))


def times_of_the_burners_are_what_they_burned(folder: Path) -> None:
    for trace in ("lull", *SESSIONS):
        rows = by_thread(table(folder / trace, "cpu", "threads"))
        a, b = (row for (name,), row in sorted(rows.items()) if name.startswith("burner"))
        for one, other in ((a, b), (b, a)):
            assert BURN_NS <= one["on_cpu_ns"] <= BURN_NS * 1.1, one
            # The last to end has the CPU alone for the rest of its time.
            assert one["wait_ns"] >= other["on_cpu_ns"] * 0.8, (one, other)
        [napper] = [row for (name,), row in rows.items() if name.startswith("napper")]
        assert NAPS * NAP_NS <= napper["off_ns"] <= NAPS * NAP_NS * 1.1, napper


def reasons_off_the_cpu_are_alike_by_thread(folder: Path) -> None:
    def told(trace: str) -> dict:
        return by_thread(table(folder / trace, "off-cpu", "threads"), "call", "kind")

    ours = told("lull")
    for session in SESSIONS:
        _same_rows(ours, told(session), ("count",), ("off_ns", "max_ns"))


def calls_are_alike_by_thread_and_as_many_as_the_work_makes(folder: Path) -> None:
    def told(trace: str) -> dict:
        rows = report(folder / trace, "--by", "thread")["latencies"]
        rows = [{**row, "thread": row["group"]} for row in rows]
        calls = by_thread(rows, "name")
        return {key: row for key, row in calls.items() if key[1].startswith("syscalls:")}

    ours = told("lull")
    known = {
        ("pipe-reader", "read"): PIPE_ITEMS,
        ("pipe-writer", "write"): PIPE_ITEMS,
        ("file-worker", "read"): BLOCKS,
        ("file-worker", "write"): BLOCKS,
        ("file-worker", "fsync"): 1,
        ("futex-waker", "futex"): WAKES,
        ("napper", "clock_nanosleep"): NAPS,
        ("client", "sendto"): MESSAGES,
        ("server", "recvfrom"): MESSAGES,
    }
    by_name = {(key[0].split("[")[0], key[1].rsplit("_", 1)[-1]): row for key, row in ours.items()}
    for (thread, call), count in known.items():
        assert by_name[thread, call.rsplit("_", 1)[-1]]["count"] == count, (thread, call)
    # A thread may lose its CPU between what the one and the other note of one call.
    waits = by_thread(table(folder / "lull", "cpu", "threads"))
    for session in SESSIONS:
        theirs = told(session)
        _same_rows(ours, theirs, ("count", "failures"), ())
        for key, row in ours.items():
            apart = abs(row["total_ns"] - theirs[key]["total_ns"])
            most = waits[key[:1]]["wait_ns"] + 2 * row["count"] * EDGE_NS
            assert apart <= most, (key, row, theirs[key])


def bytes_are_alike_by_file_and_those_of_the_work(folder: Path) -> None:
    def told(trace: str) -> dict:
        rows = report(folder / trace)["files"]
        keys = ("reads", "read_bytes", "writes", "write_bytes", "failures")
        wanted = [row for row in rows if (row["process"] or "").startswith("work[")]
        return {(row["name"], row["pid"]): [row[key] for key in keys] for row in wanted}

    ours = told("lull")
    moved = {(name, *row) for (name, _), row in ours.items()}
    assert (FILE, BLOCKS, FILE_BYTES, BLOCKS, FILE_BYTES, 0) in moved, moved
    assert ("pipe", PIPE_ITEMS, PIPE_BYTES, PIPE_ITEMS, PIPE_BYTES, 0) in moved, moved
    assert ("socket", MESSAGES, MESSAGES, MESSAGES, MESSAGE_BYTES, 0) in moved, moved
    assert ("socket", MESSAGES, MESSAGE_BYTES, MESSAGES, MESSAGES, 0) in moved, moved
    for session in SESSIONS:
        theirs = told(session)
        assert {key: theirs.get(key) for key in ours} == ours, (ours, theirs)


def requests_to_disks_are_alike(folder: Path) -> None:
    def told(trace: str) -> dict:
        rows = table(folder / trace, "io", "operations", *_work_span(folder))
        return {(row["device"], row["operation"]): row for row in rows}

    ours = told("lull")
    # The dump, which tells the disk's name, was before the work.
    assert ours[("254:0", "write")]["bytes"] >= FILE_BYTES, ours
    for session in SESSIONS:
        _same_rows(ours, told(session), ("count", "failures"), ("max_ns",))
        assert {key: row["bytes"] for key, row in told(session).items()} == {
            key: row["bytes"] for key, row in ours.items()
        }
        names = {row["device"] for row in table(folder / session, "io", "operations")}
        assert names == {"vda (254:0)"}, names


def interrupts_are_alike_by_source(folder: Path) -> None:
    def told(trace: str) -> dict:
        rows = table(folder / trace, "interrupts", "sources", *_work_span(folder))
        return {(row["kind"], row["number"], named(row["name"])): row["count"] for row in rows}

    ours = told("lull")
    assert {kind for kind, *_ in ours} == {"device", "soft", "vector"}, ours
    for session in SESSIONS:
        theirs = told(session)
        apart = {key: (ours.get(key), theirs.get(key)) for key in ours.keys() | theirs.keys()}
        # One at each end of the span may be in the one and not in the other.
        wrong = {key: (a, b) for key, (a, b) in apart.items() if abs((a or 0) - (b or 0)) > 2}
        assert not wrong, wrong


def threads_wake_the_same_threads(folder: Path) -> None:
    def told(trace: str) -> dict:
        edges = defaultdict(int)
        for row in _stays(folder / trace):
            edges[row] += 1
        return dict(edges)

    ours = told("lull")
    assert ours[("futex-sleeper", "futex-waker")] > 0 and ours[("pipe-reader", "pipe-writer")] > 0
    for session in SESSIONS:
        assert told(session) == ours, (ours, told(session))


def _stays(trace: Path) -> list[tuple[str, str]]:
    """Who was woken by whom on the critical paths of threads that others wake."""
    found = []
    for name in ("futex-sleeper", "pipe-reader", "server", "client"):
        [tid] = {
            row["thread"].split("[")[1].rstrip("]")
            for row in table(trace, "cpu", "threads")
            if row["thread"].startswith(f"{name}[")
        }
        begin, until = _life(trace, tid)
        span = ("--from", str(begin), "--to", str(until))
        rows = table(trace, "critical-path", "segments", "--tid", tid, *span)
        labels = [row["thread"].split("[")[0] for row in rows if of_work(row["thread"])]
        changes = zip(labels, labels[1:])
        found += [(name, other) for one, other in changes if one != other and other != name]
    return found


def _life(trace: Path, tid: str) -> tuple[int, int]:
    """From when to when a thread of the work was there."""
    rows = lines(trace, "state", "--from", "+0s", "--tid", tid)
    places = [row for row in rows if row["subject"] == "thread" and row["kind"] == "place"]
    ends = [row["end_ns"] for row in places if row["state"] == "running" and row["end_ns"]]
    return min(row["begin_ns"] for row in places if row["state"] == "running"), max(ends)


def processes_and_descriptors_at_the_end_are_alike(folder: Path) -> None:
    def told(trace: str) -> dict:
        found = {}
        for row in lines(folder / trace, "state"):
            if "pid" not in row or not row["threads"]:
                continue
            names = {thread["name"] for thread in row["threads"]}
            if any(name.startswith(TRACERS) for name in names):
                continue
            threads = sorted((thread["tid"], thread["name"]) for thread in row["threads"])
            files = [(file["fd"], file["file"]) for file in row["files"]]
            found[row["pid"]] = (row["parent_pid"], threads, files)
        return found

    ours = told("lull")
    held = [row for row in ours.values() if any(name == "work" for _, name in row[1])]
    assert [[fd for fd, _ in row[2]] for row in held] == [[0, 1, 2, 9]], held
    assert held[0][2][-1] == (9, "/etc/passwd"), held
    for session in SESSIONS:
        theirs = told(session)
        # Threads of the kernel's, whose parent is 2, end and change names between the two ends.
        gone = {pid for pid, (parent, *_) in ours.items() if parent == 2 and pid not in theirs}
        shared = {
            pid
            for pid, (_, threads, _) in ours.items()
            if pid not in gone and not threads[0][1].startswith("kworker")
        }
        both = {pid: (ours[pid], theirs.get(pid)) for pid in shared}
        wrong = {pid: rows for pid, rows in both.items() if rows[0] != rows[1]}
        assert not wrong, wrong
        assert len(shared) > len(gone) + 20, (shared, gone)
        assert "block device vda (254:0)" in words("state", folder / session)
        assert "address 127.0.0.1 of lo" in words("state", folder / session)


def places_are_alike_at_moments_of_the_history(folder: Path) -> None:
    def told(trace: str, at: int) -> dict:
        rows = lines(folder / trace, "state", "--at", str(at))
        wanted = [row for row in rows if row["kind"] == "place" and of_work(row["label"])]
        return {row["label"]: (row["state"], row.get("on_cpu")) for row in wanted}

    switches = lines(folder / "lull", "print", "-e", "sched:*", *_work_span(folder))
    at = [event["time_ns"] for event in switches]
    quiet = [(one + other) // 2 for one, other in zip(at, at[1:]) if other - one > GAP_NS]
    moments = quiet[:: max(1, len(quiet) // MOMENTS)]
    assert len(moments) >= MOMENTS
    seen = set()
    for moment in moments:
        ours = told("lull", moment)
        seen |= set(ours.values())
        for session in SESSIONS:
            assert told(session, moment) == ours, (moment, ours, told(session, moment))
    assert len(seen) > 2, seen


def periods_and_waits_of_the_flame_are_alike(folder: Path) -> None:
    def flames(trace: str) -> dict:
        rows = table(folder / trace, "flame", "stacks")
        split = {}
        for row in rows:
            process, thread, *frames = row["stack"].split(";")
            if of_work(thread):
                split[(thread, *map(named, frames))] = row
        return split

    def periods(trace: str) -> dict:
        rows = table(folder / trace, "periodic", "tasks")
        return {
            key: row
            for key, row in by_thread(rows, "event").items()
            if key[1].endswith("clock_nanosleep") and key[0].startswith("napper")
        }

    for session in SESSIONS:
        ours, theirs = flames("lull"), flames(session)
        assert ours and ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
        for key, row in ours.items():
            _near(row, theirs[key], "ns", 4 * PIPE_ITEMS, str(key))
        assert counts(periods("lull")) == counts(periods(session))


def locks_memory_and_the_unusual_are_told_of_any_trace(folder: Path) -> None:
    for trace in ("lull", *SESSIONS):
        assert report(folder / trace, "locks")["tables"]["locks"] == []
        assert report(folder / trace, "memory")["tables"]["sites"] == []
        assert report(folder / trace, "unusual")["tables"]["windows"] is not None


def calls_with_and_without_contexts_are_compared_and_are_as_many(folder: Path) -> None:
    span = _work_span(folder)
    told = report(folder / "plain", "compare", str(folder / "named"), *span)
    rows = {row["name"]: row for row in told["tables"]["latencies"]}
    for call in ("syscall_read", "syscall_write", "syscall_fsync", "syscall_sendto"):
        row = rows[call]
        assert row["count_a"] == row["count_b"] > 0, row
        assert abs(row["p50_a_ns"] - row["p50_b_ns"]) <= EDGE_NS, row


def queries_of_states_and_calls_are_alike(folder: Path) -> None:
    if not QUERY.exists():
        raise Skip("lull-query is not built (make build/bin/lull-query)")
    states = (
        "SELECT tid, state, count(*) AS n, sum(duration) AS ns FROM states"
        " WHERE tid IN (SELECT tid FROM states WHERE comm LIKE 'burner%' OR comm = 'napper'"
        " OR comm LIKE 'pipe-%' OR comm LIKE 'futex-%') GROUP BY tid, state"
    )
    calls = "SELECT tid, name, count(*) AS n FROM syscalls GROUP BY tid, name"
    ours = {(row["tid"], row["state"]): row for row in query(folder / "lull", states)}
    threads = {tid for tid, _ in ours}
    made = [row for row in query(folder / "lull", calls) if row["tid"] in threads]
    assert ours and made
    for session in SESSIONS:
        rows = query(folder / session, states)
        theirs = {(row["tid"], row["state"]): row for row in rows}
        _same_rows(ours, theirs, ("n",), ("ns",))
        of_theirs = {(row["tid"], row["name"]): row["n"] for row in query(folder / session, calls)}
        assert {(row["tid"], row["name"]): row["n"] for row in made}.items() <= of_theirs.items()
