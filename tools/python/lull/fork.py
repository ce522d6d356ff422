# SPDX-License-Identifier: MIT
"""What happens in the child of a fork to what was begun before it.

Place in the flow: `Process` and `Stream` register here. A lock may be held by a thread that the
child does not have, and the pipes are read by the parent: the child's copies are closed, and
whoever uses one there hears why.
"""

import os
import weakref
from typing import Protocol


class Leaves(Protocol):
    def leave(self) -> None:
        """Runs in the child, before anything else of Python's does."""


_living: dict[int, "weakref.ref[Leaves]"] = {}


def register(owner: Leaves) -> None:
    """Has `owner.leave()` called in children, as long as there is the owner."""
    key = id(owner)

    def forget(_: "weakref.ref[Leaves]") -> None:
        _living.pop(key, None)

    _living[key] = weakref.ref(owner, forget)


def _after_fork() -> None:
    for reference in list(_living.values()):
        owner = reference()
        if owner is not None:
            owner.leave()


os.register_at_fork(after_in_child=_after_fork)
