# SPDX-License-Identifier: MIT
"""Traces and their tables.

Place in the flow: this is where a caller begins. A handle knows names and limits only; each
question runs the command.
"""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from lull.command import Path, Source, Time, time_text
from lull.errors import Error
from lull.rows import Rows
from lull.stream import Stream


def read(
    *traces: Path,
    since: Time | None = None,
    until: Time | None = None,
    memory: str | int | None = None,
    spill: Path | None = None,
) -> "Traces":
    """A handle of traces, or of datasets of `lull export --parquet`. Nothing is read yet.

    traces: folders with traces in or below them; without one it is `lull-trace` in the current
        folder, the newest recording made there.
    since, until: what lies outside of these times is not read. A str as `lull query --from` takes
        it (`"+1.5s"`, `"last 2s"`, `"14:03:05.25"`), an int of nanoseconds of the trace's clock, a
        datetime with a time zone, or a numpy.datetime64 in UTC.
    memory: what sorts, joins and groups may take, like `"2G"`, or bytes; else half of the
        machine's.
    spill: the folder for what finds no space in memory; else $TMPDIR, or /tmp.

    Raises ValueError for a datetime without a time zone, for NaT and for a time that no trace can
    have, and TypeError for what is no path or time. What the command refuses is an Error when rows
    are asked for.
    """
    if isinstance(memory, bool) or not isinstance(memory, str | int | None):
        raise TypeError(f"memory is a str or an int, not {type(memory).__name__}")
    return Traces(
        Source(
            traces=tuple(os.fsencode(trace) for trace in traces),
            since=None if since is None else time_text(since),
            until=None if until is None else time_text(until),
            memory=None if memory is None else str(memory),
            spill=None if spill is None else os.fsencode(spill),
            folder=os.getcwd(),
        )
    )


class Traces:
    """Traces that are asked together: `traces["http:request"]` is a table, `sql` asks anything."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tables: Mapping[str, Mapping[str, str]] | None = None

    def __getstate__(self) -> dict[str, object]:
        """What a copy has, in another process too: it reads the list of tables anew."""
        return {**self.__dict__, "_tables": None}

    @property
    def tables(self) -> Mapping[str, Mapping[str, str]]:
        """Every table with its columns and their types, as `lull query --describe` names them.

        Blocks, the first time, while the command reads the traces' metadata. Raises Error where
        that fails.
        """
        if self._tables is None:
            stream = Stream(self._source.tables(), self._source.folder)
            found: dict[str, dict[str, str]] = {}
            if stream.schema.names != ["table", "column", "type"]:
                stream.close()
                raise Error("what the command wrote is no list of tables")
            for batch in stream:
                for table, column, kind in zip(*(one.to_pylist() for one in batch.columns)):
                    found.setdefault(table, {})[column] = kind
            self._tables = MappingProxyType(
                {name: MappingProxyType(columns) for name, columns in found.items()}
            )
        return self._tables

    def sql(self, query: str) -> Rows:
        """The answer to a query. It runs when rows are asked for."""
        return Rows(self._source, query)

    def __getitem__(self, name: str) -> "Table":
        """A table by its name. One that is not there is an Error when it is read."""
        if not isinstance(name, str):
            raise TypeError(f"tables have names: a str, not {type(name).__name__}")
        return Table(self, self._source, name)

    def __iter__(self) -> Iterator[str]:
        """The names of all tables; blocks as `tables` does."""
        return iter(self.tables)

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def __repr__(self) -> str:
        names = ", ".join(repr(os.fsdecode(trace)) for trace in self._source.traces)
        return f"<lull.Traces {names or 'the newest of this folder'}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.tables)


class Table(Rows):
    """All rows of a table."""

    def __init__(self, traces: Traces, source: Source, name: str) -> None:
        super().__init__(source, f"SELECT * FROM {_quoted(name)}")
        self._traces = traces
        self._name = name

    @property
    def name(self) -> str:
        """The table's name."""
        return self._name

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns and their types; blocks as `Traces.tables` does. Raises Error where there is
        no such table."""
        columns = self._traces.tables.get(self._name)
        if columns is None:
            raise Error(f"no table is named {_quoted(self._name)}")
        return columns

    def select(self, *columns: str) -> Rows:
        """Rows of these columns only; the others are not decoded. Raises ValueError without one."""
        if not columns:
            raise ValueError("name the columns that are wanted")
        names = ", ".join(_quoted(column) for column in columns)
        return Rows(self._source, f"SELECT {names} FROM {_quoted(self._name)}")

    def __repr__(self) -> str:
        return f"<lull.Table {self._name!r}>"


def _quoted(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
