# SPDX-License-Identifier: MIT
"""Sub-buffers go from the module to files and sockets: what the kernel copies on the way."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import MODULES, Guest, ext4_disk

TRACING = "/sys/kernel/tracing"
# Data is copied into the page cache in the first, into a pipe in the second; in the last, a socket
# gets the page that data is copied into. What they call to copy cannot be traced: it is in lib/.
COPIERS = ("generic_perform_write", "pipe_write", "sk_page_frag_refill")
DISK_MIB = 32
SUBBUFS = 4  # that the program in the guest moves


@contextmanager
def _guest() -> Iterator[Guest]:
    """A guest with a disk of its own, which traces the functions that copy."""
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        with Guest(
            modules=[MODULES / "lull.ko"],
            kernel_modules=["virtio_blk", "ext4"],
            files={"/bin/splice_test": MODULES / "splice_test"},
            devices=ext4_disk(Path(folder), DISK_MIB),
        ) as guest:
            guest.check("insmod /modules/lull.ko; mkdir /disk; mount -t ext4 /dev/vda /disk")
            guest.check(f"echo 0 > {TRACING}/tracing_on")
            for function in COPIERS:
                guest.check(f"echo {function} >> {TRACING}/set_ftrace_filter")
            guest.check(f"echo function > {TRACING}/current_tracer")
            yield guest
            guest.check(f"echo nop > {TRACING}/current_tracer; umount /disk; rmmod lull")


def _copies(guest: Guest, how: str, where: str) -> tuple[int, int]:
    """Calls of functions that copy while sub-buffers went, and pages in the page cache."""
    told = guest.check(
        f"echo > {TRACING}/trace; sh -c 'echo $$ > {TRACING}/set_ftrace_pid;"
        f" exec splice_test {how} {where}'"
    )
    cached = re.search(f"moved {SUBBUFS}, cached (\\d+)", told)
    assert cached, told
    lines = guest.check(f"cat {TRACING}/trace").splitlines()
    return sum(any(name in line for name in COPIERS) for line in lines), int(cached[1])


def sub_buffer_reaches_a_file_and_a_socket_without_a_copy() -> None:
    with _guest() as guest:
        for where in ("/disk/file", "socket"):
            copies = _copies(guest, "splice", where)
            assert copies == (0, 0), f"{copies} on the way to {where}"
            count, cached = _copies(guest, "write", where)
            assert count >= SUBBUFS, f"{count} copies were counted where {SUBBUFS} were made"
            assert (cached > 0) == (where != "socket"), f"{cached} pages of {where}"
