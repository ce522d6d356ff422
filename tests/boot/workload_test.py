# SPDX-License-Identifier: MIT
"""A machine at work is recorded: a compiler, a network, a disk, and programs' own events."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from lab import BOOT, MODULES, ROOT, Guest, ext4_disk, lull_files, read_events

SOURCE = BOOT / "workload" / "transfer.c"
# No plugin, which would be one more file that the linker opens.
COMPILE = ["gcc", "-O2", "-fno-use-linker-plugin"]
INCLUDE = ROOT / "core" / "include"
# Where the guest has the source and the headers: the checkout may lie where a guest mounts others.
GUEST_SOURCE, GUEST_INCLUDE = "/src/transfer.c", "/src/include"
BLOCKS = 64
# What programs and the kernel do by default, and more of what this load is about.
PATTERNS = ("*", "!malloc:*", "net:*", "sock:*", "tcp:*", "block:*", "jbd2:*", "writeback:*")
DISK_MIB = 32
BLOCKS_PER_SYNC = 16  # as in the source
# What the kernel does for the compiler, the network and the disk.
OF_THE_WORK = {
    "sched:sched_switch",
    "syscalls:sys_enter_connect",
    "sock:inet_sock_set_state",
    "net:net_dev_queue",
    "net:netif_receive_skb",
    "irq:softirq_entry",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "jbd2:jbd2_start_commit",
}


def _told(*words: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def _tid(event: dict) -> int:
    return event.get("thread", {}).get("tid", 0)


def _compiler() -> dict[str, Path]:
    """What compiling the source needs: what this machine has of it, in the same places."""
    needed = {Path(shutil.which(name) or name) for name in ("gcc", "as", "ld", "bash")}
    for name in ("cc1", "collect2"):
        needed.add(Path(_told("gcc", f"-print-prog-name={name}").strip()))
    for word in _told(*COMPILE, "-I", INCLUDE, "-M", SOURCE).split():
        if word.startswith("/") and not Path(word).is_relative_to(ROOT):
            needed.add(Path(word))
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", Path(folder) / "transfer"]
        linked = _told(*COMPILE, "-I", INCLUDE, "-Wl,--trace", SOURCE, *output)
        for word in linked.split():
            if not word.startswith("/tmp/") and Path(word).is_file():
                needed.add(Path(word))
    own = {GUEST_SOURCE: SOURCE, GUEST_INCLUDE: INCLUDE}
    return {os.path.normpath(path): path for path in needed} | own


def machine_at_work_is_recorded_with_its_programs_and_read_by_others() -> None:
    files = {**lull_files(), **_compiler()}
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        with Guest(
            modules=[MODULES / "lull.ko"],
            kernel_modules=["virtio_blk", "crc32c_generic", "ext4"],
            files=files,
            devices=ext4_disk(Path(folder), DISK_MIB),
        ) as guest:
            guest.check("mount -t ext4 /dev/vda /mnt && insmod /modules/lull.ko")
            patterns = " ".join(f"-e '{pattern}'" for pattern in PATTERNS)
            work = (
                f"{' '.join(COMPILE)} -I {GUEST_INCLUDE} {GUEST_SOURCE} -o /mnt/transfer"
                f" && /mnt/transfer /mnt/file {BLOCKS}"
            )
            told = guest.check(
                f"lull record -k {patterns} -o /share/trace -- bash -c '{work}' 2>&1", 480
            )
            assert "complete: no event is missing" in told.lower(), told
            guest.check("rmmod lull && umount /mnt")
            events = list(read_events(guest.share / "trace"))
    names = Counter(event["name"] for event in events)
    print(f"{len(events)} events, {names.most_common(12)}\n{told}")
    assert names["transfer:sent"] == names["transfer:stored"] == BLOCKS, names
    assert names["syscalls:sys_exit_fsync"] >= BLOCKS // BLOCKS_PER_SYNC, names
    assert OF_THE_WORK <= set(names), OF_THE_WORK - set(names)
    begun = {
        Path(event["fields"]["filename"]).name
        for event in events
        if event["name"] == "sched:sched_process_exec"
    }
    assert {"gcc", "cc1", "as", "ld", "transfer"} <= begun, begun
    # A thread's own events stand among its system calls.
    [server] = {_tid(event) for event in events if event["name"] == "transfer:stored"}
    steps = ("syscalls:sys_exit_recvfrom", "syscalls:sys_enter_write", "transfer:stored")
    done = [each["name"] for each in events if _tid(each) == server and each["name"] in steps]
    assert done == [*steps] * BLOCKS, done
