# SPDX-License-Identifier: MIT
"""A guest with the module and what `lull record -k` needs, for tests of what it records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from .guest import Guest
from .places import MODULES, lull_files


@contextlib.contextmanager
def loaded(
    programs: Iterable[str] = (), files: Mapping[str, Path] | None = None, **settings: object
) -> Iterator[Guest]:
    """A guest that has loaded the module, and unloads it at its end: no session is left."""
    own = {f"/usr/bin/{name}": Path("/bin") / name for name in programs}
    everything = {**lull_files(), **own, **(files or {})}
    with Guest(modules=[MODULES / "lull.ko"], files=everything, **settings) as guest:
        guest.check("insmod /modules/lull.ko")
        yield guest
        guest.check("rmmod lull")
