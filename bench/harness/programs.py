# SPDX-License-Identifier: MIT
"""The measured programs: compiling them, starting them, talking to them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from pathlib import Path

from .places import BUILD, HARNESS, ROOT

CFLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]
ANSWER_TIMEOUT_S = 60.0


class ProgramError(RuntimeError):
    """A measured program, or the tool around it, did not do what it should."""


def run(command: list[str], timeout_s: float = 60.0, **options) -> subprocess.CompletedProcess:
    """Run a command to its end; a failure carries its last words."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{command[0]} did not end within {timeout_s} s") from error
    except OSError as error:
        raise ProgramError(f"cannot start {command[0]}: {error}") from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()[-800:]
        shown = " ".join(str(word) for word in command)
        raise ProgramError(f"'{shown}' ended with status {done.returncode}: {words}")
    return done


def compiled(output: Path, sources: list[Path], options: list[str], changed: float) -> Path:
    """The program, compiled from its sources when it is older than the last change."""
    if not output.exists() or output.stat().st_mtime < changed:
        BUILD.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "gcc")
        run([compiler, *CFLAGS, *[str(source) for source in sources], *options, "-o", str(output)])
    return output


def last_change(*folders: Path) -> float:
    """When a C source or header under one of the folders was last changed."""
    return max(
        path.stat().st_mtime
        for folder in folders
        for path in folder.rglob("*.[ch]")
    )


def subject_program(tracer: str, framed: bool = False) -> Path:
    """The measured program for "none", "lull" or "lttng", compiled when it is out of date."""
    sources = sorted(HARNESS.glob("subject*.c"))
    include = ROOT / "core" / "include"
    options = ["-falign-loops=32", f"-I{HARNESS}", f'-DSUBJECT_EMIT="emit_{tracer}.h"']
    if tracer == "lull":
        options += [f"-I{include}"]
    if tracer == "lttng":
        sources.append(HARNESS / "lttng_provider.c")
        options += ["-llttng-ust", "-ldl"]
    name = f"subject_{tracer}"
    if framed:
        options += ["-fno-omit-frame-pointer"]
        name += "_framed"
    return compiled(
        BUILD / name, sources, [*options, "-pthread"], last_change(HARNESS, include)
    )


def helper_program(name: str) -> Path:
    """A helper of the harness that is one C file."""
    source = HARNESS / f"{name}.c"
    return compiled(BUILD / name, [source], [], source.stat().st_mtime)


def empty_library() -> Path:
    """A shared library that holds nothing: what preloading any library costs."""
    source = HARNESS / "empty.c"
    options = ["-shared", "-fPIC", "-nostdlib", "-Wl,-z,noseparate-code"]
    return compiled(BUILD / "empty.so", [source], options, source.stat().st_mtime)


class Subject:
    """A running measured program, perhaps under a recorder, that answers commands."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self._command = [str(word) for word in command]
        self._pending = b""
        self._messages = open(os.path.join(BUILD, "subject.stderr"), "w+b")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            self._expect_ready()
        except ProgramError:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, kind, *_rest) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    def _expect_ready(self) -> None:
        line = self._read_line(ANSWER_TIMEOUT_S)
        if not line.startswith("ready "):
            raise ProgramError(f"{self._command[-1]} did not start: it said '{line}'")

    def _read_line(self, timeout_s: float) -> str:
        deadline = time.monotonic() + timeout_s
        stream = self._process.stdout.fileno()
        while b"\n" not in self._pending:
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ProgramError(f"{self._command[0]}: no answer within {timeout_s} s")
            piece = os.read(stream, 65536)
            if not piece:
                raise ProgramError(f"{self._command[0]} ended early: {self.messages()}")
            self._pending += piece
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode(errors="replace")

    def messages(self) -> str:
        """What the program and its recorder wrote to standard error, its last part."""
        self._messages.flush()
        self._messages.seek(0)
        return self._messages.read().decode(errors="replace").strip()[-800:]

    def ask(self, command: str, timeout_s: float = ANSWER_TIMEOUT_S) -> dict[str, float]:
        """Send one command and read the numbers of its answer."""
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ProgramError(f"{self._command[0]} ended early: {self.messages()}") from error
        pairs = (word.partition("=") for word in self._read_line(timeout_s).split())
        return {key: float(value) for key, _, value in pairs}

    def loop_ns(self, name: str, count: int) -> float:
        """CPU time of one iteration, in nanoseconds."""
        return self.ask(f"loop {name} {count}")["cpu_ns"] / count

    def close(self, timeout_s: float = 60.0) -> None:
        """End it in good order: with a recorder around it, until the trace is on disk."""
        self._process.stdin.close()
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise ProgramError(f"{self._command[0]} did not end within {timeout_s} s") from error
        words = self.messages()
        self._messages.close()
        if status != 0:
            raise ProgramError(f"{self._command[0]} ended with status {status}: {words}")

    def kill(self) -> None:
        """End it and its children at once; they are in a session of their own."""
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(5)
        except ProcessLookupError:
            self._process.wait(5)


def count_for(subject: Subject, loop: str, sample_ns: float = 15e6) -> int:
    """How many iterations make one sample of about that length."""
    subject.loop_ns(loop, 20000)
    return max(1000, int(sample_ns / max(0.05, subject.loop_ns(loop, 100000))))
