# SPDX-License-Identifier: MIT
"""How much slower tracers make a real program: each runs it in turn, by the wall clock and in CPU
time, and the rows are their times over the untraced one, round by round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from .commands import take
from .loads import Load
from .places import fresh
from .programs import ProgramError
from .rounds import alternate
from .spread import Spread
from .table import Table

Words = Callable[[Path], list[str]]  # what to put before a program, for the trace's place
# A tracer that takes longer for a load than ten times and a second, or than this, is left out.
LIMIT_S = 6.0
UNTRACED = "untraced"


class Runner:
    """Runs one load under one tracer; keeps CPU times, returns wall-clock times, in ms."""

    def __init__(self, load: Load, words: Words) -> None:
        self._load = load
        self._words = words
        self.limit_s = 30.0
        self.cpu_ms: list[float] = []

    def __call__(self) -> float:
        output = fresh("program-trace")
        command = [*self._words(output), *self._load.command]
        took = take(command, folder=self._load.folder, timeout_s=self.limit_s)
        self.cpu_ms.append(took.cpu_s * 1e3)
        return took.wall_s * 1e3


def _able(table: Table, load: Load, runners: dict[str, Runner]) -> dict[str, Runner]:
    """The runners that get through the load in time; a first, discarded run tells."""
    found = {}
    limit_s = min(LIMIT_S, runners[UNTRACED]() * 10 / 1e3 + 1)
    for name, runner in runners.items():
        runner.limit_s = limit_s
        try:
            runner()
        except ProgramError as error:
            table.note(f"Not measured: {name} with {load.key}: {error}.")
            continue
        runner.limit_s = 2 * limit_s
        runner.cpu_ms.clear()
        found[name] = runner
    return found


def add_load(
    table: Table,
    load: Load,
    tracers: Mapping[str, Words],
    rounds: int,
    why: str,
    cpu_unknown: Collection[str] = (),
    what: str = "",
) -> None:
    """Two rows: times by the wall clock, and CPU time, but of tracers for which that is unknown.

    tracers: "ours", the peers, and UNTRACED, which puts nothing before the program.
    what: what is recorded, if the table has several rows for the load.
    """
    runners = {name: Runner(load, words) for name, words in tracers.items()}
    runners = _able(table, load, runners)
    if UNTRACED not in runners:
        return
    wall = alternate(runners, rounds, warm_up=False)
    cpu = {
        name: Spread(tuple(runner.cpu_ms))
        for name, runner in runners.items()
        if name not in cpu_unknown
    }
    of_cpu = "CPU time of the program and its tracer."
    for clock, taken, reason in (("wall", wall, why), ("CPU", cpu, of_cpu)):
        base = taken[UNTRACED]
        slower = {name: spread.over(base) for name, spread in taken.items() if name != UNTRACED}
        ours = slower.pop("ours", None)
        words = [load.key, what, "" if clock == "wall" else clock]
        table.add(
            "_".join(word.replace(" ", "_") for word in words if word),
            f"{load.label}{what and ', ' + what}; untraced {base.median:.0f} ms {clock} time",
            "times slower",
            ours,
            slower,
            why=reason,
        )
