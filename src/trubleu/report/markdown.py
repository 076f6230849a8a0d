"""Tables as GitHub's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from trubleu.report.tables import Shown, Table, joined, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_ENDS: Final = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
# An underscore inside a word marks nothing, and names of systems are full of them.
_SPECIAL: Final = re.compile(r"[\\`*\[\]~$]|(?<![^\W_])_|_(?![^\W_])")
_PLAIN: Final = re.compile(r"[A-Za-z0-9.,:+-]*")
_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def render(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Return pipe tables, titles as headings and notes as lists."""
    blocks: list[str] = []
    for table in tables:
        title = f"### {shown_as_it_is(one_line(table.title))}" if table.title else ""
        blocks += [title, _table(table, digits), _list(table.notes)]
    return joined([*blocks, _list(notes)])


def _table(table: Table, digits: int) -> str:
    lines = [
        [escaped(column.heading) for column in table.columns],
        *(
            [_cell(shown(cell, column, digits)) for cell, column in zip(row, table.columns, strict=True)]
            for row in table.rows
        ),
    ]
    rule = "".join(":--|" if column.kind == "text" else "--:|" for column in table.columns)
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, f"|{rule}", *body])


def _cell(cell: Shown) -> str:
    if cell.interval is None:
        return escaped(cell.text) + escaped(cell.mark)
    interval = f"[{cell.interval[0]}, {cell.interval[1]}]"
    return (f"{escaped(cell.text)} {interval}" if cell.text else interval) + escaped(cell.mark)


def _list(notes: Sequence[str]) -> str:
    return "\n".join(f"- {shown_as_it_is(one_line(note))}" for note in notes)


def shown_as_it_is(text: str) -> str:
    """Return a line that Markdown shows as it is, outside of tables."""
    return _SPECIAL.sub(r"\\\g<0>", text.translate(_HTML))


def escaped(text: str) -> str:
    r"""Return a text that Markdown shows as it is in a cell, where a pipe would end it and a line end the table.

    Examples
    --------
    >>> escaped("sys_A *new* <b>|`x`\nsecond line")
    'sys_A \\*new\\* &lt;b&gt;\\|\\`x\\`<br>second line'
    """
    if _PLAIN.fullmatch(text):  # most cells; the rest is slow for a million of them
        return text
    lines = (one_line(line).strip() for line in _LINE_ENDS.split(text))
    return "<br>".join(shown_as_it_is(line).replace("|", "\\|") for line in lines)
