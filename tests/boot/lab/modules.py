# SPDX-License-Identifier: MIT
"""Modules that are built for a kernel of the lab."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .kernels import Kernel, headers
from .places import LIMIT_S, ROOT, LabError

CROSS = {"amd64": ("x86_64", ""), "arm64": ("arm64", "aarch64-linux-gnu-")}


def build(found: Kernel, words: Sequence[str | Path]) -> None:
    """Run a command that builds for a kernel's architecture."""
    architecture, cross = CROSS[found.architecture]
    done = subprocess.run(
        words,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, "ARCH": architecture, "CROSS_COMPILE": cross},
    )
    if done.returncode != 0:
        raise LabError(f"{words[0]} for {found.release}:\n{done.stdout}{done.stderr}")


@contextmanager
def module_of(source: Path, found: Kernel) -> Iterator[Path]:
    """The module whose source and Kbuild are in a folder of the same name."""
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        for file in source.iterdir():
            shutil.copy(file, folder)
        build(found, ["make", "-C", headers(found), f"M={folder}", "modules"])
        yield Path(folder) / f"{source.name}.ko"
