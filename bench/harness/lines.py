# SPDX-License-Identifier: MIT
"""Which cache lines one event touches: the measured program, one instruction at a time.

The program stops itself by a breakpoint before and after each event (subject_lines.c). In between
this reads the registers before every instruction, and objdump tells what that reads and writes.
So the counts are those of caches that are empty before the event and lose nothing during it.

Time stands still meanwhile: an instruction that reads the counter is not run but answered with
the time of the event's first stop. A restartable sequence would be aborted by each stop; so it is
disarmed, which harms nothing while the program is alone on its CPU's ring.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import signal
import tempfile
import threading
from dataclasses import dataclass

from .programs import ProgramError, Subject, run

LINE_BYTES = 64
EVENTS = 16  # so that slots of 20 and of 24 bytes begin at every place in a line
STEPS_MAX = 100_000  # of one event: more is not an event
INSTRUCTION_BYTES_MAX = 15
CELL_BYTES = 32  # an instruction, what follows it, and no-ops in which a disassembler recovers
NO_OP, BREAKPOINT = b"\x90", b"\xcc"
COUNTER_READS = (b"\x0f\x31", b"\x0f\x01\xf9")  # rdtsc, rdtscp
SEIZE, INTERRUPT, CONT, STEP, DETACH = 0x4206, 0x4207, 7, 9, 17
GET_REGISTERS, SET_REGISTERS = 12, 13
ANY_KIND = 0x40000000  # __WALL: also of children that are not ours
SEQUENCE_OFFSET = 8  # in struct rseq: the sequence that is armed
REGISTERS = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
    "fs_base gs_base ds es fs gs"
)
NAMES_32 = {f"e{name}": f"r{name}" for name in "ax bx cx dx si di bp sp".split()}
OPERAND_BYTES = {"b": 1, "w": 2, "l": 4, "q": 8}
VECTOR_BYTES = {"%xmm": 16, "%ymm": 32, "%zmm": 64}
# displacement(base,index,scale), or a segment's displacement alone
OPERAND = re.compile(r"(?:%(\ws):)?(-?0x[0-9a-f]+)?\(([^)]*)\)|%([fg]s):(-?0x[0-9a-f]+)")
TOUCHES_NOTHING = ("lea", "nop", "endbr")


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in REGISTERS.split()]


@dataclass(frozen=True)
class Step:
    """One instruction, before it runs: its bytes and more behind them, and the registers."""

    code: bytes
    registers: dict[str, int]


@dataclass(frozen=True)
class Lines:
    """Numbers of the lines that one event touches."""

    code: frozenset[int]
    data: frozenset[int]


def missing() -> str | None:
    """Why lines cannot be counted here, or None."""
    if platform.machine() != "x86_64":
        return f"registers of {platform.machine()} are not known here"
    return None if shutil.which("objdump") else "objdump is not installed (Debian: binutils)"


def of_range(address: int, size: int) -> set[int]:
    return set(range(address // LINE_BYTES, (address + size - 1) // LINE_BYTES + 1))


def operand_bytes(mnemonic: str, operands: str) -> int:
    """How much of memory one operand is."""
    for name, size in VECTOR_BYTES.items():
        if name in operands and not mnemonic.startswith(("movq", "movd", "vmovq", "vmovd")):
            return size
    extending = re.fullmatch(r"mov[sz]([bwl])[wlq]", mnemonic)
    return OPERAND_BYTES.get(extending[1] if extending else mnemonic[-1], 8)


def accesses(text: str, length: int, registers: dict[str, int]) -> list[tuple[int, int]]:
    """Address and size of what an instruction reads and writes, given its text."""
    words = text.split("#")[0].split()
    while len(words) > 1 and words[0] in ("lock", "rep", "repz", "repnz", "bnd", "notrack", "cs"):
        words = words[1:]
    mnemonic, operands = words[0], " ".join(words[1:])
    found = []
    if mnemonic.startswith(("push", "call")):
        found.append((registers["rsp"] - 8, 8))
    if mnemonic.startswith(("pop", "ret")):
        found.append((registers["rsp"], 8))
    if mnemonic.startswith("leave"):
        found.append((registers["rbp"], 8))
    if mnemonic.startswith(TOUCHES_NOTHING):
        return found
    known = {**registers, "rip": registers["rip"] + length}
    for match in OPERAND.finditer(operands):
        segment, displacement, inner = match[1] or match[4], match[2] or match[5], match[3]
        address = int(displacement or "0", 16)
        base, index, scale = [*(inner or "").replace("%", "").split(","), "", ""][:3]
        address += known.get(NAMES_32.get(base, base), 0)
        address += known.get(NAMES_32.get(index, index), 0) * int(scale or "1")
        if segment in ("fs", "gs"):
            address += registers[f"{segment}_base"]
        found.append((address % 2**64, operand_bytes(mnemonic, operands)))
    return found


def disassembled(codes: set[bytes]) -> dict[bytes, tuple[str, int]]:
    """The text and the length of the instruction that each of these begins with."""
    cells = sorted(codes)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(cell.ljust(CELL_BYTES, NO_OP) for cell in cells))
        file.flush()
        command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "suffix", "-w"]
        listing = run([*command, file.name]).stdout
    found: dict[bytes, tuple[str, int]] = {}
    for match in re.finditer(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(.*)$", listing, re.M):
        cell, offset = divmod(int(match[1], 16), CELL_BYTES)
        if offset == 0:
            found[cells[cell]] = match[3], len(match[2].split())
    return found


def lines_of(events: list[list[Step]]) -> list[Lines]:
    texts = disassembled({step.code for steps in events for step in steps})
    counted = []
    for steps in events:
        code: set[int] = set()
        data: set[int] = set()
        for step in steps:
            text, length = texts[step.code]
            code |= of_range(step.registers["rip"], length)
            for address, size in accesses(text, length, step.registers):
                data |= of_range(address, size)
        counted.append(Lines(frozenset(code), frozenset(data)))
    return counted


class Stepper:
    """A program that is stopped, stepped and let go."""

    def __init__(self, pid: int, sequence_area: int) -> None:
        self._pid, self._armed = pid, sequence_area + SEQUENCE_OFFSET if sequence_area else 0
        self._libc = ctypes.CDLL(None, use_errno=True)
        word, pointer = ctypes.c_long, ctypes.c_void_p
        self._libc.ptrace.argtypes = [word, word, pointer, pointer]
        self._memory = open(f"/proc/{pid}/mem", "r+b", buffering=0)
        self._ask(SEIZE)
        self._ask(INTERRUPT)
        self._wait()

    def __enter__(self) -> Stepper:
        return self

    def __exit__(self, *_what) -> None:
        self._memory.close()
        self._ask(DETACH)

    def _ask(self, request: int, data=None) -> None:
        if self._libc.ptrace(request, self._pid, None, data) == -1:
            number = ctypes.get_errno()
            raise ProgramError(f"cannot step process {self._pid}: {os.strerror(number)}")

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, ANY_KIND)
        if not os.WIFSTOPPED(status):
            raise ProgramError(f"process {self._pid} ended while it was stepped")
        return os.WSTOPSIG(status)

    def _read(self, address: int, size: int) -> bytes:
        return os.pread(self._memory.fileno(), size, address)

    def registers(self) -> Registers:
        registers = Registers()
        self._ask(GET_REGISTERS, ctypes.byref(registers))
        return registers

    def until_breakpoint(self) -> None:
        """Let it run until it stops itself."""
        number = 0
        while number != signal.SIGTRAP:
            self._ask(CONT, number or None)
            number = self._wait()

    def _disarm(self) -> None:
        if self._armed:
            os.pwrite(self._memory.fileno(), bytes(8), self._armed)

    def event(self, cycles: int) -> list[Step]:
        """Step from one breakpoint to the next, at a time that stands still."""
        steps = []
        for _ in range(STEPS_MAX):
            registers = self.registers()
            code = self._read(registers.rip, INSTRUCTION_BYTES_MAX)
            if code.startswith(BREAKPOINT):
                registers.rip += len(BREAKPOINT)
                self._ask(SET_REGISTERS, ctypes.byref(registers))
                return steps
            values = {name: getattr(registers, name) for name, _ in Registers._fields_}
            steps.append(Step(code, values))
            counter_read = next((read for read in COUNTER_READS if code.startswith(read)), None)
            if counter_read:
                registers.rax, registers.rdx = cycles % 2**32, cycles >> 32
                registers.rip += len(counter_read)
                self._ask(SET_REGISTERS, ctypes.byref(registers))
                continue
            self._ask(STEP)
            if self._wait() != signal.SIGTRAP:
                raise ProgramError(f"process {self._pid} took a signal while it was stepped")
            self._disarm()
        raise ProgramError(f"process {self._pid} has no end of its event")


def count(subject: Subject, filler_bytes: int) -> list[Lines]:
    """The lines of EVENTS events; with a filler, of events that each open a sub-buffer."""
    place = subject.ask("place")
    answers: list[dict[str, float]] = []
    command = f"lines {EVENTS} {filler_bytes}"
    with Stepper(int(place["pid"]), int(place["sequence_area"])) as stepper:
        asking = threading.Thread(target=lambda: answers.append(subject.ask(command)))
        asking.start()
        events = []
        for _ in range(EVENTS):
            stepper.until_breakpoint()
            cycles = stepper.registers().rax
            events.append(stepper.event(cycles))
        stepper.until_breakpoint()
    asking.join()
    if not answers:
        raise ProgramError("the measured program did not answer after it was stepped")
    return lines_of(events)
