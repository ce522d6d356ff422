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
    command, libraries = ROOT / "build" / "bin" / "lull", ROOT / "build" / "lib"
    found = {"/lull/bin/lull": stripped(command)} if command.exists() else {}
    return {**found, "/lull/lib": libraries} if libraries.exists() else found


def stripped(source: Path) -> Path:
    """Something built without what only a debugger reads: an interpreted guest unpacks `lull` in a
    quarter of the time, and loads a module of a thirtieth of the size."""
    out = BUILD / "stripped" / source.relative_to(ROOT / "build")
    if not out.exists() or out.stat().st_mtime_ns != source.stat().st_mtime_ns:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=out.parent, delete=False) as own:
            command = ["strip", "--strip-debug", "-o", own.name, source]
            subprocess.run(command, check=True, timeout=60)
        shutil.copystat(source, own.name)
        os.rename(own.name, out)  # another test may be making it, too
    return out
