# SPDX-License-Identifier: MIT
"""lull.ko under what no machine does to it all day: unloading while recorders of several users come
and are killed and a CPU leaves, and storms of interrupts that nothing can mask."""

from __future__ import annotations

import os

from lab import MODULES, Guest

LOADS = int(os.environ.get("LOADS", "2"))


def module_goes_when_its_last_recorder_is_dead() -> None:
    files = {"/bin/unload_test": MODULES / "unload_test"}
    with Guest(modules=[MODULES / "lull.ko"], files=files) as guest:
        result = guest.run(
            f"while :; do (:); done & load=$!; unload_test {LOADS}; status=$?;"
            " kill $load; exit $status",
            limit_s=120 + 60 * LOADS,
        )
        print(result.output, end="")
        assert result.status == 0, result.output
