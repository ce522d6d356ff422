# SPDX-License-Identifier: MIT
"""Whole commands and what they took: wall-clock time, CPU time and memory, children included."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .programs import ProgramError


@dataclass(frozen=True)
class Took:
    wall_s: float
    cpu_s: float
    peak_bytes: int  # resident, of the largest process; at least what this process has


def take(
    command: Sequence[str | Path],
    timeout_s: float = 120.0,
    cpu: int | None = None,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Took:
    """Run a command, its output discarded, on one CPU if asked; it has to succeed."""
    words = [str(word) for word in command]
    if cpu is not None:
        words = ["taskset", "-c", str(cpu), *words]
    begin = time.monotonic()
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        cwd=folder,
        start_new_session=True,
    )
    late = threading.Event()

    def end_it() -> None:
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    killer = threading.Timer(timeout_s, end_it)
    killer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        killer.cancel()
    wall_s = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if late.is_set():
        raise ProgramError(f"not done within {timeout_s:.0f} s")
    if process.returncode != 0:
        raise ProgramError(f"'{' '.join(words)}' ended with status {process.returncode}")
    return Took(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
