# SPDX-License-Identifier: MIT
"""What a guest's kernel said: its console, its log, and the lines in them that complain."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from .places import LOGS, LabError

TAIL_LINES = 30
# What a kernel's complaints have in common, those of its sanitizers and of lockdep included.
KINDS = (
    r"\bBUG:",
    r"\bkernel BUG at",
    r"\bBUG [\w-]+ \(",  # of slub_debug
    "pagealloc: ",  # of page_poison
    r"\bWARNING:",
    "Oops",
    r": [0-9a-f]{4} \[#\d+\]",  # how every oops begins: "int3: 0000 [#1]"
    "lockdep",
    "KASAN",
    "UBSAN",
    "general protection fault",
    "Kernel panic",
    "[Uu]nable to handle",
    "INFO: task .* blocked",
    "INFO: trying to register non-static key",
    "detected (?:expedited )?stalls",
    "self-detected stall",
    "Internal error",
    "new suspected memory leaks",
)
COMPLAINTS = re.compile("|".join(KINDS))


class GuestError(LabError):
    """A guest did not do what it was asked; the message has the end of its console."""


def tail(text: str, lines: int = TAIL_LINES) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines()[-lines:])


def complaints(log: str, allowed: Sequence[str] = ()) -> list[str]:
    """The lines of a kernel's log that say that something is wrong, but those allowed."""
    named = [re.compile(pattern) for pattern in allowed]
    found = [line for line in log.splitlines() if COMPLAINTS.search(line)]
    return [line for line in found if not any(each.search(line) for each in named)]


class Log:
    """The log of one boot: the console, which also a guest that crashed has, and dmesg."""

    count = 0

    def __init__(self, console_file: Path) -> None:
        Log.count += 1
        self.name = f"{os.environ.get('LULL_BOOT_TEST', f'guest-{os.getpid()}')}-{Log.count}"
        self.console_file = console_file
        self.dmesg = ""

    def console(self) -> str:
        if not self.console_file.exists():
            return ""
        text = self.console_file.read_bytes().decode(errors="replace")
        return text.replace("\r", "").replace("\x00", "")

    def save(self) -> None:
        """Both stay in build/boot/log after the guest is gone."""
        LOGS.mkdir(parents=True, exist_ok=True)
        for ending, text in (("console", self.console()), ("dmesg", self.dmesg)):
            if text:
                (LOGS / f"{self.name}.{ending}").write_text(text, encoding="utf-8")

    def check(self, allowed: Sequence[str]) -> None:
        """A complaint in the log is a failure, also when every command succeeded."""
        found = complaints(self.console(), allowed) or complaints(self.dmesg, allowed)
        if found:
            log = self.dmesg or self.console()
            at = log.find(found[0])
            shown = "\n".join(log[max(at, 0) :].splitlines()[:TAIL_LINES])
            raise GuestError(
                f"the guest's kernel complained, {len(found)} lines, first: {found[0].strip()}\n"
                f"  its log from there:\n{tail(shown)}"
            )

    def tell(self, why: str, messages: str, allowed: Sequence[str]) -> str:
        """A failure's message: why, what the kernel complained of, what QEMU and it said last."""
        told = [why]
        found = complaints(self.dmesg or self.console(), allowed)
        if found:
            told.append(f"  the kernel complained, first: {found[0].strip()}")
        if messages:
            told.append(f"  QEMU said:\n{tail(messages)}")
        kinds = (("kernel's log", "dmesg", self.dmesg), ("console", "console", self.console()))
        for kind, ending, text in kinds:
            if text.strip():
                told.append(f"  the {kind}'s end (all of it: {LOGS / self.name}.{ending}):")
                told.append(tail(text))
                break
        else:
            told.append("  its console is empty")
        return "\n".join(told)
