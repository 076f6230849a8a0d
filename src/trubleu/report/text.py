"""Tables as plain text, for a terminal or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.report.tables import Shown, Table, joined, one_line, shown, width

if TYPE_CHECKING:
    from collections.abc import Sequence


def render(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Return tables under each other, each with its title and notes, and the notes on all of them at the end."""
    blocks: list[str] = []
    for table in tables:
        body = aligned(table, digits)
        blocks += [f"{one_line(table.title)}\n{body}" if table.title else body, _lines(table.notes)]
    return joined([*blocks, _lines(notes)])


def _lines(notes: Sequence[str]) -> str:
    return "\n".join(map(one_line, notes))


def aligned(table: Table, digits: int) -> str:
    """Return the columns side by side: texts to the left, numbers to the right and under each other."""
    columns = [
        _column([shown(row[index], column, digits) for row in table.rows]) for index, column in enumerate(table.columns)
    ]
    padded: list[list[str]] = []
    for column, cells in zip(table.columns, columns, strict=True):
        heading = one_line(column.heading)
        widest = max(map(width, (heading, *cells)))
        lines = [heading, "-" * widest, *cells]
        if column.kind == "text":
            padded.append([line + " " * (widest - width(line)) for line in lines])
        else:
            padded.append([" " * (widest - width(line)) + line for line in lines])
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True))


def _column(cells: Sequence[Shown]) -> list[str]:
    # Where some cells have a mark, all others keep its room free, so that numbers stand under each other.
    room = max((len(cell.mark) for cell in cells), default=0)
    return [plain(cell) + " " * (room - len(cell.mark)) for cell in cells]


def plain(cell: Shown) -> str:
    """Return a cell as it stands in a line.

    Examples
    --------
    >>> plain(Shown("36.28", ("35.10", "37.56"), "*"))
    '36.28 [35.10, 37.56]*'
    """
    if cell.interval is None:
        return one_line(cell.text) + cell.mark
    interval = f"[{cell.interval[0]}, {cell.interval[1]}]"
    return (f"{one_line(cell.text)} {interval}" if cell.text else interval) + cell.mark
