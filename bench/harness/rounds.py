# SPDX-License-Identifier: MIT
"""Alternation: each round takes one sample of every variant, in turning order."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial

from .spread import Spread

ROUNDS_LEAST = 3


def alternate(
    variants: Mapping[Hashable, Callable[[], float]],
    rounds: int,
    warm_up: bool = True,
    within_s: float = float("inf"),
) -> dict[Hashable, Spread]:
    """Take `rounds` samples of each variant, after one discarded round if warm_up; fewer, but
    three, if that takes longer than `within_s`.

    The order turns by one place each round, so that no variant always follows the same other.
    """
    until = time.monotonic() + within_s
    names = list(variants)
    samples: dict[Hashable, list[float]] = {name: [] for name in names}
    if warm_up:
        for name in names:
            variants[name]()
    for number in range(rounds):
        progress(number, rounds)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            samples[name].append(variants[name]())
        if number + 1 >= ROUNDS_LEAST and time.monotonic() >= until:
            break
    progress(rounds, rounds)
    return {name: Spread(tuple(taken)) for name, taken in samples.items()}


def alternate_answers(
    variants: Mapping[Hashable, Callable[[], Mapping[str, float]]], rounds: int
) -> dict[Hashable, dict[str, Spread]]:
    """As alternate(), for samples of several figures each: a spread for each figure."""
    kept: dict[Hashable, list[Mapping[str, float]]] = {name: [] for name in variants}

    def sample(name: Hashable) -> float:
        kept[name].append(variants[name]())
        return 0.0

    alternate({name: partial(sample, name) for name in variants}, rounds)
    return {
        name: {
            figure: Spread(tuple(answer[figure] for answer in answers[1:]))
            for figure in answers[0]
        }
        for name, answers in kept.items()
    }


def progress(done: int, whole: int) -> None:
    """A counter on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        return
    text = f"  round {done}/{whole}" if done < whole else ""
    sys.stderr.write(f"\r{text:<30}\r")
    sys.stderr.flush()
