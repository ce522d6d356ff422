# SPDX-License-Identifier: MIT
"""What the package raises, and what it warns of.

Place in the flow: `process` and `stream` raise and warn; the caller's line is the warning's place.
"""

import os
import sys
import warnings


class Error(Exception):
    """The command could not be run, refused a question, or did not end well.

    The text is what the command said, with the place in the SQL where there is one.
    """


class Incomplete(UserWarning):
    """Events may be missing from what was read: lost while recording, damaged, or not there.

    The text is what the command said. `SELECT * FROM lost` tells where.
    """


_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn_incomplete(text: str) -> None:
    """Warns at the nearest line outside of this package."""
    frame = sys._getframe(1)
    level = 2
    # Bound: the stack ends.
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame = frame.f_back
        level += 1
    warnings.warn(Incomplete(text), stacklevel=level)
