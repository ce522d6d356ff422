# SPDX-License-Identifier: MIT
"""Live sessions with the kernel's events: a pause is for the kernel as for programs."""

from __future__ import annotations

from pathlib import Path

from lab import MODULES, Guest, lull_files, read_events

PROGRAMS = ("sleep", "dd", "tar")


def _programs_told(guest: Guest) -> set[str]:
    """Which of the programs began, as the kernel's events say; one of them in a pause."""
    guest.check("lull start -k --name k -o /share/trace -e 'sched:sched_process_exec'")
    # With their paths: the guest's shell has programs of these names in itself.
    sleep, dd, tar = (f"/usr/bin/{name}" for name in PROGRAMS)
    guest.check(f"{sleep} 0; lull pause k; {dd} --version; lull resume k; {tar} --version")
    told = guest.check("lull stop k")
    assert "outside of the pause, in which nothing was recorded" in told, told
    assert "no event is missing" not in told, told
    events = read_events(guest.share / "trace")
    begun = [event for event in events if event["name"] == "sched:sched_process_exec"]
    assert begun, told
    return {Path(event["fields"]["filename"]).name for event in begun} & set(PROGRAMS)


def _files() -> dict:
    return {**lull_files(), **{f"/usr/bin/{name}": Path("/bin") / name for name in PROGRAMS}}


def pause_stops_the_modules_probes_and_they_go_on_after_it() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=_files()) as guest:
        guest.check("insmod /modules/lull.ko")
        told = _programs_told(guest)
        guest.check("rmmod lull")
    assert told == {"sleep", "tar"}, told


def module_can_be_unloaded_as_soon_as_the_session_that_used_it_is_stopped() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=lull_files()) as guest:
        for number in range(3):
            guest.check("insmod /modules/lull.ko")
            guest.check(f"lull start -k --name k -o /run/trace{number}")
            guest.check("lull stop k && rmmod lull")


def session_whose_recorder_is_killed_at_once_is_recovered_without_the_kernels_events() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=lull_files()) as guest:
        guest.check("insmod /modules/lull.ko")
        guest.check(
            "lull start -k --flush-period 10m --name k --json -o /run/trace > /run/started;"
            ' kill -9 "$(sed \'s/.*"pid": *\\([0-9]*\\).*/\\1/\' /run/started)"'
        )
        told = guest.run("lull recover").output
        assert "INCOMPLETE" in told and "the kernel's events" in told, told
        # The kernel closes the killed recorder's files after its lock: the module goes when it can.
        guest.check("for i in $(seq 300); do rmmod lull && exit; sleep 0.1; done; exit 1")


def cpu_that_is_offline_lacks_nothing_and_is_recorded_from_when_it_runs() -> None:
    programs = {"/usr/bin/taskset": Path("/usr/bin/taskset")}
    with Guest(files={**lull_files(), **programs}, smp=2, append="maxcpus=1") as guest:
        told = guest.check("lull record -k -e 'sched:*' --duration 500ms -o /run/trace")
        assert "complete: no event is missing" in told, told
        told = guest.check(
            "(sleep 2; echo 1 > /sys/devices/system/cpu/cpu1/online; taskset 2 sleep 0) &"
            " lull record -k -e 'sched:*' --duration 10s -o /share/trace"
        )
        assert "complete: no event is missing" in told, told
        assert 1 in {event.get("cpu") for event in read_events(guest.share / "trace")}


def pause_stops_an_instance_of_tracefs_and_it_goes_on_after_it() -> None:
    with Guest(files=_files()) as guest:
        told = _programs_told(guest)
    assert told == {"sleep", "tar"}, told
