# SPDX-License-Identifier: MIT
"""What a module's object file says: its events' descriptions, and which code reaches which symbols.

Only the parts of ELF that a relocatable 64-bit object of the kernel's build has. Calls within a
section have no relocation: objdump finds them.
"""

from __future__ import annotations

import bisect
import re
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

NOTE_PROBE = 2
SHT_RELA = 4
SHT_SYMTAB = 2
SHF_ALLOC = 2
SHF_EXECINSTR = 4
STT_SECTION = 3
UNDEFINED = 0
IN_SECTION = re.compile(r"^Disassembly of section (\S+):$")
BRANCH = re.compile(r"^ *([0-9a-f]+):\t.*\s([0-9a-f]+) <[^>]+>$")


@dataclass
class Section:
    name: str
    kind: int
    flags: int
    data: bytes
    link: int
    info: int


@dataclass
class Symbol:
    name: str
    kind: int
    section: int
    value: int
    size: int
    targets: set[int] = field(default_factory=set)  # symbols that its bytes refer to


@dataclass
class Event:
    name: str
    place: str  # the file and line of its probe
    fields: list[tuple[str, str]]  # type and name


class ObjectFile:
    """One object file of any architecture: its sections, and the events that its notes describe."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", f"{path}: not 64-bit little-endian ELF"
        self.sections = self._sections()

    def _sections(self) -> list[Section]:
        (table,) = struct.unpack_from("<Q", self.bytes, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 0x3A)
        headers = [
            struct.unpack_from("<IIQQQQIIQQ", self.bytes, table + i * size) for i in range(count)
        ]
        strings = headers[names][4]
        return [
            Section(
                self._text(strings + h[0]),
                h[1],
                h[2],
                b"" if h[1] == 8 else self.bytes[h[4] : h[4] + h[5]],
                h[6],
                h[7],
            )
            for h in headers
        ]

    def _text(self, offset: int) -> str:
        return self.bytes[offset : self.bytes.index(0, offset)].decode()

    def events(self) -> list[Event]:
        """The events that the notes of probes describe; a copy of a note is the same event."""
        notes = next(each for each in self.sections if each.name == ".note.lull").data
        found: dict[str, Event] = {}
        at = 0
        while at + 12 <= len(notes):
            name_bytes, size, kind = struct.unpack_from("<III", notes, at)
            at += 12 + (name_bytes + 3 & ~3)
            if kind == NOTE_PROBE:
                lines = notes[at + 4 : at + size].rstrip(b"\0").decode().split("\n")
                fields = [line.split(" ") for line in lines[3:] if line]
                found[lines[0]] = Event(lines[0], lines[2], [(f[0], f[1]) for f in fields])
            at += size + 3 & ~3
        return sorted(found.values(), key=lambda each: each.name)


class Module(ObjectFile):
    """One object file of this machine's architecture: what its code reaches, too."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.symbols = self._symbols()
        self._places = self._by_place()
        self._refer()
        self._branch(path)

    def _symbols(self) -> list[Symbol]:
        table = next(each for each in self.sections if each.kind == SHT_SYMTAB)
        strings = self.sections[table.link].data
        found = []
        for entry in struct.iter_unpack("<IBBHQQ", table.data):
            name = strings[entry[0] : strings.index(0, entry[0])].decode()
            found.append(Symbol(name, entry[1] & 15, entry[3], entry[4], entry[5]))
        return found

    def _by_place(self) -> dict[int, tuple[list[int], list[int]]]:
        """For each section, where its symbols with a size begin, in order, and which they are."""
        places: dict[int, list[tuple[int, int]]] = {}
        for number, symbol in enumerate(self.symbols):
            if symbol.size and symbol.section != UNDEFINED:
                places.setdefault(symbol.section, []).append((symbol.value, number))
        return {
            section: ([at for at, _ in sorted(found)], [number for _, number in sorted(found)])
            for section, found in places.items()
        }

    def _at(self, section: int, offset: int) -> int | None:
        """The symbol whose bytes are at this place."""
        begins, numbers = self._places.get(section, ([], []))
        index = bisect.bisect_right(begins, offset) - 1
        if index < 0:
            return None
        symbol = self.symbols[numbers[index]]
        return numbers[index] if offset < symbol.value + symbol.size else None

    def _refer(self) -> None:
        """Fill in what each symbol's bytes refer to; .alternatives: code that replaces other."""
        self.alternatives: set[int] = set()
        self.relocated: set[tuple[int, int]] = set()  # sections and places in them
        for section in self.sections:
            if section.kind != SHT_RELA or not self.sections[section.info].flags & SHF_ALLOC:
                continue
            for offset, info, addend in struct.iter_unpack("<QQq", section.data):
                self.relocated.add((section.info, offset))
                target = info >> 32
                symbol = self.symbols[target]
                if symbol.kind == STT_SECTION:
                    # The processor adds to the end of a displacement, which is 4 bytes long.
                    slack = 4 if info & 0xFFFFFFFF in (2, 4) else 0
                    found = self._at(symbol.section, addend + slack)
                    if found is None:
                        continue
                    target = found
                source = self._at(section.info, offset)
                if self.sections[section.info].name == ".altinstr_replacement":
                    self.alternatives.add(target)
                elif source is not None:
                    self.symbols[source].targets.add(target)

    def _branch(self, path: Path) -> None:
        """Add the calls and jumps whose distance the assembler knew."""
        lines = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", path],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        section = UNDEFINED
        for line in lines:
            if named := IN_SECTION.match(line):
                names = [each.name for each in self.sections]
                section = names.index(named[1])
            elif branch := BRANCH.match(line):
                begin = int(branch[1], 16)
                if any((section, begin + byte) in self.relocated for byte in (1, 2)):
                    continue  # the distance is not known yet: what is shown leads to what follows
                source = self._at(section, begin)
                target = self._at(section, int(branch[2], 16))
                if source is not None and target is not None:
                    self.symbols[source].targets.add(target)

    def is_code(self, number: int) -> bool:
        section = self.symbols[number].section
        return 0 < section < len(self.sections) and bool(
            self.sections[section].flags & SHF_EXECINSTR
        )

    def is_constant(self, number: int) -> bool:
        section = self.symbols[number].section
        return 0 < section < len(self.sections) and self.sections[section].name.startswith(
            (".rodata", ".data.rel.ro")
        )

    def roots(self, section_name: str) -> set[int]:
        """The functions that data in this section leads to."""
        number = next(i for i, each in enumerate(self.sections) if each.name == section_name)
        names = self._places.get(number, ([], []))[1]
        bindings = {target for each in names for target in self.symbols[each].targets}
        found = {target for each in bindings for target in self.symbols[each].targets}
        return {each for each in found if self.is_code(each)}

    def reached(self, roots: set[int]) -> dict[int, int | None]:
        """All that code reaches from these functions on, and from where it was reached first."""
        came: dict[int, int | None] = {each: None for each in roots}
        came.update({each: None for each in self.alternatives if each not in came})
        waiting = list(came)
        while waiting:
            here = waiting.pop()
            if not (self.is_code(here) or self.is_constant(here)):
                continue
            for target in self.symbols[here].targets:
                if target not in came:
                    came[target] = here
                    waiting.append(target)
        return came
