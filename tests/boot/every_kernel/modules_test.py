# SPDX-License-Identifier: MIT
"""What mk/module builds, built for each kernel of the lab and tried on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from events_test import compare_events, compare_fields
from lab import BUILD, ROOT, Guest, Kernel, LabError, headers, kernel

LOADS = 5
BUILD_LIMIT_S = 500
TEST_LIMIT_S = 300
PROGRAMS = ("device_test", "ring_file_test")
CROSS = {"amd64": ("x86_64", ""), "arm64": ("arm64", "aarch64-linux-gnu-")}


def _build(found: Kernel, words: list[str | Path]) -> None:
    architecture, cross = CROSS[found.architecture]
    done = subprocess.run(
        words,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_S,
        check=False,
        env={**os.environ, "ARCH": architecture, "CROSS_COMPILE": cross},
    )
    if done.returncode != 0:
        raise LabError(f"{words[0]} for {found.release}:\n{done.stdout}{done.stderr}")


def _built(name: str) -> Path:
    """The folder with the modules and the test programs for a kernel."""
    found = kernel(name)
    out = BUILD / "modules" / name
    for left in [*out.glob("*.ko"), *out.glob("*_test")]:
        left.unlink()
    folder = out.relative_to(ROOT)
    _, cross = CROSS[found.architecture]
    _build(found, [ROOT / "mk" / "module", headers(found), folder])
    programs = ["make", f"KERNEL_TEST_FOLDER={folder}", f"CC={cross}gcc", "kernel-tests"]
    _build(found, programs)
    return out


def _load_and_unload(name: str, folder: Path) -> None:
    modules = sorted(folder.glob("*.ko"))
    assert {"lull.ko", "lull_selftest.ko"} <= {module.name for module in modules}
    with Guest(name, modules=modules) as guest:
        assert guest.check("uname -r").strip() == guest.kernel.release
        for module in modules:
            guest.check(
                f"for load in $(seq {LOADS}); do"
                f"  insmod /modules/{module.name} && rmmod {module.stem} || exit 1;"
                "done"
            )
        assert guest.dmesg().count("lull_selftest: ring check: wrote") == LOADS


def _record(name: str, folder: Path) -> None:
    """Sessions, rings and their readers, as on the kernel that every test uses."""
    files = {f"/bin/{program}": folder / program for program in PROGRAMS}
    with Guest(name, modules=[folder / "lull.ko"], files=files) as guest:
        guest.check("insmod /modules/lull.ko")
        for program in PROGRAMS:
            guest.check(f"cd /run && {program}", TEST_LIMIT_S)
        guest.check("rmmod lull")


def _all_of(name: str) -> None:
    folder = _built(name)
    _load_and_unload(name, folder)
    _record(name, folder)
    compare_fields(name, folder / "lull.ko")
    compare_events(name, folder / "lull.ko", folder / "events_test")


def modules_load_record_and_unload_on_6_1() -> None:
    _all_of("6.1")


def modules_load_record_and_unload_on_6_1_with_preempt_rt() -> None:
    _all_of("6.1-rt")


def modules_load_record_and_unload_on_6_12() -> None:
    _all_of("6.12")


def modules_load_record_and_unload_on_6_1_for_arm64() -> None:
    _all_of("6.1-arm64")
