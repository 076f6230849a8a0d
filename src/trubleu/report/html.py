"""Tables as a fragment of HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.notebook import MOST_ROWS, html_notes, html_table
from trubleu.report.tables import one_line, shown
from trubleu.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.report.tables import Table


def render(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Return tables under each other, each with its title and notes, and the notes on all of them at the end."""
    blocks = [_table(table, digits) for table in tables]
    if notes:
        blocks.append(html_notes([*map(one_line, notes)]))
    return "\n".join(blocks) + "\n"


def _table(table: Table, digits: int) -> str:
    return html_table(
        [one_line(column.heading) for column in table.columns],
        [
            [plain(shown(cell, column, digits)) for cell, column in zip(row, table.columns, strict=True)]
            for row in table.rows[:MOST_ROWS]
        ],
        numbers=[column.kind != "text" for column in table.columns],
        more=max(len(table.rows) - MOST_ROWS, 0),
        title=one_line(table.title),
        notes=[*map(one_line, table.notes)],
    )
