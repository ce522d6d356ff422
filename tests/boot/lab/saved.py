# SPDX-License-Identifier: MIT
"""Saved states: a guest that QEMU interprets need not boot, for a boot of its machine is kept.

The state is a file in the cache: a guest whose kernel has booted and whose init waits for the
host's line (see `init`), before it has mounted its share, without which QEMU can save it. It is
made by the first that needs it. The file's name has a hash of all that the state depends on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from . import debian
from .channel import Channel
from .log import complaints
from .places import CACHE, LabError
from .qemu import RECENT_VERSION, Emulator, Machine, launch

BOOT_LIMIT_S = 300
SAVE_LIMIT_S = 60
# A guest's time is counted in the host's cycles, whose rate it measured when it booted.
HOSTS_START = Path("/proc/sys/kernel/random/boot_id")


def state_of(machine: Machine, emulator: Emulator, base: bytes) -> Path | None:
    """The state from which a guest of this machine goes on, or None if it has to boot.

    base: the archive of what each guest of the machine has.
    """
    if not machine.may_be_saved or emulator.version < RECENT_VERSION:
        return None
    kind = f"guest-{machine.kernel.release}-{machine.smp}-{machine.memory_mib}"
    state = CACHE / f"{kind}-{_hash(machine, emulator, base)}"
    if state.exists():
        return state
    with debian.locked(kind):
        if state.exists():
            return state
        for left in CACHE.glob(f"*{kind}-*"):  # also what was not done when its maker ended
            left.unlink()
        try:
            _save(machine, emulator, base, state)
        except LabError as error:
            tell(f"guests boot, because none can be saved: {error}")
            return None
    return state


def tell(what: str) -> None:
    print(f"lab: {what}", file=sys.stderr, flush=True)


def _hash(machine: Machine, emulator: Emulator, base: bytes) -> str:
    anywhere = dataclasses.replace(machine, initramfs=Path("initramfs"), share=Path("share"))
    files = [path.stat() for path in (emulator.program, machine.kernel.image)]
    parts = [
        anywhere.command(emulator, "console", "channel"),
        [(file.st_size, file.st_mtime_ns) for file in files],
        HOSTS_START.read_text(encoding="ascii"),
    ]
    return hashlib.sha256(repr(parts).encode() + base).hexdigest()[:16]


def _save(machine: Machine, emulator: Emulator, base: bytes, state: Path) -> None:
    """Boot a guest that is given nothing, and save it where it waits."""
    work = Path(tempfile.mkdtemp(prefix="lull-boot-"))
    partial = state.with_name(f".{state.name}.partial")
    console = work / "console"
    (work / "share").mkdir()
    (work / "initramfs").write_bytes(base)
    made = dataclasses.replace(machine, initramfs=work / "initramfs", share=work / "share")
    process, monitor, channel = launch(made, emulator, console)
    try:
        Channel(channel).waits(BOOT_LIMIT_S)
        found = complaints(console.read_text(encoding="utf-8", errors="replace"))
        if found:
            raise LabError(f"its kernel complained, first: {found[0].strip()}")
        monitor.ask("stop")
        monitor.ask("migrate", uri=f"file:{partial}")
        status = monitor.status("query-migrate", ("setup", "active", "device"), SAVE_LIMIT_S)
        if status != "completed":
            raise LabError(f"QEMU says that saving it {status}")
        partial.rename(state)
    finally:
        process.end()
        monitor.socket.close()
        channel.close()
        partial.unlink(missing_ok=True)
        shutil.rmtree(work, ignore_errors=True)
