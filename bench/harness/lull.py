# SPDX-License-Identifier: MIT
"""Our side: command lines of `lull`, and the measured program under `lull record`."""

from __future__ import annotations

from pathlib import Path

from .places import LIBRARY, LULL
from .programs import Subject, subject_program


def missing() -> str | None:
    """Why Lull cannot be measured here, or None."""
    for path in (LULL, LIBRARY):
        if not path.exists():
            return f"{path.name} is not built (make all)"
    return None


def record_words(
    output: Path | str,
    flight_recorder: bool = False,
    patterns: tuple[str, ...] = ("bench:*",),
    buffer_bytes: int | None = None,
    buffer_count: int | None = None,
    contexts: tuple[str, ...] = (),
    triggers: tuple[str, ...] = (),
) -> list[str]:
    """`lull record ... --`, ready for a command to be appended."""
    words = [str(LULL), "record", "-o", str(output)]
    if flight_recorder:
        words.append("--flight-recorder")
    for pattern in patterns:
        words += ["-e", pattern]
    if buffer_bytes is not None:
        words += ["--buffer-size", str(buffer_bytes)]
    if buffer_count is not None:
        words += ["--buffers", str(buffer_count)]
    if contexts:
        words += ["--context", ",".join(contexts)]
    for condition in triggers:
        words += ["--on", condition, "--do", "count"]
    return [*words, "--"]


def subject(output: Path, framed: bool = False, **options) -> Subject:
    """The measured program with lull_event() lines, recorded to output; with frame pointers?"""
    program = subject_program("lull", framed=framed)
    return Subject([*record_words(output, **options), str(program)])


def unrecorded_subject() -> Subject:
    """The same program, not recorded: its sites are no-ops."""
    return Subject([str(subject_program("lull"))])
