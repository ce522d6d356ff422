# SPDX-License-Identifier: MIT
"""Alternation: each round takes one sample of every variant, in turning order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from .spread import Spread


def alternate(
    variants: Mapping[str, Callable[[], float]], rounds: int, warm_up: bool = True
) -> dict[str, Spread]:
    """Take `rounds` samples of each variant, after one discarded round if warm_up.

    The order turns by one place each round, so that no variant always follows the same other.
    """
    names = list(variants)
    samples: dict[str, list[float]] = {name: [] for name in names}
    if warm_up:
        for name in names:
            variants[name]()
    for number in range(rounds):
        progress(number, rounds)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            samples[name].append(variants[name]())
    progress(rounds, rounds)
    return {name: Spread(tuple(taken)) for name, taken in samples.items()}


def progress(done: int, whole: int) -> None:
    """A counter on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        return
    text = f"  round {done}/{whole}" if done < whole else ""
    sys.stderr.write(f"\r{text:<30}\r")
    sys.stderr.flush()
