# SPDX-License-Identifier: MIT
"""Commands that stand for lull, traces with every type of field, and what is left of a query.

Place in the flow: for the tests beside it.
"""

import contextlib
import os
import pathlib
import struct
import tempfile
from collections.abc import Iterator
from unittest import mock

import pyarrow

TRACES = pathlib.Path(os.environ["LULL_TEST_TRACES"])
"""Where tests/python/run has put the traces of check/testkit."""


@contextlib.contextmanager
def command(script: str, **files: bytes) -> Iterator[pathlib.Path]:
    """A shell script in place of the command. Files of these names are in its folder, `$here`."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for name, content in files.items():
            (here / name).write_bytes(content)
        program = here / "lull"
        program.write_text(f"#!/bin/sh\nhere='{here}'\n{script}\n")
        program.chmod(0o755)
        with mock.patch.dict(os.environ, LULL=str(program)):
            yield here


def ipc(batches: list[pyarrow.RecordBatch]) -> bytes:
    """Batches as the command writes them."""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def batch(rows: int = 100, first: int = 0) -> pyarrow.RecordBatch:
    numbers = range(first, first + rows)
    return pyarrow.RecordBatch.from_pydict(
        {
            "time": pyarrow.array(numbers, pyarrow.timestamp("ns")),
            "number": pyarrow.array(numbers, pyarrow.int64()),
            "name": pyarrow.array([f"name {number}" for number in numbers]),
            "list": pyarrow.array([[number] * (number % 4) for number in numbers]),
        }
    )


def children() -> list[int]:
    """The processes that this one has begun and that are not gone, dead ones included. A thread
    that was waited for may be listed for a moment: its processes are another's then."""
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def descriptors() -> set[str]:
    """What this process has open, but for the listing itself."""
    found = set()
    for link in pathlib.Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(f"{link.name} {link.readlink()}")
    return {link for link in found if "/proc/" not in link}


class Left:
    """Compares what is open before and after."""

    def __init__(self) -> None:
        self.before = descriptors()

    def nothing(self) -> bool:
        return children() == [] and descriptors() == self.before


KINDS = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
env { hostname = "alpha"; };
clock { name = c; freq = 1000000000; offset_s = 1780000000; };
stream {
    packet.context := struct {
        integer { size = 64; align = 8; map = clock.c.value; } timestamp_begin;
        integer { size = 64; align = 8; map = clock.c.value; } timestamp_end;
        integer { size = 32; align = 8; } cpu_id;
    };
    event.header := struct {
        integer { size = 64; align = 8; map = clock.c.value; } timestamp;
    };
};
event {
    name = "%s";
    fields := struct {
        integer { size = 8; align = 8; } u8;
        integer { size = 8; align = 8; signed = true; } i8;
        integer { size = 16; align = 8; } u16;
        integer { size = 16; align = 8; signed = true; } i16;
        integer { size = 32; align = 8; } u32;
        integer { size = 32; align = 8; signed = true; } i32;
        integer { size = 64; align = 8; } u64;
        integer { size = 64; align = 8; signed = true; } i64;
        floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f32;
        floating_point { exp_dig = 11; mant_dig = 53; align = 8; } f64;
        enum : integer { size = 8; align = 8; } { ONE = 1, TWO = 2 } label;
        integer { size = 8; align = 8; } length;
        integer { size = 16; align = 8; } list[length];
        struct { integer { size = 8; align = 8; } x; string text; } pair;
        string text;
    };
};
"""


def write_kinds(folder: pathlib.Path, event: str, rows: list[tuple[object, ...]]) -> None:
    """A trace of one event. A row has the fields above in their order, the list as a tuple, the
    struct as one of a number and bytes, the text as bytes."""
    body = b""
    for at, row in enumerate(rows):
        *numbers, items, pair, text = row
        assert isinstance(items, tuple) and isinstance(pair, tuple) and isinstance(text, bytes)
        body += struct.pack("<QBbHhIiQqfdB", 1000 + at, *numbers)
        body += struct.pack(f"<B{len(items)}HB", len(items), *items, pair[0])
        body += pair[1] + b"\0" + text + b"\0"
    folder.mkdir(parents=True)
    (folder / "metadata").write_text(KINDS % event)
    (folder / "stream_0").write_bytes(struct.pack("<QQI", 1000, 1000 + len(rows), 3) + body)
