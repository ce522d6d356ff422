# SPDX-License-Identifier: MIT
"""Events of other modules: recorded while lull.ko is there, in modules that come and go."""

from __future__ import annotations

import struct
from pathlib import Path

from lab import MODULES, Guest, lull_files

EXAMPLE = MODULES / "lull_example.ko"
PROGRAM = MODULES / "events_test"
FILES: dict[str, Path] = {"/bin/events_test": PROGRAM}
JOBS = "/sys/module/lull_example/parameters/jobs"
LOAD = "insmod /modules/lull_example.ko"
KINDS = (b"copy", b"sort", b"check")


def _lines(output: str) -> list[str]:
    """What was recorded, without threads; nothing was lost and everything described."""
    lines = output.splitlines()
    assert lines[-1] == "lost 0, undescribed 0", lines
    return [line.split(" ", 1)[1] for line in lines[:-1]]


def _jobs(count: int) -> list[str]:
    """The events of so many jobs."""
    found = []
    for number in range(count):
        digits, kind = struct.pack("<I", number).hex(), KINDS[number % 3].hex()
        found += [f"example:job number:u32:{digits} kind:str:{kind}"]
        found += ["example:finished interrupt:bool:01"]
    return found


def _guest() -> Guest:
    return Guest(modules=[MODULES / "lull.ko", EXAMPLE], files=FILES, smp=1)


def events_of_a_module_are_recorded_from_its_first_line_to_its_last() -> None:
    with _guest() as guest:
        guest.check("insmod /modules/lull.ko")
        round_of = f"{LOAD} && echo 4 > {JOBS} && rmmod lull_example"
        lines = _lines(guest.check(f"events_test 'example:*' '{round_of} && {round_of}'"))
        once = ["example:loaded", *_jobs(4), "example:unloaded"]
        assert lines == once * 2, lines
        # Of the patterns, and of no session before this one.
        lines = _lines(guest.check(f"events_test 'example:*@notice' '{round_of}'"))
        assert lines == ["example:loaded", "example:unloaded"], lines


def module_with_events_runs_before_and_after_the_tracer() -> None:
    with _guest() as guest:
        guest.check(f"{LOAD} && echo 4 > {JOBS} && grep lull_example /proc/modules")
        for _ in range(2):
            guest.check("insmod /modules/lull.ko")
            lines = _lines(guest.check(f"events_test 'example:*' 'echo 3 > {JOBS}'"))
            assert lines == _jobs(3), lines
            guest.check(f"rmmod lull && echo 4 > {JOBS}")
        guest.check("rmmod lull_example")


def module_goes_while_its_events_are_recorded_under_load() -> None:
    with Guest(modules=[MODULES / "lull.ko", EXAMPLE], files=FILES) as guest:
        guest.check("insmod /modules/lull.ko")
        (guest.share / "work").write_text(
            f"for round in $(seq 12); do {LOAD}; echo 40 > {JOBS} & echo 40 > {JOBS}; wait;"
            " rmmod lull_example || exit 1; done\n"
        )
        # Another session begins and ends all the time, so that masks and keys change under load.
        guest.check(
            "while test ! -e /run/over; do events_test 'example:*' true > /run/other || exit 1;"
            " done & events_test 'example:*' 'sh /share/work' > /share/ours;"
            " status=$?; touch /run/over; wait; exit $status",
        )
        lines = _lines((guest.share / "ours").read_text())
        counts = [sum(each.startswith(f"example:{name}") for each in lines) for name in
                  ("loaded", "job", "unloaded")]
        assert counts == [12, 12 * 80, 12], counts
        guest.check("rmmod lull")


def events_of_other_modules_are_listed_and_recorded_with_the_kernels_own() -> None:
    files = {**lull_files(), "/usr/bin/bash": Path("/bin/bash")}
    with Guest(modules=[MODULES / "lull.ko", EXAMPLE], files=files) as guest:
        guest.check(f"insmod /modules/lull.ko && {LOAD}")
        listed = guest.check("lull list -k -e 'example:*'")
        assert "example:job" in listed and "kind:str" in listed, listed
        assert "sched:sched_switch" not in listed, listed
        # The module goes, and comes while its events are recorded.
        command = f"rmmod lull_example; {LOAD}; echo 2 > {JOBS}; rmmod lull_example"
        told = guest.check(
            f"lull record -k -e 'example:*@notice' -e 'example:job' -e 'module:*'"
            f" -o /share/trace -- bash -c '{command}'",
            240,
        )
        # The guest's insmod and rmmod are statically linked, which the verdict tells.
        assert "lost" not in told and "could not" not in told, told
        printed = guest.run("lull print /share/trace").output
    lines = [line for line in printed.splitlines() if "example:" in line]
    names = [next(word for word in line.split() if "example:" in word) for line in lines]
    names = [name.strip(":") for name in names]
    jobs = ["example:job"] * 2
    assert names == ["example:unloaded", "example:loaded", *jobs, "example:unloaded"], printed
    assert "module:module_load" in printed


def filters_decide_on_events_of_other_modules_also_when_these_come_again() -> None:
    files = {**lull_files(), "/usr/bin/bash": Path("/bin/bash")}
    with Guest(modules=[MODULES / "lull.ko", EXAMPLE], files=files) as guest:
        guest.check(f"insmod /modules/lull.ko && {LOAD}")
        # Of the module's events, only example:job has a number: the others never meet the filter.
        work = f"echo 5 > {JOBS}; rmmod lull_example; {LOAD}; echo 5 > {JOBS}"
        wanted = """-e 'example:* if number >= 3 && kind != "sort"'"""
        told = guest.check(
            f"lull record -k {wanted} -o /share/trace -- bash -c '{work}'"
            f" && lull record -k -e 'example:*' -o /share/all -- bash -c '{work}'",
            240,
        )
        assert "4 events of the kernel's were filtered" in told, told
        for problem in ("events lost", "could not", "no longer"):
            assert problem not in told, told
        printed = guest.run("lull print /share/trace; echo ALL; lull print /share/all").output
        wrong = guest.run("lull record -k -e 'example:* if size == 3' -- true")
        assert wrong.status == 125 and "^^^^" in wrong.output, wrong.output
        # What announces an event is no tracepoint that a probe could be registered with.
        wrong = guest.run("lull record -k --probe 't lull_example:lull_event/2 $arg1' -- true")
        assert wrong.status == 125 and "no such place" in wrong.output, wrong.output
        guest.check("rmmod lull")
    events = [line for line in printed.splitlines() if not line.startswith("lull:")]
    filtered, everything = events[: events.index("ALL")], events[events.index("ALL") :]
    jobs = [line for line in filtered if "example:" in line]
    assert len(jobs) == 2, printed
    assert all("example:job" in line and "number=3" in line for line in jobs), printed
    assert sum("example:" in line for line in everything) == 2 * 5 * 2 + 2, printed
