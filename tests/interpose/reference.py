# SPDX-License-Identifier: MIT
"""Compare the reference of events, docs/guide/events.md, with what the libraries carry.

Usage: reference.py REFERENCE LIBRARY...; prints each difference, and fails if there is one.
       reference.py --list LIBRARY...; prints the table rows that the libraries call for.

The description of every event lies in an ELF note of its library (core/include/lull/abi/site.h).
"""

import re
import struct
import sys

NOTE_PROBE = 2
LEVELS = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"]
ROW = re.compile(r"^\| `([a-z]+:\w+)` \| (\w+) \| ([^|]*) \|")


def notes(path):
    """The descriptions in the notes of an ELF file of 64 bits, little-endian."""
    with open(path, "rb") as file:
        data = file.read()
    (table,) = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    for index in range(count):
        kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", data, table + index * size)
        at, until = begin, begin + length
        while kind == 4 and at + 12 <= until:
            name_bytes, bytes_, note_type = struct.unpack_from("<III", data, at)
            name = at + 12
            description = name + (name_bytes + 3) // 4 * 4
            at = description + (bytes_ + 3) // 4 * 4
            if note_type == NOTE_PROBE and data[name : name + 5] == b"Lull\0":
                yield data[description + 4 : description + bytes_].rstrip(b"\0").decode()


def carried(libraries):
    """Event name -> (level, fields), from the libraries' notes."""
    events = {}
    for library in libraries:
        for description in notes(library):
            name, level, _, *fields = description.rstrip("\n").split("\n")
            row = (LEVELS[int(level)], ", ".join(field.split()[1] for field in fields))
            if events.setdefault(name, row) != row:
                sys.exit(f"{name} has fields {events[name][1]} in one place, {row[1]} in another")
    return events


def main():
    reference, *libraries = sys.argv[1:]
    events = carried(libraries)
    if reference == "--list":
        for name in sorted(events):
            print(f"| `{name}` | {events[name][0]} | {events[name][1]} | |")
        return 0
    with open(reference, encoding="utf-8") as file:
        rows = [match.groups() for match in map(ROW.match, file) if match]
    listed = {name: (level, fields.strip()) for name, level, fields in rows}
    for name in sorted(events.keys() | listed.keys()):
        if events.get(name) != listed.get(name):
            found = f"the libraries have {events.get(name)}, the reference {listed.get(name)}"
            print(f"{name}: {found}")
    return 0 if events and events == listed else 1


if __name__ == "__main__":
    sys.exit(main())
