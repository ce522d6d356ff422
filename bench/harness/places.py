# SPDX-License-Identifier: MIT
"""Where things are: the repository, what was built, and a private scratch directory."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
HARNESS = BENCH / "harness"
BUILD = ROOT / "build" / "bench"
LULL = Path(os.environ.get("LULL_BENCH_COMMAND", ROOT / "build" / "bin" / "lull"))
LIBRARY = ROOT / "build" / "lib" / "liblull.so"

_scratch: Path | None = None


def scratch() -> Path:
    """A directory for this run's traces, on disk, removed when the process ends."""
    global _scratch
    if _scratch is None:
        base = os.environ.get("LULL_BENCH_SCRATCH", "/var/tmp")
        _scratch = Path(tempfile.mkdtemp(prefix="lull-bench-", dir=base))
        atexit.register(shutil.rmtree, _scratch, ignore_errors=True)
    return _scratch


def fresh(name: str) -> Path:
    """A path under the scratch directory where nothing exists yet."""
    path = scratch() / name
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    return path
