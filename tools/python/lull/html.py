# SPDX-License-Identifier: MIT
"""Rows as a notebook shows them.

Place in the flow: `Rows` hands its first rows over. Names and texts are those of traced programs,
which may be anything: each is shown as text, with what is invisible or turns the direction of
writing as an escape, and long ones are cut.
"""

from html import escape
from typing import Any

import pyarrow

from lull.values import values

_TEXT_CHARACTERS = 200
_COLUMNS = 50


def _shown(text: str) -> str:
    """A text that can be put between tags."""
    cut = text[:_TEXT_CHARACTERS]
    plain = "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in cut
    )
    return escape(plain) + ("&hellip;" if len(text) > len(cut) else "")


def _cell(value: Any) -> str:
    if value is None:
        return "<td><i>NULL</i></td>"
    if isinstance(value, str):
        return f'<td style="text-align: left">{_shown(value)}</td>'
    return f"<td>{_shown(str(value))}</td>"


def document(table: pyarrow.Table, row_count: int, is_whole: bool) -> str:
    """A table of HTML. `row_count`: of which the rows are the first; `is_whole`: are these all?"""
    names = table.schema.names[:_COLUMNS]
    columns = [values(column.combine_chunks()) for column in table.columns[:_COLUMNS]]
    lines = ["<div><table><thead><tr>"]
    lines += [f"<th>{_shown(name)}</th>" for name in names]
    lines.append("</tr></thead><tbody>")
    for row in zip(*columns):
        lines.append("<tr>" + "".join(_cell(value) for value in row) + "</tr>")
    count = f"{row_count:,} row" + ("" if row_count == 1 else "s")
    if not is_whole:
        count = f"more than {row_count - 1:,} rows"
    note = "" if table.num_rows == row_count else f", of which the first {table.num_rows} are shown"
    if len(table.schema.names) > _COLUMNS:
        note += f"; {_COLUMNS} of {len(table.schema.names)} columns are shown"
    lines.append(f"</tbody></table><p>{count}{note}</p></div>")
    return "".join(lines)
