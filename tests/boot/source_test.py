# SPDX-License-Identifier: MIT
"""Sources of lull.ko: tracepoints by name, functions, returns, accesses, programs."""

from __future__ import annotations

from lab import MODULES, Guest

FILES = {"/bin/source_test": MODULES / "source_test"}
KPROBES = "/run/debug/kprobes/list"


def sources_record_what_happens_at_their_places_and_hostile_ones_harm_nobody() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=FILES) as guest:
        guest.check("insmod /modules/lull.ko && echo 0 > /proc/sys/kernel/kptr_restrict")
        result = guest.run("source_test", 480)
        print(result.output, end="")
        assert result.status == 0, result.output
        guest.check("rmmod lull")


def sources_of_a_killed_recorder_are_removed() -> None:
    with Guest(modules=[MODULES / "lull.ko"], files=FILES) as guest:
        guest.check("insmod /modules/lull.ko && mkdir /run/debug")
        guest.check("mount -t debugfs none /run/debug")
        guest.check(
            f"source_test stay & until grep do_sys_openat2 {KPROBES}; do sleep 0.1; done;"
            f" kill -9 $!; wait $!; ! grep do_sys_openat2 {KPROBES}"
        )
        guest.check("rmmod lull")
