# SPDX-License-Identifier: MIT
"""Reading traces back with babeltrace2, so that no tracer's own word is taken for what it
recorded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .places import BENCH, ROOT, fresh
from .programs import run

_EVENT = re.compile(r"(bench:\w+): .*?\bvalue = (-?\d+)")


def missing() -> str | None:
    """Why traces cannot be checked independently, or None."""
    return None if shutil.which("babeltrace2") else "babeltrace2 is not installed"


def counter_words(trace: Path) -> list[str]:
    """The command that decodes a trace and prints only how many messages it holds."""
    return ["babeltrace2", str(trace), "--component=sink.utils.counter"]


def count_bench_events(trace: Path, timeout_s: float = 120.0) -> int:
    """How many bench events babeltrace2 prints from a trace; other events are not counted."""
    pipeline = 'babeltrace2 "$1" 2>"$2" | LC_ALL=C grep -c " bench:"'
    errors = fresh("babeltrace2.stderr")
    text = run(["bash", "-c", pipeline, "bash", str(trace), str(errors)], timeout_s).stdout
    return int(text)


def events(trace: Path) -> Iterator[tuple[str, int]]:
    """Name and value of each bench event, in the order in which babeltrace2 prints them."""
    process = subprocess.Popen(
        ["babeltrace2", str(trace)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        for line in process.stdout:
            found = _EVENT.search(line)
            if found:
                yield found.group(1), int(found.group(2))
    finally:
        process.kill()
        process.wait(10)


def ordered_counts(trace: Path) -> tuple[dict[str, int], int]:
    """Events of each name, and how many do not carry a higher number than the one before."""
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    misplaced = 0
    for name, value in events(trace):
        misplaced += value <= last.get(name, -1)
        last[name] = value
        counts[name] = counts.get(name, 0) + 1
    return counts, misplaced


def decode_program() -> Path:
    """The reader's library in a program that counts; compiled with cargo."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    manifest = BENCH / "reading" / "decode" / "Cargo.toml"
    words = ["cargo", "build", "--quiet", "--release", "--manifest-path", str(manifest)]
    run(words, timeout_s=240, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release" / "bench-decode"


def made(program: Path, name: str, streams: int, events: int) -> tuple[Path, int]:
    """A trace that the decoding program itself writes, and how many events are in it."""
    trace = fresh(name)
    words = [str(program), "make", str(streams), str(events), str(trace)]
    return trace, int(run(words, timeout_s=900).stdout)
