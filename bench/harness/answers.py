# SPDX-License-Identifier: MIT
"""Answers of several programs to the same question: nothing is timed of which they differ."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from .programs import ProgramError, run

Words = Sequence[str | Path]
Row = dict[str, object]


def same(
    question: str,
    sides: Mapping[str, Words],
    timeout_s: float,
    texts: Mapping[str, list[dict[str, str]]] | None = None,
) -> None:
    """Run each side's command, which prints one JSON object for each row; `texts` has the rows of
    sides that were asked before, with all values as texts. ProgramError where a row differs from
    that of the first side, or where there is none."""
    answers = {side: _rows(words, timeout_s) for side, words in sides.items()}
    first, wanted = next(iter(answers.items()))
    if not wanted:
        raise ProgramError(f"{question}: {first} found no rows")
    for side, rows in (texts or {}).items():
        answers[side] = [_typed(*pair) for pair in zip(rows, wanted)] + rows[len(wanted) :]
    for side, found in answers.items():
        if found != wanted:
            pairs = enumerate(zip(found, wanted))
            at = next((at for at, (one, other) in pairs if one != other), None)
            where = f"row {at}: {found[at]} and {wanted[at]}" if at is not None else "more rows"
            raise ProgramError(f"{question}: {side} and {first} differ: {where}")


def _typed(row: dict[str, str], like: Row) -> Row:
    """Texts as values of the types that another row has. What is no such value stays a text."""
    typed: Row = dict(row)
    for name, value in like.items():
        with contextlib.suppress(KeyError, ValueError):
            if isinstance(value, bool):
                typed[name] = bool(int(row[name]))
            elif isinstance(value, (int, float)):
                typed[name] = type(value)(row[name])
    return typed


def _rows(words: Words, timeout_s: float) -> list[Row]:
    lines = run(list(words), timeout_s=timeout_s).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return [{name: _plain(name, value) for name, value in row.items()} for row in rows]


def _plain(name: str, value: object) -> object:
    """Times have no zeros behind, and a letter between date and hour."""
    if name == "time" and isinstance(value, str):
        return value.replace(" ", "T").rstrip("0")
    return value
