# SPDX-License-Identifier: MIT
"""The peer, LTTng-UST: a session daemon of our own, sessions, and what they leave behind.

An ordinary user gets a private daemon (LTTNG_HOME in the scratch directory). Root's daemon
has fixed places; when one runs already it is used and left running.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import time
from pathlib import Path

from .places import fresh, scratch
from .programs import ProgramError, Subject, run, subject_program

READY_TIMEOUT_S = 20.0
_shared_memory = Path("/dev/shm")


def missing() -> str | None:
    """Why the peer cannot be measured here, or None."""
    for command in ("lttng", "lttng-sessiond"):
        if shutil.which(command) is None:
            return f"{command} is not installed (Debian: lttng-tools liblttng-ust-dev)"
    probe = subprocess.run(
        ["gcc", "-E", "-x", "c", "-", "-o", os.devnull],
        input="#include <lttng/tracepoint.h>\n",
        text=True,
        capture_output=True,
        check=False,
    )
    return None if probe.returncode == 0 else "liblttng-ust-dev is not installed"


class Daemon:
    """One session daemon for the time of a bench."""

    def __init__(self) -> None:
        self._before = set(_shared_memory.glob("lttng-ust*"))
        home = scratch() / "lttng-home"
        home.mkdir(exist_ok=True)
        os.environ["LTTNG_HOME"] = str(home)
        self._process: subprocess.Popen | None = None
        self._session_count = 0
        if self._answers():
            return
        self._process = subprocess.Popen(
            ["lttng-sessiond", "--no-kernel", "--quiet"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.stop)
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ProgramError("lttng-sessiond did not start")
            time.sleep(0.05)

    @staticmethod
    def _answers() -> bool:
        listing = subprocess.run(
            ["lttng", "--no-sessiond", "list"], capture_output=True, timeout=20, check=False
        )
        return listing.returncode == 0

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_what) -> None:
        self.stop()

    def stop(self) -> None:
        """End the daemon (and with it its consumers) if it is ours, and tidy up after it."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)
            for left in set(_shared_memory.glob("lttng-ust*")) - self._before:
                left.unlink(missing_ok=True)

    def session(self, **options) -> Session:
        self._session_count += 1
        return Session(f"lull-bench-{os.getpid()}-{self._session_count}", **options)


class Session:
    """One session with one channel that records the bench events."""

    def __init__(
        self,
        name: str,
        overwrite: bool = True,
        channel_options: tuple[str, ...] = (),
        contexts: tuple[str, ...] = (),
        pid: int | None = None,
        event: str = "bench:*",
        filtered: str | None = None,
    ) -> None:
        self.name = name
        self.output = fresh(name)
        create = ["create", name, f"--output={self.output}"]
        mode = ["--overwrite"] if overwrite else ["--discard"]
        run(["lttng", "-n", "-q", *create, *(["--snapshot"] if overwrite else [])])
        channel = ["enable-channel", "-u", "-s", name, "c", *mode, *channel_options]
        run(["lttng", "-n", "-q", *channel])
        for context in contexts:
            run(["lttng", "-n", "-q", "add-context", "-u", "-s", name, "-c", "c", "-t", context])
        if pid is not None:
            run(["lttng", "-n", "-q", "track", "-u", "-s", name, f"--vpid={pid}"])
        enable = ["enable-event", "-u", "-s", name, "-c", "c", event]
        run(["lttng", "-n", "-q", *enable, *(["--filter", filtered] if filtered else [])])
        run(["lttng", "-n", "-q", "start", name])
        self._live = True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_what) -> None:
        self.end()

    def snapshot(self) -> None:
        """Write what a flight recorder holds to disk."""
        run(["lttng", "-n", "-q", "snapshot", "record", "-s", self.name])

    def end(self) -> None:
        """Stop, wait until everything is on disk, and forget the session."""
        if self._live:
            self._live = False
            run(["lttng", "-n", "-q", "stop", self.name], timeout_s=120)
            run(["lttng", "-n", "-q", "destroy", self.name], timeout_s=120)


def subject() -> Subject:
    """The measured program with LTTng's tracepoints; it registers before it says ready."""
    return Subject([str(subject_program("lttng"))])
