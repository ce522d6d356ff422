# SPDX-License-Identifier: MIT
"""Values of Arrow's as Python has them, to the nanosecond.

Place in the flow: iteration and notebooks ask here. pyarrow's own way makes of nanoseconds what is
installed: a time of pandas', or an error.
"""

from collections import Counter
from typing import Any

import pyarrow
import pyarrow.types as types

from lull.errors import Error


def dictionaries(batch: pyarrow.RecordBatch) -> list[dict[str, Any]]:
    """A dictionary for each row. Raises Error where two columns have one name."""
    names = batch.schema.names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise Error(f"two columns are called {twice[0]!r}: give one another name with AS")
    columns = [values(column) for column in batch.columns]
    return [dict(zip(names, row)) for row in zip(*columns)]


def values(array: pyarrow.Array) -> list[Any]:
    """The values of an array; times are numpy's, and what has no value is None."""
    if types.is_timestamp(array.type) or types.is_duration(array.type):
        unit = array.type.unit
        kind = "datetime64" if types.is_timestamp(array.type) else "timedelta64"
        numbers = array.cast(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        times = numbers.astype(f"{kind}[{unit}]")
        present = array.is_valid().to_pylist()
        return [time if is_valid else None for time, is_valid in zip(times, present)]
    if types.is_struct(array.type):
        names = [array.type.field(at).name for at in range(array.type.num_fields)]
        # flatten() gives fields of no struct the value NULL.
        fields = [values(field) for field in array.flatten()]
        present = array.is_valid().to_pylist()
        rows = zip(*fields) if fields else ((),) * len(array)
        return [dict(zip(names, row)) if is_one else None for row, is_one in zip(rows, present)]
    if types.is_list(array.type) or types.is_large_list(array.type):
        lengths = array.value_lengths().to_pylist()
        inner = iter(values(array.flatten()))
        return [
            None if length is None else [next(inner) for _ in range(length)] for length in lengths
        ]
    plain: list[Any] = array.to_pylist()
    return plain
