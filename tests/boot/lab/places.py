# SPDX-License-Identifier: MIT
"""Where things are: the repository, what was built, the cache, logs; and what a failure is."""

from __future__ import annotations

import os
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
    built = {f"/lull/{below}": ROOT / "build" / below for below in ("bin/lull", "lib")}
    return {place: source for place, source in built.items() if source.exists()}
