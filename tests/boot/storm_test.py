# SPDX-License-Identifier: MIT
"""lull.ko under what no machine does to it all day: unloading while recorders of several users come
and are killed and a CPU leaves, and storms of interrupts that nothing can mask."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab import LIMIT_S, MODULES, Guest, LabError, lull_files, read_events

LOADS = int(os.environ.get("LOADS", "2"))
NMIS = int(os.environ.get("NMIS", "500"))
NMIS_AT_ONCE = 10
# What each recording is asked for, and whether it has room for all events.
ROOM = "--buffer-size 4M --buffers 32"
NO_ROOM = "--buffer-size 16K --buffers 4"
CONTEXT = (
    " --context comm,prio,cgroup,net_ns,perf:page-faults,perf:context-switches"
    ",kernel_stack,user_stack"
)
# Linux 6.1 itself warns when printk:console is traced in an NMI: "srcu can't be used from NMI".
EVERYTHING = "-e '*[a-z]*' -e '!printk:console' -e '!malloc:*'"
# Runs inside of the recording: NMIs come from the first file's time to the last one's.
STORM = r"""
count() {
	while read -r name first second rest && [ "$name" != NMI: ]; do :; done < /proc/interrupts
	count=$((first + second))
}
count; until=$((count + $1)); : > /share/begun
until [ $count -ge $until ]; do (:); count; done
: > /share/enough; until [ -e /share/over ]; do (:); done
"""


def module_goes_when_its_last_recorder_is_dead() -> None:
    files = {"/bin/unload_test": MODULES / "unload_test"}
    # What is freed is filled with a pattern, which has to be there when it is used again.
    line = "slub_debug=FZP,kmalloc-* page_poison=1"
    with Guest(modules=[MODULES / "lull.ko"], files=files, append=line) as guest:
        result = guest.run(
            f"while :; do (:); done & load=$!; unload_test {LOADS}; status=$?;"
            " kill $load; exit $status",
            LIMIT_S,
        )
        print(result.output, end="")
        assert result.status == 0, result.output


@contextmanager
def _nmis_where_asked_for(guest: Guest) -> Iterator[None]:
    """Interrupts that cannot be masked, from when the guest has made /share/begun until it has made
    /share/enough; after the last one, /share/over."""
    is_over = threading.Event()

    def send() -> None:
        with suppress(LabError, OSError):  # of a guest that has ended: its test says why
            while not is_over.is_set() and not (guest.share / "begun").exists():
                time.sleep(0.01)
            while not is_over.is_set() and not (guest.share / "enough").exists():
                guest.nmi(NMIS_AT_ONCE)
            (guest.share / "over").touch()

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        is_over.set()
        sender.join()
        for name in ("begun", "enough", "over"):
            (guest.share / name).unlink(missing_ok=True)


def _counted(guest: Guest) -> int:
    """How many NMIs the guest's kernel has counted, on both CPUs."""
    return sum(map(int, guest.check("grep NMI: /proc/interrupts").split()[1:3]))


def _recorded_storm(guest: Guest, options: str) -> tuple[str, int, Counter[str]]:
    """Everything is recorded during a storm. Return: the recorder's verdict, how many NMIs the
    kernel counted, and how many events of nmi:nmi_handler each handler has in the trace."""
    trace = guest.share / f"trace-{options.replace(' ', '')}"
    before = _counted(guest)
    with _nmis_where_asked_for(guest):
        told = guest.check(
            f"lull record -k {EVERYTHING} {options} -o /share/{trace.name}"
            f" -- bash /bin/storm {NMIS} 2>&1",
            LIMIT_S,
        )
    counted = _counted(guest) - before
    handlers: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for event in read_events(trace, status=0 if "no event is missing" in told else 1):
        names[event["name"]] += 1
        if event["name"] == "nmi:nmi_handler":
            handlers[event["fields"]["handler"]] += 1
    print(f"{options}: {counted} NMIs, {sum(names.values())} events, {names.most_common(9)}")
    print(told)
    return told, counted, handlers


def interrupts_that_no_one_masks_are_recorded_in_the_middle_of_everything() -> None:
    with tempfile.NamedTemporaryFile("w") as storm:
        storm.write(STORM)
        storm.flush()
        files = {**lull_files(), "/usr/bin/bash": Path("/bin/bash"), "/bin/storm": Path(storm.name)}
        # What the kernel says of an NMI that it does not know is not printed; its log is long.
        line = "apic_extnmi=all loglevel=0 log_buf_len=32M"
        said = "NMI received for unknown reason|Dazed and confused|strange power saving"
        modules = [MODULES / "lull.ko"]
        with Guest(
            modules=modules, files=files, append=line, unread=said, memory_mib=1536
        ) as guest:
            guest.check("insmod /modules/lull.ko")
            tainted = guest.check("cat /proc/sys/kernel/tainted")
            for mode in ("", " --flight-recorder"):
                told, counted, handlers = _recorded_storm(guest, ROOM + mode)
                assert "lost" not in told and "damaged" not in told, told
                assert counted >= NMIS and handlers, (counted, handlers)
                assert set(handlers.values()) == {counted}, (counted, handlers)
                told, counted, handlers = _recorded_storm(guest, NO_ROOM + mode)
                assert "damaged" not in told, told
                assert max(handlers.values(), default=0) <= counted, (counted, handlers)
                told, counted, handlers = _recorded_storm(guest, NO_ROOM + mode + CONTEXT)
                assert "damaged" not in told, told
                assert max(handlers.values(), default=0) <= counted, (counted, handlers)
            assert guest.check("cat /proc/sys/kernel/tainted") == tainted
            guest.check("rmmod lull")
