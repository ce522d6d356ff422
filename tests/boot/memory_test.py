# SPDX-License-Identifier: MIT
"""Sessions of the module's where memory is short: a clear error, and nothing is leaked."""

from __future__ import annotations

from lab import MODULES, Guest, lull_files

ATTEMPTS = 16
# Less than the attempts get before they fail, if each kept but the head of its session.
NOISE_KIB = 8 << 10
CGROUP = "/sys/fs/cgroup/small"


def _free_kib(guest: Guest) -> int:
    guest.check("sync; echo 3 > /proc/sys/vm/drop_caches")
    return int(guest.check("sed -n 's/^MemFree: *\\([0-9]*\\).*/\\1/p' /proc/meminfo"))


def _refused_without_a_leak(guest: Guest, command: str, told: str) -> None:
    """A command that makes a session fails, and what it had got is free again."""
    first = guest.run(command)  # which loads what stays in memory
    assert first.status == 125 and told in first.output, first.output
    areas = "grep -c '\\[lull\\]' /proc/vmallocinfo || true"
    assert guest.check(areas) == "0\n"
    before = _free_kib(guest)
    for _ in range(ATTEMPTS):
        assert guest.run(command).status == 125
    assert before - _free_kib(guest) < NOISE_KIB, f"{before} KiB were free"
    assert guest.check(areas) == "0\n"
    assert "Out of memory" not in guest.dmesg()


def memory_that_cannot_be_had_is_an_error_and_none_is_leaked() -> None:
    record = "lull record -k -e sched:sched_switch --duration 10ms -o /run/trace --overwrite"
    # The machine has not so much; a control group has so much, and does not give it.
    with Guest(modules=[MODULES / "lull.ko"], files=lull_files(), memory_mib=512) as guest:
        guest.check("insmod /modules/lull.ko")
        _refused_without_a_leak(guest, f"{record} --buffer-size 8M --buffers 16", "memory")
        guest.check(
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup && echo +memory >"
            f" /sys/fs/cgroup/cgroup.subtree_control && mkdir {CGROUP} &&"
            f" echo 32M > {CGROUP}/memory.max"
        )
        in_group = f"sh -c 'echo 0 > {CGROUP}/cgroup.procs; exec {record} --buffer-size 2M'"
        _refused_without_a_leak(guest, in_group, "memory")
        guest.check(f"{record} --buffer-size 64K && rmmod lull")
