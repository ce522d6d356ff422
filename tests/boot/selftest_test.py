# SPDX-License-Identifier: MIT
"""The selftest of port/kernel: core as a module, on the kernel that it was built for."""

from __future__ import annotations

import re

from lab import MODULES, Guest

SELFTEST = MODULES / "lull_selftest.ko"
CHECKED = re.compile(r"lull_selftest: ring check: wrote (\d+) events, read the first (\d+) back")
LOADS = 20


def selftest_checks_the_ring_each_time_it_is_loaded() -> None:
    with Guest(modules=[SELFTEST]) as guest:
        guest.check(
            f"for load in $(seq {LOADS}); do"
            "  insmod /modules/lull_selftest.ko && rmmod lull_selftest || exit 1;"
            "done"
        )
        checks = CHECKED.findall(guest.dmesg())
        assert len(checks) == LOADS, f"{len(checks)} of {LOADS} loads checked the ring"
        assert all(int(wrote) - 1 == int(read) > 0 for wrote, read in checks), checks
        assert "lull_selftest" not in guest.check("cat /proc/modules")
