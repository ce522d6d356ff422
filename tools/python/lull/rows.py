# SPDX-License-Identifier: MIT
"""The answer to a query, in the form that a program wants.

Place in the flow: `traces` makes one for each question; nothing runs until rows are asked for.
`stream` brings them. A whole answer is kept, so that the next form of it runs no query again.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow

from lull.command import Source
from lull.html import document
from lull.stream import Stream
from lull.values import dictionaries

if TYPE_CHECKING:
    import pandas
    import polars

_SHOWN_ROWS = 20
_LOOKED_AT_ROWS = 1000
"""What a notebook asks for: small answers are whole then."""


class Rows:
    """Rows of a query, not read yet.

    `arrow`, `pandas` and `polars` read all of them, once: a second call of any takes the same rows.
    Iteration, `batches` and other programs (`duckdb.sql("... FROM rows")`,
    `polars.DataFrame(rows)`) get rows as the command finds them, and memory for a few batches is
    enough.

    Every reading blocks until the command has rows, and can be ended by Ctrl-C. It raises Error
    where the command cannot be run, refuses the query, or fails. Where something is missing from
    what was read, it warns `Incomplete`, and `messages` says what.
    """

    def __init__(self, source: Source, sql: str, limit: int | None = None) -> None:
        self._source = source
        self._sql = sql
        self._limit = limit
        self._table: pyarrow.Table | None = None
        self._schema: pyarrow.Schema | None = None
        self._heard: tuple[tuple[str, ...], bool] | None = None

    @property
    def sql(self) -> str:
        """The query."""
        return self._sql

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and their types. Begins the query, the first time, and then ends it."""
        if self._schema is None:
            # Dropped at once, it ends the command.
            self.batches()
        return self._schema

    @property
    def messages(self) -> tuple[str, ...]:
        """What the command said when rows were last read to the end; nothing before that."""
        return self._heard[0] if self._heard else ()

    @property
    def is_complete(self) -> bool | None:
        """Whether nothing was missing when rows were last read to the end; None before that.

        Rows that were cut by `limit` are complete if nothing is missing up to there.
        """
        return self._heard[1] if self._heard else None

    def limit(self, count: int) -> "Rows":
        """The first rows of this, as another answer. Raises ValueError for less than one."""
        if count < 1:
            raise ValueError(f"a limit is at least one row, not {count}")
        return Rows(self._source, self._sql, min(count, self._limit or count))

    def arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow's, which is kept."""
        if self._table is None:
            self._table = self.batches().read_all()
        return self._table

    def batches(self) -> pyarrow.RecordBatchReader:
        """The rows, batch by batch.

        A reader that is dropped before its end ends the command; pyarrow's `close()` alone does
        not. In the child of a fork, a reader that was made before it is of no use.
        """
        if self._table is not None:
            return self._table.to_reader()
        stream = self._begin()
        if self._schema is None:
            self._schema = stream.schema
        return pyarrow.RecordBatchReader.from_batches(self._schema, stream)

    def pandas(self) -> "pandas.DataFrame":
        """All rows as a frame of pandas'.

        Integers and booleans have the types with NA, so that a NULL makes no float of a column.
        Times are in UTC and have no zone. Raises ModuleNotFoundError without pandas.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise _missing("pandas", error) from None
        types = {
            pyarrow.bool_(): pandas.BooleanDtype(),
            pyarrow.int8(): pandas.Int8Dtype(),
            pyarrow.int16(): pandas.Int16Dtype(),
            pyarrow.int32(): pandas.Int32Dtype(),
            pyarrow.int64(): pandas.Int64Dtype(),
            pyarrow.uint8(): pandas.UInt8Dtype(),
            pyarrow.uint16(): pandas.UInt16Dtype(),
            pyarrow.uint32(): pandas.UInt32Dtype(),
            pyarrow.uint64(): pandas.UInt64Dtype(),
        }
        return self.arrow().to_pandas(types_mapper=types.get)

    def polars(self) -> "polars.DataFrame":
        """All rows as a frame of polars'. Raises ModuleNotFoundError without polars."""
        try:
            import polars
        except ModuleNotFoundError as error:
            raise _missing("polars", error) from None
        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary, read batch by batch.

        Times are numpy.datetime64 in nanoseconds, durations numpy.timedelta64, NULL is None. Raises
        Error where two columns have one name.
        """
        for batch in self.batches():
            yield from dictionaries(batch)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows for other programs, by Arrow's PyCapsule interface, as `batches` has them."""
        return self.batches().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        limit = "" if self._limit is None else f" limit {self._limit}"
        return f"<lull.Rows {self._sql!r}{limit}>"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        if self._table is None:
            most = min(self._limit or _LOOKED_AT_ROWS, _LOOKED_AT_ROWS)
            rows = Rows(self._source, self._sql, most)
            table = rows.arrow()
            is_whole = table.num_rows < most or most == self._limit
            if is_whole:
                self._table, self._schema, self._heard = table, table.schema, rows._heard
        else:
            table, is_whole = self._table, True
        return document(table.slice(0, _SHOWN_ROWS), table.num_rows, is_whole)

    def _begin(self) -> Stream:
        line = self._source.query(self._sql, self._limit)
        return Stream(line, self._source.folder, self._hear, self._schema)

    def _hear(self, messages: tuple[str, ...], is_complete: bool) -> None:
        self._heard = (messages, is_complete)


def _missing(name: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    text = f"{error}: `pip install {name}`, or take rows with arrow() or batches()"
    return ModuleNotFoundError(text, name=error.name)
