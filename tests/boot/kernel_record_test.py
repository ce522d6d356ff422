# SPDX-License-Identifier: MIT
"""`lull record -k` with the module: the kernel's events and a program's, in one trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import MODULES, ROOT, Guest, lull_files, read_events

PROGRAMS = ("bash", "dd", "tar", "sleep")
INSTRUMENTED = ROOT / "build" / "examples" / "requests"
# Processes, a pipe, files, a program with events of its own.
WORK = (
    "for i in 1 2 3; do (:); done;"
    " dd if=/dev/zero of=/run/w/zeros bs=4k count=64 2> /run/dd;"
    " tar -cf - -C /run w | dd of=/run/tar bs=8k 2> /run/dd; requests > /run/requests"
)


@contextmanager
def _guest(append: str = "") -> Iterator[Guest]:
    """A guest that has loaded the module, and unloads it at its end."""
    files = {f"/usr/bin/{name}": Path("/bin") / name for name in PROGRAMS}
    files["/usr/bin/requests"] = INSTRUMENTED
    modules = [MODULES / "lull.ko"]
    with Guest(modules=modules, files={**lull_files(), **files}, append=append) as guest:
        guest.check("mkdir /run/w && insmod /modules/lull.ko")
        yield guest
        guest.check("rmmod lull")


def _tid(event: dict) -> int:
    return event.get("thread", {}).get("tid", 0)


def _is_kernels(event: dict) -> bool:
    return event["name"].startswith(("sched:", "syscalls:", "irq:", "task:"))


def program_and_kernel_are_recorded_into_one_trace_by_the_module() -> None:
    with _guest() as guest:
        told = guest.check(f"lull record -k -o /share/trace -- bash -c '{WORK}'", 240)
        assert "complete: no event is missing" in told.lower(), told
        assert "by the module lull" in told, told
        events = list(read_events(guest.share / "trace"))
    times = [event["cycles"] for event in events]
    assert times == sorted(times)
    kernels = [event for event in events if _is_kernels(event)]
    own = [event for event in events if event["name"].startswith(("io:", "process:", "http:"))]
    found = {event["name"] for event in kernels}
    assert {"sched:sched_switch", "syscalls:sys_enter_write"} <= found, found
    both = set(map(_tid, kernels)) & set(map(_tid, own)) - {0}
    assert both, f"{len(kernels)} events of the kernel, {len(own)} of programs, no common thread"
    # A thread's call of the library encloses its system call.
    tid = next(_tid(event) for event in own if event["name"] == "io:write_entry")
    names = [event["name"] for event in events if _tid(event) == tid]
    at = names.index("io:write_entry")
    assert "syscalls:sys_enter_write" in names[at : names.index("io:write_exit", at)], names


def program_that_did_not_join_is_told_although_the_kernel_saw_it_run() -> None:
    with _guest() as guest:
        told = guest.check("lull record -k -o /share/trace -- bash -c 'mkdir /run/w/new; :'")
        assert "not recorded: /bin/mkdir" in told and "statically linked" in told, told


def rings_that_are_too_small_lose_events_and_damage_none() -> None:
    with _guest() as guest:
        record = "lull record -k --buffer-size 4K --buffers 2 -o /share/trace"
        told = guest.check(f"{record} -- bash -c '{WORK}'", 240)
        assert "events lost on CPU" in told and "damaged" not in told, told


def event_inside_of_another_is_refused_and_told() -> None:
    """A path that is not in memory faults when the probe of its call reads it."""
    with _guest() as guest:
        patterns = "-e 'exceptions:page_fault_kernel' -e 'syscalls:sys_enter_openat'"
        told = guest.check(f"lull record -k {patterns} -o /share/trace -- bash -c '{WORK}'", 240)
        assert "inside" in told, told


def event_of_an_interrupt_that_ends_inside_of_a_probe_is_recorded() -> None:
    """With threadirqs, the last step of an interrupt wakes the thread that runs softirqs."""
    with _guest("threadirqs") as guest:
        patterns = "-e 'syscalls:*' -e 'sched:*'"
        record = f"lull record -k --flight-recorder {patterns} -o /run/trace"
        work = "dd if=/dev/zero of=/dev/null bs=1 count=150000 2> /run/dd"
        told = guest.check(f"{record} -- bash -c '{work}'", 240)
        assert "inside" not in told, told


def machine_is_recorded_without_a_program_and_as_a_flight_recorder() -> None:
    with _guest() as guest:
        guest.check("lull record -k --duration 500ms -o /share/all")
        guest.check(f"lull record -k --flight-recorder -o /share/last -- bash -c '{WORK}'", 240)
        assert any(map(_is_kernels, list(read_events(guest.share / "all"))))
        assert any(map(_is_kernels, list(read_events(guest.share / "last"))))


def killed_recorder_leaves_a_module_that_can_go_and_a_trace_that_can_be_finished() -> None:
    with _guest() as guest:
        guest.check(
            "lull record -k -o /share/trace -- sleep 60 2> /run/told & recorder=$!;"
            " until [ -s /share/trace/stream-kernel-cpu0 ]; do sleep 0.1; done;"
            " kill -9 $recorder; wait $recorder; rmmod lull"
        )
        told = guest.run("lull recover").output
        assert "kernel's events from the killed recorder's last look on" in told, told
        guest.check("insmod /modules/lull.ko")
        assert any(map(_is_kernels, list(read_events(guest.share / "trace", status=1))))


def events_of_the_module_are_listed_by_anyone() -> None:
    with _guest() as guest:
        listed = guest.check("lull list -k -e 'sched:*'")
        assert "sched:sched_switch" in listed and "prev_comm" in listed, listed
        assert "the module lull is loaded" in guest.run("lull doctor").output
