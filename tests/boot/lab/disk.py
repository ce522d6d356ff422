# SPDX-License-Identifier: MIT
"""Disks for guests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def ext4_disk(folder: Path, mib: int) -> list[str]:
    """QEMU's options for a disk, /dev/vda, with an empty ext4 on it; the folder holds its image."""
    image = folder / "disk"
    # mke2fs is not in the PATH of an ordinary user.
    mke2fs = shutil.which("mke2fs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or "mke2fs"
    made = subprocess.run(
        [mke2fs, "-q", "-t", "ext4", image, f"{mib}M"], capture_output=True, text=True, timeout=60
    )
    assert made.returncode == 0, made.stderr
    return ["-drive", f"file={image},if=virtio,format=raw"]
