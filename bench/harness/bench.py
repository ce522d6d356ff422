# SPDX-License-Identifier: MIT
"""What a bench's `run` script calls: options, the results folder, errors as one line."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from . import lttng, lull
from .places import BENCH
from .programs import ProgramError
from .table import Table


def default_output() -> Path:
    """bench/runs/<date>-<host>."""
    date = datetime.date.today().isoformat()
    host = platform.node().split(".")[0] or "unknown"
    return BENCH / "runs" / f"{date}-{host}"


class Measuring:
    """The choices of this run, and which sides can be measured here."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.quick = arguments.quick
        self.lull_missing = lull.missing()
        self.lttng_missing = lttng.missing()

    def pick(self, whole, quick):
        """One value for a whole run, another for a quick one."""
        return quick if self.quick else whole

    def missing(self) -> list[str]:
        """Why tracers cannot be measured here."""
        return [reason for reason in (self.lull_missing, self.lttng_missing) if reason]


def _stop(signal_number: int, _frame) -> None:
    raise SystemExit(128 + signal_number)


def _write_part(table: Table, output: Path, reason: str) -> None:
    """Keep the rows that there are, and say that others are missing."""
    table.note(f"Ended before it was done: {reason}.")
    table.load_average.append(os.getloadavg()[0])
    table.write(output)


def main(
    name: str,
    title: str,
    measure: Callable[[Measuring, Table], None],
    missing: Callable[[Measuring], list[str]] = Measuring.missing,
    options: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> None:
    """Run one bench and write its results, with why a side is absent if one is. `options` adds
    what only this bench takes."""
    parser = argparse.ArgumentParser(prog=f"bench/{name}/run", description=title)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter traces")
    parser.add_argument("--output", type=Path, default=default_output(), help="results folder")
    options(parser)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    measuring = Measuring(arguments)
    table = Table(name, title, arguments.quick)
    for reason in missing(measuring):
        table.note(f"Not measured: {reason}.")
    table.load_average.append(os.getloadavg()[0])
    try:
        measure(measuring, table)
    except SystemExit:
        _write_part(table, arguments.output, "the time was used up")
        raise
    except (ProgramError, OSError) as error:
        _write_part(table, arguments.output, str(error))
        print(f"bench/{name}: {error}", file=sys.stderr)
        sys.exit(2)
    table.load_average.append(os.getloadavg()[0])
    table.write(arguments.output)
