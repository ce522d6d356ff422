# SPDX-License-Identifier: MIT
"""Memory that is reserved at boot: a flight recorder in it is read after a crash of the machine."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import MODULES, Guest, lull_files, read_events

SIZE, ADDRESS = 32 << 20, 0x20000000
LINE = f"memmap={SIZE:#x}${ADDRESS:#x}"
LOAD = f"insmod /modules/lull.ko memory={SIZE:#x}@{ADDRESS:#x}"
EVENTS = "-e 'syscalls:sys_enter_umask' -e 'syscalls:sys_enter_write'"
RECORD = f"lull record -k --flight-recorder --reserved {EVENTS}"
MASKS = range(512)
# A call for each mask, and last the write that crashes the machine.
CRASH = (
    f"for mask in {{0..{MASKS[-1]}}}; do printf -v octal %o $mask; umask $octal; done;"
    " echo c > /proc/sysrq-trigger"
)
PANIC = ["Kernel panic"]


@contextmanager
def _guest(memory: Path, load: str = LOAD, **settings: object) -> Iterator[Guest]:
    """A boot of the machine whose memory is in a file, with the module."""
    files = {**lull_files(), "/usr/bin/bash": Path("/bin/bash")}
    settings = {"append": LINE, "memory_file": memory, **settings}
    with Guest(modules=[MODULES / "lull.ko"], files=files, **settings) as guest:
        guest.check(load)
        yield guest


@contextmanager
def _crashed(record: str = RECORD) -> Iterator[Path]:
    """The memory of a machine that crashed while it recorded."""
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        memory = Path(folder) / "memory"
        with _guest(memory, allowed=PANIC) as guest:
            guest.check(f"echo '{CRASH}' > /run/crash")
            guest.end(f"{record} -o /run/trace -- bash /run/crash", limit_s=300)
            console = guest.log.console_file.read_text(encoding="utf-8", errors="replace")
            assert "reserved memory was written back from the caches" in console, console[-2000:]
        yield memory


def _events(trace: Path) -> list[dict]:
    """The events of the only snapshot in a trace, of which babeltrace2 reads as many."""
    [snapshot] = trace.glob("snapshot-*")
    return list(read_events(snapshot))


def _masks(events: list[dict]) -> list[int]:
    return [
        event["fields"]["mask"] for event in events if event["name"] == "syscalls:sys_enter_umask"
    ]


def flight_recorder_survives_a_panic_with_every_event() -> None:
    with _crashed() as memory, _guest(memory) as guest:
        assert "crash of the machine left a session" in guest.run("lull doctor").output
        refused = guest.run(f"{RECORD} -o /run/other -- true")
        assert refused.status == 125 and "lull recover" in refused.output, refused.output
        told = guest.check("lull recover /dev/lull -o /share/trace")
        assert "complete within these limits" in told.lower(), told
        assert "until the machine went down" in told, told
        events = _events(guest.share / "trace")
        assert _masks(events) == list(MASKS), _masks(events)
        assert events[-1]["name"] == "syscalls:sys_enter_write", events[-1]
        assert events[-1]["thread"]["name"] == "bash", events[-1]
        # The memory is free again, and a session that ends leaves nothing.
        assert guest.run("lull recover /dev/lull").status == 2
        guest.check(f"{RECORD} -o /share/next -- bash -c 'umask 7'")
        assert 7 in _masks(_events(guest.share / "next"))
        guest.check(f"rmmod lull && {LOAD}")
        assert "no session was left" in guest.run("lull recover /dev/lull").output


def _damage(memory: Path, begin: int, until: int, count: int, chance: random.Random) -> None:
    """Other bytes in some places of the reserved memory."""
    with open(memory, "r+b") as file:
        for _ in range(count):
            file.seek(ADDRESS + chance.randrange(begin, until))
            file.write(chance.randbytes(chance.choice((1, 4, 8))))


def bytes_that_a_crash_damaged_harm_nobody() -> None:
    chance = random.Random(1)
    with _crashed() as memory:
        with open(memory, "rb") as file:
            file.seek(ADDRESS)
            note = file.read(4096)
        # The note is whole: control block, table, rings' words and data are anything.
        _damage(memory, 4096, 3 << 20, 3000, chance)
        _damage(memory, 3 << 20, SIZE, 3000, chance)
        with _guest(memory) as guest:
            done = guest.run("lull recover /dev/lull -o /share/trace")
            assert done.status in (0, 1, 2), done.output
            guest.check("lull print --all /share/trace/snapshot-1 > /dev/null; test $? -le 2")
        # What was recovered is forgotten; it is there again, with a note that is not whole.
        with open(memory, "r+b") as file:
            file.seek(ADDRESS)
            file.write(note)
        _damage(memory, 64, 128, 3, chance)
        with _guest(memory) as guest:
            assert "cannot be read: its description is damaged" in guest.dmesg()
            assert guest.run("lull recover /dev/lull").status == 2
            guest.check(f"{RECORD} -o /run/next -- bash -c 'umask 7'")
