# SPDX-License-Identifier: MIT
"""SQL over Lull's traces.

>>> import lull
>>> shop = lull.read("shop")
>>> shop.sql("SELECT name, count(*) AS n FROM events GROUP BY name").pandas()
>>> shop["http:request_entry"].select("time", "url").limit(10)

Flow: `read` names traces, `Traces` has tables, and every question is a `Rows`. The command `lull`
answers it, in a process of its own, and its rows come through a pipe as Arrow's record batches.
"""

from importlib.metadata import version as _version

from lull.errors import Error, Incomplete
from lull.rows import Rows
from lull.traces import Table, Traces, read

__version__: str = _version("lull")

__all__ = ["Error", "Incomplete", "Rows", "Table", "Traces", "__version__", "read"]

# Tracebacks and warnings name what a caller imports.
for _public in (Error, Incomplete, Rows, Table, Traces, read):
    _public.__module__ = __name__
