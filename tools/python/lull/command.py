# SPDX-License-Identifier: MIT
"""Where the command is, and the arguments of its queries.

Place in the flow: `traces` and `rows` say what to ask; `process` runs it. Whatever a caller gives
stands behind an equals sign or behind `--`, so that none of it becomes an option.
"""

import dataclasses
import datetime
import os
import re
import shutil

import numpy

from lull.errors import Error

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_HOW = (
    "build and install Lull (`make install`), or set the environment variable LULL to the path of "
    "the command"
)

_NS_LEAST, _NS_MOST = -(1 << 63) + 1, (1 << 63) - 1
_MONTHS_MOST = 12 * 1000
"""More than lie between 1970 and any time that nanoseconds reach."""
_UNITS_S = {"W": 7 * 86_400, "D": 86_400, "h": 3600, "m": 60, "s": 1}
_PARTS_OF_S = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_ARGUMENTS = {"from": "since", "to": "until"}
_OPTION = re.compile("--(from|to|memory|limit|spill)\\b")
_INVALID = re.compile(
    r"error: invalid value '(?P<value>.*)' for '--(?P<option>[a-z]+) <[A-Z]+>': (?P<why>.*?)"
    r"(\n\nFor more information.*)?",
    re.DOTALL,
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

    Raises ValueError for a datetime without a time zone, for NaT and for a time that no trace can
    have, TypeError for anything else.
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
        return _ns_text(time, seconds * 10**9 + since.microseconds * 1000 + nanoseconds)
    if isinstance(time, numpy.datetime64):
        if numpy.isnat(time):
            raise ValueError("NaT is no time")
        return _ns_text(time, _since_epoch_ns(time))
    if isinstance(time, int) and not isinstance(time, bool):
        return str(time)
    kind = type(time).__name__
    raise TypeError(f"a time is a str, an int, a datetime or a numpy.datetime64, not {kind}")


def _since_epoch_ns(time: numpy.datetime64) -> int | None:
    """Nanoseconds since 1970, of any unit: numpy's own conversion overflows without a word. None
    where they are certainly too many."""
    unit, count = numpy.datetime_data(time.dtype)
    number = int(time.astype("int64")) * count
    if unit in ("Y", "M"):
        if abs(number) * (12 if unit == "Y" else 1) > _MONTHS_MOST:
            return None
        number, unit = int(time.astype("datetime64[D]").astype("int64")), "D"
    if unit in _UNITS_S:
        return number * _UNITS_S[unit] * 10**9
    if unit in _PARTS_OF_S:
        return number * (10**9 // _PARTS_OF_S[unit])
    return int(time.astype("datetime64[ns]").astype("int64"))


def _ns_text(time: object, since_epoch_ns: int | None) -> str:
    """Nanoseconds since 1970 as text. Raises ValueError where a trace cannot have them."""
    if since_epoch_ns is None or not _NS_LEAST <= since_epoch_ns <= _NS_MOST:
        raise ValueError(f"{time} is no time of a trace: those are between the years 1677 and 2262")
    return str(since_epoch_ns)


def refusal(said: str) -> str:
    """What the command said of an argument that it refused, with the names that arguments of
    `lull.read` have; anything else as it is."""
    invalid = _INVALID.fullmatch(said)
    if invalid is not None:
        option = invalid["option"]
        return f"{_ARGUMENTS.get(option, option)} is {invalid['value']!r}: {invalid['why']}"
    if not said.startswith("--"):
        return said
    return _OPTION.sub(lambda found: _ARGUMENTS.get(found[1], found[1]), said)


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
