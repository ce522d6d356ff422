# SPDX-License-Identifier: MIT
"""One guest in which Lull's module and LTTng record the same work at the same time.

The guest's time is the count of its instructions, so that no other load of this machine comes
between what the two record of one event."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
for below in ("bench", "bench/kernel_instructions", "tests/boot"):
    sys.path.insert(0, str(ROOT / below))

import peer  # noqa: E402
from lab import MODULES, Guest, Skip, ext4_disk, headers, kernel, lull_files  # noqa: E402

COMMAND_LIMIT_S = 300
DISK_MIB = 32
MEMORY_MIB = 2048
LULL_EVENTS = ("sched", "syscalls", "irq", "irq_vectors", "block", "task", "state")
# LTTng's sessions: one whose events have no contexts, one whose events name their threads.
SESSIONS = {"plain": "", "named": "-t tid -t pid -t procname"}
FILE = "/mnt/known"


def program(folder: Path) -> Path:
    """The work, compiled without shared libraries."""
    built = folder / "work"
    words = ["gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror", "-o", built, HERE / "work.c"]
    subprocess.run(words, check=True, timeout=COMMAND_LIMIT_S)
    return built


def set_up() -> list[str]:
    """The commands before the work: a process that holds descriptors, LTTng's sessions."""
    commands = [
        "mount -t ext4 /dev/vda /mnt && insmod /modules/lull.ko",
        "ln -s /run /var/run && lttng-sessiond --daemonize",
        "(/bin/work hold > /dev/null 2>&1 < /dev/null &); sleep 1",
    ]
    for name, contexts in SESSIONS.items():
        commands += [
            f"lttng create {name} --output=/run/{name}",
            f"lttng enable-channel -k -s {name} --subbuf-size=2M --num-subbuf=8 c",
            f"lttng enable-event -k -s {name} -c c --all",
        ]
        if contexts:
            commands.append(f"lttng add-context -k -s {name} -c c {contexts}")
    return commands + [f"lttng start {name}" for name in SESSIONS]


def tear_down() -> list[str]:
    """The commands after it. Traces are written to memory first, so that to write them is no work
    that takes long."""
    commands = [f"lttng stop {name} && lttng destroy {name}" for name in SESSIONS]
    commands += [f"mv /run/{name} /share/{name}" for name in SESSIONS]
    return [*commands, "mv /run/lull /share/lull", "kill $(cat /run/lttng/lttng-sessiond.pid)"]


def record(share: Path) -> None:
    """The traces `lull`, `plain` and `named` come into the folder."""
    missing = peer.missing()
    if missing:
        raise Skip(missing)
    release = kernel("6.1")
    build = headers(release)
    patterns = " ".join(f"-e '{group}:*'" for group in LULL_EVENTS)
    work = f"touch /tmp/go; sleep 1; /bin/work all {FILE}"
    with tempfile.TemporaryDirectory(prefix="lull-lttng-") as folder:
        files = {**lull_files(), **peer.files(build, release.release)}
        files["/bin/work"] = program(Path(folder))
        with Guest(
            modules=[MODULES / "lull.ko"],
            kernel_modules=["virtio_blk", "crc32c_generic", "ext4"],
            files=files,
            devices=ext4_disk(Path(folder), DISK_MIB),
            memory_mib=MEMORY_MIB,
            share=share,
            exact=True,
        ) as guest:
            for command in set_up():
                guest.check(command, COMMAND_LIMIT_S)
            # The shell is static, of which Lull records what the kernel tells: the status says so.
            told = guest.run(
                f"lull record -k {patterns} -o /run/lull -- sh -c '{work}' 2>&1", COMMAND_LIMIT_S
            )
            assert "the dump of the kernel's state when recording began is whole" in told.output, (
                told.output
            )
            for command in tear_down():
                guest.check(command, COMMAND_LIMIT_S)
