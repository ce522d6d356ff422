# SPDX-License-Identifier: MIT
"""Perfetto's trace processor: opens a file and answers questions in SQL about it.

Usage: trace_processor.py LIBRARY FILE [SQL...]. Prints a line of JSON for the opening and for each
statement: the seconds that it took ("s"), and its rows, whose values are all texts. The last line
has the memory that is held then ("held_bytes"), without the file's own pages.

The processor's own program is in no package. Its library is: the shell of Chromium, for which
Debian builds it, brings it for tests of Chromium's own, with a class that opens a trace and answers
SQL. The class is one of C++, so what is given to it and what comes back is laid out here as in
libc++, the library of clang, whose layouts stay the same: a text is a capacity with its lowest bit
set, a length and an address, or, if it is short, twice its length in a byte and then its bytes; a
vector is three addresses. What comes back is not freed: the process ends soon.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CLASS = "N4base4test22TestTraceProcessorImpl"
STRING = "NSt3__112basic_stringIcNS2_11char_traitsIcEENS2_9allocatorIcEEEE"
VECTOR = "NSt3__16vectorIcNS2_9allocatorIcEEEE"
CONSTRUCT = f"_Z{CLASS}C1Ev"
PARSE = f"_Z{CLASS}10ParseTraceERK{VECTOR}"
QUERY = f"_ZNK{CLASS[1:]}12ExecuteQueryERK{STRING}"
# Longer than any of the objects that the library writes to.
ROOM = 512
STRING_BYTES = VECTOR_BYTES = 24
NO_ERROR = 1


class ProcessorError(Exception):
    """The library lacks what it is asked by, or refused a file or a statement."""


class String(ctypes.Structure):
    """A long text of libc++'s."""

    _fields_ = [
        ("capacity", ctypes.c_size_t),
        ("length", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
    ]


class Vector(ctypes.Structure):
    """A vector of libc++'s."""

    _fields_ = [
        ("begin", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("capacity", ctypes.c_void_p),
    ]


class Answer(ctypes.Structure):
    """Rows, the first of which has the columns' names, or an error."""

    _fields_ = [
        ("rows", Vector),
        ("error", ctypes.c_char * STRING_BYTES),
        ("room", ctypes.c_char * ROOM),
    ]


def _text(address: int) -> str:
    first = ctypes.string_at(address, 1)[0]
    if first & 1:
        found = String.from_address(address)
        return ctypes.string_at(found.data, found.length).decode()
    return ctypes.string_at(address + 1, first >> 1).decode()


def _items(vector: Vector, each_bytes: int) -> Iterator[int]:
    yield from range(vector.begin or 0, vector.end or 0, each_bytes)


def _mapped(file: Path) -> Vector:
    """The bytes of a file, as a vector; they stay mapped."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    with open(file, "rb") as opened:
        length = file.stat().st_size
        begin = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, opened.fileno(), 0)
    if begin in (None, ctypes.c_void_p(-1).value):
        raise ProcessorError(f"{file} could not be mapped")
    return Vector(begin, begin + length, begin + length)


class TraceProcessor:
    """One file, open."""

    def __init__(self, library: Path, file: Path) -> None:
        functions = ctypes.CDLL(str(library))
        try:
            construct, parse, self._query = (
                functions[name] for name in (CONSTRUCT, PARSE, QUERY)
            )
        except AttributeError as error:
            raise ProcessorError(f"{library} has other functions: {error}") from error
        self._object = ctypes.create_string_buffer(ROOM)
        construct(self._object)
        status = (ctypes.c_size_t * ROOM)()
        # What a function returns is the first that it is given: where that shall be written.
        parse(status, self._object, ctypes.byref(_mapped(file)))
        if status[0] != NO_ERROR:
            raise ProcessorError(f"{file} could not be opened")

    def query(self, sql: str) -> list[dict[str, str]]:
        held = ctypes.create_string_buffer(sql.encode())
        asked = String(len(held) | 1, len(held) - 1, ctypes.addressof(held))
        answer = Answer()
        self._query(ctypes.byref(answer), self._object, ctypes.byref(asked))
        error = _text(ctypes.addressof(answer) + Answer.error.offset)
        if error:
            raise ProcessorError(error)
        names, *rows = (
            [_text(cell) for cell in _items(Vector.from_address(row), STRING_BYTES)]
            for row in _items(answer.rows, VECTOR_BYTES)
        )
        return [dict(zip(names, row, strict=True)) for row in rows]


def main() -> None:
    library, file, *statements = sys.argv[1:]
    begin = time.perf_counter()
    processor = TraceProcessor(Path(library), Path(file))
    print(json.dumps({"s": time.perf_counter() - begin}), flush=True)
    for sql in statements:
        begin = time.perf_counter()
        rows = processor.query(sql)
        print(json.dumps({"s": time.perf_counter() - begin, "rows": rows}), flush=True)
    told = Path("/proc/self/status").read_text(encoding="ascii")
    held = re.search(r"^RssAnon:\s+(\d+) kB$", told, re.MULTILINE)
    print(json.dumps({"held_bytes": int(held[1]) * 1024 if held else None}))


if __name__ == "__main__":
    main()
