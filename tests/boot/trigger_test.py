# SPDX-License-Identifier: MIT
"""Conditions of triggers on the kernel's events: a second session of the module's has these."""

from __future__ import annotations

from pathlib import Path

from lab import Guest, loaded, read_events

PROGRAMS = ("bash", "dd", "tar", "sleep", "mkdir")
BEGUN = "sched:sched_process_exec if filename == \"/usr/bin/{}\""


def _start(guest: Guest, arguments: str) -> None:
    patterns = "-e 'sched:sched_process_exec' -e 'syscalls:sys_*_mkdir'"
    guest.check(f"lull start -k --name k -o /share/trace {patterns} {arguments}")


# How often each trigger of the session has fired.
FIRED = "lull status k --json | grep -o '\"fired\":[0-9]*' | cut -d: -f2 | tr '\\n' ' '"


def _until_fired(guest: Guest, counts: str) -> None:
    """Waits until the triggers of the session have fired so often."""
    result = guest.run(
        f'for i in $(seq 100); do [ "$({FIRED})" = "{counts} " ] && exit 0; sleep 0.1; done;'
        f" {FIRED}; exit 1"
    )
    assert result.status == 0, f"fired {result.output}, not {counts}"


def _files_begun(trace: Path) -> list[str]:
    events = read_events(trace)
    return [e["fields"]["filename"] for e in events if e["name"] == "sched:sched_process_exec"]


def condition_on_an_event_of_the_kernels_takes_a_snapshot() -> None:
    with loaded(PROGRAMS) as guest:
        never = "syscalls:sys_enter_mkdir if mode == 0123"
        _start(
            guest,
            f"--flight-recorder --on '{BEGUN.format('dd')}' --do snapshot"
            f" --on '{never}' --do snapshot",
        )
        guest.check("/usr/bin/tar --version; /usr/bin/mkdir /run/made")
        assert not list((guest.share / "trace").glob("snapshot-*"))
        guest.check("/usr/bin/dd --version")
        _until_fired(guest, "1 0")
        told = guest.check("lull stop k")
        assert f"'{never}' never fired" in told, told
        found = _files_begun(guest.share / "trace" / "snapshot-1")
        assert "/usr/bin/tar" in found and "/usr/bin/dd" in found, found
        # The second is what is left at the end.
        assert len(list((guest.share / "trace").glob("snapshot-*"))) == 2


def long_system_call_meets_a_condition_and_short_ones_do_not() -> None:
    with loaded(PROGRAMS) as guest:
        call = "syscalls:sys_clock_nanosleep > 400ms"
        work = "/usr/bin/sleep 0.01; /usr/bin/sleep 0.02; /usr/bin/sleep 0.8; /usr/bin/sleep 0.01"
        told = guest.check(
            "lull record -k -o /share/trace -e sched:sched_process_exec --duration 6s"
            f" --on '{call}' --do 'run echo $LULL_DURATION_NS >> /run/took'"
            f" --on '{call} if $comm == \"nobody\"' --do count 2> /run/told &"
            f" until [ -s /share/trace/metadata ]; do sleep 0.1; done; sleep 1; {work};"
            " wait $!; cat /run/told"
        )
        assert f"'{call}' fired 1 time" in told, told
        assert "\"nobody\"' never fired" in told, told
        assert 8e8 <= int(guest.check("cat /run/took")) < 4e9


def filters_by_context_and_mixed_conditions_are_decided_as_they_say() -> None:
    with loaded(PROGRAMS) as guest:
        _start(
            guest,
            "--on 'syscalls:sys_enter_mkdir if $uid == 0 && $prio == 120' --do count"
            " --on 'syscalls:sys_enter_mkdir if $uid == 1' --do count"
            " --on 'sched:sched_process_exec then syscalls:sys_enter_mkdir within 60s' --do count"
            " --on 'syscalls:sys_enter_mkdir then sched:sched_process_exec within 60s' --do count"
            " --on 'io:write_entry then syscalls:sys_enter_write within 10s' --do count",
        )
        guest.check("/usr/bin/mkdir /run/made")
        _until_fired(guest, "1 0 1 0 0")
        # A CPU of the guest's that stands still within an event has it matched too late, which is
        # told, and is no firing: so there may have to be another try.
        write = "lull run k -- /usr/bin/dd if=/dev/zero of=/run/made/x count=1 2> /dev/null"
        found = guest.check(
            f"for i in $(seq 8); do {write}; sleep 0.5;"
            f' [ "$({FIRED})" = "1 0 1 0 0 " ] || break; done; {FIRED}'
        )
        assert found.split()[:4] == ["1", "0", "1", "0"], found
        assert found.split()[4] != "0", found
        guest.check("lull stop k")


def conditions_on_the_kernel_come_and_go_while_the_session_runs() -> None:
    with loaded(PROGRAMS) as guest:
        _start(guest, "")
        begin, end = "lull trigger k --on '", "' --do count"
        guest.check(f"{begin}{BEGUN.format('dd')}{end}")
        guest.check("/usr/bin/dd --version; /usr/bin/tar --version")
        _until_fired(guest, "1")
        # While a call is measured, others come and go.
        guest.check(f"{begin}syscalls:sys_clock_nanosleep > 2s{end}")
        guest.run("/usr/bin/sleep 4 > /dev/null 2>&1 &")
        guest.check("sleep 0.5")
        guest.check(f"{begin}{BEGUN.format('tar')}{end}")
        guest.check("/usr/bin/dd --version; /usr/bin/tar --version")
        _until_fired(guest, "2 0 1")
        guest.check("lull trigger k --remove 1")
        guest.check("/usr/bin/dd --version")
        _until_fired(guest, "1 1")
        result = guest.run("lull trigger k --on 'sched:sched_swich' --do count")
        assert result.status == 2, result.output
        assert "the nearest name is sched:sched_switch" in result.output, result.output
        guest.check("lull trigger k --remove 2 --remove 3; /usr/bin/tar --version")
        guest.check(f"{begin}{BEGUN.format('mkdir')}{end}")
        guest.check("/usr/bin/mkdir /run/made")
        _until_fired(guest, "1")
        told = guest.check("lull stop k")
        assert "removed at" in told and "fired 2 times" in told, told


def killed_recorder_with_conditions_on_the_kernel_leaves_no_session() -> None:
    with loaded(PROGRAMS) as guest:
        guest.check(
            f"lull record -k -o /share/trace --on '{BEGUN.format('dd')}' --do count -- sleep 60"
            " 2> /run/told & recorder=$!;"
            " until [ -s /share/trace/stream-kernel-cpu0 ]; do sleep 0.1; done;"
            " kill -9 $recorder; wait $recorder; rmmod lull"
        )
        guest.check("lull recover --discard; insmod /modules/lull.ko")
