"""What results share: the schema number of their rows, and small escaped HTML tables for notebooks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_ROWS: Final = 60
"""Rows of a table that a notebook shows; a line below says how many more there are."""

_ALIGN: Final = {False: ' style="text-align: left"', True: ' style="text-align: right"'}


def html_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[bool],
    more: int = 0,
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return a table as a fragment of HTML in which every text is shown as it is.

    Parameters
    ----------
    headings
        Of the columns; none of them gives a table without a head.
    rows
        The cells.
    numbers
        For each column whether it stands to the right.
    more
        How many rows are left out, which is said below.
    title, notes
        What stands above and below.

    Examples
    --------
    >>> print(html_table(["system", "bleu"], [("<A>", "36.28")], numbers=[False, True]))
    <table>
    <thead><tr><th style="text-align: left">system</th><th style="text-align: right">bleu</th></tr></thead>
    <tbody>
    <tr><td style="text-align: left">&lt;A&gt;</td><td style="text-align: right">36.28</td></tr>
    </tbody>
    </table>
    """
    lines = ["<table>"]
    if title:
        lines.append(f"<caption>{_escaped(title)}</caption>")
    if headings:
        lines.append(f"<thead>{_row('th', headings, numbers)}</thead>")
    lines += ["<tbody>", *(_row("td", row, numbers) for row in rows), "</tbody>", "</table>"]
    if more:
        lines.append(f"<p>and {more:,} more {'row' if more == 1 else 'rows'}</p>")
    if notes:
        lines.append(html_notes(notes))
    return "\n".join(lines)


def html_notes(notes: Sequence[str]) -> str:
    """Return sentences as a list in small print."""
    return f'<ul style="font-size: smaller">{"".join(f"<li>{_escaped(note)}</li>" for note in notes)}</ul>'


def html_text(text: str) -> str:
    """Return a text whose lines and columns stay as they are."""
    return f"<pre>{_escaped(text)}</pre>"


def html_record(record: Any) -> str:
    """Return the fields of a dataclass as a table of two columns.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Found:
    ...     share: float
    >>> print(html_record(Found(0.25)))
    <table>
    <tbody>
    <tr><td style="text-align: left">share</td><td style="text-align: left">0.25</td></tr>
    </tbody>
    </table>
    """
    rows = [(each.name.replace("_", " "), _shown(getattr(record, each.name))) for each in fields(record)]
    return html_table((), rows, numbers=(False, False))


def _row(tag: str, cells: Sequence[str], numbers: Sequence[bool]) -> str:
    marked = (f"<{tag}{_ALIGN[number]}>{_escaped(cell)}</{tag}>" for cell, number in zip(cells, numbers, strict=True))
    return f"<tr>{''.join(marked)}</tr>"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return " / ".join(map(_shown, value))
    return str(value)


def _escaped(text: str) -> str:
    # Half of a surrogate pair cannot be sent to a browser.
    return escape(text.encode("utf-8", "backslashreplace").decode("utf-8"))


SCHEMA: Final = 1
"""The version of rows in JSON; it rises when a field changes its name or meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A flat row of a result."""

    schema: int = SCHEMA
