# SPDX-License-Identifier: MIT
"""The QDo tables: one measured program, two modes, and what Q published beside them.

"ours" is QDo as it is by default: whose step has something to do is prompted. "thesis mode" is QDo
as Q measured it: a monitor on each CPU looks when its timer ends, and that is what is compared with
the published figures.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from . import bench, rcu, report
from .places import BUILD, HARNESS, ROOT
from .plot import Curve
from .programs import Subject, compiled, last_change
from .rounds import alternate_answers
from .spread import Spread
from .table import Row, Table

# In the order of enum qdo_algorithm and enum qdo_submission (lull/qdo.h).
ALGORITHMS = {
    "snapshot": "snapshot",
    "token": "token",
    "multi_token": "multiple tokens",
    "tree": "tree",
}
SUBMISSIONS = {
    "lock_free": "lock-free list",
    "restartable": "restartable step",
    "lock": "lock",
}
COLOURS = {"snapshot": "blue", "token": "orange", "multi_token": "green", "tree": "violet"}
OURS = "ours"
THESIS = "thesis mode"
EACH = "a monitor per CPU"
PUBLISHED = "published"
SIMULATED = "thesis mode, simulated"
RESTING = "resting timers, simulated"
PERIOD_MS = 10.0  # the thesis's, unless a table is about periods

# The parts of a callback's latency: what the program calls them, unit, nanoseconds in one.
PARTS = {
    "callback": ("callback latency", "ms", 1e6),
    "placement": ("placing the request", "ns", 1.0),
    "local": ("local quiescence", "ns", 1.0),
    "communication": ("communication", "ms", 1e6),
    "execution": ("execution", "ns", 1.0),
}

# What qdo_table.h calls enum scripts_guard.
GUARDS = {
    "nothing": 0, "each": 1, "batch": 2, "lock": 3, "each_rcu": 4, "batch_rcu": 5, "marked": 6,
    "asked": 7,
}
BINS = 61
BINS_DECADE = 10

# Linked whole, so that qdo_watch.c can stand between its files.
LIBRARY = rcu.LIBRARY.parent / "liblull-rcu.a"
SOURCES = ("subject", "watch", "chain", "overhead", "table", "server")
WRAPPED = ("qdo_core_step", "qdo_submitted_take")


@dataclass(frozen=True)
class Instance:
    """A configuration, as the measured program reads it."""

    algorithm: str = "snapshot"
    submission: str = "restartable"
    period_us: int = int(PERIOD_MS * 1000)
    timer_only: bool = False
    cpus: int = 2
    monitor_each: bool = False  # by default otherwise; the library offers it in thesis mode only

    @property
    def words(self) -> str:
        return (
            f"{list(ALGORITHMS).index(self.algorithm)} {list(SUBMISSIONS).index(self.submission)} "
            f"{self.period_us} {2 if self.monitor_each else int(self.timer_only)} {self.cpus}"
        )

    def as_thesis(self) -> Instance:
        return replace(self, timer_only=True)

    def as_each(self) -> Instance:
        return replace(self, monitor_each=True)


def missing(_measuring: bench.Measuring) -> list[str]:
    """Why QDo cannot be measured here."""
    return [] if LIBRARY.exists() else [f"{LIBRARY.name} is not built (make all)"]


def _options() -> list[str]:
    # The monitor's calls of the core are seen on their way: qdo_watch.c.
    folders = (HARNESS, *rcu.INCLUDES, ROOT / "port" / "user" / "rcu", ROOT / "rcu" / "qdo",
               ROOT / "rcu" / "qdo" / "host", ROOT / "rcu" / "grace" / "host")
    wraps = ",".join(f"--wrap={name}" for name in WRAPPED)
    return [
        "-falign-loops=32", *(f"-I{folder}" for folder in folders), f"-Wl,{wraps}",
        str(LIBRARY), "-lm", "-pthread",
    ]


def _changed() -> float:
    library = LIBRARY.stat().st_mtime if LIBRARY.exists() else 0.0
    return max(library, last_change(HARNESS, *rcu.INCLUDES, ROOT / "rcu" / "qdo"))


def subject(stack: ExitStack) -> Subject:
    """The measured program, running; the stack ends it."""
    sources = [HARNESS / f"qdo_{name}.c" for name in SOURCES] + [HARNESS / "subject_quantiles.c"]
    path = compiled(BUILD / "qdo", sources, _options(), _changed())
    return stack.enter_context(Subject([str(path)]))


def simulation(stack: ExitStack) -> Subject:
    """The core under numbers for timers (qdo_simulation.c)."""
    options = [word for word in _options() if not word.startswith("-Wl,")]
    path = compiled(
        BUILD / "qdo_simulation", [HARNESS / "qdo_simulation.c"], options, _changed()
    )
    return stack.enter_context(Subject([str(path)]))


Taken = Mapping[tuple[Hashable, str], Mapping[str, Spread]]


def take(program: Subject, commands: Mapping[tuple[Hashable, str], str], rounds: int) -> Taken:
    """Answers by (point, variant): every command, alternating."""
    return alternate_answers(
        {key: partial(rcu.ask, program, command) for key, command in commands.items()}, rounds
    )


def chain(instance: Instance, count: int, scripts: int = 0, pause_us: int = 0,
          keep: bool = False) -> str:
    return f"chain {instance.words} {count} {scripts} {pause_us} {int(keep)}"


def both_modes(instance: Instance, command: Callable[[Instance, bool], str]) -> dict[str, str]:
    """A command for each mode; command() gets the instance, and whether it is the thesis's."""
    return {
        OURS: command(instance, False),
        THESIS: command(instance.as_thesis(), True),
    }


def chain_count(period_us: int, sample_ms: int, most: int = 500) -> int:
    """How many requests of the thesis's mode take about so long: a period each, at least."""
    # A look and a sleep take some microseconds, whatever the timer was set to; here with room.
    return max(3, min(most, sample_ms * 1000 // max(period_us, 60)))


def measured_cpus(available: int) -> list[int]:
    """The thesis's numbers of virtual processors that this machine has CPUs for."""
    return [count for count in (2, 4) if count <= max(2, available)]


def part_of(answer: Mapping[str, Spread], part: str, figure: str = "middle") -> Spread:
    """One part of the latency, in its unit."""
    return answer[f"{part}_{figure}_ns"].scaled(1 / PARTS[part][2])


def modes_of(taken: Taken, point: Hashable, figure: Callable[[Mapping[str, Spread]], Spread]
             ) -> dict[str, Spread]:
    return {variant: figure(answer) for (where, variant), answer in taken.items() if where == point}


def published_figure(table: str, key: str) -> float | None:
    """The first published figure of a row that is a number."""
    for line in report.published(table).get(key, []):
        try:
            return float(line["figure"].replace(",", ""))
        except ValueError:
            continue
    return None


def beside_published(table: str, key: str, name: str, spread: Spread | None) -> str:
    """How the thesis's mode, measured or simulated, compares with what was published, in words."""
    figure = published_figure(table, key)
    if figure is None or spread is None or figure <= 0 or spread.median <= 0:
        return ""
    return f"{name.capitalize()}: {spread.median / figure:.2f} x published. "


def add_row(table: Table, key: str, label: str, unit: str, spreads: Mapping[str, Spread],
            why: str = "", **named) -> Row:
    """One row: ours, the other variants, and the thesis's mode set beside the published figure."""
    peers = {name: spread for name, spread in spreads.items() if name != OURS}
    thesis = THESIS if THESIS in peers else SIMULATED
    return table.add(
        key, label, unit, spreads.get(OURS), peers,
        why=(beside_published(table.name, key, thesis, peers.get(thesis)) + why).strip(), **named,
    )


def add_parts(table: Table, taken: Taken, point: Hashable, key: str, label: str,
              why: Mapping[str, str], **named) -> None:
    """A row for each part of the latency at one point."""
    for part, (name, unit, _) in PARTS.items():
        spreads = modes_of(taken, point, partial(part_of, part=part))
        add_row(
            table, f"{key}_{part}", f"{label}: {name}", unit, spreads, why.get(part, ""), **named
        )


def add_published(table: Table, keys: Iterable[str]) -> None:
    """Rows for plots: published figures as points of their own."""
    for key in keys:
        figure = published_figure(table.name, key)
        row = next((row for row in table.rows if row.key == key), None)
        if figure is None or row is None:
            continue
        table.add(
            f"published_{key}", f"{row.label}, as published", row.unit, None,
            {PUBLISHED: Spread((figure,))}, compared=False, shown=False,
        )


def mode_curves(points: Iterable[tuple], published: bool = True) -> tuple[Curve, ...]:
    """Ours, the thesis's mode and the published figures over the same rows: (x, row key)."""
    points = tuple(points)
    curves = [
        Curve("default", OURS, points, "blue", "solid"),
        Curve(THESIS, THESIS, points, "orange", "dashed"),
    ]
    if published:
        theirs = tuple((x, f"published_{key}") for x, key in points)
        curves.append(Curve(PUBLISHED, PUBLISHED, theirs, "grey", "dotted"))
    return tuple(curves)


def bin_ms(index: int) -> float:
    """The middle of a bin of the program's histogram."""
    return 10 ** (index / BINS_DECADE) / 1000


def filled_bins(answers: Iterable[Mapping[str, Spread]]) -> range:
    """From the first bin that has anything to the last, and one empty one on each side."""
    filled = [
        index
        for answer in answers
        for index in range(BINS)
        if answer[f"bin_{index}"].maximum > 0
    ]
    if not filled:
        return range(0)
    return range(max(0, min(filled) - 1), min(BINS, max(filled) + 2))


def overhead_percent(whole: Spread, alone: Spread) -> Spread:
    """Q equation 5.1, round by round."""
    return whole.minus(alone).over(alone).scaled(100.0)


def main(name: str, title: str, measure: Callable[[bench.Measuring, Table], None]) -> None:
    """Run one QDo bench; without the library it has no rows."""

    def guarded(measuring: bench.Measuring, table: Table) -> None:
        if not missing(measuring):
            measure(measuring, table)

    bench.main(name, title, guarded, missing)
