# SPDX-License-Identifier: MIT
"""The sides of the RCU tables: ours and two versions of liburcu in five flavours, three locks.

One C source (rcu_*.c) is compiled for each side; each runs as one program that answers commands, so
that the harness can alternate them between short samples. The newer liburcu is what
bench/fetch_peers unpacked, with the C library that it needs; all sides run with that one then.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from . import bench
from .cpus import cpu_count, cpu_counts
from .places import BUILD, HARNESS, ROOT
from .plot import Curve
from .programs import ProgramError, Subject, compiled, last_change
from .rounds import alternate_answers
from .spread import Spread
from .table import Row, Table, Target, at_most

LIBRARY = Path(
    os.environ.get("LULL_BENCH_RCU_LIBRARY", ROOT / "build" / "lib" / "liblull-rcu.so")
).resolve()
INCLUDES = (ROOT / "rcu" / "include", ROOT / "build" / "include")
FLAVOURS = ("qsbr", "signal", "memb", "bp", "mb")
LOCKS = {
    "per_thread": "per-thread mutex",
    "mutex": "pthread mutex",
    "rwlock": "pthread rwlock",
}
# The first that is there is the one that ours is compared with.
PEERS = ("newest", "system")
UNPACKED = BUILD / "peers" / "unpacked"
PEER_HEADERS = {
    "qsbr": "urcu-qsbr.h",
    "signal": "urcu/urcu-signal.h",
    "memb": "urcu/urcu-memb.h",
    "bp": "urcu-bp.h",
    "mb": "urcu/urcu-mb.h",
}
COLOURS = {
    "qsbr": "blue",
    "signal": "green",
    "memb": "orange",
    "bp": "violet",
    "mb": "red",
    "per_thread": "teal",
    "mutex": "olive",
    "rwlock": "grey",
}
SOURCES = {
    "rcu": (
        "rcu_subject", "rcu_reads", "rcu_mix", "rcu_latency", "rcu_calls", "rcu_rates",
        "subject_quantiles",
    ),
    "rcu_hash": ("rcu_hash", "rcu_hash_table", "rcu_hash_pair"),
}
# Both sides may turn out the same instructions; samples of one binary differ by that much.
TOLERANCE = 1.03
# A lock has caught up with RCU when it has that share of its rate.
ENOUGH = 0.9


@dataclass(frozen=True)
class Side:
    """One column of a comparison: whose, and which flavour or lock."""

    whose: str  # "ours", one of PEERS, or "lock"
    kind: str

    @property
    def variant(self) -> str:
        """Under which name a row keeps it."""
        if self.whose == "lock":
            return LOCKS[self.kind]
        return peer_name(self.whose) if self.whose in PEERS else self.whose

    @property
    def label(self) -> str:
        return LOCKS[self.kind] if self.whose == "lock" else f"{self.kind}, {self.variant}"

    @property
    def is_rcu(self) -> bool:
        return self.whose != "lock"


def ours_missing() -> str | None:
    """Why our library cannot be measured here, or None."""
    header = INCLUDES[1] / "lull" / "rcu" / "memb.h"
    for path in (LIBRARY, header):
        if not path.exists():
            return f"{path.name} is not built (make all)"
    return None


def unpacked(package: str, name: str) -> Path | None:
    """The folder of an unpacked peer, or of its C library, that has a file of that name."""
    return next((path.parent for path in sorted((UNPACKED / package).rglob(name))), None)


@cache
def peer_version(whose: str) -> str | None:
    """The version of a peer; None where it is not there."""
    if whose == "newest":
        folder = unpacked("liburcu", "liburcu.pc")
        text = (folder / "liburcu.pc").read_text(encoding="utf-8") if folder else ""
        found = re.search(r"Version: (\S+)", text)
        return found[1] if found else None
    command = ["pkg-config", "--modversion", "liburcu"]
    if shutil.which(command[0]) is None:
        return None
    asked = subprocess.run(command, text=True, capture_output=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def peer_name(whose: str) -> str:
    return f"liburcu {peer_version(whose)}"


def peer_missing(whose: str) -> str | None:
    """Why a peer cannot be measured here, or None."""
    if peer_version(whose):
        return None
    if whose == "newest":
        return "a newer liburcu than the system's is not there (bench/fetch_peers unpacks it)"
    return "the system's liburcu is not installed (Debian: liburcu-dev, pkg-config)"


def missing(_measuring: bench.Measuring) -> list[str]:
    reasons = (ours_missing(), *map(peer_missing, PEERS))
    return [reason for reason in reasons if reason]


def has_flavour(whose: str, flavour: str) -> bool:
    """Newer versions of liburcu have no signal flavour."""
    return whose != "newest" or unpacked("liburcu", Path(PEER_HEADERS[flavour]).name) is not None


def rcu_sides(flavours: Iterable[str] = FLAVOURS) -> list[Side]:
    """The sides that can be measured here, the libraries of a flavour next to each other."""
    reasons = {"ours": ours_missing()} | {whose: peer_missing(whose) for whose in PEERS}
    whose = [name for name, reason in reasons.items() if reason is None]
    return [
        Side(name, flavour)
        for flavour in flavours
        for name in whose
        if has_flavour(name, flavour)
    ]


def lock_sides() -> list[Side]:
    return [Side("lock", kind) for kind in LOCKS]


def side_options(side: Side) -> list[str]:
    """Compiler and linker words that make the source that side's."""
    if side.whose == "lock":
        return [f"-DSIDE_{side.kind.upper()}"]
    if side.whose in PEERS:
        header = f"-DSIDE_RCU=<{PEER_HEADERS[side.kind]}>"
        # Both read sides inline, and short names for the flavour.
        options = ["-D_LGPL_SOURCE", "-DURCU_API_MAP", header]
        if side.whose == "newest":
            library = unpacked("liburcu", "liburcu-cds.so")
            # Its C library is newer than the one that the program is linked with.
            options += [
                "-isystem", str(unpacked("liburcu", "urcu-call-rcu.h")),
                f"-L{library}", f"-Wl,-rpath,{library}",
                "-Wl,--disable-new-dtags", "-Wl,--allow-shlib-undefined",
            ]
        return [*options, f"-lurcu-{side.kind}", "-lurcu-common"]
    return [
        f"-DSIDE_RCU=<lull/rcu/{side.kind}.h>",
        *(f"-I{folder}" for folder in INCLUDES),
        str(LIBRARY),
        f"-Wl,-rpath,{LIBRARY.parent}",
    ]


def program(side: Side, name: str = "rcu") -> Path:
    """The measured program of one side, compiled when it is out of date: "rcu" or "rcu_hash"."""
    folders = [HARNESS, *(INCLUDES if side.whose == "ours" else ())]
    options = ["-falign-loops=64", f"-I{HARNESS}", *side_options(side), "-pthread"]
    if name == "rcu_hash":
        options += (
            ["-DSIDE_PEER", "-lurcu-cds"]
            if side.whose in PEERS
            else [f"-DSIDE_DOMAIN=rcu_{side.kind}_domain"]
        )
    return compiled(
        BUILD / f"{name}_{side.whose}_{side.kind}",
        [HARNESS / f"{source}.c" for source in SOURCES[name]],
        options,
        last_change(*folders),
    )


def subjects(stack: ExitStack, sides: Iterable[Side], name: str = "rcu") -> dict[Side, Subject]:
    """A running program for each side; the stack ends them."""
    sides = list(sides)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = list(pool.map(partial(program, name=name), sides))
    return {
        side: stack.enter_context(Subject([*loader(), str(path)]))
        for side, path in zip(sides, paths)
    }


def loader() -> list[str]:
    """What runs a program with the C library of the newer peer, where that is there."""
    folder = unpacked("libc", "libc.so.6")
    found = sorted(folder.glob("ld-linux-*.so.*")) if folder else []
    return [str(found[0]), "--library-path", str(folder)] if folder and found else []


def ask(subject: Subject, command: str) -> dict[str, float]:
    """An answer, unless the program found that what it measured does not work."""
    answer = subject.ask(command)
    if answer.get("wrong", 0):
        raise ProgramError(
            f"'{command}': {answer['wrong']:.0f} objects reclaimed too early or never: "
            "the figures of a broken library are worth nothing"
        )
    return answer


def mix(readers: int, updaters: int, ms: int, section_cycles: int = 0, delay_cycles: int = 0,
        batch: int = 1, exchange: bool = True) -> str:
    """The command for a sample of readers and updaters (rcu_mix.c)."""
    return (
        f"mix {readers} {updaters} {section_cycles} {delay_cycles} {batch} {int(exchange)} {ms}"
    )


Taken = Mapping[Hashable, Mapping[str, Spread]]


def take(subjects: Mapping[Side, Subject], commands: Mapping[Hashable, str], rounds: int,
         wanted: Callable[[Hashable, Side], bool] = lambda _point, _side: True) -> Taken:
    """Answers by (point, side): every command to every subject, alternating."""
    return alternate_answers(
        {
            (point, side): partial(ask, subject, command)
            for point, command in commands.items()
            for side, subject in subjects.items()
            if wanted(point, side)
        },
        rounds,
    )


def single_cpu() -> int:
    """Where one thread is measured: the last CPU, which interrupts like least."""
    return max(os.sched_getaffinity(0))


def thread_counts(cpus: int) -> list[int]:
    """Powers of two up to all CPUs, then twice and four times as many threads as CPUs."""
    return [*cpu_counts(cpus), 2 * cpus, 4 * cpus]


def crossing(places: Sequence[float], shares: Sequence[float]) -> float:
    """The first place at which a share is ENOUGH, between two places by interpolation of the
    logarithm; infinite when there is none."""
    for index, share in enumerate(shares):
        if share < ENOUGH:
            continue
        if index == 0:
            return float(places[0])
        before = shares[index - 1]
        part = (ENOUGH - before) / (share - before)
        low, high = math.log(places[index - 1]), math.log(places[index])
        return math.exp(low + part * (high - low))
    return math.inf


def add_row(table: Table, key: str, label: str, unit: str, spreads: Mapping[Side, Spread],
            **named) -> Row:
    """One row from the sides of one flavour, or from locks."""
    ours = next((spread for side, spread in spreads.items() if side.whose == "ours"), None)
    peers = {side.variant: spread for side, spread in spreads.items() if side.whose != "ours"}
    return table.add(key, label, unit, ours, peers, **named)


def of_kind(taken: Taken, point: Hashable, kind: str, figure: str, scale: float = 1.0
            ) -> dict[Side, Spread]:
    """One figure of every side of a flavour, or of a lock, at one point; times scale."""
    return {
        side: answer[figure].scaled(scale)
        for (where, side), answer in taken.items()
        if where == point and side.kind == kind
    }


def kinds(sides: Iterable[Side]) -> list[str]:
    """Flavours and locks, each once."""
    return list(dict.fromkeys(side.kind for side in sides))


def name_of(kind: str) -> str:
    return LOCKS.get(kind, kind)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def curves(sides: Iterable[Side], points: Callable[[str], Iterable[tuple]]) -> tuple[Curve, ...]:
    """A curve for each side; points() gives those of a kind. Ours solid, the peer dashed."""
    lines = {"ours": "solid", "newest": "dashed", "system": "dotted", "lock": "dotted"}
    return tuple(
        Curve(side.label, side.variant, tuple(points(side.kind)), COLOURS[side.kind],
              lines[side.whose])
        for side in sides
    )


def bars(points: Iterable[tuple[str, str]]) -> tuple[Curve, ...]:
    """Groups of bars, ours and the peers': (group, row key)."""
    colours = {"ours": "blue"} | {
        peer_name(whose): colour
        for whose, colour in zip(PEERS, ("orange", "grey"))
        if peer_version(whose)
    }
    points = tuple(points)
    return tuple(Curve(name, name, points, colours[name]) for name in colours)


def no_slower(row: Row, limit: float = 1.0) -> Target | None:
    """The target that ours takes at most that share of the peer's time, round by round."""
    name, peer = next(iter(row.peers.items()), ("", None))
    if row.ours is None or peer is None:
        return None
    text = f"at most {name}'s" if limit == 1.0 else f"at most {limit:g} x {name}'s"
    if limit == 1.0:
        text, limit = f"{text}, to {TOLERANCE - 1:.0%}".replace("%", " %"), TOLERANCE
    return at_most(text, row.ours.over(peer).median, limit)


def main(name: str, title: str, measure: Callable[[bench.Measuring, Table], None]) -> None:
    """Run one RCU bench: bench.main() with these sides."""
    bench.main(name, title, measure, missing)
