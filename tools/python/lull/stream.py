# SPDX-License-Identifier: MIT
"""The record batches of one run of the command.

Place in the flow: `rows` begins a stream and hands it to whoever takes batches. What comes through
the pipe is checked, batch by batch, before anyone looks into it: a wrong offset in a batch would be
a wrong address in this process. How complete the answer is, the command says at its end.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow

from lull import fork
from lull.errors import Error, warn_incomplete
from lull.process import Process, messages

DONE = 0
INCOMPLETE = 1

T = TypeVar("T")
Told = Callable[[tuple[str, ...], bool], None]
"""Hears what the command said, and whether nothing is missing."""


class Stream(Iterator[pyarrow.RecordBatch]):
    """An iterator over record batches, which several threads may share.

    The command starts when the columns or the first batch are asked for, and the end of the
    batches waits for the command's. Ctrl-C, or any error, ends the command.
    """

    def __init__(
        self,
        line: Sequence[bytes],
        folder: str,
        told: Told | None = None,
        known: pyarrow.Schema | None = None,
    ) -> None:
        """`told` hears how complete the answer is, and only with it is there a warning; `known` are
        the columns that it must have."""
        self._line = line
        self._folder = folder
        self._told = told
        self._known = known
        self._lock = threading.RLock()
        self._rows = 0
        self._is_over = False
        self._process: Process | None = None
        self._reader: Any = None
        fork.register(self)

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns. Blocks until the command has named them. Raises Error as `next` does."""
        return self._ending(self._begun).schema

    def __next__(self) -> pyarrow.RecordBatch:
        """The next batch. Blocks until there is one, or the command has ended.

        Raises Error where the command fails or what it writes is no answer.
        """
        batch = self._ending(self._read)
        if batch is None:
            raise StopIteration
        return batch

    def _read(self) -> pyarrow.RecordBatch | None:
        """The next batch, checked; None at the end."""
        if self._is_over:
            return None
        try:
            batch = self._begun().read_next_batch()
        except StopIteration:
            self._end()
            return None
        batch.validate(full=True)
        self._rows += batch.num_rows
        return batch

    def close(self) -> None:
        """Ends the command, if it runs. What was read until now stays valid."""
        self._is_over = True
        process = self._process
        if process is not None:
            process.close()

    def leave(self) -> None:
        self._lock = threading.RLock()

    def _begun(self) -> Any:
        """The reader of a command that runs."""
        if self._reader is not None:
            return self._reader
        if self._is_over:
            raise Error("this stream is closed: begin it anew")
        self._process = Process(self._line, self._folder)
        source = pyarrow.PythonFile(self._process, mode="r")
        options = pyarrow.ipc.IpcReadOptions(use_threads=False)
        reader = pyarrow.ipc.open_stream(source, options=options)
        reader.schema.empty_table().validate(full=True)
        if self._known is not None and reader.schema != self._known:
            raise Error("the columns are no longer those that were: the traces have changed")
        self._reader = reader
        return reader

    def _ending(self, take: Callable[[], T]) -> T:
        """Takes something of the command's, which ends where that goes wrong."""
        with self._lock:
            try:
                return take()
            except Error:
                self.close()
                raise
            except Exception as error:
                if self._process is None or self._is_over:
                    raise
                refusal, is_own = self._refusal(error)
                # What Arrow missed is of no interest where the command has said why.
                raise refusal from None if is_own else error
            except BaseException:
                self.close()
                raise

    def _end(self) -> None:
        """Hears from the command how the answer ended."""
        process = self._process
        assert process is not None
        if process.is_cut:
            raise self._refusal(None)[0]
        try:
            status, said = process.finish()
        finally:
            self.close()
        self._reader = None
        if status not in (DONE, INCOMPLETE):
            raise process.error(status, said)
        # Without a row the status is 1, too; what is missing is then only known by words.
        is_complete = status == DONE or (self._rows == 0 and not said)
        if self._told is None:
            return
        self._told(messages(said), is_complete)
        if not is_complete:
            warn_incomplete("\n".join(messages(said)) or "something is missing from what was read")

    def _refusal(self, error: Exception | None) -> tuple[Error, bool]:
        """What is to be raised where the answer is none, or is cut, and whether the command's exit
        status says that."""
        process = self._process
        assert process is not None
        self._is_over = True
        status, said = process.give_up()
        if status not in (None, DONE, INCOMPLETE):
            return process.error(status, said), True
        what = "is cut off" if process.is_cut else f"is damaged: {error}"
        return Error(f"what the command wrote {what}" + (f"\n{said}" if said else "")), False
