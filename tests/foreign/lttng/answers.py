# SPDX-License-Identifier: MIT
"""What Lull answers about the traces that two tracers recorded of the same work."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LULL = ROOT / "build" / "bin" / "lull"
QUERY = ROOT / "build" / "bin" / "lull-query"
LIMIT_S = 300
# The work's threads, each with a name of its own.
WORKERS = (
    "burner-a",
    "burner-b",
    "client",
    "file-worker",
    "futex-sleeper",
    "futex-waker",
    "napper",
    "pipe-reader",
    "pipe-writer",
    "server",
)
# LTTng's names of calls and of interrupts, as Lull has them.
NAMES = (
    (re.compile(r"^syscall_"), "syscalls:sys_"),
    (re.compile(r"^irq_(softirq|handler)"), r"irq:\1"),
    (re.compile(r"^irq:handler"), "irq:irq_handler"),
    (re.compile(r"^x86_irq_vectors_"), "irq_vectors:"),
)


def words(*command: str | Path) -> str:
    """What a command of Lull's prints. A trace that another tracer wrote may end it with 1."""
    done = subprocess.run(
        [str(word) for word in (LULL, *command)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode in (0, 1), f"{command}: {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def report(trace: Path, *arguments: str) -> dict:
    """A report, or an analysis by its name."""
    return json.loads(words("report", *arguments, "--json", trace))


def table(trace: Path, name: str, key: str, *arguments: str) -> list[dict]:
    return report(trace, name, *arguments)["tables"][key]


def lines(trace: Path, *arguments: str) -> list[dict]:
    return [json.loads(line) for line in words(*arguments, "--json", trace).splitlines()]


def query(trace: Path, text: str) -> list[dict]:
    return json.loads(words("query", "--format", "json", text, trace))


def named(name: str | None) -> str | None:
    """What Lull calls it."""
    for pattern, ours in NAMES:
        name = pattern.sub(ours, name) if name else name
    return name


def of_work(label: str) -> bool:
    return label.split("[")[0] in WORKERS


def by_thread(rows: Iterable[dict], *keys: str) -> dict[tuple, dict]:
    """The rows of the work's threads, by thread and further keys."""
    return {
        (row["thread"], *(named(row[key]) for key in keys)): row
        for row in rows
        if of_work(row["thread"])
    }


def counts(rows: Iterable[tuple]) -> dict[tuple, int]:
    return dict(sorted(Counter(rows).items(), key=str))
