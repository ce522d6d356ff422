# SPDX-License-Identifier: MIT
"""Kernels in QEMU, for tests and benchmarks of the kernel; see tests/boot/README.md."""

from .channel import Result
from .disk import ext4_disk
from .guest import COMMAND_LIMIT_S, Guest, interact, run_exactly
from .kernels import NAMES, Kernel, headers, kernel
from .loaded import loaded
from .log import GuestError
from .places import BOOT, BUILD, LIMIT_S, MODULES, ROOT, LabError, Skip, lull_files
from .reading import read_events

__all__ = [
    "BOOT",
    "BUILD",
    "COMMAND_LIMIT_S",
    "LIMIT_S",
    "MODULES",
    "NAMES",
    "ROOT",
    "Guest",
    "GuestError",
    "Kernel",
    "LabError",
    "Result",
    "Skip",
    "ext4_disk",
    "headers",
    "interact",
    "kernel",
    "loaded",
    "lull_files",
    "read_events",
    "run_exactly",
]
