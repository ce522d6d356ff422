# SPDX-License-Identifier: MIT
"""Traces that guests recorded, read on the host by Lull and by babeltrace2."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .places import ROOT

LIMIT_S = 600
MESSAGES_LINES = 20
DISCARDED = re.compile("WARNING: Tracer discarded ")


def _lines(*words: str | Path, status: int = 0, is_lossy: bool = False) -> Iterator[bytes]:
    """What a command prints, line by line. It has to end with the status, and babeltrace2 may warn
    of nothing but events that were discarded, where some were."""
    command = ["timeout", str(LIMIT_S), *(str(word) for word in words)]
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages) as process:
            assert process.stdout is not None
            yield from process.stdout
        messages.seek(0)
        told = [line for line in messages.read().decode(errors="replace").splitlines() if line]
    if words[0] == "babeltrace2":
        told = [line for line in told if not (is_lossy and DISCARDED.match(line))]
        assert not told, "\n".join(told[:MESSAGES_LINES])
    assert process.returncode == status, f"{words}: {process.returncode}\n" + "\n".join(told)


def read_events(trace: Path, status: int = 0) -> Iterator[dict]:
    """The events of a trace, in their order, as Lull reads them; babeltrace2 has to read as many.

    Read them all: the comparison is after the last one.
    status: what `lull print` ends with: 1 where the trace's verdict is not complete.
    """
    lull = ROOT / "build" / "bin" / "lull"
    count = 0
    for line in _lines(lull, "print", "--json", "--all", trace, status=status):
        event = json.loads(line)
        if "lost" not in event:
            count += 1
            yield event
    lines = _lines("babeltrace2", "--clock-cycles", trace, is_lossy=status != 0)
    others = sum(1 for _ in lines)
    assert others == count, f"{trace}: {count} events, of which babeltrace2 reads {others}"
