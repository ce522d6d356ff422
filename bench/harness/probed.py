# SPDX-License-Identifier: MIT
"""Peers that put a breakpoint on a function of the measured program: perf and bpftrace.

Both go through the kernel at each occurrence, by a uprobe on `subject_point`. They need root.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time

from .places import scratch
from .programs import ProgramError, Subject, run, subject_program

FUNCTION = "subject_point"
READY_TIMEOUT_S = 30.0


def missing(command: str) -> str | None:
    """Why the peer cannot be measured here, or None."""
    if os.geteuid() != 0:
        return f"{command} sets breakpoints as root only"
    return None if shutil.which(command) else f"{command} is not installed (Debian: {command})"


class Probed:
    """The measured program, without a tracer of its own, and a tracer beside it."""

    def __init__(self) -> None:
        self.subject = Subject([str(subject_program("none"))])
        self._tracer: subprocess.Popen | None = None

    def __enter__(self) -> Subject:
        try:
            self.attach()
        except BaseException:
            self.end()
            raise
        return self.subject

    def __exit__(self, *_what) -> None:
        self.end()

    def attach(self) -> None:
        raise NotImplementedError

    def start(self, words: list[str], ready: str | None) -> None:
        """Start the tracer; `ready`: what it prints on standard output when it is attached."""
        output = subprocess.PIPE if ready else subprocess.DEVNULL
        self._tracer = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + READY_TIMEOUT_S
        seen = b""
        while ready and ready.encode() not in seen:
            stream = self._tracer.stdout.fileno()
            left = max(0.0, deadline - time.monotonic())
            piece = os.read(stream, 4096) if select.select([stream], [], [], left)[0] else b""
            if not piece:
                raise ProgramError(f"{words[0]} did not attach: {seen.decode(errors='replace')}")
            seen += piece

    def end(self) -> None:
        self.subject.kill()
        if self._tracer is not None:
            self._tracer.terminate()
            try:
                self._tracer.wait(20)
            except subprocess.TimeoutExpired:
                self._tracer.kill()
                self._tracer.wait(5)


class Bpftrace(Probed):
    """A program of bpftrace's: a predicate, or none, and an action."""

    def __init__(self, action: str, predicate: str = "") -> None:
        super().__init__()
        test = f"/{predicate}/ " if predicate else ""
        place = f"uprobe:{subject_program('none')}:{FUNCTION}"
        self._text = f'BEGIN {{ printf("ready\\n"); }} {place} {test}{{ {action} }}'

    def attach(self) -> None:
        words = ["bpftrace", "-p", str(self.subject.pid), "-e", self._text]
        self.start(words, ready="ready")


class Perf(Probed):
    """`perf record` of a uprobe, with a filter of the kernel's language."""

    EVENT = "lull_bench:point"

    def __init__(self, filtered: str) -> None:
        super().__init__()
        self._filtered = filtered

    def attach(self) -> None:
        probe = ["perf", "probe", "-q", "-x", str(subject_program("none"))]
        run([*probe, f"{self.EVENT}={FUNCTION}", "value=%di:s64"])
        words = ["perf", "record", "-q", "-e", self.EVENT, "--filter", self._filtered]
        words += ["-p", str(self.subject.pid), "-o", str(scratch() / "perf.data")]
        self.start(words, ready=None)
        # perf says nothing when it has attached; the first samples are discarded anyway.
        time.sleep(1.0)

    def end(self) -> None:
        super().end()
        subprocess.run(
            ["perf", "probe", "-q", "-d", self.EVENT], capture_output=True, timeout=30, check=False
        )
