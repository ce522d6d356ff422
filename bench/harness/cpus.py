# SPDX-License-Identifier: MIT
"""How many CPUs there are, and on how many of them something is measured."""

from __future__ import annotations

import os


def cpu_count() -> int:
    """The CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_counts(cpus: int) -> list[int]:
    """Powers of two up to all CPUs, and all CPUs."""
    counts = {1 << power for power in range(cpus.bit_length())} | {cpus}
    return sorted(count for count in counts if count <= cpus)
