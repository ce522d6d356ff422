# SPDX-License-Identifier: MIT
"""Perfetto's trace processor as a peer: it opens what Lull exports to it, and answers SQL."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .commands import Took, take
from .places import LULL, ROOT, fresh
from .programs import run
from .spread import Spread

PEER = "trace_processor, file open"
PROGRAM = ROOT / "tests" / "export" / "trace_processor.py"
LIBRARY = ROOT / "build" / "export" / "libtest_trace_processor.so"
# Of the memory that the machine has to give: what asks for more ends, and nothing else does.
MEMORY_PART = 0.9

Row = dict[str, str]


@dataclass(frozen=True)
class Asked:
    """How long it took to open the file and to answer each statement, and what was answered."""

    open_s: float
    held_bytes: int
    taken: list[Spread]
    rows: list[list[Row]]


def missing() -> str | None:
    """Why it cannot be measured, or None."""
    return None if LIBRARY.exists() else "`mk/deps test` takes it out of a package of Debian's"


def written(trace: Path, timeout_s: float) -> tuple[Path, Took]:
    """What Lull exports of a trace, and what that took."""
    file = fresh(f"{trace.name}.pftrace")
    return file, take([LULL, "export", "--perfetto", trace, "-o", file], timeout_s)


def available_bytes() -> int:
    return int(machine.field("/proc/meminfo", "MemAvailable").split()[0]) * 1024


def ask(file: Path, statements: Sequence[str], rounds: int, timeout_s: float) -> Asked:
    """Open a file once and ask each statement so many times, after once that is discarded; then the
    file is removed. A ProgramError where that needs more memory than there is."""
    limit = int(available_bytes() * MEMORY_PART)
    each = rounds + 1
    repeated = [statement for statement in statements for _ in range(each)]
    words = ["prlimit", f"--data={limit}", sys.executable, "-B", PROGRAM, LIBRARY, file, *repeated]
    try:
        told = run(words, timeout_s=timeout_s).stdout.splitlines()
    finally:
        file.unlink()
    opened, *answers, memory = [json.loads(line) for line in told]
    groups = [answers[at : at + each] for at in range(0, len(answers), each)]
    return Asked(
        opened["s"],
        memory["held_bytes"],
        [Spread(tuple(answer["s"] for answer in group[1:])) for group in groups],
        [group[0]["rows"] for group in groups],
    )
