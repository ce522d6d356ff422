# SPDX-License-Identifier: MIT
"""Where the command is, and the arguments of its queries.

Place in the flow: `traces` and `rows` say what to ask; `process` runs it. Whatever a caller gives
stands behind an equals sign or behind `--`, so that none of it becomes an option.
"""

import dataclasses
import datetime
import os
import shutil

import numpy

from lull.errors import Error

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_HOW = (
    "build and install Lull (`make install`), or set the environment variable LULL to the path of "
    "the command"
)

Time = str | int | datetime.datetime | numpy.datetime64
"""A time of a trace: as `lull query --from` takes it, nanoseconds of the trace's clock, a datetime
with a time zone (pandas.Timestamp too), or a numpy.datetime64, which is in UTC as those of rows."""

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def find() -> str:
    """The path of the command: the environment variable LULL, else `lull` in PATH.

    Raises Error where there is none.
    """
    named = os.environ.get("LULL")
    found = shutil.which(named or "lull")
    if found is not None:
        return os.path.abspath(found)
    if named:
        raise Error(f"LULL is {named!r}, which is no program that can be run: {_HOW}")
    raise Error(f"the command lull, which reads traces, is not in PATH: {_HOW}")


def time_text(time: Time) -> str:
    """A time as `--from` and `--to` take it.

    Raises ValueError for a datetime without a time zone and for NaT, TypeError for anything else.
    """
    if isinstance(time, str):
        return time
    if isinstance(time, datetime.datetime):
        # What is no time in pandas is a datetime that is not even equal to itself.
        if time != time:
            raise ValueError("NaT is no time")
        if time.tzinfo is None:
            raise ValueError(
                f"{time} has no time zone, so it is not known which moment it names: give it one, "
                "like time.replace(tzinfo=datetime.timezone.utc) or, of pandas, "
                "time.tz_localize('UTC'); times in tables are in UTC"
            )
        since = time.astimezone(datetime.timezone.utc) - _EPOCH
        seconds = since.days * 86_400 + since.seconds
        nanoseconds = int(getattr(time, "nanosecond", 0))
        return str(seconds * 10**9 + since.microseconds * 1000 + nanoseconds)
    if isinstance(time, numpy.datetime64):
        if numpy.isnat(time):
            raise ValueError("NaT is no time")
        return str(int(time.astype("datetime64[ns]").astype("int64")))
    if isinstance(time, int) and not isinstance(time, bool):
        return str(time)
    kind = type(time).__name__
    raise TypeError(f"a time is a str, an int, a datetime or a numpy.datetime64, not {kind}")


@dataclasses.dataclass(frozen=True)
class Source:
    """Traces, the part of them that is read, and what a query may use."""

    traces: tuple[bytes, ...]
    since: str | None
    until: str | None
    memory: str | None
    spill: bytes | None
    folder: str
    """The folder in which the command runs: the one in which the traces were named."""

    def query(self, sql: str, limit: int | None) -> list[bytes]:
        """The command line that answers a query.

        Raises Error where there is no command, or the query is no text.
        """
        options = [] if limit is None else [f"--limit={limit}".encode()]
        try:
            text = sql.encode()
        except UnicodeEncodeError:
            raise Error("the query has characters that UTF-8 does not have") from None
        return self._line(options, text)

    def tables(self) -> list[bytes]:
        """The command line that lists all tables. Raises Error where there is no command."""
        return self._line([b"--tables"])

    def _line(self, options: list[bytes], *words: bytes) -> list[bytes]:
        line = [os.fsencode(find()), b"query", b"--format=arrow", *options]
        for name, value in (
            (b"--from=", self.since),
            (b"--to=", self.until),
            (b"--memory=", self.memory),
            (b"--spill=", self.spill),
        ):
            if value is not None:
                line.append(name + (value if isinstance(value, bytes) else os.fsencode(value)))
        return [*line, b"--", *words, *self.traces]
