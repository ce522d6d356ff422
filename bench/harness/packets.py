# SPDX-License-Identifier: MIT
"""Packet headers of CTF 1.8 streams, Lull's and LTTng's: sizes and lost counters.

Reads only the fixed headers, so it needs no metadata and can check both readers: how many
bytes of the packets are content, how many packets there are, how many events were lost.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

STREAM_MAGIC = 0xC1FC1FC1


@dataclass(frozen=True)
class Layout:
    """Byte offsets of the 64-bit fields that follow magic, uuid and stream identifiers."""

    name: str
    content_size: int
    packet_size: int
    discarded: int
    header_bytes: int


LULL = Layout("lull", 40, 48, 64, 112)
LTTNG = Layout("lttng", 48, 56, 72, 84)


@dataclass
class Totals:
    """Sums over the streams of one trace."""

    packet_count: int = 0
    content_bytes: int = 0
    packet_bytes: int = 0
    lost_count: int = 0


def streams(trace: Path) -> list[Path]:
    """The stream files under a trace directory, at any depth."""
    found = []
    for path in sorted(trace.rglob("*")):
        if path.is_file() and path.stat().st_size >= 4:
            with path.open("rb") as file:
                if struct.unpack("=I", file.read(4))[0] == STREAM_MAGIC:
                    found.append(path)
    return found


def totals(trace: Path, layout: Layout) -> Totals:
    """Walk every packet header of a trace."""
    sums = Totals()
    for path in streams(trace):
        lost = 0
        size = path.stat().st_size
        with path.open("rb") as file:
            at = 0
            while at + layout.header_bytes <= size:
                file.seek(at)
                header = file.read(layout.header_bytes)
                if struct.unpack_from("=I", header, 0)[0] != STREAM_MAGIC:
                    raise ValueError(f"{path}: no packet at byte {at}")
                content, packet, lost = (
                    struct.unpack_from("=Q", header, offset)[0]
                    for offset in (layout.content_size, layout.packet_size, layout.discarded)
                )
                if packet < layout.header_bytes * 8:
                    raise ValueError(f"{path}: packet of {packet} bits at byte {at}")
                sums.packet_count += 1
                sums.content_bytes += content // 8
                sums.packet_bytes += packet // 8
                at += packet // 8
        sums.lost_count += lost
    return sums
