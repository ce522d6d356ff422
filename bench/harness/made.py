# SPDX-License-Identifier: MIT
"""Traces that testkit makes, of machines that never were."""

from __future__ import annotations

import os
from pathlib import Path

from .places import ROOT, fresh
from .programs import run

CPUS = 4


def machine_trace(name: str, size: str) -> Path:
    """A machine's trace: threads that serve requests, make system calls, sleep and wake each other;
    `size` in megabytes, or in events as `1000000events`."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    words = ["cargo", "build", "--quiet", "--release", "-p", "testkit"]
    run(
        [*words, "--example", "machine_trace", "--manifest-path", str(ROOT / "Cargo.toml")],
        timeout_s=240,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
    )
    trace = fresh(name)
    program = target / "release" / "examples" / "machine_trace"
    run([str(program), str(trace), size, str(CPUS)], timeout_s=600)
    return trace
