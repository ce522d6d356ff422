# SPDX-License-Identifier: MIT
"""One run of the command, whose standard output is read and whose standard error is kept.

Place in the flow: `stream` reads Arrow's messages from it. Both pipes are read in one loop without
a thread of its own, so a command that says much does not wait for a reader. However a run ends
(read to its end, dropped, with the interpreter), its process is gone and its pipes are closed.
After a fork the child has neither.
"""

import errno
import fcntl
import os
import select
import signal
import subprocess
import threading
import weakref
from collections.abc import Sequence

import pyarrow

from lull import fork
from lull.command import refusal
from lull.errors import Error

_SAID_BYTES = 64 << 10
"""What is kept of standard error."""
_PIPE_BYTES = 1 << 20
_PIECE_BYTES = 64 << 20
"""What is asked for at once, so that a wrong length does not take memory before bytes come."""
_PATIENCE_S = 2.0


class Process:
    """A run of the command; also what pyarrow takes for a file to read from.

    Threads may share it: one reads at a time.
    """

    def __init__(self, line: Sequence[bytes], folder: str) -> None:
        """Starts the command. Raises Error where that fails."""
        name = os.fsdecode(line[0])
        try:
            self._popen = subprocess.Popen(
                line,
                bufsize=0,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except ValueError as error:
            raise Error(f"the query or a path cannot be given to {name}: {error}") from None
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise Error("the query is too long") from None
            what = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
            raise Error(f"{name} cannot be started: {what}") from None
        assert self._popen.stdout is not None and self._popen.stderr is not None
        self._out = self._popen.stdout.fileno()
        self._err: int | None = self._popen.stderr.fileno()
        self._name = name
        self._lock = threading.RLock()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self._said = bytearray()
        self._left_out = 0
        self._is_foreign = False
        self.is_cut = False
        """Whether more was asked for than came."""
        self._end = weakref.finalize(self, _end, self._popen)
        fork.register(self)
        try:
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            # A user's pipes may together have no more; it is slower then.
            pass

    @property
    def closed(self) -> bool:
        return not self._end.alive

    def readable(self) -> bool:
        return True

    def read(self, size: int) -> pyarrow.Buffer:
        """Bytes of standard output: as many as asked for, or fewer at its end.

        Blocks until they are there; Ctrl-C ends the waiting.
        """
        with self._lock:
            pieces = []
            # Bound: the size asked for, or what the command writes.
            while size > 0 and not self.is_cut:
                piece = self._piece(min(size, _PIECE_BYTES))
                size -= piece.size
                pieces.append(piece)
            if len(pieces) == 1:
                return pieces[0]
            return pyarrow.py_buffer(b"".join(pieces))

    def _piece(self, size: int) -> pyarrow.Buffer:
        buffer = pyarrow.allocate_buffer(size)
        view = memoryview(buffer)
        read = 0
        while read < size:
            self._wait()
            count = os.readv(self._out, [view[read:]])
            read += count
            if count == 0:
                self.is_cut = True
                return buffer.slice(0, read)
        return buffer

    def _wait(self) -> None:
        """Waits until standard output has bytes or ends, and reads what standard error has."""
        if self._is_foreign:
            raise Error("this stream was begun before a fork, by another process: begin it anew")
        if self.closed:
            raise Error("this stream is closed: begin it anew")
        # Bound: the command writes or ends.
        while True:
            ready = [descriptor for descriptor, _ in self._poll.poll()]
            if self._err in ready:
                self._hear()
            if self._out in ready:
                return

    def _hear(self) -> None:
        """Reads once from standard error."""
        assert self._err is not None
        more = os.read(self._err, _SAID_BYTES)
        if not more:
            self._poll.unregister(self._err)
            self._err = None
        room = _SAID_BYTES - len(self._said)
        self._said += more[:room]
        self._left_out += len(more[room:])

    def finish(self) -> tuple[int, str]:
        """Waits for the end after all of the answer was read.

        Returns the exit status and what the command said. Raises Error where more comes than an
        answer.
        """
        with self._lock:
            self._wait()
            if os.read(self._out, 1):
                self._end()
                raise Error(f"{self._name} wrote more than one Arrow stream")
            self._poll.unregister(self._out)
            while self._err is not None:
                self._poll.poll()
                self._hear()
            status = self._popen.wait()
            self._end()
            return status, self.said()

    def give_up(self) -> tuple[int | None, str]:
        """Ends the command after something that is no answer came.

        Returns its own exit status, or nothing where it had to be ended, and what it said.
        """
        with self._lock:
            status = None
            if self.is_cut:
                # It has closed its output, so it is about to end.
                try:
                    status = self._popen.wait(_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    pass
            # Bound: twice what a pipe holds at most.
            for _ in range(2 * _PIPE_BYTES // _SAID_BYTES):
                if self._err is None or not select.select([self._err], [], [], 0)[0]:
                    break
                self._hear()
            self._end()
            return status, self.said()

    def said(self) -> str:
        """What the command said on standard error until now."""
        text = self._said.decode(errors="replace").strip()
        if self._left_out:
            text += f"\n({self._left_out} more bytes are left out)"
        return text

    def close(self) -> None:
        """Ends the command, if it runs; who reads in another thread finds that."""
        if self._popen.returncode is None:
            self._popen.kill()
        with self._lock:
            self._end()

    def error(self, status: int | None, said: str) -> Error:
        """What is to be raised for an exit status that is neither 0 nor 1."""
        if status is not None and status < 0:
            try:
                ended = signal.Signals(-status).name
            except ValueError:
                ended = f"signal {-status}"
            why = "; the machine may have had too little memory" if ended == "SIGKILL" else ""
            return Error(f"{self._name} was ended by {ended}{why}" + (f": {said}" if said else ""))
        is_unknown = "unrecognized subcommand" in said or "unexpected argument" in said
        if is_unknown and said.startswith("error:"):
            first = said.splitlines()[0].removeprefix("error: ")
            return Error(
                f"{self._name} does not know what it is asked ({first}): it is older than this "
                "package; install both from one version of Lull, or set the environment variable "
                "LULL to the path of another command"
            )
        if said:
            return Error("\n".join(refusal(message) for message in messages(said)))
        return Error(f"{self._name} ended with status {status} and said nothing")

    def leave(self) -> None:
        """In the child of a fork: the pipes and the process are the parent's."""
        self._lock = threading.RLock()
        self._is_foreign = True
        # The process is no child of this one, so there is none to end.
        self._popen.returncode = 0
        self._end()


def messages(said: str) -> tuple[str, ...]:
    """What the command said, a text for each time that it began with its name."""
    found: list[str] = []
    for line in said.splitlines():
        if line.startswith("lull: ") or not found:
            found.append(line.removeprefix("lull: "))
        else:
            found[-1] += "\n" + line
    return tuple(found)


def _end(popen: "subprocess.Popen[bytes]") -> None:
    """Ends a process and closes its pipes. Nothing that the command does needs time to end."""
    if popen.returncode is None:
        popen.kill()
        popen.wait()
    for pipe in (popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()

