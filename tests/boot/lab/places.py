# SPDX-License-Identifier: MIT
"""Where things are: the repository, what was built, the cache, logs; and what a failure is."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BOOT = ROOT / "tests" / "boot"
BUILD = ROOT / "build" / "boot"
LOGS = BUILD / "log"
# Kernels and emulators that were fetched: some hundred MiB, which several checkouts may share.
CACHE = Path(os.environ.get("LULL_BOOT_CACHE", BUILD / "cache"))
# How long a test may take, and so each of its commands that does the test's work.
LIMIT_S = int(os.environ.get("LULL_BOOT_LIMIT_S", "600"))
MODULES = ROOT / "build" / "kernel"


class LabError(Exception):
    """The lab cannot work here: what failed, where, and what to do."""


class Skip(Exception):
    """This test cannot run on this machine; the text says why."""


def lull_files() -> dict[str, Path]:
    """The command and the libraries for a guest, which has /lull/bin in PATH, if they are built."""
    built = {"/lull/bin/lull": _stripped("bin/lull"), "/lull/lib": ROOT / "build" / "lib"}
    return {place: source for place, source in built.items() if source.exists()}


def _stripped(built: str) -> Path:
    """A program without what only a debugger reads: an interpreted guest unpacks it in a quarter of
    the time."""
    source, stripped = ROOT / "build" / built, BUILD / "stripped" / built
    if not source.exists():
        return source
    if not stripped.exists() or stripped.stat().st_mtime_ns != source.stat().st_mtime_ns:
        stripped.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=stripped.parent, delete=False) as own:
            command = ["strip", "--strip-debug", "-o", own.name, source]
            subprocess.run(command, check=True, timeout=60)
        shutil.copystat(source, own.name)
        os.rename(own.name, stripped)  # another test may be making it, too
    return stripped
