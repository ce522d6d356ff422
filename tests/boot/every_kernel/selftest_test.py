# SPDX-License-Identifier: MIT
"""The selftest of port/kernel, built for each kernel of the lab and tried on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lab import BUILD, ROOT, Guest, LabError, headers, kernel

LOADS = 5
CROSS = {"amd64": ("x86_64", ""), "arm64": ("arm64", "aarch64-linux-gnu-")}


def _built(name: str) -> Path:
    """The selftest for a kernel, by mk/module, in a folder for that kernel."""
    found = kernel(name)
    out = BUILD / "modules" / name
    architecture, cross = CROSS[found.architecture]
    done = subprocess.run(
        [ROOT / "mk" / "module", headers(found), out.relative_to(ROOT), "lull_selftest"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "ARCH": architecture, "CROSS_COMPILE": cross},
    )
    if done.returncode != 0:
        raise LabError(f"mk/module for {found.release}:\n{done.stdout}{done.stderr}")
    return out / "lull_selftest.ko"


def _loads_and_unloads(name: str) -> None:
    module = _built(name)
    with Guest(name, modules=[module]) as guest:
        assert guest.check("uname -r").strip() == guest.kernel.release
        guest.check(
            f"for load in $(seq {LOADS}); do"
            "  insmod /modules/lull_selftest.ko && rmmod lull_selftest || exit 1;"
            "done"
        )
        assert guest.dmesg().count("lull_selftest: ring check: wrote") == LOADS


def selftest_loads_and_unloads_on_6_1() -> None:
    _loads_and_unloads("6.1")


def selftest_loads_and_unloads_on_6_1_with_preempt_rt() -> None:
    _loads_and_unloads("6.1-rt")


def selftest_loads_and_unloads_on_6_12() -> None:
    _loads_and_unloads("6.12")


def selftest_loads_and_unloads_on_6_1_for_arm64() -> None:
    _loads_and_unloads("6.1-arm64")
