# SPDX-License-Identifier: MIT
"""One table of results: rows with ours, peers and targets, and their files.

A bench makes a Table, adds rows, and calls write(). Nothing in the files is edited by hand.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path

from .plot import Plot
from .spread import Spread, digits


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
        row = next((row for row in self.rows if row.key == key), None)
        if row is None:
            return None
        variants = ({"ours": row.ours} if row.ours else {}) | row.peers
        return variants.get(variant or next(iter(variants), ""))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def write(self, folder: Path) -> None:
        """Write NAME.json (everything) and NAME.csv (medians and spread)."""
        folder.mkdir(parents=True, exist_ok=True)
        plain = {
            "name": self.name,
            "title": self.title,
            "quick": self.quick,
            "rows": [_row_plain(row) for row in self.rows],
            "notes": self.notes,
            "plots": [plot.plain() for plot in self.plots],
            "load_average": self.load_average,
        }
        text = json.dumps(plain, indent=1, allow_nan=True)
        (folder / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
        with (folder / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(
                ["table", "row", "variant", "unit", "rounds", "median", "minimum", "maximum"]
            )
            for row in self.rows:
                variants = {"ours": row.ours} if row.ours else {}
                for variant, spread in {**variants, **row.peers}.items():
                    figures = (spread.median, spread.minimum, spread.maximum)
                    writer.writerow(
                        [self.name, row.key, variant, row.unit, len(spread.samples)]
                        + [f"{figure:.6g}" for figure in figures]
                    )


def _row_plain(row: Row) -> dict:
    return {
        "key": row.key,
        "label": row.label,
        "unit": row.unit,
        "higher_is_better": row.higher_is_better,
        "ours": list(row.ours.samples) if row.ours else None,
        "peers": {name: list(spread.samples) for name, spread in row.peers.items()},
        "targets": [vars(target) for target in row.targets],
        "why": row.why,
        "compared": row.compared,
        "shown": row.shown,
    }


def read(path: Path) -> Table:
    """Read a table that write() wrote; ValueError when something else did."""
    try:
        return _table(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: not written by this version ({error}): measure again") from error


def _table(plain: dict) -> Table:
    table = Table(
        plain["name"],
        plain["title"],
        plain["quick"],
        notes=plain["notes"],
        plots=[Plot.of(plot) for plot in plain.get("plots", [])],
        load_average=plain["load_average"],
    )
    for row in plain["rows"]:
        table.add(
            row["key"],
            row["label"],
            row["unit"],
            Spread(tuple(row["ours"])) if row["ours"] else None,
            {name: Spread(tuple(samples)) for name, samples in row["peers"].items()},
            row["higher_is_better"],
            [Target(**target) for target in row["targets"]],
            row["why"],
            row["compared"],
            row.get("shown", True),
        )
    return table
