# SPDX-License-Identifier: MIT
"""One table of results: rows with ours, peers and targets, and its file.

A bench makes a Table, adds rows, and calls write(). The file has what the report says of each row,
and no samples. Nothing in it is edited by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .plot import Plot
from .spread import Spread, Summary, digits


@dataclass(frozen=True)
class Target:
    """A stated goal, what was measured for it, and whether that is good enough."""

    text: str
    measured: float
    limit: float
    at_most: bool

    @property
    def met(self) -> bool:
        if self.at_most:
            return self.measured <= self.limit
        return self.measured >= self.limit

    def verdict(self) -> str:
        """Met, or missed by how much."""
        if self.met:
            return f"met: {digits(self.measured)}"
        if self.limit == 0:
            return f"missed: {digits(self.measured)}"
        off = abs(self.measured - self.limit) / abs(self.limit) * 100
        return f"missed by {off:.0f} %: {digits(self.measured)}"


def at_most(text: str, measured: float, limit: float) -> Target:
    return Target(text, measured, limit, True)


def at_least(text: str, measured: float, limit: float) -> Target:
    return Target(text, measured, limit, False)


@dataclass
class Row:
    """One line: ours beside peers (the first one is compared with), in one unit."""

    key: str
    label: str
    unit: str
    ours: Spread | None
    peers: dict[str, Spread] = field(default_factory=dict)
    higher_is_better: bool = False
    targets: list[Target] = field(default_factory=list)
    why: str = ""
    compared: bool = True  # false for counts that are no merit of either
    shown: bool = True  # false for points of a plot: the report folds them away

    def advantage(self) -> Spread | None:
        """How many times better ours is than the first peer, round by round.

        None where there is nothing to compare, or where one side was not told from zero.
        """
        peer = next(iter(self.peers.values()), None)
        if not self.compared or self.ours is None or peer is None:
            return None
        if min(self.ours.minimum, peer.minimum) <= 0:
            return None
        if len(peer.samples) != len(self.ours.samples):
            peer, ours = Spread((peer.median,)), Spread((self.ours.median,))
        else:
            ours = self.ours
        return ours.over(peer) if self.higher_is_better else peer.over(ours)


@dataclass
class Line:
    """A row as the file has it: summaries in the place of samples."""

    key: str
    label: str
    unit: str
    ours: Summary | None
    peers: dict[str, Summary]
    advantage: Summary | None
    targets: list[Target]
    why: str
    shown: bool

    @classmethod
    def of(cls, row: Row) -> Line:
        advantage = row.advantage()
        return cls(
            row.key,
            row.label,
            row.unit,
            row.ours.summary() if row.ours else None,
            {name: spread.summary() for name, spread in row.peers.items()},
            advantage.summary() if advantage else None,
            row.targets,
            row.why,
            row.shown,
        )


def _figures_of(rows: Iterable[Row | Line], key: str, variant: str) -> Spread | Summary | None:
    row = next((row for row in rows if row.key == key), None)
    if row is None:
        return None
    variants = ({"ours": row.ours} if row.ours else {}) | row.peers
    return variants.get(variant or next(iter(variants), ""))


@dataclass
class Results:
    """A table as its file has it."""

    name: str
    title: str
    quick: bool
    rows: list[Line]
    notes: list[str]
    plots: list[Plot]
    load_average: list[float]

    def figures(self, key: str, variant: str) -> Summary | None:
        """As Table.figures()."""
        return _figures_of(self.rows, key, variant)


@dataclass
class Table:
    """The rows of one bench, plots of them, and notes on what could not be measured."""

    name: str
    title: str
    quick: bool
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    load_average: list[float] = field(default_factory=list)  # before and after, of a minute

    def add(self, *arguments, **named) -> Row:
        row = Row(*arguments, **named)
        self.rows.append(row)
        return row

    def figures(self, key: str, variant: str) -> Spread | None:
        """What one variant ("ours", a peer's name; "" is the first) has in the row of that key."""
        return _figures_of(self.rows, key, variant)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def results(self) -> Results:
        """What is kept of the table."""
        return Results(
            self.name,
            self.title,
            self.quick,
            [Line.of(row) for row in self.rows],
            self.notes,
            self.plots,
            self.load_average,
        )

    def write(self, folder: Path) -> None:
        """Write NAME.json, in which each row and each plot is a line."""
        folder.mkdir(parents=True, exist_ok=True)
        entries = (f"{json.dumps(key)}: {_lines(of)}" for key, of in asdict(self.results()).items())
        text = "{\n" + ",\n".join(entries) + "\n}\n"
        (folder / f"{self.name}.json").write_text(text, encoding="utf-8")


def _lines(value: object) -> str:
    """JSON, with a line for each element of a list."""
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"


def read(path: Path) -> Results:
    """Read what Table.write() wrote; ValueError when something else did."""
    try:
        return _results(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: not written by this version ({error}): measure again") from error


def _results(plain: dict) -> Results:
    return Results(
        **{
            **plain,
            "rows": [_line(row) for row in plain["rows"]],
            "plots": [Plot.of(plot) for plot in plain["plots"]],
        }
    )


def _line(plain: dict) -> Line:
    summaries = {
        which: Summary(**plain[which]) if plain[which] else None for which in ("ours", "advantage")
    }
    return Line(
        **{
            **plain,
            **summaries,
            "peers": {name: Summary(**peer) for name, peer in plain["peers"].items()},
            "targets": [Target(**target) for target in plain["targets"]],
        }
    )
