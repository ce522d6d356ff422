# SPDX-License-Identifier: MIT
"""What mk/module builds, built for each kernel of the lab and tried on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lab import BUILD, ROOT, Guest, LabError, headers, kernel

LOADS = 5
BUILD_LIMIT_S = 500
CROSS = {"amd64": ("x86_64", ""), "arm64": ("arm64", "aarch64-linux-gnu-")}


def _built(name: str) -> list[Path]:
    """The modules for a kernel, by mk/module, in a folder for that kernel."""
    found = kernel(name)
    out = BUILD / "modules" / name
    for left in out.glob("*.ko"):
        left.unlink()
    architecture, cross = CROSS[found.architecture]
    done = subprocess.run(
        [ROOT / "mk" / "module", headers(found), out.relative_to(ROOT)],
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_S,
        check=False,
        env={**os.environ, "ARCH": architecture, "CROSS_COMPILE": cross},
    )
    if done.returncode != 0:
        raise LabError(f"mk/module for {found.release}:\n{done.stdout}{done.stderr}")
    return sorted(out.glob("*.ko"))


def _load_and_unload(name: str) -> None:
    modules = _built(name)
    assert "lull_selftest.ko" in [module.name for module in modules]
    with Guest(name, modules=modules) as guest:
        assert guest.check("uname -r").strip() == guest.kernel.release
        for module in modules:
            guest.check(
                f"for load in $(seq {LOADS}); do"
                f"  insmod /modules/{module.name} && rmmod {module.stem} || exit 1;"
                "done"
            )
        assert guest.dmesg().count("lull_selftest: ring check: wrote") == LOADS


def modules_load_and_unload_on_6_1() -> None:
    _load_and_unload("6.1")


def modules_load_and_unload_on_6_1_with_preempt_rt() -> None:
    _load_and_unload("6.1-rt")


def modules_load_and_unload_on_6_12() -> None:
    _load_and_unload("6.12")


def modules_load_and_unload_on_6_1_for_arm64() -> None:
    _load_and_unload("6.1-arm64")
